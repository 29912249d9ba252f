// SPDX-License-Identifier: BSD-3-Clause
// Which caller makes place for another one: those of an address that has more than its share first,
// then those that are silent, then the oldest; and none that has proved the key.

#include "../../unit/unit_test.h"

#include <stdio.h>
#include <string.h>

#include "../../../other/base/clock.h"
#include "../../../spawner/wire/caller.h"

enum { SECOND = 1000000000 };

static aq_caller_t callers[AQ_CALLERS];

// All places are taken, each from an address of its own; the caller at place i came i seconds ago.
static void fill(bool challenged)
{
    const uint64_t now = aq_clock_ns();
    memset(callers, 0, sizeof callers);
    for (unsigned i = 0; i < AQ_CALLERS; i++) {
        callers[i].link.fd = 1000 + (int)i;
        callers[i].challenged = challenged;
        callers[i].deadline = now + (uint64_t)(10 - (i < 10 ? i : 9)) * SECOND;
        snprintf(callers[i].address, sizeof callers[i].address, "10.0.0.%u", i);
    }
}

static void come(unsigned place)
{
    callers[place].deadline = aq_clock_ns() + (uint64_t)10 * SECOND;
}

static void a_free_place_is_taken(void **state)
{
    (void)state;
    fill(false);
    callers[7].link.fd = -1;
    assert_ptr_equal(aq_callers_place(callers), &callers[7]);
}

static void the_oldest_silent_one_goes(void **state)
{
    (void)state;
    fill(true);
    callers[1].challenged = callers[2].challenged = false;
    assert_ptr_equal(aq_callers_place(callers), &callers[2]);
}

static void an_address_gives_what_is_above_its_share(void **state)
{
    (void)state;
    fill(false);
    for (unsigned i = 0; i <= AQ_CALLERS_EACH; i++) {
        snprintf(callers[i].address, sizeof callers[i].address, "10.9.9.9");
        come(i);
    }
    callers[3].deadline -= SECOND;
    assert_ptr_equal(aq_callers_place(callers), &callers[3]);
    callers[0].address[0] = '9'; // now they have no more than their share
    assert_true(aq_callers_place(callers) > &callers[AQ_CALLERS_EACH]);
}

// Any process of this host can call from each of the addresses 127.x.y.z.
static void addresses_of_the_loopback_share_one_share(void **state)
{
    (void)state;
    fill(true);
    for (unsigned i = 0; i <= AQ_CALLERS_EACH; i++) {
        snprintf(callers[i].address, sizeof callers[i].address, i == 0 ? "::1" : "127.0.0.%u", i);
        come(i);
    }
    callers[3].deadline -= SECOND;
    assert_ptr_equal(aq_callers_place(callers), &callers[3]);
}

static void those_that_have_just_come_stay(void **state)
{
    (void)state;
    fill(true);
    for (unsigned i = 0; i < AQ_CALLERS; i++)
        come(i);
    assert_null(aq_callers_place(callers));
}

static void those_that_have_the_key_stay(void **state)
{
    static char seal;
    (void)state;
    fill(true);
    for (unsigned i = 0; i < AQ_CALLERS; i++)
        callers[i].link.seal = (aq_seal_t *)(void *)&seal;
    assert_null(aq_callers_place(callers));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_place_is_taken),
        cmocka_unit_test(the_oldest_silent_one_goes),
        cmocka_unit_test(an_address_gives_what_is_above_its_share),
        cmocka_unit_test(addresses_of_the_loopback_share_one_share),
        cmocka_unit_test(those_that_have_just_come_stay),
        cmocka_unit_test(those_that_have_the_key_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
