// SPDX-License-Identifier: BSD-3-Clause
// The way of a message after a first attempt (am_send.h) that found no room: tries again by
// retry.c. Also puts the payload of a Long ahead that is too long for the send of the conduit.
#include "am_send.h"

#include "../ground/fatal.h"
#include "retry.h"
#include "../progress/progress.h"

static void __attribute__((noreturn, cold)) send_failed(uint32_t jobrank, aq_status_t status)
{
    aq_fatal("sending to rank %u failed: %s", jobrank, aq_status_name(status));
}

typedef struct send_attempt {
    aq_am_route_t route;
    const aq_am_t *am;
} send_attempt_t;

static aq_status_t send_attempt(void *context)
{
    const send_attempt_t *attempt = context;
    return attempt->route.conduit->ops->am.send(attempt->route.conduit, attempt->route.link,
                                                attempt->am);
}

// A reply waits without running requests, because the handler that sends the reply may not be
// entered again.
int aq_am_again_by(aq_am_route_t route, uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags,
                   aq_status_t status)
{
    send_attempt_t attempt = {route, am};
    if (status == AQ_AGAIN)
        status = aq_retry(send_attempt, &attempt, aq_retry_mode(flags, am->reply),
                          route.conduit->endpoint, jobrank);
    if (status == AQ_AGAIN)
        return 1;
    if (status != AQ_OK)
        send_failed(jobrank, status);
    return 0;
}

int aq_am_request_again(uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags, aq_status_t status)
{
    return aq_am_again_by(aq_am_request_route(jobrank), jobrank, am, flags, status);
}

int aq_am_reply_again(const aq_arrival_t *request, aq_am_t *am, gex_Flags_t flags,
                      aq_status_t status)
{
    return aq_am_again_by(aq_am_reply_route(request, am), request->source, am, flags, status);
}

int aq_am_request(uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags)
{
    return aq_am_send_request(jobrank, am, flags);
}

int aq_am_reply(gex_Token_t token, aq_am_t *am, gex_Flags_t flags)
{
    return aq_am_send_reply(token, am, flags);
}

static bool is_zero(void *pending)
{
    return atomic_load_explicit((atomic_uint *)pending, memory_order_acquire) == 0;
}

// Puts the payload of a Long that is too long for the conduit's send. The put is complete on
// return.
static __attribute__((noinline, cold)) void put_ahead(uint32_t jobrank, const aq_am_t *am)
{
    atomic_uint pending = 0;
    aq_rma_t put = {.remote = am->dest,
                    .local = (void *)(uintptr_t)am->payload,
                    .nbytes = am->nbytes,
                    .pending = &pending,
                    .kind = AQ_RMA_PUT,
                    .flags = AQ_RMA_STABLE};
    const aq_am_route_t route = aq_am_request_route(jobrank);
    if (aq_native_rma(route.conduit, route.link, jobrank, &put, AQ_RETRY_POLL) != AQ_OK)
        aq_fatal("a Long of %zu bytes to %p of rank %u is not in its attached segment, where "
                 "%zu are the most",
                 am->nbytes, am->dest, jobrank, route.conduit->max_long_unmapped);
    aq_progress_wait_until(is_zero, &pending, aq_wait_word(AQ_WAIT_RANK, jobrank), NULL);
}

int aq_am_request_long(uint32_t jobrank, aq_am_t *am, gex_Flags_t flags)
{
    const aq_conduit_t *conduit = aq_link_conduit(aq_job_link(jobrank));
    if (__builtin_expect(conduit->max_long_ahead && !am->dest_mapped &&
                             am->nbytes > conduit->max_long_unmapped,
                         0)) {
        put_ahead(jobrank, am);
        am->payload_delivered = true;
        flags &= ~GEX_FLAG_IMMEDIATE; // the payload has been sent
    }
    return aq_am_request(jobrank, am, flags);
}

bool aq_am_requests_flushed(uint32_t jobrank, uint64_t *mark)
{
    const uintptr_t link = aq_job_link(jobrank);
    aq_conduit_t *conduit = aq_link_conduit(link);
    return !conduit->ops->am.requests_flushed ||
           conduit->ops->am.requests_flushed(conduit, aq_link_pointer(link), mark);
}
