// SPDX-License-Identifier: BSD-3-Clause
// Finds the rank and the segment that an access was meant for, from its address and from the
// registers. fault.c asks.
#include "fault_place.h"

#include <ucontext.h>

#include "../conduit.h"
#include "../state/job.h"
#include "reserved_pages.h"
#include "../endpoint/team.h"

#define NULL_BYTES ((uintptr_t)4096)        // around NULL of this process
#define FAR_NULL_BYTES ((uintptr_t)1 << 16) // around NULL of another rank

// Whether an address is within `bytes` of 0, or of the end of all addresses.
static bool is_near_null(uintptr_t addr, uintptr_t bytes)
{
    return addr + bytes < 2 * bytes;
}

bool aq_fault_is_null(uintptr_t addr)
{
    return is_near_null(addr, NULL_BYTES);
}

// Whether an address, which is in the segment of a rank, is in a part of its reserved segment that
// it has not allocated. Only such parts of another rank's fault here.
static bool is_missing(uint32_t rank, uintptr_t addr)
{
    return aq_reserved.size && (rank != aq_job.rank || !aq_reserved_allows((void *)addr, 1));
}

static bool is_inside(uint32_t rank, uintptr_t addr)
{
    return addr - aq_job.segment_addr[rank] < aq_job.segment_size[rank];
}

// The distance of an address from a rank's segment, outside of it; UINTPTR_MAX: it is inside.
static uintptr_t distance_from(uint32_t rank, uintptr_t addr)
{
    const uintptr_t start = aq_job.segment_addr[rank], size = aq_job.segment_size[rank];
    if (is_inside(rank, addr))
        return is_missing(rank, addr) ? 0 : UINTPTR_MAX;
    const uintptr_t before = start - addr, behind = addr - (start + size);
    return before < behind ? before : behind;
}

// A fault beside a mapping is surely one of an access to it. Otherwise the address NULL of a rank
// is more likely than a wild pointer of the client, unless that rank's memory has the same
// addresses here.
static aq_fault_finding_t find_primordial(uintptr_t here, aq_fault_place_t *place)
{
    uintptr_t nearest = AQ_SEGMENT_GUARD;
    aq_fault_finding_t finding = AQ_FAULT_UNKNOWN;
    for (uint32_t r = 0; r < aq_job.size; r++) {
        const intptr_t shift = aq_job.shift[r];
        const uintptr_t addr = here - (uintptr_t)shift;
        if ((shift & 1) || aq_job.segment_size[r] == UINTPTR_MAX)
            continue;
        const uintptr_t distance = distance_from(r, addr);
        const bool null =
            shift && is_near_null(addr, FAR_NULL_BYTES) && !is_near_null(here, NULL_BYTES);
        if (distance < UINTPTR_MAX && distance >= nearest && !(null && !finding))
            continue;
        *place = (aq_fault_place_t){.rank = r,
                                    .addr = addr,
                                    .start = aq_job.segment_addr[r],
                                    .size = aq_job.segment_size[r]};
        if (distance == UINTPTR_MAX)
            return AQ_FAULT_INSIDE;
        if (distance < nearest)
            nearest = distance;
        finding = AQ_FAULT_BESIDE;
    }
    return finding;
}

aq_fault_finding_t aq_fault_find(uintptr_t here, aq_fault_place_t *place)
{
    return aq_segment_map_find(here, place) ? AQ_FAULT_BESIDE : find_primordial(here, place);
}

bool aq_fault_reaches(uint32_t rank)
{
    return !aq_team_calls_always() && !(aq_job.shift[rank] & 1) &&
           aq_job.segment_size[rank] != UINTPTR_MAX;
}

static bool is_in_registers(const ucontext_t *state, intptr_t value)
{
#if defined __x86_64__
    for (int i = 0; i < REG_RIP; i++) // the general registers are before it
        if (state->uc_mcontext.gregs[i] == value)
            return true;
#elif defined __aarch64__
    for (int i = 0; i < 31; i++)
        if (state->uc_mcontext.regs[i] == (uintptr_t)value)
            return true;
#else
    (void)state, (void)value;
#endif
    return false;
}

bool aq_fault_rank_in_registers(const void *context, uint32_t *rank)
{
    unsigned found = 0;
    for (uint32_t r = 0; r < aq_job.size; r++) {
        if (!aq_fault_reaches(r) || !aq_job.shift[r] || !is_in_registers(context, aq_job.shift[r]))
            continue;
        *rank = r;
        found++;
    }
    return found == 1;
}
