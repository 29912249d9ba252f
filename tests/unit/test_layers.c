// Layers: whatever was added is started, once each, and nothing before the start.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../core/layers.h"

static unsigned starts[3];

static void start_0(void)
{
    starts[0]++;
}

static void start_1(void)
{
    starts[1]++;
}

static void start_2(void)
{
    starts[2]++;
}

static void expect_starts(unsigned first, unsigned second, unsigned third)
{
    assert_int_equal(starts[0], first);
    assert_int_equal(starts[1], second);
    assert_int_equal(starts[2], third);
}

static void test_none(void **state)
{
    (void)state;
    aq_layers_start();
    expect_starts(0, 0, 0);
}

static void test_each_once(void **state)
{
    (void)state;
    static aq_layer_t layers[] = {{start_0, NULL}, {start_1, NULL}, {start_2, NULL}};
    aq_layers_add(&layers[0]);
    aq_layers_add(&layers[1]);
    expect_starts(0, 0, 0);
    aq_layers_start();
    expect_starts(1, 1, 0);
    aq_layers_add(&layers[2]);
    aq_layers_start();
    expect_starts(2, 2, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_each_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
