// SPDX-License-Identifier: BSD-3-Clause
// Asks the kernel whether memory exists, by a request for its pages. segment_table.c and
// extended/rma/rma_probe.c check addresses so; reserved_map.c gets its pages so.
#include "mapped.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "../gasnetex_core.h"

#ifndef MADV_POPULATE_READ // Linux 5.14
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

// Asks the kernel for the pages, without a change to their contents.
static bool pages_populate(void *start, size_t bytes, bool written)
{
    return madvise(start, bytes, written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0;
}

// Whether the kernel knows the advice: it then succeeds for the stack.
static bool can_populate(void)
{
    char here = 0;
    const uintptr_t page = (uintptr_t)&here & ~(uintptr_t)(GASNET_PAGESIZE - 1);
    return pages_populate((void *)page, GASNET_PAGESIZE, true);
}

bool aq_mapped(const void *addr, size_t nbytes, bool written)
{
    const uintptr_t first = (uintptr_t)addr & ~(uintptr_t)(GASNET_PAGESIZE - 1);
    const uintptr_t end = (uintptr_t)addr + nbytes;
    if (!nbytes)
        return true;
    if (end < (uintptr_t)addr)
        return false;
    if (pages_populate((void *)first, end - first, written))
        return true;
    if (errno != EINVAL || can_populate())
        return false;
    return msync((void *)first, end - first, MS_ASYNC) == 0;
}
