// SPDX-License-Identifier: BSD-3-Clause
// Operations over active messages that wait for the answer of a peer. Request and answer carry a
// cookie (core/ground/cookie.h): no address of the initiator ever travels.
#pragma once

#include "../../core/am/am.h"
#include "../../core/ground/cookie.h"
#include "../../core/thread/event.h"
#include "../../core/gasnetex_core.h"

// The kind of operation. An answer of another kind does not complete it.
typedef enum aq_pending_kind {
    AQ_PENDING_PUT, // contiguous or not
    AQ_PENDING_GET,
    AQ_PENDING_ATOMIC,
    AQ_PENDING_FETCH, // an atomic that returns the old value
    AQ_PENDING_VIS_GET,
    AQ_PENDING_MEMSET,
    AQ_PENDING_PROBE
} aq_pending_kind_t;

// Records an operation before its request to a job rank is sent; the answer completes the
// operation. context: the part of an event, or a pointer of the caller. dest: destination of the
// nbytes of the answer. Ends the job if memory is exhausted. Any thread; does not block.
aq_cookie_t aq_pending_add(aq_pending_kind_t kind, uint32_t rank, void *context, void *dest,
                           size_t nbytes);

// Sends the request of a recorded operation; `part` counts the operation until its answer. If flags
// has IMMEDIATE and there is no room, removes the operation and returns non-zero. Blocks and polls
// otherwise.
int aq_pending_request(aq_ep_pair_t pair, uint32_t jobrank, aq_am_t *am, gex_Flags_t flags,
                       aq_cookie_t cookie, gex_Event_t part);

// For the handler of an answer: removes the operation and returns it. Ends the job if no operation
// waits for such an answer of this peer. Any thread; does not block.
aq_pending_op_t aq_pending_end(aq_pending_kind_t kind, gex_Token_t token, aq_cookie_t cookie);

// As above, for an answer that must bring exactly as many bytes as the operation asked for.
aq_pending_op_t aq_pending_end_sized(aq_pending_kind_t kind, gex_Token_t token, aq_cookie_t cookie,
                                     size_t nbytes);

// For the target: ends the job with a message that names the peer unless these bytes are in a
// segment of this process.
void aq_pending_check_target(aq_pending_kind_t kind, gex_Token_t token, const void *addr,
                             size_t nbytes);

// Ends the job: a get of the peer asks for more than an answer can bring.
_Noreturn void aq_pending_refuse_size(gex_Token_t token, size_t nbytes) __attribute__((cold));

// For the target of a get: the bytes that the request asks for. Ends the job unless they fit into
// one answer.
static inline size_t aq_pending_get_size(gex_Token_t token, int32_t size)
{
    const size_t nbytes = (uint32_t)size;
    if (__builtin_expect(nbytes > aq_job.limits.medium, 0))
        aq_pending_refuse_size(token, nbytes);
    return nbytes;
}
