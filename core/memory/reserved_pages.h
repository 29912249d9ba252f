// SPDX-License-Identifier: BSD-3-Clause
// The reserved segment of a process: the same range of addresses at all ranks
// (gasnetx_Segment_AttachReserved), of which each rank allocates parts for itself later. A part
// that this rank has not allocated is mapped without access, takes no memory, and is no memory that
// peers may access.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The range of the reserved segment, size 0: there is none; and a bit for each of its pages: this
// rank has allocated the page. Range and table change once, when the segment is attached.
typedef struct aq_reserved {
    uintptr_t addr, size;
    _Atomic uint64_t *pages;
} aq_reserved_t;

extern aq_reserved_t aq_reserved;

bool aq_reserved_is_allocated(const void *addr, size_t nbytes);

// Whether all these bytes that are in the reserved segment are allocated; true for other memory.
// The bytes do not wrap around. Any thread; does not block.
static inline bool aq_reserved_allows(const void *addr, size_t nbytes)
{
    return !aq_reserved.size || aq_reserved_is_allocated(addr, nbytes);
}

// Pages of the reserved segment: from `first` to the one before `end`.
typedef struct aq_reserved_run {
    uint64_t first, end;
} aq_reserved_run_t;

// The run of the pages in which these bytes of the reserved segment are.
aq_reserved_run_t aq_reserved_run(uintptr_t addr, size_t nbytes);

// The first page of the run that is allocated, or is not; run.end if there is none.
uint64_t aq_reserved_find(aq_reserved_run_t run, bool allocated);

void aq_reserved_mark(aq_reserved_run_t run, bool allocated);
