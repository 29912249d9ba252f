#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ibv_connect_ud.h"
#include "ibv_connect_xrc.h"
#include "ibv_datagram.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../other/base/clock.h"
#include "../../other/base/log.h"
#include "../../other/base/minmax.h"

enum {
    RECEIVES = 128,
    SENDS = 32,
    GRH_BYTES = 40, // the device puts a header of so many bytes in front of a datagram
    SLOT_BYTES = 640,
    QKEY = 0x2715a9d5, // the highest bit is reserved for the system
};

_Static_assert(GRH_BYTES + sizeof(aq_ibv_datagram_t) <= SLOT_BYTES, "a slot has room for any");

typedef struct aq_ibv_ud {
    struct ibv_comp_channel *channel;
    struct ibv_cq *receive_cq, *send_cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint8_t *slots;         // RECEIVES for datagrams that arrive, then SENDS
    uint32_t free_sends;    // bit by slot
    struct ibv_ah **paths;  // by number of the address; NULL: not used yet
    aq_ibv_peer_t *waiting; // links whose handshake has a deadline, linked by conn.next
    aq_ibv_ud_counts_t counts;
} aq_ibv_ud_t;

static uint64_t now_ms(void)
{
    return aq_clock_ns() / 1000000;
}

// ---- paths ----

// The path of datagrams to a rank. NULL: the device finds none (errno). On an Ethernet the system
// asks the network for the address, which blocks for up to a second.
static struct ibv_ah *path_get(const aq_ibv_connector_t *connector, uint32_t rank)
{
    const aq_ibv_addresses_t *addresses = connector->addresses;
    aq_ibv_ud_t *ud = connector->ud;
    if (!ud->paths)
        ud->paths = calloc(addresses->count, sizeof(struct ibv_ah *));
    if (!ud->paths)
        return NULL;
    struct ibv_ah **path = &ud->paths[addresses->rows[rank].address];
    const aq_ibv_port_address_t port = aq_ibv_addresses_port(addresses, rank);
    const aq_ibv_path_source_t from = aq_ibv_connect_source(connector->device);
    struct ibv_ah_attr way = aq_ibv_path_way(&from, &port);
    if (!*path)
        *path = ibv_create_ah(connector->device->pd, &way);
    return *path;
}

// ---- datagrams out ----

static uint8_t *slot_at(const aq_ibv_ud_t *ud, unsigned slot)
{
    return ud->slots + (size_t)slot * SLOT_BYTES;
}

static struct ibv_sge slot_piece(const aq_ibv_ud_t *ud, unsigned slot, size_t bytes)
{
    return (struct ibv_sge){(uintptr_t)slot_at(ud, slot), (uint32_t)bytes, ud->mr->lkey};
}

static void sends_reap(aq_ibv_ud_t *ud)
{
    struct ibv_wc wc;
    while (ibv_poll_cq(ud->send_cq, 1, &wc) > 0)
        ud->free_sends |= 1u << wc.wr_id;
}

static bool datagram_post(aq_ibv_ud_t *ud, unsigned send, struct ibv_ah *path, uint32_t queue_pair,
                          size_t bytes)
{
    struct ibv_sge piece = slot_piece(ud, RECEIVES + send, bytes);
    struct ibv_send_wr *bad,
        wr = {.wr_id = send,
              .sg_list = &piece,
              .num_sge = 1,
              .opcode = IBV_WR_SEND,
              .send_flags = IBV_SEND_SIGNALED,
              .wr.ud = {.ah = path, .remote_qpn = queue_pair, .remote_qkey = QKEY}};
    return ibv_post_send(ud->qp, &wr, &bad) == 0;
}

// Sends a datagram that says everything but the proof. If there is no room or no path, it counts as
// lost. Returns 0, or an errno if there is no path.
static int datagram_send(aq_ibv_connector_t *connector, uint32_t rank, aq_ibv_datagram_t *datagram)
{
    aq_ibv_ud_t *ud = connector->ud;
    const size_t bytes = aq_ibv_datagram_bytes(datagram->count);
    errno = 0;
    struct ibv_ah *path = path_get(connector, rank);
    const int error = path ? 0 : errno ? errno : EHOSTUNREACH;
    sends_reap(ud);
    if (!path || !ud->free_sends) {
        ud->counts.dropped++;
        return error;
    }
    const unsigned send = (unsigned)__builtin_ctz(ud->free_sends);
    aq_ibv_prove_datagram(connector->env->boot->key, rank, datagram, bytes);
    memcpy(slot_at(ud, RECEIVES + send), datagram, bytes);
    if (!datagram_post(ud, send, path, connector->addresses->queue_pairs[rank], bytes)) {
        ud->counts.dropped++;
        return 0;
    }
    ud->free_sends &= ~(1u << send);
    ud->counts.sent++;
    return 0;
}

// What this process says about a link. Returns as datagram_send.
static int link_send(aq_ibv_connector_t *connector, aq_ibv_peer_t *link)
{
    const aq_ibv_end_t *end = aq_ibv_link_end(connector, link);
    aq_ibv_datagram_t datagram = {.peer = aq_ibv_private_data_for(end, link),
                                  .flags = (uint16_t)aq_ibv_handshake_flags(&link->conn.handshake),
                                  .count = 1};
    datagram.pairs[0] = aq_ibv_connect_end(connector, link);
    if (link->first_port)
        datagram.rings_key = aq_ibv_bond_rings_key(link);
    if (end->xrc)
        aq_ibv_xrc_say(end, link, &datagram);
    return datagram_send(connector, link->rank, &datagram);
}

// Says no to the sender of a datagram.
static void datagram_refuse(aq_ibv_connector_t *connector, const aq_ibv_datagram_t *theirs)
{
    aq_ibv_datagram_t datagram = {.peer.rank = connector->env->rank, .flags = AQ_IBV_SAYS_NO};
    datagram.peer.endpoint = theirs->peer.to_endpoint;
    datagram.peer.to_endpoint = theirs->peer.endpoint;
    (void)datagram_send(connector, theirs->peer.rank, &datagram);
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
    if (end->bonds && !link->here)
        link->first_port = aq_ibv_bonds_first_port(
            end->bonds, link->rank, aq_ibv_addresses_spread(connector->addresses, link->rank));
    if (!aq_ibv_link_prepare(end, link) || !aq_ibv_connect_make_pair(connector, link))
        return false;
    aq_ibv_link_furnished(link);
    link->conn.psn = randombytes_uniform(1 << 24);
    return true;
}

// Connects the queue pair with the peer's, and takes in what the peer says. Returns 0 or an errno.
// ETIMEDOUT: nobody told the system the peer's address, and the next datagram may have more luck.
// Others: the device finds no path to it (logged).
static int link_connect(aq_ibv_connector_t *connector, aq_ibv_peer_t *link,
                        const aq_ibv_datagram_t *theirs)
{
    aq_ibv_end_t *end = aq_ibv_link_end(connector, link);
    const aq_ibv_path_source_t from = aq_ibv_link_source(connector->device, link);
    const aq_ibv_pair_info_t mine = aq_ibv_connect_end(connector, link);
    const aq_ibv_pair_rnr_t rnr = {AQ_IBV_RNR_TIMER, aq_ibv_rnr_retries(end->limits)};
    const int error = aq_ibv_pair_connect(link->pair, &from, &mine, &theirs->pairs[0], rnr);
    if (error == ETIMEDOUT)
        return error;
    if (error) {
        aq_ibv_link_unreached(connector, link, strerror(error));
        return error;
    }
    if (link->first_port)
        aq_ibv_bond_hear_key(link, theirs->rings_key);
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
// Returns whether the link has failed: nothing in the network answers for the peer's address, or
// leads to it.
static bool link_pathless(aq_ibv_connector_t *connector, aq_ibv_peer_t *link, int error)
{
    char why[96];
    link->conn.pathless = error ? link->conn.pathless + 1 : 0;
    if (link->conn.pathless < AQ_IBV_CALLS_MOST)
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

// Takes in what a peer says. If the system does not learn the peer's address in time, or another
// rank is about to make the queue pair, the datagram counts as lost: the peer repeats it, a few
// times.
static void link_hear(aq_ibv_connector_t *connector, aq_ibv_peer_t *link,
                      const aq_ibv_datagram_t *theirs)
{
    const aq_ibv_handshake_t before = link->conn.handshake;
    const unsigned actions =
        aq_ibv_handshake_receive(&link->conn.handshake, theirs->flags, now_ms());
    const int error = link_follow(connector, link, actions, theirs);
    if (error == ETIMEDOUT || error == EALREADY) {
        link->conn.handshake = before;
        if (error == ETIMEDOUT)
            (void)link_pathless(connector, link, error);
        return;
    }
    if (!before.begun && link->conn.handshake.begun)
        link_await(connector->ud, link);
    if (error) {
        datagram_refuse(connector, theirs);
        link_fail(connector, link, NULL);
        return;
    }
    if (actions & AQ_IBV_DO_CONNECT && link->conn.state == AQ_IBV_IDLE)
        aq_ibv_link_set_state(connector, link, AQ_IBV_ANSWERING);
    link_act(connector, link, actions, theirs);
}

static void datagram_handle(aq_ibv_connector_t *connector, const void *bytes, size_t count)
{
    const aq_conduit_env_t *env = connector->env;
    aq_ibv_datagram_t theirs;
    if (!aq_ibv_datagram_read(env->boot->key, env->rank, env->size, bytes, count, &theirs)) {
        connector->ud->counts.ignored++;
        return;
    }
    aq_ibv_peer_t *link = link_of(connector, &theirs);
    const bool refusal = theirs.flags & AQ_IBV_SAYS_NO;
    if (!refusal && (!link || !link_furnish(connector, link))) {
        datagram_refuse(connector, &theirs);
        return;
    }
    if (!link)
        return;
    link_hear(connector, link, &theirs);
}

static bool receive_post(aq_ibv_ud_t *ud, unsigned slot)
{
    struct ibv_sge piece = slot_piece(ud, slot, SLOT_BYTES);
    struct ibv_recv_wr *bad, wr = {.wr_id = slot, .sg_list = &piece, .num_sge = 1};
    return ibv_post_recv(ud->qp, &wr, &bad) == 0;
}

// The event comes before the queue is read, so that none is missed.
static void event_take(aq_ibv_ud_t *ud)
{
    struct ibv_cq *cq;
    void *context;
    if (ibv_get_cq_event(ud->channel, &cq, &context) != 0)
        return;
    ibv_ack_cq_events(cq, 1);
    ibv_req_notify_cq(cq, 0);
}

static void ud_progress(aq_ibv_connector_t *connector)
{
    aq_ibv_ud_t *ud = connector->ud;
    struct ibv_wc wc;
    event_take(ud);
    pthread_mutex_lock(&connector->lock);
    while (ibv_poll_cq(ud->receive_cq, 1, &wc) > 0) {
        const unsigned slot = (unsigned)wc.wr_id;
        if (wc.status == IBV_WC_SUCCESS && wc.byte_len >= GRH_BYTES) {
            ud->counts.received++;
            datagram_handle(connector, slot_at(ud, slot) + GRH_BYTES, wc.byte_len - GRH_BYTES);
        }
        receive_post(ud, slot);
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

static bool memory_make(aq_ibv_ud_t *ud, struct ibv_pd *pd)
{
    const size_t bytes = (size_t)(RECEIVES + SENDS) * SLOT_BYTES;
    void *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slots == MAP_FAILED)
        return false;
    ud->slots = slots;
    ud->free_sends = UINT32_MAX;
    ud->mr = ibv_reg_mr(pd, slots, bytes, IBV_ACCESS_LOCAL_WRITE);
    return ud->mr;
}

static bool queues_make(aq_ibv_ud_t *ud, struct ibv_pd *pd)
{
    struct ibv_context *verbs = pd->context;
    ud->channel = ibv_create_comp_channel(verbs);
    if (!ud->channel ||
        fcntl(ud->channel->fd, F_SETFL, fcntl(ud->channel->fd, F_GETFL) | O_NONBLOCK) != 0)
        return false;
    ud->receive_cq = ibv_create_cq(verbs, RECEIVES, NULL, ud->channel, 0);
    ud->send_cq = ibv_create_cq(verbs, SENDS, NULL, NULL, 0);
    if (!ud->receive_cq || !ud->send_cq)
        return false;
    struct ibv_qp_init_attr attr = {.send_cq = ud->send_cq,
                                    .recv_cq = ud->receive_cq,
                                    .cap = {.max_send_wr = SENDS,
                                            .max_recv_wr = RECEIVES,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_UD};
    ud->qp = ibv_create_qp(pd, &attr);
    return ud->qp && ibv_req_notify_cq(ud->receive_cq, 0) == 0;
}

static bool datagrams_begin(aq_ibv_ud_t *ud, const aq_ibv_device_t *device)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .pkey_index = device->path.pkey_index,
                               .port_num = device->port,
                               .qkey = QKEY};
    errno =
        ibv_modify_qp(ud->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    attr.qp_state = IBV_QPS_RTR;
    if (!errno)
        errno = ibv_modify_qp(ud->qp, &attr, IBV_QP_STATE);
    attr.qp_state = IBV_QPS_RTS;
    if (!errno)
        errno = ibv_modify_qp(ud->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
    bool ok = !errno;
    for (unsigned slot = 0; ok && slot < RECEIVES; slot++)
        ok = receive_post(ud, slot);
    return ok;
}

aq_status_t aq_ibv_ud_open(aq_ibv_connector_t *connector)
{
    const aq_ibv_device_t *device = connector->device;
    aq_ibv_ud_t *ud = connector->ud = calloc(1, sizeof *ud);
    if (ud && memory_make(ud, device->pd) && queues_make(ud, device->pd) &&
        datagrams_begin(ud, device))
        return AQ_OK;
    aq_log_error("device %s refuses %s for the datagrams that make connections (%s): raise the "
                 "limit of locked memory (ulimit -l), or give its port an IP address",
                 ibv_get_device_name(device->verbs->device),
                 ud && ud->mr ? "a queue pair" : "memory", strerror(errno));
    return AQ_ERR_RESOURCE;
}

void aq_ibv_ud_close(aq_ibv_connector_t *connector)
{
    aq_ibv_ud_t *ud = connector->ud;
    if (!ud)
        return;
    for (uint32_t i = 0; ud->paths && i < connector->addresses->count; i++)
        if (ud->paths[i])
            ibv_destroy_ah(ud->paths[i]);
    free(ud->paths);
    if (ud->qp)
        ibv_destroy_qp(ud->qp);
    if (ud->send_cq)
        ibv_destroy_cq(ud->send_cq);
    if (ud->receive_cq)
        ibv_destroy_cq(ud->receive_cq);
    if (ud->channel)
        ibv_destroy_comp_channel(ud->channel);
    if (ud->mr)
        ibv_dereg_mr(ud->mr);
    if (ud->slots)
        munmap(ud->slots, (size_t)(RECEIVES + SENDS) * SLOT_BYTES);
    free(ud);
    connector->ud = NULL;
}

aq_ibv_listens_t aq_ibv_ud_listens(const aq_ibv_connector_t *connector)
{
    const aq_ibv_device_t *device = connector->device;
    const aq_ibv_end_t *end = connector->ends[0];
    return aq_ibv_listens_on(&device->address, connector->ud->qp->qp_num,
                             end && end->bonds ? device->rails.count : 1);
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
    connector->fd = connector->ud->channel->fd;
    return AQ_OK;
}

const aq_ibv_connect_ops_t aq_ibv_connect_ud = {
    .name = "ud",
    .open = ud_open,
    .call = ud_call,
    .progress = ud_progress,
    .timeout = ud_timeout,
};
