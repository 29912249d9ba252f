// SPDX-License-Identifier: BSD-3-Clause
#include "udp_watch.h"
#include "../profile/udp_profile.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../core/ground/fatal.h"
#include "../../../other/base/clock.h"
#include "../../../other/base/minmax.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/settings/settings.h"

enum {
    STEPS = 8,        // checks within the shortest of the timeouts
    CALIBRATIONS = 3, // probes of a host that has not answered any, while it is not silent
    PING_FIRST_NS = 5000000,
    PING_MOST_NS = 100000000, // longest interval between pings at the start
    SENTENCE = 512,
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
    if (!atomic_load_explicit(&watch->heard_all, memory_order_relaxed) ||
        !aq_lock_try(&watch->lock))
        return;
    const uint64_t passed = now - aq_min(now, watch->listened_at);
    watch->listened_at = now;
    atomic_fetch_add_explicit(&watch->listened, aq_min(passed, watch->step), memory_order_relaxed);
    atomic_store_explicit(&watch->heard_all, false, memory_order_relaxed);
    aq_lock_drop(&watch->lock);
}

static uint64_t listened_ns(const udp_watch_t *watch)
{
    return atomic_load_explicit(&watch->listened, memory_order_relaxed);
}

// ---- peers ----

static void warn_of_silence(const udp_conduit_t *udp, const udp_link_t *link)
{
    const udp_watch_t *watch = &udp->watch;
    char text[UDP_ADDRESS_TEXT];
    if (atomic_exchange(&udp->main->watch.warned, true))
        return;
    if (link->met)
        aq_log_warn("rank %u at %s has not answered for %.3g s: it computes without polling, or is "
                    "stopped, or its host or the network is down",
                    link->rank, udp_address_text(&link->to, text), (double)watch->silence / 1e9);
    else
        aq_log_warn("nothing was heard of rank %u at %s for %.3g s: a firewall may block UDP on "
                    "the way (open ports, and name them in GASNET_UDP_PORTS), the network may be "
                    "the wrong one (GASNET_WORKERIP), its host may be down, or it computes without "
                    "polling",
                    link->rank, udp_address_text(&link->to, text), (double)watch->silence / 1e9);
}

void udp_watch_warn_of_path(udp_conduit_t *udp, const udp_link_t *link)
{
    char text[UDP_ADDRESS_TEXT];
    if (atomic_exchange(&udp->main->watch.warned_of_path, true))
        return;
    aq_log_warn("packets of more than %u bytes to rank %u at %s are lost on the way, and nothing "
                "reports that; shorter ones are sent from now on: set GASNET_UDP_MTU=%u for all "
                "processes, or correct the MTU of the interfaces, or a firewall that drops ICMP",
                link->path.mtu, link->rank, udp_address_text(&link->to, text), link->path.mtu);
}

void udp_watch_warn_of_block(udp_conduit_t *udp, const udp_link_t *link, size_t bytes)
{
    char text[UDP_ADDRESS_TEXT];
    if (atomic_exchange(&udp->main->watch.warned_of_block, true))
        return;
    aq_log_warn("a datagram of %zu bytes to rank %u at %s does not arrive, not even in fragments, "
                "though the rank answers shorter ones: set GASNET_UDP_MTU for all processes to the "
                "longest packet that this network carries, for example 1500 or 1280",
                bytes, link->rank, udp_address_text(&link->to, text));
}

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

// A peer that owes an acknowledgement was asked by the data itself, and is asked again by requests
// for an epoch. Any other peer is pinged after it was silent for half of the timeout, but not by
// windows: the main receive side knows whether the process is alive.
static void watch_peer(udp_conduit_t *udp, udp_link_t *link, bool owes, uint64_t now)
{
    const uint64_t time = udp->watch.peer_timeout;
    const uint64_t here = listened_ns(&udp->watch);
    if (!link->asked && !udp->base.endpoint && here - link->heard >= time / 2)
        link->asked = here + 1;
    if (link->asked && here >= link->asked + time)
        fail_silent_peer(&udp->watch, link);
    if (link->asked && !owes && now >= link->ping_at) {
        udp_send_plain(udp, link, UDP_PING, UDP_REQUESTS, 0, now);
        link->ping_at = now + time / STEPS;
    }
}

uint64_t udp_watch_link(udp_conduit_t *udp, udp_link_t *link, uint64_t now)
{
    udp_watch_t *watch = &udp->watch;
    const bool owes = link_owes(link);
    if (!link->asked && owes)
        link->asked = listened_ns(watch) + 1;
    if (owes && watch->silence && listened_ns(watch) >= link->asked + watch->silence)
        warn_of_silence(udp, link);
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
                         .heard = listened_ns(watch),
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
    host->heard = here;
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
        host->heard = here; // the probe did not leave this host, so silence means nothing
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
    aq_fatal("the host of rank %u (%s) has not answered for %.3g s, although its kernel answered "
             "before (GASNET_UDP_HOST_TIMEOUT); check that it is up, and the network between it "
             "and this host",
             host->rank, udp_address_text(&host->address, text),
             (double)udp->watch.host_timeout / 1e9);
}

static void watch_host(const udp_conduit_t *udp, udp_host_t *host, uint64_t here)
{
    const uint64_t time = udp->watch.host_timeout;
    probe_check(host, here);
    const uint64_t silent = here - host->heard;
    if (host->answers && silent >= time)
        fail_silent_host(udp, host);
    if (silent >= time / 4 || (!host->answers && host->probes < CALIBRATIONS))
        probe_send(udp, host, here);
}

static void collect_heard(const udp_conduit_t *udp)
{
    udp_link_t *link = atomic_load_explicit(&udp->links, memory_order_acquire);
    for (; link; link = link->next) {
        aq_lock_take(&link->lock);
        if (link->host && link->met && link->heard > link->host->heard)
            link->host->heard = link->heard;
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
    collect_heard(udp);
    for (; host; host = host->next)
        watch_host(udp, host, listened_ns(watch));
    aq_lock_drop(&watch->lock);
    return now + watch->step;
}

// ---- the start ----

static udp_conduit_t *opening;

// Called during collective operations of the bootstrap: other ranks may not have heard this one
// yet.
static unsigned answer_pings(void)
{
    return udp_poll(&opening->base, 0);
}

// The neighbours of this rank with which it shares no memory. The relation is symmetric.
static aq_status_t find_neighbours(udp_conduit_t *udp, udp_link_t *found[2], unsigned *count)
{
    const aq_conduit_env_t *env = udp->base.env;
    const uint32_t ranks = aq_boot_present(env->boot);
    const uint32_t around[] = {(env->rank + 1) % ranks, (env->rank + ranks - 1) % ranks};
    *count = 0;
    for (unsigned i = 0; i < 2; i++) {
        if (aq_index_in_nbrhd(env, around[i]) != UINT32_MAX || (*count && around[0] == around[1]))
            continue;
        found[*count] = udp_link_get(udp, around[i]);
        if (!found[(*count)++])
            return AQ_ERR_RESOURCE;
    }
    return AQ_OK;
}

static udp_link_t *first_unmet(udp_link_t *const *links, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!links[i]->met)
            return links[i];
    return NULL;
}

static void ping_unmet(udp_conduit_t *udp, udp_link_t *const *links, unsigned count, uint64_t now)
{
    for (unsigned i = 0; i < count; i++) {
        aq_lock_take(&links[i]->lock);
        if (!links[i]->met)
            udp_send_plain(udp, links[i], UDP_PING, UDP_REQUESTS, 0, now);
        aq_lock_drop(&links[i]->lock);
    }
}

// Returns the first neighbour from which nothing was received in time; NULL: there is none, or the
// job has ended. Time during which this process was stopped counts little.
static const udp_link_t *wait_for_neighbours(udp_conduit_t *udp, udp_link_t *const *links,
                                             unsigned count)
{
    udp_watch_t *watch = &udp->watch;
    uint64_t last = aq_clock_ns(), ping_at = last, pause = PING_FIRST_NS, waited = 0;
    for (;;) {
        (void)udp_poll(&udp->base, 0);
        const udp_link_t *unmet = first_unmet(links, count);
        if (!unmet || aq_boot_ended(udp->base.env->boot))
            return NULL;
        const uint64_t now = aq_clock_ns();
        waited += aq_min(now - last, 2 * (uint64_t)PING_MOST_NS);
        last = now;
        if (waited >= watch->connect_timeout)
            return unmet;
        if (watch->silence && waited >= watch->silence)
            warn_of_silence(udp, unmet);
        if (now >= ping_at) {
            ping_unmet(udp, links, count, now);
            ping_at = now + pause;
            pause = aq_min(2 * pause, PING_MOST_NS);
        }
        (void)udp_socket_wait(&udp->socket, udp_socket_wakings(&udp->socket), ping_at - now);
    }
}

static void describe_unmet(const udp_watch_t *watch, const udp_link_t *unmet, char *sentence)
{
    char text[UDP_ADDRESS_TEXT];
    snprintf(sentence, SENTENCE,
             "nothing was heard of rank %u at %s for %.3g s (GASNET_CONNECT_TIMEOUT), though it "
             "has started: check whether a firewall blocks UDP on the path (open a range of ports, "
             "and name it in GASNET_UDP_PORTS), or GASNET_WORKERIP has to name another network",
             unmet->rank, udp_address_text(&unmet->to, text), (double)watch->connect_timeout / 1e9);
}

aq_status_t udp_watch_check_network(udp_conduit_t *udp)
{
    udp_link_t *links[2];
    unsigned count;
    char sentence[SENTENCE] = "";
    const udp_link_t *unmet = NULL;
    if (!udp->watch.connect_timeout)
        return AQ_OK;
    opening = udp;
    aq_boot_meanwhile(answer_pings);
    aq_status_t status = find_neighbours(udp, links, &count);
    if (status == AQ_OK && (unmet = wait_for_neighbours(udp, links, count))) {
        describe_unmet(&udp->watch, unmet, sentence);
        status = AQ_ERR_RESOURCE;
    }
    status = aq_boot_agree(udp->base.env->boot, status, sentence);
    aq_boot_meanwhile(NULL);
    return status;
}

// Polls, which go on meanwhile, answer the pings of the new ranks.
aq_status_t udp_watch_admit(const udp_conduit_t *udp)
{
    return udp->watch.connect_timeout ? aq_boot_agree(udp->base.env->boot, AQ_OK, "") : AQ_OK;
}
