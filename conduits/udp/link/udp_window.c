// SPDX-License-Identifier: BSD-3-Clause
// Windows: the receive sides of further endpoints. A window is a udp_conduit_t that shares with the
// main one only what is constant, so that all of udp_send.c, udp_receive.c ... works for both.
//
// Each direction of a pair of windows has its own keys and packet numbers, because these belong to
// endpoint ids (udp_wire.h). So a datagram that is replayed at another window is dropped.
#include "udp_window.h"
#include "udp_link.h"
#include "udp_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "../../../core/gasnetex_core.h"
#include "../../../other/base/log/log.h"
#include "../profile/udp_profile.h"
#include "udp_watch.h"

_Static_assert(GASNET_MAXEPS <= 1 << (32 - UDP_EP_ID_RANK_BITS),
               "an endpoint id has room for each endpoint");

enum { FIRST_PLACES = 16 };

_Static_assert(sizeof(udp_address_t) <= AQ_DESCRIPTION_BYTES,
               "a description has room for an address");

// ---- opening ----

// The memory beyond the slots of the socket is divided evenly between the two queues, so that
// requests, which may have to wait, never keep a reply out.
static unsigned queue_most(size_t bytes)
{
    return (unsigned)(bytes / UDP_SLOT_BYTES - UDP_SLOTS) / UDP_CLASSES;
}

udp_conduit_t *udp_conduit_new(const aq_conduit_env_t *env, const aq_conduit_ops_t *ops,
                               uint16_t endpoint)
{
    udp_conduit_t *udp = udp_alloc_lines(sizeof *udp);
    if (!udp) {
        aq_log_error("out of memory for the udp conduit (%zu bytes)", sizeof *udp);
        return NULL;
    }
    udp->base = (aq_conduit_t){.ops = ops,
                               .env = env,
                               .endpoint = endpoint,
                               .capabilities = AQ_CAN_SLEEP_BESIDE | AQ_CAN_GATHER};
    udp->ep_id = udp_ep_id(env->rank, endpoint);
    udp->main = udp;
    atomic_init(&udp->links.deadline, UDP_NEVER);
    udp->queues.most = queue_most((size_t)aq_setting_bytes(aq_udp_setting(UDP_SET_RECEIVE_MEMORY)));
    udp_watch_start(&udp->watch);
    for (unsigned c = 0; c < UDP_CLASSES; c++)
        udp->queues.of[c].last = &udp->queues.of[c].first;
    return udp;
}

static aq_status_t window_open_socket(udp_conduit_t *window)
{
    const aq_boot_t *boot = window->base.env->boot;
    udp_socket_setup_t setup =
        udp_socket_settings(false, boot->rank + (uint32_t)window->base.endpoint * boot->size);
    setup.beside = &window->main->socket;
    aq_status_t status = udp_faults_start(window->ep_id, &window->faults);
    if (status == AQ_OK)
        status = udp_socket_open(&window->socket, &setup, window->faults);
    return status;
}

static void window_take_constants(udp_conduit_t *window, udp_conduit_t *main)
{
    const uint16_t endpoint = window->base.endpoint;
    window->base = main->base;
    window->base.endpoint = endpoint;
    window->main = main;
    window->auth = main->auth;
    window->cipher = main->cipher;
    window->datagram_bytes = main->datagram_bytes;
    window->receives_there = main->receives_there;
    window->answers_there = main->answers_there;
}

// Creates a window and opens its socket. NULL: a fault (logged).
static udp_conduit_t *window_new(udp_conduit_t *main, uint16_t endpoint)
{
    udp_conduit_t *window = udp_conduit_new(main->base.env, main->base.ops, endpoint);
    if (!window)
        return NULL;
    window_take_constants(window, main);
    if (window_open_socket(window) == AQ_OK)
        return window;
    udp_faults_stop(window->faults);
    free(window);
    return NULL;
}

aq_status_t udp_open_window(aq_conduit_t *conduit, uint16_t endpoint, aq_conduit_t **out)
{
    udp_conduit_t *main = udp_of(conduit), *window = NULL;
    if (!main->windows.exhausted)
        window = window_new(main, endpoint);
    if (!window) {
        main->windows.exhausted = true; // the reason was logged
        return AQ_ERR_RESOURCE;
    }
    window->windows.next = atomic_load_explicit(&main->windows.first, memory_order_relaxed);
    atomic_store_explicit(&main->windows.first, window, memory_order_release);
    *out = &window->base;
    return AQ_OK;
}

// Describes a window by its address. Ranks have exchanged the addresses of the main receive sides
// when the conduit opened.
void udp_describe(aq_conduit_t *conduit, char description[AQ_DESCRIPTION_BYTES])
{
    udp_address_t address;
    if (!conduit->endpoint)
        return;
    udp_address_write(&udp_of(conduit)->socket.here, &address);
    memcpy(description, &address, sizeof address);
}

// ---- links ----

// Multiplies by 2^64 divided by the golden ratio, so that neighbouring ids spread.
static uint32_t ep_id_hash(uint32_t ep_id)
{
    return (uint32_t)(ep_id * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

// The place of an endpoint id: either that of its link, or the free one where its link belongs.
static _Atomic(udp_link_t *) *table_place(udp_link_table_t *table, uint32_t ep_id)
{
    uint32_t at = ep_id_hash(ep_id) & table->mask;
    for (;; at = (at + 1) & table->mask) {
        const udp_link_t *link = atomic_load_explicit(&table->places[at], memory_order_acquire);
        if (!link || link->ep_id == ep_id)
            return &table->places[at];
    }
}

udp_link_t *udp_window_find(const udp_conduit_t *window, uint32_t ep_id)
{
    udp_link_table_t *table = atomic_load_explicit(&window->links.table, memory_order_acquire);
    return table ? atomic_load_explicit(table_place(table, ep_id), memory_order_acquire) : NULL;
}

static void table_add(udp_link_table_t *table, udp_link_t *link)
{
    atomic_store_explicit(table_place(table, link->ep_id), link, memory_order_release);
    table->count++;
}

static udp_link_table_t *table_new(udp_link_table_t *old)
{
    const uint32_t places = old ? 2 * (old->mask + 1) : FIRST_PLACES;
    udp_link_table_t *table =
        udp_alloc_lines(sizeof *table + (size_t)places * sizeof table->places[0]);
    if (!table)
        return NULL;
    table->older = old;
    table->mask = places - 1;
    for (uint32_t i = 0; old && i <= old->mask; i++)
        if (old->places[i])
            table_add(table, old->places[i]);
    return table;
}

// With the lock of the links held: makes room for one more link. False: no memory.
static bool window_reserve(udp_conduit_t *window)
{
    udp_link_table_t *table = atomic_load_explicit(&window->links.table, memory_order_relaxed);
    if (table && table->count < (table->mask + 1) / 2)
        return true;
    table = table_new(table);
    if (table)
        atomic_store_explicit(&window->links.table, table, memory_order_release);
    return table;
}

// With the lock of the links held: creates a link that is in no table yet.
static udp_link_t *window_add(udp_conduit_t *window, const aq_peer_t *peer, uint32_t ep_id)
{
    udp_address_t address;
    memcpy(&address, peer->description, sizeof address);
    if (!udp_address_read(&address, &(udp_sockaddr_t){0})) {
        aq_log_error("rank %u has described its endpoint %u by no address of conduit udp; run the "
                     "same release of the library at all ranks",
                     peer->rank, peer->endpoint);
        return NULL;
    }
    if (!window_reserve(window)) {
        aq_log_error("out of memory for the connections of endpoint %u", window->base.endpoint);
        return NULL;
    }
    udp_link_t *link = udp_link_new(window, ep_id, &address);
    if (link)
        table_add(atomic_load_explicit(&window->links.table, memory_order_relaxed), link);
    return link;
}

aq_status_t udp_window_connect(udp_conduit_t *window, const aq_peer_t *peer, void **out)
{
    const uint32_t ep_id = udp_ep_id(peer->rank, peer->endpoint);
    aq_lock_take(&window->links.lock);
    udp_link_t *link = udp_window_find(window, ep_id);
    if (!link)
        link = window_add(window, peer, ep_id);
    aq_lock_drop(&window->links.lock);
    *out = link;
    return link ? AQ_OK : AQ_ERR_RESOURCE;
}
