// Connections are made by librdmacm. A thread of its own takes all its events, those of the
// connections that this process asks for and those that others ask for:
//
//      caller                                       thread                       peer's thread
//      aq_ibv_connect: resolve address, waits
//                                address resolved:  resolve route
//                                route resolved:    queue pair, connect  ----->  request: queue
//                                pair, accept
//      <-- READY --------------- established  <-------------------------------   ... established:
//      READY
//
// Two that call each other at the same time: the request of the lower rank counts. Its process
// refuses the other one's request, and who gets it drops its own.
//
// A process makes one connection at a time, or with GASNET_CONNECT_STATIC a few and not all: so the
// calls that a process has to answer at the same time do not grow with the job.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ibv_conduit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../other/base/log.h"
#include "../../other/base/settings.h"

enum {
    RESOLVE_MS = 5000,
    RNR_RETRIES = 6, // a few seconds: a wait lasts 655 ms, unless the device has another time
    RNR_WITHOUT_END = 7,
};

// Why a request was refused, in one byte of the refusal.
enum { REFUSED_MINE_COUNTS = 1, REFUSED_STRANGER, REFUSED_NO_QUEUE_PAIR };

// ---- both sides ----

static void set_state(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, aq_ibv_state_t state)
{
    ibv->calling += (state == AQ_IBV_CALLING) - (link->state == AQ_IBV_CALLING);
    if (ibv->calling > ibv->most_calling)
        ibv->most_calling = ibv->calling;
    link->state = state;
    pthread_cond_broadcast(&ibv->connected);
}

static bool make_queue_pair(aq_ibv_conduit_t *ibv, struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = ibv->send_cq,
        .recv_cq = ibv->receive_cq,
        .srq = ibv->srq,
        .cap = {.max_send_wr = ibv->limits.depth_each,
                .max_send_sge = 1,
                .max_inline_data = ibv->limits.inline_bytes},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 0,
    };
    if (rdma_create_qp(id, ibv->pd, &attr) == 0) {
        atomic_fetch_add_explicit(&ibv->queue_pairs, 1, memory_order_relaxed);
        return true;
    }
    aq_log_error(
        "the verbs device refuses a queue pair (%s): start fewer processes on this host, or "
        "lower GASNET_NETWORKDEPTH_PP",
        strerror(errno));
    return false;
}

// How often the device tries again when the peer has no buffer for a message. As long as each
// credit has a buffer that does not happen, so that it means a fault, which is to end the job. With
// more peers than grants, a peer that computes may lack one for as long as it likes.
static uint8_t rnr_retries(const aq_ibv_conduit_t *ibv)
{
    return ibv->peers <= ibv->limits.grants ? RNR_RETRIES : RNR_WITHOUT_END;
}

static struct rdma_conn_param parameters(const aq_ibv_conduit_t *ibv, const aq_ibv_hello_t *hello)
{
    return (struct rdma_conn_param){
        .private_data = hello,
        .private_data_len = sizeof *hello,
        .responder_resources = ibv->limits.reads,
        .initiator_depth = ibv->limits.reads,
        .retry_count = (uint8_t)aq_settings_int(AQ_SET_QP_RETRY_COUNT),
        .rnr_retry_count = rnr_retries(ibv),
    };
}

// Not every kernel and device can do it: then the connection keeps the time of its path.
static void set_timeout(struct rdma_cm_id *id)
{
    uint8_t timeout = (uint8_t)aq_settings_int(AQ_SET_QP_TIMEOUT);
    (void)rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof timeout);
}

// Its event must have been acknowledged.
static void end_id(aq_ibv_conduit_t *ibv, struct rdma_cm_id *id)
{
    if (id->qp) {
        rdma_destroy_qp(id);
        atomic_fetch_sub_explicit(&ibv->queue_pairs, 1, memory_order_relaxed);
    }
    rdma_destroy_id(id);
}

// ---- calling ----

// Ours, with any port.
static struct sockaddr_storage own_address(const aq_ibv_conduit_t *ibv)
{
    struct sockaddr_storage own = ibv->here;
    if (own.ss_family == AF_INET)
        ((struct sockaddr_in *)&own)->sin_port = 0;
    else
        ((struct sockaddr_in6 *)&own)->sin6_port = 0;
    return own;
}

// With connect_lock held.
static aq_status_t call(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link)
{
    struct sockaddr_storage from = own_address(ibv), to;
    if (!aq_ibv_addresses_has(&ibv->addresses, link->rank)) {
        aq_log_error("rank %u listens at an address of the other kind of IPv4 and IPv6 than this "
                     "rank: give the ports of all hosts addresses of one kind",
                     link->rank);
        set_state(ibv, link, AQ_IBV_FAILED);
        return AQ_ERR_PEER;
    }
    aq_ibv_addresses_get(&ibv->addresses, link->rank, &to);
    set_state(ibv, link, AQ_IBV_CALLING);
    link->tries++;
    if (rdma_create_id(ibv->channel, &link->id, link, RDMA_PS_TCP) == 0) {
        set_timeout(link->id);
        if (rdma_resolve_addr(link->id, (struct sockaddr *)&from, (struct sockaddr *)&to,
                              RESOLVE_MS) == 0)
            return AQ_OK;
    }
    aq_log_error("librdmacm cannot call rank %u: %s", link->rank, strerror(errno));
    set_state(ibv, link, AQ_IBV_FAILED);
    return AQ_ERR_RESOURCE;
}

aq_status_t aq_ibv_connect(aq_conduit_t *conduit, uint32_t rank, const char *description,
                           void **out)
{
    aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    (void)description;
    pthread_mutex_lock(&ibv->connect_lock);
    aq_ibv_peer_t *link = aq_ibv_peer_get(ibv, rank);
    while (link && link->state != AQ_IBV_READY && link->state != AQ_IBV_FAILED)
        if (link->state != AQ_IBV_IDLE || call(ibv, link) == AQ_OK)
            pthread_cond_wait(&ibv->connected, &ibv->connect_lock);
    bool ready = link && link->state == AQ_IBV_READY;
    pthread_mutex_unlock(&ibv->connect_lock);
    if (!ready)
        aq_ibv_peers_await_end(ibv);
    *out = link;
    return ready ? AQ_OK : AQ_ERR_PEER;
}

// Calls those that nobody has called yet, as many at a time as may be. Returns true when all have
// answered and no call that came to nothing is left, or one will not. With connect_lock held.
static bool call_more(aq_ibv_conduit_t *ibv, const uint32_t *ranks, uint32_t count,
                      aq_status_t *status)
{
    const unsigned most = (unsigned)aq_settings_int(AQ_SET_CONNECT_CALLS);
    uint32_t ready = 0;
    for (uint32_t i = 0; i < count; i++) {
        aq_ibv_peer_t *link = aq_ibv_peer_get(ibv, ranks[i]);
        if (!link || link->state == AQ_IBV_FAILED ||
            (link->state == AQ_IBV_IDLE && ibv->calling < most && call(ibv, link) != AQ_OK)) {
            *status = AQ_ERR_PEER;
            return true;
        }
        ready += link->state == AQ_IBV_READY;
    }
    return ready == count && atomic_load(&ibv->queue_pairs) == count;
}

aq_status_t aq_ibv_connect_all(aq_ibv_conduit_t *ibv, const uint32_t *ranks, uint32_t count)
{
    aq_status_t status = AQ_OK;
    pthread_mutex_lock(&ibv->connect_lock);
    while (!call_more(ibv, ranks, count, &status))
        pthread_cond_wait(&ibv->connected, &ibv->connect_lock);
    pthread_mutex_unlock(&ibv->connect_lock);
    if (status != AQ_OK)
        aq_ibv_peers_await_end(ibv);
    return status;
}

static void go_on_calling(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, struct rdma_cm_id *id)
{
    aq_ibv_hello_t hello;
    struct rdma_conn_param parameter;
    if (!make_queue_pair(ibv, id)) {
        set_state(ibv, link, AQ_IBV_FAILED);
        return;
    }
    link->grant = link->grant ? link->grant : aq_ibv_peer_grant(ibv);
    hello = aq_ibv_hello(ibv, link->grant);
    aq_ibv_prove_call(ibv->base.env->boot->key, link->rank, &hello);
    memcpy(link->called, hello.nonce, sizeof link->called);
    parameter = parameters(ibv, &hello);
    if (rdma_connect(id, &parameter) == 0)
        return;
    aq_log_error("librdmacm cannot connect to rank %u: %s", link->rank, strerror(errno));
    set_state(ibv, link, AQ_IBV_FAILED);
}

// The call came to nothing: once more, but for the last time. Returns true if the id is to be
// ended.
static bool call_failed(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link,
                        const struct rdma_cm_event *event)
{
    const uint8_t *reason = event->param.conn.private_data;
    bool refused =
        event->event == RDMA_CM_EVENT_REJECTED && reason && event->param.conn.private_data_len;
    link->id = NULL;
    if (refused && reason[0] == REFUSED_MINE_COUNTS)
        return true; // its request is on its way, or here
    if (link->tries < AQ_IBV_CALLS_MOST && !(refused && reason[0] == REFUSED_STRANGER)) {
        set_state(ibv, link, AQ_IBV_IDLE); // who waits calls again
        return true;
    }
    aq_ibv_peer_unreached(ibv, link, event);
    set_state(ibv, link, AQ_IBV_FAILED);
    return true;
}

// ---- being called ----

static void refuse(struct rdma_cm_id *id, uint8_t reason)
{
    rdma_reject(id, &reason, sizeof reason);
}

// Whether a request counts against what we are doing ourselves. Returns false when it is refused.
static bool request_counts(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link)
{
    if (link->state == AQ_IBV_READY || link->state == AQ_IBV_FAILED)
        return false;
    if (link->state == AQ_IBV_CALLING && link->id && ibv->base.env->rank < link->rank)
        return false;
    if (link->id)
        link->id->context = NULL; // its own event ends it
    return true;
}

static bool accept_request(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, struct rdma_cm_id *id,
                           const aq_ibv_hello_t *theirs)
{
    aq_ibv_hello_t hello;
    if (!make_queue_pair(ibv, id)) {
        refuse(id, REFUSED_NO_QUEUE_PAIR);
        return false;
    }
    set_timeout(id);
    id->context = link;
    link->id = id;
    link->grant = link->grant ? link->grant : aq_ibv_peer_grant(ibv);
    hello = aq_ibv_hello(ibv, link->grant);
    aq_ibv_prove_accept(ibv->base.env->boot->key, link->rank, theirs->nonce, &hello);
    struct rdma_conn_param parameter = parameters(ibv, &hello);
    set_state(ibv, link, AQ_IBV_ANSWERING);
    if (!atomic_load_explicit(&link->started, memory_order_relaxed))
        aq_ibv_peer_start(ibv, link, theirs);
    if (rdma_accept(id, &parameter) == 0)
        return true;
    link->id = NULL;
    set_state(ibv, link, AQ_IBV_IDLE); // the peer calls again
    return false;
}

// Returns true if the id is to be ended.
static bool on_request(aq_ibv_conduit_t *ibv, const struct rdma_cm_event *event)
{
    aq_ibv_hello_t hello;
    if (!aq_ibv_request_genuine(ibv, event->param.conn.private_data,
                                event->param.conn.private_data_len, &hello)) {
        refuse(event->id, REFUSED_STRANGER);
        return true;
    }
    aq_ibv_peer_t *link = aq_ibv_peer_get(ibv, hello.rank);
    if (link && !aq_ibv_heard_note(&link->heard_calls, hello.nonce)) {
        refuse(event->id, REFUSED_STRANGER);
        return true;
    }
    if (!link || !request_counts(ibv, link)) {
        refuse(event->id, REFUSED_MINE_COUNTS);
        return true;
    }
    return !accept_request(ibv, link, event->id, &hello);
}

// ---- events ----

static void on_established(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link,
                           const struct rdma_cm_event *event)
{
    aq_ibv_hello_t hello;
    if (link->state == AQ_IBV_CALLING) {
        if (!aq_ibv_accept_genuine(ibv, link, event->param.conn.private_data,
                                   event->param.conn.private_data_len, &hello)) {
            aq_log_error("the process that answers for rank %u does not know the key of the job: "
                         "see who uses the network of the verbs devices",
                         link->rank);
            set_state(ibv, link, AQ_IBV_FAILED);
            return;
        }
        aq_ibv_peer_start(ibv, link, &hello);
    }
    set_state(ibv, link, AQ_IBV_READY);
}

// With connect_lock held. Returns true if the event's id is to be ended.
static bool handle(aq_ibv_conduit_t *ibv, const struct rdma_cm_event *event)
{
    aq_ibv_peer_t *link = event->id->context;
    if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
        return on_request(ibv, event);
    if (event->id == ibv->listener)
        return false;
    if (!link)
        return true; // the other side's request counted
    switch (event->event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        return rdma_resolve_route(event->id, RESOLVE_MS) != 0 && call_failed(ibv, link, event);
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        go_on_calling(ibv, link, event->id);
        return false;
    case RDMA_CM_EVENT_ESTABLISHED:
        on_established(ibv, link, event);
        return false;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
        return call_failed(ibv, link, event);
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
        aq_ibv_peer_lost(ibv, link, "it was closed");
        return false;
    default:
        return false;
    }
}

static void take_events(aq_ibv_conduit_t *ibv)
{
    struct rdma_cm_event *event;
    while (rdma_get_cm_event(ibv->channel, &event) == 0) {
        struct rdma_cm_id *id = event->id;
        pthread_mutex_lock(&ibv->connect_lock);
        bool end = handle(ibv, event);
        rdma_ack_cm_event(event);
        if (end) {
            end_id(ibv, id);
            pthread_cond_broadcast(&ibv->connected);
        }
        pthread_mutex_unlock(&ibv->connect_lock);
    }
}

static void *run_connector(void *pointer)
{
    aq_ibv_conduit_t *ibv = pointer;
    struct pollfd ready[] = {{.fd = ibv->channel->fd, .events = POLLIN},
                             {.fd = ibv->wake_connector, .events = POLLIN}};
    while (!atomic_load(&ibv->closing)) {
        uint64_t count;
        poll(ready, 2, aq_ibv_peers_watch(ibv));
        if (ready[1].revents && read(ibv->wake_connector, &count, sizeof count) < 0 &&
            errno != EAGAIN)
            break;
        if (ready[0].revents)
            take_events(ibv);
    }
    return NULL;
}

aq_status_t aq_ibv_connector_start(aq_ibv_conduit_t *ibv)
{
    sigset_t all, before;
    if (sodium_init() < 0) {
        aq_log_error("libsodium cannot start on this machine: install the package libsodium23 that "
                     "belongs to it");
        return AQ_ERR_RESOURCE;
    }
    pthread_mutex_init(&ibv->connect_lock, NULL);
    pthread_cond_init(&ibv->connected, NULL);
    ibv->wake_connector = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    fcntl(ibv->channel->fd, F_SETFL, fcntl(ibv->channel->fd, F_GETFL) | O_NONBLOCK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // signals are the client's threads'
    int error =
        ibv->wake_connector < 0 ? errno : pthread_create(&ibv->connector, NULL, run_connector, ibv);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error)
        return AQ_OK;
    aq_log_error("the thread that makes connections of conduit ibv cannot be started: %s",
                 strerror(error));
    return AQ_ERR_RESOURCE;
}

void aq_ibv_connector_stop(aq_ibv_conduit_t *ibv)
{
    const uint64_t one = 1;
    atomic_store(&ibv->closing, true);
    if (write(ibv->wake_connector, &one, sizeof one) == sizeof one)
        pthread_join(ibv->connector, NULL);
}
