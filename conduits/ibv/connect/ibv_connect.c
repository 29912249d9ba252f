// SPDX-License-Identifier: BSD-3-Clause
// The connector's thread, and what both ways of connecting share: states of links, queue pairs,
// limits of retries. ibv_table.c comes here on first use of a peer; ops->call leads on to
// ibv_connect_cm.c or ibv_connect_ud.c.
#include "ibv_connect.h"
#include "../verbs/ibv_profile.h"
#include "../rails/ibv_rail_set.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/system/quiet_thread.h"
#include "../../../other/base/settings/settings.h"

enum {
    RNR_RETRIES = 6, // a few seconds: a wait lasts 655 ms, unless the device has another time
    RNR_WITHOUT_END = 7,
};

// ---- links ----

void aq_ibv_link_set_state(aq_ibv_connector_t *connector, aq_ibv_peer_t *link, aq_ibv_state_t state)
{
    connector->calling += (state == AQ_IBV_CALLING) - (link->conn.state == AQ_IBV_CALLING);
    if (connector->calling > connector->most_calling)
        connector->most_calling = connector->calling;
    link->conn.state = state;
    pthread_cond_broadcast(&connector->connected);
}

aq_ibv_end_t *aq_ibv_link_end(const aq_ibv_connector_t *connector, const aq_ibv_peer_t *link)
{
    return connector->ends[link->here];
}

static bool end_furnish(aq_ibv_end_t *end)
{
    return end->furnish ? end->furnish(end) : !end->failed;
}

aq_ibv_peer_t *aq_ibv_link_get(aq_ibv_end_t *end, uint32_t rank, uint16_t endpoint)
{
    return end_furnish(end) ? aq_ibv_peer_get(end->peers, rank, endpoint) : NULL;
}

// How often the device retries a message for which the peer has no buffer (RNR). As long as each
// credit has a buffer that does not happen, so it is a fault, and the job should end. With more
// peers than grants, a peer that computes may lack a buffer for any length of time.
uint8_t aq_ibv_rnr_retries(const aq_ibv_limits_t *limits)
{
    return limits->peers <= limits->grants ? RNR_RETRIES : RNR_WITHOUT_END;
}

aq_ibv_conn_private_data_t aq_ibv_private_data_for(const aq_ibv_end_t *end, aq_ibv_peer_t *link)
{
    aq_ibv_conn_private_data_t mine = end->own;
    link->grant = link->grant ? link->grant : aq_ibv_peer_grant(end->peers);
    mine.grant = (uint16_t)link->grant;
    mine.to_endpoint = link->endpoint;
    mine.number = link->here ? (uint16_t)link->number : 0;
    return mine;
}

bool aq_ibv_link_prepare(aq_ibv_end_t *end, aq_ibv_peer_t *link)
{
    return !end->failovers || aq_ibv_failover_make(end->failovers, link);
}

void aq_ibv_link_furnished(aq_ibv_peer_t *link)
{
    link->qp = link->failover ? aq_ibv_failover_pair(link) : link->pair;
}

struct ibv_qp_init_attr aq_ibv_queue_pair_attr(aq_ibv_end_t *end)
{
    return (struct ibv_qp_init_attr){
        .qp_context = end,
        .send_cq = end->queues->send_cq,
        .recv_cq = end->queues->receive_cq,
        .srq = end->queues->srq,
        .cap = {.max_send_wr = end->limits->depth_each,
                .max_send_sge = 1,
                .max_inline_data = end->limits->inline_bytes},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 0,
    };
}

aq_ibv_path_source_t aq_ibv_connect_source(const aq_ibv_device_t *device)
{
    return (aq_ibv_path_source_t){.path = &device->path,
                                  .address = device->address,
                                  .port = device->port,
                                  .gid_index = device->gid_index,
                                  .ethernet = device->ethernet};
}

aq_ibv_path_source_t aq_ibv_port_source(const aq_ibv_device_t *device, unsigned port)
{
    return port ? aq_ibv_rail_source(&device->rails.list[port]) : aq_ibv_connect_source(device);
}

aq_ibv_path_source_t aq_ibv_link_source(const aq_ibv_device_t *device, const aq_ibv_peer_t *link)
{
    return aq_ibv_port_source(device, link->first_port);
}

int aq_ibv_connect_init(const aq_ibv_device_t *device, struct ibv_qp *qp)
{
    const aq_ibv_path_source_t from = aq_ibv_connect_source(device);
    const unsigned atomic = device->atomics == AQ_IBV_ATOMICS_NONE ? 0 : IBV_ACCESS_REMOTE_ATOMIC;
    return aq_ibv_pair_init(qp, &from, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | atomic);
}

aq_ibv_pair_info_t aq_ibv_connect_end(const aq_ibv_connector_t *connector,
                                      const aq_ibv_peer_t *link)
{
    const aq_ibv_device_t *device = connector->device;
    const aq_ibv_path_source_t source = aq_ibv_link_source(device, link);
    return (aq_ibv_pair_info_t){.port = source.address,
                                .number = link->pair->qp_num,
                                .psn = link->conn.psn,
                                .mtu = (uint8_t)source.path->mtu,
                                .reads = aq_ibv_link_end(connector, link)->limits->reads,
                                .link =
                                    device->ethernet ? AQ_IBV_LINK_ROCE : AQ_IBV_LINK_INFINIBAND};
}

bool aq_ibv_port_is_active(const aq_ibv_device_t *device, unsigned port)
{
    struct ibv_port_attr attr;
    struct ibv_context *verbs = port ? device->rails.list[port].verbs : device->verbs;
    const uint8_t number = port ? device->rails.list[port].number : device->port;
    return ibv_query_port(verbs, number, &attr) == 0 && attr.state == IBV_PORT_ACTIVE;
}

void aq_ibv_link_unreached(aq_ibv_connector_t *connector, const aq_ibv_peer_t *link,
                           const char *why)
{
    const aq_ibv_addresses_t *addresses = &connector->addresses[link->first_port];
    const bool is_active = aq_ibv_port_is_active(connector->device, link->first_port);
    const aq_ibv_rail_port_t *further = &connector->device->rails.list[link->first_port];
    char here[AQ_IBV_ADDRESS_TEXT], there[AQ_IBV_ADDRESS_TEXT], port[96];
    snprintf(port, sizeof port, "port %u of %s", further->number, further->device);
    aq_ibv_peer_unreached(connector->losses, link,
                          aq_ibv_addresses_text(addresses, connector->env->rank, here),
                          aq_ibv_addresses_text(addresses, link->rank, there),
                          link->first_port ? port : connector->losses->port,
                          is_active ? why : "the port of this process has gone down");
}

void aq_ibv_log_no_queue_pair(int error)
{
    aq_log_error("the verbs device refuses a queue pair (%s): start fewer processes on this host, "
                 "or lower GASNET_NETWORKDEPTH_PP",
                 strerror(error));
}

// Counts a new queue pair, if there is no error. False: there is one (logged).
static bool queue_pair_count(aq_ibv_end_t *end, int error)
{
    if (error)
        aq_ibv_log_no_queue_pair(error);
    else
        atomic_fetch_add_explicit(&end->queue_pairs, 1, memory_order_relaxed);
    return !error;
}

bool aq_ibv_connect_adopt(const aq_ibv_connector_t *connector, aq_ibv_end_t *end, struct ibv_qp *qp)
{
    const int error = qp ? aq_ibv_connect_init(connector->device, qp) : errno;
    if (error && qp)
        ibv_destroy_qp(qp);
    return queue_pair_count(end, error);
}

bool aq_ibv_connect_make_pair(const aq_ibv_connector_t *connector, aq_ibv_peer_t *link)
{
    aq_ibv_end_t *end = aq_ibv_link_end(connector, link);
    if (link->first_port) {
        link->pair = aq_ibv_rail_first_make(end->failovers->rails, link->first_port);
        return queue_pair_count(end, link->pair ? 0 : errno);
    }
    struct ibv_qp_init_attr attr = aq_ibv_queue_pair_attr(end);
    struct ibv_qp *qp = ibv_create_qp(connector->device->pd, &attr);
    if (!aq_ibv_connect_adopt(connector, end, qp))
        return false;
    link->pair = qp;
    return true;
}

// ---- on behalf of threads that need a connection ----

void aq_ibv_connector_add(aq_ibv_connector_t *connector, uint16_t endpoint, aq_ibv_end_t *end)
{
    pthread_mutex_lock(&connector->lock);
    connector->ends[endpoint] = end;
    pthread_mutex_unlock(&connector->lock);
}

aq_status_t aq_ibv_connect(aq_ibv_connector_t *connector, uint16_t endpoint, const aq_peer_t *peer,
                           void **out)
{
    pthread_mutex_lock(&connector->lock);
    aq_ibv_peer_t *link = aq_ibv_link_get(connector->ends[endpoint], peer->rank, peer->endpoint);
    while (link && link->conn.state != AQ_IBV_READY && link->conn.state != AQ_IBV_FAILED)
        if (link->conn.state != AQ_IBV_IDLE || connector->ops->call(connector, link) == AQ_OK)
            pthread_cond_wait(&connector->connected, &connector->lock);
    bool ready = link && link->conn.state == AQ_IBV_READY;
    if (ready)
        link->conn.used = true;
    pthread_mutex_unlock(&connector->lock);
    if (!ready)
        aq_ibv_losses_await_end(connector->losses);
    *out = link;
    return ready ? AQ_OK : AQ_ERR_PEER;
}

// With the lock held: calls ranks that were not called yet, as many at a time as are allowed.
// Returns true when all have answered and (unless others may call, too) no failed call is left to
// be cleaned up, or when one rank cannot be reached.
static bool call_more(aq_ibv_connector_t *connector, const uint32_t *ranks, uint32_t count,
                      aq_status_t *status)
{
    const unsigned most = (unsigned)aq_setting_int(aq_ibv_setting(IBV_SET_CONNECT_CALLS));
    const aq_ibv_end_t *first = connector->ends[0];
    uint32_t ready = 0;
    for (uint32_t i = 0; i < count; i++) {
        aq_ibv_peer_t *link = aq_ibv_peer_get(first->peers, ranks[i], 0);
        if (!link || link->conn.state == AQ_IBV_FAILED ||
            (link->conn.state == AQ_IBV_IDLE && connector->calling < most &&
             connector->ops->call(connector, link) != AQ_OK)) {
            *status = AQ_ERR_PEER;
            return true;
        }
        ready += link->conn.state == AQ_IBV_READY;
    }
    const bool all = count == connector->env->size - connector->env->nbrhd_size;
    return ready == count && (!all || first->xrc || atomic_load(&first->queue_pairs) == count);
}

static aq_status_t ranks_connect(aq_ibv_connector_t *connector, const uint32_t *ranks,
                                 uint32_t count)
{
    aq_status_t status = AQ_OK;
    pthread_mutex_lock(&connector->lock);
    while (!call_more(connector, ranks, count, &status))
        pthread_cond_wait(&connector->connected, &connector->lock);
    pthread_mutex_unlock(&connector->lock);
    if (status != AQ_OK)
        aq_ibv_losses_await_end(connector->losses);
    return status;
}

// All ranks answer, since their connectors run before any of them gets here. Each rank begins with
// the one behind itself, so that they do not all call the same one.
aq_status_t aq_ibv_connect_all(aq_ibv_connector_t *connector, const bool *peers)
{
    const aq_conduit_env_t *env = connector->env;
    uint32_t count = 0;
    uint32_t *ranks = calloc(env->size, sizeof *ranks);
    if (!ranks) {
        aq_log_error("out of memory for the numbers of %u ranks", env->size);
        return AQ_ERR_RESOURCE;
    }
    for (uint32_t i = 1; i < env->size; i++) {
        const uint32_t rank = (env->rank + i) % env->size;
        if (aq_index_in_nbrhd(env, rank) == UINT32_MAX && (!peers || peers[rank]))
            ranks[count++] = rank;
    }
    const uint64_t began = aq_clock_ns();
    aq_status_t status = ranks_connect(connector, ranks, count);
    connector->all_ns = aq_clock_ns() - began;
    free(ranks);
    return status;
}

// ---- the thread ----

// The earlier of two times in ms; -1: for ever.
static int timeout_min(int a, int b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

// The time for which the thread may sleep, in ms; -1: until it is woken.
static int connector_timeout(aq_ibv_connector_t *connector)
{
    return timeout_min(
        timeout_min(aq_ibv_losses_watch(connector->losses), connector->ops->timeout(connector)),
        aq_ibv_port_watch_timeout(&connector->watch, aq_clock_ns()));
}

static void *connector_run(void *pointer)
{
    aq_ibv_connector_t *connector = pointer;
    const aq_ibv_losses_t *losses = connector->losses;
    struct pollfd ready[2 + AQ_IBV_RAIL_PORTS_MAX] = {{.fd = connector->fd, .events = POLLIN},
                                                      {.fd = losses->wake, .events = POLLIN}};
    const unsigned sources = 2 + aq_ibv_port_watch_fds(&connector->watch, ready + 2);
    bool busy = false;
    while (!atomic_load(&losses->closing)) {
        uint64_t count;
        const int timeout = connector_timeout(connector);
        poll(ready, sources, busy ? 0 : timeout);
        if (ready[1].revents && read(losses->wake, &count, sizeof count) < 0 && errno != EAGAIN)
            break;
        connector->ops->progress(connector);
        aq_ibv_port_watch_turn(&connector->watch, aq_clock_ns());
        busy = aq_ibv_tasks_turn(&connector->tasks);
    }
    return NULL;
}

void aq_ibv_connector_wake(aq_ibv_connector_t *connector)
{
    const uint64_t one = 1;
    if (write(connector->losses->wake, &one, sizeof one) < 0)
        aq_log_error("the connector thread of conduit ibv cannot be woken");
}

aq_status_t aq_ibv_connector_start(aq_ibv_connector_t *connector)
{
    int *wake = &connector->losses->wake;
    aq_status_t status = connector->ops->open(connector);
    if (status != AQ_OK)
        return status;
    pthread_mutex_init(&connector->lock, NULL);
    pthread_cond_init(&connector->connected, NULL);
    *wake = connector->tasks.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error =
        *wake < 0 ? errno : aq_quiet_thread_create(&connector->thread, connector_run, connector);
    if (!error)
        return AQ_OK;
    aq_log_error("the thread that makes connections of conduit ibv cannot be started: %s",
                 strerror(error));
    return AQ_ERR_RESOURCE;
}

void aq_ibv_connector_stop(aq_ibv_connector_t *connector)
{
    const uint64_t one = 1;
    atomic_store(&connector->losses->closing, true);
    if (write(connector->losses->wake, &one, sizeof one) == sizeof one)
        pthread_join(connector->thread, NULL);
}
