// SPDX-License-Identifier: BSD-3-Clause
// Packet numbers: each is accepted once, in any order, unless it is older than the window.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <string.h>

#include "../../../../conduits/udp/wire/udp_replay.h"

enum { NUMBERS = 200000 };

static udp_replay_t replay;
static bool accepted[NUMBERS]; // the model: everything that was ever accepted
static uint64_t random_state = 7;

static uint64_t random_below(uint64_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % limit;
}

static int clear_window(void **unused)
{
    (void)unused;
    replay = (udp_replay_t){0};
    memset(accepted, 0, sizeof accepted);
    return 0;
}

static bool offer_number(uint64_t number)
{
    if (!udp_replay_is_new(&replay, number))
        return false;
    udp_replay_accept(&replay, number);
    return true;
}

static void each_number_is_accepted_once_in_any_order(void **unused)
{
    (void)unused;
    uint64_t newest = 0;
    unsigned new = 0, old = 0;
    for (unsigned step = 0; step < 1000000; step++) {
        uint64_t ahead = random_below(100) ? random_below(4) : random_below(3000),
                 number = newest + ahead;
        if (random_below(2)) {
            uint64_t back = random_below(2 * UDP_REPLAY_WINDOW);
            number = back < number ? number - back : 0;
        }
        if (number >= NUMBERS)
            break;
        bool in_window = number + UDP_REPLAY_WINDOW > newest;
        bool took = offer_number(number);
        assert_int_equal(took, in_window && !accepted[number]);
        accepted[number] |= took;
        if (took && number > newest)
            newest = number;
        new += took;
        old += !in_window;
    }
    assert_true(new > 1000 && old > 1000);
}

static void a_leap_keeps_the_numbers_of_the_window(void **unused)
{
    (void)unused;
    static const uint64_t leaps[] = {1,    63,   64,   65,       1023,          1024,
                                     1025, 1087, 1088, 1u << 20, UINT64_MAX / 4};
    for (unsigned i = 0; i < sizeof leaps / sizeof leaps[0]; i++) {
        clear_window(unused);
        assert_true(offer_number(5));
        assert_true(offer_number(5 + leaps[i]));
        assert_false(offer_number(5));
        assert_false(offer_number(5 + leaps[i]));
        assert_int_equal(offer_number(4), 1 + leaps[i] < UDP_REPLAY_WINDOW);
        // All numbers between the two that are still in the window are new.
        for (uint64_t back = 1; back < leaps[i] && back < UDP_REPLAY_WINDOW; back++) {
            assert_true(offer_number(5 + leaps[i] - back));
            assert_false(offer_number(5 + leaps[i] - back));
        }
    }
}

static void asking_changes_nothing(void **unused)
{
    (void)unused;
    udp_replay_t before = replay;
    assert_true(udp_replay_is_new(&replay, 77));
    assert_memory_equal(&before, &replay, sizeof before);
    assert_true(offer_number(0));
    assert_false(offer_number(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_number_is_accepted_once_in_any_order, clear_window),
        cmocka_unit_test_setup(a_leap_keeps_the_numbers_of_the_window, clear_window),
        cmocka_unit_test_setup(asking_changes_nothing, clear_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
