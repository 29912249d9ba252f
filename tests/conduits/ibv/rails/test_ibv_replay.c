// SPDX-License-Identifier: BSD-3-Clause
// The replay of a link of conduit ibv: two sides with several ways between them, which lose what
// is under way when they are cut, by random schedules. Each side learns of a cut on its own, late,
// and further ways are cut meanwhile. AQ_SCHEDULES says how many schedules to run.
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/ibv/rails/ibv_replay.h"
#include "../../../unit/random_below.h"

enum { WAYS = 4, DEPTH = 8, FLIGHT = 64, SCHEDULES = 5000, STEPS = 400, RESYNC = 100 };

// A work request under way.
typedef struct packet {
    int kind; // aq_ibv_entry_kind_t or RESYNC; -1: an empty write
    uint32_t what;
    bool signaled;
    aq_ibv_replay_resync_t resync;
} packet_t;

// One direction of a way. [0, delivered) has reached the device of the peer, [0, completed) is
// known to have, and the peer has taken the messages of [0, taken) out of its completion queue.
typedef struct wire {
    packet_t packets[FLIGHT];
    unsigned posted, delivered, completed, taken;
} wire_t;

typedef struct side {
    aq_ibv_replay_t replay;
    aq_ibv_entry_t entries[DEPTH];
    uint32_t ids[DEPTH]; // by index of the journal: the order of posts
    uint32_t next_id, completed;
    uint32_t next_message, next_position; // to post
    uint32_t messages, positions;         // that have arrived
    uint32_t messages_before[4 * STEPS];  // by id: messages that were posted ahead of it
    wire_t wires[WAYS];
    bool closed[WAYS]; // its queue pair
    aq_ibv_replay_resync_t resync;
    bool lost;
} side_t;

static side_t sides[2];
static bool cut[WAYS];
static uint64_t random_state;

static void sides_start(unsigned ways)
{
    memset(sides, 0, sizeof sides);
    memset(cut, 0, sizeof cut);
    for (unsigned i = 0; i < 2; i++) {
        aq_ibv_replay_init(&sides[i].replay, sides[i].entries, DEPTH);
        for (unsigned way = 1; way < ways; way++)
            sides[i].replay.usable |= 1u << way;
    }
}

// ---- posting ----

static void packet_post(side_t *side, packet_t packet)
{
    wire_t *wire = &side->wires[side->replay.way];
    assert_true(wire->posted < FLIGHT);
    wire->packets[wire->posted++] = packet;
}

static void entry_post(side_t *side, unsigned index)
{
    const aq_ibv_entry_t *entry = &side->entries[index];
    const bool by_id =
        entry->kind == AQ_IBV_ENTRY_WRITE || entry->kind == AQ_IBV_ENTRY_READ || entry->done;
    packet_post(side, (packet_t){.kind = entry->done ? -1 : (int)entry->kind,
                                 .what = by_id ? side->ids[index] : entry->number,
                                 .signaled = entry->signaled});
}

// The last entry that the journal has room for is signaled, as the send queue does it.
static void work_post(side_t *side)
{
    const aq_ibv_entry_kind_t kind = random_below(&random_state, AQ_IBV_ENTRY_ATOMIC);
    const bool signaled = random_below(&random_state, 2) || side->replay.count == DEPTH - 1;
    if (side->replay.count == DEPTH || side->next_id == 4 * STEPS)
        return;
    const int index = aq_ibv_replay_post(&side->replay, kind, signaled, side->next_position + 1);
    assert_true(index >= 0);
    side->next_position += kind == AQ_IBV_ENTRY_RING;
    side->messages_before[side->next_id] = side->next_message;
    side->next_message += kind == AQ_IBV_ENTRY_SEND;
    side->ids[index] = side->next_id++;
    if (aq_ibv_replay_carries(&side->replay))
        entry_post(side, (unsigned)index);
}

static void journal_post(side_t *side)
{
    for (unsigned i = 0; i < side->replay.count; i++)
        entry_post(side, (side->replay.first + i) % DEPTH);
}

// ---- moving ----

static void resync_hear(side_t *side)
{
    assert_int_equal(aq_ibv_replay_hear(&side->replay, &side->resync), AQ_IBV_RESYNC_GOOD);
    if (aq_ibv_replay_carries(&side->replay))
        journal_post(side);
}

static void side_move(side_t *side)
{
    const unsigned way = aq_ibv_replay_next(&side->replay);
    aq_ibv_replay_move(&side->replay, way);
    packet_post(side,
                (packet_t){.kind = RESYNC, .resync = {side->replay.received, side->positions}});
    if (side->replay.called == way)
        resync_hear(side);
}

static void side_fail(side_t *side, unsigned way)
{
    if (!aq_ibv_replay_fail(&side->replay, way))
        side->lost = true;
}

// ---- delivering ----

static void buffer_take(side_t *side, unsigned way, const packet_t *packet)
{
    const aq_ibv_arrived_t verdict = aq_ibv_replay_arrive(&side->replay, way);
    if (verdict == AQ_IBV_ARRIVED_LATE)
        return;
    assert_int_equal(verdict == AQ_IBV_ARRIVED_RESYNC, packet->kind == RESYNC);
    if (verdict == AQ_IBV_ARRIVED_RESYNC) {
        side->resync = packet->resync;
        if (way == side->replay.way)
            resync_hear(side);
        return;
    }
    assert_int_equal(packet->what, side->messages + 1); // none is lost, none comes twice
    side->messages++;
}

static bool is_in_buffer(const packet_t *packet)
{
    return packet->kind == AQ_IBV_ENTRY_SEND || packet->kind == RESYNC;
}

// Takes the next message out of the completion queue of a way. False: there is none.
static bool wire_take(unsigned to, unsigned way)
{
    wire_t *wire = &sides[!to].wires[way];
    while (wire->taken < wire->delivered) {
        const packet_t packet = wire->packets[wire->taken++];
        if (!is_in_buffer(&packet))
            continue;
        buffer_take(&sides[to], way, &packet);
        return true;
    }
    return false;
}

// A step of a side whose way has failed: closes it, takes what has arrived on it, moves.
static void side_turn(unsigned self)
{
    side_t *side = &sides[self];
    const unsigned way = side->replay.way;
    if (!side->replay.failed || side->lost)
        return;
    if (!side->closed[way])
        side->closed[way] = true;
    else if (!wire_take(self, way))
        side_move(side);
}

// A slot of a ring may be written again with the same bytes until its message was taken. A put is
// not done again when a message behind it has arrived, since its receiver may have used the memory.
static void packet_write(side_t *side, const packet_t *packet, const side_t *from)
{
    if (packet->kind == AQ_IBV_ENTRY_WRITE)
        assert_true(side->messages <= from->messages_before[packet->what]);
    if (packet->kind == AQ_IBV_ENTRY_RING) {
        assert_int_equal(packet->what, side->positions + 1);
        side->positions++;
    }
}

static void wire_deliver(unsigned to, unsigned way)
{
    wire_t *wire = &sides[!to].wires[way];
    if (wire->delivered == wire->posted || sides[to].closed[way] || cut[way] ||
        sides[!to].closed[way])
        return;
    packet_write(&sides[to], &wire->packets[wire->delivered++], &sides[!to]);
}

// An acknowledgement arrives, or is found to have got lost.
static void wire_acknowledge(unsigned self, unsigned way)
{
    side_t *side = &sides[self];
    wire_t *wire = &side->wires[way];
    if (side->lost)
        return;
    if (side->closed[way] && way != side->replay.way) { // an error that was there before
        const bool failed = side->replay.failed;
        assert_true(aq_ibv_replay_fail(&side->replay, way));
        assert_int_equal(side->replay.failed, failed);
        return;
    }
    if (way != side->replay.way)
        return;
    if (wire->completed == wire->delivered) {
        if ((cut[way] || sides[!self].closed[way]) && wire->completed < wire->posted)
            side_fail(side, way);
        return;
    }
    const packet_t *packet = &wire->packets[wire->completed++];
    if (!packet->signaled)
        return;
    const int index = aq_ibv_replay_complete(&side->replay);
    assert_true(index >= 0);
    assert_true(side->ids[index] >= side->completed);
    side->completed = side->ids[index] + 1;
    if (packet->kind == AQ_IBV_ENTRY_READ || packet->kind == AQ_IBV_ENTRY_WRITE)
        assert_int_equal(packet->what, side->ids[index]);
}

// ---- schedules ----

// The first packets of a wire were completed and taken long ago: makes room for more.
static void wire_trim(wire_t *wire)
{
    const unsigned past = wire->completed < wire->taken ? wire->completed : wire->taken;
    memmove(wire->packets, wire->packets + past, (wire->posted - past) * sizeof *wire->packets);
    wire->posted -= past;
    wire->delivered -= past;
    wire->completed -= past;
    wire->taken -= past;
}

static void step(unsigned ways, unsigned cuts)
{
    const unsigned self = random_below(&random_state, 2), way = random_below(&random_state, ways),
                   what = random_below(&random_state, 100);
    if (what < 25 && !sides[self].lost)
        work_post(&sides[self]);
    else if (what < 45)
        wire_deliver(self, way);
    else if (what < 65)
        (void)wire_take(self, way);
    else if (what < 85)
        wire_acknowledge(self, way);
    else if (what < 99)
        side_turn(self);
    else if (way < cuts)
        cut[way] = true;
    wire_trim(&sides[self].wires[way]);
}

static bool side_is_done(const side_t *side)
{
    return !side->replay.count && !side->replay.moving;
}

// Lets everything arrive.
static void settle(unsigned ways)
{
    for (unsigned i = 0; i < 20 * DEPTH; i++)
        for (unsigned way = 0; way < ways; way++)
            for (unsigned self = 0; self < 2; self++) {
                wire_deliver(self, way);
                (void)wire_take(self, way);
                wire_acknowledge(self, way);
                side_turn(self);
                wire_trim(&sides[self].wires[way]);
            }
}

static void finish(unsigned ways)
{
    settle(ways);
    for (unsigned self = 0; self < 2; self++) { // an operation that shows whether a way is whole
        side_t *side = &sides[self];
        if (side->replay.count < DEPTH) {
            const int index = aq_ibv_replay_post(&side->replay, AQ_IBV_ENTRY_READ, true, 0);
            side->ids[index] = side->next_id++;
            if (aq_ibv_replay_carries(&side->replay))
                entry_post(side, (unsigned)index);
        }
    }
    settle(ways);
}

static unsigned schedules_wanted(void)
{
    const char *text = getenv("AQ_SCHEDULES");
    return text ? (unsigned)strtoul(text, NULL, 10) : SCHEDULES;
}

// Some ways are cut, but not the last one: nothing is lost and nothing comes twice.
static void test_whole(void **state)
{
    const unsigned schedules = schedules_wanted();
    unsigned moved = 0;
    (void)state;
    for (unsigned schedule = 1; schedule <= schedules; schedule++) {
        const unsigned ways = 2 + schedule % (WAYS - 1);
        random_state = schedule * UINT64_C(0x9e3779b97f4a7c15);
        sides_start(ways);
        for (unsigned i = 0; i < STEPS; i++)
            step(ways, ways - 1);
        finish(ways);
        for (unsigned self = 0; self < 2; self++) {
            assert_false(sides[self].lost);
            assert_true(side_is_done(&sides[self]));
            assert_int_equal(sides[self].messages, sides[!self].next_message);
            assert_int_equal(sides[self].positions, sides[!self].next_position);
            assert_int_equal(sides[self].completed, sides[self].next_id);
        }
        moved += sides[0].replay.way > 0;
    }
    assert_true(moved > schedules / 2);
}

// All ways are cut: one side at least learns that the peer is lost, which ends the job. The other
// one may wait for a resync.
static void test_lost(void **state)
{
    const unsigned schedules = schedules_wanted();
    (void)state;
    for (unsigned schedule = 1; schedule <= schedules; schedule++) {
        random_state = schedule * UINT64_C(0x9e3779b97f4a7c15);
        sides_start(2);
        for (unsigned i = 0; i < STEPS; i++)
            step(2, 2);
        cut[0] = cut[1] = true;
        finish(2);
        assert_true(sides[0].lost || sides[1].lost);
        for (unsigned self = 0; self < 2; self++)
            assert_true(sides[self].lost || sides[self].replay.moving);
    }
}

// Numbers of messages wrap around.
static void test_wrap(void **state)
{
    (void)state;
    sides_start(2);
    aq_ibv_replay_t *replay = &sides[0].replay;
    replay->sent = UINT32_MAX - 1;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(aq_ibv_replay_post(replay, AQ_IBV_ENTRY_SEND, true, 0), i);
    aq_ibv_replay_move(replay, 1);
    const aq_ibv_replay_resync_t two = {.received = 0};
    assert_int_equal(aq_ibv_replay_hear(replay, &two), AQ_IBV_RESYNC_GOOD);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(sides[0].entries[i].done, i < 2);
}

// An atomic that may or may not be done cannot be repeated; a read is, whatever was done behind it.
static void test_kinds(void **state)
{
    const aq_ibv_replay_resync_t all = {.received = 1};
    (void)state;
    sides_start(2);
    aq_ibv_replay_t *replay = &sides[0].replay;
    assert_int_equal(aq_ibv_replay_post(replay, AQ_IBV_ENTRY_READ, true, 0), 0);
    assert_int_equal(aq_ibv_replay_post(replay, AQ_IBV_ENTRY_SEND, true, 0), 1);
    aq_ibv_replay_move(replay, 1);
    assert_int_equal(aq_ibv_replay_hear(replay, &all), AQ_IBV_RESYNC_GOOD);
    assert_false(sides[0].entries[0].done);
    assert_true(sides[0].entries[1].done);
    assert_int_equal(aq_ibv_replay_post(replay, AQ_IBV_ENTRY_ATOMIC, true, 0), 2);
    assert_int_equal(aq_ibv_replay_hear(replay, &all), AQ_IBV_RESYNC_ATOMIC);
}

// A resync that knows fewer messages than the peer's device has acknowledged, or more than were
// sent.
static void test_gap(void **state)
{
    static const aq_ibv_resync_verdict_t verdicts[] = {AQ_IBV_RESYNC_GAP, AQ_IBV_RESYNC_GOOD,
                                                       AQ_IBV_RESYNC_GOOD, AQ_IBV_RESYNC_GOOD,
                                                       AQ_IBV_RESYNC_GAP};
    (void)state;
    for (uint32_t received = 0; received < 5; received++) {
        sides_start(2);
        aq_ibv_replay_t *replay = &sides[0].replay;
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(aq_ibv_replay_post(replay, AQ_IBV_ENTRY_SEND, true, 0), i);
        assert_int_equal(aq_ibv_replay_complete(replay), 0);
        aq_ibv_replay_move(replay, 1);
        const aq_ibv_replay_resync_t resync = {.received = received};
        assert_int_equal(aq_ibv_replay_hear(replay, &resync), verdicts[received]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole), cmocka_unit_test(test_lost), cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_kinds), cmocka_unit_test(test_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
