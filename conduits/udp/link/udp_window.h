// SPDX-License-Identifier: BSD-3-Clause
// Receive sides, and the windows among them.
#pragma once

#include "udp_state.h"

// A receive side whose members have their first values. Owned by the caller until it is open. NULL:
// no memory (logged).
udp_conduit_t *udp_conduit_new(const aq_conduit_env_t *env, const aq_conduit_ops_t *ops,
                               uint16_t endpoint);

// See aq_conduit_ops_t.
aq_status_t udp_open_window(aq_conduit_t *conduit, uint16_t endpoint, aq_conduit_t **out);
void udp_describe(aq_conduit_t *conduit, char description[AQ_DESCRIPTION_BYTES]);

// The link of a window to an endpoint. Any thread. NULL: the core has not connected the two.
udp_link_t *udp_window_find(const udp_conduit_t *window, uint32_t ep_id);

// As connect of aq_conduit_ops_t, for a window. Logs faults.
aq_status_t udp_window_connect(udp_conduit_t *window, const aq_peer_t *peer, void **link);
