// SPDX-License-Identifier: BSD-3-Clause
#include "ibv_renewal.h"

#include <stddef.h>

void aq_ibv_renewal_init(aq_ibv_renewal_t *renewal, aq_ibv_entry_t *entries, unsigned depth)
{
    *renewal = (aq_ibv_renewal_t){.entries = entries, .depth = depth, .usable = 1, .opened = 1};
}

unsigned aq_ibv_renewal_next(const aq_ibv_renewal_t *renewal)
{
    if (renewal->called > renewal->way)
        return renewal->called;
    for (unsigned way = renewal->way + 1; way < AQ_IBV_WAYS_MAX; way++)
        if (renewal->usable >> way & 1)
            return way;
    return 0;
}

// ---- the journal ----

// The index of an entry that has `ahead` others before it.
static unsigned entry_index(const aq_ibv_renewal_t *renewal, unsigned ahead)
{
    return (renewal->first + ahead) % renewal->depth;
}

int aq_ibv_renewal_post(aq_ibv_renewal_t *renewal, aq_ibv_entry_kind_t kind, bool signaled,
                        uint32_t position)
{
    if (renewal->count == renewal->depth)
        return -1;
    const unsigned index = entry_index(renewal, renewal->count++);
    const uint32_t number = kind == AQ_IBV_ENTRY_SEND ? ++renewal->sent : position;
    renewal->entries[index] =
        (aq_ibv_entry_t){.kind = kind, .number = number, .signaled = signaled};
    return (int)index;
}

int aq_ibv_renewal_complete(aq_ibv_renewal_t *renewal)
{
    unsigned ahead = 0;
    while (ahead < renewal->count && !renewal->entries[entry_index(renewal, ahead)].signaled)
        ahead++;
    if (ahead == renewal->count)
        return -1;
    const unsigned index = entry_index(renewal, ahead);
    renewal->first = (index + 1) % renewal->depth;
    renewal->count -= ahead + 1;
    return (int)index;
}

// Whether the peer has received a message; numbers may wrap around.
static bool entry_is_received(const aq_ibv_entry_t *entry, const aq_ibv_renewal_letter_t *theirs)
{
    if (entry->kind == AQ_IBV_ENTRY_SEND)
        return (int32_t)(theirs->received - entry->number) >= 0;
    return entry->kind == AQ_IBV_ENTRY_RING && (int32_t)(theirs->position - entry->number) >= 0;
}

// How many entries there are up to the last message that the peer has received.
static unsigned entries_done(const aq_ibv_renewal_t *renewal, const aq_ibv_renewal_letter_t *theirs)
{
    unsigned done = 0;
    for (unsigned i = 0; i < renewal->count; i++)
        if (entry_is_received(&renewal->entries[entry_index(renewal, i)], theirs))
            done = i + 1;
    return done;
}

// ---- ways ----

bool aq_ibv_renewal_fail(aq_ibv_renewal_t *renewal, unsigned way)
{
    if (way != renewal->way)
        return true;
    renewal->failed = true;
    return aq_ibv_renewal_next(renewal) != 0;
}

void aq_ibv_renewal_move(aq_ibv_renewal_t *renewal, unsigned way)
{
    renewal->way = way;
    renewal->failed = false;
    renewal->moving = true;
}

// The first message of a way. The peer may have left this way, and its last letter come first.
static aq_ibv_arrived_t letter_arrive(aq_ibv_renewal_t *renewal, unsigned way)
{
    renewal->opened |= UINT32_C(1) << way;
    if (way < renewal->called)
        return AQ_IBV_ARRIVED_LATE;
    renewal->called = way;
    renewal->failed = renewal->failed || way > renewal->way;
    return AQ_IBV_ARRIVED_LETTER;
}

aq_ibv_arrived_t aq_ibv_renewal_arrive(aq_ibv_renewal_t *renewal, unsigned way)
{
    if (way < renewal->way || way >= AQ_IBV_WAYS_MAX)
        return AQ_IBV_ARRIVED_LATE;
    if (!(renewal->opened >> way & 1))
        return letter_arrive(renewal, way);
    renewal->received++;
    return AQ_IBV_ARRIVED_MESSAGE;
}

// How many messages the journal has, which the device of the peer may not have acknowledged.
static uint32_t entries_sent(const aq_ibv_renewal_t *renewal)
{
    uint32_t sent = 0;
    for (unsigned i = 0; i < renewal->count; i++)
        sent += renewal->entries[entry_index(renewal, i)].kind == AQ_IBV_ENTRY_SEND;
    return sent;
}

static bool letter_fits(const aq_ibv_renewal_t *renewal, const aq_ibv_renewal_letter_t *theirs)
{
    const uint32_t missing = renewal->sent - theirs->received; // numbers may wrap around
    return missing <= entries_sent(renewal);
}

aq_ibv_letter_verdict_t aq_ibv_renewal_hear(aq_ibv_renewal_t *renewal,
                                            const aq_ibv_renewal_letter_t *theirs)
{
    const unsigned done = entries_done(renewal, theirs);
    aq_ibv_letter_verdict_t heard =
        letter_fits(renewal, theirs) ? AQ_IBV_LETTER_GOOD : AQ_IBV_LETTER_GAP;
    for (unsigned i = 0; i < renewal->count; i++) {
        aq_ibv_entry_t *entry = &renewal->entries[entry_index(renewal, i)];
        entry->done = i < done && entry->kind != AQ_IBV_ENTRY_READ;
        if (entry->kind == AQ_IBV_ENTRY_ATOMIC)
            heard = AQ_IBV_LETTER_ATOMIC;
    }
    renewal->moving = false;
    return heard;
}
