// SPDX-License-Identifier: BSD-3-Clause
// The table of handlers: fixed indices, indices that the library chooses, and invalid entries. The
// pairs of an endpoint.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <pthread.h>
#include <string.h>

#include "../../../core/endpoint/endpoint.h"
#include "../../../core/ground/fatal.h"
#include "../../../core/state/job.h"

enum { FIRST = GEX_AM_INDEX_BASE, LAST = AQ_HANDLERS - 1, PLACES = AQ_HANDLERS - FIRST };

static aq_handlers_t handlers;
static struct gex_ep ep;

static int clear_endpoint(void **state)
{
    (void)state;
    memset(&ep, 0, sizeof ep);
    memset(&handlers, 0, sizeof handlers);
    ep.handlers = &handlers;
    ep.capabilities = GEX_EP_CAPABILITY_ALL;
    aq_job.size = 1;
    return 0;
}

static void handler_a(void) {}

static void handler_b(void) {}

static gex_AM_Entry_t make_entry(unsigned index, gex_AM_Fn_t fn)
{
    return (gex_AM_Entry_t){.gex_index = (gex_AM_Index_t)index,
                            .gex_fnptr = fn,
                            .gex_flags = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQREP,
                            .gex_nargs = 3,
                            .gex_cdata = &ep,
                            .gex_name = "name"};
}

static unsigned count_registered(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < AQ_HANDLERS; i++)
        count += ep.handlers->entry[i].gex_fnptr != NULL;
    return count;
}

static int register_one(unsigned index, gex_AM_Fn_t fn)
{
    gex_AM_Entry_t one = make_entry(index, fn);
    return gex_EP_RegisterHandlers(&ep, &one, 1);
}

static void test_fixed(void **state)
{
    (void)state;
    gex_AM_Entry_t table[] = {make_entry(LAST, handler_a), make_entry(FIRST, handler_b),
                              make_entry(100, handler_a)};
    assert_int_equal(gex_EP_RegisterHandlers(&ep, table, 0), GASNET_OK);
    assert_int_equal(count_registered(), 0);
    assert_int_equal(gex_EP_RegisterHandlers(&ep, table, 3), GASNET_OK);
    assert_int_equal(count_registered(), 3);
    for (unsigned i = 0; i < 3; i++) {
        const gex_AM_Entry_t *got = &ep.handlers->entry[table[i].gex_index];
        assert_true(got->gex_fnptr == table[i].gex_fnptr);
        assert_int_equal(got->gex_index, table[i].gex_index);
        assert_int_equal(got->gex_flags, table[i].gex_flags);
        assert_int_equal(got->gex_nargs, 3);
        assert_ptr_equal(got->gex_cdata, &ep);
        assert_string_equal(got->gex_name, "name");
    }
}

// Index 0 lets the library choose an index, after all entries with fixed indices have theirs.
static void test_chosen(void **state)
{
    (void)state;
    gex_AM_Entry_t table[] = {make_entry(0, handler_a), make_entry(LAST, handler_b),
                              make_entry(0, handler_a), make_entry(LAST - 2, handler_b),
                              make_entry(0, handler_a)};
    assert_int_equal(gex_EP_RegisterHandlers(&ep, table, 5), GASNET_OK);
    assert_int_equal(table[0].gex_index, LAST - 1);
    assert_int_equal(table[2].gex_index, LAST - 3);
    assert_int_equal(table[4].gex_index, LAST - 4);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(ep.handlers->entry[table[i].gex_index].gex_fnptr == table[i].gex_fnptr);
        assert_int_equal(ep.handlers->entry[table[i].gex_index].gex_index, table[i].gex_index);
    }
    gex_AM_Entry_t later = make_entry(0, handler_b);
    assert_int_equal(gex_EP_RegisterHandlers(&ep, &later, 1), GASNET_OK);
    assert_int_equal(later.gex_index, LAST - 5);
}

static void test_doubled(void **state)
{
    (void)state;
    assert_int_equal(register_one(100, handler_a), GASNET_OK);
    assert_int_equal(register_one(100, handler_b), GASNET_ERR_BAD_ARG);
    assert_true(ep.handlers->entry[100].gex_fnptr == handler_a);
    gex_AM_Entry_t table[] = {make_entry(101, handler_a), make_entry(101, handler_b)};
    assert_int_equal(gex_EP_RegisterHandlers(&ep, table, 2), GASNET_ERR_BAD_ARG);
    assert_true(ep.handlers->entry[101].gex_fnptr == handler_a);
}

static void test_reserved(void **state)
{
    (void)state;
    assert_int_equal(register_one(1, handler_a), GASNET_ERR_BAD_ARG);
    assert_int_equal(register_one(FIRST - 1, handler_a), GASNET_ERR_BAD_ARG);
    assert_int_equal(count_registered(), 0);
    assert_int_equal(register_one(FIRST, handler_a), GASNET_OK);
}

static void test_full(void **state)
{
    (void)state;
    gex_AM_Entry_t table[PLACES];
    for (unsigned i = 0; i < PLACES; i++)
        table[i] = make_entry(0, handler_a);
    assert_int_equal(gex_EP_RegisterHandlers(&ep, table, PLACES), GASNET_OK);
    for (unsigned i = 0; i < PLACES; i++)
        assert_int_equal(table[i].gex_index, LAST - i);
    gex_AM_Entry_t more = make_entry(0, handler_b);
    assert_int_equal(gex_EP_RegisterHandlers(&ep, &more, 1), GASNET_ERR_BAD_ARG);
    assert_int_equal(more.gex_index, 0);
    assert_int_equal(count_registered(), PLACES);
    for (unsigned i = 0; i < FIRST; i++)
        assert_null(ep.handlers->entry[i].gex_fnptr);
}

// A debug build refuses entries that violate the specification.
static void test_entries(void **state)
{
    (void)state;
    if (!AQ_CHECKS)
        skip();
    gex_AM_Entry_t bad[6];
    for (unsigned i = 0; i < 6; i++)
        bad[i] = make_entry(0, handler_a);
    bad[0].gex_fnptr = NULL;
    bad[1].gex_nargs = gex_AM_MaxArgs() + 1;
    bad[2].gex_flags = GEX_FLAG_AM_REQREP;
    bad[3].gex_flags = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST;
    bad[4].gex_flags = GEX_FLAG_AM_LONG;
    bad[5].gex_flags = 0;
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(gex_EP_RegisterHandlers(&ep, &bad[i], 1), GASNET_ERR_BAD_ARG);
    assert_int_equal(count_registered(), 0);
}

static void test_client_data(void **state)
{
    (void)state;
    assert_null(gex_EP_QueryCData(&ep));
    gex_EP_SetCData(&ep, ep.handlers);
    assert_ptr_equal(gex_EP_QueryCData(&ep), ep.handlers);
    assert_int_equal(gex_EP_QueryIndex(&ep), 0);
}

// ---- pairs ----

enum { PAIRING_THREADS = 4 };

static gex_TM_t made[PAIRING_THREADS][GASNET_MAXEPS];

static void *make_pairs(void *to)
{
    gex_TM_t *pairs = to;
    for (unsigned i = 0; i < GASNET_MAXEPS; i++)
        pairs[i] = gex_TM_Pair(&ep, (gex_EP_Index_t)i);
    return NULL;
}

// Threads that ask for the same pairs at the same time get the same handles.
static void test_pairs(void **state)
{
    (void)state;
    pthread_t threads[PAIRING_THREADS];
    aq_threads = true;
    for (unsigned t = 0; t < PAIRING_THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, make_pairs, made[t]), 0);
    for (unsigned t = 0; t < PAIRING_THREADS; t++)
        pthread_join(threads[t], NULL);
    aq_threads = false;
    for (unsigned i = 0; i < GASNET_MAXEPS; i++) {
        assert_ptr_equal(gex_TM_QueryEP(made[0][i]), &ep);
        assert_int_equal(gex_TM_TranslateRankToEP(made[0][i], 0, 0).gex_ep_index, i);
        for (unsigned t = 1; t < PAIRING_THREADS; t++)
            assert_ptr_equal(made[t][i], made[0][i]);
        assert_true(i == 0 || made[0][i] != made[0][i - 1]);
    }
}

// All pairs with further endpoints share one table of as many words as the job has ranks.
static void test_pairs_share_shifts(void **state)
{
    (void)state;
    struct gex_ep other = {.index = 7, .capabilities = GEX_EP_CAPABILITY_ALL};
    const intptr_t *shifts = gex_TM_Pair(&ep, 1)->peer_shift;
    assert_ptr_equal(gex_TM_Pair(&ep, GASNET_MAXEPS - 1)->peer_shift, shifts);
    assert_ptr_equal(gex_TM_Pair(&other, 5)->peer_shift, shifts);
}

// An endpoint that takes over the index of another one gets pairs of its own.
static void test_pairs_of_next(void **state)
{
    (void)state;
    struct gex_ep next = {.index = 9}, last = {.index = 9};
    assert_ptr_equal(gex_TM_QueryEP(gex_TM_Pair(&last, 3)), &last);
    assert_ptr_equal(gex_TM_QueryEP(gex_TM_Pair(&next, 3)), &next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_fixed, clear_endpoint),
        cmocka_unit_test_setup(test_chosen, clear_endpoint),
        cmocka_unit_test_setup(test_doubled, clear_endpoint),
        cmocka_unit_test_setup(test_reserved, clear_endpoint),
        cmocka_unit_test_setup(test_full, clear_endpoint),
        cmocka_unit_test_setup(test_entries, clear_endpoint),
        cmocka_unit_test_setup(test_client_data, clear_endpoint),
        cmocka_unit_test_setup(test_pairs, clear_endpoint),
        cmocka_unit_test_setup(test_pairs_share_shifts, clear_endpoint),
        cmocka_unit_test_setup(test_pairs_of_next, clear_endpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
