// The table of the ibv conduit: opening, describing, the end. ibv_conduit.h has the picture.
#include "ibv_conduit.h"
#include "ibv_ports.h"
#include "ibv_settings.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/fatal.h"
#include "../../other/base/log.h"
#include "../../other/base/settings.h"

static aq_status_t aq_ibv_open(const aq_conduit_env_t *env, aq_conduit_t **out);

// Nothing: open has told all ranks, which keep the address of a host once.
static void aq_ibv_describe(aq_conduit_t *conduit, char description[AQ_DESCRIPTION_BYTES])
{
    (void)conduit, (void)description;
}

static bool aq_ibv_match(aq_conduit_t *conduit, uint32_t rank, const char *description)
{
    (void)description;
    return aq_ibv_addresses_has(&aq_ibv_of(conduit)->addresses, rank);
}

static size_t aq_ibv_memory_bytes(aq_conduit_t *conduit)
{
    const aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    return ibv->slab_bytes + ibv->limits.depth_total * sizeof *ibv->ops +
           atomic_load_explicit(&ibv->link_count, memory_order_relaxed) * sizeof(aq_ibv_peer_t);
}

enum { ENTRY_BYTES = 64 }; // of a send queue, beside what travels inline

static void aq_ibv_peer_costs(aq_conduit_t *conduit, aq_peer_costs_t *sum)
{
    const aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    const aq_ibv_limits_t *limits = &ibv->limits;
    const uint32_t ranks = ibv->base.env->size;
    const size_t tables = ranks * sizeof *ibv->link_of + aq_ibv_keys_table_bytes(&ibv->keys) +
                          aq_ibv_addresses_bytes(&ibv->addresses, ranks);
    sum->unspoken_bytes += (tables + ranks - 1) / ranks;
    sum->connected_bytes +=
        sizeof(aq_ibv_peer_t) + limits->depth_each * (limits->inline_bytes + (size_t)ENTRY_BYTES);
    sum->connections += atomic_load_explicit(&ibv->link_count, memory_order_relaxed);
    sum->receive_buffers += ibv->arrivals.count;
}

static void free_links(aq_ibv_conduit_t *ibv)
{
    aq_ibv_peer_t *next;
    for (aq_ibv_peer_t *link = atomic_load(&ibv->links); link; link = next) {
        next = link->next;
        free(link);
    }
}

static void print_counters(const aq_ibv_conduit_t *ibv)
{
    fprintf(stderr,
            "ibv: rank %u in all: connected to %u peers by %u queue pairs, %u calls at once; "
            "received %lu messages in buffers (%lu "
            "copied), %lu in rings; %lu rings granted, %lu freed; %lu atomics by the device\n",
            ibv->base.env->rank, atomic_load(&ibv->link_count), atomic_load(&ibv->queue_pairs),
            ibv->most_calling, atomic_load(&ibv->arrived), atomic_load(&ibv->copies),
            atomic_load(&ibv->ring_messages), atomic_load(&ibv->rings_granted),
            atomic_load(&ibv->rings_freed), atomic_load(&ibv->atomics_begun));
}

static void print_memory(const aq_ibv_conduit_t *ibv)
{
    aq_firehose_stats_t stats;
    aq_firehose_stats(ibv->keys.firehose, &stats);
    fprintf(stderr,
            "ibv: rank %u in memory: %lu puts and gets by the device, %lu pieces copied by peers; "
            "%llu moves asked, %llu served, %llu refused; %llu pins, %llu unpins, %llu evictions; "
            "%u regions left\n",
            ibv->base.env->rank, atomic_load(&ibv->by_device), atomic_load(&ibv->by_peer),
            (unsigned long long)stats.moves_asked, (unsigned long long)stats.moves_served,
            (unsigned long long)stats.refused, (unsigned long long)stats.pins,
            (unsigned long long)stats.unpins, (unsigned long long)stats.evictions,
            atomic_load(&ibv->memory.regions));
}

// The buffers stay registered, as the queue pairs use them, and firehose may have operations under
// way. A region beside these was lost.
static void check_memory(const aq_ibv_conduit_t *ibv)
{
    aq_firehose_stats_t stats;
    const uint32_t left = atomic_load(&ibv->memory.regions);
    aq_firehose_stats(ibv->keys.firehose, &stats);
    if (left != 1 + stats.main.regions + stats.victim.regions)
        aq_log_error("conduit ibv has lost sight of %u registered regions", left - 1);
}

// Queue pairs and what they use end with the process: other threads may still be at them, and a
// peer that waits for an acknowledgement gets it until then.
static void aq_ibv_close(aq_conduit_t *conduit)
{
    aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    if (aq_settings_bool(AQ_SET_STATS))
        print_counters(ibv);
    if (ibv->base.env->boot->exit_stays_here)
        aq_ibv_drain(ibv); // what we told others of the end; they would wait for it
    aq_ibv_connector_stop(ibv);
    if (ibv->thread)
        aq_ibv_thread_stop(ibv->thread);
    if (!aq_ibv_keys_quit(&ibv->keys))
        return;
    if (AQ_CHECKS)
        check_memory(ibv);
    if (aq_settings_bool(AQ_SET_STATS))
        print_memory(ibv);
}

// The module has settings of its own, and these may be called before it is opened.
static bool usable(char *why, size_t why_size)
{
    return aq_settings_load(why, why_size) == AQ_OK && aq_ibv_usable(why, why_size);
}

static void report(void (*tell)(void *arg, const char *label, const char *text), void *arg)
{
    char why[512];
    if (aq_settings_load(why, sizeof why) != AQ_OK)
        tell(arg, "settings", why);
    else
        aq_ibv_report(tell, arg);
}

__attribute__((visibility("default"))) extern const aq_conduit_ops_t aq_conduit_module;

const aq_conduit_ops_t aq_conduit_module = {
    .name = "ibv",
    .abi = AQ_CONDUIT_ABI,
    .description_bytes = 0,
    .usable = usable,
    .print_info = report,
    .open = aq_ibv_open,
    .describe = aq_ibv_describe,
    .match = aq_ibv_match,
    .connect = aq_ibv_connect,
    .send = aq_ibv_send,
    .poll = aq_ibv_poll,
    .close = aq_ibv_close,
    .dump_state = aq_ibv_dump_state,
    .arm = aq_ibv_arm,
    .sleep = aq_ibv_sleep,
    .disarm = aq_ibv_disarm,
    .wake = aq_ibv_wake,
    .attach = aq_ibv_attach,
    .rma = aq_ibv_rma,
    .atomic = aq_ibv_atomic,
    .memory_bytes = aq_ibv_memory_bytes,
    .peer_costs = aq_ibv_peer_costs,
};

void aq_ibv_set_payloads(aq_ibv_conduit_t *ibv)
{
    const size_t with_payload = AQ_IBV_BUFFER_BYTES;
    ibv->base.max_medium = with_payload - aq_ibv_payload_at(AQ_AM_MEDIUM, AQ_AM_MAX_ARGS);
    ibv->base.max_long_unmapped = with_payload - aq_ibv_payload_at(AQ_AM_LONG, AQ_AM_MAX_ARGS);
    ibv->base.max_long = ibv->limits.bounce_bytes;
    ibv->base.max_long_ahead = 0;
    // One write, since the regions of a segment overlap by as much.
    if (ibv->keys.setup.mode == AQ_SEGMENT_FAST)
        return;
    // It may take several, and to ask for their keys: what a handler cannot wait for.
    ibv->base.max_long = ibv->base.max_long_unmapped;
    if (ibv->keys.reaches)
        ibv->base.max_long_ahead = ibv->limits.bounce_bytes;
}

// GASNET_CONNECT_STATIC. All ranks answer, since their threads run before any of them gets here.
// Each begins with those behind it, so that not all call the same one.
static aq_status_t connect_all(aq_ibv_conduit_t *ibv)
{
    const aq_conduit_env_t *env = ibv->base.env;
    uint32_t count = 0;
    uint32_t *ranks = calloc(env->size, sizeof *ranks);
    if (!ranks) {
        aq_log_error("out of memory for the numbers of %u ranks", env->size);
        return AQ_ERR_RESOURCE;
    }
    for (uint32_t i = 1; i < env->size; i++)
        if (aq_index_in_nbrhd(env, (env->rank + i) % env->size) == UINT32_MAX)
            ranks[count++] = (env->rank + i) % env->size;
    aq_status_t status = aq_ibv_connect_all(ibv, ranks, count);
    free(ranks);
    return status;
}

static aq_status_t set_up(aq_ibv_conduit_t *ibv)
{
    const aq_conduit_env_t *env = ibv->base.env;
    ibv->peers = env->size - env->nbrhd_size;
    ibv->link_of = calloc(env->size, sizeof *ibv->link_of);
    if (!ibv->link_of || sodium_init() < 0) {
        aq_log_error("out of memory for %u ranks, or libsodium cannot start", env->size);
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = aq_ibv_device_open(ibv);
    if (status == AQ_OK)
        status = aq_ibv_buffers_open(ibv);
    if (status == AQ_OK)
        status = aq_ibv_keys_open(ibv);
    if (status != AQ_OK)
        return status;
    aq_ibv_credits_open(ibv);
    aq_ibv_set_payloads(ibv);
    status = aq_ibv_connector_start(ibv);
    if (status == AQ_OK)
        status = aq_ibv_receiver_start(ibv);
    if (status == AQ_OK)
        status = aq_ibv_addresses_exchange(env->boot, &ibv->here, &ibv->addresses);
    return status == AQ_OK && aq_settings_bool(AQ_SET_CONNECT_STATIC) ? connect_all(ibv) : status;
}

// The module has a log and settings of its own, which have to learn what the library knows.
static aq_status_t prepare_module(const aq_conduit_env_t *env)
{
    char err[512];
    aq_threads = env->threads;
    aq_log_identity(env->rank, env->size);
    aq_status_t status = aq_settings_load(err, sizeof err);
    aq_log_quiet(aq_settings_bool(AQ_SET_QUIET));
    aq_log_verbose(aq_settings_bool(AQ_SET_SPAWN_VERBOSE));
    if (status == AQ_OK)
        status = aq_ibv_settings_check(err, sizeof err);
    if (status != AQ_OK && aq_log_is_first())
        aq_log_error("%s", err);
    return status;
}

static aq_status_t aq_ibv_open(const aq_conduit_env_t *env, aq_conduit_t **out)
{
    aq_status_t status = prepare_module(env);
    if (status != AQ_OK)
        return status;
    aq_ibv_conduit_t *ibv = calloc(1, sizeof *ibv);
    if (!ibv) {
        aq_log_error("out of memory for the ibv conduit (%zu bytes)", sizeof *ibv);
        return AQ_ERR_RESOURCE;
    }
    ibv->base = (aq_conduit_t){.ops = &aq_conduit_module, .env = env};
    ibv->wake_connector = -1;
    status = set_up(ibv);
    if (status == AQ_OK) {
        *out = &ibv->base;
        return AQ_OK;
    }
    if (ibv->keys.firehose)
        aq_ibv_keys_stop(&ibv->keys);
    aq_ibv_buffers_close(ibv);
    aq_ibv_device_close(ibv);
    aq_ibv_addresses_free(&ibv->addresses);
    free_links(ibv);
    free(ibv->link_of);
    free(ibv);
    return status;
}
