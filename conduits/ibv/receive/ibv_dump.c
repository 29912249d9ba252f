// SPDX-License-Identifier: BSD-3-Clause
// Reads states and counters of all links without locks, for the core's report of a job that hangs
// (ibv_table.c).
#include "ibv_dump.h"

#include <inttypes.h>
#include <stdio.h>

#include "../../../other/base/log/log.h"

static unsigned counter_read(const atomic_uint *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static const char *state_of(const aq_ibv_peer_t *link)
{
    static const char *const names[] = {[AQ_IBV_IDLE] = "not connected",
                                        [AQ_IBV_CALLING] = "is being called",
                                        [AQ_IBV_ANSWERING] = "is being answered",
                                        [AQ_IBV_READY] = "connected",
                                        [AQ_IBV_FAILED] = "cannot be reached"};
    return atomic_load_explicit(&link->entries->dead, memory_order_relaxed)
               ? "lost"
               : names[link->conn.state];
}

// "14 of 16 slots free in the ring there".
static void ring_describe(const aq_ibv_peer_t *link, char *text, size_t size)
{
    if (atomic_load_explicit(&link->out.at, memory_order_relaxed))
        snprintf(text, size, "%" PRIu32 " of %" PRIu32 " slots free in the ring there",
                 link->out.free_slots, link->out.depth);
    else
        snprintf(text, size, "no ring there");
}

// "rank 3"; of a window "rank 3, from endpoint 2 to endpoint 5".
static void name_describe(const aq_ibv_peer_t *link, char *text, size_t size)
{
    if (link->here)
        snprintf(text, size, "rank %" PRIu32 ", from endpoint %u to endpoint %u", link->rank,
                 link->here, link->endpoint);
    else
        snprintf(text, size, "rank %" PRIu32, link->rank);
}

static void link_dump(const aq_ibv_limits_t *limits, const aq_ibv_peer_t *link)
{
    char ring[80], name[64];
    name_describe(link, name, sizeof name);
    if (!atomic_load_explicit(&link->started, memory_order_acquire)) {
        aq_log_notice("ibv: %s: %s", name, state_of(link));
        return;
    }
    ring_describe(link, ring, sizeof ring);
    aq_log_notice("ibv: %s: %s; %u of %u entries of the send queue used; credits for "
                  "%u more requests, %u to give back; %s; %s ring here",
                  name, state_of(link),
                  limits->depth_each - counter_read(&link->entries->slots) -
                      counter_read(&link->entries->unsignaled),
                  limits->depth_each, counter_read(&link->credit.free),
                  counter_read(&link->credit.banked), ring, link->in.owned ? "a" : "no");
}

void aq_ibv_dump(const aq_ibv_receiver_t *receiver)
{
    const aq_ibv_limits_t *limits = receiver->limits;
    const aq_ibv_peers_t *peers = receiver->peers;
    const aq_ibv_rings_t *rings = receiver->rings;
    if (peers->endpoint && !atomic_load(&peers->first))
        return; // a window without links
    aq_log_notice("ibv: %u of %u operations under way, %u puts and gets that had to ask; credits "
                  "for %u of %u more requests in all; %u requests and %u replies wait for a poll; "
                  "%lu messages came in buffers, %lu in %u rings",
                  counter_read(&receiver->send_queue->ops_used), limits->depth_total,
                  counter_read(&receiver->ondemand->begun), counter_read(&peers->credits.free),
                  limits->credits.total, counter_read(&receiver->requests.count),
                  counter_read(&receiver->replies.count),
                  atomic_load_explicit(&receiver->arrived, memory_order_relaxed),
                  atomic_load_explicit(&rings->messages, memory_order_relaxed),
                  counter_read(&rings->active_count));
    for (const aq_ibv_peer_t *link = atomic_load(&peers->first); link; link = link->next)
        link_dump(limits, link);
}
