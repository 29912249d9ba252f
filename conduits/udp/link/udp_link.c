// SPDX-License-Identifier: BSD-3-Clause
// Links: creation, and work that is due by time.
#include "udp_link.h"
#include "udp_send.h"
#include "udp_buffer.h"
#include "udp_warn.h"

#include <stdlib.h>
#include <unistd.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"
#include "udp_watch.h"

enum {
    ACK_DELAY_NS = 200000, // an acknowledgement waits this long for a datagram that can carry it
    RTO_FIRST_NS = 5000000,
    RTO_NS_MIN = 1000000,
    CONNECTED_MAX = 64,  // connected sockets of a process, each of which takes a file descriptor
    LEAST_CREDIT = 4,    // datagrams
    FIRST_DATAGRAMS = 8, // the initial congestion window
};
static const uint64_t rto_most = UINT64_C(1000000000);

// ---- the path to a peer ----

// Sets the limit on datagrams to a peer. On loopback all have the same limit. Elsewhere the kernel
// knows a limit from the outgoing interface and from the reports of routers, the peer has sent that
// of its own interface, and losses may show a smaller one. A longer datagram is legal, because the
// kernel fragments it, but then the loss of one fragment loses all of it.
static void path_refresh(const udp_conduit_t *udp, udp_link_t *link)
{
    size_t reach = udp->datagram_bytes;
    if (!udp->socket.loopback)
        reach = udp_socket_reach(&udp->socket, &link->to);
    reach = aq_min(reach, udp->datagram_bytes);
    reach = aq_min(reach, udp->main->peer_info[link->rank].datagram_bytes);
    link->datagram_bytes = aq_min(reach, link->path.most);
}

// Completes the puts in a datagram that was acknowledged, and frees its buffer.
static void datagram_release(void *context, void *datagram)
{
    udp_conduit_t *udp = context;
    udp_buffer_t *buffer = datagram;
    if (udp_path_learn(&buffer->link->path, udp_buffer_bytes(buffer), buffer->sends)) {
        path_refresh(udp, buffer->link);
        udp_watch_warn_of_path(udp, buffer->link);
    }
    for (unsigned i = 0; i < buffer->completion_count; i++) {
        atomic_fetch_sub_explicit(buffer->completions[i].pending, buffer->completions[i].count,
                                  memory_order_release);
        udp->receiving.done += buffer->completions[i].count;
    }
    udp_buffer_put(udp, buffer);
}

// ---- creation ----

static aq_status_t start_sender(udp_conduit_t *udp, udp_link_t *link, unsigned class)
{
    const udp_sender_setup_t setup = {
        .window = UDP_WINDOW_MAX,
        .datagram_bytes = (uint32_t)link->datagram_bytes,
        .first_bytes = FIRST_DATAGRAMS * (uint32_t)link->datagram_bytes,
        .credit = (uint32_t)link->datagram_bytes * FIRST_DATAGRAMS,
        .rto_first = RTO_FIRST_NS,
        .rto_least = RTO_NS_MIN,
        .rto_most = rto_most,
        .release = datagram_release,
        .context = udp,
    };
    return udp_sender_start(&link->sender[class], &setup);
}

static void link_start_auth(const udp_conduit_t *udp, udp_link_t *link)
{
    const uint32_t here = udp->ep_id, there = link->ep_id;
    link->token_out = udp_auth_token(&udp->auth, here, there);
    link->token_in = udp_auth_token(&udp->auth, there, here);
    udp_seal_start(&link->sealing, &udp->auth, udp->cipher, here, there);
    udp_seal_start(&link->opening, &udp->auth, udp->cipher, there, here);
}

// A connected socket for one of the first links of a process; -1: none.
static int connected_socket(udp_conduit_t *udp, const udp_sockaddr_t *to)
{
    atomic_uint *count = &udp->main->connected;
    if (atomic_load(count) >= CONNECTED_MAX)
        return -1;
    const int fd = udp_socket_connect(&udp->socket, to);
    if (fd >= 0)
        atomic_fetch_add(count, 1);
    return fd;
}

static udp_link_t *make_link(udp_conduit_t *udp, uint32_t ep_id, const udp_address_t *address)
{
    udp_link_t *link = udp_alloc_lines(sizeof *link);
    if (!link || !udp_address_read(address, &link->to))
        goto err_free;
    link->ep_id = ep_id;
    link->rank = udp_ep_id_rank(ep_id);
    udp_path_start(&link->path, udp->socket.loopback ? 0 : link->to.any.sa_family);
    path_refresh(udp, link);
    link->watch.last_rx = atomic_load_explicit(&udp->watch.listened, memory_order_relaxed);
    link->watch.host = udp_watch_host(udp, link);
    link_start_auth(udp, link);
    link->connected_fd = connected_socket(udp, &link->to);
    for (unsigned c = 0; c < UDP_CLASSES; c++) {
        if (start_sender(udp, link, c) != AQ_OK)
            goto err_stop;
        udp_receiver_start(&link->receiver[c]);
    }
    return link;
err_stop:
    for (unsigned c = 0; c < UDP_CLASSES; c++)
        if (link->sender[c].slots)
            udp_sender_stop(&link->sender[c]);
    if (link->connected_fd >= 0)
        close(link->connected_fd);
err_free:
    free(link);
    return NULL;
}

// Divides the kernel's receive buffer among the peers. The kernel's own overhead is about as large
// as the data.
static void share_credit(udp_conduit_t *udp, unsigned links)
{
    size_t share = udp->socket.receive_bytes / 2 / links;
    size_t least = LEAST_CREDIT * udp->datagram_bytes;
    atomic_store(&udp->links.credit, (uint32_t)(share > least ? share : least));
}

udp_link_t *udp_link_new(udp_conduit_t *udp, uint32_t ep_id, const udp_address_t *address)
{
    udp_link_t *link = make_link(udp, ep_id, address);
    if (!link) {
        aq_log_error("out of memory for the connection to rank %u (%zu bytes)",
                     udp_ep_id_rank(ep_id), sizeof *link);
        return NULL;
    }
    link->next = atomic_load_explicit(&udp->links.first, memory_order_relaxed);
    atomic_store_explicit(&udp->links.first, link, memory_order_release);
    share_credit(udp, atomic_fetch_add(&udp->links.count, 1) + 1);
    return link;
}

udp_link_t *udp_link_get(udp_conduit_t *udp, uint32_t rank)
{
    udp_link_t *link = atomic_load_explicit(&udp->links.by_rank[rank], memory_order_acquire);
    if (link)
        return link;
    aq_lock_take(&udp->links.lock);
    link = atomic_load_explicit(&udp->links.by_rank[rank], memory_order_relaxed);
    if (!link && (link = udp_link_new(udp, rank, &udp->peer_info[rank].address))) {
        atomic_store_explicit(&udp->links.by_rank[rank], link, memory_order_release);
        if (udp->watch.peer_timeout || link->watch.host)
            udp_links_due(udp, 0); // monitor it from now on
    }
    aq_lock_drop(&udp->links.lock);
    return link;
}

// ---- what is due ----

static void serve_sender(udp_conduit_t *udp, udp_link_t *link, unsigned class, uint64_t now)
{
    for (;;) {
        udp_action_t action = udp_sender_next(&link->sender[class], now);
        if (action.todo == UDP_TODO_NOTHING)
            return;
        if (action.todo == UDP_TODO_RESEND) {
            udp_send_again(udp, link, &action, now);
            continue;
        }
        udp_send_epoch(udp, link, UDP_EPOCH_REQUEST, class, action.epoch, now);
        path_refresh(udp, link); // a datagram that is too long for a changed path gets lost
    }
}

// Whether the peer waits for an acknowledgement: a datagram is missing, or much was received.
static bool ack_is_urgent(const udp_conduit_t *udp, const udp_link_t *link)
{
    return link->owed.wanted || link->owed.bytes >= 2 * udp->datagram_bytes ||
           udp_receiver_owed(&link->receiver[UDP_REQUESTS]) +
                   udp_receiver_owed(&link->receiver[UDP_REPLIES]) >=
               UDP_WINDOW_MAX / 8 ||
           udp_receiver_gap(&link->receiver[UDP_REQUESTS]) ||
           udp_receiver_gap(&link->receiver[UDP_REPLIES]);
}

static uint64_t serve_ack(udp_conduit_t *udp, udp_link_t *link, uint64_t now)
{
    if (!link->owed.since)
        return UDP_NEVER;
    // Send it later in this poll if no reply carries it.
    if (link->owed.wanted && link->owed.can_ride) {
        link->owed.can_ride = false;
        return now;
    }
    if (now < link->owed.since + ACK_DELAY_NS && !ack_is_urgent(udp, link))
        return link->owed.since + ACK_DELAY_NS;
    udp_send_plain(udp, link, UDP_ACK, UDP_REQUESTS, 0, now);
    return UDP_NEVER;
}

uint64_t udp_link_serve(udp_conduit_t *udp, udp_link_t *link, uint64_t now)
{
    uint64_t due = UDP_NEVER;
    for (unsigned c = 0; c < UDP_CLASSES; c++) {
        if (link->sender[c].timer == UDP_NEVER) // nothing is kept or requested
            continue;
        serve_sender(udp, link, c, now);
        uint64_t when = udp_sender_deadline(&link->sender[c]);
        due = aq_min(when, due);
    }
    uint64_t ack = serve_ack(udp, link, now);
    return aq_min(ack, due);
}

// Sets the deadline to "never" first, so that anything that becomes due meanwhile is not
// overlooked.
void udp_links_serve(udp_conduit_t *udp, uint64_t *time)
{
    if (atomic_load_explicit(&udp->links.deadline, memory_order_relaxed) == UDP_NEVER)
        return;
    const uint64_t now = udp_time(time);
    if (now < atomic_load_explicit(&udp->links.deadline, memory_order_relaxed))
        return;
    udp_check_socket(udp);
    udp_watch_listen(&udp->watch, now);
    atomic_store(&udp->links.deadline, UDP_NEVER);
    udp_link_t *link = atomic_load_explicit(&udp->links.first, memory_order_acquire);
    for (; link; link = link->next) {
        aq_lock_take(&link->lock);
        uint64_t due = udp_link_serve(udp, link, now), watch = udp_watch_link(udp, link, now);
        aq_lock_drop(&link->lock);
        udp_links_due(udp, aq_min(watch, due));
    }
    udp_links_due(udp, udp_watch_hosts(udp, now));
}
