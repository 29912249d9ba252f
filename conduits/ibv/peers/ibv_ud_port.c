// SPDX-License-Identifier: BSD-3-Clause
// The verbs calls of one port: sends with an address handle for each address, and receives into
// slots. ibv_connect_ud.c opens one for each port and serves its events.
#include "ibv_ud_port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    RECEIVES = 128,
    SENDS = 32,
    GRH_BYTES = 40, // the device puts a header of so many bytes in front of a datagram
    SLOT_BYTES = GRH_BYTES + AQ_IBV_UD_BYTES,
    QKEY = 0x2715a9d5, // the highest bit is reserved for the system
};

static uint8_t *slot_at(const aq_ibv_ud_port_t *port, unsigned slot)
{
    return port->slots + (size_t)slot * SLOT_BYTES;
}

static struct ibv_sge slot_piece(const aq_ibv_ud_port_t *port, unsigned slot, size_t bytes)
{
    return (struct ibv_sge){(uintptr_t)slot_at(port, slot), (uint32_t)bytes, port->mr->lkey};
}

// ---- out ----

// The path of datagrams to a rank. NULL: the device finds none (errno).
static struct ibv_ah *path_get(aq_ibv_ud_port_t *port, uint32_t rank)
{
    const aq_ibv_addresses_t *addresses = port->addresses;
    if (!port->paths)
        port->paths = calloc(addresses->count, sizeof(struct ibv_ah *));
    if (!port->paths)
        return NULL;
    struct ibv_ah **path = &port->paths[addresses->rows[rank].address];
    const aq_ibv_port_address_t there = aq_ibv_addresses_port(addresses, rank);
    struct ibv_ah_attr way = aq_ibv_path_way(&port->from, &there);
    if (!*path)
        *path = ibv_create_ah(port->pd, &way);
    return *path;
}

static void sends_reap(aq_ibv_ud_port_t *port)
{
    struct ibv_wc wc;
    while (ibv_poll_cq(port->send_cq, 1, &wc) > 0)
        port->free_sends |= 1u << wc.wr_id;
}

static bool send_post(aq_ibv_ud_port_t *port, unsigned send, struct ibv_ah *path, uint32_t rank,
                      size_t bytes)
{
    struct ibv_sge piece = slot_piece(port, RECEIVES + send, bytes);
    struct ibv_send_wr *bad, wr = {.wr_id = send,
                                   .sg_list = &piece,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_SEND,
                                   .send_flags = IBV_SEND_SIGNALED,
                                   .wr.ud = {.ah = path,
                                             .remote_qpn = port->addresses->queue_pairs[rank],
                                             .remote_qkey = QKEY}};
    return ibv_post_send(port->qp, &wr, &bad) == 0;
}

aq_ibv_ud_sent_t aq_ibv_ud_port_send(aq_ibv_ud_port_t *port, uint32_t rank, const void *datagram,
                                     size_t bytes)
{
    errno = 0;
    struct ibv_ah *path = path_get(port, rank);
    if (!path) {
        errno = errno ? errno : EHOSTUNREACH;
        return AQ_IBV_UD_NO_PATH;
    }
    sends_reap(port);
    if (!port->free_sends)
        return AQ_IBV_UD_NO_ROOM;
    const unsigned send = (unsigned)__builtin_ctz(port->free_sends);
    memcpy(slot_at(port, RECEIVES + send), datagram, bytes);
    if (!send_post(port, send, path, rank, bytes))
        return AQ_IBV_UD_NO_ROOM;
    port->free_sends &= ~(1u << send);
    return AQ_IBV_UD_SENT;
}

// ---- in ----

static bool receive_post(aq_ibv_ud_port_t *port, unsigned slot)
{
    struct ibv_sge piece = slot_piece(port, slot, SLOT_BYTES);
    struct ibv_recv_wr *bad, wr = {.wr_id = slot, .sg_list = &piece, .num_sge = 1};
    return ibv_post_recv(port->qp, &wr, &bad) == 0;
}

// The event comes before the queue is read, so that none is missed.
static void event_take(aq_ibv_ud_port_t *port)
{
    struct ibv_cq *cq;
    void *context;
    if (ibv_get_cq_event(port->channel, &cq, &context) != 0)
        return;
    ibv_ack_cq_events(cq, 1);
    ibv_req_notify_cq(cq, 0);
}

void aq_ibv_ud_port_take(aq_ibv_ud_port_t *port,
                         void (*handle)(void *context, const void *datagram, size_t bytes),
                         void *context)
{
    struct ibv_wc wc;
    event_take(port);
    while (ibv_poll_cq(port->receive_cq, 1, &wc) > 0) {
        const unsigned slot = (unsigned)wc.wr_id;
        if (wc.status == IBV_WC_SUCCESS && wc.byte_len >= GRH_BYTES)
            handle(context, slot_at(port, slot) + GRH_BYTES, wc.byte_len - GRH_BYTES);
        receive_post(port, slot);
    }
}

// ---- open and close ----

static bool memory_make(aq_ibv_ud_port_t *port)
{
    const size_t bytes = (size_t)(RECEIVES + SENDS) * SLOT_BYTES;
    void *slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slots == MAP_FAILED)
        return false;
    port->slots = slots;
    port->free_sends = UINT32_MAX;
    port->mr = ibv_reg_mr(port->pd, slots, bytes, IBV_ACCESS_LOCAL_WRITE);
    return port->mr;
}

static bool queues_make(aq_ibv_ud_port_t *port)
{
    struct ibv_context *verbs = port->pd->context;
    port->channel = ibv_create_comp_channel(verbs);
    if (!port->channel ||
        fcntl(port->channel->fd, F_SETFL, fcntl(port->channel->fd, F_GETFL) | O_NONBLOCK) != 0)
        return false;
    port->receive_cq = ibv_create_cq(verbs, RECEIVES, NULL, port->channel, 0);
    port->send_cq = ibv_create_cq(verbs, SENDS, NULL, NULL, 0);
    if (!port->receive_cq || !port->send_cq)
        return false;
    struct ibv_qp_init_attr attr = {.send_cq = port->send_cq,
                                    .recv_cq = port->receive_cq,
                                    .cap = {.max_send_wr = SENDS,
                                            .max_recv_wr = RECEIVES,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_UD};
    port->qp = ibv_create_qp(port->pd, &attr);
    return port->qp && ibv_req_notify_cq(port->receive_cq, 0) == 0;
}

static bool datagrams_begin(aq_ibv_ud_port_t *port)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .pkey_index = port->from.path->pkey_index,
                               .port_num = port->from.port,
                               .qkey = QKEY};
    errno = ibv_modify_qp(port->qp, &attr,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    attr.qp_state = IBV_QPS_RTR;
    if (!errno)
        errno = ibv_modify_qp(port->qp, &attr, IBV_QP_STATE);
    attr.qp_state = IBV_QPS_RTS;
    if (!errno)
        errno = ibv_modify_qp(port->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
    bool ok = !errno;
    for (unsigned slot = 0; ok && slot < RECEIVES; slot++)
        ok = receive_post(port, slot);
    return ok;
}

bool aq_ibv_ud_port_open(aq_ibv_ud_port_t *port)
{
    return memory_make(port) && queues_make(port) && datagrams_begin(port);
}

void aq_ibv_ud_port_close(aq_ibv_ud_port_t *port)
{
    for (uint32_t i = 0; port->paths && i < port->addresses->count; i++)
        if (port->paths[i])
            ibv_destroy_ah(port->paths[i]);
    free(port->paths);
    if (port->qp)
        ibv_destroy_qp(port->qp);
    if (port->send_cq)
        ibv_destroy_cq(port->send_cq);
    if (port->receive_cq)
        ibv_destroy_cq(port->receive_cq);
    if (port->channel)
        ibv_destroy_comp_channel(port->channel);
    if (port->mr)
        ibv_dereg_mr(port->mr);
    if (port->slots)
        munmap(port->slots, (size_t)(RECEIVES + SENDS) * SLOT_BYTES);
}
