// Put and get by the conduit itself, or over active messages to memory that it cannot reach.
#include "../core/event.h"
#include "../core/fatal.h"
#include "../core/job.h"
#include "../core/progress.h"
#include "rma.h"

static _Noreturn void rma_failed(const aq_rma_op_t *op, aq_status_t status)
{
    aq_fatal("a %s of %zu bytes with rank %u failed: %s",
             op->access.kind == AQ_RMA_GET ? "get" : "put", op->access.nbytes, op->rank,
             aq_status_name(status));
}

// Only the first piece may fail because of IMMEDIATE: after it the operation has begun.
int aq_rma_native(const aq_rma_op_t *op, gex_Event_t part)
{
    const uintptr_t link = aq_job_link(op->rank);
    aq_conduit_t *conduit = aq_link_conduit(link);
    aq_api_wait_t wait = {0};
    aq_rma_t rest = op->access;
    while (rest.nbytes) {
        const bool first = rest.nbytes == op->access.nbytes;
        size_t begun = 0;
        aq_status_t status =
            conduit->ops->rma(conduit, aq_link_pointer(link), &rest, &part->pending, &begun);
        aq_rma_advance(&rest, begun);
        if (status == AQ_OK)
            continue;
        if (status == AQ_ERR_ABSENT && first)
            return aq_rma_over_am(op, part);
        if (status != AQ_AGAIN)
            rma_failed(op, status);
        if (first && op->flags & GEX_FLAG_IMMEDIATE)
            return 1;
        aq_api_wait_turn(&wait);
    }
    aq_api_wait_end(&wait);
    // A client that only puts and gets still serves the requests of others.
    if (!op->waits || !atomic_load_explicit(&part->pending, memory_order_relaxed))
        aq_progress_poll_sending();
    return 0;
}
