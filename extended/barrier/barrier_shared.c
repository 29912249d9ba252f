// SPDX-License-Identifier: BSD-3-Clause
// The step of a barrier inside a neighbourhood, through shared memory.
//
// In a small neighbourhood each process writes its own cache line and reads those of the other
// processes, so a barrier of two processes costs one line transfer each way, at the same time. A
// larger neighbourhood has a counter; the last process to arrive changes one word that the other
// processes read.
#include <string.h>

#include "../../core/conduit.h"
#include "../../core/state/job.h"
#include "barrier_shared.h"

typedef struct place {
    _Alignas(64) _Atomic uint32_t phase; // the phase at which this process has arrived
    _Atomic aq_vote_t vote;
} place_t;

typedef struct counted {
    _Alignas(64) _Atomic uint32_t count;
    _Atomic aq_vote_t vote;
    _Alignas(64) _Atomic uint32_t released; // phase
    _Atomic aq_vote_t result;
} counted_t;

// The scratch of each process; only the counters of the first process are used. [2]: odd and even
// phases.
struct aq_shared_barrier {
    place_t place[2];
    counted_t counted[2];
    _Alignas(64) _Atomic uint32_t left; // members of the last team that have left
    _Atomic uint32_t lookers;           // number of members
};
_Static_assert(sizeof(struct aq_shared_barrier) <= AQ_SHARED_BARRIER_BYTES,
               "barriers overlap in the scratch");

static counted_t *counted_of(const aq_shared_side_t *side, uint32_t phase)
{
    return &side->at[0]->counted[phase & 1];
}

static bool is_small(const aq_shared_side_t *side)
{
    return side->last_releases && side->size <= AQ_SHARED_SMALL;
}

static void wake_neighbourhood(void)
{
    aq_conduit_wake(aq_job.conduits[0], true);
}

// A neighbourhood of one process uses its own area only.
void aq_shared_start(aq_shared_side_t *side, void *const *areas, uint32_t size, uint32_t index,
                     bool last_releases)
{
    *side = (aq_shared_side_t){.size = size, .index = index, .last_releases = last_releases};
    for (uint32_t i = 0; i < size && i < AQ_SHARED_SMALL; i++)
        side->at[i] = areas[i];
    if (size > 1 && index < AQ_SHARED_SMALL)
        atomic_store_explicit(&side->at[index]->lookers, size, memory_order_relaxed);
}

void aq_shared_end(aq_shared_side_t *side)
{
    for (uint32_t i = 0; side->size > 1 && i < side->size && i < AQ_SHARED_SMALL; i++)
        atomic_fetch_add_explicit(&side->at[i]->left, 1, memory_order_release);
}

bool aq_shared_reset(void *area)
{
    struct aq_shared_barrier *shared = area;
    if (atomic_load_explicit(&shared->left, memory_order_acquire) !=
        atomic_load_explicit(&shared->lookers, memory_order_relaxed))
        return false;
    memset(area, 0, sizeof *shared);
    return true;
}

static void join_vote(counted_t *c, aq_vote_t vote)
{
    aq_vote_t old = atomic_load_explicit(&c->vote, memory_order_relaxed);
    while (vote != AQ_VOTE_NONE &&
           !atomic_compare_exchange_weak(&c->vote, &old, aq_vote_join(old, vote)))
        ;
}

void aq_shared_arrive(aq_shared_side_t *side, uint32_t phase, aq_vote_t vote)
{
    if (is_small(side)) {
        place_t *mine = &side->at[side->index]->place[phase & 1];
        side->seen = 0;
        side->joined = AQ_VOTE_NONE;
        atomic_store_explicit(&mine->vote, vote, memory_order_relaxed);
        atomic_store_explicit(&mine->phase, phase, memory_order_release);
        wake_neighbourhood();
        return;
    }
    counted_t *c = counted_of(side, phase);
    join_vote(c, vote);
    uint32_t arrived = atomic_fetch_add_explicit(&c->count, 1, memory_order_acq_rel) + 1;
    if (arrived == side->size && side->last_releases)
        aq_shared_release(side, phase, atomic_load_explicit(&c->vote, memory_order_relaxed));
    else if (arrived == side->size)
        wake_neighbourhood(); // the first process takes the next step
}

bool aq_shared_gathered(aq_shared_side_t *side, uint32_t phase, aq_vote_t *vote)
{
    counted_t *c = counted_of(side, phase);
    if (atomic_load_explicit(&c->count, memory_order_acquire) != side->size)
        return false;
    *vote = atomic_load_explicit(&c->vote, memory_order_relaxed);
    return true;
}

// Clears count and vote before any process is released: no process uses this copy again before the
// phase after the next one.
void aq_shared_release(aq_shared_side_t *side, uint32_t phase, aq_vote_t vote)
{
    counted_t *c = counted_of(side, phase);
    atomic_store_explicit(&c->count, 0, memory_order_relaxed);
    atomic_store_explicit(&c->vote, AQ_VOTE_NONE, memory_order_relaxed);
    atomic_store_explicit(&c->result, vote, memory_order_relaxed);
    atomic_store_explicit(&c->released, phase, memory_order_release);
    wake_neighbourhood();
}

static bool all_here(aq_shared_side_t *side, uint32_t phase)
{
    for (; side->seen < side->size; side->seen++) {
        place_t *other = &side->at[side->seen]->place[phase & 1];
        if (atomic_load_explicit(&other->phase, memory_order_acquire) != phase)
            return false;
        side->joined =
            aq_vote_join(side->joined, atomic_load_explicit(&other->vote, memory_order_relaxed));
    }
    return true;
}

bool aq_shared_released(aq_shared_side_t *side, uint32_t phase, aq_vote_t *vote)
{
    if (is_small(side)) {
        if (!all_here(side, phase))
            return false;
        *vote = side->joined;
        return true;
    }
    counted_t *c = counted_of(side, phase);
    if (atomic_load_explicit(&c->released, memory_order_acquire) != phase)
        return false;
    *vote = atomic_load_explicit(&c->result, memory_order_relaxed);
    return true;
}
