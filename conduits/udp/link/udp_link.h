// SPDX-License-Identifier: BSD-3-Clause
// Links: creation, and work that is due by time.
#pragma once

#include "udp_state.h"

// The link of the main receive side to a rank, created if there is none yet. Any thread. NULL: no
// memory (logged).
udp_link_t *udp_link_get(udp_conduit_t *udp, uint32_t rank);

// With the lock of the links held: creates a link to an endpoint at this address, of which there is
// none yet. NULL: no memory, or the address is invalid (logged).
udp_link_t *udp_link_new(udp_conduit_t *udp, uint32_t ep_id, const udp_address_t *address);

// With the link's lock held: retransmits and acknowledges what is due. Returns when the link has to
// be served again.
uint64_t udp_link_serve(udp_conduit_t *udp, udp_link_t *link, uint64_t now);

// Serves all links if the deadline of one has passed.
void udp_links_serve(udp_conduit_t *udp, uint64_t *now);
