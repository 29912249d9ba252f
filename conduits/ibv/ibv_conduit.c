#include "ibv_conduit.h"
#include "ibv_profile.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../core/fatal.h"
#include "../../other/base/log.h"
#include "../../other/base/settings.h"

// ---- parts ----

// The parts for messages out.
static void senders_join(aq_ibv_conduit_t *ibv)
{
    ibv->peers.limits = &ibv->limits;
    ibv->losses.env = ibv->base.env;
    ibv->losses.wake = -1;
    ibv->send_queue.limits = &ibv->limits;
    ibv->send_queue.losses = &ibv->losses;
    ibv->send_queue.cq = ibv->device.send_cq;
    ibv->ring_writer.limits = &ibv->limits;
    ibv->sender = (aq_ibv_sender_t){.rank = ibv->base.env->rank,
                                    .limits = &ibv->limits,
                                    .buffers = &ibv->buffers,
                                    .queue = &ibv->send_queue,
                                    .keys = &ibv->keys,
                                    .peers = &ibv->peers};
}

// The parts for put, get and atomics.
static void paths_join(aq_ibv_conduit_t *ibv)
{
    ibv->rma = (aq_ibv_rma_path_t){.limits = &ibv->limits,
                                   .buffers = &ibv->buffers,
                                   .keys = &ibv->keys,
                                   .queue = &ibv->send_queue};
    ibv->atomic = (aq_ibv_atomic_path_t){
        .buffers = &ibv->buffers, .keys = &ibv->keys, .queue = &ibv->send_queue};
    ibv->ondemand.env = ibv->base.env;
    ibv->ondemand.limits = &ibv->limits;
    ibv->ondemand.peers = &ibv->peers;
    ibv->ondemand.keys = &ibv->keys;
    ibv->ondemand.sender = &ibv->sender;
    ibv->ondemand.path = &ibv->rma;
}

// The parts for messages in, and for waiting.
static void receivers_join(aq_ibv_conduit_t *ibv)
{
    aq_ibv_receiver_t *receiver = &ibv->receiver;
    ibv->rings.limits = &ibv->limits;
    ibv->rings.peers = &ibv->peers;
    ibv->rings.sender = &ibv->sender;
    receiver->env = ibv->base.env;
    receiver->limits = &ibv->limits;
    receiver->peers = &ibv->peers;
    receiver->buffers = &ibv->buffers;
    receiver->send_queue = &ibv->send_queue;
    receiver->sender = &ibv->sender;
    receiver->writer = &ibv->ring_writer;
    receiver->rings = &ibv->rings;
    receiver->ondemand = &ibv->ondemand;
    receiver->cq = ibv->device.receive_cq;
    receiver->srq = ibv->device.srq;
    ibv->sleeper.device = &ibv->device;
    ibv->sleeper.receiver = receiver;
}

void aq_ibv_parts_join(aq_ibv_conduit_t *ibv)
{
    senders_join(ibv);
    paths_join(ibv);
    receivers_join(ibv);
    ibv->connector.env = ibv->base.env;
    ibv->connector.limits = &ibv->limits;
    ibv->connector.device = &ibv->device;
    ibv->connector.addresses = &ibv->addresses;
    ibv->connector.peers = &ibv->peers;
    ibv->connector.losses = &ibv->losses;
}

aq_status_t aq_ibv_parts_open(aq_ibv_conduit_t *ibv)
{
    const uint32_t ranks = ibv->base.env->size;
    aq_status_t status =
        aq_ibv_buffers_open(&ibv->buffers, &ibv->limits, &ibv->memory, ibv->base.env->boot);
    if (status != AQ_OK)
        return status;
    ibv->peers.by_rank = calloc(ranks, sizeof *ibv->peers.by_rank);
    if (!ibv->peers.by_rank || !aq_ibv_send_queue_open(&ibv->send_queue) ||
        !aq_ibv_rings_open(&ibv->rings, &ibv->buffers)) {
        aq_log_error("out of memory for %u operations and %u ranks of conduit ibv: lower "
                     "GASNET_NETWORKDEPTH_TOTAL",
                     ibv->limits.depth_total, ranks);
        return AQ_ERR_RESOURCE;
    }
    aq_ibv_credits_open(&ibv->peers);
    aq_ibv_receiver_open(&ibv->receiver);
    return AQ_OK;
}

void aq_ibv_parts_close(aq_ibv_conduit_t *ibv)
{
    aq_ibv_buffers_close(&ibv->buffers, &ibv->memory);
    aq_ibv_rings_close(&ibv->rings);
    aq_ibv_peers_free(&ibv->peers);
    free(ibv->send_queue.ops);
}

aq_ibv_conn_private_data_t aq_ibv_own_private_data(const aq_ibv_conduit_t *ibv)
{
    return (aq_ibv_conn_private_data_t){.rank = ibv->base.env->rank,
                                        .rings_at = (uintptr_t)ibv->buffers.rings,
                                        .rings_key = ibv->buffers.slab_mr->rkey,
                                        .ring_depth =
                                            ibv->rings.all ? (uint16_t)ibv->limits.ring_depth : 0,
                                        .atomics = (uint8_t)ibv->device.atomics};
}

// ---- open ----

// The longest messages, given what is known of the segments.
static void set_payloads(aq_ibv_conduit_t *ibv)
{
    ibv->base.max_medium = AQ_IBV_BUFFER_BYTES - aq_ibv_payload_at(AQ_AM_MEDIUM, AQ_AM_MAX_ARGS);
    ibv->base.max_long_unmapped = aq_ibv_longest_packed();
    ibv->base.max_long = ibv->limits.bounce_bytes;
    ibv->base.max_long_ahead = 0;
    // One write is enough, since the regions of a segment overlap by as much.
    if (ibv->keys.setup.mode == AQ_SEGMENT_FAST)
        return;
    // A Long may take several writes whose keys have to be asked for, and a handler cannot wait.
    ibv->base.max_long = ibv->base.max_long_unmapped;
    if (ibv->keys.reaches)
        ibv->base.max_long_ahead = ibv->limits.bounce_bytes;
}

// Starts firehose, with what the buffers have left.
static aq_status_t keys_open(aq_ibv_conduit_t *ibv)
{
    const aq_conduit_env_t *env = ibv->base.env;
    const aq_ibv_keys_setup_t setup = {.mode = env->segment_mode,
                                       .memory = &ibv->memory,
                                       .device_regions = ibv->limits.regions,
                                       .processes = ibv->device.processes,
                                       .ranks = env->size,
                                       .peers = ibv->limits.peers,
                                       .starts = env->segment_addr,
                                       .lengths = env->segment_size,
                                       .request = aq_ibv_ondemand_request,
                                       .context = &ibv->ondemand};
    return aq_ibv_keys_start(&ibv->keys, &setup);
}

static aq_status_t connector_open(aq_ibv_conduit_t *ibv)
{
    ibv->connector.own = aq_ibv_own_private_data(ibv);
    aq_status_t status = aq_ibv_connector_start(&ibv->connector);
    if (status == AQ_OK)
        status = aq_ibv_sleeper_open(&ibv->sleeper);
    if (status == AQ_OK)
        status = aq_ibv_addresses_exchange(ibv->base.env->boot, &ibv->device.here, &ibv->addresses);
    return status == AQ_OK && aq_setting_bool(aq_ibv_setting(IBV_SET_CONNECT_STATIC))
               ? aq_ibv_connect_all(&ibv->connector)
               : status;
}

static aq_status_t conduit_set_up(aq_ibv_conduit_t *ibv)
{
    const aq_conduit_env_t *env = ibv->base.env;
    if (sodium_init() < 0) {
        aq_log_error("libsodium cannot start; install the package libsodium23 of this machine's "
                     "distribution");
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = aq_ibv_device_open(
        &ibv->device, env, env->size - env->nbrhd_size,
        aq_ibv_sleeper_wants_thread(&ibv->sleeper, env->threads), &ibv->limits, &ibv->memory);
    aq_ibv_parts_join(ibv);
    if (status == AQ_OK)
        status = aq_ibv_parts_open(ibv);
    if (status == AQ_OK)
        status = keys_open(ibv);
    if (status != AQ_OK)
        return status;
    set_payloads(ibv);
    return connector_open(ibv);
}

aq_status_t aq_ibv_conduit_open(const aq_conduit_ops_t *ops, const aq_conduit_env_t *env,
                                aq_ibv_conduit_t **out)
{
    aq_ibv_conduit_t *ibv = calloc(1, sizeof *ibv);
    if (!ibv) {
        aq_log_error("out of memory for the ibv conduit (%zu bytes)", sizeof *ibv);
        return AQ_ERR_RESOURCE;
    }
    ibv->base = (aq_conduit_t){.ops = ops, .env = env};
    aq_status_t status = conduit_set_up(ibv);
    if (status == AQ_OK) {
        *out = ibv;
        return AQ_OK;
    }
    if (ibv->keys.firehose)
        aq_ibv_keys_stop(&ibv->keys);
    aq_ibv_parts_close(ibv);
    aq_ibv_device_close(&ibv->device);
    aq_ibv_sleeper_close(&ibv->sleeper);
    aq_ibv_addresses_free(&ibv->addresses);
    free(ibv);
    return status;
}

aq_status_t aq_ibv_conduit_attach(aq_ibv_conduit_t *ibv, void *segment, size_t size)
{
    aq_status_t status = aq_ibv_keys_attach(&ibv->keys, ibv->base.env->boot, segment, size);
    set_payloads(ibv);
    return status;
}

// ---- close ----

static void print_counters(const aq_ibv_conduit_t *ibv)
{
    const aq_ibv_rings_t *rings = &ibv->rings;
    fprintf(stderr,
            "ibv: rank %u in all: connected to %u peers by %u queue pairs, %u calls at once; "
            "received %lu messages in buffers (%lu "
            "copied), %lu in rings; %lu rings granted, %lu freed; %lu atomics by the device\n",
            ibv->base.env->rank, atomic_load(&ibv->peers.count),
            atomic_load(&ibv->connector.queue_pairs), ibv->connector.most_calling,
            atomic_load(&ibv->receiver.arrived), atomic_load(&ibv->receiver.copies),
            atomic_load(&rings->messages), atomic_load(&rings->granted), atomic_load(&rings->freed),
            atomic_load(&ibv->atomic.begun));
}

static void print_memory(const aq_ibv_conduit_t *ibv)
{
    aq_firehose_stats_t stats;
    aq_firehose_stats(ibv->keys.firehose, &stats);
    fprintf(stderr,
            "ibv: rank %u in memory: %lu puts and gets by the device, %lu pieces copied by peers; "
            "%llu moves asked, %llu served, %llu refused; %llu pins, %llu unpins, %llu evictions; "
            "%u regions left\n",
            ibv->base.env->rank, atomic_load(&ibv->rma.by_device),
            atomic_load(&ibv->ondemand.by_peer), (unsigned long long)stats.moves_asked,
            (unsigned long long)stats.moves_served, (unsigned long long)stats.refused,
            (unsigned long long)stats.pins, (unsigned long long)stats.unpins,
            (unsigned long long)stats.evictions, atomic_load(&ibv->memory.regions));
}

// The buffers stay registered, since the queue pairs use them, and firehose may have regions in
// use. Any other region was lost.
static void check_memory(const aq_ibv_conduit_t *ibv)
{
    aq_firehose_stats_t stats;
    const uint32_t left = atomic_load(&ibv->memory.regions);
    aq_firehose_stats(ibv->keys.firehose, &stats);
    if (left != 1 + stats.main.regions + stats.victim.regions)
        aq_log_error("conduit ibv did not release %u registered regions; this is a mistake in the "
                     "runtime, please report it",
                     left - 1);
}

// Queue pairs and what they use end with the process: other threads may still use them, and a peer
// that waits for an acknowledgement gets it until then.
void aq_ibv_conduit_close(aq_ibv_conduit_t *ibv)
{
    if (aq_settings_bool(AQ_SET_STATS))
        print_counters(ibv);
    if (ibv->base.env->boot->exit_stays_here)
        aq_ibv_drain(&ibv->send_queue, &ibv->peers); // peers wait for the messages about the end
    aq_ibv_connector_stop(&ibv->connector);
    aq_ibv_sleeper_stop_thread(&ibv->sleeper);
    if (!aq_ibv_keys_quit(&ibv->keys))
        return;
    if (AQ_CHECKS)
        check_memory(ibv);
    if (aq_settings_bool(AQ_SET_STATS))
        print_memory(ibv);
}
