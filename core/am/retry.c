// SPDX-License-Identifier: BSD-3-Clause
// Polls and tries an operation of a conduit again until there is room: sends (am_send.c),
// reservations (am_prepare.c), and puts, gets and atomics of extended/.
#include "retry.h"

#include "../../other/base/probes.h"
#include "../record/counters.h"
#include "../ground/fatal.h"
#include "../state/job.h"
#include "../progress/progress.h"
#include "../record/wait_mark.h"

// A wait inside a handler is not reported, so that the report still names the wait around it.
aq_status_t aq_retry(aq_attempt_t *attempt, void *context, aq_retry_mode_t mode,
                     gex_EP_Index_t endpoint, uint32_t jobrank)
{
    const bool in_handler = mode == AQ_RETRY_REPLIES;
    aq_status_t status = AQ_AGAIN;
    aq_api_wait_t wait = {0};
    aq_probe_no_room(aq_job.rank, jobrank);
    aq_count_event(endpoint, AQ_COUNT_NO_ROOM);
    aq_cell_add(&aq_count_record(jobrank)->trouble[AQ_TROUBLE_NO_ROOM], 1);
    if (mode == AQ_RETRY_NEVER) {
        aq_count_event(endpoint, AQ_COUNT_REFUSED);
        return AQ_AGAIN;
    }
    if (!in_handler)
        aq_wait_begin(aq_wait_word(AQ_WAIT_ROOM, jobrank), NULL);
    for (unsigned turns = 0; status == AQ_AGAIN; turns++) {
        if (in_handler)
            aq_progress_wait_replies(turns);
        else
            aq_api_wait_turn(&wait);
        status = attempt(context);
    }
    aq_api_wait_end(&wait);
    if (!in_handler)
        aq_wait_end();
    return status;
}

// ---- put and get ----

typedef struct rma_attempt {
    aq_path_t path;
    aq_rma_t *rest;
} rma_attempt_t;

static aq_status_t rma_attempt_piece(void *context)
{
    const rma_attempt_t *attempt = context;
    const aq_path_t path = attempt->path;
    return path.conduit->ops->rma.begin(path.conduit, path.link, attempt->rest);
}

static __attribute__((noreturn, cold)) void rma_failed(uint32_t jobrank, const aq_rma_t *rma,
                                                       aq_status_t status)
{
    aq_fatal("a %s with rank %u failed, %zu bytes before its end: %s",
             rma->kind == AQ_RMA_GET ? "get" : "put", jobrank, rma->nbytes, aq_status_name(status));
}

aq_status_t aq_native_rma_rest(aq_path_t path, uint32_t jobrank, aq_rma_t *rma,
                               aq_retry_mode_t mode, aq_status_t status)
{
    const gex_EP_Index_t endpoint = path.conduit->endpoint;
    rma_attempt_t attempt = {path, rma};
    if (status == AQ_AGAIN)
        status = aq_retry(rma_attempt_piece, &attempt, mode, endpoint, jobrank);
    if (status == AQ_AGAIN || status == AQ_ERR_ABSENT)
        return status;
    // The operation has begun and can no longer be refused.
    while (status == AQ_OK && rma->nbytes)
        status = aq_try(rma_attempt_piece, &attempt, AQ_RETRY_POLL, endpoint, jobrank);
    if (status != AQ_OK)
        rma_failed(jobrank, rma, status);
    return AQ_OK;
}
