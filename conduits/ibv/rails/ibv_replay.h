// SPDX-License-Identifier: BSD-3-Clause
// The replay of a link: how its traffic moves to another queue pair when the one that carries it
// fails. A state machine without input and output, with a journal of what is outstanding.
//
// A link has ways: number 0 is its first queue pair, number k one on port k of both sides.
//
//      A: way 0 fails    closes it, takes what has arrived on it, moves:
//                        sends a resync as the first message of way 1 ------------------> B
//      B:                closes way 0, takes what has arrived on it, moves:
//                        sends a resync as the first message of way 1 ------------------> A
//      both, when they have moved and have the peer's resync: post again what is outstanding
//
// What is always true:
// - The traffic moves to ways with higher numbers only. A side that gets a resync on a higher way
//   moves there, too, so both sides may fail at different times, and a way may fail meanwhile.
// - A message that the device of the peer has acknowledged is not in the journal any more, though
//   the peer may not have taken it yet. So a side moves only when it has closed its way, on which
//   nothing arrives any more, and has taken everything that had arrived there.
// - The resync says how many messages its sender has received. This number does not change before
//   the peer posts again. A resync that says fewer than were acknowledged is refused.
// - A queue pair delivers in order: so everything that was posted ahead of a message that the peer
//   has received is done, except reads, and is not done again.
// - The journal has the work requests from the oldest that is not known to be complete, in order.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { AQ_IBV_WAYS_MAX = 8 };

typedef enum aq_ibv_entry_kind {
    AQ_IBV_ENTRY_SEND,
    AQ_IBV_ENTRY_RING, // a message that is written into a ring of the peer
    AQ_IBV_ENTRY_WRITE,
    AQ_IBV_ENTRY_READ,
    AQ_IBV_ENTRY_ATOMIC, // cannot be repeated
} aq_ibv_entry_kind_t;

typedef struct aq_ibv_entry {
    aq_ibv_entry_kind_t kind;
    uint32_t number; // of a message, from 1; in a ring: its position there
    bool signaled;
    bool done; // by the peer, though its completion was lost
} aq_ibv_entry_t;

// What one side tells the other on a new way.
typedef struct aq_ibv_replay_resync {
    uint32_t received; // messages in buffers since the connection was made
    uint32_t position; // of the last message in the ring of the peer; 0: none
} aq_ibv_replay_resync_t;

typedef struct aq_ibv_replay {
    unsigned way;    // that carries the traffic, or will
    unsigned called; // the highest way on which the peer's resync came; 0: none
    bool failed;     // it has failed, or the peer has left it, and aq_ibv_replay_move is due
    bool moving;     // the peer's resync is not here yet: nothing is posted
    uint32_t usable; // bit k: this side has connected way k
    uint32_t opened; // bit k: the peer's resync came on way k
    uint32_t sent, received;
    unsigned depth, first, count; // of the journal
    aq_ibv_entry_t *entries;      // the caller's, as many as depth says
} aq_ibv_replay_t;

// What to do with a message that has arrived.
typedef enum aq_ibv_arrived {
    AQ_IBV_ARRIVED_MESSAGE, // it is the next one
    AQ_IBV_ARRIVED_RESYNC,  // call aq_ibv_replay_hear, if failed is set when the side has moved
    AQ_IBV_ARRIVED_LATE,    // ignore it: it will come again
} aq_ibv_arrived_t;

void aq_ibv_replay_init(aq_ibv_replay_t *replay, aq_ibv_entry_t *entries, unsigned depth);

// Whether work requests may be posted now. Otherwise they wait in the journal.
static inline bool aq_ibv_replay_carries(const aq_ibv_replay_t *replay)
{
    return !replay->failed && !replay->moving;
}

// The way to move to: the one that the peer has moved to, or the next one that this side has
// connected; 0: none. The first may not be connected here yet (usable); then the move has to wait.
unsigned aq_ibv_replay_next(const aq_ibv_replay_t *replay);

// Adds a work request to the journal. position: of a message in a ring. Returns its index; -1: the
// journal is full.
int aq_ibv_replay_post(aq_ibv_replay_t *replay, aq_ibv_entry_kind_t kind, bool signaled,
                       uint32_t position);

// The way has completed its oldest signaled work request: takes it, and all before it, out of the
// journal. Returns its index; -1: there is none.
int aq_ibv_replay_complete(aq_ibv_replay_t *replay);

// A way has failed. False: there is no other, and the peer is lost. True: if failed is set, call
// aq_ibv_replay_move; otherwise it was an earlier way.
bool aq_ibv_replay_fail(aq_ibv_replay_t *replay, unsigned way);

// Moves to a way. The caller has closed the one before, and has passed everything that had arrived
// there to aq_ibv_replay_arrive. It then sends a resync as the first message of the new one, and
// calls aq_ibv_replay_hear if `called` says that the peer's resync has come on it.
void aq_ibv_replay_move(aq_ibv_replay_t *replay, unsigned way);

// A message has arrived on a way.
aq_ibv_arrived_t aq_ibv_replay_arrive(aq_ibv_replay_t *replay, unsigned way);

typedef enum aq_ibv_resync_verdict {
    AQ_IBV_RESYNC_GOOD,
    AQ_IBV_RESYNC_ATOMIC, // an atomic, which cannot be repeated, may or may not be done
    AQ_IBV_RESYNC_GAP, // the resync says fewer messages than were acknowledged, or more than sent
} aq_ibv_resync_verdict_t;

// Takes the peer's resync of the present way: marks what is done. From now on the way carries the
// traffic, beginning with the whole journal; what is done as an empty write. Otherwise the peer is
// lost.
aq_ibv_resync_verdict_t aq_ibv_replay_hear(aq_ibv_replay_t *replay,
                                           const aq_ibv_replay_resync_t *theirs);
