// SPDX-License-Identifier: BSD-3-Clause
// The explicit and implicit operations that a thread has begun and that may be outstanding. Fences
// (extended/rma/fence.c) wait for them.
//
//     thread --> aq_outstanding_t [ operations | implicit record ] --> that of another thread -->
//     ...
//
// - An operation that completes in the call that begins it is never noted. So the inline paths to
//   mapped memory note nothing.
// - Nothing is noted when an operation completes or is synchronized, which any thread may do. A
//   noted operation is over when its event is finished, or when its record has been freed since
//   (`uses` of the record differs).
// - Only its own thread adds operations and drops those that are over; other threads read. So the
//   lock is rarely contended.
// - An aq_outstanding_t is never freed; a new thread takes that of a thread that has ended.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

enum { AQ_OUTSTANDING_ANY_EP = UINT16_MAX }; // no index of an endpoint is so high

// Parts of an event that fences wait for. Other parts belong to barriers and collectives, which
// need other ranks' calls.
#define AQ_OUTSTANDING_PARTS (1u << AQ_PART_GET | 1u << AQ_PART_PUT | 1u << AQ_PART_RMW)

typedef struct aq_outstanding_op {
    aq_event_t *event;
    uint16_t uses;     // of the record when the operation began
    gex_EP_Index_t ep; // of this process, or AQ_OUTSTANDING_ANY_EP
    uint8_t parts;     // to wait for
    uint8_t local;     // those of the parts that use the client's local memory until they complete
    bool region;       // an access region, to which its thread may still add operations
} aq_outstanding_op_t;

typedef struct aq_outstanding_list {
    aq_outstanding_op_t *ops;
    uint32_t count, room;
} aq_outstanding_list_t;

typedef struct aq_outstanding aq_outstanding_t;

// Takes the state for a new thread. `implicit`: the record that counts its implicit operations.
// Ends the job if memory is out. The thread returns the state with aq_outstanding_leave, which
// keeps what is outstanding for the fences of other threads.
aq_outstanding_t *aq_outstanding_take(aq_event_t *implicit);
void aq_outstanding_leave(aq_outstanding_t *outstanding);

// Note an explicit operation that the thread has begun through endpoint `ep` of this process,
// unless it is complete, and an access region that the thread has opened. `local`: the parts (1u <<
// part) in which the operation uses the client's local memory, or 0. By the thread itself; do not
// block; end the job if memory is out.
void aq_outstanding_add(aq_outstanding_t *outstanding, aq_event_t *event, gex_EP_Index_t ep,
                        unsigned local);
void aq_outstanding_add_region(aq_outstanding_t *outstanding, aq_event_t *region);

// Notes that the thread is about to begin an implicit operation.
void aq_outstanding_implicit(aq_outstanding_t *outstanding, gex_EP_Index_t ep, unsigned local);

// The number of operations that the thread's list has room for.
uint32_t aq_outstanding_room(const aq_outstanding_t *outstanding);

// What a fence waits for: operations of the calling thread (outstanding) through all endpoints, or
// operations of all threads through one endpoint; all of them, or those that use local memory.
// Appends operations that are outstanding to *list, which the caller frees
// (aq_outstanding_list_free). Implicit operations of a thread have one record for all endpoints, so
// the list may cover more of those.
void aq_outstanding_of_thread(aq_outstanding_t *outstanding, bool local,
                              aq_outstanding_list_t *list);
void aq_outstanding_of_endpoint(gex_EP_Index_t ep, bool local, aq_outstanding_list_t *list);
void aq_outstanding_list_free(aq_outstanding_list_t *list);

// Drops the operations that are complete from a list. Returns true if none is left.
bool aq_outstanding_list_done(aq_outstanding_list_t *list);
