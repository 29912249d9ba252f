// SPDX-License-Identifier: BSD-3-Clause
// The state machine of the election. exit_broadcast.c passes in messages and the time, and sends
// what it takes out.
#include "exit_election.h"

// ---- the tree ----

static uint32_t place_of(const aq_election_t *e, uint32_t rank)
{
    return (uint32_t)(((uint64_t)rank + e->size - e->ballot.master) % e->size);
}

static uint32_t rank_at(const aq_election_t *e, uint32_t place)
{
    return (uint32_t)(((uint64_t)place + e->ballot.master) % e->size);
}

static uint64_t first_child(uint32_t place)
{
    return (uint64_t)place * AQ_ELECTION_DEGREE + 1;
}

static bool is_last_child(const aq_election_t *e, uint32_t place)
{
    return place % AQ_ELECTION_DEGREE == 0 || place + 1 == e->size;
}

// Moves a slot to the next rank: the current rank has acknowledged, or is dead and leaves its
// children to this rank.
static void move_on(const aq_election_t *e, aq_election_slot_t *slot, bool dead, uint64_t now)
{
    slot->tries = 0;
    slot->due = now;
    if (dead && first_child(slot->at) < e->size) {
        slot->at = (uint32_t)first_child(slot->at);
        return;
    }
    while (slot->at != slot->top && is_last_child(e, slot->at))
        slot->at = (slot->at - 1) / AQ_ELECTION_DEGREE;
    if (slot->at == slot->top)
        slot->over = true;
    else
        slot->at++;
}

// ---- the known ballot ----

static bool is_stronger(const aq_ballot_t *a, const aq_ballot_t *b)
{
    return a->elector != b->elector ? a->elector < b->elector : a->master < b->master;
}

static bool is_same(const aq_ballot_t *a, const aq_ballot_t *b)
{
    return a->elector == b->elector && a->master == b->master;
}

static bool has_told_all(const aq_election_t *e)
{
    bool all = true;
    for (unsigned i = 0; i < AQ_ELECTION_DEGREE; i++)
        all = all && e->child[i].over;
    return all;
}

static void check_done(aq_election_t *e)
{
    if (e->state == AQ_ELECTION_TELLING && e->told && has_told_all(e))
        e->state = AQ_ELECTION_DONE;
}

// A slot for the subtree at that place, if there is one.
static void set_slot(const aq_election_t *e, aq_election_slot_t *slot, uint64_t place, uint64_t now)
{
    *slot = (aq_election_slot_t){
        .top = (uint32_t)place, .at = (uint32_t)place, .due = now, .over = place >= e->size};
}

static bool time_is_over(const aq_election_t *e, uint64_t now)
{
    return e->state != AQ_ELECTION_IDLE && now - e->begun >= e->timing.limit_ns;
}

// Adopts a ballot if it is stronger than the known one, and then notifies the children, again if
// needed.
static void learn_ballot(aq_election_t *e, const aq_ballot_t *ballot, uint64_t now)
{
    if (time_is_over(e, now) || (aq_election_knows(e) && !is_stronger(ballot, &e->ballot)))
        return;
    if (e->state == AQ_ELECTION_IDLE)
        e->begun = now;
    e->state = AQ_ELECTION_TELLING;
    e->ballot = *ballot;
    e->told = ballot->master == e->rank;
    e->stand_in = now + e->timing.tries * e->timing.retry_ns;
    const uint64_t first = first_child(place_of(e, e->rank));
    for (unsigned i = 0; i < AQ_ELECTION_DEGREE; i++)
        set_slot(e, &e->child[i], first + i, now);
    check_done(e);
}

// ---- input ----

void aq_election_init(aq_election_t *e, uint32_t rank, uint32_t size,
                      const aq_election_timing_t *timing)
{
    *e = (aq_election_t){.rank = rank, .size = size, .timing = *timing};
}

void aq_election_begin(aq_election_t *e, int32_t code, uint64_t now)
{
    if (e->state != AQ_ELECTION_IDLE)
        return;
    e->begun = now;
    const aq_ballot_t own = {0, e->rank, code};
    if (e->rank == 0) {
        learn_ballot(e, &own, now);
        return;
    }
    e->state = AQ_ELECTION_ASKING;
    e->ballot = own;
    e->ask = (aq_election_slot_t){.due = now};
}

// The first candidate that asks becomes the master; the elector knows the ballot, too.
static void hear_ask(aq_election_t *e, const aq_ballot_t *wanted, uint64_t now)
{
    if (!aq_election_knows(e))
        learn_ballot(e, wanted, now);
}

static void hear_end(aq_election_t *e, const aq_ballot_t *ballot, uint64_t now)
{
    learn_ballot(e, ballot, now);
    if (is_same(ballot, &e->ballot))
        e->told = true;
}

// A rank that knows a stronger ballot is notified by its parent in the tree of that ballot.
static void hear_ack(aq_election_t *e, uint32_t from, const aq_ballot_t *ballot, uint64_t now)
{
    learn_ballot(e, ballot, now);
    const uint32_t place = place_of(e, from);
    for (unsigned i = 0; is_same(ballot, &e->ballot) && i < AQ_ELECTION_DEGREE; i++)
        if (!e->child[i].over && e->child[i].at == place)
            move_on(e, &e->child[i], false, now);
}

bool aq_election_hear(aq_election_t *e, uint32_t from, const aq_exit_message_t *message,
                      uint64_t now, aq_exit_message_t *reply)
{
    if (message->kind == AQ_EXIT_ASK)
        hear_ask(e, &message->ballot, now);
    else if (message->kind == AQ_EXIT_ANSWER)
        learn_ballot(e, &message->ballot, now);
    else if (message->kind == AQ_EXIT_END)
        hear_end(e, &message->ballot, now);
    else if (aq_election_knows(e))
        hear_ack(e, from, &message->ballot, now);
    check_done(e);
    *reply =
        (aq_exit_message_t){message->kind == AQ_EXIT_ASK ? AQ_EXIT_ANSWER : AQ_EXIT_ACK, e->ballot};
    return message->kind == AQ_EXIT_ASK || message->kind == AQ_EXIT_END;
}

// ---- output ----

// Whether a slot has to send now; if so, counts a try.
static bool takes_turn(const aq_election_t *e, aq_election_slot_t *slot, uint64_t now)
{
    if (slot->over || now < slot->due)
        return false;
    slot->tries++;
    slot->due = now + e->timing.retry_ns;
    return true;
}

// Asks the next elector after this one has not answered any try; after the last elector, the
// candidate elects itself.
static bool ask_elector(aq_election_t *e, uint64_t now, uint32_t *to, aq_exit_message_t *out)
{
    while (e->ask.tries == e->timing.tries && now >= e->ask.due) {
        e->silent++;
        e->ballot.elector++;
        e->ask = (aq_election_slot_t){.due = now};
        const aq_ballot_t own = e->ballot;
        if (own.elector == AQ_ELECTION_ELECTORS || own.elector == e->rank) {
            learn_ballot(e, &own, now);
            return false;
        }
    }
    if (!takes_turn(e, &e->ask, now))
        return false;
    *to = e->ballot.elector;
    *out = (aq_exit_message_t){AQ_EXIT_ASK, e->ballot};
    return true;
}

static bool tell_child(aq_election_t *e, aq_election_slot_t *slot, uint64_t now, uint32_t *to,
                       aq_exit_message_t *out)
{
    if (!slot->over && slot->tries == e->timing.tries && now >= slot->due) {
        e->silent++;
        move_on(e, slot, true, now);
    }
    if (!slot->over && rank_at(e, slot->at) == e->rank)
        move_on(e, slot, false, now);
    if (!takes_turn(e, slot, now))
        return false;
    *to = rank_at(e, slot->at);
    *out = (aq_exit_message_t){AQ_EXIT_END, e->ballot};
    return true;
}

static bool tell_next(aq_election_t *e, uint64_t now, uint32_t *to, aq_exit_message_t *out)
{
    for (unsigned i = 0; i < AQ_ELECTION_DEGREE; i++)
        if (tell_child(e, &e->child[i], now, to, out))
            return true;
    return false;
}

// After its own children have acknowledged, the elector notifies the children of a master that has
// not notified the elector and so seems dead.
static bool stand_in(aq_election_t *e, uint64_t now)
{
    if (e->told || e->ballot.elector != e->rank || now < e->stand_in || !has_told_all(e))
        return false;
    e->silent++;
    e->told = true;
    for (unsigned i = 0; i < AQ_ELECTION_DEGREE; i++)
        set_slot(e, &e->child[i], first_child(0) + i, now);
    return true;
}

bool aq_election_next(aq_election_t *e, uint64_t now, uint32_t *to, aq_exit_message_t *out)
{
    if (e->state == AQ_ELECTION_ASKING && ask_elector(e, now, to, out))
        return true;
    if (e->state == AQ_ELECTION_TELLING &&
        (tell_next(e, now, to, out) || (stand_in(e, now) && tell_next(e, now, to, out))))
        return true;
    check_done(e);
    if (!aq_election_over(e) && time_is_over(e, now))
        e->state = AQ_ELECTION_GAVE_UP;
    return false;
}
