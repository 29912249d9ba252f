// SPDX-License-Identifier: BSD-3-Clause
// The table of links, and the grants of an endpoint. The connector makes and starts links here; the
// receive side finds senders by number.
#include "ibv_peer.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"

enum { WINDOW_PEERS = UINT16_MAX + 1 }; // see number of aq_ibv_conn_private_data_t

static size_t table_bytes(const aq_ibv_peers_t *peers)
{
    return peers->numbers * sizeof *peers->by_number;
}

// The table of a window has room for all numbers; the system provides memory for those in use only.
static bool table_open(aq_ibv_peers_t *peers, uint32_t ranks)
{
    peers->numbers = peers->endpoint ? (uint32_t)WINDOW_PEERS : ranks;
    if (!peers->endpoint) {
        peers->by_number = calloc(ranks, sizeof *peers->by_number);
        return peers->by_number;
    }
    void *table = mmap(NULL, table_bytes(peers), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    peers->by_number = table == MAP_FAILED ? NULL : table;
    return peers->by_number;
}

void aq_ibv_credits_open(aq_ibv_peers_t *peers)
{
    aq_credit_pool_start(&peers->credits, peers->limits->credits.total);
    atomic_init(&peers->grants_left, peers->limits->grants);
    peers->ungranted = peers->limits->peers;
}

bool aq_ibv_peers_open(aq_ibv_peers_t *peers, uint32_t ranks)
{
    aq_ibv_credits_open(peers);
    return table_open(peers, ranks);
}

static aq_ibv_peer_t *peer_find(const aq_ibv_peers_t *peers, uint32_t rank, uint16_t endpoint)
{
    if (!peers->endpoint)
        return atomic_load_explicit(&peers->by_number[rank], memory_order_relaxed);
    aq_ibv_peer_t *link = atomic_load_explicit(&peers->first, memory_order_relaxed);
    while (link && (link->rank != rank || link->endpoint != endpoint))
        link = link->next;
    return link;
}

static aq_ibv_peer_t *peer_make(aq_ibv_peers_t *peers, uint32_t rank, uint16_t endpoint)
{
    const uint32_t count = atomic_load_explicit(&peers->count, memory_order_relaxed);
    if (count == peers->numbers) {
        aq_log_error("endpoint %u cannot communicate with endpoint %u of rank %u: it has %u peers, "
                     "and conduit ibv allows no more; spread them over more endpoints",
                     peers->endpoint, endpoint, rank, count);
        return NULL;
    }
    aq_ibv_peer_t *link = calloc(1, sizeof *link);
    if (!link) {
        aq_log_error("out of memory for the connection to rank %u (%zu bytes)", rank, sizeof *link);
        return NULL;
    }
    link->rank = rank;
    link->endpoint = endpoint;
    link->here = peers->endpoint;
    link->number = peers->endpoint ? count : rank;
    link->number_there = peers->rank;
    link->entries = &link->own;
    atomic_init(&link->own.slots, peers->limits->depth_each);
    return link;
}

aq_ibv_peer_t *aq_ibv_peer_get(aq_ibv_peers_t *peers, uint32_t rank, uint16_t endpoint)
{
    aq_ibv_peer_t *link = peer_find(peers, rank, endpoint);
    if (link)
        return link;
    link = peer_make(peers, rank, endpoint);
    if (!link)
        return NULL;
    link->next = atomic_load_explicit(&peers->first, memory_order_relaxed);
    atomic_store_explicit(&peers->by_number[link->number], link, memory_order_release);
    atomic_store_explicit(&peers->first, link, memory_order_release);
    atomic_fetch_add_explicit(&peers->count, 1, memory_order_relaxed);
    return link;
}

// Reserves one grant for each peer that may still come; a new peer gets an eighth of the rest, up
// to the limit of each. With more peers than grants, half of the grants are reserved: a peer gets a
// credit without a buffer only when so many peers were contacted that all grants are given away.
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

// Credits that are banked for a peer. The credits that all peers of a window bank must be fewer
// than its requests that may be outstanding. All windows have the same limits, so this process
// knows that number, and its own number at the window bounds how many peers there are.
static unsigned slack_for(const aq_ibv_peers_t *peers, const aq_ibv_conn_private_data_t *theirs)
{
    const aq_credit_limits_t *credits = &peers->limits->credits;
    const bool many = peers->endpoint && (theirs->number + 1u) * credits->slack >= credits->total;
    return many ? 0 : credits->slack;
}

void aq_ibv_peer_start(aq_ibv_peers_t *peers, aq_ibv_peer_t *link,
                       const aq_ibv_conn_private_data_t *theirs)
{
    aq_credit_start(&link->credit, &peers->credits, theirs->grant, link->grant,
                    slack_for(peers, theirs));
    if (peers->endpoint)
        link->number_there = theirs->number;
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
        free(atomic_load_explicit(&link->rails, memory_order_relaxed));
        free(link);
    }
    if (!peers->endpoint)
        free(peers->by_number);
    else if (peers->by_number)
        munmap(peers->by_number, table_bytes(peers));
}
