// SPDX-License-Identifier: BSD-3-Clause
// The queues of rails, and which rails are in use.
#pragma once

#include "ibv_rail_state.h"

// Makes the queues of the endpoint, if there are none yet. False: they cannot be made (logged).
// Under the lock.
bool aq_ibv_rails_open(aq_ibv_rails_t *rails);

// The rails of a link, which are to be used from now on. Under the lock.
void aq_ibv_rail_start(aq_ibv_rails_t *rails, aq_ibv_rail_t *rail);

// Gives up a rail, if it is in use. The operations that are outstanding on it move to the first
// queue pair, even if the device would retry them for ever. Under the lock.
void aq_ibv_rail_stop(aq_ibv_rails_t *rails, aq_ibv_rail_t *rail, const char *why);

// The same for a rail whose queue pair has failed already.
void aq_ibv_rail_give_up(aq_ibv_rails_t *rails, aq_ibv_rail_t *rail, const char *why);
