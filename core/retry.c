#include "retry.h"

#include "counters.h"
#include "fatal.h"
#include "job.h"
#include "progress.h"
#include "report.h"

// A wait inside a handler is not reported, so that the report still names the wait around it.
aq_status_t aq_retry(aq_attempt_t *attempt, void *context, aq_retry_mode_t mode,
                     gex_EP_Index_t endpoint, uint32_t jobrank)
{
    const bool in_handler = mode == AQ_RETRY_REPLIES;
    aq_status_t status = AQ_AGAIN;
    aq_api_wait_t wait = {0};
    aq_count_at(endpoint, AQ_COUNT_NO_ROOM);
    if (mode == AQ_RETRY_NEVER) {
        aq_count_at(endpoint, AQ_COUNT_REFUSED);
        return AQ_AGAIN;
    }
    if (!in_handler)
        aq_report_wait(NULL, jobrank);
    for (unsigned turns = 0; status == AQ_AGAIN; turns++) {
        if (in_handler)
            aq_progress_wait_replies(turns);
        else
            aq_api_wait_turn(&wait);
        status = attempt(context);
    }
    aq_api_wait_end(&wait);
    if (!in_handler)
        aq_report_go_on();
    return status;
}

// ---- put and get ----

typedef struct rma_attempt {
    aq_conduit_t *conduit;
    void *link;
    atomic_uint *pending;
    aq_rma_t rest;
} rma_attempt_t;

static aq_status_t rma_attempt_piece(void *context)
{
    rma_attempt_t *attempt = context;
    size_t begun = 0;
    const aq_status_t status = attempt->conduit->ops->rma(attempt->conduit, attempt->link,
                                                          &attempt->rest, attempt->pending, &begun);
    aq_rma_advance(&attempt->rest, begun);
    return status;
}

static __attribute__((noreturn, cold)) void rma_failed(uint32_t jobrank, const aq_rma_t *rma,
                                                       aq_status_t status)
{
    aq_fatal("a %s of %zu bytes with rank %u failed: %s", rma->kind == AQ_RMA_GET ? "get" : "put",
             rma->nbytes, jobrank, aq_status_name(status));
}

aq_status_t aq_native_rma(aq_conduit_t *conduit, void *link, uint32_t jobrank, const aq_rma_t *rma,
                          atomic_uint *pending, aq_retry_mode_t mode)
{
    rma_attempt_t attempt = {conduit, link, pending, *rma};
    while (attempt.rest.nbytes) {
        const bool first = attempt.rest.nbytes == rma->nbytes;
        const aq_status_t status =
            aq_try(rma_attempt_piece, &attempt, mode, attempt.conduit->endpoint, jobrank);
        if (__builtin_expect(status != AQ_OK, 0)) {
            if (first && (status == AQ_AGAIN || status == AQ_ERR_ABSENT))
                return status;
            rma_failed(jobrank, rma, status);
        }
        mode = AQ_RETRY_POLL; // the operation has begun and can no longer be refused
    }
    return AQ_OK;
}
