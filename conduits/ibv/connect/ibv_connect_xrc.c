// SPDX-License-Identifier: BSD-3-Clause
// Makes and connects the two queue pairs of a link, which ibv_xrc.c chooses. ibv_connect_ud.c calls
// it in place of its own steps.
#include "ibv_connect_xrc.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

// ---- the sending queue pair ----

static bool sender_make(const aq_ibv_connector_t *connector, aq_ibv_end_t *end,
                        aq_ibv_xrc_sender_t *sender)
{
    const struct ibv_qp_init_attr attr = aq_ibv_queue_pair_attr(end);
    struct ibv_qp *qp = aq_ibv_pair_make_sending(connector->device->pd, &attr);
    if (!aq_ibv_connect_adopt(connector, end, qp))
        return false;
    sender->qp = qp;
    sender->psn = randombytes_uniform(1 << 24);
    return true;
}

bool aq_ibv_xrc_furnish(aq_ibv_connector_t *connector, aq_ibv_peer_t *link)
{
    aq_ibv_end_t *end = aq_ibv_link_end(connector, link);
    aq_ibv_xrc_sender_t *sender =
        aq_ibv_xrc_sender_get(end->xrc, connector->env->boot->host_of_rank[link->rank],
                              connector->addresses->rows[link->rank].address);
    if (!sender || (!sender->qp && !sender_make(connector, end, sender)))
        return false;
    link->conn.sender = sender;
    link->conn.psn = sender->psn;
    link->entries = &sender->entries;
    link->pair = link->qp = sender->qp;
    return true;
}

// Connects the sending queue pair with the receiving one that the peer names.
static int sender_connect(aq_ibv_connector_t *connector, aq_ibv_peer_t *link,
                          const aq_ibv_pair_info_t *theirs)
{
    const aq_ibv_limits_t *limits = aq_ibv_link_end(connector, link)->limits;
    const aq_ibv_path_source_t from = aq_ibv_connect_source(connector->device);
    const aq_ibv_pair_info_t mine = aq_ibv_connect_end(connector, link);
    aq_ibv_xrc_sender_t *sender = link->conn.sender;
    const aq_ibv_xrc_told_t told = aq_ibv_xrc_sender_told(sender, theirs->number);
    if (told != AQ_IBV_XRC_CONNECT)
        return told == AQ_IBV_XRC_KNOWN ? 0 : EXDEV;
    const int error =
        aq_ibv_pair_connect_sending(sender->qp, &from, &mine, theirs, aq_ibv_rnr_retries(limits));
    if (!error)
        aq_ibv_xrc_sender_connected(sender, theirs->number, limits->depth_each);
    return error;
}

// ---- the receiving queue pair ----

static int receiver_make(const aq_ibv_connector_t *connector, aq_ibv_peer_t *link,
                         struct ibv_xrcd *domain, const aq_ibv_pair_info_t *theirs)
{
    const aq_ibv_device_t *device = connector->device;
    const aq_ibv_path_source_t from = aq_ibv_connect_source(device);
    const aq_ibv_pair_info_t mine = aq_ibv_connect_end(connector, link);
    struct ibv_qp *qp = aq_ibv_pair_make_receiving(device->verbs, domain);
    int error = qp ? aq_ibv_connect_init(device, qp) : errno;
    if (!error)
        error = aq_ibv_pair_connect_receiving(qp, &from, &mine, theirs, AQ_IBV_RNR_TIMER);
    if (!error)
        link->conn.receiver = qp;
    else if (qp)
        ibv_destroy_qp(qp);
    return error;
}

static int receiver_get(const aq_ibv_connector_t *connector, aq_ibv_peer_t *link,
                        const aq_ibv_pair_info_t *theirs)
{
    aq_ibv_xrc_t *xrc = aq_ibv_link_end(connector, link)->xrc;
    uint32_t number;
    const aq_ibv_xrc_claim_t claim = aq_ibv_xrc_claim(xrc, link->rank, &number);
    if (claim == AQ_IBV_XRC_WAIT)
        return EALREADY;
    if (claim == AQ_IBV_XRC_OPEN) {
        link->conn.receiver =
            aq_ibv_pair_open_receiving(connector->device->verbs, xrc->domain, number);
        return link->conn.receiver ? 0 : errno;
    }
    const int error = receiver_make(connector, link, xrc->domain, theirs);
    aq_ibv_xrc_publish(xrc, link->rank, error ? 0 : link->conn.receiver->qp_num);
    return error;
}

// ---- the handshake ----

void aq_ibv_xrc_say(const aq_ibv_end_t *end, const aq_ibv_peer_t *link, aq_ibv_datagram_t *datagram)
{
    datagram->srq = end->queues->srq_number;
    if (!(datagram->flags & AQ_IBV_SAYS_KNOWN))
        return;
    datagram->count = 2;
    datagram->pairs[1] = datagram->pairs[0];
    datagram->pairs[1].number = link->conn.receiver->qp_num;
}

static int link_follow(aq_ibv_connector_t *connector, aq_ibv_peer_t *link, unsigned actions,
                       const aq_ibv_datagram_t *theirs)
{
    const bool begins = actions & AQ_IBV_DO_CONNECT && !link->conn.receiver;
    int error = begins && !theirs->srq ? ENONET : 0;
    if (!error && begins) {
        error = receiver_get(connector, link, &theirs->pairs[0]);
        if (!error) {
            link->srq_there = theirs->srq;
            aq_ibv_peer_start(aq_ibv_link_end(connector, link)->peers, link, &theirs->peer);
        }
    }
    if (!error && actions & AQ_IBV_DO_READY)
        error = sender_connect(connector, link, &theirs->pairs[1]);
    return error;
}

int aq_ibv_xrc_follow(aq_ibv_connector_t *connector, aq_ibv_peer_t *link, unsigned actions,
                      const aq_ibv_datagram_t *theirs)
{
    const int error = link_follow(connector, link, actions, theirs);
    if (error && error != ETIMEDOUT && error != EALREADY)
        aq_ibv_link_unreached(connector, link,
                              error == EXDEV ? "the ranks of its host do not share an XRC domain"
                                             : strerror(error));
    return error;
}
