// SPDX-License-Identifier: BSD-3-Clause
// Accesses to memory that their target does not have: puts, gets, atomics and the like are checked
// here before they start, against the segments that this process knows.
//
// In a default job a wrong access ends the job. With GASNET_ERRORS=return it becomes an error of
// the operation: the part of its event gets AQ_EVENT_FAILED, and the call that synchronizes the
// event hands the error to its thread, which reads it with gasnetx_Error_Next.
//
// A put, get or atomic on mapped memory is not checked in a release build without
// GASNET_ERRORS=return, because the client's code performs it without a call (see fault.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../aqueduct.h"
#include "../thread/event.h"
#include "../state/job.h"
#include "reserved_pages.h"
#include "segment_table.h"

// An access of this process. call: the function that the client called; a string constant.
typedef struct aq_access {
    const char *call;
    const void *addr; // in the target
    size_t nbytes;
    uint32_t rank; // job rank
    gex_EP_Index_t ep;
    int reason; // GASNETX_ERROR_..., if it is known
} aq_access_t;

// Whether all bytes are in the segment of endpoint ep of a rank. Zero bytes fit everywhere. Any
// thread; does not block for endpoint 0.
static inline bool aq_access_fits(uint32_t rank, gex_EP_Index_t ep, const void *addr, size_t nbytes)
{
    if (__builtin_expect(ep || aq_reserved.size, 0))
        return !nbytes || aq_segment_contains(rank, ep, addr, nbytes);
    const uintptr_t size = aq_job.segment_size[rank];
    const uintptr_t offset = (uintptr_t)addr - aq_job.segment_addr[rank];
    return (offset <= size && nbytes <= size - offset) || !nbytes;
}

// Ends the job with one sentence, or records an error of the operation of `part` for the call that
// synchronizes it. alignment: 0, or the alignment in bytes that the address lacks.
void aq_access_refuse(const aq_access_t *access, size_t alignment, gex_Event_t part)
    __attribute__((cold));

// For a synchronizing call, if not all of these parts (1u << part) of a record are idle: if only
// failed operations are left, hands their errors to the calling thread and returns true. `event` is
// what the client synchronizes, or GEX_EVENT_INVALID.
bool aq_access_collect(aq_event_t *record, unsigned parts, gex_Event_t event) __attribute__((cold));

// Moves the errors of a finished part of an internal event to the operation that it belongs to.
// Returns whether there were any.
bool aq_access_pass_on(gex_Event_t from, gex_Event_t to);
