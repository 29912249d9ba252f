// Links: what is kept for a peer, what both sides say first, and what happens when one is lost.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ibv_conduit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/minmax.h"
#include "../../other/base/log.h"

enum {
    LEAST_GRACE_NS = 1000000000,
    LOOK_MS = 20,
};

// ---- links ----

aq_ibv_peer_t *aq_ibv_peer_get(aq_ibv_conduit_t *ibv, uint32_t rank)
{
    aq_ibv_peer_t *link = atomic_load_explicit(&ibv->link_of[rank], memory_order_relaxed);
    if (link)
        return link;
    link = calloc(1, sizeof *link);
    if (!link) {
        aq_log_error("out of memory for the connection to rank %u (%zu bytes)", rank, sizeof *link);
        return NULL;
    }
    link->rank = rank;
    atomic_init(&link->slots, ibv->limits.depth_each);
    link->next = atomic_load_explicit(&ibv->links, memory_order_relaxed);
    atomic_store_explicit(&ibv->link_of[rank], link, memory_order_release);
    atomic_store_explicit(&ibv->links, link, memory_order_release);
    atomic_fetch_add_explicit(&ibv->link_count, 1, memory_order_relaxed);
    return link;
}

void aq_ibv_credits_open(aq_ibv_conduit_t *ibv)
{
    aq_credit_pool_start(&ibv->credits, ibv->limits.credits.total);
    atomic_init(&ibv->grants_left, ibv->limits.grants);
    ibv->ungranted = ibv->peers;
}

// Of what is left, one is kept for each peer that may still come; of the rest a new one gets an
// eighth, and no more than anybody may have. With more peers than grants half of them are kept:
// only when so many were spoken to that all are given away, one gets a credit without a buffer.
unsigned aq_ibv_peer_grant(aq_ibv_conduit_t *ibv)
{
    const aq_ibv_limits_t *limits = &ibv->limits;
    const unsigned left = atomic_load_explicit(&ibv->grants_left, memory_order_relaxed);
    const bool enough_for_all = limits->grants >= limits->credits.each * ibv->peers;
    ibv->ungranted -= ibv->ungranted > 0;
    if (!left)
        return 1;
    const unsigned kept = ibv->peers <= limits->grants ? ibv->ungranted : limits->grants / 2;
    const unsigned spare = left > kept ? left - kept - 1 : 0;
    const unsigned grant = enough_for_all ? limits->credits.each
                                          : (unsigned)aq_min(1 + spare / 8, limits->credits.each);
    atomic_store_explicit(&ibv->grants_left, left - grant, memory_order_relaxed);
    return grant;
}

void aq_ibv_peer_start(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_ibv_hello_t *theirs)
{
    aq_credit_start(&link->credit, &ibv->credits, theirs->grant, link->grant,
                    ibv->limits.credits.slack);
    link->rings_at = theirs->rings_at;
    link->rings_key = theirs->rings_key;
    link->ring_depth = theirs->ring_depth;
    link->atomics = (aq_ibv_atomics_t)theirs->atomics;
    atomic_store_explicit(&link->started, true, memory_order_release);
}

// ---- what both sides say first ----

aq_ibv_hello_t aq_ibv_hello(const aq_ibv_conduit_t *ibv, unsigned grant)
{
    return (aq_ibv_hello_t){.rank = ibv->base.env->rank,
                            .grant = (uint16_t)grant,
                            .rings_at = (uintptr_t)ibv->rings_at,
                            .rings_key = ibv->slab_mr->rkey,
                            .ring_depth = ibv->rings ? (uint16_t)ibv->limits.ring_depth : 0,
                            .atomics = (uint8_t)ibv->atomics};
}

static bool read_hello(const void *data, size_t bytes, aq_ibv_hello_t *hello)
{
    if (!data || bytes < sizeof *hello)
        return false;
    memcpy(hello, data, sizeof *hello);
    return true;
}

bool aq_ibv_request_genuine(const aq_ibv_conduit_t *ibv, const void *data, size_t bytes,
                            aq_ibv_hello_t *hello)
{
    const aq_conduit_env_t *env = ibv->base.env;
    return read_hello(data, bytes, hello) && hello->rank < env->size && hello->rank != env->rank &&
           aq_ibv_call_holds(env->boot->key, env->rank, hello);
}

bool aq_ibv_accept_genuine(const aq_ibv_conduit_t *ibv, const aq_ibv_peer_t *link, const void *data,
                           size_t bytes, aq_ibv_hello_t *hello)
{
    const aq_conduit_env_t *env = ibv->base.env;
    return read_hello(data, bytes, hello) && hello->rank == link->rank &&
           aq_ibv_accept_holds(env->boot->key, env->rank, link->called, hello);
}

// ---- lost ----

static bool job_ends(const aq_ibv_conduit_t *ibv)
{
    return aq_boot_ended(ibv->base.env->boot) || atomic_load(&ibv->closing);
}

// The first that is lost is told of. The connector looks what comes of it.
AQ_PRINTF(2, 3) static void lose(aq_ibv_conduit_t *ibv, const char *format, ...)
{
    const uint64_t one = 1;
    va_list args;
    if (job_ends(ibv) || atomic_exchange(&ibv->losing, true))
        return;
    va_start(args, format);
    vsnprintf(ibv->lost_why, sizeof ibv->lost_why, format, args);
    va_end(args);
    atomic_store(&ibv->lost_at, aq_clock_ns());
    if (write(ibv->wake_connector, &one, sizeof one) < 0)
        aq_log_error("the thread of conduit ibv cannot be woken");
}

void aq_ibv_peer_lost(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const char *why)
{
    atomic_store_explicit(&link->dead, true, memory_order_relaxed);
    lose(ibv,
         "the connection to rank %u is lost (%s): that process or its host has ended, or the "
         "network between is cut",
         link->rank, why);
}

void aq_ibv_peer_failed(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, enum ibv_wc_status status)
{
    if (status != IBV_WC_RNR_RETRY_EXC_ERR) {
        aq_ibv_peer_lost(ibv, link, ibv_wc_status_str(status));
        return;
    }
    atomic_store_explicit(&link->dead, true, memory_order_relaxed);
    lose(ibv,
         "rank %u has no buffer for a message of this rank (%s), though it keeps one for each that "
         "it "
         "lets come: see that all hosts have the same version of the library and the same settings",
         link->rank, ibv_wc_status_str(status));
}

void aq_ibv_peer_unreached(aq_ibv_conduit_t *ibv, const aq_ibv_peer_t *link,
                           const struct rdma_cm_event *why)
{
    lose(ibv,
         "rank %u cannot be reached through the verbs device (%s, status %d): if that process and "
         "its host have not ended, see that the addresses of the devices of all hosts reach each "
         "other ('rping' tries it)",
         link->rank, rdma_event_str(why->event), why->status);
}

// A rank that ends in good order, or is killed, ends the job through the launcher: there is a
// better message then, and a code. But it takes a process with much memory a while to end once its
// connections are closed. So there is half of the exit timeout for its end to be heard of.
static uint64_t grace_of(const aq_ibv_conduit_t *ibv)
{
    return aq_max(ibv->base.env->exit_timeout_ns / 2, LEAST_GRACE_NS);
}

void aq_ibv_peers_await_end(const aq_ibv_conduit_t *ibv)
{
    while (atomic_load(&ibv->losing) && !job_ends(ibv))
        aq_clock_sleep_ns(LOOK_MS * UINT64_C(1000000));
}

int aq_ibv_peers_watch(aq_ibv_conduit_t *ibv)
{
    const uint64_t lost_at = atomic_load(&ibv->lost_at);
    if (!lost_at || job_ends(ibv))
        return -1;
    if (aq_clock_ns() - lost_at < grace_of(ibv))
        return LOOK_MS;
    aq_log_error("%s", ibv->lost_why);
    ibv->base.env->boot->ops->abort(ibv->base.env->boot, 1);
    return -1;
}
