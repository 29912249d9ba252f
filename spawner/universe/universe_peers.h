// SPDX-License-Identifier: BSD-3-Clause
// The connections of a daemon.
#pragma once

#include "universe.h"

// Takes over a link. NULL: no memory; the link is closed.
aq_peer_t *aq_daemon_add_peer(aq_daemon_t *daemon, const aq_link_t *link, uint32_t number);
