// SPDX-License-Identifier: BSD-3-Clause
// Warnings about a path or a peer, each of which a process gives once.
#include "udp_warn.h"

#include "../../../other/base/log/log.h"

void udp_watch_warn_of_silence(const udp_conduit_t *udp, const udp_link_t *link)
{
    const udp_watch_t *watch = &udp->watch;
    char text[UDP_ADDRESS_TEXT];
    if (atomic_exchange(&udp->main->watch.warned, true))
        return;
    if (link->watch.seen)
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
