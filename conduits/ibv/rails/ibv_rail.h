// SPDX-License-Identifier: BSD-3-Clause
// Puts and gets over rails.
#pragma once

#include "ibv_rail_state.h"

// Takes out completions of rails and gives their resources back, and takes in what the connector's
// thread has done. Returns how many of these there were. Any thread.
unsigned aq_ibv_rails_reap(aq_ibv_rails_t *rails);
// The same for the send thread; see aq_ibv_reap_before_sleep.
unsigned aq_ibv_rails_reap_before_sleep(aq_ibv_rails_t *rails);

// A port has gone down: gives up the rails on it. Any thread.
void aq_ibv_rails_leave(aq_ibv_rails_t *rails, const aq_ibv_peers_t *peers, unsigned port);

// For sleepers: asks for a wake-up by the next completion on any rail, unless that wakes another
// thread; sets what to poll for it, and returns how many; takes such events.
void aq_ibv_rails_arm(aq_ibv_rails_t *rails);
unsigned aq_ibv_rails_events(const aq_ibv_rails_t *rails,
                             struct pollfd events[AQ_IBV_RAIL_PORTS_MAX]);
void aq_ibv_rails_take_events(aq_ibv_rails_t *rails);

// The same for the send thread: takes its events and asks for the next; sets fds that become
// readable then, and returns how many.
void aq_ibv_rails_rearm_sends(aq_ibv_rails_t *rails);
unsigned aq_ibv_rails_send_fds(const aq_ibv_rails_t *rails, int fds[AQ_IBV_RAIL_PORTS_MAX]);

// The same for the receive thread, and arrivals on standbys.
void aq_ibv_rails_rearm_arrivals(aq_ibv_rails_t *rails);
unsigned aq_ibv_rails_arrival_fds(const aq_ibv_rails_t *rails, int fds[AQ_IBV_RAIL_PORTS_MAX]);
