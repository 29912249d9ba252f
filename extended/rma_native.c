// Put and get by the conduit itself, or over active messages to memory that it cannot reach.
#include "../core/event.h"
#include "../core/fatal.h"
#include "../core/job.h"
#include "../core/progress.h"
#include "rma.h"

// Begins what there is room for, from an offset on; *begun bytes.
static aq_status_t begin(const aq_rma_t *rma, size_t offset, gex_Event_t part, size_t *begun)
{
    uintptr_t link = aq_job_link(rma->rank);
    aq_conduit_t *conduit = aq_link_conduit(link);
    void *pointer = aq_link_pointer(link);
    char *remote = (char *)rma->remote + offset, *local = (char *)rma->local + offset;
    size_t nbytes = rma->nbytes - offset;
    unsigned flags = rma->stable ? AQ_RMA_STABLE : 0;
    *begun = 0;
    if (rma->is_get)
        return conduit->ops->get(conduit, pointer, local, remote, nbytes, flags, &part->pending,
                                 begun);
    return conduit->ops->put(conduit, pointer, remote, local, nbytes, flags, &part->pending, begun);
}

// Only the first piece may fail for IMMEDIATE's sake: after it the operation has begun.
static int start(const aq_rma_t *rma, gex_Event_t part)
{
    aq_api_wait_t wait = {0};
    size_t offset = 0, begun;
    while (offset < rma->nbytes) {
        aq_status_t status = begin(rma, offset, part, &begun);
        offset += begun;
        if (status == AQ_OK)
            continue;
        if (status == AQ_ERR_ABSENT && offset == 0)
            return rma->is_get ? aq_rma_over_am.get(rma, part) : aq_rma_over_am.put(rma, part);
        if (status != AQ_AGAIN)
            aq_fatal("a %s of %zu bytes with rank %u failed: %s", rma->is_get ? "get" : "put",
                     rma->nbytes, rma->rank, aq_status_name(status));
        if (offset == 0 && rma->flags & GEX_FLAG_IMMEDIATE)
            return 1;
        aq_api_wait_turn(&wait);
    }
    aq_api_wait_end(&wait);
    // Who only puts and gets still serves others.
    if (!rma->waits || !atomic_load_explicit(&part->pending, memory_order_relaxed))
        aq_progress_poll_sending();
    return 0;
}

const aq_rma_method_t aq_rma_native = {start, start};
