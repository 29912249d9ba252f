// SPDX-License-Identifier: BSD-3-Clause
// The table of the allocated pages of the reserved segment. segment_reserved.c changes it; checks
// of addresses (aq_reserved_allows) read it.
#include "reserved_pages.h"

#include <stdatomic.h>

#include "../gasnetex_core.h"

enum { PAGE = GASNET_PAGESIZE, WORD = 64 };

aq_reserved_t aq_reserved;

aq_reserved_run_t aq_reserved_run(uintptr_t addr, size_t nbytes)
{
    const uintptr_t offset = addr - aq_reserved.addr;
    return (aq_reserved_run_t){offset / PAGE, (offset + nbytes + PAGE - 1) / PAGE};
}

// The bits of the run that are in the word of page `at`, which is in the run.
static uint64_t run_mask(aq_reserved_run_t run, uint64_t at)
{
    const uint64_t word = at / WORD * WORD;
    const uint64_t low = at - word;
    const uint64_t high = run.end < word + WORD ? run.end - word : WORD;
    return (UINT64_MAX >> (WORD - (high - low))) << low;
}

static uint64_t word_after(uint64_t at)
{
    return (at / WORD + 1) * WORD;
}

uint64_t aq_reserved_find(aq_reserved_run_t run, bool allocated)
{
    for (uint64_t at = run.first; at < run.end; at = word_after(at)) {
        uint64_t bits = atomic_load_explicit(&aq_reserved.pages[at / WORD], memory_order_acquire);
        bits = (allocated ? bits : ~bits) & run_mask(run, at);
        if (bits)
            return at / WORD * WORD + (unsigned)__builtin_ctzll(bits);
    }
    return run.end;
}

void aq_reserved_mark(aq_reserved_run_t run, bool allocated)
{
    for (uint64_t at = run.first; at < run.end; at = word_after(at)) {
        const uint64_t mask = run_mask(run, at);
        if (allocated)
            atomic_fetch_or_explicit(&aq_reserved.pages[at / WORD], mask, memory_order_release);
        else
            atomic_fetch_and_explicit(&aq_reserved.pages[at / WORD], ~mask, memory_order_relaxed);
    }
}

// Bytes that are partly outside of the reserved segment are inside of no segment; the caller has
// checked that.
bool aq_reserved_is_allocated(const void *addr, size_t nbytes)
{
    const uintptr_t offset = (uintptr_t)addr - aq_reserved.addr;
    if (nbytes == 0 || offset >= aq_reserved.size)
        return true;
    const aq_reserved_run_t run = aq_reserved_run((uintptr_t)addr, nbytes);
    return aq_reserved_find(run, false) == run.end;
}
