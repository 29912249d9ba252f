// SPDX-License-Identifier: BSD-3-Clause
// The check of the network while a job starts.
#pragma once

#include "udp_state.h"

// Collective, while the conduit opens: verifies that neighbours in the job receive each other's
// datagrams. Blocks for at most GASNET_CONNECT_TIMEOUT. All ranks return the same status; faults
// are logged.
aq_status_t udp_watch_check_network(udp_conduit_t *udp);

// Collective, when ranks have joined: the counterpart of udp_watch_check_network at the ranks that
// were there. Blocks and polls.
aq_status_t udp_watch_admit(const udp_conduit_t *udp);
