// What a signal asks for (GASNET_REPORT_SIGNAL): what is under way here, and to each peer.
//
// In the handler of a signal: takes no locks, and what it reads may just be changing.
#include "ibv_conduit.h"

#include <inttypes.h>
#include <stdio.h>

#include "../../other/base/log.h"

static unsigned look(const atomic_uint *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

static const char *state_of(const aq_ibv_peer_t *link)
{
    static const char *const names[] = {[AQ_IBV_IDLE] = "not connected",
                                        [AQ_IBV_CALLING] = "is being called",
                                        [AQ_IBV_ANSWERING] = "is being answered",
                                        [AQ_IBV_READY] = "connected",
                                        [AQ_IBV_FAILED] = "cannot be reached"};
    return atomic_load_explicit(&link->dead, memory_order_relaxed) ? "lost" : names[link->state];
}

// "14 of 16 slots free in the ring there".
static void describe_ring(const aq_ibv_peer_t *link, char *text, size_t room)
{
    if (atomic_load_explicit(&link->ring, memory_order_relaxed))
        snprintf(text, room, "%" PRIu32 " of %" PRIu32 " slots free in the ring there",
                 link->ring_slots, link->ring_depth);
    else
        snprintf(text, room, "no ring there");
}

static void tell_link(const aq_ibv_conduit_t *ibv, const aq_ibv_peer_t *link)
{
    char ring[80];
    if (!atomic_load_explicit(&link->started, memory_order_acquire)) {
        aq_log_notice("ibv: rank %" PRIu32 ": %s", link->rank, state_of(link));
        return;
    }
    describe_ring(link, ring, sizeof ring);
    aq_log_notice("ibv: rank %" PRIu32 ": %s; %u of %u entries of the send queue used; credits for "
                  "%u more requests, %u to give back; %s; %s ring here",
                  link->rank, state_of(link),
                  ibv->limits.depth_each - look(&link->slots) - look(&link->silent),
                  ibv->limits.depth_each, look(&link->credit.free), look(&link->credit.banked),
                  ring, link->owned ? "a" : "no");
}

void aq_ibv_dump_state(aq_conduit_t *conduit)
{
    const aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    aq_log_notice(
        "ibv: %u of %u operations under way, %u puts and gets that had to ask; credits "
        "for %u of %u more requests in all; %u requests and %u replies wait for a poll; "
        "%lu messages came in buffers, %lu in %u rings",
        look(&ibv->ops_used), ibv->limits.depth_total, look(&ibv->waiting.begun),
        look(&ibv->credits.free), ibv->limits.credits.total, look(&ibv->requests.count),
        look(&ibv->replies.count), atomic_load_explicit(&ibv->arrived, memory_order_relaxed),
        atomic_load_explicit(&ibv->ring_messages, memory_order_relaxed), look(&ibv->rings_active));
    for (const aq_ibv_peer_t *link = atomic_load(&ibv->links); link; link = link->next)
        tell_link(ibv, link);
}
