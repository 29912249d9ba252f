// SPDX-License-Identifier: BSD-3-Clause
// A conduit whose send runs the handler at once. peer_link.c binds this rank to it for messages to
// itself.
#include "loopback.h"

#include <stdlib.h>
#include <string.h>

#include "am.h"
#include "../ground/fatal.h"
#include "../endpoint/peer_link.h"
#include "../progress/progress.h"

enum {
    SMALL = 1024, // bytes of a payload that is copied to the stack
    // One of this many requests polls after the handlers, as requests to other ranks do: a client
    // that sends to itself only still serves other ranks.
    POLL_TURNS = 16,
};

// `reply` is am->reply, as a constant where that saves time: a load of two bytes that were stored
// one by one waits for both stores.
static inline aq_arrival_t arrival_of(const aq_am_t *am, bool reply)
{
    return (aq_arrival_t){.args = am->args,
                          .nbytes = am->nbytes,
                          .source = aq_job.rank,
                          .category = am->category,
                          .handler = am->handler,
                          .nargs = am->nargs,
                          .reply = reply};
}

static void deliver_payload(const aq_am_t *am, void *copy)
{
    aq_arrival_t arrival = arrival_of(am, am->reply);
    if (am->nbytes)
        memcpy(copy, am->payload, am->nbytes);
    arrival.payload = copy;
    aq_am_deliver(&arrival);
}

static __attribute__((noinline)) void deliver_small(const aq_am_t *am)
{
    _Alignas(16) char copy[SMALL];
    deliver_payload(am, copy);
}

// Copies the payload, since the handler may change it.
static aq_status_t deliver_medium(const aq_am_t *am)
{
    if (am->nbytes <= SMALL) {
        deliver_small(am);
        return AQ_OK;
    }
    void *copy = malloc(am->nbytes);
    if (!copy) {
        aq_log_error("out of memory for the payload of a message to this process itself (%zu "
                     "bytes)",
                     am->nbytes);
        return AQ_ERR_RESOURCE;
    }
    deliver_payload(am, copy);
    free(copy);
    return AQ_OK;
}

static void deliver_long(const aq_am_t *am)
{
    if (!aq_job.env.segment_holds(am->dest, am->nbytes))
        aq_fatal("a Long of rank %u to itself (%zu bytes to %p) is not inside a segment of this "
                 "process",
                 aq_job.rank, am->nbytes, am->dest);
    deliver_payload(am, am->dest);
}

static aq_status_t request_handled(void)
{
    static _Thread_local unsigned turns __attribute__((tls_model("initial-exec")));
    if (aq_threads)
        aq_progress_wake(); // another thread may wait for what the handlers did
    return ++turns % POLL_TURNS ? AQ_HANDLED : AQ_OK;
}

static __attribute__((noinline)) aq_status_t send_with_payload(const aq_am_t *am)
{
    aq_status_t status = AQ_OK;
    if (am->category == AQ_AM_MEDIUM)
        status = deliver_medium(am);
    else
        deliver_long(am);
    return am->reply || status != AQ_OK ? status : request_handled();
}

static inline void deliver_short(const aq_am_t *am, bool reply)
{
    const aq_arrival_t arrival = arrival_of(am, reply);
    aq_am_deliver(&arrival);
}

static aq_status_t loopback_send(aq_conduit_t *conduit, void *link, const aq_am_t *am)
{
    (void)conduit;
    (void)link;
    if (am->category != AQ_AM_SHORT)
        return send_with_payload(am);
    if (am->reply) {
        deliver_short(am, true);
        return AQ_OK;
    }
    deliver_short(am, false);
    return request_handled();
}

void aq_loopback_start(void)
{
    static const aq_conduit_ops_t ops = {
        .name = "loopback",
        .am = {.send = loopback_send},
    };
    static aq_conduit_t loopback = {
        .ops = &ops, .max_medium = SIZE_MAX, .max_long = SIZE_MAX, .max_long_unmapped = SIZE_MAX};
    loopback.env = &aq_job.env;
    aq_job.conduits[AQ_LOOPBACK] = &loopback;
}
