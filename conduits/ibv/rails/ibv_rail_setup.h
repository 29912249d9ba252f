// SPDX-License-Identifier: BSD-3-Clause
// How the rails of a link come about.
#pragma once

#include "ibv_rail_state.h"

// Begins to make the rails of a link.
void aq_ibv_rails_want(aq_ibv_rails_t *rails, aq_ibv_peer_t *link);

// The same with its standbys.
void aq_ibv_rails_want_standbys(aq_ibv_rails_t *rails, aq_ibv_peer_t *link);

// A message of kind AQ_IBV_RAILS. False: it is not as it should be.
bool aq_ibv_rails_arrived(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, const void *message,
                          size_t bytes);

// Takes in what the connector's thread has done, and tells the peers about it and about the rails
// that were given up.
void aq_ibv_rails_learn(aq_ibv_rails_t *rails);
