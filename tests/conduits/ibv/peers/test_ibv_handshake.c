// SPDX-License-Identifier: BSD-3-Clause
// The handshake of connections that conduit ibv makes by datagrams: two sides on a network that
// loses, duplicates and reorders messages by a random schedule, and the rules of a single side.
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/ibv/peers/ibv_handshake.h"
#include "../../../unit/random_below.h"
#include "../../../unit/assert_between.h"

enum { FLIGHT = 64, SCHEDULES = 20000, STEPS = 2000, PORTS = 3, MOST_STEPS = 40000 };

// One side, and the messages to it.
typedef struct side {
    aq_ibv_handshake_t handshake;
    struct {
        unsigned flags;
        uint16_t round;
    } inbox[FLIGHT];
    unsigned count;
    unsigned connects, readies, failures, sends; // connects: in this round
    unsigned restarts;
} side_t;

static side_t sides[2];
static uint64_t now;
static uint64_t random_state;
static unsigned dead; // bit k: nothing arrives in rounds k, k + PORTS, ...

static void start_sides(void)
{
    memset(sides, 0, sizeof sides);
    now = 1000;
    dead = 0;
}

// Does what a side's handshake says, and checks what has to be true at any time.
static void act(unsigned self, unsigned actions)
{
    side_t *side = &sides[self], *peer = &sides[!self];
    if (actions & AQ_IBV_DO_RESTART) {
        assert_false(side->readies || peer->readies); // nothing was posted to these queue pairs
        side->connects = 0;
        side->restarts++;
    }
    side->connects += (actions & AQ_IBV_DO_CONNECT) != 0;
    side->readies += (actions & AQ_IBV_DO_READY) != 0;
    side->failures += (actions & AQ_IBV_DO_FAIL) != 0;
    if (actions & AQ_IBV_DO_SEND) {
        side->sends++;
        const uint16_t round = side->handshake.round;
        if (peer->count < FLIGHT && !(dead >> round % PORTS & 1)) { // others are lost
            peer->inbox[peer->count].flags = aq_ibv_handshake_flags(&side->handshake);
            peer->inbox[peer->count++].round = round;
        }
    }
    assert_true(side->connects <= 1 && side->readies <= 1);
    assert_true(side->readies <= side->connects);
    // The peer of a ready side receives.
    assert_true(side->readies <= peer->connects);
    assert_true(!side->readies || side->handshake.round == peer->handshake.round);
}

static void call(unsigned self)
{
    act(self, aq_ibv_handshake_call(&sides[self].handshake, now));
}

static void tick(unsigned self)
{
    act(self, aq_ibv_handshake_tick(&sides[self].handshake, now));
}

// Delivers one of the messages to a side, which may stay in flight.
static void deliver(unsigned self, unsigned which, bool stays)
{
    side_t *side = &sides[self];
    const unsigned flags = side->inbox[which].flags;
    const uint16_t round = side->inbox[which].round;
    if (!stays)
        side->inbox[which] = side->inbox[--side->count];
    const unsigned joins = aq_ibv_handshake_join(&side->handshake, flags, round);
    act(self, joins | aq_ibv_handshake_receive(&side->handshake, flags, round, now));
}

static bool is_over(void)
{
    return sides[0].readies && sides[1].readies && !sides[0].count && !sides[1].count;
}

// Lets one random thing happen; one message in `loss` is lost. Each number is drawn in a statement
// of its own, so that all compilers play the same schedules.
static void step(unsigned loss)
{
    const unsigned self = random_below(&random_state, 2), what = random_below(&random_state, 16);
    side_t *side = &sides[self];
    now += random_below(&random_state, 40);
    if (what == 0 && side->readies + side->count < FLIGHT && random_below(&random_state, 4) == 0)
        call(self);
    else if (what < 4)
        tick(self);
    else if (side->count && random_below(&random_state, loss) == 0)
        side->count--;
    else if (side->count) {
        const unsigned which = random_below(&random_state, side->count);
        deliver(self, which, random_below(&random_state, 8) == 0);
    }
}

// Whatever the network does, both sides become ready, once, and fall silent.
static void test_random_schedules(void **state)
{
    (void)state;
    unsigned crossed = 0, repeated = 0;
    for (unsigned schedule = 0; schedule < SCHEDULES; schedule++) {
        start_sides();
        random_state = 0x9e3779b97f4a7c15u + schedule;
        const unsigned loss = 2 + random_below(&random_state, 30),
                       callers = 1 + random_below(&random_state, 3);
        if (callers & 1)
            call(0);
        if (callers & 2)
            call(1);
        for (unsigned i = 0; i < STEPS && !is_over(); i++)
            step(loss);
        assert_true(is_over());
        assert_int_equal(sides[0].failures + sides[1].failures, 0);
        assert_true(aq_ibv_handshake_deadline(&sides[0].handshake) == AQ_IBV_NO_DEADLINE);
        assert_true(aq_ibv_handshake_deadline(&sides[1].handshake) == AQ_IBV_NO_DEADLINE);
        crossed += callers == 3;
        repeated += sides[0].handshake.tries > 1 || sides[1].handshake.tries > 1;
    }
    // The schedules are worth something.
    assert_true(crossed > SCHEDULES / 5 && repeated > SCHEDULES / 5);
}

// Two hosts with several ports, of which some have failed at either: the sides agree on a round
// whose port works, whatever else the network does, and whoever begins in which round. With more
// loss than that, one side of thousands rightly runs out of tries.
static void test_random_rounds(void **state)
{
    (void)state;
    unsigned restarts = 0, crossed = 0;
    for (unsigned schedule = 0; schedule < SCHEDULES / 4; schedule++) {
        start_sides();
        random_state = 0x51ed270b0a1f39cfu + schedule;
        dead = random_below(&random_state, (1 << PORTS) - 1);
        const unsigned loss = 3 + random_below(&random_state, 29),
                       callers = 1 + random_below(&random_state, 3);
        for (unsigned i = 0; i < 2; i++) {
            sides[i].handshake.has_rounds = true;
            sides[i].handshake.round = (uint16_t)random_below(&random_state, PORTS);
            if (callers >> i & 1)
                call(i);
        }
        for (unsigned i = 0; i < MOST_STEPS && !is_over(); i++)
            step(loss);
        assert_true(is_over());
        assert_int_equal(sides[0].failures + sides[1].failures, 0);
        assert_int_equal(dead >> sides[0].handshake.round % PORTS & 1, 0);
        restarts += sides[0].restarts + sides[1].restarts > 0;
        crossed += callers == 3;
    }
    assert_true(restarts > SCHEDULES / 4 / 2 && crossed > SCHEDULES / 4 / 5);
}

// A side that gets no answer in any round tries each port several times, and then fails.
static void test_silent_rounds(void **state)
{
    (void)state;
    start_sides();
    sides[0].handshake.has_rounds = true;
    call(0);
    const uint64_t began = now;
    while (!sides[0].failures) {
        now = aq_ibv_handshake_deadline(&sides[0].handshake);
        tick(0);
    }
    assert_int_equal(sides[0].sends, AQ_IBV_HANDSHAKE_ROUNDS * AQ_IBV_HANDSHAKE_ROUND_TRIES);
    assert_int_equal(sides[0].restarts, AQ_IBV_HANDSHAKE_ROUNDS - 1);
    assert_between(now - began, 30000, 50000);
    assert_true(aq_ibv_handshake_deadline(&sides[0].handshake) == AQ_IBV_NO_DEADLINE);
}

// Without a path a side begins the next round soon, unless it has heard something.
static void test_skip(void **state)
{
    (void)state;
    start_sides();
    aq_ibv_handshake_t *handshake = &sides[0].handshake;
    handshake->has_rounds = true;
    call(0);
    aq_ibv_handshake_skip(handshake, now);
    now += AQ_IBV_HANDSHAKE_FIRST_MS;
    tick(0);
    assert_int_equal(sides[0].restarts, 1);
    act(0, aq_ibv_handshake_receive(handshake, AQ_IBV_SAYS_WANT, 1, now));
    aq_ibv_handshake_skip(handshake, now);
    now += AQ_IBV_HANDSHAKE_FIRST_MS;
    tick(0);
    assert_int_equal(sides[0].restarts, 1);
}

// The rules about rounds: a message of an earlier one is answered and has no other effect, and a
// handshake without rounds, or that is READY, joins none.
static void test_joining(void **state)
{
    (void)state;
    start_sides();
    aq_ibv_handshake_t *handshake = &sides[0].handshake;
    assert_int_equal(aq_ibv_handshake_join(handshake, AQ_IBV_SAYS_WANT, 1), 0);
    assert_int_equal(aq_ibv_handshake_receive(handshake, AQ_IBV_SAYS_WANT, 1, now), 0);
    handshake->has_rounds = true;
    assert_int_equal(aq_ibv_handshake_join(handshake, AQ_IBV_SAYS_NO, 1), 0);
    assert_int_equal(aq_ibv_handshake_join(handshake, AQ_IBV_SAYS_WANT, 2), AQ_IBV_DO_RESTART);
    assert_int_equal(aq_ibv_handshake_join(handshake, AQ_IBV_SAYS_WANT, 2), 0);
    assert_int_equal(aq_ibv_handshake_receive(handshake, AQ_IBV_SAYS_WANT, 1, now), AQ_IBV_DO_SEND);
    assert_int_equal(
        aq_ibv_handshake_receive(handshake, AQ_IBV_SAYS_WANT | AQ_IBV_SAYS_KNOWN, 1, now),
        AQ_IBV_DO_SEND);
    assert_int_equal(aq_ibv_handshake_flags(handshake), AQ_IBV_SAYS_WANT);
    assert_int_equal(aq_ibv_handshake_receive(handshake, AQ_IBV_SAYS_KNOWN, 2, now),
                     AQ_IBV_DO_CONNECT | AQ_IBV_DO_READY);
    assert_int_equal(aq_ibv_handshake_join(handshake, AQ_IBV_SAYS_WANT, 3), 0);
    assert_int_equal(aq_ibv_handshake_receive(handshake, AQ_IBV_SAYS_WANT, 3, now), 0);
}

// Without loss: three messages if one side calls, and six if both do at once.
static void test_messages_without_loss(void **state)
{
    (void)state;
    start_sides();
    call(0);
    for (unsigned i = 0; i < 8; i++)
        if (sides[!(i & 1)].count)
            deliver(!(i & 1), 0, false);
    assert_true(is_over());
    assert_int_equal(sides[0].sends + sides[1].sends, 3);

    start_sides();
    call(0);
    call(1);
    for (unsigned i = 0; i < 8; i++)
        if (sides[i & 1].count)
            deliver(i & 1, 0, false);
    assert_true(is_over());
    assert_int_equal(sides[0].sends + sides[1].sends, 6);
}

// If nobody answers, the pauses grow up to a limit, and then the side fails, once.
static void test_silence(void **state)
{
    (void)state;
    uint64_t pause = 0;
    start_sides();
    call(0);
    while (!sides[0].failures) {
        const uint64_t next = aq_ibv_handshake_deadline(&sides[0].handshake) - now;
        assert_true(next >= pause && next >= AQ_IBV_HANDSHAKE_FIRST_MS &&
                    next <= AQ_IBV_HANDSHAKE_LONGEST_MS);
        pause = next;
        now += next - 1;
        tick(0); // too early
        now++;
        tick(0);
    }
    assert_int_equal(pause, AQ_IBV_HANDSHAKE_LONGEST_MS);
    assert_int_equal(sides[0].sends, AQ_IBV_HANDSHAKE_TRIES);
    assert_true(aq_ibv_handshake_deadline(&sides[0].handshake) == AQ_IBV_NO_DEADLINE);
    now += 1000000;
    tick(0);
    act(0, aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_WANT, 0, now));
    assert_int_equal(sides[0].failures, 1);
    assert_int_equal(sides[0].connects, 0);
}

// A side that has waited long for its peer repeats soon once it has heard of it.
static void test_late_answer(void **state)
{
    (void)state;
    start_sides();
    call(0);
    for (unsigned i = 0; i < 10; i++) {
        now = aq_ibv_handshake_deadline(&sides[0].handshake);
        tick(0);
    }
    act(0, aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_WANT, 0, now));
    assert_int_equal(aq_ibv_handshake_deadline(&sides[0].handshake) - now,
                     AQ_IBV_HANDSHAKE_FIRST_MS);
}

// A refusal ends a call. It does not end a handshake that has heard the peer's queue pairs, nor
// does it begin one.
static void test_refusal(void **state)
{
    (void)state;
    start_sides();
    assert_int_equal(aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_NO, 0, now), 0);
    assert_false(sides[0].handshake.begun);
    call(0);
    assert_int_equal(aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_NO, 0, now),
                     AQ_IBV_DO_FAIL);
    assert_int_equal(aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_NO, 0, now), 0);

    start_sides();
    call(0);
    act(0, aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_WANT, 0, now));
    assert_int_equal(aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_NO, 0, now), 0);
    assert_int_equal(sides[0].connects, 1);
}

// A side that is called does not call, and answers each message that wants an answer.
static void test_called(void **state)
{
    (void)state;
    start_sides();
    const unsigned first = AQ_IBV_DO_CONNECT | AQ_IBV_DO_SEND;
    assert_int_equal(aq_ibv_handshake_receive(&sides[1].handshake, AQ_IBV_SAYS_WANT, 0, now),
                     first);
    assert_int_equal(aq_ibv_handshake_call(&sides[1].handshake, now), 0);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(aq_ibv_handshake_receive(&sides[1].handshake, AQ_IBV_SAYS_WANT, 0, now),
                         AQ_IBV_DO_SEND);
    assert_int_equal(aq_ibv_handshake_flags(&sides[1].handshake),
                     AQ_IBV_SAYS_KNOWN | AQ_IBV_SAYS_WANT);
    assert_int_equal(aq_ibv_handshake_receive(&sides[1].handshake, AQ_IBV_SAYS_KNOWN, 0, now),
                     AQ_IBV_DO_READY);
    assert_int_equal(aq_ibv_handshake_receive(&sides[1].handshake, AQ_IBV_SAYS_KNOWN, 0, now), 0);
    assert_int_equal(aq_ibv_handshake_flags(&sides[1].handshake), AQ_IBV_SAYS_KNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_schedules),
        cmocka_unit_test(test_messages_without_loss),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_called),
        cmocka_unit_test(test_late_answer),
        cmocka_unit_test(test_random_rounds),
        cmocka_unit_test(test_silent_rounds),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_joining),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
