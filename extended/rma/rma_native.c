// SPDX-License-Identifier: BSD-3-Clause
// Put and get by the conduit itself, or over active messages to memory that it cannot reach.
#include "../../core/thread/event.h"
#include "../../core/progress/poll_loop.h"
#include "../../core/am/retry.h"
#include "rma.h"

// Whether the client may reuse the source of an operation as soon as the call returns.
static bool has_to_wait(const aq_rma_op_t *op)
{
    return op->access.kind == AQ_RMA_PUT && !(op->access.flags & AQ_RMA_STABLE);
}

// Waits until a put is complete: then the client may reuse the source, and a long source is not
// copied.
static __attribute__((noinline, cold)) int put_and_wait(const aq_rma_op_t *op, aq_path_t path)
{
    aq_rma_op_t whole = *op;
    aq_event_t *event = aq_event_new();
    const gex_Event_t part = aq_event_part(event, AQ_PART_PUT);
    whole.access.flags |= AQ_RMA_STABLE;
    whole.waits = true;
    const int refused = aq_rma_native(&whole, path, part);
    if (!refused)
        gex_Event_Wait(part);
    aq_event_free(event);
    return refused;
}

int aq_rma_native(const aq_rma_op_t *op, aq_path_t path, gex_Event_t part)
{
    // put_waits_from 0 wraps to the largest size.
    if (__builtin_expect(op->access.nbytes > path.conduit->put_waits_from - 1, 0) &&
        has_to_wait(op))
        return put_and_wait(op, path);
    aq_rma_t rest = op->access;
    rest.pending = &part->pending;
    const aq_status_t status =
        aq_native_rma(path, op->rank, &rest, aq_retry_mode(op->flags, false));
    if (__builtin_expect(status != AQ_OK, 0))
        return status == AQ_AGAIN ? 1 : aq_rma_over_am(op, part);
    // Poll, so that a client that only puts and gets still serves the requests of other ranks.
    if (!op->waits || !atomic_load_explicit(&part->pending, memory_order_relaxed))
        aq_poll_sending();
    return 0;
}
