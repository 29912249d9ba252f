// SPDX-License-Identifier: BSD-3-Clause
// The rails of one link (aq_ibv_rail_set_t), for ibv_rail_setup.c: how their queue pairs are made,
// and how they are connected. The system asks the network for the address of each peer's port,
// which may take it a second, so the connector's thread connects them (ibv_task.h):
//
//      poll: aq_ibv_rail_set_connect -- task --> connector's thread: one queue pair an attempt
//      poll: aq_ibv_rail_set_learn <------------ rails->finished
//
// - While the thread has the task, it reads the queue pairs that the task names, and nothing
//   else of the set: so these are not destroyed.
// - A set is connected once, with what the peer's first message says.
#pragma once

#include "../verbs/ibv_queue_pair.h"
#include "ibv_rail_state.h"

// Makes the rails of a link, or its standbys, not connected yet; none, if they cannot be made
// (logged). NULL: no memory. Under the lock, as the other functions are.
aq_ibv_rail_set_t *aq_ibv_rail_set_make(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, bool standby);

// The first queue pair of a link that begins at another port than the first one, in INIT. NULL:
// errno. The rails are open and have standbys. Any thread.
struct ibv_qp *aq_ibv_rail_first_make(const aq_ibv_rails_t *rails, unsigned port);

// A rail as the peer has to know it.
aq_ibv_pair_info_t aq_ibv_rail_end(const aq_ibv_rails_t *rails, const aq_ibv_rail_t *rail);

// What a peer says about its rails: how many ports and queue pairs it has.
typedef struct aq_ibv_rail_ends {
    unsigned ports, count;
    const aq_ibv_pair_info_t *list;
} aq_ibv_rail_ends_t;

// Begins to connect the rails of a link with those of the peer, unless that has begun before, and
// gives up those that the peer does not have. Returns whether the thread has something to do for
// it.
bool aq_ibv_rail_set_connect(aq_ibv_rails_t *rails, aq_ibv_rail_set_t *set,
                             const aq_ibv_rail_ends_t *theirs);

// Takes in which rails the thread has connected, and frees the task, which is one of
// rails->finished. Returns the set. Logs the first failure of this process.
aq_ibv_rail_set_t *aq_ibv_rail_set_learn(aq_ibv_rails_t *rails, aq_ibv_task_t *task);
