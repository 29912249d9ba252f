// SPDX-License-Identifier: BSD-3-Clause
// Opens the conduit: device, connector, addresses, queues and parts, and joins the parts to an
// instance for each endpoint. ibv_table.c calls it; at the end it prints what GASNET_STATS asks
// for.
#include "ibv_conduit.h"
#include "connect/ibv_connect_cm.h"
#include "connect/ibv_connect_file.h"
#include "connect/ibv_connect_ud.h"
#include "verbs/ibv_profile.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/ground/fatal.h"
#include "../../other/base/log/log.h"
#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "rails/ibv_rail_queues.h"
#include "rails/ibv_rail.h"

// ---- parts ----

// The parts for messages out.
static void senders_join(aq_ibv_conduit_t *ibv)
{
    ibv->peers.limits = &ibv->limits;
    ibv->peers.rank = ibv->base.env->rank;
    ibv->peers.endpoint = ibv->base.endpoint;
    ibv->send_queue.limits = &ibv->limits;
    ibv->send_queue.losses = &ibv->shared->losses;
    ibv->ring_writer.limits = &ibv->limits;
    ibv->sender = (aq_ibv_sender_t){.limits = &ibv->limits,
                                    .buffers = &ibv->buffers,
                                    .queue = &ibv->send_queue,
                                    .keys = &ibv->shared->keys,
                                    .peers = &ibv->peers};
}

static void sleeper_wake(void *sleeper)
{
    aq_ibv_wake(sleeper);
    aq_ibv_nudge(sleeper);
    aq_ibv_nudge_receiver(sleeper);
}

static void sleeper_nudge(void *sleeper)
{
    aq_ibv_nudge(sleeper);
}

static void rails_join(aq_ibv_conduit_t *ibv)
{
    ibv->rails.env = ibv->base.env;
    ibv->rails.limits = &ibv->limits;
    ibv->rails.ports = &ibv->shared->device.rails;
    ibv->rails.buffers = &ibv->buffers;
    ibv->rails.keys = &ibv->shared->keys;
    ibv->rails.queue = &ibv->send_queue;
    ibv->rails.first_queues = &ibv->queues;
    ibv->rails.calls.say = aq_ibv_ondemand_say;
    ibv->rails.calls.context = &ibv->ondemand;
    ibv->rails.tasks = &ibv->shared->connector.tasks;
    ibv->rails.calls.wake = sleeper_wake;
    ibv->rails.calls.sleeper = &ibv->sleeper;
}

// The parts for put, get and atomics.
static void paths_join(aq_ibv_conduit_t *ibv)
{
    aq_ibv_keys_t *keys = &ibv->shared->keys;
    ibv->rma = (aq_ibv_rma_path_t){
        .limits = &ibv->limits, .buffers = &ibv->buffers, .keys = keys, .queue = &ibv->send_queue};
    ibv->atomic =
        (aq_ibv_atomic_path_t){.buffers = &ibv->buffers, .keys = keys, .queue = &ibv->send_queue};
    ibv->ondemand.env = ibv->base.env;
    ibv->ondemand.limits = &ibv->limits;
    ibv->ondemand.peers = &ibv->peers;
    ibv->ondemand.keys = keys;
    ibv->ondemand.sender = &ibv->sender;
    ibv->ondemand.path = &ibv->rma;
    ibv->ondemand.begin = aq_ibv_rma_begin;
    ibv->ondemand.wake = sleeper_nudge;
    ibv->ondemand.sleeper = &ibv->sleeper;
    rails_join(ibv);
}

// The parts for messages in, and for waiting.
static void receivers_join(aq_ibv_conduit_t *ibv)
{
    aq_ibv_receiver_t *receiver = &ibv->receiver;
    ibv->rings.limits = &ibv->limits;
    ibv->rings.peers = &ibv->peers;
    ibv->rings.sender = &ibv->sender;
    receiver->env = ibv->base.env;
    receiver->window = ibv->base.endpoint ? &ibv->base : NULL;
    receiver->limits = &ibv->limits;
    receiver->peers = &ibv->peers;
    receiver->buffers = &ibv->buffers;
    receiver->send_queue = &ibv->send_queue;
    receiver->sender = &ibv->sender;
    receiver->writer = &ibv->ring_writer;
    receiver->rings = &ibv->rings;
    receiver->ondemand = &ibv->ondemand;
    receiver->rails = &ibv->rails;
    atomic_init(&receiver->cq, &aq_ibv_empty_cq);
    ibv->sleeper.queues = &ibv->queues;
    ibv->sleeper.receiver = receiver;
}

static void failovers_join(aq_ibv_conduit_t *ibv)
{
    ibv->failovers.limits = &ibv->limits;
    ibv->failovers.peers = &ibv->peers;
    ibv->failovers.losses = &ibv->shared->losses;
    ibv->failovers.rings = &ibv->rings;
    ibv->failovers.rails = &ibv->rails;
    ibv->failovers.queues = &ibv->queues;
}

void aq_ibv_parts_join(aq_ibv_conduit_t *ibv)
{
    senders_join(ibv);
    paths_join(ibv);
    receivers_join(ibv);
    failovers_join(ibv);
    ibv->end.limits = &ibv->limits;
    ibv->end.queues = &ibv->queues;
    ibv->end.peers = &ibv->peers;
}

// How puts and gets are begun.
static aq_ibv_rma_begin_t *begin_choose(const aq_ibv_conduit_t *ibv)
{
    const bool fenced =
        ibv->limits.device.unordered || aq_setting_bool(aq_ibv_setting(IBV_SET_USE_FENCED_PUTS));
    if (ibv->rma.rails)
        return fenced ? aq_ibv_rma_begin_fenced_on_rails : aq_ibv_rma_begin_on_rails;
    return fenced ? aq_ibv_rma_begin_fenced : aq_ibv_rma_begin;
}

// Gives the send queue and the receiver the queues of the device, or with several ports those of
// the failovers. Returns the completion queue of arrivals.
static struct ibv_cq *queues_choose(aq_ibv_conduit_t *ibv)
{
    ibv->send_queue.cq = ibv->queues.send_cq;
    ibv->receiver.srq = ibv->queues.srq;
    if (ibv->limits.receive_queues < 2)
        return ibv->queues.receive_cq;
    ibv->rails.calls.stand_by = aq_ibv_failover_stand_by;
    ibv->rails.calls.failovers = &ibv->failovers;
    if (!aq_ibv_rails_open(&ibv->rails)) {
        ibv->rails.calls.stand_by = NULL;
        ibv->limits.receive_queues = 1;
        return ibv->queues.receive_cq;
    }
    aq_ibv_failovers_open(&ibv->failovers);
    ibv->end.failovers = &ibv->failovers;
    ibv->send_queue.cq = &ibv->failovers.sends;
    ibv->receiver.srq = &ibv->failovers.srq;
    return &ibv->failovers.arrivals;
}

aq_status_t aq_ibv_parts_open(aq_ibv_conduit_t *ibv)
{
    const uint32_t ranks = ibv->base.env->size;
    aq_status_t status = aq_ibv_buffers_open(&ibv->buffers, &ibv->limits, &ibv->shared->memory,
                                             ibv->base.endpoint ? NULL : ibv->base.env->boot);
    if (status != AQ_OK)
        return status;
    if (!aq_ibv_peers_open(&ibv->peers, ranks) || !aq_ibv_send_queue_open(&ibv->send_queue) ||
        !aq_ibv_rings_open(&ibv->rings, &ibv->buffers)) {
        aq_log_error("out of memory for %u operations and %u ranks of conduit ibv: lower "
                     "GASNET_NETWORKDEPTH_TOTAL",
                     ibv->limits.depth_total, ranks);
        return AQ_ERR_RESOURCE;
    }
    struct ibv_cq *arrivals = queues_choose(ibv);
    if (ibv->rails.send_thread && aq_ibv_rails_exist(ibv->rails.ports))
        (void)aq_ibv_rails_open(&ibv->rails); // before the thread, which sleeps on their channels
    ibv->end.own = aq_ibv_own_private_data(ibv);
    if (aq_ibv_rails_exist(ibv->rails.ports))
        ibv->rma.rails = &ibv->rails;
    ibv->ondemand.begin = begin_choose(ibv);
    aq_ibv_receiver_open(&ibv->receiver);
    atomic_store_explicit(&ibv->receiver.cq, arrivals, memory_order_release);
    return AQ_OK;
}

void aq_ibv_parts_close(aq_ibv_conduit_t *ibv)
{
    aq_ibv_buffers_close(&ibv->buffers, &ibv->shared->memory);
    aq_ibv_rings_close(&ibv->rings);
    aq_ibv_failovers_close(&ibv->failovers);
    aq_ibv_peers_free(&ibv->peers);
    free(ibv->send_queue.ops);
}

aq_ibv_conn_private_data_t aq_ibv_own_private_data(const aq_ibv_conduit_t *ibv)
{
    return (aq_ibv_conn_private_data_t){
        .rank = ibv->base.env->rank,
        .rings_at = ibv->rings.all ? (uintptr_t)ibv->buffers.rings : 0,
        .rings_key = ibv->rings.all ? ibv->buffers.slab_mr->rkey : 0,
        .endpoint = ibv->base.endpoint,
        .ring_depth = ibv->rings.all ? ibv->limits.rings.depth & 63 : 0,
        .atomics = (uint32_t)ibv->shared->device.atomics & 3,
    };
}

// ---- open ----

// The longest messages, given what is known of the segments.
static void set_payloads(aq_ibv_conduit_t *ibv)
{
    ibv->base.max_medium = AQ_IBV_BUFFER_BYTES - aq_ibv_payload_at(AQ_AM_MEDIUM, AQ_AM_MAX_ARGS);
    ibv->base.max_long_unmapped = aq_ibv_longest_packed();
    ibv->base.max_long = ibv->limits.bounce_bytes;
    ibv->base.max_long_ahead = AQ_IBV_LONGEST_LONG;
    ibv->base.long_ahead_from = aq_ibv_limits_long_ahead_from(&ibv->limits);
    ibv->base.put_waits_from = aq_ibv_limits_put_waits_from(&ibv->limits);
    // One write is enough, since the regions of a segment overlap by as much.
    if (ibv->shared->keys.setup.mode == AQ_SEGMENT_FAST)
        return;
    // A Long may take several writes whose keys have to be asked for, and a handler cannot wait.
    ibv->base.max_long = ibv->base.max_long_unmapped;
    ibv->base.long_ahead_from = ibv->base.max_long + 1;
    if (!ibv->shared->keys.reaches)
        ibv->base.max_long_ahead = 0;
}

// Starts firehose, with what the buffers have left, unless devices page all memory.
static aq_status_t keys_open(aq_ibv_conduit_t *ibv)
{
    const aq_conduit_env_t *env = ibv->base.env;
    aq_ibv_shared_t *shared = ibv->shared;
    const aq_ibv_keys_setup_t setup = {.mode = env->segment_mode,
                                       .memory = &shared->memory,
                                       .rails = &shared->device.rails,
                                       .device_regions = ibv->limits.device.regions,
                                       .buffer_bytes = aq_ibv_limits_bounce_bytes(&ibv->limits),
                                       .processes = shared->device.processes,
                                       .ranks = env->size,
                                       .peers = ibv->limits.peers,
                                       .starts = env->segment_addr,
                                       .lengths = env->segment_size,
                                       .request = aq_ibv_ondemand_request,
                                       .context = &ibv->ondemand};
    aq_status_t status = aq_ibv_keys_start(&shared->keys, &setup);
    return status == AQ_OK && setup.mode == AQ_SEGMENT_EVERYTHING
               ? aq_ibv_keys_publish(&shared->keys, env->boot)
               : status;
}

// Tells all ranks where this process listens, and learns where they do.
static aq_status_t addresses_exchange(aq_ibv_conduit_t *ibv)
{
    aq_ibv_shared_t *shared = ibv->shared;
    aq_ibv_connector_t *connector = &shared->connector;
    aq_status_t status = AQ_OK;
    if (connector->ops == &aq_ibv_connect_ud && !connector->ud)
        status = aq_ibv_ud_open(connector);
    if (status != AQ_OK)
        return status;
    const aq_ibv_listens_t here =
        connector->ud ? aq_ibv_ud_listens(connector, 0) : aq_ibv_listens_at(&shared->device.here);
    return aq_ibv_addresses_exchange(ibv->base.env->boot, &here, shared->addresses);
}

// The same for the further ports, of which ranks may have different numbers. If not all ranks make
// connections by datagrams, none does this.
static aq_status_t further_addresses_exchange(aq_ibv_conduit_t *ibv)
{
    aq_ibv_addresses_t *addresses = ibv->shared->addresses;
    const unsigned ports = aq_ibv_addresses_ports(addresses, ibv->base.env->size);
    aq_status_t status = AQ_OK;
    for (unsigned port = 1; port < ports && status == AQ_OK; port++) {
        const aq_ibv_listens_t here = aq_ibv_ud_listens(&ibv->shared->connector, port);
        status = aq_ibv_addresses_exchange(ibv->base.env->boot, &here, &addresses[port]);
    }
    return status;
}

// Chooses how connections are made: by datagrams if not all ranks listen at IP addresses of one
// family.
static aq_status_t connector_choose(aq_ibv_conduit_t *ibv)
{
    aq_ibv_shared_t *shared = ibv->shared;
    aq_ibv_connector_t *connector = &shared->connector;
    connector->ops = shared->device.datagrams_only ? &aq_ibv_connect_ud : &aq_ibv_connect_cm;
    aq_status_t status = addresses_exchange(ibv);
    if (status != AQ_OK || !shared->addresses->others)
        return status;
    if (aq_ibv_connect_choice() == AQ_IBV_CONNECT_AUTO)
        connector->ops = &aq_ibv_connect_ud;
    aq_ibv_addresses_free(shared->addresses);
    return addresses_exchange(ibv);
}

// Empties the file of GASNET_CONNECTFILE_OUT before any rank can get to its end.
static void connect_file_begin(const aq_ibv_conduit_t *ibv)
{
    const aq_conduit_env_t *env = ibv->base.env;
    const char *name = aq_setting_text(aq_ibv_setting(IBV_SET_CONNECTFILE_OUT));
    const unsigned base = (unsigned)aq_setting_int(aq_ibv_setting(IBV_SET_CONNECTFILE_BASE));
    if (*name)
        ibv->shared->connect_file = aq_ibv_connect_file_begin(name, env->rank, env->size, base);
}

static void connect_file_end(const aq_ibv_conduit_t *ibv)
{
    const aq_conduit_env_t *env = ibv->base.env;
    const char *name = aq_setting_text(aq_ibv_setting(IBV_SET_CONNECTFILE_OUT));
    const unsigned base = (unsigned)aq_setting_int(aq_ibv_setting(IBV_SET_CONNECTFILE_BASE));
    bool *peers = ibv->shared->connect_file ? calloc(env->size, sizeof *peers) : NULL;
    if (!peers)
        return;
    for (aq_ibv_peer_t *link = atomic_load(&ibv->peers.first); link; link = link->next)
        peers[link->rank] = link->conn.used;
    (void)aq_ibv_connect_file_add(name, env->rank, env->size, base, peers);
    free(peers);
}

// GASNET_CONNECT_STATIC: makes all connections, or those of GASNET_CONNECTFILE_IN.
static aq_status_t connections_make(aq_ibv_conduit_t *ibv)
{
    const aq_conduit_env_t *env = ibv->base.env;
    const char *name = aq_setting_text(aq_ibv_setting(IBV_SET_CONNECTFILE_IN));
    char why[512] = "";
    if (!aq_setting_bool(aq_ibv_setting(IBV_SET_CONNECT_STATIC)))
        return AQ_OK;
    if (!*name)
        return aq_ibv_connect_all(&ibv->shared->connector, NULL);
    bool *peers = calloc(env->size, sizeof *peers);
    aq_status_t status = AQ_ERR_RESOURCE;
    if (peers)
        status = aq_ibv_connect_file_read(name, env->rank, env->size, peers, why, sizeof why);
    else
        snprintf(why, sizeof why, "out of memory for the peers of %u ranks", env->size);
    status = aq_boot_agree(env->boot, status, why);
    if (status == AQ_OK)
        status = aq_ibv_connect_all(&ibv->shared->connector, peers);
    free(peers);
    return status;
}

static void end_port_changed(aq_ibv_conduit_t *end, unsigned port, bool up)
{
    aq_ibv_failovers_port(&end->failovers, port, up);
    if (!up)
        aq_ibv_rails_leave(&end->rails, &end->peers, port);
}

// In the connector's thread; see aq_ibv_port_watch_t.
static void port_changed(void *context, unsigned port, bool up)
{
    aq_ibv_conduit_t *ibv = context;
    end_port_changed(ibv, port, up);
    for (ibv = ibv->shared->windows; ibv; ibv = ibv->next)
        end_port_changed(ibv, port, up);
}

static void watch_open(aq_ibv_conduit_t *ibv)
{
    aq_ibv_port_watch_t *watch = &ibv->shared->connector.watch;
    watch->ports = &ibv->shared->device.rails;
    watch->changed = port_changed;
    watch->context = ibv;
    aq_ibv_port_watch_open(watch);
}

static aq_status_t connector_open(aq_ibv_conduit_t *ibv)
{
    aq_ibv_shared_t *shared = ibv->shared;
    aq_ibv_connector_t *connector = &shared->connector;
    connector->env = ibv->base.env;
    connector->device = &shared->device;
    connector->addresses = shared->addresses;
    connector->losses = &shared->losses;
    connector->ends[0] = &ibv->end;
    watch_open(ibv);
    aq_status_t status = connector_choose(ibv);
    if (status == AQ_OK)
        status = further_addresses_exchange(ibv);
    if (status == AQ_OK)
        status = aq_ibv_connector_start(connector);
    if (status == AQ_OK)
        status = aq_ibv_sleeper_open(&ibv->sleeper);
    if (status == AQ_OK)
        connect_file_begin(ibv);
    return status == AQ_OK ? connections_make(ibv) : status;
}

// Whether links move to another port when the first one fails. The atomics of a device cannot be
// repeated, and one device has to do all those on a memory.
static bool failovers_wanted(const aq_ibv_device_t *device)
{
    return device->rails.count > 1 && aq_ibv_rails_exist(&device->rails) &&
           strcmp(aq_setting_text(aq_ibv_setting(IBV_SET_ATOMICS)), "1") != 0;
}

// Opens XRC for endpoint 0; the links of windows keep queue pairs of their own.
static aq_status_t xrc_open(aq_ibv_conduit_t *ibv)
{
    const aq_ibv_device_t *device = &ibv->shared->device;
    aq_ibv_xrc_t *xrc = &ibv->shared->xrc;
    aq_status_t status = aq_ibv_xrc_open(xrc, ibv->base.env->boot, device->verbs, &device->address);
    ibv->queues.domain = xrc->domain;
    ibv->end.xrc = xrc;
    return status;
}

static aq_status_t device_open(aq_ibv_conduit_t *ibv)
{
    const aq_conduit_env_t *env = ibv->base.env;
    aq_ibv_device_t *device = &ibv->shared->device;
    ibv->base.capabilities |= AQ_CAN_COMPLETE;
    aq_ibv_sleeper_choose_threads(&ibv->sleeper, env);
    if (ibv->sleeper.receive.wanted)
        ibv->base.capabilities |= AQ_CAN_DELIVER;
    aq_status_t status = aq_ibv_device_open(device, env, env->size - env->nbrhd_size, &ibv->limits,
                                            &ibv->shared->memory);
    if (status == AQ_OK)
        snprintf(ibv->shared->losses.port, sizeof ibv->shared->losses.port, "port %u of %s",
                 device->port, ibv_get_device_name(device->verbs->device));
    if (status == AQ_OK && device->xrc)
        status = xrc_open(ibv);
    if (status == AQ_OK && failovers_wanted(device)) {
        aq_ibv_limits_multiply(&ibv->limits, device->rails.count);
        device->atomics = AQ_IBV_ATOMICS_NONE;
    }
    if (status == AQ_OK)
        status = aq_ibv_queues_open(&ibv->queues, device->pd, &ibv->limits,
                                    ibv->sleeper.receive.wanted, ibv->sleeper.send.wanted);
    if (status == AQ_OK)
        ibv->limits.inline_bytes = aq_ibv_queues_find_inline(&ibv->queues, device->pd);
    return status;
}

static aq_status_t conduit_set_up(aq_ibv_conduit_t *ibv)
{
    if (sodium_init() < 0) {
        aq_log_error("libsodium cannot start; install the package libsodium23 of this machine's "
                     "distribution");
        return AQ_ERR_RESOURCE;
    }
    aq_ibv_parts_join(ibv);
    aq_status_t status = device_open(ibv);
    if (status == AQ_OK)
        status = aq_ibv_parts_open(ibv);
    if (status == AQ_OK)
        status = keys_open(ibv);
    if (status != AQ_OK)
        return status;
    set_payloads(ibv);
    return connector_open(ibv);
}

static aq_ibv_conduit_t *log_no_memory(uint16_t endpoint)
{
    aq_log_error("out of memory for endpoint %u of conduit ibv (%zu bytes)", endpoint,
                 sizeof(aq_ibv_conduit_t));
    return NULL;
}

static aq_ibv_conduit_t *conduit_make(const aq_conduit_ops_t *ops, const aq_conduit_env_t *env)
{
    aq_ibv_conduit_t *ibv = calloc(1, sizeof *ibv);
    aq_ibv_shared_t *shared = calloc(1, sizeof *shared);
    if (!ibv || !shared) {
        free(ibv);
        free(shared);
        return log_no_memory(0);
    }
    ibv->base = (aq_conduit_t){.ops = ops, .env = env};
    ibv->shared = shared;
    shared->losses.env = env;
    shared->losses.wake = -1;
    return ibv;
}

aq_status_t aq_ibv_conduit_open(const aq_conduit_ops_t *ops, const aq_conduit_env_t *env,
                                aq_ibv_conduit_t **out)
{
    aq_ibv_conduit_t *ibv = conduit_make(ops, env);
    if (!ibv)
        return AQ_ERR_RESOURCE;
    aq_ibv_shared_t *shared = ibv->shared;
    aq_status_t status = conduit_set_up(ibv);
    if (status == AQ_OK) {
        *out = ibv;
        return AQ_OK;
    }
    if (shared->keys.firehose)
        aq_ibv_keys_stop(&shared->keys);
    aq_ibv_ud_close(&shared->connector);
    aq_ibv_sleeper_close(&ibv->sleeper);
    aq_ibv_parts_close(ibv);
    aq_ibv_queues_close(&ibv->queues);
    aq_ibv_xrc_close(&shared->xrc);
    aq_ibv_device_close(&shared->device);
    for (unsigned port = 0; port < AQ_IBV_RAIL_PORTS_MAX; port++)
        aq_ibv_addresses_free(&shared->addresses[port]);
    free(shared);
    free(ibv);
    return status;
}

aq_status_t aq_ibv_conduit_attach(aq_ibv_conduit_t *ibv, void *segment, size_t size)
{
    aq_status_t status = aq_ibv_keys_attach(&ibv->shared->keys, ibv->base.env->boot, segment, size);
    set_payloads(ibv);
    for (aq_ibv_conduit_t *window = ibv->shared->windows; window; window = window->next)
        set_payloads(window);
    return status;
}

// ---- windows ----

// See furnish of aq_ibv_end_t.
static bool window_furnish(aq_ibv_end_t *end)
{
    aq_ibv_conduit_t *window =
        (aq_ibv_conduit_t *)(void *)((char *)end - offsetof(aq_ibv_conduit_t, end));
    aq_ibv_sleeper_t *sleeper = &window->sleeper;
    aq_ibv_sleeper_choose_threads(sleeper, window->base.env);
    aq_status_t status =
        aq_ibv_queues_open(&window->queues, window->shared->device.pd, &window->limits,
                           sleeper->receive.wanted, sleeper->send.wanted);
    if (status == AQ_OK)
        status = aq_ibv_parts_open(window);
    if (status == AQ_OK)
        status = aq_ibv_sleeper_open(sleeper);
    end->furnish = NULL;
    end->failed = status != AQ_OK;
    if (end->failed)
        aq_log_warn("endpoint %u gets no window over conduit ibv: its messages travel with those "
                    "of endpoint 0",
                    window->base.endpoint);
    return status == AQ_OK;
}

aq_ibv_conduit_t *aq_ibv_window_open(aq_ibv_conduit_t *main, uint16_t endpoint)
{
    aq_ibv_shared_t *shared = main->shared;
    aq_ibv_conduit_t *window = calloc(1, sizeof *window);
    if (!window)
        return log_no_memory(endpoint);
    window->base =
        (aq_conduit_t){.ops = main->base.ops, .env = main->base.env, .endpoint = endpoint};
    window->shared = shared;
    window->limits = aq_ibv_limits_of_window(&main->limits);
    aq_ibv_parts_join(window);
    set_payloads(window);
    window->end.furnish = window_furnish;
    window->next = atomic_load(&shared->windows);
    atomic_store(&shared->windows, window);
    aq_ibv_connector_add(&shared->connector, endpoint, &window->end);
    return window;
}

// ---- close ----

static void print_rails(const aq_ibv_conduit_t *ibv, const char *name)
{
    const aq_ibv_rails_t *rails = &ibv->rails;
    aq_log_counts("ibv: rank %u%s over rails: %u ports, %u queue pairs a peer; %u of the further "
                  "ones in use; they did %lu pieces of puts and gets, and %lu moved to the first",
                  ibv->base.env->rank, name, rails->ports->count, rails->ports->queue_pairs,
                  atomic_load(&rails->counts.up), atomic_load(&rails->counts.pieces),
                  atomic_load(&rails->counts.moved));
    if (atomic_load(&ibv->failovers.moves))
        aq_log_counts("ibv: rank %u%s moved links to another port %lu times, and took up %lu work "
                      "requests again there",
                      ibv->base.env->rank, name, atomic_load(&ibv->failovers.moves),
                      atomic_load(&ibv->failovers.repeated));
}

static void print_counters(const aq_ibv_conduit_t *ibv)
{
    const aq_ibv_rings_t *rings = &ibv->rings;
    char name[40] = "";
    if (ibv->base.endpoint)
        snprintf(name, sizeof name, ", endpoint %u", ibv->base.endpoint);
    if (ibv->rma.rails)
        print_rails(ibv, name);
    if (atomic_load(&ibv->rma.fences))
        aq_log_counts("ibv: rank %u%s fenced %lu puts", ibv->base.env->rank, name,
                      atomic_load(&ibv->rma.fences));
    aq_log_counts("ibv: rank %u%s in all: connected to %u peers by %u queue pairs, %u calls at "
                  "once; received %lu messages in buffers (%lu copied), %lu in rings; %lu rings "
                  "granted, %lu freed; %lu atomics by the device",
                  ibv->base.env->rank, name, atomic_load(&ibv->peers.count),
                  atomic_load(&ibv->end.queue_pairs), ibv->shared->connector.most_calling,
                  atomic_load(&ibv->receiver.arrived), atomic_load(&ibv->receiver.copies),
                  atomic_load(&rings->messages), atomic_load(&rings->granted),
                  atomic_load(&rings->freed), atomic_load(&ibv->atomic.begun));
}

static void print_connecting(const aq_ibv_conduit_t *ibv)
{
    const uint32_t rank = ibv->base.env->rank;
    aq_ibv_connector_t *connector = &ibv->shared->connector;
    const aq_ibv_ud_counts_t counts = aq_ibv_ud_counts(connector);
    if (connector->all_ns)
        aq_log_counts("ibv: rank %u connected to all peers at the start by %s in %.1f ms", rank,
                      connector->ops->name, (double)connector->all_ns / 1e6);
    if (ibv->end.xrc)
        aq_log_counts("ibv: rank %u by XRC: %u queue pairs to send by, and %u to receive by that "
                      "it made for its host",
                      rank, aq_ibv_xrc_senders(ibv->end.xrc), ibv->end.xrc->made);
    if (connector->ops == &aq_ibv_connect_ud)
        aq_log_counts("ibv: rank %u by datagrams: %lu sent (%lu of them again), %lu dropped here, "
                      "%lu received (%lu of them ignored)",
                      rank, counts.sent, counts.repeated, counts.dropped, counts.received,
                      counts.ignored);
}

// What the device says about the path of the connection that was made last.
static void print_path(const aq_ibv_conduit_t *ibv)
{
    const aq_ibv_peer_t *link = atomic_load(&ibv->peers.first);
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    if (!link || !link->pair ||
        ibv_query_qp(link->pair, &attr, IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_PKEY_INDEX, &init) !=
            0)
        return;
    aq_log_counts("ibv: rank %u sends to rank %u with MTU %u, partition index %u, service level "
                  "%u, traffic class %u",
                  ibv->base.env->rank, link->rank, aq_ibv_mtu_bytes(attr.path_mtu), attr.pkey_index,
                  attr.ah_attr.sl, attr.ah_attr.grh.traffic_class);
}

// Prints the memory of all endpoints.
static void print_memory(const aq_ibv_conduit_t *ibv)
{
    const aq_ibv_shared_t *shared = ibv->shared;
    aq_firehose_stats_t stats;
    unsigned long by_device = atomic_load(&ibv->rma.by_device);
    unsigned long by_peer = atomic_load(&ibv->ondemand.by_peer);
    for (aq_ibv_conduit_t *window = shared->windows; window; window = window->next) {
        by_device += atomic_load(&window->rma.by_device);
        by_peer += atomic_load(&window->ondemand.by_peer);
    }
    aq_firehose_stats(shared->keys.firehose, &stats);
    aq_log_counts("ibv: rank %u in memory: %lu puts and gets by the device, %lu pieces copied by "
                  "peers; %llu moves asked, %llu served, %llu refused; %llu pins, %llu unpins, "
                  "%llu evictions; %u regions left",
                  ibv->base.env->rank, by_device, by_peer, (unsigned long long)stats.moves_sent,
                  (unsigned long long)stats.moves_served, (unsigned long long)stats.refused,
                  (unsigned long long)stats.pins, (unsigned long long)stats.unpins,
                  (unsigned long long)stats.evictions, atomic_load(&shared->memory.regions));
}

// The buffers stay registered, since the queue pairs use them, and firehose may have regions in
// use. Any other region was lost.
static void check_memory(const aq_ibv_conduit_t *ibv)
{
    const aq_ibv_shared_t *shared = ibv->shared;
    aq_firehose_stats_t stats;
    const uint32_t left = atomic_load(&shared->memory.regions);
    unsigned slabs = 1;
    for (aq_ibv_conduit_t *window = shared->windows; window; window = window->next)
        slabs += window->buffers.slab_mr != NULL;
    aq_firehose_stats(shared->keys.firehose, &stats);
    if (left != slabs + stats.main.regions + stats.victim.regions)
        aq_log_error("conduit ibv did not release %u registered regions; this is a mistake in the "
                     "runtime, please report it",
                     left - slabs);
}

static void print_all_counters(const aq_ibv_conduit_t *ibv)
{
    print_counters(ibv);
    print_connecting(ibv);
    print_path(ibv);
    for (aq_ibv_conduit_t *window = ibv->shared->windows; window; window = window->next)
        if (atomic_load(&window->peers.count))
            print_counters(window);
}

// Queue pairs and what they use end with the process: other threads may still use them, and a peer
// that waits for an acknowledgement gets it until then.
void aq_ibv_conduit_close(aq_ibv_conduit_t *ibv)
{
    aq_ibv_shared_t *shared = ibv->shared;
    connect_file_end(ibv);
    if (aq_settings_bool(AQ_SET_STATS))
        print_all_counters(ibv);
    if (ibv->base.env->boot->exit_stays_here)
        aq_ibv_drain(&ibv->send_queue, &ibv->peers); // peers wait for the messages about the end
    aq_ibv_connector_stop(&shared->connector);
    aq_ibv_sleeper_stop_threads(&ibv->sleeper);
    for (aq_ibv_conduit_t *window = shared->windows; window; window = window->next)
        aq_ibv_sleeper_stop_threads(&window->sleeper);
    if (!aq_ibv_keys_quit(&shared->keys))
        return;
    if (AQ_CHECKS)
        check_memory(ibv);
    if (aq_settings_bool(AQ_SET_STATS))
        print_memory(ibv);
}
