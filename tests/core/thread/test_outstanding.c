// SPDX-License-Identifier: BSD-3-Clause
// Outstanding operations of threads, as fences see them: what counts, what is over, threads that
// end, and the memory of the lists.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include "../../../core/thread/outstanding.h"

enum { GET = 1u << AQ_PART_GET, PUT = 1u << AQ_PART_PUT };

static aq_outstanding_t *outstanding;
static aq_event_t *implicit;

static int start_thread(void **state)
{
    (void)state;
    implicit = aq_event_new();
    outstanding = aq_outstanding_take(implicit);
    return 0;
}

static int end_thread(void **state)
{
    (void)state;
    aq_outstanding_leave(outstanding);
    aq_event_free(implicit);
    return 0;
}

// An explicit operation with one pending step.
static aq_event_t *begin(aq_part_t part, gex_EP_Index_t ep, unsigned local)
{
    aq_event_t *event = aq_event_new();
    aq_event_begin(aq_event_part(event, part));
    aq_outstanding_add(outstanding, event, ep, local);
    return event;
}

static void end(aq_event_t *event, aq_part_t part)
{
    aq_event_end(aq_event_part(event, part));
}

// The number of operations that a fence waits for.
static uint32_t of_thread(bool local)
{
    aq_outstanding_list_t list = {0};
    aq_outstanding_of_thread(outstanding, local, &list);
    const uint32_t count = list.count;
    aq_outstanding_list_free(&list);
    return count;
}

static uint32_t of_endpoint(gex_EP_Index_t ep, bool local)
{
    aq_outstanding_list_t list = {0};
    aq_outstanding_of_endpoint(ep, local, &list);
    const uint32_t count = list.count;
    aq_outstanding_list_free(&list);
    return count;
}

// A fence with nothing outstanding allocates nothing.
static void test_nothing(void **state)
{
    (void)state;
    aq_outstanding_list_t list = {0};
    aq_outstanding_of_thread(outstanding, false, &list);
    aq_outstanding_of_endpoint(0, false, &list);
    assert_null(list.ops);
    assert_true(aq_outstanding_list_done(&list));
    aq_event_t *complete = aq_event_new();
    aq_outstanding_add(outstanding, complete, 0, PUT);
    assert_int_equal(of_thread(false), 0);
    aq_event_free(complete);
}

static void test_explicit(void **state)
{
    (void)state;
    aq_event_t *get = begin(AQ_PART_GET, 0, GET);
    aq_event_t *copied = begin(AQ_PART_PUT, 3, 0), *stable = begin(AQ_PART_PUT, 3, PUT);
    assert_int_equal(of_thread(false), 3);
    assert_int_equal(of_thread(true), 2);
    assert_int_equal(of_endpoint(0, false), 1);
    assert_int_equal(of_endpoint(3, false), 2);
    assert_int_equal(of_endpoint(3, true), 1);
    assert_int_equal(of_endpoint(1, false), 0);
    end(stable, AQ_PART_PUT);
    assert_int_equal(of_thread(true), 1);
    end(get, AQ_PART_GET);
    end(copied, AQ_PART_PUT);
    assert_int_equal(of_thread(false), 0);
    aq_event_free(get);
    aq_event_free(copied);
    aq_event_free(stable);
}

// A record that was freed and serves another operation does not hold up a fence.
static void test_reused(void **state)
{
    (void)state;
    aq_outstanding_list_t list = {0};
    aq_event_t *put = begin(AQ_PART_PUT, 0, 0);
    aq_outstanding_of_thread(outstanding, false, &list);
    assert_false(aq_outstanding_list_done(&list));
    end(put, AQ_PART_PUT);
    aq_event_free(put);
    aq_event_t *other = aq_event_new();
    assert_ptr_equal(other, put);
    aq_event_begin(aq_event_part(other, AQ_PART_PUT));
    assert_true(aq_outstanding_list_done(&list));
    assert_int_equal(of_thread(false), 0);
    end(other, AQ_PART_PUT);
    aq_event_free(other);
    aq_outstanding_list_free(&list);
}

// Each part of the implicit record has to be idle once, not all at the same time.
static void test_implicit(void **state)
{
    (void)state;
    aq_outstanding_list_t list = {0};
    aq_outstanding_implicit(outstanding, 2, 0);
    aq_event_begin(aq_event_part(implicit, AQ_PART_PUT));
    assert_int_equal(of_thread(false), 1);
    assert_int_equal(of_thread(true), 0);
    assert_int_equal(of_endpoint(2, false), 1);
    assert_int_equal(of_endpoint(3, false), 0);
    aq_outstanding_implicit(outstanding, 3, GET);
    aq_event_begin(aq_event_part(implicit, AQ_PART_GET));
    assert_int_equal(of_thread(true), 1);
    assert_int_equal(of_endpoint(3, false), 1);
    aq_outstanding_of_thread(outstanding, false, &list);
    end(implicit, AQ_PART_PUT);
    assert_false(aq_outstanding_list_done(&list));
    aq_event_begin(aq_event_part(implicit, AQ_PART_PUT));
    end(implicit, AQ_PART_GET);
    assert_true(aq_outstanding_list_done(&list));
    end(implicit, AQ_PART_PUT);
    assert_int_equal(of_thread(false), 0);
    aq_outstanding_implicit(outstanding, 4, 0);
    aq_event_begin(aq_event_part(implicit, AQ_PART_PUT));
    assert_int_equal(of_endpoint(2, false), 0); // forgotten since nothing was outstanding
    assert_int_equal(of_thread(true), 0);
    end(implicit, AQ_PART_PUT);
    aq_outstanding_list_free(&list);
}

static void test_region(void **state)
{
    (void)state;
    aq_event_t *region = aq_event_new(), *others[200];
    aq_outstanding_add_region(outstanding, region);
    assert_int_equal(of_thread(false), 0);
    for (unsigned i = 0; i < 200; i++) // makes the list drop what is over
        others[i] = begin(AQ_PART_PUT, 0, 0);
    for (unsigned i = 0; i < 200; i++) {
        end(others[i], AQ_PART_PUT);
        aq_event_free(others[i]);
    }
    assert_int_equal(of_thread(false), 0);
    aq_event_begin(aq_event_part(region, AQ_PART_GET));
    assert_int_equal(of_thread(true), 1);
    assert_int_equal(of_endpoint(7, false), 1);
    end(region, AQ_PART_GET);
    assert_int_equal(of_thread(false), 0);
    aq_event_free(region);
}

// What an ended thread has left outstanding counts for its endpoint, also after another thread has
// taken the state.
static void test_ended(void **state)
{
    aq_event_t *old = implicit, *put = begin(AQ_PART_PUT, 5, 0);
    const aq_outstanding_t *old_begun = outstanding;
    aq_outstanding_implicit(outstanding, 6, 0);
    aq_event_begin(aq_event_part(implicit, AQ_PART_RMW));
    aq_outstanding_leave(outstanding);
    assert_int_equal(of_endpoint(5, false), 1);
    assert_int_equal(of_endpoint(6, false), 1);
    start_thread(state);
    assert_ptr_equal(outstanding, old_begun);
    assert_int_equal(of_endpoint(5, false), 1);
    assert_int_equal(of_endpoint(6, false), 1);
    end(put, AQ_PART_PUT);
    end(old, AQ_PART_RMW);
    assert_int_equal(of_endpoint(5, false) + of_endpoint(6, false), 0);
    aq_event_free(put);
    aq_event_free(old);
}

// The list holds what is outstanding, not what has ever outstanding.
static void test_room(void **state)
{
    (void)state;
    const uint32_t before = aq_outstanding_room(outstanding);
    for (unsigned i = 0; i < 100000; i++) {
        aq_event_t *put = begin(AQ_PART_PUT, 0, 0);
        end(put, AQ_PART_PUT);
        aq_event_free(put);
    }
    assert_true(aq_outstanding_room(outstanding) <= (before ? before : 64));
    aq_event_t *puts[1000];
    for (unsigned i = 0; i < 1000; i++)
        puts[i] = begin(AQ_PART_PUT, 0, 0);
    assert_int_equal(of_thread(false), 1000);
    assert_true(aq_outstanding_room(outstanding) <= 2048);
    for (unsigned i = 0; i < 1000; i++) {
        end(puts[i], AQ_PART_PUT);
        aq_event_free(puts[i]);
    }
    assert_int_equal(of_thread(false), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing, start_thread, end_thread),
        cmocka_unit_test_setup_teardown(test_explicit, start_thread, end_thread),
        cmocka_unit_test_setup_teardown(test_reused, start_thread, end_thread),
        cmocka_unit_test_setup_teardown(test_implicit, start_thread, end_thread),
        cmocka_unit_test_setup_teardown(test_region, start_thread, end_thread),
        cmocka_unit_test_setup_teardown(test_ended, start_thread, end_thread),
        cmocka_unit_test_setup_teardown(test_room, start_thread, end_thread),
    };
    return cmocka_run_group_tests_name("outstanding", tests, NULL, NULL);
}
