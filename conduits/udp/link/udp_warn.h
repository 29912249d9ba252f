// SPDX-License-Identifier: BSD-3-Clause
// Warnings about a path or a peer, each of which a process gives once.
#pragma once

#include "udp_state.h"

// Warns, once, of a silent peer.
void udp_watch_warn_of_silence(const udp_conduit_t *udp, const udp_link_t *link);

// With the link's lock held: warns, once, that the path to a peer drops long packets, and of what
// was done about it; or that not even fragments of them arrive.
void udp_watch_warn_of_path(udp_conduit_t *udp, const udp_link_t *link);
void udp_watch_warn_of_block(udp_conduit_t *udp, const udp_link_t *link, size_t bytes);
