// SPDX-License-Identifier: BSD-3-Clause
// The election of a master and the broadcast of the end among the ranks of a job: a state machine
// without input, output or clock. The caller passes in arriving messages and the time, and takes
// out messages to send. So the same code runs over a network, in a simulation of 100,000 ranks, and
// in the model (tests/model/exit.pml).
//
//   candidate c      elector 0               the tree of master m; place = (rank - m) mod N
//      | --- ASK ------> | the first one               0            place p has the children
//      | <-- ANSWER m -- | is the master             / | \          p K + 1 ... p K + K
//                                                   1  2 .. K
//   a rank that knows m: END to its children,     /|\  ...
//   each answers ACK to the sender
//
// Always true:
// - A ballot has an elector, a master and a code. A ballot is stronger than another if it has a
//   lower elector, or the same elector and a lower master. The ballot of a rank only gets stronger,
//   and a rank answers a message with a weaker ballot by its own ballot.
// - Only candidates and elector 0 create ballots unless elector 0 is silent: then candidates ask
//   ranks 1 and 2, and finally elect themselves. So there is one ballot, and one code, while rank 0
//   lives and answers in time.
// - ASK and END are requests, ANSWER and ACK their replies. A rank repeats only requests that
//   were not answered. So, if nothing is lost, there are at most 2 (N - 1) messages to elect and
//   2 (N - 1) to tell all ranks.
// - A slot traverses the subtree of one child of this rank: from a rank that answers no try to the
//   children of that rank, otherwise to the next rank. No memory grows with N. The elector replaces
//   a master that notifies no rank.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define AQ_ELECTION_DEGREE 8u   // children of a place
#define AQ_ELECTION_ELECTORS 3u // ranks that candidates ask, one after the other

typedef struct aq_ballot {
    uint32_t elector; // AQ_ELECTION_ELECTORS: the master elected itself
    uint32_t master;
    int32_t code; // exit code of the job
} aq_ballot_t;

typedef enum aq_exit_message_kind {
    AQ_EXIT_ASK,    // has the ballot that the sender proposes
    AQ_EXIT_ANSWER, // to ASK: has the ballot of the elector
    AQ_EXIT_END,    // the job ends
    AQ_EXIT_ACK,    // to END: has the ballot of the sender
} aq_exit_message_kind_t;

typedef struct aq_exit_message {
    aq_exit_message_kind_t kind;
    aq_ballot_t ballot;
} aq_exit_message_t;

typedef struct aq_election_timing {
    uint64_t retry_ns; // time until an unanswered request is repeated
    unsigned tries;    // at least 1; a rank that answers none of them counts as dead
    uint64_t limit_ns; // for the election, from the time when this rank first knows or asks
} aq_election_timing_t;

// A rank that this rank awaits an answer from.
typedef struct aq_election_slot {
    uint32_t top, at; // places: of the child, and of the current rank in its subtree
    unsigned tries;   // made so far
    uint64_t due;     // time of the next try
    bool over;
} aq_election_slot_t;

typedef enum aq_election_state {
    AQ_ELECTION_IDLE,
    AQ_ELECTION_ASKING,  // a candidate
    AQ_ELECTION_TELLING, // knows the code, and notifies other ranks
    AQ_ELECTION_DONE,    // was notified, and all ranks that it notifies have acknowledged
    AQ_ELECTION_GAVE_UP, // the time limit is over
} aq_election_state_t;

typedef struct aq_election {
    uint32_t rank, size;
    aq_election_timing_t timing;
    aq_election_state_t state;
    aq_ballot_t ballot; // ASKING: wanted; later: known
    uint64_t begun;
    uint32_t silent;   // ranks that counted as dead
    bool told;         // END has arrived from the parent, or there is no parent
    uint64_t stand_in; // time when the elector replaces a silent master
    aq_election_slot_t ask;
    aq_election_slot_t child[AQ_ELECTION_DEGREE];
} aq_election_t;

// Initializes the election of this rank, rank < size; starts nothing.
void aq_election_init(aq_election_t *e, uint32_t rank, uint32_t size,
                      const aq_election_timing_t *timing);

// This rank ends the job with code. No effect if this rank has begun or knows of the end already.
void aq_election_begin(aq_election_t *e, int32_t code, uint64_t now);

// Handles a message of rank from, in any state. If it returns true, the caller sends *reply to that
// rank at once.
bool aq_election_hear(aq_election_t *e, uint32_t from, const aq_exit_message_t *message,
                      uint64_t now, aq_exit_message_t *reply);

// Takes the next message to send at this time; false if there is none. *to is below size and never
// this rank. Also checks time limits, so call it often.
bool aq_election_next(aq_election_t *e, uint64_t now, uint32_t *to, aq_exit_message_t *out);

// Whether this rank knows the code of the job: e->ballot.code.
static inline bool aq_election_knows(const aq_election_t *e)
{
    return e->state > AQ_ELECTION_ASKING;
}

// Whether this rank only has to answer from now on.
static inline bool aq_election_over(const aq_election_t *e)
{
    return e->state >= AQ_ELECTION_DONE;
}
