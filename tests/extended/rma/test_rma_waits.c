// SPDX-License-Identifier: BSD-3-Clause
// Puts that a conduit does not copy: the call returns when the put is complete, so that the client
// may reuse the source.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include "../../../core/thread/event.h"
#include "../../../core/state/job.h"
#include "../../../core/endpoint/team.h"
#include "../../../extended/rma/rma.h"

static unsigned begun;
static uint8_t last_flags;
static atomic_uint *pending_put; // completed by the next poll; NULL: none
static bool has_no_room;

static aq_status_t waits_rma(aq_conduit_t *conduit, void *link, aq_rma_t *rma)
{
    (void)conduit, (void)link;
    if (has_no_room)
        return AQ_AGAIN;
    begun++;
    last_flags = rma->flags;
    pending_put = rma->pending;
    atomic_fetch_add(rma->pending, 1);
    aq_rma_advance(rma, rma->nbytes);
    return AQ_OK;
}

// The put completes in a poll of a caller that waits.
static unsigned waits_poll(aq_conduit_t *conduit, unsigned what)
{
    (void)conduit;
    if (what & AQ_POLL_SENDING || !pending_put)
        return 0;
    atomic_fetch_sub(pending_put, 1);
    pending_put = NULL;
    return 1;
}

static const aq_conduit_ops_t ops = {
    .am = {.poll = waits_poll},
    .rma = {.begin = waits_rma},
};
static aq_conduit_t conduit = {.ops = &ops};

static int start_job(void **state)
{
    (void)state;
    static _Atomic int32_t exit_word = AQ_BOOT_RUNNING;
    static aq_boot_t boot = {.size = 1, .exit_word = &exit_word};
    static intptr_t shifts[1];
    aq_job.boot = &boot;
    aq_job.size = 1;
    aq_job.shift = shifts;
    aq_job.conduits[0] = &conduit;
    aq_job.conduit_count = 1;
    static struct gex_ep endpoint = {.handlers = &aq_handlers};
    aq_team.head = (struct gex_tm){.size = 1, .peer_shift = shifts};
    aq_team.ep = &endpoint;
    return 0;
}

// Starts a put of so many bytes; returns whether a part of it is pending at the return.
static bool start_put(size_t nbytes, uint8_t flags, gex_Flags_t call_flags, int *refused)
{
    static char from[256], to[256];
    const aq_rma_op_t op = {
        .call = "put", .access = {to, from, nbytes, NULL, AQ_RMA_PUT, flags}, .flags = call_flags};
    aq_event_t *event = aq_event_new();
    const gex_Event_t part = aq_event_part(event, AQ_PART_PUT);
    begun = 0;
    last_flags = 0;
    *refused = aq_rma_native(&op, (aq_path_t){.conduit = &conduit}, part);
    const bool pending = atomic_load(&part->pending) > 0;
    gex_Event_Wait(part);
    aq_event_free(event);
    return pending;
}

static void test_long_put(void **state)
{
    (void)state;
    int refused;
    conduit.put_waits_from = 101;
    assert_true(start_put(100, 0, 0, &refused)); // copied: it may be pending
    assert_int_equal(last_flags, 0);
    assert_false(start_put(101, 0, 0, &refused));
    assert_int_equal(refused, 0);
    assert_int_equal(begun, 1);
    assert_int_equal(last_flags, AQ_RMA_STABLE);
    assert_null(pending_put);
    // The client may let the library use the source until the put is complete.
    assert_true(start_put(101, AQ_RMA_STABLE, 0, &refused));
}

static void test_no_limit(void **state)
{
    (void)state;
    int refused;
    conduit.put_waits_from = 0;
    assert_true(start_put(256, 0, 0, &refused));
    assert_int_equal(last_flags, 0);
}

static void test_immediate(void **state)
{
    (void)state;
    int refused;
    conduit.put_waits_from = 1;
    has_no_room = true;
    assert_false(start_put(8, 0, GEX_FLAG_IMMEDIATE, &refused));
    has_no_room = false;
    assert_int_equal(refused, 1);
    assert_int_equal(begun, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_put),
        cmocka_unit_test(test_no_limit),
        cmocka_unit_test(test_immediate),
    };
    return cmocka_run_group_tests(tests, start_job, NULL);
}
