// The handshake of connections that conduit ibv makes by datagrams: two sides on a network that
// loses, duplicates and reorders messages by a random schedule, and the rules of a single side.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../conduits/ibv/ibv_handshake.h"
#include "random_below.h"

enum { FLIGHT = 64, SCHEDULES = 20000, STEPS = 2000 };

// One side, and the messages to it.
typedef struct side {
    aq_ibv_handshake_t handshake;
    unsigned inbox[FLIGHT]; // flags
    unsigned count;
    unsigned connects, readies, failures, sends;
} side_t;

static side_t sides[2];
static uint64_t now;
static uint64_t random_state;

static void start_sides(void)
{
    memset(sides, 0, sizeof sides);
    now = 1000;
}

// Does what a side's handshake says, and checks what has to be true at any time.
static void act(unsigned self, unsigned actions)
{
    side_t *side = &sides[self], *peer = &sides[!self];
    side->connects += (actions & AQ_IBV_DO_CONNECT) != 0;
    side->readies += (actions & AQ_IBV_DO_READY) != 0;
    side->failures += (actions & AQ_IBV_DO_FAIL) != 0;
    if (actions & AQ_IBV_DO_SEND) {
        side->sends++;
        if (peer->count < FLIGHT) // beyond that, messages are lost
            peer->inbox[peer->count++] = aq_ibv_handshake_flags(&side->handshake);
    }
    assert_true(side->connects <= 1 && side->readies <= 1);
    assert_true(side->readies <= side->connects);
    // The peer of a ready side receives.
    assert_true(side->readies <= peer->connects);
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
    const unsigned flags = side->inbox[which];
    if (!stays)
        side->inbox[which] = side->inbox[--side->count];
    act(self, aq_ibv_handshake_receive(&side->handshake, flags, now));
}

static bool is_over(void)
{
    return sides[0].readies && sides[1].readies && !sides[0].count && !sides[1].count;
}

// Lets one random thing happen; one message in `loss` is lost.
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
    else if (side->count)
        deliver(self, random_below(&random_state, side->count),
                random_below(&random_state, 8) == 0);
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
    act(0, aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_WANT, now));
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
    act(0, aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_WANT, now));
    assert_int_equal(aq_ibv_handshake_deadline(&sides[0].handshake) - now,
                     AQ_IBV_HANDSHAKE_FIRST_MS);
}

// A refusal ends a call. It does not end a handshake that has heard the peer's queue pairs, nor
// does it begin one.
static void test_refusal(void **state)
{
    (void)state;
    start_sides();
    assert_int_equal(aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_NO, now), 0);
    assert_false(sides[0].handshake.begun);
    call(0);
    assert_int_equal(aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_NO, now),
                     AQ_IBV_DO_FAIL);
    assert_int_equal(aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_NO, now), 0);

    start_sides();
    call(0);
    act(0, aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_WANT, now));
    assert_int_equal(aq_ibv_handshake_receive(&sides[0].handshake, AQ_IBV_SAYS_NO, now), 0);
    assert_int_equal(sides[0].connects, 1);
}

// A side that is called does not call, and answers each message that wants an answer.
static void test_called(void **state)
{
    (void)state;
    start_sides();
    const unsigned first = AQ_IBV_DO_CONNECT | AQ_IBV_DO_SEND;
    assert_int_equal(aq_ibv_handshake_receive(&sides[1].handshake, AQ_IBV_SAYS_WANT, now), first);
    assert_int_equal(aq_ibv_handshake_call(&sides[1].handshake, now), 0);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(aq_ibv_handshake_receive(&sides[1].handshake, AQ_IBV_SAYS_WANT, now),
                         AQ_IBV_DO_SEND);
    assert_int_equal(aq_ibv_handshake_flags(&sides[1].handshake),
                     AQ_IBV_SAYS_KNOWN | AQ_IBV_SAYS_WANT);
    assert_int_equal(aq_ibv_handshake_receive(&sides[1].handshake, AQ_IBV_SAYS_KNOWN, now),
                     AQ_IBV_DO_READY);
    assert_int_equal(aq_ibv_handshake_receive(&sides[1].handshake, AQ_IBV_SAYS_KNOWN, now), 0);
    assert_int_equal(aq_ibv_handshake_flags(&sides[1].handshake), AQ_IBV_SAYS_KNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_schedules), cmocka_unit_test(test_messages_without_loss),
        cmocka_unit_test(test_silence),          cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_called),           cmocka_unit_test(test_late_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
