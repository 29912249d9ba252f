// Put and get by the conduit itself, or over active messages to memory that it cannot reach.
#include "../core/event.h"
#include "../core/progress.h"
#include "../core/retry.h"
#include "rma.h"

int aq_rma_native(const aq_rma_op_t *op, aq_am_route_t way, gex_Event_t part)
{
    const aq_status_t status = aq_native_rma(way.conduit, way.link, op->rank, &op->access,
                                             &part->pending, aq_retry_mode(op->flags, false));
    if (__builtin_expect(status != AQ_OK, 0))
        return status == AQ_AGAIN ? 1 : aq_rma_over_am(op, part);
    // A client that only puts and gets still serves the requests of other ranks.
    if (!op->waits || !atomic_load_explicit(&part->pending, memory_order_relaxed))
        aq_progress_poll_sending();
    return 0;
}
