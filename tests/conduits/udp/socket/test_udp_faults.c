// SPDX-License-Identifier: BSD-3-Clause
// Injected faults: they have the requested rates, the seed determines all of them, and delayed
// datagrams are sent in the end.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/udp/socket/udp_faults.h"
#include "../../../../other/base/settings/settings.h"
#include "../../../unit/assert_between.h"

enum { DECISIONS = 100000, LENGTH = 1000, MANY = 4096 };

// The datagrams that were emitted, in order: the number at the front of each.
typedef struct caught {
    unsigned count;
    uint32_t number[MANY];
    size_t length[MANY];
    bool intact[MANY];
} caught_t;

static caught_t caught;
static udp_sockaddr_t target = {.v4 = {.sin_family = AF_INET}, .length = sizeof target.v4};

static int set_up(void **state)
{
    (void)state;
    memset(&caught, 0, sizeof caught);
    return 0;
}

static void catch_one(void *context, const udp_sockaddr_t *to, const void *bytes, size_t length)
{
    caught_t *all = context;
    assert_int_equal(to->any.sa_family, AF_INET);
    assert_between(all->count, 0, MANY - 1);
    uint32_t number = UINT32_MAX;
    bool intact = length == LENGTH;
    if (length >= sizeof number)
        memcpy(&number, bytes, sizeof number);
    for (size_t i = sizeof number; i < length; i++)
        intact &= ((const uint8_t *)bytes)[i] == 0x5a;
    all->number[all->count] = number;
    all->length[all->count] = length;
    all->intact[all->count++] = intact;
}

// Offers a datagram to the fault layer, in two pieces. The datagram starts with its number.
static void offer_datagram(udp_faults_t *faults, uint32_t number, uint64_t now)
{
    static uint8_t rest[LENGTH - sizeof number];
    memset(rest, 0x5a, sizeof rest);
    struct iovec pieces[] = {{&number, sizeof number}, {rest, sizeof rest}};
    udp_faults_offer(faults, &(udp_outgoing_t){&target, pieces, 2}, now, catch_one, &caught);
}

static udp_faults_t *make_faults(udp_faults_rates_t rates, uint64_t seed)
{
    udp_faults_t *faults;
    assert_int_equal(udp_faults_make(&rates, seed, &faults), AQ_OK);
    return faults;
}

// ---- decisions ----

static void test_nothing_asked_for(void **state)
{
    (void)state;
    udp_faults_rates_t rates = {.delay_ns = 1000};
    uint64_t random = 7;
    for (unsigned i = 0; i < DECISIONS; i++) {
        udp_faults_plan_t plan = udp_faults_decide(&rates, &random, LENGTH);
        assert_false(plan.drop);
        assert_int_equal(plan.copies, 1);
        assert_int_equal(plan.overtake, 0);
        assert_int_equal(plan.delay_ns, 0);
        assert_int_equal(plan.length, LENGTH);
        assert_true(plan.flip == SIZE_MAX);
    }
}

// Allows a deviation of 1000. For 20 % of the 100,000 decisions the standard deviation is 126.
static void assert_share(unsigned count, unsigned percent)
{
    unsigned wanted = DECISIONS / 100 * percent;
    assert_between(count, wanted - 1000, wanted + 1000);
}

static void test_rates(void **state)
{
    (void)state;
    udp_faults_rates_t rates = {.drop = 1,
                                .duplicate = 5,
                                .reorder = 20,
                                .delay = 10,
                                .truncate = 3,
                                .flip = 7,
                                .delay_ns = 1000};
    uint64_t random = 7;
    unsigned drop = 0, duplicate = 0, reorder = 0, delay = 0, truncate = 0, flip = 0;
    for (unsigned i = 0; i < DECISIONS; i++) {
        udp_faults_plan_t plan = udp_faults_decide(&rates, &random, LENGTH);
        drop += plan.drop;
        duplicate += plan.copies == 2;
        reorder += plan.overtake > 0;
        delay += plan.delay_ns > 0;
        truncate += plan.length < LENGTH;
        flip += plan.flip != SIZE_MAX;
        assert_between(plan.copies, 1, 2);
        assert_between(plan.overtake, 0, UDP_FAULTS_OVERTAKE);
        assert_between(plan.delay_ns, 0, 1000);
        assert_between(plan.length, 0, LENGTH);
        assert_true(plan.flip == SIZE_MAX || plan.flip < plan.length * 8);
    }
    assert_between(drop, 800, 1200);
    assert_share(duplicate, 5);
    assert_share(reorder, 20);
    assert_share(delay, 10);
    assert_share(truncate, 3);
    assert_share(flip, 7);
}

static unsigned bits_set(const uint8_t *bytes, size_t length)
{
    unsigned count = 0;
    for (size_t i = 0; i < length; i++)
        count += (unsigned)__builtin_popcount(bytes[i]);
    return count;
}

// Flips one bit in some of the datagrams, and does nothing with an empty one.
static void test_forged(void **state)
{
    (void)state;
    const udp_faults_rates_t rates = {.forge = 10};
    udp_faults_t *faults;
    unsigned forged = 0;
    assert_int_equal(udp_faults_make(&rates, 3, &faults), AQ_OK);
    for (unsigned i = 0; i < DECISIONS; i++) {
        uint8_t bytes[64] = {0};
        udp_faults_forge(faults, bytes, sizeof bytes);
        assert_between(bits_set(bytes, sizeof bytes), 0, 1);
        forged += bits_set(bytes, sizeof bytes);
    }
    assert_share(forged, 10);
    assert_int_equal(udp_faults_count(faults).forged, forged);
    udp_faults_forge(faults, NULL, 0);
    udp_faults_stop(faults);
}

static void test_everything_asked_for(void **state)
{
    (void)state;
    udp_faults_rates_t rates = {100, 100, 100, 100, 100, 100, 0, 5};
    uint64_t random = 1;
    for (unsigned i = 0; i < 1000; i++) {
        udp_faults_plan_t plan = udp_faults_decide(&rates, &random, LENGTH);
        assert_true(plan.drop && plan.copies == 2 && plan.overtake && plan.delay_ns);
        assert_true(plan.length < LENGTH);
        assert_int_equal(plan.flip == SIZE_MAX, plan.length == 0);
        plan = udp_faults_decide(&rates, &random, 0);
        assert_int_equal(plan.length, 0);
        assert_true(plan.flip == SIZE_MAX);
    }
}

// The same seed gives the same decisions; one rate does not change the decisions of another.
static void test_seed(void **state)
{
    (void)state;
    udp_faults_rates_t one = {.drop = 50}, more = {.drop = 50, .flip = 50, .reorder = 50};
    uint64_t a = 7, b = 7, c = 8;
    unsigned other = 0;
    for (unsigned i = 0; i < 1000; i++) {
        bool drop = udp_faults_decide(&one, &a, LENGTH).drop;
        assert_int_equal(drop, udp_faults_decide(&more, &b, LENGTH).drop);
        other += drop != udp_faults_decide(&one, &c, LENGTH).drop;
    }
    assert_between(other, 400, 600);
}

// ---- datagrams ----

static void test_dropped(void **state)
{
    (void)state;
    udp_faults_t *faults = make_faults((udp_faults_rates_t){.drop = 100, .duplicate = 100}, 1);
    for (uint32_t i = 0; i < 100; i++)
        offer_datagram(faults, i, i);
    udp_faults_due(faults, UINT64_MAX, catch_one, &caught);
    assert_int_equal(caught.count, 0);
    assert_int_equal(udp_faults_count(faults).dropped, 100);
    assert_int_equal(udp_faults_count(faults).duplicated, 0);
    udp_faults_stop(faults);
}

static void test_duplicated(void **state)
{
    (void)state;
    udp_faults_t *faults = make_faults((udp_faults_rates_t){.duplicate = 100}, 1);
    for (uint32_t i = 0; i < 100; i++)
        offer_datagram(faults, i, i);
    assert_int_equal(caught.count, 200);
    for (unsigned i = 0; i < caught.count; i++) {
        assert_int_equal(caught.number[i], i / 2);
        assert_true(caught.intact[i]);
    }
    assert_int_equal(udp_faults_count(faults).duplicated, 100);
    udp_faults_stop(faults);
}

// Each datagram comes once and intact; none is overtaken by more than the limit, and some are
// overtaken.
static void test_reordered(void **state)
{
    (void)state;
    udp_faults_t *faults = make_faults((udp_faults_rates_t){.reorder = 30}, 3);
    bool seen[1000] = {false};
    unsigned out_of_order = 0;
    for (uint32_t i = 0; i < 1000; i++)
        offer_datagram(faults, i, 0);
    udp_faults_due(faults, UINT64_MAX, catch_one, &caught);
    assert_int_equal(caught.count, 1000);
    for (unsigned i = 0; i < caught.count; i++) {
        assert_true(caught.intact[i]);
        assert_between(caught.number[i], 0, 999);
        assert_false(seen[caught.number[i]]);
        seen[caught.number[i]] = true;
        assert_true(i <= caught.number[i] + UDP_FAULTS_OVERTAKE);
        out_of_order += i && caught.number[i] < caught.number[i - 1];
    }
    assert_between(out_of_order, 100, 500);
    udp_faults_stop(faults);
}

// A reordered datagram that no other overtakes is sent as well.
static void test_reordered_last(void **state)
{
    (void)state;
    udp_faults_t *faults = make_faults((udp_faults_rates_t){.reorder = 100}, 3);
    assert_true(udp_faults_deadline(faults) == UINT64_MAX);
    offer_datagram(faults, 0, 1000);
    assert_int_equal(caught.count, 0);
    uint64_t deadline = udp_faults_deadline(faults);
    assert_true(deadline > 1000 && deadline < UINT64_MAX);
    udp_faults_due(faults, deadline - 1, catch_one, &caught);
    assert_int_equal(caught.count, 0);
    udp_faults_due(faults, deadline, catch_one, &caught);
    assert_int_equal(caught.count, 1);
    assert_true(udp_faults_deadline(faults) == UINT64_MAX);
    udp_faults_stop(faults);
}

static void test_delayed(void **state)
{
    (void)state;
    udp_faults_t *faults = make_faults((udp_faults_rates_t){.delay = 100, .delay_ns = 50}, 3);
    for (uint32_t i = 0; i < 100; i++)
        offer_datagram(faults, i, 1000); // all at the same time
    assert_int_equal(caught.count, 0);
    udp_faults_due(faults, 1025, catch_one, &caught);
    assert_between(caught.count, 20, 80);
    udp_faults_due(faults, 1050, catch_one, &caught);
    assert_int_equal(caught.count, 100);
    udp_faults_stop(faults);
}

static void test_damaged(void **state)
{
    (void)state;
    udp_faults_t *faults = make_faults((udp_faults_rates_t){.truncate = 100}, 3);
    for (uint32_t i = 0; i < 100; i++)
        offer_datagram(faults, i, 0);
    assert_int_equal(caught.count, 100);
    for (unsigned i = 0; i < caught.count; i++)
        assert_between(caught.length[i], 0, LENGTH - 1);
    udp_faults_stop(faults);

    set_up(NULL);
    unsigned intact = 0;
    faults = make_faults((udp_faults_rates_t){.flip = 100}, 3);
    for (uint32_t i = 0; i < 100; i++)
        offer_datagram(faults, i, 0);
    assert_int_equal(caught.count, 100);
    for (unsigned i = 0; i < caught.count; i++) {
        assert_int_equal(caught.length[i], LENGTH);
        intact += caught.intact[i] && caught.number[i] == i;
    }
    assert_int_equal(intact, 0);
    assert_int_equal(udp_faults_count(faults).flipped, 100);
    udp_faults_stop(faults);
}

// Datagrams that are still delayed at the end are freed, not sent.
static void test_stop(void **state)
{
    (void)state;
    udp_faults_t *faults = make_faults((udp_faults_rates_t){.delay = 100, .delay_ns = 50}, 3);
    for (uint32_t i = 0; i < 10; i++)
        offer_datagram(faults, i, 1000);
    udp_faults_stop(faults);
    assert_int_equal(caught.count, 0);
    udp_faults_stop(NULL);
}

// ---- settings ----

static void load_settings(void)
{
    char fault[512];
    assert_int_equal(aq_settings_load(fault, sizeof fault), AQ_OK);
}

static void test_settings(void **state)
{
    (void)state;
    udp_faults_t *faults, *again;
    load_settings();
    assert_int_equal(udp_faults_start(0, &faults), AQ_OK);
    assert_null(faults);
    assert_int_equal(setenv("GASNET_UDP_FAULT_DROP", "50", 1), 0);
    load_settings();
    assert_int_equal(udp_faults_start(0, &faults), AQ_OK);
    assert_int_equal(udp_faults_start(1, &again), AQ_OK);
    assert_non_null(faults);
    for (uint32_t i = 0; i < 1000; i++) {
        offer_datagram(faults, i, 0);
        offer_datagram(again, i, 0);
    }
    unsigned drops = (unsigned)udp_faults_count(faults).dropped;
    assert_between(drops, 400, 600);
    assert_int_equal(caught.count + drops + udp_faults_count(again).dropped, 2000);
    unsigned pairs = 0; // each rank has its own sequence
    for (unsigned i = 1; i < caught.count; i++)
        pairs += caught.number[i] == caught.number[i - 1];
    assert_between(pairs, 150, 350);
    udp_faults_stop(faults);
    udp_faults_stop(again);
    unsetenv("GASNET_UDP_FAULT_DROP");
    load_settings();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing_asked_for, set_up),
        cmocka_unit_test_setup(test_rates, set_up),
        cmocka_unit_test(test_forged),
        cmocka_unit_test_setup(test_everything_asked_for, set_up),
        cmocka_unit_test_setup(test_seed, set_up),
        cmocka_unit_test_setup(test_dropped, set_up),
        cmocka_unit_test_setup(test_duplicated, set_up),
        cmocka_unit_test_setup(test_reordered, set_up),
        cmocka_unit_test_setup(test_reordered_last, set_up),
        cmocka_unit_test_setup(test_delayed, set_up),
        cmocka_unit_test_setup(test_damaged, set_up),
        cmocka_unit_test_setup(test_stop, set_up),
        cmocka_unit_test_setup(test_settings, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
