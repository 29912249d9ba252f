// SPDX-License-Identifier: BSD-3-Clause
// Detection of silent peers and hosts: what silence means, when the user is warned, and when the
// job ends.
//
// - At the start, neighbouring ranks of the job that share no memory exchange pings before any
//   client code runs. At that time all ranks are inside the library and can answer, so a network
//   that carries no datagrams is found before the job begins.
// - Later a peer may compute for hours without a poll. Its silence is reported once and does not
//   end the job, unless GASNET_UDP_PEER_TIMEOUT is set (it is off by default).
// - The failure of a host does end the job. A probe is an attempt to connect by TCP to the number
//   of a peer's UDP port. The kernel of the host answers it, usually by refusing it, even if the
//   processes compute or are stopped. Silence counts only if an earlier probe was answered, because
//   a firewall may drop probes.
// - Time counts only while this process is able to receive (`listened`): the clock advances when a
//   receive found the socket empty, by at most one step. So a peer is not considered silent while
//   its answer waits in the socket, or because this process computed.
// - Windows watch neither hosts nor peers that have nothing to acknowledge; the main receive side
//   does. A peer's window that owes an acknowledgement is watched like any other peer.
#pragma once

#include "udp_state.h"

// Reads the settings.
void udp_watch_start(udp_watch_t *watch);

// The host of a peer, for its link. NULL: the host is not monitored. The caller holds the lock of
// the links.
udp_host_t *udp_watch_host(udp_conduit_t *udp, const udp_link_t *link);

// Called by the receiver when the socket is empty.
static inline void udp_watch_drained(udp_watch_t *watch)
{
    atomic_store_explicit(&watch->drained, true, memory_order_relaxed);
}

// The functions below belong to a pass over all links. This one is called first: it advances the
// clock.
void udp_watch_listen(udp_watch_t *watch, uint64_t now);

// With the link's lock held: warns of a silent peer, or ends the job. Returns when to check again;
// UDP_NEVER: not before the link's flows have something due.
uint64_t udp_watch_link(udp_conduit_t *udp, udp_link_t *link, uint64_t now);

// As udp_watch_link, for all hosts. Takes the locks of links.
uint64_t udp_watch_hosts(udp_conduit_t *udp, uint64_t now);
