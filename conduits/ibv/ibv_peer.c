#include "ibv_peer.h"

#include <stdlib.h>

#include "../../other/base/log.h"
#include "../../other/base/minmax.h"

aq_ibv_peer_t *aq_ibv_peer_get(aq_ibv_peers_t *peers, uint32_t rank)
{
    aq_ibv_peer_t *link = atomic_load_explicit(&peers->by_rank[rank], memory_order_relaxed);
    if (link)
        return link;
    link = calloc(1, sizeof *link);
    if (!link) {
        aq_log_error("out of memory for the connection to rank %u (%zu bytes)", rank, sizeof *link);
        return NULL;
    }
    link->rank = rank;
    atomic_init(&link->slots, peers->limits->depth_each);
    link->next = atomic_load_explicit(&peers->first, memory_order_relaxed);
    atomic_store_explicit(&peers->by_rank[rank], link, memory_order_release);
    atomic_store_explicit(&peers->first, link, memory_order_release);
    atomic_fetch_add_explicit(&peers->count, 1, memory_order_relaxed);
    return link;
}

void aq_ibv_credits_open(aq_ibv_peers_t *peers)
{
    aq_credit_pool_start(&peers->credits, peers->limits->credits.total);
    atomic_init(&peers->grants_left, peers->limits->grants);
    peers->ungranted = peers->limits->peers;
}

// Reserves one grant for each peer that may still come; a new peer gets an eighth of the rest, up
// to the limit of each. With more peers than grants, half of the grants are reserved: a peer gets a
// credit without a buffer only after so many peers were spoken to that all grants are given away.
unsigned aq_ibv_peer_grant(aq_ibv_peers_t *peers)
{
    const aq_ibv_limits_t *limits = peers->limits;
    const unsigned left = atomic_load_explicit(&peers->grants_left, memory_order_relaxed);
    const bool enough_for_all = limits->grants >= limits->credits.each * limits->peers;
    peers->ungranted -= peers->ungranted > 0;
    if (!left)
        return 1;
    const unsigned kept = limits->peers <= limits->grants ? peers->ungranted : limits->grants / 2;
    const unsigned spare = left > kept ? left - kept - 1 : 0;
    const unsigned grant = enough_for_all ? limits->credits.each
                                          : (unsigned)aq_min(1 + spare / 8, limits->credits.each);
    atomic_store_explicit(&peers->grants_left, left - grant, memory_order_relaxed);
    return grant;
}

void aq_ibv_peer_start(aq_ibv_peers_t *peers, aq_ibv_peer_t *link,
                       const aq_ibv_conn_private_data_t *theirs)
{
    aq_credit_start(&link->credit, &peers->credits, theirs->grant, link->grant,
                    peers->limits->credits.slack);
    link->out.base = theirs->rings_at;
    link->out.key = theirs->rings_key;
    link->out.depth = theirs->ring_depth;
    link->atomics = (aq_ibv_atomics_t)theirs->atomics;
    atomic_store_explicit(&link->started, true, memory_order_release);
}

void aq_ibv_peers_free(aq_ibv_peers_t *peers)
{
    aq_ibv_peer_t *next;
    for (aq_ibv_peer_t *link = atomic_load(&peers->first); link; link = next) {
        next = link->next;
        free(link);
    }
    free(peers->by_rank);
}
