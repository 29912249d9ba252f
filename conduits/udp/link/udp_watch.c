// SPDX-License-Identifier: BSD-3-Clause
// The checks of silence, which udp_links_serve (udp_link.c) calls for each link and for all hosts:
// pings peers, probes hosts, and warns or ends the job.
#include "udp_watch.h"
#include "udp_warn.h"
#include "../profile/udp_profile.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../core/ground/fatal.h"
#include "../../../other/base/clock.h"
#include "../../../other/base/minmax.h"
#include "../../../other/base/settings/settings.h"
#include "udp_send.h"

enum {
    STEPS = 8,        // checks within the shortest of the timeouts
    CALIBRATIONS = 3, // probes of a host that has not answered any, while it is not silent
};

// ---- settings and time ----

static uint64_t setting_ns(const aq_setting_t *row)
{
    return aq_clock_seconds_to_ns(aq_setting_real(row));
}

static uint64_t shorter_step(uint64_t step, uint64_t time)
{
    return time && time / STEPS < step ? time / STEPS : step;
}

void udp_watch_start(udp_watch_t *watch)
{
    watch->connect_timeout = setting_ns(aq_settings_row(AQ_SET_CONNECT_TIMEOUT));
    watch->silence = setting_ns(aq_udp_setting(UDP_SET_SILENCE_WARN));
    watch->host_timeout = setting_ns(aq_settings_row(AQ_SET_HOST_TIMEOUT));
    watch->peer_timeout = setting_ns(aq_udp_setting(UDP_SET_PEER_TIMEOUT));
    watch->step =
        shorter_step(shorter_step(shorter_step(UDP_NEVER, watch->silence), watch->host_timeout),
                     watch->peer_timeout);
}

void udp_watch_listen(udp_watch_t *watch, uint64_t now)
{
    if (!atomic_load_explicit(&watch->drained, memory_order_relaxed) || !aq_lock_try(&watch->lock))
        return;
    const uint64_t passed = now - aq_min(now, watch->listened_at);
    watch->listened_at = now;
    atomic_fetch_add_explicit(&watch->listened, aq_min(passed, watch->step), memory_order_relaxed);
    atomic_store_explicit(&watch->drained, false, memory_order_relaxed);
    aq_lock_drop(&watch->lock);
}

static uint64_t listened_ns(const udp_watch_t *watch)
{
    return atomic_load_explicit(&watch->listened, memory_order_relaxed);
}

// ---- peers ----

static void fail_silent_peer(const udp_watch_t *watch, const udp_link_t *link)
{
    aq_fatal("rank %u has not answered for %.3g s (GASNET_UDP_PEER_TIMEOUT); check that its host "
             "and the network are up, or give more time if it computes that long",
             link->rank, (double)watch->peer_timeout / 1e9);
}

static bool link_owes(const udp_link_t *link)
{
    bool owes = false;
    for (unsigned c = 0; c < UDP_CLASSES; c++)
        owes |= link->sender[c].timer != UDP_NEVER;
    return owes;
}

// Checks a peer. Unacknowledged data, and then requests for an epoch, already ask the peer for an
// answer. Any other peer is pinged after it was silent for half of the timeout, but not by windows:
// the main receive side knows whether the process is alive.
static void watch_peer(udp_conduit_t *udp, udp_link_t *link, bool owes, uint64_t now)
{
    udp_peer_watch_t *peer = &link->watch;
    const uint64_t time = udp->watch.peer_timeout;
    const uint64_t here = listened_ns(&udp->watch);
    if (!peer->due_since && !udp->base.endpoint && here - peer->last_rx >= time / 2)
        peer->due_since = here + 1;
    if (peer->due_since && here >= peer->due_since + time)
        fail_silent_peer(&udp->watch, link);
    if (peer->due_since && !owes && now >= peer->ping_at) {
        udp_send_plain(udp, link, UDP_PING, UDP_REQUESTS, 0, now);
        peer->ping_at = now + time / STEPS;
    }
}

uint64_t udp_watch_link(udp_conduit_t *udp, udp_link_t *link, uint64_t now)
{
    udp_watch_t *watch = &udp->watch;
    const bool owes = link_owes(link);
    if (!link->watch.due_since && owes)
        link->watch.due_since = listened_ns(watch) + 1;
    if (owes && watch->silence && listened_ns(watch) >= link->watch.due_since + watch->silence)
        udp_watch_warn_of_silence(udp, link);
    const bool limited = watch->peer_timeout && (owes || !udp->base.endpoint);
    if (limited)
        watch_peer(udp, link, owes, now);
    const bool may_warn = owes && watch->silence && !atomic_load(&udp->main->watch.warned);
    return limited || may_warn ? now + watch->step : UDP_NEVER;
}

// ---- hosts ----

static bool same_host(const udp_sockaddr_t *a, const udp_sockaddr_t *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return false;
    if (a->any.sa_family == AF_INET)
        return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
    return memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof a->v6.sin6_addr) == 0;
}

udp_host_t *udp_watch_host(udp_conduit_t *udp, const udp_link_t *link)
{
    udp_watch_t *watch = &udp->watch;
    udp_host_t *first = atomic_load(&watch->hosts), *host = first;
    if (udp->base.endpoint || !watch->host_timeout || udp->socket.loopback ||
        same_host(&link->to, &udp->socket.here))
        return NULL;
    while (host && !same_host(&host->address, &link->to))
        host = host->next;
    if (host || !(host = malloc(sizeof *host)))
        return host;
    *host = (udp_host_t){.next = first,
                         .address = link->to,
                         .rank = link->rank,
                         .last_rx = listened_ns(watch),
                         .probe = -1};
    atomic_store(&watch->hosts, host);
    return host;
}

static void probe_end(udp_host_t *host)
{
    if (host->probe >= 0)
        close(host->probe);
    host->probe = -1;
}

static void host_answered(udp_host_t *host, uint64_t here)
{
    host->answers = true;
    host->last_rx = here;
    host->probes = 0;
}

// Classifies the result of a probe: 0, and the errors of a refused connection, are answers of the
// host.
static void probe_classify(udp_host_t *host, int error, uint64_t here)
{
    if (error == 0 || error == ECONNREFUSED || error == ECONNRESET)
        host_answered(host, here);
    else if (error != EHOSTUNREACH && error != ENETUNREACH && error != ENETDOWN &&
             error != EHOSTDOWN && error != ETIMEDOUT)
        host->last_rx = here; // the probe did not leave this host, so silence means nothing
}

static void probe_check(udp_host_t *host, uint64_t here)
{
    struct pollfd fd = {.fd = host->probe, .events = POLLOUT};
    int error = 0;
    if (host->probe < 0 || poll(&fd, 1, 0) != 1 ||
        getsockopt(host->probe, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof error}) != 0)
        return;
    probe_classify(host, error, here);
    probe_end(host);
}

// Opens a socket for a probe, from the address that peers know.
static int probe_open(const udp_socket_t *socket_here)
{
    udp_sockaddr_t from = socket_here->here;
    int fd = socket(from.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (from.any.sa_family == AF_INET)
        from.v4.sin_port = 0;
    else
        from.v6.sin6_port = 0;
    if (fd < 0 || bind(fd, &from.any, from.length) == 0)
        return fd;
    close(fd);
    return -1;
}

static void probe_send(const udp_conduit_t *udp, udp_host_t *host, uint64_t here)
{
    probe_end(host);
    host->probe = probe_open(&udp->socket);
    host->probes++;
    const bool connected =
        host->probe >= 0 && connect(host->probe, &host->address.any, host->address.length) == 0;
    if (!connected && errno == EINPROGRESS)
        return;
    probe_classify(host, connected ? 0 : errno, here);
    probe_end(host);
}

static void fail_silent_host(const udp_conduit_t *udp, const udp_host_t *host)
{
    char text[UDP_ADDRESS_TEXT];
    if (aq_boot_ended(udp->base.env->boot))
        return;
    aq_fatal(
        "the host of rank %u (%s) has not answered for %.3g s, although its kernel answered before "
        "(GASNET_UDP_HOST_TIMEOUT); check that it is up, and the network between it and this host",
        host->rank, udp_address_text(&host->address, text), (double)udp->watch.host_timeout / 1e9);
}

static void watch_host(const udp_conduit_t *udp, udp_host_t *host, uint64_t here)
{
    const uint64_t time = udp->watch.host_timeout;
    probe_check(host, here);
    const uint64_t silent = here - host->last_rx;
    if (host->answers && silent >= time)
        fail_silent_host(udp, host);
    if (silent >= time / 4 || (!host->answers && host->probes < CALIBRATIONS))
        probe_send(udp, host, here);
}

static void collect_last_rx(const udp_conduit_t *udp)
{
    udp_link_t *link = atomic_load_explicit(&udp->links.first, memory_order_acquire);
    for (; link; link = link->next) {
        aq_lock_take(&link->lock);
        if (link->watch.host && link->watch.seen && link->watch.last_rx > link->watch.host->last_rx)
            link->watch.host->last_rx = link->watch.last_rx;
        aq_lock_drop(&link->lock);
    }
}

uint64_t udp_watch_hosts(udp_conduit_t *udp, uint64_t now)
{
    udp_watch_t *watch = &udp->watch;
    const uint64_t step = watch->host_timeout / STEPS;
    udp_host_t *host = atomic_load(&watch->hosts);
    if (!host)
        return UDP_NEVER;
    if (now < atomic_load(&watch->hosts_at) || !aq_lock_try(&watch->lock))
        return now + watch->step;
    atomic_store(&watch->hosts_at, now + step);
    collect_last_rx(udp);
    for (; host; host = host->next)
        watch_host(udp, host, listened_ns(watch));
    aq_lock_drop(&watch->lock);
    return now + watch->step;
}
