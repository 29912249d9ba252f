// SPDX-License-Identifier: BSD-3-Clause
// Reserves one range of addresses for all segments and guards of a neighbourhood. Conduits smp
// (smp_memory.c) and mpi (mpi_shared.c) map the segments there.
#include "guarded.h"

#include <sys/mman.h>

#include "../../core/conduit.h"
#include "gasnetex_core.h"

// Places the segment of this process last. If the processes have the same base, each other segment
// is then lower here than in its owner; so the owner's address NULL, moved by that distance, is
// outside of the address space, and an access to it faults.
static void places_set(uintptr_t *places, uint32_t count, uint32_t own, uintptr_t end, size_t huge,
                       size_t guard)
{
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t i = (own + count - k) % count;
        const uintptr_t unit = places[i] < huge ? GASNET_PAGESIZE : huge;
        end = (end - places[i] - guard) / unit * unit;
        places[i] = end;
    }
}

bool aq_guarded_reserve(uintptr_t *places, uint32_t count, uint32_t own, size_t huge, bool guards)
{
    const size_t guard = guards ? AQ_SEGMENT_GUARD : 0;
    size_t size = guard;
    for (uint32_t i = 0; i < count; i++)
        size += places[i] + guard + huge;
    char *base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return false;
    places_set(places, count, own, (uintptr_t)base + size, huge, guard);
    return true;
}
