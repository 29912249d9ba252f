// Put and get by the conduit itself.
#include "../core/event.h"
#include "../core/fatal.h"
#include "../core/job.h"
#include "rma.h"

static aq_status_t try_once(const aq_rma_t *rma, gex_Event_t part)
{
    uintptr_t link = aq_job_link(rma->rank);
    aq_conduit_t *conduit = aq_link_conduit(link);
    void *pointer = aq_link_pointer(link);
    if (rma->is_get)
        return conduit->ops->get(conduit, pointer, rma->local, rma->remote, rma->nbytes,
                                 &part->pending);
    return conduit->ops->put(conduit, pointer, rma->remote, rma->local, rma->nbytes,
                             &part->pending);
}

static int start(const aq_rma_t *rma, gex_Event_t part)
{
    aq_api_wait_t wait = {0};
    aq_event_begin(part);
    aq_status_t status = try_once(rma, part);
    while (status == AQ_AGAIN && !(rma->flags & GEX_FLAG_IMMEDIATE)) {
        aq_api_wait_turn(&wait);
        status = try_once(rma, part);
    }
    aq_api_wait_end(&wait);
    if (status == AQ_OK)
        return 0;
    if (status != AQ_AGAIN)
        aq_fatal("a %s of %zu bytes with rank %u failed: %s", rma->is_get ? "get" : "put",
                 rma->nbytes, rma->rank, aq_status_name(status));
    aq_event_end(part);
    return 1;
}

const aq_rma_method_t aq_rma_native = {start, start};
