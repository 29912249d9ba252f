// SPDX-License-Identifier: BSD-3-Clause
// The table of operations of conduit ibv, through which the core calls its parts.
#include "ibv_conduit.h"
#include "receive/ibv_dump.h"
#include "ports/ibv_ports.h"
#include "verbs/ibv_profile.h"
#include "verbs/ibv_settings.h"

#include <sys/resource.h>

#include "../../core/aqueduct.h"
#include "../../other/base/log/log.h"
#include "rails/ibv_rail.h"

// ---- several rails, fenced puts ----

// As aq_conduit_module, for a process whose links have several queue pairs or whose puts are
// fenced: so other processes do not test for that.
static aq_conduit_ops_t ops_beside;

static aq_status_t rma_as_chosen(aq_conduit_t *conduit, void *link, aq_rma_t *rma);

// A window without a link has nothing to reap.
static unsigned poll_completions(aq_ibv_conduit_t *ibv)
{
    return atomic_load(&ibv->sleeper.open) ? (unsigned)aq_ibv_reap_by_thread(&ibv->sleeper) : 0;
}

static unsigned poll_over_rails(aq_conduit_t *conduit, unsigned what)
{
    aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    if (what == AQ_POLL_COMPLETIONS)
        return poll_completions(ibv);
    const unsigned done = aq_ibv_rails_reap(&ibv->rails);
    aq_ibv_failovers_ask(&ibv->failovers);
    return done + aq_ibv_poll(&ibv->receiver, what);
}

__attribute__((visibility("default"))) extern const aq_conduit_ops_t aq_conduit_module;

static void ops_choose(aq_ibv_conduit_t *ibv)
{
    if (ibv->ondemand.begin == aq_ibv_rma_begin)
        return;
    ops_beside = aq_conduit_module;
    ops_beside.rma.begin = rma_as_chosen;
    if (ibv->rma.rails) {
        ops_beside.am.poll = poll_over_rails;
        // An exposure has one key, and ports have keys of their own.
        ops_beside.memory.expose = NULL;
    }
    ibv->base.ops = &ops_beside;
}

// ---- open and close ----

static aq_status_t module_prepare(const aq_conduit_env_t *env)
{
    char err[512];
    aq_threads = env->threads; // the module has a copy
    aq_status_t status = aq_ibv_settings_check(err, sizeof err);
    if (status != AQ_OK && aq_log_is_first())
        aq_log_error("%s", err);
    return status;
}

static aq_status_t ibv_open(const aq_conduit_env_t *env, aq_conduit_t **out)
{
    aq_ibv_conduit_t *ibv;
    aq_status_t status = module_prepare(env);
    if (status == AQ_OK)
        status = aq_ibv_conduit_open(&aq_conduit_module, env, &ibv);
    if (status != AQ_OK)
        return status;
    ops_choose(ibv);
    *out = &ibv->base;
    return AQ_OK;
}

static void ibv_close(aq_conduit_t *conduit)
{
    aq_ibv_conduit_close(aq_ibv_of(conduit));
}

// ---- connections ----

// Empty: open has exchanged addresses among all ranks, and keeps the address of each host once.
static void ibv_describe(aq_conduit_t *conduit, char description[AQ_DESCRIPTION_BYTES])
{
    (void)conduit, (void)description;
}

static bool ibv_match(aq_conduit_t *conduit, const aq_peer_t *peer)
{
    return aq_ibv_addresses_has(aq_ibv_of(conduit)->shared->addresses, peer->rank);
}

static aq_status_t ibv_connect(aq_conduit_t *conduit, const aq_peer_t *peer, void **link)
{
    const aq_ibv_shared_t *shared = aq_ibv_of(conduit)->shared;
    aq_ibv_connector_t *connector = &aq_ibv_of(conduit)->shared->connector;
    const aq_peer_t main = {.rank = peer->rank};
    aq_status_t status = AQ_OK;
    void *main_link;
    // Requests of firehose travel between endpoints 0.
    if (peer->endpoint && shared->keys.reaches)
        status = aq_ibv_connect(connector, 0, &main, &main_link);
    return status == AQ_OK ? aq_ibv_connect(connector, conduit->endpoint, peer, link) : status;
}

static aq_status_t ibv_open_window(aq_conduit_t *conduit, uint16_t endpoint, aq_conduit_t **out)
{
    aq_ibv_conduit_t *window = aq_ibv_window_open(aq_ibv_of(conduit), endpoint);
    *out = window ? &window->base : NULL;
    return window ? AQ_OK : AQ_ERR_RESOURCE;
}

// ---- messages ----

static aq_status_t ibv_send(aq_conduit_t *conduit, void *link, const aq_am_t *am)
{
    return aq_ibv_send(&aq_ibv_of(conduit)->sender, link, am);
}

static unsigned ibv_poll(aq_conduit_t *conduit, unsigned what)
{
    aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    return what == AQ_POLL_COMPLETIONS ? poll_completions(ibv) : aq_ibv_poll(&ibv->receiver, what);
}

static uint32_t ibv_arm(aq_conduit_t *conduit)
{
    return aq_ibv_arm(&aq_ibv_of(conduit)->sleeper);
}

static void ibv_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns)
{
    (void)armed;
    aq_ibv_sleep(&aq_ibv_of(conduit)->sleeper, limit_ns);
}

static void ibv_disarm(aq_conduit_t *conduit)
{
    aq_ibv_disarm(&aq_ibv_of(conduit)->sleeper);
}

static void ibv_wake(aq_conduit_t *conduit, bool neighbourhood)
{
    (void)neighbourhood;
    aq_ibv_wake(&aq_ibv_of(conduit)->sleeper);
}

// ---- memory ----

static aq_status_t ibv_attach(aq_conduit_t *conduit, void *segment, size_t size)
{
    return aq_ibv_conduit_attach(aq_ibv_of(conduit), segment, size);
}

// Registration pins all of it, unless the system is to refuse that.
static bool ibv_fills_segment(aq_conduit_t *conduit, size_t size)
{
    const aq_ibv_keys_setup_t *setup = &aq_ibv_of(conduit)->shared->keys.setup;
    struct rlimit limit;
    return setup->mode == AQ_SEGMENT_FAST && !setup->memory->paged &&
           getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur >= size;
}

static inline aq_status_t rma_start(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, aq_rma_t *rma,
                                    aq_ibv_rma_begin_t *begin)
{
    aq_ibv_hold_t there;
    size_t begun;
    switch (aq_ibv_keys_look(&ibv->shared->keys, link->rank, (uintptr_t)rma->remote, rma->nbytes,
                             rma->kind == AQ_RMA_PUT, &there)) {
    case AQ_IBV_REACHED:
        begun = begin(&ibv->rma, link, rma, &there);
        if (!begun)
            aq_ibv_keys_release(&there);
        aq_rma_advance(rma, begun);
        return begun ? AQ_OK : AQ_AGAIN;
    case AQ_IBV_MISSED:
        return aq_ibv_ondemand_begin(&ibv->ondemand, link, rma);
    default:
        return AQ_ERR_ABSENT;
    }
}

static aq_status_t ibv_rma(aq_conduit_t *conduit, void *link, aq_rma_t *rma)
{
    return rma_start(aq_ibv_of(conduit), link, rma, aq_ibv_rma_begin);
}

static aq_status_t rma_as_chosen(aq_conduit_t *conduit, void *link, aq_rma_t *rma)
{
    return rma_start(aq_ibv_of(conduit), link, rma, aq_ibv_of(conduit)->ondemand.begin);
}

static aq_status_t ibv_expose(aq_conduit_t *conduit, const void *memory, size_t nbytes,
                              aq_exposure_t *out)
{
    aq_ibv_hold_t hold;
    const aq_status_t status =
        aq_ibv_keys_expose(&aq_ibv_of(conduit)->shared->keys, memory, nbytes, &hold);
    if (status == AQ_OK)
        *out = (aq_exposure_t){hold.bytes, hold.key, hold.region};
    return status;
}

static void ibv_conceal(aq_conduit_t *conduit, const aq_exposure_t *exposure)
{
    (void)conduit;
    const aq_ibv_hold_t hold = {.region = exposure->handle};
    aq_ibv_keys_release(&hold);
}

static aq_status_t ibv_get_exposed(aq_conduit_t *conduit, void *link, aq_rma_t *rma, uint64_t key)
{
    const aq_ibv_hold_t there = {.bytes = rma->nbytes, .key = (uint32_t)key};
    const size_t begun = aq_ibv_rma_begin(&aq_ibv_of(conduit)->rma, link, rma, &there);
    aq_rma_advance(rma, begun);
    return begun ? AQ_OK : AQ_AGAIN;
}

static aq_status_t ibv_atomic(aq_conduit_t *conduit, void *link, const aq_atomic_t *atomic,
                              atomic_uint *pending)
{
    return aq_ibv_atomic(&aq_ibv_of(conduit)->atomic, link, atomic, pending);
}

// ---- reports ----

static void ibv_dump_state(aq_conduit_t *conduit)
{
    aq_ibv_dump(&aq_ibv_of(conduit)->receiver);
}

// "mlx5_0:1, mlx5_1:1": the ports in use.
static void ibv_network(aq_conduit_t *conduit, char *text, size_t size)
{
    const aq_ibv_device_t *device = &aq_ibv_of(conduit)->shared->device;
    const aq_ibv_rail_ports_t *further = &device->rails; // from the second one on
    size_t used = (size_t)snprintf(text, size, "%s:%u", device->verbs->device->name, device->port);
    for (unsigned i = 1; i < further->count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, ", %s:%u", further->list[i].device,
                                 further->list[i].number);
}

// "mlx5_0,mlx5_1": the devices of these ports, each once if its ports are listed together.
static void ibv_devices(aq_conduit_t *conduit, char *text, size_t size)
{
    const aq_ibv_device_t *device = &aq_ibv_of(conduit)->shared->device;
    const char *last = device->verbs->device->name;
    size_t used = (size_t)snprintf(text, size, "%s", last);
    for (unsigned i = 1; i < device->rails.count && used < size; i++) {
        const char *next = device->rails.list[i].device;
        if (strcmp(next, last) != 0)
            used += (size_t)snprintf(text + used, size - used, ",%s", next);
        last = next;
    }
}

static size_t ibv_memory_bytes(aq_conduit_t *conduit)
{
    const aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    const size_t ops = ibv->send_queue.ops ? ibv->limits.depth_total : 0;
    return sizeof *ibv + ibv->buffers.slab_bytes + ops * sizeof *ibv->send_queue.ops +
           atomic_load_explicit(&ibv->peers.count, memory_order_relaxed) * sizeof(aq_ibv_peer_t);
}

static void ibv_peer_costs(aq_conduit_t *conduit, aq_peer_costs_t *sum)
{
    const aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    const uint32_t ranks = ibv->base.env->size;
    const aq_ibv_shared_t *shared = ibv->shared;
    size_t tables = ranks * sizeof *ibv->peers.by_number + aq_ibv_keys_table_bytes(&shared->keys);
    for (unsigned port = 0; port < AQ_IBV_RAIL_PORTS_MAX && shared->addresses[port].rows; port++)
        tables += aq_ibv_addresses_bytes(&shared->addresses[port], ranks);
    // A window keeps nothing for ranks that it never contacted, and its connections cost as much.
    if (!conduit->endpoint) {
        sum->unspoken_bytes += (tables + ranks - 1) / ranks;
        sum->connected_bytes += sizeof(aq_ibv_peer_t) + aq_ibv_pair_bytes(&ibv->limits);
    }
    sum->connections += atomic_load_explicit(&ibv->peers.count, memory_order_relaxed);
    sum->receive_buffers += ibv->buffers.arrivals.count;
}

// A frame that is sent is a work request: a message, a put, a get or an atomic.
static void ibv_counters(aq_conduit_t *conduit, gasnetx_counters_t *sum)
{
    const aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    const uint64_t posted = atomic_load_explicit(&ibv->send_queue.posted, memory_order_relaxed);
    const uint64_t messages = atomic_load_explicit(&ibv->receiver.arrived, memory_order_relaxed) +
                              atomic_load_explicit(&ibv->rings.messages, memory_order_relaxed);
    sum->frames_sent += posted;
    sum->packets_sent += posted;
    sum->frames_received += messages;
    sum->packets_received += messages;
}

// ---- the table ----

const aq_conduit_ops_t aq_conduit_module = {
    .name = "ibv",
    .abi = AQ_CONDUIT_ABI,
    .profile = &aq_ibv_profile,
    .description_bytes = 0,
    .usable = aq_ibv_usable,
    .open = ibv_open,
    .describe = ibv_describe,
    .match = ibv_match,
    .connect = ibv_connect,
    .close = ibv_close,
    .open_window = ibv_open_window,
    .am = {.send = ibv_send, .poll = ibv_poll},
    .wait = {.arm = ibv_arm, .sleep = ibv_sleep, .disarm = ibv_disarm, .wake = ibv_wake},
    .memory = {.attach = ibv_attach,
               .fills_segment = ibv_fills_segment,
               .expose = ibv_expose,
               .conceal = ibv_conceal},
    .rma = {.begin = ibv_rma, .get_exposed = ibv_get_exposed, .atomic = ibv_atomic},
    .report = {.print_info = aq_ibv_report,
               .counters = ibv_counters,
               .dump_state = ibv_dump_state,
               .network = ibv_network,
               .devices = ibv_devices,
               .memory_bytes = ibv_memory_bytes,
               .peer_costs = ibv_peer_costs},
};
