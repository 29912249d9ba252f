// SPDX-License-Identifier: BSD-3-Clause
// Which memory an access at a given address of this process was meant for. The client's code has
// added the shift of a rank to the client's address, so several ranks may explain one address here.
// All functions are async-signal-safe.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../endpoint/segment_map.h"

// An address in the memory of a rank, and its segment of endpoint ep.
typedef aq_segment_near_t aq_fault_place_t;

// How the place of a fault is known.
typedef enum aq_fault_finding {
    AQ_FAULT_UNKNOWN, // the address alone does not tell
    AQ_FAULT_INSIDE,  // the address is inside the segment of *place
    AQ_FAULT_BESIDE,  // the access was surely, or very likely, one to *place
} aq_fault_finding_t;

aq_fault_finding_t aq_fault_find(uintptr_t here, aq_fault_place_t *place);

// Whether an address is in the first page, or in the last.
bool aq_fault_is_null(uintptr_t addr);

// Whether put, get and atomics reach a rank's memory without a call, so that they can fault.
bool aq_fault_reaches(uint32_t rank);

// Whether a register had the shift of exactly one rank, as a small put or get has it; sets *rank.
// context: the third argument of the handler of the signal.
bool aq_fault_rank_in_registers(const void *context, uint32_t *rank);
