// SPDX-License-Identifier: BSD-3-Clause
// The table of operations of the udp conduit: opening, waiting, closing and reports. udp_send.c and
// udp_receive.c carry the messages.
#include "udp_link.h"
#include "udp_send.h"
#include "udp_rma.h"
#include "udp_window.h"
#include "udp_receive.h"
#include "udp_meet.h"
#include "../profile/udp_profile.h"

#include <stdlib.h>

#include "../../../core/aqueduct.h"
#include "../../../other/base/clock.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/settings/settings.h"
#include "../../../other/base/minmax.h"

static bool udp_usable(char *errbuf, size_t errbuf_size)
{
    (void)errbuf, (void)errbuf_size;
    return true;
}

// The largest payload of a frame that has the maximum number of arguments.
static size_t largest_payload(size_t datagram_bytes, unsigned category)
{
    size_t rest = datagram_bytes - UDP_HEADER_MAX - udp_frame_payload_at(category, AQ_AM_MAX_ARGS);
    return rest & ~(size_t)7;
}

static aq_status_t open_socket(udp_conduit_t *udp)
{
    aq_boot_t *boot = udp->base.env->boot;
    bool inside; // datagrams stay on this host, unless the user chose a network
    aq_status_t status = aq_boot_shares_loopback(boot, &inside);
    if (status == AQ_OK)
        status = udp_faults_start(boot->rank, &udp->faults);
    if (status != AQ_OK)
        return status;
    inside = inside && !*aq_setting_text(aq_udp_setting(UDP_SET_WORKERIP));
    udp_socket_setup_t setup = udp_socket_settings(inside, boot->rank);
    setup.interface.peer = boot->peer;
    status = udp_socket_open(&udp->socket, &setup, udp->faults);
    if (status != AQ_OK)
        return status;
    udp->datagram_bytes = udp->socket.datagram_bytes & ~(size_t)7;
    if (udp->datagram_bytes > UDP_LONGEST_DATAGRAM)
        udp->datagram_bytes = UDP_LONGEST_DATAGRAM;
    status = udp_auth_start(&udp->auth, boot->key, udp->socket.loopback);
    udp->receives_there = !udp->auth.checksum && udp->auth.mode < UDP_AUTH_FULL;
    udp->answers_there = udp->receives_there || udp->auth.mode == UDP_AUTH_ENCRYPT;
    if (status == AQ_OK && udp->auth.mode == UDP_AUTH_ENCRYPT)
        udp_seal_use_bulk();
    return status;
}

// The limits that clients see hold between any two ranks, so the smallest datagram counts.
static void set_payloads(udp_conduit_t *udp)
{
    size_t least = udp->datagram_bytes;
    for (uint32_t r = 0; r < udp_known(udp); r++)
        least = aq_min(udp->peer_info[r].datagram_bytes, least);
    udp->base.max_medium = largest_payload(least, AQ_AM_MEDIUM);
    udp->base.max_long = largest_payload(least, AQ_AM_LONG);
    udp->base.max_long_unmapped = udp->base.max_long;
}

// Chooses AES if every processor of the job has instructions for it. In software AES is slow, and
// its timing leaks information about the key.
static void choose_cipher(udp_conduit_t *udp)
{
    udp->cipher = UDP_CIPHER_AES;
    for (uint32_t r = 0; r < udp_known(udp); r++)
        if (!udp->peer_info[r].has_aes)
            udp->cipher = UDP_CIPHER_CHACHA20;
}

static aq_status_t exchange_peer_info(udp_conduit_t *udp)
{
    aq_boot_t *boot = udp->base.env->boot;
    udp_peer_info_t mine = {.datagram_bytes = (uint32_t)udp->datagram_bytes,
                            .has_aes = udp_seal_has_aes()};
    const void *all;
    udp->links.by_rank = calloc(boot->size, sizeof *udp->links.by_rank);
    if (!udp->links.by_rank) {
        aq_log_error("out of memory for the links of %u ranks", boot->size);
        return AQ_ERR_RESOURCE;
    }
    udp_address_write(&udp->socket.here, &mine.address);
    aq_status_t status = aq_boot_exchange_kept(boot, &mine, sizeof mine, &all);
    if (status != AQ_OK)
        return status;
    udp->peer_info = all;
    atomic_store(&udp->links.known, aq_boot_present(boot));
    set_payloads(udp);
    choose_cipher(udp);
    return AQ_OK;
}

// Checks that a rank that joins supports the limits and the cipher of the job, which are fixed.
static aq_status_t check_joined(const udp_conduit_t *udp, const udp_peer_info_t *info,
                                uint32_t rank)
{
    const bool fits = largest_payload(info->datagram_bytes, AQ_AM_MEDIUM) >= udp->base.max_medium;
    if (fits && (info->has_aes || udp->cipher != UDP_CIPHER_AES))
        return AQ_OK;
    if (!fits)
        aq_log_error("rank %u, which joins the job, sends datagrams of %u bytes at most, and the "
                     "job sends longer ones; start a rank there with the job",
                     rank, info->datagram_bytes);
    else
        aq_log_error("rank %u, which joins the job, has a processor without the instructions for "
                     "AES that the job uses; start a rank there with the job",
                     rank);
    return AQ_ERR_CONFIG;
}

// Makes the new ranks known. Until then their datagrams are dropped, and they retransmit them.
static aq_status_t note_joined(udp_conduit_t *udp, uint32_t first)
{
    const uint32_t present = aq_boot_present(udp->base.env->boot);
    for (uint32_t r = first; r < present; r++)
        if (check_joined(udp, &udp->peer_info[r], r) != AQ_OK)
            return AQ_ERR_CONFIG;
    aq_lock_take(&udp->links.lock);
    atomic_store_explicit(&udp->links.known, present, memory_order_relaxed);
    aq_lock_drop(&udp->links.lock);
    return AQ_OK;
}

static aq_status_t udp_admit(aq_conduit_t *conduit, uint32_t joined)
{
    udp_conduit_t *udp = udp_of(conduit);
    aq_boot_t *boot = conduit->env->boot;
    const uint32_t first = aq_boot_present(boot) - joined;
    const udp_peer_info_t mine = udp->peer_info[boot->rank];
    bool inside; // not used: collective with the new ranks, which need it
    aq_status_t status = aq_boot_shares_loopback(boot, &inside);
    if (status == AQ_OK)
        status = aq_boot_extend_kept(boot, &mine, sizeof mine, first, udp->peer_info);
    if (status == AQ_OK)
        status = note_joined(udp, first);
    return status == AQ_OK ? udp_watch_admit(udp) : status;
}

static aq_status_t udp_open(const aq_conduit_env_t *env, aq_conduit_t **out)
{
    udp_conduit_t *udp = udp_conduit_new(env, &aq_udp_conduit, 0);
    if (!udp)
        return AQ_ERR_RESOURCE;
    aq_status_t status = open_socket(udp);
    if (status == AQ_OK)
        status = exchange_peer_info(udp);
    if (status == AQ_OK)
        status = udp_watch_check_network(udp);
    if (status != AQ_OK) {
        free(udp->links.by_rank);
        free(udp);
        return status;
    }
    *out = &udp->base;
    return AQ_OK;
}

static bool udp_match(aq_conduit_t *conduit, const aq_peer_t *peer)
{
    return peer->rank != conduit->env->rank;
}

static aq_status_t udp_connect(aq_conduit_t *conduit, const aq_peer_t *peer, void **link)
{
    if (conduit->endpoint)
        return udp_window_connect(udp_of(conduit), peer, link);
    *link = udp_link_get(udp_of(conduit), peer->rank);
    return *link ? AQ_OK : AQ_ERR_RESOURCE;
}

// ---- waiting ----

static uint32_t udp_arm(aq_conduit_t *conduit)
{
    udp_conduit_t *udp = udp_of(conduit);
    atomic_fetch_add(&udp->sleepers, 1);
    return udp_socket_wakings(&udp->socket) | 1;
}

static void udp_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns)
{
    udp_conduit_t *udp = udp_of(conduit);
    uint64_t now = aq_clock_ns(), due = atomic_load(&udp->links.deadline);
    if (due <= now)
        return;
    if (due - now < limit_ns)
        limit_ns = due - now;
    udp_socket_wait(&udp->socket, armed & ~1u, limit_ns);
}

static void udp_disarm(aq_conduit_t *conduit)
{
    atomic_fetch_sub(&udp_of(conduit)->sleepers, 1);
}

// Wakes threads of this process only; messages wake other processes.
static void udp_wake(aq_conduit_t *conduit, bool neighbourhood)
{
    udp_conduit_t *udp = udp_of(conduit);
    (void)neighbourhood;
    if (atomic_load(&udp->sleepers))
        udp_socket_wake(&udp->socket);
}

// ---- the end ----

static void print_stats(const udp_conduit_t *udp)
{
    udp_stats_t sum = {0};
    for (udp_link_t *link = atomic_load(&udp->links.first); link; link = link->next) {
        udp_stats_t peer = link->stats;
        for (unsigned c = 0; c < UDP_CLASSES; c++) {
            peer.epochs += link->sender[c].counts.epochs;
            if (link->sender[c].rtt > peer.rtt_ns)
                peer.rtt_ns = link->sender[c].rtt;
        }
        udp_stats_print_peer(stderr, udp->ep_id, link->ep_id, &peer);
        udp_stats_add(&sum, &peer);
    }
    sum.memory = (uint64_t)(udp->queues.peak + udp->socket.slots) * UDP_SLOT_BYTES;
    udp_stats_print_all(stderr, udp->ep_id, &sum, &udp->unauthenticated, &udp->socket);
}

// ---- gasnet_info ----

static void report_mode(void (*tell)(void *arg, const char *label, const char *text), void *arg,
                        const char *where, bool loopback)
{
    char text[256];
    const udp_auth_mode_t mode = udp_auth_chosen(loopback);
    snprintf(text, sizeof text, "%s: %s", udp_auth_name(mode), udp_auth_promise(mode));
    tell(arg, where, text);
}

static void udp_print_info(void (*tell)(void *arg, const char *label, const char *text), void *arg)
{
    char text[128];
    report_mode(tell, arg, "between hosts", false);
    report_mode(tell, arg, "inside one host", true);
    udp_seal_use_bulk();
    snprintf(text, sizeof text, "%s; long datagrams by %s",
             udp_seal_has_aes() ? "AES-256-GCM" : "ChaCha20-Poly1305 (no instructions for AES)",
             udp_seal_bulk_name());
    tell(arg, "encryption", text);
    tell(arg, "further endpoints", "each has a socket and a port of its own");
}

static void udp_dump_state(aq_conduit_t *conduit)
{
    print_stats(udp_of(conduit));
}

static void udp_network(aq_conduit_t *conduit, char *text, size_t size)
{
    const udp_socket_t *socket = &udp_of(conduit)->socket;
    char address[UDP_ADDRESS_TEXT];
    snprintf(text, size, "%s on %s", udp_address_text(&socket->here, address), socket->interface);
}

// Frees nothing, because other threads may still be inside the conduit.
static void side_close(udp_conduit_t *udp)
{
    udp_flush(udp, &(uint64_t){0});
    if (aq_settings_bool(AQ_SET_STATS))
        print_stats(udp);
}

static void udp_close(aq_conduit_t *conduit)
{
    udp_conduit_t *udp = udp_of(conduit), *window = atomic_load(&udp->windows.first);
    side_close(udp);
    for (; window; window = window->windows.next)
        side_close(window);
}

static size_t udp_memory_bytes(aq_conduit_t *conduit)
{
    const udp_conduit_t *udp = udp_of(conduit);
    return (udp->pool.count + udp->socket.slots) * UDP_SLOT_BYTES;
}

static void udp_counters(aq_conduit_t *conduit, gasnetx_counters_t *sum)
{
    udp_conduit_t *udp = udp_of(conduit);
    for (udp_link_t *link = atomic_load(&udp->links.first); link; link = link->next) {
        aq_lock_take(&link->lock);
        udp_stats_publish(&link->stats, sum);
        aq_lock_drop(&link->lock);
    }
    udp_unauthenticated_publish(&udp->unauthenticated, sum);
    if (udp->faults)
        sum->dropped[GASNETX_DROP_INJECTED] += udp_faults_count(udp->faults).dropped;
}

const aq_conduit_ops_t aq_udp_conduit = {
    .name = "udp",
    .abi = AQ_CONDUIT_ABI,
    .usable = udp_usable,
    .open = udp_open,
    .describe = udp_describe,
    .match = udp_match,
    .connect = udp_connect,
    .close = udp_close,
    .admit = udp_admit,
    .open_window = udp_open_window,
    .am = {.send = udp_send, .poll = udp_poll, .requests_flushed = udp_requests_flushed},
    .wait = {.arm = udp_arm, .sleep = udp_sleep, .disarm = udp_disarm, .wake = udp_wake},
    .rma = {.begin = udp_rma},
    .report = {.memory_bytes = udp_memory_bytes,
               .counters = udp_counters,
               .dump_state = udp_dump_state,
               .network = udp_network,
               .print_info = udp_print_info},
};
