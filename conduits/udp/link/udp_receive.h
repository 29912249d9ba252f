// SPDX-License-Identifier: BSD-3-Clause
// Datagrams that arrive.
#pragma once

#include "udp_state.h"

// See aq_conduit_ops_t.
unsigned udp_poll(aq_conduit_t *conduit, unsigned what);
