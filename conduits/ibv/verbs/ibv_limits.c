// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic over settings and capabilities of the device. ibv_device.c computes the limits of
// endpoint 0, and ibv_conduit.c those of a window.
#include "ibv_limits.h"

#include "../../../other/base/minmax.h"
#include "../../../other/base/settings/settings.h"
#include "ibv_wire.h"
#include "ibv_profile.h"

enum {
    APART_NS = 10000,
    APART_IN_SOFTWARE_NS = 250000, // the call that posts an operation does much of the work
    LARGE_BOUNCES = 16,
    MOST_GRANTS = 1024, // buffers for requests, whatever the number of peers
    POSTED_AHEAD = 16,
    MOST_UNSIGNALED = 7,
    MOST_UNSIGNALED_TOTAL = 1024,
    SPARES = 64,
    WINDOW_PEERS = 1 << 16, // more than there are grants
    WINDOW_GRANTS = 256,
    WINDOW_CREDITS = 128,
    WINDOW_DEPTH = 256,
    WINDOW_SPARES = 24,
    WINDOW_BOUNCES = 64,
    WINDOW_LARGE_BOUNCES = 2,
    WINDOW_RINGS = 4,      // and as many receive buffers as they have slots
    RINGS_MAX = 250,       // one byte of the header names a ring
    ENTRY_BYTES = 64,      // of a send queue entry, beside inline data
    VENDOR_RXE = 0xffffff, // rdma_rxe
    VENDOR_SIW = 0x626d74, // siw
};

static unsigned setting_or(aq_ibv_setting_id_t id, uint64_t zero_means)
{
    int64_t value = aq_setting_int(aq_ibv_setting(id));
    return value ? (unsigned)value : aq_min(zero_means, UINT32_MAX);
}

// The most buffers that the shared receive queue and its completion queue can take.
static unsigned most_arrivals(const struct ibv_device_attr *can)
{
    return aq_min((unsigned)can->max_srq_wr, (unsigned)can->max_cqe);
}

static void find_depths(aq_ibv_limits_t *limits, uint64_t peers, const struct ibv_device_attr *can)
{
    limits->depth_each = aq_min((unsigned)aq_setting_int(aq_ibv_setting(IBV_SET_NETWORKDEPTH_PP)),
                                (unsigned)can->max_qp_wr);
    uint64_t most = aq_min(limits->depth_each * peers, (unsigned)can->max_cqe);
    limits->depth_total = aq_min(setting_or(IBV_SET_NETWORKDEPTH_TOTAL, most), most);
    // A Long takes two entries at once.
    limits->depth_each = limits->depth_each < 2 ? 2 : limits->depth_each;
    limits->depth_total = limits->depth_total < 2 ? 2 : limits->depth_total;
}

static void find_credits(aq_ibv_limits_t *limits, uint64_t peers, const struct ibv_device_attr *can)
{
    unsigned total = setting_or(IBV_SET_AM_CREDITS_TOTAL, limits->depth_total);
    aq_credit_limits_t wanted = {
        .each = aq_min((unsigned)aq_setting_int(aq_ibv_setting(IBV_SET_AM_CREDITS_PP)),
                       limits->depth_each),
        .total = aq_min(total, limits->depth_total),
        .slack = (unsigned)aq_setting_int(aq_ibv_setting(IBV_SET_AM_CREDITS_SLACK)),
    };
    limits->credits = aq_credit_fit(wanted, (uint32_t)peers);
    // One buffer for each request that may come, and one for each reply.
    const unsigned most = most_arrivals(can);
    limits->grants = aq_min(aq_min(limits->credits.each * peers, MOST_GRANTS), most / 2);
    limits->credits.total =
        aq_min(aq_min(limits->credits.total, limits->credits.each * peers), most - limits->grants);
    limits->credits = aq_credit_fit(limits->credits, (uint32_t)peers);
    limits->arrivals = limits->grants + limits->credits.total;
}

static void find_ring_settings(aq_ibv_limits_t *limits, bool threads)
{
    const uint64_t bytes = aq_setting_bytes(aq_ibv_setting(IBV_SET_AMRDMA_LIMIT));
    const size_t longest = AQ_IBV_BUFFER_BYTES - AQ_IBV_FOOTER_BYTES - 8;
    limits->rings.depth = (unsigned)aq_setting_bytes(aq_ibv_setting(IBV_SET_AMRDMA_DEPTH));
    limits->rings.cycle = (unsigned)aq_setting_bytes(aq_ibv_setting(IBV_SET_AMRDMA_CYCLE));
    limits->rings.bytes = bytes < longest ? bytes : longest;
    limits->rings.count = (unsigned)aq_setting_int(aq_ibv_setting(IBV_SET_AMRDMA_MAX_PEERS));
    if (limits->rings.count > RINGS_MAX)
        limits->rings.count = RINGS_MAX;
    if (limits->rings.count > limits->peers)
        limits->rings.count = limits->peers;
    // A write into a ring does not wake the receive thread, which sleeps often.
    if (!limits->rings.bytes || !limits->rings.cycle ||
        (threads && aq_settings_bool(AQ_SET_RCV_THREAD)))
        limits->rings.count = 0;
}

// A request in a peer's ring takes no credit, so its reply needs a buffer of its own.
static void find_rings(aq_ibv_limits_t *limits, bool threads, const struct ibv_device_attr *can)
{
    const unsigned most = most_arrivals(can);
    find_ring_settings(limits, threads);
    limits->rings.count =
        aq_min(limits->rings.count, (most - limits->arrivals) / limits->rings.depth);
    limits->rings.replies = limits->rings.count * limits->rings.depth;
    limits->arrivals += limits->rings.replies;
    limits->ahead = aq_min(POSTED_AHEAD, most - limits->arrivals);
}

// An unsignaled message occupies its send queue entry until a later entry completes.
static void find_unsignaled(aq_ibv_limits_t *limits, const struct ibv_device_attr *can)
{
    limits->unsignaled_each = aq_min(MOST_UNSIGNALED, limits->depth_each / 4);
    limits->unsignaled_total =
        aq_min(MOST_UNSIGNALED_TOTAL, (unsigned)can->max_cqe - limits->depth_total);
}

static size_t stripe_of(aq_ibv_setting_id_t id, size_t most)
{
    const uint64_t bytes = aq_setting_bytes(aq_ibv_setting(id));
    return bytes ? aq_min(aq_max(bytes, (uint64_t)AQ_IBV_BUFFER_BYTES), most) : most;
}

static void find_bytes(aq_ibv_limits_t *limits, const struct ibv_port_attr *port)
{
    const uint64_t bounce = aq_setting_bytes(aq_ibv_setting(IBV_SET_NONBULKPUT_BOUNCE_LIMIT));
    limits->packed_long =
        aq_min(aq_setting_bytes(aq_ibv_setting(IBV_SET_PACKEDLONG_LIMIT)), aq_ibv_longest_packed());
    limits->bounce_bytes = (aq_min(bounce, AQ_IBV_LONGEST_LONG) + 4095) & ~(size_t)4095;
    if (limits->bounce_bytes < AQ_IBV_BUFFER_BYTES)
        limits->bounce_bytes = AQ_IBV_BUFFER_BYTES;
    limits->copied = bounce;
    limits->pin_from[0] = aq_min(bounce, (uint64_t)AQ_IBV_BUFFER_BYTES) + 1;
    limits->pin_from[1] = AQ_IBV_BUFFER_BYTES + 1;
    limits->device.operation_bytes = port->max_msg_sz ? port->max_msg_sz : 1u << 30;
    limits->stripe[0] = stripe_of(IBV_SET_PUT_STRIPE_SZ, limits->device.operation_bytes);
    limits->stripe[1] = stripe_of(IBV_SET_GET_STRIPE_SZ, limits->device.operation_bytes);
}

// The two software devices of Linux report vendor numbers that belong to no vendor.
static bool is_in_software(const struct ibv_device_attr *can)
{
    return can->vendor_id == VENDOR_RXE || can->vendor_id == VENDOR_SIW;
}

static uint8_t reads_of(const struct ibv_device_attr *can)
{
    const unsigned most =
        (unsigned)(can->max_qp_rd_atom < can->max_qp_init_rd_atom ? can->max_qp_rd_atom
                                                                  : can->max_qp_init_rd_atom);
    return (uint8_t)aq_min(setting_or(IBV_SET_QP_RD_ATOM, most), most < 255 ? most : 255);
}

void aq_ibv_limits_find(aq_ibv_limits_t *limits, uint32_t peers, bool threads,
                        const struct ibv_device_attr *can, const struct ibv_port_attr *port)
{
    const uint64_t least_one = peers ? peers : 1;
    limits->peers = peers;
    find_depths(limits, least_one, can);
    find_credits(limits, least_one, can);
    find_bytes(limits, port);
    find_rings(limits, threads, can);
    find_unsignaled(limits, can);
    limits->bounces =
        aq_min(setting_or(IBV_SET_BBUF_COUNT, limits->depth_total), limits->depth_total);
    limits->large_bounces = aq_min(LARGE_BOUNCES, limits->depth_total);
    limits->reads = reads_of(can);
    limits->device.in_software = is_in_software(can);
    limits->apart_ns = limits->device.in_software ? APART_IN_SOFTWARE_NS : APART_NS;
    limits->device.regions = (uint32_t)can->max_mr;
    limits->spares = SPARES;
    limits->receive_queues = 1;
    limits->device.queue_entries = (unsigned)can->max_cqe;
    limits->device.queue_arrivals = most_arrivals(can);
}

void aq_ibv_limits_loosen(aq_ibv_limits_t *limits)
{
    limits->device.unordered = true;
    limits->unsignaled_each = limits->unsignaled_total = 0;
    limits->arrivals -= limits->rings.replies;
    limits->rings.count = limits->rings.replies = 0;
}

void aq_ibv_limits_multiply(aq_ibv_limits_t *limits, unsigned receive_queues)
{
    limits->receive_queues = receive_queues;
    limits->spares += (receive_queues - 1) * (limits->arrivals + limits->ahead);
}

size_t aq_ibv_limits_put_waits_from(const aq_ibv_limits_t *limits)
{
    return aq_max(limits->copied, limits->inline_bytes) + 1;
}

size_t aq_ibv_limits_long_ahead_from(const aq_ibv_limits_t *limits)
{
    return aq_max(aq_ibv_limits_put_waits_from(limits), limits->packed_long + 1);
}

uint64_t aq_ibv_limits_bounce_bytes(const aq_ibv_limits_t *limits)
{
    return (uint64_t)limits->bounces * AQ_IBV_BUFFER_BYTES +
           (uint64_t)limits->large_bounces * limits->bounce_bytes;
}

// GASNET_NETWORKDEPTH_TOTAL and GASNET_AM_CREDITS_TOTAL lower what a window has, too.
static void find_window_credits(aq_ibv_limits_t *window)
{
    const unsigned most = window->device.queue_arrivals;
    aq_credit_limits_t wanted = window->credits;
    wanted.each =
        aq_min((unsigned)aq_setting_int(aq_ibv_setting(IBV_SET_AM_CREDITS_PP)), window->depth_each);
    wanted.total = aq_min(setting_or(IBV_SET_AM_CREDITS_TOTAL, WINDOW_CREDITS),
                          aq_min(window->depth_total, WINDOW_CREDITS));
    wanted.slack = (unsigned)aq_setting_int(aq_ibv_setting(IBV_SET_AM_CREDITS_SLACK));
    window->grants = aq_min(WINDOW_GRANTS, most / 2);
    wanted.total = aq_min(wanted.total, most - window->grants);
    window->credits = aq_credit_fit(wanted, 1);
    window->arrivals = window->grants + window->credits.total;
}

// A window has fewer rings than endpoint 0, but they do not depend on the number of ranks, since
// each rank may have many endpoints.
static void find_window_rings(aq_ibv_limits_t *window, const aq_ibv_limits_t *main)
{
    const unsigned most = window->device.queue_arrivals;
    const unsigned wanted = (unsigned)aq_setting_int(aq_ibv_setting(IBV_SET_AMRDMA_MAX_PEERS));
    window->rings.count = main->rings.count ? aq_min(wanted, (unsigned)WINDOW_RINGS) : 0;
    window->rings.count =
        aq_min(window->rings.count, (most - window->arrivals) / window->rings.depth);
    window->rings.replies = window->rings.count * window->rings.depth;
    window->arrivals += window->rings.replies;
    window->ahead = aq_min(POSTED_AHEAD, most - window->arrivals);
}

aq_ibv_limits_t aq_ibv_limits_of_window(const aq_ibv_limits_t *main)
{
    aq_ibv_limits_t window = *main;
    window.peers = WINDOW_PEERS;
    window.depth_total =
        aq_min(setting_or(IBV_SET_NETWORKDEPTH_TOTAL, WINDOW_DEPTH), (unsigned)WINDOW_DEPTH);
    window.depth_total = aq_min(window.depth_total, main->device.queue_entries);
    window.depth_total = window.depth_total < 2 ? 2 : window.depth_total;
    find_window_credits(&window);
    find_window_rings(&window, main);
    window.unsignaled_total =
        aq_min((unsigned)WINDOW_DEPTH, main->device.queue_entries - window.depth_total);
    window.spares = WINDOW_SPARES;
    window.bounces =
        aq_min(setting_or(IBV_SET_BBUF_COUNT, WINDOW_BOUNCES), (unsigned)WINDOW_BOUNCES);
    window.large_bounces = WINDOW_LARGE_BOUNCES;
    if (main->receive_queues > 1)
        aq_ibv_limits_multiply(&window, main->receive_queues);
    return window;
}

size_t aq_ibv_pair_bytes(const aq_ibv_limits_t *limits)
{
    return limits->depth_each * (limits->inline_bytes + (size_t)ENTRY_BYTES);
}
