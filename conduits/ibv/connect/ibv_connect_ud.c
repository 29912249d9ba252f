// SPDX-License-Identifier: BSD-3-Clause
// The connector's operations over datagrams: carries out the actions of a handshake
// (ibv_handshake.c) on queue pairs (ibv_queue_pair.c), or on those of XRC (ibv_connect_xrc.c).
#include "ibv_connect_ud.h"
#include "ibv_connect_xrc.h"
#include "../peers/ibv_datagram.h"
#include "../peers/ibv_ud_port.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"

_Static_assert(sizeof(aq_ibv_datagram_t) <= AQ_IBV_UD_BYTES, "a port carries any datagram");

typedef struct aq_ibv_ud {
    unsigned count; // of ports
    aq_ibv_ud_port_t ports[AQ_IBV_RAIL_PORTS_MAX];
    int arrivals;           // an epoll of their channels
    aq_ibv_peer_t *waiting; // links whose handshake has a deadline, linked by conn.next
    aq_ibv_ud_counts_t counts;
} aq_ibv_ud_t;

static uint64_t now_ms(void)
{
    return aq_clock_ns() / 1000000;
}

// ---- datagrams out ----

// Sends a datagram that says everything but the proof. If there is no room or no path, it counts as
// lost. Returns 0, or an errno if there is no path.
static int datagram_send(aq_ibv_connector_t *connector, unsigned port, uint32_t rank,
                         aq_ibv_datagram_t *datagram)
{
    aq_ibv_ud_t *ud = connector->ud;
    const size_t bytes = aq_ibv_datagram_bytes(datagram->count);
    aq_ibv_prove_datagram(connector->env->boot->key, rank, datagram, bytes);
    const aq_ibv_ud_sent_t sent = aq_ibv_ud_port_send(&ud->ports[port], rank, datagram, bytes);
    const int error = sent == AQ_IBV_UD_NO_PATH ? errno : 0;
    if (sent == AQ_IBV_UD_SENT)
        ud->counts.sent++;
    else
        ud->counts.dropped++;
    return error;
}

// What this process says about a link. Returns as datagram_send.
static int link_send(aq_ibv_connector_t *connector, aq_ibv_peer_t *link)
{
    // Without this check the system searches for a path for a second before it fails.
    if (link->conn.handshake.has_rounds &&
        !aq_ibv_port_is_active(connector->device, link->first_port))
        return ENETDOWN;
    const aq_ibv_end_t *end = aq_ibv_link_end(connector, link);
    aq_ibv_datagram_t datagram = {.peer = aq_ibv_private_data_for(end, link),
                                  .flags = (uint16_t)aq_ibv_handshake_flags(&link->conn.handshake),
                                  .round = link->conn.handshake.round,
                                  .count = 1};
    datagram.pairs[0] = aq_ibv_connect_end(connector, link);
    if (link->failover)
        datagram.rings_key = aq_ibv_failover_rings_key(link);
    if (end->xrc)
        aq_ibv_xrc_say(end, link, &datagram);
    return datagram_send(connector, link->first_port, link->rank, &datagram);
}

// Sends a refusal to the sender of a datagram, by the port at which that arrived.
static void datagram_refuse(aq_ibv_connector_t *connector, unsigned port,
                            const aq_ibv_datagram_t *theirs)
{
    aq_ibv_datagram_t datagram = {
        .peer.rank = connector->env->rank, .flags = AQ_IBV_SAYS_NO, .round = theirs->round};
    datagram.peer.endpoint = theirs->peer.to_endpoint;
    datagram.peer.to_endpoint = theirs->peer.endpoint;
    (void)datagram_send(connector, port, theirs->peer.rank, &datagram);
}

// ---- rounds: from which port a link is to begin ----

// The port of a link in a round. 0 for links that can only begin at the first port.
static unsigned round_port(const aq_ibv_connector_t *connector, const aq_ibv_peer_t *link,
                           unsigned round)
{
    const aq_ibv_failovers_t *failovers =
        link->here ? NULL : aq_ibv_link_end(connector, link)->failovers;
    const unsigned ports = aq_ibv_addresses_spread(connector->addresses, link->rank);
    return failovers ? aq_ibv_failovers_first_port(failovers, link->rank, ports, round) : 0;
}

static bool round_is_open(const aq_ibv_connector_t *connector, const aq_ibv_peer_t *link,
                          unsigned round)
{
    return aq_ibv_port_is_active(connector->device, round_port(connector, link, round));
}

// Before a link has a queue pair: finds out whether it has several rounds, and, if this process
// calls, begins with the first round whose port here is not down.
static void rounds_prepare(const aq_ibv_connector_t *connector, aq_ibv_peer_t *link, bool calls)
{
    aq_ibv_handshake_t *handshake = &link->conn.handshake;
    const unsigned ports = connector->ud->count;
    if (link->pair)
        return;
    handshake->has_rounds = round_port(connector, link, 0) != round_port(connector, link, 1);
    while (calls && handshake->has_rounds && handshake->round + 1u < ports &&
           !round_is_open(connector, link, handshake->round))
        handshake->round++;
}

// ---- queue pairs ----

// Gives a link its queue pair, if it has none. False: the device refuses (logged).
static bool link_furnish(aq_ibv_connector_t *connector, aq_ibv_peer_t *link)
{
    aq_ibv_end_t *end = aq_ibv_link_end(connector, link);
    if (link->pair)
        return true;
    if (end->xrc)
        return aq_ibv_xrc_furnish(connector, link);
    link->first_port = round_port(connector, link, link->conn.handshake.round);
    if (!aq_ibv_link_prepare(end, link) || !aq_ibv_connect_make_pair(connector, link))
        return false;
    aq_ibv_link_furnished(link);
    link->conn.psn = randombytes_uniform(1 << 24);
    return true;
}

// Replaces the queue pair of a link by one of the present round. Nothing was posted to the old one.
static bool link_refurnish(aq_ibv_connector_t *connector, aq_ibv_peer_t *link)
{
    ibv_destroy_qp(link->pair);
    link->pair = NULL;
    atomic_fetch_sub_explicit(&aq_ibv_link_end(connector, link)->queue_pairs, 1,
                              memory_order_relaxed);
    return link_furnish(connector, link);
}

// Connects the queue pair with the peer's, and takes in what the peer says. Returns 0 or an errno.
// ETIMEDOUT: the system did not learn the peer's address in time; the next datagram may succeed.
// Others: the device finds no path to it (logged, unless another round may find one).
static int link_connect(aq_ibv_connector_t *connector, aq_ibv_peer_t *link,
                        const aq_ibv_datagram_t *theirs)
{
    aq_ibv_end_t *end = aq_ibv_link_end(connector, link);
    const aq_ibv_path_source_t from = aq_ibv_link_source(connector->device, link);
    const aq_ibv_pair_info_t mine = aq_ibv_connect_end(connector, link);
    const aq_ibv_pair_rnr_t rnr = {AQ_IBV_RNR_TIMER, aq_ibv_rnr_retries(end->limits)};
    const int error = aq_ibv_pair_connect(link->pair, &from, &mine, &theirs->pairs[0], rnr);
    if (error && error != ETIMEDOUT && !link->conn.handshake.has_rounds)
        aq_ibv_link_unreached(connector, link, strerror(error));
    if (error)
        return error;
    if (link->failover)
        aq_ibv_failover_hear_key(link, theirs->rings_key);
    aq_ibv_peer_start(end->peers, link, &theirs->peer);
    return 0;
}

// Does what the handshake says about queue pairs. Returns as link_connect, or EALREADY: see
// aq_ibv_xrc_follow.
static int link_follow(aq_ibv_connector_t *connector, aq_ibv_peer_t *link, unsigned actions,
                       const aq_ibv_datagram_t *theirs)
{
    if (aq_ibv_link_end(connector, link)->xrc)
        return aq_ibv_xrc_follow(connector, link, actions, theirs);
    return actions & AQ_IBV_DO_CONNECT ? link_connect(connector, link, theirs) : 0;
}

// ---- the handshake ----

static void link_fail(aq_ibv_connector_t *connector, aq_ibv_peer_t *link, const char *why)
{
    link->conn.handshake.failed = true;
    // The peer has logged why it has no window; messages then travel between endpoints 0.
    if (why && !link->here)
        aq_ibv_link_unreached(connector, link, why);
    aq_ibv_link_set_state(connector, link, AQ_IBV_FAILED);
}

// Counts attempts in a row that found no path to the peer; error: 0 or why the last one did not.
// Returns whether the link has failed, because nothing in the network answers for the peer's
// address, or no path leads to it. With several ports another round follows instead.
static bool link_pathless(aq_ibv_connector_t *connector, aq_ibv_peer_t *link, int error)
{
    char why[96];
    if (link->conn.handshake.has_rounds) {
        if (error)
            aq_ibv_handshake_skip(&link->conn.handshake, now_ms());
        return false;
    }
    link->conn.pathless = error ? link->conn.pathless + 1 : 0;
    if (link->conn.pathless < AQ_IBV_CALLS_MAX)
        return false;
    snprintf(why, sizeof why, "%s: %s",
             error == ETIMEDOUT ? "nothing answers for that address" : "no path leads there",
             strerror(error));
    link_fail(connector, link, why);
    return true;
}

// Does what the handshake says, except for what link_follow did. theirs: the datagram that it says
// that about; NULL: none.
static void link_act(aq_ibv_connector_t *connector, aq_ibv_peer_t *link, unsigned actions,
                     const aq_ibv_datagram_t *theirs)
{
    if (actions & AQ_IBV_DO_SEND && link_pathless(connector, link, link_send(connector, link)))
        return;
    if (actions & AQ_IBV_DO_READY)
        aq_ibv_link_set_state(connector, link, AQ_IBV_READY);
    if (actions & AQ_IBV_DO_FAIL)
        link_fail(connector, link, theirs ? "it refuses" : "it does not answer");
}

// Lists a link whose handshake has begun, so that link_tick is called.
static void link_await(aq_ibv_ud_t *ud, aq_ibv_peer_t *link)
{
    link->conn.next = ud->waiting;
    ud->waiting = link;
}

static void link_tick(aq_ibv_connector_t *connector, aq_ibv_peer_t *link)
{
    const unsigned actions = aq_ibv_handshake_tick(&link->conn.handshake, now_ms());
    if (actions & AQ_IBV_DO_SEND)
        connector->ud->counts.repeated++;
    if (actions & AQ_IBV_DO_RESTART && !link_refurnish(connector, link)) {
        link_fail(connector, link, NULL);
        return;
    }
    link_act(connector, link, actions, NULL);
}

static void links_tick(aq_ibv_connector_t *connector)
{
    aq_ibv_peer_t **at = &connector->ud->waiting;
    while (*at) {
        aq_ibv_peer_t *link = *at;
        link_tick(connector, link);
        if (aq_ibv_handshake_deadline(&link->conn.handshake) == AQ_IBV_NO_DEADLINE)
            *at = link->conn.next;
        else
            at = &link->conn.next;
    }
}

// Whether the device can find a path to a rank that listens with datagrams: RoCE has none between
// an IPv4 and an IPv6 address. If not, logs why.
static bool path_exists(const aq_ibv_connector_t *connector, uint32_t rank)
{
    const aq_ibv_device_t *device = connector->device;
    const aq_ibv_port_address_t port = aq_ibv_addresses_port(connector->addresses, rank);
    if (!device->ethernet ||
        aq_ibv_gid_is_ipv4(port.gid) == aq_ibv_gid_is_ipv4(device->address.gid))
        return true;
    aq_log_error("one of rank %u and this rank has an IPv4 address (GID), and the other an IPv6 "
                 "address: give the verbs ports of all hosts addresses of one family, or set "
                 "GASNET_IBV_GID_INDEX to the index of their link-local addresses",
                 rank);
    return false;
}

static aq_status_t ud_call(aq_ibv_connector_t *connector, aq_ibv_peer_t *link)
{
    if (!aq_ibv_addresses_has(connector->addresses, link->rank)) {
        aq_log_error("rank %u listens with librdmacm and this rank with datagrams: set "
                     "GASNET_IBV_CONNECT to the same value on all hosts",
                     link->rank);
        link_fail(connector, link, NULL);
        return AQ_ERR_PEER;
    }
    if (!path_exists(connector, link->rank)) {
        link_fail(connector, link, NULL);
        return AQ_ERR_PEER;
    }
    rounds_prepare(connector, link, true);
    if (!link_furnish(connector, link)) {
        link_fail(connector, link, NULL);
        return AQ_ERR_RESOURCE;
    }
    aq_ibv_link_set_state(connector, link, AQ_IBV_CALLING);
    link_await(connector->ud, link);
    link_act(connector, link, aq_ibv_handshake_call(&link->conn.handshake, now_ms()), NULL);
    aq_ibv_connector_wake(connector);
    return link->conn.state == AQ_IBV_FAILED ? AQ_ERR_PEER : AQ_OK;
}

// ---- datagrams in ----

// The link that a datagram is about. NULL: there is none, and cannot be.
static aq_ibv_peer_t *link_of(aq_ibv_connector_t *connector, const aq_ibv_datagram_t *theirs)
{
    const aq_ibv_conn_private_data_t *peer = &theirs->peer;
    aq_ibv_end_t *end = connector->ends[peer->to_endpoint];
    return end && !peer->endpoint == !peer->to_endpoint &&
                   aq_ibv_addresses_has(connector->addresses, peer->rank)
               ? aq_ibv_link_get(end, peer->rank, peer->endpoint)
               : NULL;
}

// Gives a link that a datagram is about its queue pair, that of the datagram's round if that is a
// later one. False: the device refuses (logged).
static bool link_join(aq_ibv_connector_t *connector, aq_ibv_peer_t *link,
                      const aq_ibv_datagram_t *theirs)
{
    aq_ibv_handshake_t *handshake = &link->conn.handshake;
    rounds_prepare(connector, link, false);
    const unsigned actions =
        aq_ibv_handshake_join(handshake, theirs->flags, (uint16_t)theirs->round);
    return actions & AQ_IBV_DO_RESTART && link->pair ? link_refurnish(connector, link)
                                                     : link_furnish(connector, link);
}

// Whether a datagram counts as lost, because of an error: the system does not learn the peer's
// address in time, or another rank is about to make the queue pair, or another round may find a
// path. The peer repeats the datagram, a few times.
static bool is_passing(const aq_ibv_peer_t *link, int error)
{
    return error == ETIMEDOUT || error == EALREADY || (error && link->conn.handshake.has_rounds);
}

// Takes in what a peer says.
static int link_hear(aq_ibv_connector_t *connector, aq_ibv_peer_t *link,
                     const aq_ibv_datagram_t *theirs)
{
    const aq_ibv_handshake_t before = link->conn.handshake;
    const unsigned actions = aq_ibv_handshake_receive(&link->conn.handshake, theirs->flags,
                                                      (uint16_t)theirs->round, now_ms());
    const int error = link_follow(connector, link, actions, theirs);
    if (is_passing(link, error)) {
        link->conn.handshake = before;
        if (error != EALREADY)
            (void)link_pathless(connector, link, error);
        return 0;
    }
    if (!before.begun && link->conn.handshake.begun)
        link_await(connector->ud, link);
    if (error) {
        link_fail(connector, link, NULL);
        return error;
    }
    if (actions & AQ_IBV_DO_CONNECT && link->conn.state == AQ_IBV_IDLE)
        aq_ibv_link_set_state(connector, link, AQ_IBV_ANSWERING);
    link_act(connector, link, actions, theirs);
    return 0;
}

// A port of the connector, at which datagrams arrive.
typedef struct arrival {
    aq_ibv_connector_t *connector;
    unsigned port;
} arrival_t;

static void datagram_handle(void *context, const void *bytes, size_t count)
{
    const arrival_t *at = context;
    aq_ibv_connector_t *connector = at->connector;
    const aq_conduit_env_t *env = connector->env;
    aq_ibv_datagram_t theirs;
    connector->ud->counts.received++;
    if (!aq_ibv_datagram_read(env->boot->key, env->rank, env->size, bytes, count, &theirs)) {
        connector->ud->counts.ignored++;
        return;
    }
    aq_ibv_peer_t *link = link_of(connector, &theirs);
    const bool refusal = theirs.flags & AQ_IBV_SAYS_NO;
    const bool joined = link && (refusal || link_join(connector, link, &theirs));
    if (joined ? link_hear(connector, link, &theirs) : !refusal)
        datagram_refuse(connector, at->port, &theirs);
}

static void ud_progress(aq_ibv_connector_t *connector)
{
    aq_ibv_ud_t *ud = connector->ud;
    pthread_mutex_lock(&connector->lock);
    for (unsigned port = 0; port < ud->count; port++) {
        arrival_t at = {connector, port};
        aq_ibv_ud_port_take(&ud->ports[port], datagram_handle, &at);
    }
    links_tick(connector);
    pthread_mutex_unlock(&connector->lock);
}

static int ud_timeout(aq_ibv_connector_t *connector)
{
    uint64_t next = AQ_IBV_NO_DEADLINE;
    const uint64_t now = now_ms();
    pthread_mutex_lock(&connector->lock);
    for (aq_ibv_peer_t *link = connector->ud->waiting; link; link = link->conn.next)
        next = aq_min(next, aq_ibv_handshake_deadline(&link->conn.handshake));
    pthread_mutex_unlock(&connector->lock);
    if (next == AQ_IBV_NO_DEADLINE)
        return -1;
    return next > now ? (int)(next - now) : 0;
}

// ---- open and close ----

// The ports at which this process can be called: those at which links may begin.
static unsigned ports_wanted(const aq_ibv_connector_t *connector)
{
    const aq_ibv_end_t *end = connector->ends[0];
    return end && end->failovers ? connector->device->rails.count : 1;
}

static bool port_open(aq_ibv_connector_t *connector, unsigned number)
{
    const aq_ibv_device_t *device = connector->device;
    aq_ibv_ud_port_t *port = &connector->ud->ports[number];
    port->pd = number ? device->rails.list[number].pd : device->pd;
    port->from = aq_ibv_port_source(device, number);
    port->addresses = &connector->addresses[number];
    if (aq_ibv_ud_port_open(port))
        return true;
    aq_log_error("device %s refuses %s for the datagrams that make connections (%s): raise the "
                 "limit of locked memory (ulimit -l), or give its port an IP address",
                 ibv_get_device_name(port->pd->context->device),
                 port->mr ? "a queue pair" : "memory", strerror(errno));
    return false;
}

aq_status_t aq_ibv_ud_open(aq_ibv_connector_t *connector)
{
    aq_ibv_ud_t *ud = connector->ud = calloc(1, sizeof *ud);
    const unsigned wanted = ports_wanted(connector);
    if (!ud) {
        aq_log_error("out of memory for the datagrams that make connections; free some");
        return AQ_ERR_RESOURCE;
    }
    ud->arrivals = -1;
    while (ud->count < wanted)
        if (!port_open(connector, ud->count++))
            return AQ_ERR_RESOURCE;
    return AQ_OK;
}

void aq_ibv_ud_close(aq_ibv_connector_t *connector)
{
    aq_ibv_ud_t *ud = connector->ud;
    if (!ud)
        return;
    for (unsigned port = 0; port < ud->count; port++)
        aq_ibv_ud_port_close(&ud->ports[port]);
    if (ud->arrivals >= 0)
        close(ud->arrivals);
    free(ud);
    connector->ud = NULL;
}

aq_ibv_listens_t aq_ibv_ud_listens(const aq_ibv_connector_t *connector, unsigned port)
{
    static const aq_ibv_port_address_t none;
    const aq_ibv_ud_t *ud = connector->ud;
    return port < ud->count ? aq_ibv_listens_on(&ud->ports[port].from.address,
                                                ud->ports[port].qp->qp_num, ud->count)
                            : aq_ibv_listens_on(&none, 0, 0);
}

aq_ibv_ud_counts_t aq_ibv_ud_counts(aq_ibv_connector_t *connector)
{
    aq_ibv_ud_counts_t counts = {0};
    pthread_mutex_lock(&connector->lock);
    if (connector->ud)
        counts = connector->ud->counts;
    pthread_mutex_unlock(&connector->lock);
    return counts;
}

// ---- the table ----

static aq_status_t ud_open(aq_ibv_connector_t *connector)
{
    aq_ibv_ud_t *ud = connector->ud;
    bool ok = (ud->arrivals = epoll_create1(EPOLL_CLOEXEC)) >= 0;
    for (unsigned port = 0; ok && port < ud->count; port++) {
        struct epoll_event event = {.events = EPOLLIN};
        ok = epoll_ctl(ud->arrivals, EPOLL_CTL_ADD, ud->ports[port].channel->fd, &event) == 0;
    }
    connector->fd = ud->arrivals;
    if (ok)
        return AQ_OK;
    aq_log_error("conduit ibv has no file descriptor to wait for datagrams with (%s): raise the "
                 "limit on open files (ulimit -n)",
                 strerror(errno));
    return AQ_ERR_RESOURCE;
}

const aq_ibv_connect_ops_t aq_ibv_connect_ud = {
    .name = "ud",
    .open = ud_open,
    .call = ud_call,
    .progress = ud_progress,
    .timeout = ud_timeout,
};
