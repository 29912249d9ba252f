// SPDX-License-Identifier: BSD-3-Clause
// Active messages: what each call passes to the conduit, what a handler receives, and what happens
// when the conduit refuses a message. A stub conduit keeps the newest message.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <string.h>

#include "../../../core/am/am.h"
#include "../../../core/state/job.h"
#include "../../../core/endpoint/team.h"

enum {
    RANKS = 3,
    MAPPED = 1, // a peer whose segment is mapped in this process
    FAR = 2,    // a peer whose segment is not mapped
    LINK_UNIT = 16,
    PUT_MAX = 300,
    SEGMENT = 0x10000,
    SEGMENT_BYTES = 0x1000,
    SHIFT = 0x70000,
    H_REPLIER = 200,
    H_OTHER = 201
};

static struct {
    unsigned sends, refusals;
    unsigned puts_left;   // puts that were incomplete when the newest message was sent
    unsigned polls_of[4]; // number of polls, by their argument (AQ_POLL_...)
    aq_am_t am;
    int32_t args[AQ_HANDLER_MAX_ARGS];
    void *link;
} posted;

// Puts into the segment of the peer FAR.
static struct {
    unsigned calls, refusals;
    bool absent;          // puts do not reach the memory
    atomic_uint *pending; // counter of the incomplete puts
    char segment[SEGMENT_BYTES];
} put_ahead;

static aq_status_t post_send(aq_conduit_t *conduit, void *link, const aq_am_t *am)
{
    assert_ptr_equal(conduit, aq_job.conduits[0]);
    posted.sends++;
    if (posted.refusals) {
        posted.refusals--;
        return AQ_AGAIN;
    }
    posted.am = *am;
    posted.puts_left = put_ahead.pending ? atomic_load(put_ahead.pending) : 0;
    posted.link = link;
    if (am->nargs)
        memcpy(posted.args, am->args, am->nargs * sizeof *am->args);
    return AQ_OK;
}

static unsigned post_poll(aq_conduit_t *conduit, unsigned what)
{
    (void)conduit;
    posted.polls_of[what & 3]++;
    if (put_ahead.pending)
        atomic_store(put_ahead.pending, 0);
    put_ahead.pending = NULL;
    return 0;
}

static aq_status_t post_rma(aq_conduit_t *conduit, void *link, aq_rma_t *rma)
{
    (void)conduit;
    assert_int_equal(rma->kind, AQ_RMA_PUT);
    assert_ptr_equal(link, (void *)(uintptr_t)((FAR + 1) * LINK_UNIT));
    if (put_ahead.refusals) {
        put_ahead.refusals--;
        return AQ_AGAIN;
    }
    if (put_ahead.absent)
        return AQ_ERR_ABSENT;
    const size_t begun = rma->nbytes < PUT_MAX ? rma->nbytes : PUT_MAX;
    memcpy(put_ahead.segment + ((uintptr_t)rma->remote - SEGMENT), rma->local, begun);
    atomic_fetch_add(rma->pending, 1);
    put_ahead.pending = rma->pending;
    aq_rma_advance(rma, begun);
    put_ahead.calls++;
    return AQ_OK;
}

static int clear_records(void **state)
{
    (void)state;
    memset(&posted, 0, sizeof posted);
    memset(&put_ahead, 0, sizeof put_ahead);
    return 0;
}

static int start_job(void **state)
{
    (void)state;
    static const aq_conduit_ops_t ops = {
        .am = {.send = post_send, .poll = post_poll},
        .rma = {.begin = post_rma},
    };
    static aq_conduit_t conduit = {.ops = &ops};
    static _Atomic int32_t exit_word = AQ_BOOT_RUNNING;
    static aq_boot_t boot = {.size = RANKS, .exit_word = &exit_word};
    static atomic_uintptr_t links[RANKS];
    static intptr_t shifts[RANKS] = {0, SHIFT, AQ_UNMAPPED};
    static uintptr_t addrs[RANKS], sizes[RANKS];
    for (uint32_t r = 0; r < RANKS; r++) {
        links[r] = (r + 1) * LINK_UNIT;
        addrs[r] = SEGMENT;
        sizes[r] = SEGMENT_BYTES;
    }
    aq_job.boot = &boot;
    aq_job.size = RANKS;
    aq_job.link = links;
    aq_job.shift = shifts;
    aq_job.segment_addr = addrs;
    aq_job.segment_size = sizes;
    aq_job.conduits[0] = &conduit;
    aq_job.conduit_count = 1;
    aq_job.limits.medium = aq_job.limits.long_reply = aq_job.limits.long_request = SEGMENT_BYTES;
    aq_team.head = (struct gex_tm){.size = RANKS, .peer_shift = shifts};
    aq_team.ep = &aq_endpoint;
    return clear_records(state);
}

static gex_TM_t team(void)
{
    return &aq_team.head;
}

static void add_handler(unsigned index, gex_AM_Fn_t fn, gex_Flags_t category, unsigned nargs)
{
    aq_endpoint_internal((gex_AM_Index_t)index, fn, category | GEX_FLAG_AM_REQREP, nargs, "test");
}

// ---- delivery, with every number of arguments ----

static struct {
    unsigned calls, nargs;
    gex_AM_Arg_t args[AQ_HANDLER_MAX_ARGS];
    void *payload;
    size_t nbytes;
    gex_Token_Info_t info;
} received;

static void record_call(gex_Token_t token, void *payload, size_t nbytes, unsigned nargs,
                        const gex_AM_Arg_t *args)
{
    received.calls++;
    received.nargs = nargs;
    memcpy(received.args, args, nargs * sizeof *args);
    received.payload = payload;
    received.nbytes = nbytes;
    assert_int_equal(gex_Token_Info(token, &received.info, GEX_TI_ALL), GEX_TI_ALL);
}

// Two handlers with N arguments, one for Short and one for Medium and Long. Macros, since C has no
// function whose number of parameters is a constant to choose.
#define AQ_API_L0 0
#define TAKERS(N)                                                                                  \
    static void short_##N(gex_Token_t token AQ_API_P##N)                                           \
    {                                                                                              \
        const gex_AM_Arg_t args[] = {AQ_API_L##N};                                                 \
        record_call(token, NULL, 0, N, args);                                                      \
    }                                                                                              \
    static void medlong_##N(gex_Token_t token, void *payload, size_t nbytes AQ_API_P##N)           \
    {                                                                                              \
        const gex_AM_Arg_t args[] = {AQ_API_L##N};                                                 \
        record_call(token, payload, nbytes, N, args);                                              \
    }
TAKERS(0)
TAKERS(1)
TAKERS(2)
TAKERS(3)
TAKERS(4)
TAKERS(5)
TAKERS(6)
TAKERS(7)
TAKERS(8)
TAKERS(9)
TAKERS(10)
TAKERS(11)
TAKERS(12)
TAKERS(13)
TAKERS(14)
TAKERS(15)
TAKERS(16)

#define PAIR(N)                                                                                    \
    {                                                                                              \
        (gex_AM_Fn_t) short_##N, (gex_AM_Fn_t)medlong_##N                                          \
    }
static const gex_AM_Fn_t takers[][2] = {PAIR(0),  PAIR(1),  PAIR(2),  PAIR(3),  PAIR(4),  PAIR(5),
                                        PAIR(6),  PAIR(7),  PAIR(8),  PAIR(9),  PAIR(10), PAIR(11),
                                        PAIR(12), PAIR(13), PAIR(14), PAIR(15), PAIR(16)};

static void deliver_one(unsigned category, unsigned nargs, bool reply)
{
    static int32_t args[AQ_HANDLER_MAX_ARGS];
    static char payload[24];
    bool is_short = category == AQ_AM_SHORT;
    for (unsigned i = 0; i < AQ_HANDLER_MAX_ARGS; i++)
        args[i] = (int32_t)(0x80000001u * (i + 1) - nargs - category);
    memset(&received, 0, sizeof received);
    unsigned index = 100 + 2 * nargs + !is_short;
    aq_arrival_t arrival = {.args = args,
                            .payload = is_short ? NULL : payload,
                            .nbytes = is_short ? 0 : 5 + nargs,
                            .source = FAR,
                            .category = (uint8_t)category,
                            .handler = (uint8_t)index,
                            .nargs = (uint8_t)nargs,
                            .reply = reply};
    assert_false(aq_am_deliver(&arrival)); // the handler did not reply
    assert_int_equal(received.calls, 1);
    assert_int_equal(received.nargs, nargs);
    assert_memory_equal(received.args, args, nargs * sizeof *args);
    assert_ptr_equal(received.payload, arrival.payload);
    assert_int_equal(received.nbytes, arrival.nbytes);
    assert_int_equal(received.info.gex_srcrank, FAR);
    assert_ptr_equal(received.info.gex_ep, &aq_endpoint);
    assert_ptr_equal(received.info.gex_entry, &aq_handlers.entry[index]);
    assert_int_equal(!!received.info.gex_is_req, !reply);
    assert_int_equal(!!received.info.gex_is_long, category == AQ_AM_LONG);
}

static void test_deliver(void **state)
{
    (void)state;
    for (unsigned nargs = 0; nargs <= AQ_HANDLER_MAX_ARGS; nargs++) {
        add_handler(100 + 2 * nargs, takers[nargs][0], GEX_FLAG_AM_SHORT, nargs);
        add_handler(101 + 2 * nargs, takers[nargs][1], GEX_FLAG_AM_MEDLONG, nargs);
        for (unsigned category = AQ_AM_SHORT; category <= AQ_AM_LONG; category++) {
            deliver_one(category, nargs, false);
            deliver_one(category, nargs, true);
        }
    }
    assert_int_equal(gex_AM_MaxArgs(), AQ_HANDLER_MAX_ARGS);
}

// ---- sending: what the conduit is asked to send ----

static char source[64];
static void *const dest = (void *)(uintptr_t)(SEGMENT + 8);

static void assert_sent(uint32_t rank, unsigned category, bool reply, unsigned nargs)
{
    bool is_short = category == AQ_AM_SHORT, is_long = category == AQ_AM_LONG;
    assert_ptr_equal(posted.link, (void *)(uintptr_t)((rank + 1) * LINK_UNIT));
    assert_int_equal(posted.am.category, category);
    assert_int_equal(posted.am.handler, H_OTHER);
    assert_int_equal(posted.am.reply, reply);
    assert_int_equal(posted.am.nargs, nargs);
    for (unsigned i = 0; i < nargs; i++)
        assert_int_equal(posted.args[i], -7 + (int32_t)i);
    assert_ptr_equal(posted.am.payload, is_short ? NULL : source);
    assert_int_equal(posted.am.nbytes, is_short ? 0 : 40);
    assert_ptr_equal(posted.am.dest, is_long ? dest : NULL);
    assert_ptr_equal(posted.am.dest_mapped,
                     is_long && rank == MAPPED ? (char *)dest + SHIFT : NULL);
}

static void test_requests(void **state)
{
    (void)state;
    for (uint32_t rank = MAPPED; rank <= FAR; rank++) {
        gex_Event_t lc[2] = {GEX_EVENT_NO_OP, GEX_EVENT_NO_OP};
        assert_int_equal(gex_AM_RequestShort(team(), rank, H_OTHER, 0, -7, -6), 0);
        assert_sent(rank, AQ_AM_SHORT, false, 2);
        assert_int_equal(gex_AM_RequestMedium(team(), rank, H_OTHER, source, 40, &lc[0], 0, -7), 0);
        assert_sent(rank, AQ_AM_MEDIUM, false, 1);
        assert_int_equal(
            gex_AM_RequestLong(team(), rank, H_OTHER, source, 40, dest, &lc[1], 0, -7, -6, -5), 0);
        assert_sent(rank, AQ_AM_LONG, false, 3);
        assert_ptr_equal(lc[0], GEX_EVENT_INVALID);
        assert_ptr_equal(lc[1], GEX_EVENT_INVALID);
        gex_AM_RequestMedium(team(), rank, H_OTHER, source, 40, GEX_EVENT_NOW, 0);
        gex_AM_RequestLong(team(), rank, H_OTHER, source, 40, dest, GEX_EVENT_GROUP, 0);
        assert_sent(rank, AQ_AM_LONG, false, 0);
    }
    assert_int_equal(posted.sends, 10);
    assert_int_equal(posted.polls_of[AQ_POLL_REPLIES | AQ_POLL_REQUESTS], 10); // one per request
}

static void test_request_waits(void **state)
{
    (void)state;
    posted.refusals = 5;
    assert_int_equal(gex_AM_RequestShort(team(), FAR, H_OTHER, 0, -7), 0);
    assert_int_equal(posted.sends, 6);
    assert_true(posted.polls_of[AQ_POLL_REPLIES | AQ_POLL_REQUESTS] >= 5); // one for each refusal
    assert_sent(FAR, AQ_AM_SHORT, false, 1);
}

static void test_request_immediate(void **state)
{
    (void)state;
    posted.refusals = 1;
    assert_int_not_equal(gex_AM_RequestShort(team(), FAR, H_OTHER, GEX_FLAG_IMMEDIATE), 0);
    assert_int_equal(posted.sends, 1);
    assert_int_equal(
        gex_AM_RequestMedium(team(), FAR, H_OTHER, source, 40, GEX_EVENT_NOW, GEX_FLAG_IMMEDIATE),
        0);
    assert_int_equal(posted.sends, 2);
    assert_sent(FAR, AQ_AM_MEDIUM, false, 0);
    assert_int_equal(posted.polls_of[AQ_POLL_REPLIES | AQ_POLL_REQUESTS], 0);
}

// A Long that exceeds the conduit's limit is sent in two steps: first puts of the payload, then,
// once all puts are complete, the message. With IMMEDIATE nothing is sent if there is no room for
// the first put.
static void test_payload_ahead(void **state)
{
    (void)state;
    aq_conduit_t *conduit = aq_job.conduits[0];
    const aq_conduit_t before = *conduit;
    static char payload[1000];
    void *const to = (void *)(uintptr_t)(SEGMENT + 80);
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (char)(i * 7);
    conduit->max_medium = conduit->max_long = conduit->max_long_unmapped = 500;
    conduit->max_long_ahead = sizeof payload;
    conduit->long_ahead_from = 501;
    aq_job_find_limits();
    assert_int_equal(gex_AM_LUBRequestLong(), sizeof payload);
    assert_int_equal(gex_AM_LUBReplyLong(), 500);
    assert_int_equal(gex_AM_RequestLong(team(), FAR, H_OTHER, payload, 500, to, GEX_EVENT_NOW, 0),
                     0);
    assert_int_equal(put_ahead.calls, 0);
    assert_false(posted.am.payload_delivered);
    put_ahead.refusals = 1;
    posted.refusals = 1;
    assert_int_not_equal(gex_AM_RequestLong(team(), FAR, H_OTHER, payload, sizeof payload, to,
                                            GEX_EVENT_NOW, GEX_FLAG_IMMEDIATE),
                         0);
    assert_int_equal(put_ahead.calls, 0);
    assert_int_equal(gex_AM_RequestLong(team(), FAR, H_OTHER, payload, sizeof payload, to,
                                        GEX_EVENT_NOW, GEX_FLAG_IMMEDIATE),
                     0);
    assert_int_equal(put_ahead.calls, 4);
    assert_memory_equal(put_ahead.segment + 80, payload, sizeof payload);
    assert_int_equal(posted.puts_left, 0);
    assert_true(posted.am.payload_delivered);
    assert_ptr_equal(posted.am.dest, to);
    assert_int_equal(posted.am.nbytes, sizeof payload);
    // A conduit may rather not have payloads that its send could take, where a put reaches the
    // memory.
    conduit->long_ahead_from = 300;
    gex_AM_RequestLong(team(), FAR, H_OTHER, payload, 299, to, GEX_EVENT_NOW, 0);
    assert_false(posted.am.payload_delivered);
    gex_AM_RequestLong(team(), FAR, H_OTHER, payload, 300, to, GEX_EVENT_NOW, 0);
    assert_true(posted.am.payload_delivered);
    put_ahead.absent = true;
    gex_AM_RequestLong(team(), FAR, H_OTHER, payload, 300, to, GEX_EVENT_NOW, 0);
    assert_false(posted.am.payload_delivered);
    put_ahead.absent = false;
    put_ahead.calls = 0;
    // If the peer's segment is mapped, the conduit copies the payload itself.
    gex_AM_RequestLong(team(), MAPPED, H_OTHER, payload, sizeof payload, to, GEX_EVENT_NOW, 0);
    assert_int_equal(put_ahead.calls, 0);
    assert_false(posted.am.payload_delivered);
    *conduit = before;
    aq_job.limits.medium = aq_job.limits.long_reply = aq_job.limits.long_request = SEGMENT_BYTES;
}

// ---- replies ----

static struct {
    unsigned category;
    gex_Flags_t flags;
    int no_op;
    gex_Event_t lc;
} reply_plan;

static void replier(gex_Token_t token)
{
    if (reply_plan.category == AQ_AM_SHORT)
        reply_plan.no_op = gex_AM_ReplyShort(token, H_OTHER, reply_plan.flags, -7);
    else if (reply_plan.category == AQ_AM_MEDIUM)
        reply_plan.no_op = gex_AM_ReplyMedium(token, H_OTHER, source, 40, &reply_plan.lc,
                                              reply_plan.flags, -7, -6);
    else
        reply_plan.no_op = gex_AM_ReplyLong(token, H_OTHER, source, 40, dest, &reply_plan.lc,
                                            reply_plan.flags, -7, -6, -5);
    assert_int_equal(token->replied, !reply_plan.no_op);
}

// Delivers a request from a rank; returns whether its handler has replied.
static bool deliver_request(uint32_t rank, unsigned category, gex_Flags_t flags)
{
    reply_plan.category = category;
    reply_plan.flags = flags;
    reply_plan.lc = GEX_EVENT_NO_OP;
    add_handler(H_REPLIER, (gex_AM_Fn_t)replier, GEX_FLAG_AM_SHORT, 0);
    const aq_arrival_t arrival = {
        .source = rank, .category = AQ_AM_SHORT, .handler = H_REPLIER, .nargs = 0};
    return aq_am_deliver(&arrival);
}

static void test_replies(void **state)
{
    (void)state;
    for (uint32_t rank = MAPPED; rank <= FAR; rank++)
        for (unsigned category = AQ_AM_SHORT; category <= AQ_AM_LONG; category++) {
            assert_true(deliver_request(rank, category, 0));
            assert_sent(rank, category, true, 1 + category);
            if (category != AQ_AM_SHORT)
                assert_ptr_equal(reply_plan.lc, GEX_EVENT_INVALID);
        }
    assert_int_equal(posted.sends, 6);
}

// A reply takes the link and the cookie of its request, also after a refusal.
static void test_reply_way(void **state)
{
    (void)state;
    int link;
    for (unsigned category = AQ_AM_SHORT; category <= AQ_AM_LONG; category++) {
        const aq_return_path_t path = {
            .conduit = aq_job.conduits[0], .link = &link, .cookie = UINT64_C(1) << 63 | category};
        const aq_arrival_t arrival = {
            .path = &path, .source = FAR, .category = AQ_AM_SHORT, .handler = H_REPLIER};
        reply_plan.category = category;
        reply_plan.flags = 0;
        posted.refusals = category;
        add_handler(H_REPLIER, (gex_AM_Fn_t)replier, GEX_FLAG_AM_SHORT, 0);
        assert_true(aq_am_deliver(&arrival));
        assert_ptr_equal(posted.link, &link);
        assert_int_equal(posted.am.cookie, path.cookie);
    }
    gex_AM_RequestShort(team(), FAR, H_OTHER, 0, -7);
    assert_int_equal(posted.am.cookie, 0);
}

// While a reply waits for room, no requests are delivered.
static void test_reply_waits(void **state)
{
    (void)state;
    posted.refusals = 20;
    assert_true(deliver_request(MAPPED, AQ_AM_LONG, 0));
    assert_sent(MAPPED, AQ_AM_LONG, true, 3);
    assert_int_equal(posted.sends, 21);
    assert_true(posted.polls_of[AQ_POLL_REPLIES] >= 20);
    assert_int_equal(posted.polls_of[AQ_POLL_REQUESTS], 0);
    assert_int_equal(posted.polls_of[AQ_POLL_REPLIES | AQ_POLL_REQUESTS], 0);
}

static void test_reply_immediate(void **state)
{
    (void)state;
    posted.refusals = 1;
    assert_false(deliver_request(FAR, AQ_AM_SHORT, GEX_FLAG_IMMEDIATE));
    assert_int_not_equal(reply_plan.no_op, 0);
    assert_int_equal(posted.sends, 1);
    assert_true(deliver_request(FAR, AQ_AM_SHORT, GEX_FLAG_IMMEDIATE));
    assert_int_equal(posted.sends, 2);
    assert_int_equal(posted.polls_of[AQ_POLL_REPLIES], 0);
}

static void test_here(void **state)
{
    (void)state;
    assert_ptr_equal(aq_am_map_local(0, 0, dest), dest);
    assert_ptr_equal(aq_am_map_local(MAPPED, 0, dest), (char *)dest + SHIFT);
    assert_null(aq_am_map_local(FAR, 0, dest));
    assert_null(aq_am_map_local(RANKS, 0, dest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_deliver, clear_records),
        cmocka_unit_test_setup(test_requests, clear_records),
        cmocka_unit_test_setup(test_request_waits, clear_records),
        cmocka_unit_test_setup(test_request_immediate, clear_records),
        cmocka_unit_test_setup(test_payload_ahead, clear_records),
        cmocka_unit_test_setup(test_replies, clear_records),
        cmocka_unit_test_setup(test_reply_way, clear_records),
        cmocka_unit_test_setup(test_reply_waits, clear_records),
        cmocka_unit_test_setup(test_reply_immediate, clear_records),
        cmocka_unit_test_setup(test_here, clear_records),
    };
    return cmocka_run_group_tests(tests, start_job, NULL);
}
