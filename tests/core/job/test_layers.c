// SPDX-License-Identifier: BSD-3-Clause
// Layers: aq_layers_start starts each layer of a table once, in order. The table of the library
// gives no handler index to two layers.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include "../../../core/job/exit_broadcast.h"
#include "../../../core/job/layers.h"
#include "../../../core/am/long_fragment.h"
#include "../../../core/expose/segment_revoke.h"
#include "../../../core/am/window_ask.h"

static unsigned start_order[3], count;

static void start_0(void)
{
    start_order[count++] = 0;
}

static void start_1(void)
{
    start_order[count++] = 1;
}

static void start_2(void)
{
    start_order[count++] = 2;
}

static void test_none(void **state)
{
    (void)state;
    static const aq_layer_t table[] = {{0}};
    count = 0;
    aq_layers_start(table);
    assert_int_equal(count, 0);
}

static void test_each_once(void **state)
{
    (void)state;
    static const aq_layer_t table[] = {
        {"one", start_1, 1, 2}, {"none", start_0, 0, 0}, {"two", start_2, 3, 3}, {0}};
    count = 0;
    aq_layers_start(table);
    assert_int_equal(count, 3);
    assert_int_equal(start_order[0], 1);
    assert_int_equal(start_order[1], 0);
    assert_int_equal(start_order[2], 2);
}

// Index 0 has no handler. Indices above AQ_HANDLER_EXIT_REPLY belong to the client.
static void test_indices(void **state)
{
    (void)state;
    static const aq_layer_t core = {.name = "core"};
    const aq_layer_t *owner[256] = {[AQ_HANDLER_LONG_PIECE_TAGGED] = &core,
                                    [AQ_HANDLER_HEADER_TAGGED] = &core,
                                    [AQ_HANDLER_SEGMENT_REVOKED] = &core};
    for (unsigned i = AQ_HANDLER_WINDOW; i <= AQ_HANDLER_EXIT_REPLY; i++)
        owner[i] = &core;
    unsigned layers = 0;
    for (const aq_layer_t *layer = aq_layer_table; layer->start; layer++) {
        layers++;
        assert_non_null(layer->name);
        assert_true(layer->first_handler <= layer->last_handler);
        assert_true(layer->last_handler < AQ_HANDLER_EXIT_ASK);
        for (unsigned i = layer->first_handler; i && i <= layer->last_handler; i++) {
            assert_null(owner[i]);
            owner[i] = layer;
        }
    }
    assert_int_equal(layers, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_each_once),
        cmocka_unit_test(test_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
