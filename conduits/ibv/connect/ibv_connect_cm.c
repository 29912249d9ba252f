// SPDX-License-Identifier: BSD-3-Clause
// The connector's operations over librdmacm. ibv_connect.c begins a call here, and hands over the
// events of librdmacm, of both sides.
#include "ibv_connect_cm.h"
#include "../verbs/ibv_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/settings/settings.h"

enum { RESOLVE_MS = 5000 };

// Why a request was refused, in one byte of the refusal.
enum {
    REFUSED_MINE_COUNTS = 1,
    REFUSED_STRANGER,
    REFUSED_NO_QUEUE_PAIR,
    REFUSED_NO_WINDOW,
    REFUSED_REPEATED
};

// ---- both sides ----

// Makes the queue pair of a link. librdmacm takes it through its states, unless the user chose
// attributes of its path: then queue_pair_connect does.
static bool queue_pair_make(const aq_ibv_connector_t *connector, aq_ibv_end_t *end,
                            struct rdma_cm_id *id, aq_ibv_peer_t *link)
{
    struct ibv_qp_init_attr attr = aq_ibv_queue_pair_attr(end);
    if (!aq_ibv_link_prepare(end, link))
        return false;
    if (connector->device->path.chosen)
        link->pair = ibv_create_qp(connector->device->pd, &attr);
    else
        link->pair = rdma_create_qp(id, connector->device->pd, &attr) == 0 ? id->qp : NULL;
    if (link->pair) {
        aq_ibv_link_furnished(link);
        atomic_fetch_add_explicit(&end->queue_pairs, 1, memory_order_relaxed);
        return true;
    }
    aq_ibv_log_no_queue_pair(errno);
    return false;
}

static bool queue_pair_modify(const aq_ibv_path_t *path, struct rdma_cm_id *id, struct ibv_qp *qp,
                              enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask;
    if (rdma_init_qp_attr(id, &attr, &mask) != 0)
        return false;
    aq_ibv_path_set(path, &attr, mask);
    return ibv_modify_qp(qp, &attr, mask) == 0;
}

// Connects a queue pair that librdmacm does not know (id->qp is NULL), after the peer has answered
// or before this process answers; does nothing for others. False: the device refuses (logged).
static bool queue_pair_connect(const aq_ibv_connector_t *connector, struct rdma_cm_id *id,
                               const aq_ibv_peer_t *link)
{
    const aq_ibv_path_t *path = &connector->device->path;
    if (id->qp || (queue_pair_modify(path, id, link->pair, IBV_QPS_INIT) &&
                   queue_pair_modify(path, id, link->pair, IBV_QPS_RTR) &&
                   queue_pair_modify(path, id, link->pair, IBV_QPS_RTS)))
        return true;
    aq_log_error("the verbs device cannot send to rank %u with MTU %u, partition index %u, service "
                 "level %u and traffic class %u (%s): change GASNET_MAX_MTU, GASNET_IBV_PKEY, "
                 "GASNET_IBV_SERVICE_LEVEL or GASNET_IBV_TRAFFIC_CLASS",
                 link->rank, aq_ibv_mtu_bytes(path->mtu), path->pkey_index, path->service_level,
                 path->traffic_class, strerror(errno));
    return false;
}

static struct rdma_conn_param conn_parameters(const aq_ibv_limits_t *limits,
                                              const aq_ibv_conn_private_data_t *mine,
                                              const struct ibv_qp *qp)
{
    return (struct rdma_conn_param){
        .private_data = mine,
        .private_data_len = sizeof *mine,
        .responder_resources = limits->reads,
        .initiator_depth = limits->reads,
        .retry_count = (uint8_t)aq_setting_int(aq_ibv_setting(IBV_SET_QP_RETRY_COUNT)),
        .rnr_retry_count = aq_ibv_rnr_retries(limits),
        .srq = 1,
        .qp_num = qp->qp_num,
    };
}

// Some kernels and devices do not support the option; then the connection keeps the default of its
// path.
static void id_set_timeout(struct rdma_cm_id *id)
{
    uint8_t timeout = (uint8_t)aq_setting_int(aq_ibv_setting(IBV_SET_QP_TIMEOUT));
    (void)rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof timeout);
}

// The id no longer belongs to the link; it keeps the queue pair that was made for it.
static void link_leave_id(aq_ibv_peer_t *link)
{
    struct rdma_cm_id *id = link->conn.id;
    if (!id)
        return;
    if (!id->qp)
        id->qp = link->pair;
    link->pair = NULL;
    link->conn.id = NULL;
}

// All events of the id must have been acknowledged.
static void id_end(struct rdma_cm_id *id)
{
    if (id->qp) {
        aq_ibv_end_t *end = id->qp->qp_context;
        rdma_destroy_qp(id);
        atomic_fetch_sub_explicit(&end->queue_pairs, 1, memory_order_relaxed);
    }
    rdma_destroy_id(id);
}

// ---- calling ----

// The address of this process, with any port.
static struct sockaddr_storage own_address(const aq_ibv_connector_t *connector)
{
    struct sockaddr_storage own = connector->device->here;
    if (own.ss_family == AF_INET)
        ((struct sockaddr_in *)&own)->sin_port = 0;
    else
        ((struct sockaddr_in6 *)&own)->sin6_port = 0;
    return own;
}

// With the lock held.
static aq_status_t cm_call(aq_ibv_connector_t *connector, aq_ibv_peer_t *link)
{
    struct sockaddr_storage from = own_address(connector), to;
    if (!aq_ibv_addresses_has(connector->addresses, link->rank)) {
        aq_log_error("one of rank %u and this rank has an IPv4 address, and the other an IPv6 "
                     "address: give the verbs ports of all hosts addresses of one family",
                     link->rank);
        aq_ibv_link_set_state(connector, link, AQ_IBV_FAILED);
        return AQ_ERR_PEER;
    }
    aq_ibv_addresses_get(connector->addresses, link->rank, &to);
    aq_ibv_link_set_state(connector, link, AQ_IBV_CALLING);
    link->conn.tries++;
    if (rdma_create_id(connector->device->channel, &link->conn.id, link, RDMA_PS_TCP) == 0) {
        id_set_timeout(link->conn.id);
        if (rdma_resolve_addr(link->conn.id, (struct sockaddr *)&from, (struct sockaddr *)&to,
                              RESOLVE_MS) == 0)
            return AQ_OK;
    }
    aq_ibv_link_unreached(connector, link, strerror(errno));
    aq_ibv_link_set_state(connector, link, AQ_IBV_FAILED);
    return AQ_ERR_PEER;
}

// ---- the answer ----

static void on_route(aq_ibv_connector_t *connector, aq_ibv_peer_t *link, struct rdma_cm_id *id)
{
    aq_ibv_end_t *end = aq_ibv_link_end(connector, link);
    aq_ibv_conn_private_data_t mine;
    struct rdma_conn_param parameters;
    if (!queue_pair_make(connector, end, id, link)) {
        aq_ibv_link_set_state(connector, link, AQ_IBV_FAILED);
        return;
    }
    mine = aq_ibv_private_data_for(end, link);
    aq_ibv_prove_call(connector->env->boot->key, link->rank, &mine);
    memcpy(link->conn.nonce, mine.nonce, sizeof link->conn.nonce);
    parameters = conn_parameters(end->limits, &mine, link->pair);
    if (rdma_connect(id, &parameters) == 0)
        return;
    aq_log_error("librdmacm cannot connect to rank %u: %s", link->rank, strerror(errno));
    aq_ibv_link_set_state(connector, link, AQ_IBV_FAILED);
}

// The call failed: tries again, unless there were enough tries. Returns true if the id has to be
// ended.
static bool on_call_failed(aq_ibv_connector_t *connector, aq_ibv_peer_t *link,
                           const struct rdma_cm_event *event)
{
    char why[80];
    const uint8_t *reason = event->param.conn.private_data;
    bool refused =
        event->event == RDMA_CM_EVENT_REJECTED && reason && event->param.conn.private_data_len;
    link_leave_id(link);
    if (refused && reason[0] == REFUSED_MINE_COUNTS)
        return true; // the peer's own request is on its way, or here
    if (refused && reason[0] == REFUSED_NO_WINDOW) { // which the peer has logged
        aq_ibv_link_set_state(connector, link, AQ_IBV_FAILED);
        return true;
    }
    if (link->conn.tries < AQ_IBV_CALLS_MAX && !(refused && reason[0] == REFUSED_STRANGER)) {
        aq_ibv_link_set_state(connector, link, AQ_IBV_IDLE); // the thread that waits calls again
        return true;
    }
    snprintf(why, sizeof why, "%s, status %d", rdma_event_str(event->event), event->status);
    aq_ibv_link_unreached(connector, link, why);
    aq_ibv_link_set_state(connector, link, AQ_IBV_FAILED);
    return true;
}

// ---- being called ----

static void request_refuse(struct rdma_cm_id *id, uint8_t reason)
{
    rdma_reject(id, &reason, sizeof reason);
}

// Whether a request counts, against this process's own call to the same peer.
static bool request_counts(const aq_ibv_connection_t *conn, bool is_higher)
{
    if (conn->state == AQ_IBV_READY || conn->state == AQ_IBV_FAILED)
        return false;
    return conn->state != AQ_IBV_CALLING || !conn->id || is_higher;
}

aq_ibv_verdict_t aq_ibv_request_judge(aq_ibv_connection_t *conn,
                                      const uint8_t nonce[AQ_IBV_NONCE_BYTES], bool is_higher)
{
    const bool repeated = !aq_ibv_nonces_note(&conn->nonces, nonce);
    if (!request_counts(conn, is_higher))
        return AQ_IBV_REFUSE_MINE_COUNTS;
    return repeated ? AQ_IBV_REFUSE_REPEATED : AQ_IBV_ACCEPT_REQUEST;
}

// Drops this process's own call, which does not count any more.
static void call_drop(aq_ibv_peer_t *link)
{
    if (link->conn.id)
        link->conn.id->context = NULL; // the next event of that id ends it
    link_leave_id(link);
}

static bool request_accept(aq_ibv_connector_t *connector, aq_ibv_peer_t *link,
                           struct rdma_cm_id *id, const aq_ibv_conn_private_data_t *theirs)
{
    aq_ibv_end_t *end = aq_ibv_link_end(connector, link);
    aq_ibv_conn_private_data_t mine;
    if (!queue_pair_make(connector, end, id, link)) {
        request_refuse(id, REFUSED_NO_QUEUE_PAIR);
        return false;
    }
    id_set_timeout(id);
    id->context = link;
    link->conn.id = id;
    mine = aq_ibv_private_data_for(end, link);
    aq_ibv_prove_accept(connector->env->boot->key, link->rank, theirs->nonce, &mine);
    struct rdma_conn_param parameters = conn_parameters(end->limits, &mine, link->pair);
    aq_ibv_link_set_state(connector, link, AQ_IBV_ANSWERING);
    if (!atomic_load_explicit(&link->started, memory_order_relaxed))
        aq_ibv_peer_start(end->peers, link, theirs);
    if (queue_pair_connect(connector, id, link) && rdma_accept(id, &parameters) == 0)
        return true;
    link_leave_id(link);
    aq_ibv_link_set_state(connector, link, AQ_IBV_IDLE); // the peer calls again
    return false;
}

// Returns true if the id has to be ended.
static bool on_request(aq_ibv_connector_t *connector, const struct rdma_cm_event *event)
{
    const aq_conduit_env_t *env = connector->env;
    aq_ibv_conn_private_data_t theirs;
    if (!aq_ibv_request_genuine(env->boot->key, env->rank, env->size,
                                event->param.conn.private_data, event->param.conn.private_data_len,
                                &theirs)) {
        request_refuse(event->id, REFUSED_STRANGER);
        return true;
    }
    aq_ibv_end_t *end = connector->ends[theirs.to_endpoint];
    if (!end || !theirs.endpoint != !theirs.to_endpoint) {
        request_refuse(event->id, REFUSED_NO_WINDOW);
        return true;
    }
    aq_ibv_peer_t *link = aq_ibv_link_get(end, theirs.rank, theirs.endpoint);
    if (!link && theirs.to_endpoint) {
        request_refuse(event->id, REFUSED_NO_WINDOW);
        return true;
    }
    const aq_ibv_verdict_t verdict =
        link ? aq_ibv_request_judge(&link->conn, theirs.nonce, env->rank > link->rank)
             : AQ_IBV_REFUSE_MINE_COUNTS;
    if (verdict != AQ_IBV_ACCEPT_REQUEST) {
        request_refuse(event->id,
                       verdict == AQ_IBV_REFUSE_REPEATED ? REFUSED_REPEATED : REFUSED_MINE_COUNTS);
        return true;
    }
    call_drop(link);
    return !request_accept(connector, link, event->id, &theirs);
}

// ---- events ----

static void on_established(aq_ibv_connector_t *connector, aq_ibv_peer_t *link,
                           const struct rdma_cm_event *event)
{
    const aq_conduit_env_t *env = connector->env;
    const aq_ibv_call_t call = {.from = env->rank, .to = link->rank, .nonce = link->conn.nonce};
    aq_ibv_conn_private_data_t theirs;
    if (link->conn.state == AQ_IBV_CALLING) {
        if (!aq_ibv_accept_genuine(env->boot->key, &call, event->param.conn.private_data,
                                   event->param.conn.private_data_len, &theirs) ||
            !aq_ibv_private_data_between(&theirs, link->endpoint, link->here)) {
            aq_log_error("the process that answers for rank %u does not know the key of the job: "
                         "check which hosts are in the network of the verbs devices",
                         link->rank);
            aq_ibv_link_set_state(connector, link, AQ_IBV_FAILED);
            return;
        }
        if (event->event == RDMA_CM_EVENT_CONNECT_RESPONSE &&
            (!queue_pair_connect(connector, event->id, link) || rdma_establish(event->id) != 0)) {
            aq_ibv_link_set_state(connector, link, AQ_IBV_FAILED);
            return;
        }
        aq_ibv_peer_start(aq_ibv_link_end(connector, link)->peers, link, &theirs);
    }
    aq_ibv_link_set_state(connector, link, AQ_IBV_READY);
}

// With the lock held. Returns true if the event's id has to be ended.
static bool event_handle(aq_ibv_connector_t *connector, const struct rdma_cm_event *event)
{
    aq_ibv_peer_t *link = event->id->context;
    if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
        return on_request(connector, event);
    if (event->id == connector->device->listener)
        return false;
    if (!link)
        return true; // the peer's request counted in place of this call
    switch (event->event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        return rdma_resolve_route(event->id, RESOLVE_MS) != 0 &&
               on_call_failed(connector, link, event);
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        on_route(connector, link, event->id);
        return false;
    case RDMA_CM_EVENT_CONNECT_RESPONSE: // librdmacm does not know the queue pair
    case RDMA_CM_EVENT_ESTABLISHED:
        on_established(connector, link, event);
        return false;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
        return on_call_failed(connector, link, event);
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        aq_ibv_peer_lost(connector->losses, link, "it was closed");
        return false;
    default:
        return false;
    }
}

static void cm_progress(aq_ibv_connector_t *connector)
{
    struct rdma_cm_event *event;
    while (rdma_get_cm_event(connector->device->channel, &event) == 0) {
        struct rdma_cm_id *id = event->id;
        pthread_mutex_lock(&connector->lock);
        bool end = event_handle(connector, event);
        rdma_ack_cm_event(event);
        if (end) {
            id_end(id);
            pthread_cond_broadcast(&connector->connected);
        }
        pthread_mutex_unlock(&connector->lock);
    }
}

// ---- the table ----

static aq_status_t cm_open(aq_ibv_connector_t *connector)
{
    const int channel = connector->device->channel->fd;
    connector->fd = channel;
    if (fcntl(channel, F_SETFL, fcntl(channel, F_GETFL) | O_NONBLOCK) == 0)
        return AQ_OK;
    aq_log_error("the event channel of librdmacm cannot be used: %s", strerror(errno));
    return AQ_ERR_RESOURCE;
}

static int cm_timeout(aq_ibv_connector_t *connector)
{
    (void)connector;
    return -1;
}

const aq_ibv_connect_ops_t aq_ibv_connect_cm = {
    .name = "rdmacm",
    .open = cm_open,
    .call = cm_call,
    .progress = cm_progress,
    .timeout = cm_timeout,
};
