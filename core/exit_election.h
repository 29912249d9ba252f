// The election of a master, and the news of the end, among the ranks of a job: a state machine
// without input, output or clock. Whoever runs it passes in what arrives and the time, and takes
// out what is to be sent; so it is the same over a network, in a simulation of 100,000 ranks, and
// in the model (tests/model/exit.pml).
//
//   candidate c      elector 0               the tree of master m; place = (rank - m) mod N
//      | --- ASK ------> | the first one               0            place p has the children
//      | <-- ANSWER m -- | is the master             / | \          p K + 1 ... p K + K
//                                                   1  2 .. K
//   who knows m: END to its children, and         /|\  ...
//   each answers HEARD to whoever told it
//
// Always true:
// - A ballot says who elected whom, with which code. It is complete or unknown, and one is stronger
//   than another one if its elector is lower, and then if its master is. What a rank knows only
//   ever gets stronger, and any message that shows an older ballot is answered with the newer one.
// - Only candidates and elector 0 make ballots unless elector 0 is silent: then ranks 1 and 2 are
//   asked, and at last a candidate takes itself. So there is one ballot, and one code, as long as
//   rank 0 lives and is reached in time.
// - ASK and END are requests, ANSWER and HEARD their replies. Nobody tells a rank twice but to
// repeat
//   what was not answered. So, if nothing is lost, there are at most 2 (N - 1) messages to elect
//   and 2 (N - 1) to tell.
// - A slot walks over one subtree of the own children: from a rank that is silent for all tries to
// its
//   children, else to the next one. It needs no memory that grows with N. For a master who does
//   not tell anybody its elector stands in.
#ifndef AQ_EXIT_ELECTION_H
#define AQ_EXIT_ELECTION_H

#include <stdbool.h>
#include <stdint.h>

#define AQ_ELECTION_DEGREE 8u   // children of a place
#define AQ_ELECTION_ELECTORS 3u // ranks that are asked, one after the other, while they are silent

typedef struct aq_ballot {
    uint32_t elector; // AQ_ELECTION_ELECTORS: the master by itself
    uint32_t master;
    int32_t code; // exit code of the job
} aq_ballot_t;

typedef enum aq_news_kind {
    AQ_NEWS_ASK,    // the ballot that the sender would like to have
    AQ_NEWS_ANSWER, // to ASK: what the elector knows
    AQ_NEWS_END,    // the job ends
    AQ_NEWS_HEARD,  // to END: what the sender knows now
} aq_news_kind_t;

typedef struct aq_news {
    aq_news_kind_t kind;
    aq_ballot_t ballot;
} aq_news_t;

typedef struct aq_election_timing {
    uint64_t retry_ns; // an answer that takes longer is asked for again
    unsigned tries;    // so many times in all; then the rank is taken for dead. At least 1
    uint64_t limit_ns; // for the whole, from when this rank first knows or asks
} aq_election_timing_t;

// One rank that is to answer.
typedef struct aq_election_slot {
    uint32_t top, at; // places: of the own child, and of the rank in its subtree that is asked now
    unsigned tries;   // done so far
    uint64_t due;     // of the next one
    bool over;
} aq_election_slot_t;

typedef enum aq_election_state {
    AQ_ELECTION_IDLE,
    AQ_ELECTION_ASKING,  // a candidate
    AQ_ELECTION_TELLING, // knows the code, and tells others
    AQ_ELECTION_DONE,    // all that this rank is to tell have heard, and it was told itself
    AQ_ELECTION_GAVE_UP, // the time is over
} aq_election_state_t;

typedef struct aq_election {
    uint32_t rank, size;
    aq_election_timing_t timing;
    aq_election_state_t state;
    aq_ballot_t ballot; // ASKING: wanted; later: known
    uint64_t begun;
    uint32_t silent;   // ranks that were taken for dead
    bool told;         // END has come from a parent, or there is none
    uint64_t stand_in; // when the elector does the work of a master who is silent
    aq_election_slot_t ask;
    aq_election_slot_t child[AQ_ELECTION_DEGREE];
} aq_election_t;

// rank < size. Nothing begins yet.
void aq_election_init(aq_election_t *e, uint32_t rank, uint32_t size,
                      const aq_election_timing_t *timing);

// This rank wants the job to end with code. No effect when it has begun or heard of the end
// already.
void aq_election_begin(aq_election_t *e, int32_t code, uint64_t now);

// A message of rank `from` has arrived; any state. True: *reply is to go back to it at once.
bool aq_election_hear(aq_election_t *e, uint32_t from, const aq_news_t *news, uint64_t now,
                      aq_news_t *reply);

// Takes the next message that is to be sent at this time; false when there is none. *to < size, and
// never this rank. Also sees to time limits: it is to be called again at aq_election_due.
bool aq_election_next(aq_election_t *e, uint64_t now, uint32_t *to, aq_news_t *out);

// When something is due next if nothing arrives: now or earlier, later, or UINT64_MAX.
uint64_t aq_election_due(const aq_election_t *e);

// Whether the code of the job is known here: e->ballot.code.
static inline bool aq_election_knows(const aq_election_t *e)
{
    return e->state > AQ_ELECTION_ASKING;
}

// Whether this rank has nothing more to do but to answer.
static inline bool aq_election_over(const aq_election_t *e)
{
    return e->state >= AQ_ELECTION_DONE;
}

#endif
