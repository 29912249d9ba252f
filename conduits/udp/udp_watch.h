// Peers and hosts that are silent: what silence means, who is told, and when it ends the job.
//
// - At the start two ranks that are next to each other in the job, and share no memory, have to
//   hear each other, before any client runs: all are inside the library then and can answer. So a
//   network that carries no datagrams is found before the job begins.
// - Later a peer may compute for hours without a poll. Its silence is told once, and is no reason
//   to end the job (GASNET_UDP_PEER_TIMEOUT, which is off by default, says otherwise).
// - A host that is gone does end the job. A probe asks the kernel of the host, which answers
//   whatever its processes do, also when they compute or are stopped: an attempt to connect by TCP
//   to the number of a peer's UDP port. That the kernel refuses it is an answer. Silence counts
//   only where an earlier probe was answered: a firewall may drop probes.
// - Time counts only as far as this process was there to hear (`listened`): it goes on when a
//   receive has found the socket empty, by at most one step. So a peer whose answer waits in the
//   socket is not taken for silent, nor one that was asked just before this process computed.
#ifndef AQ_UDP_WATCH_H
#define AQ_UDP_WATCH_H

#include "udp_state.h"

// Reads the settings.
void udp_watch_start(udp_watch_t *watch);

// Collective, while the conduit opens: neighbours in the job have heard each other. Blocks, for
// GASNET_CONNECT_TIMEOUT at most. All ranks return the same; what is wrong is logged.
aq_status_t udp_watch_check_network(udp_conduit_t *udp);

// The host of a peer, for its link. NULL: it is not watched. With the lock for links held.
udp_host_t *udp_watch_host(udp_conduit_t *udp, const udp_link_t *link);

// By whoever receives: nothing more is there to be heard.
static inline void udp_watch_heard_all(udp_watch_t *watch)
{
    atomic_store_explicit(&watch->heard_all, true, memory_order_relaxed);
}

// What follows belongs to a look at all links. First: time goes on.
void udp_watch_listen(udp_watch_t *watch, uint64_t now);

// With the link's lock held: tells of a silent peer, or ends the job. Returns when to look again;
// UDP_NEVER: no sooner than the link's flows have something due.
uint64_t udp_watch_link(udp_conduit_t *udp, udp_link_t *link, uint64_t now);

// The same for all hosts; takes the locks of links.
uint64_t udp_watch_hosts(udp_conduit_t *udp, uint64_t now);

#endif
