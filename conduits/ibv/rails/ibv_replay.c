// SPDX-License-Identifier: BSD-3-Clause
// The journal and the transitions between ways. ibv_failover.c calls them for each post, completion
// and arrival, and carries out the moves.
#include "ibv_replay.h"

void aq_ibv_replay_init(aq_ibv_replay_t *replay, aq_ibv_entry_t *entries, unsigned depth)
{
    *replay = (aq_ibv_replay_t){.entries = entries, .depth = depth, .usable = 1, .opened = 1};
}

unsigned aq_ibv_replay_next(const aq_ibv_replay_t *replay)
{
    if (replay->called > replay->way)
        return replay->called;
    for (unsigned way = replay->way + 1; way < AQ_IBV_WAYS_MAX; way++)
        if (replay->usable >> way & 1)
            return way;
    return 0;
}

// ---- the journal ----

// The index of an entry that has `ahead` others before it.
static unsigned entry_index(const aq_ibv_replay_t *replay, unsigned ahead)
{
    return (replay->first + ahead) % replay->depth;
}

int aq_ibv_replay_post(aq_ibv_replay_t *replay, aq_ibv_entry_kind_t kind, bool signaled,
                       uint32_t position)
{
    if (replay->count == replay->depth)
        return -1;
    const unsigned index = entry_index(replay, replay->count++);
    const uint32_t number = kind == AQ_IBV_ENTRY_SEND ? ++replay->sent : position;
    replay->entries[index] = (aq_ibv_entry_t){.kind = kind, .number = number, .signaled = signaled};
    return (int)index;
}

int aq_ibv_replay_complete(aq_ibv_replay_t *replay)
{
    unsigned ahead = 0;
    while (ahead < replay->count && !replay->entries[entry_index(replay, ahead)].signaled)
        ahead++;
    if (ahead == replay->count)
        return -1;
    const unsigned index = entry_index(replay, ahead);
    replay->first = (index + 1) % replay->depth;
    replay->count -= ahead + 1;
    return (int)index;
}

// Whether the peer has received a message; numbers may wrap around.
static bool entry_is_received(const aq_ibv_entry_t *entry, const aq_ibv_replay_resync_t *theirs)
{
    if (entry->kind == AQ_IBV_ENTRY_SEND)
        return (int32_t)(theirs->received - entry->number) >= 0;
    return entry->kind == AQ_IBV_ENTRY_RING && (int32_t)(theirs->position - entry->number) >= 0;
}

// How many entries there are up to the last message that the peer has received.
static unsigned entries_done(const aq_ibv_replay_t *replay, const aq_ibv_replay_resync_t *theirs)
{
    unsigned done = 0;
    for (unsigned i = 0; i < replay->count; i++)
        if (entry_is_received(&replay->entries[entry_index(replay, i)], theirs))
            done = i + 1;
    return done;
}

// ---- ways ----

bool aq_ibv_replay_fail(aq_ibv_replay_t *replay, unsigned way)
{
    if (way != replay->way)
        return true;
    replay->failed = true;
    return aq_ibv_replay_next(replay) != 0;
}

void aq_ibv_replay_move(aq_ibv_replay_t *replay, unsigned way)
{
    replay->way = way;
    replay->failed = false;
    replay->moving = true;
}

// The first message of a way. The peer may have left this way, and its last resync come first.
static aq_ibv_arrived_t resync_arrive(aq_ibv_replay_t *replay, unsigned way)
{
    replay->opened |= UINT32_C(1) << way;
    if (way < replay->called)
        return AQ_IBV_ARRIVED_LATE;
    replay->called = way;
    replay->failed = replay->failed || way > replay->way;
    return AQ_IBV_ARRIVED_RESYNC;
}

aq_ibv_arrived_t aq_ibv_replay_arrive(aq_ibv_replay_t *replay, unsigned way)
{
    if (way < replay->way || way >= AQ_IBV_WAYS_MAX)
        return AQ_IBV_ARRIVED_LATE;
    if (!(replay->opened >> way & 1))
        return resync_arrive(replay, way);
    replay->received++;
    return AQ_IBV_ARRIVED_MESSAGE;
}

// How many messages the journal has, which the device of the peer may not have acknowledged.
static uint32_t entries_sent(const aq_ibv_replay_t *replay)
{
    uint32_t sent = 0;
    for (unsigned i = 0; i < replay->count; i++)
        sent += replay->entries[entry_index(replay, i)].kind == AQ_IBV_ENTRY_SEND;
    return sent;
}

static bool resync_fits(const aq_ibv_replay_t *replay, const aq_ibv_replay_resync_t *theirs)
{
    const uint32_t missing = replay->sent - theirs->received; // numbers may wrap around
    return missing <= entries_sent(replay);
}

aq_ibv_resync_verdict_t aq_ibv_replay_hear(aq_ibv_replay_t *replay,
                                           const aq_ibv_replay_resync_t *theirs)
{
    const unsigned done = entries_done(replay, theirs);
    aq_ibv_resync_verdict_t verdict =
        resync_fits(replay, theirs) ? AQ_IBV_RESYNC_GOOD : AQ_IBV_RESYNC_GAP;
    for (unsigned i = 0; i < replay->count; i++) {
        aq_ibv_entry_t *entry = &replay->entries[entry_index(replay, i)];
        entry->done = i < done && entry->kind != AQ_IBV_ENTRY_READ;
        if (entry->kind == AQ_IBV_ENTRY_ATOMIC)
            verdict = AQ_IBV_RESYNC_ATOMIC;
    }
    replay->moving = false;
    return verdict;
}
