// SPDX-License-Identifier: BSD-3-Clause
// Negotiated payload: where the buffer is, how large it is, and that Commit sends what the client
// wrote there.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <string.h>

#include "../../../core/am/am.h"
#include "../../../core/thread/srcdesc.h"
#include "../../../core/state/job.h"
#include "../../../core/endpoint/team.h"
#include "../../unit/assert_between.h"

static char sent[512];
static const void *sent_from;
static size_t sent_bytes;
static unsigned sends;

static aq_status_t post_send(aq_conduit_t *conduit, void *link, const aq_am_t *am)
{
    (void)conduit, (void)link;
    sends++;
    sent_from = am->payload;
    sent_bytes = am->nbytes;
    memcpy(sent, am->payload, am->nbytes);
    return AQ_OK;
}

static unsigned post_poll(aq_conduit_t *conduit, unsigned what)
{
    (void)conduit, (void)what;
    return 0;
}

static int start_job(void **state)
{
    (void)state;
    static const aq_conduit_ops_t ops = {
        .am = {.send = post_send, .poll = post_poll},
    };
    static aq_conduit_t conduit = {.ops = &ops};
    static _Atomic int32_t exit_word = AQ_BOOT_RUNNING;
    static aq_boot_t boot = {.size = 1, .exit_word = &exit_word};
    static atomic_uintptr_t links[1] = {16};
    static intptr_t shifts[1];
    aq_job.boot = &boot;
    aq_job.size = 1;
    aq_job.link = links;
    aq_job.shift = shifts;
    aq_job.conduits[0] = &conduit;
    aq_job.conduit_count = 1;
    aq_job.limits.medium = aq_job.limits.long_reply = aq_job.limits.long_request = sizeof sent;
    static struct gex_ep endpoint = {.handlers = &aq_handlers};
    aq_team.head = (struct gex_tm){.size = 1, .peer_shift = shifts};
    aq_team.ep = &endpoint;
    return 0;
}

// ---- a buffer inside the message ----

static char line[64];
static unsigned refusals; // how many more times prepare answers AGAIN
static unsigned commits, cancels;
static size_t committed;
static void (*during_poll)(void);

// The link and the cookie that the last call of prepare, commit or cancel got.
static void *last_link;
static uint64_t last_cookie;

static void record_route(void *link, const aq_am_t *am)
{
    last_link = link;
    last_cookie = am->cookie;
}

static aq_status_t buffer_prepare(aq_conduit_t *conduit, void *link, const aq_am_t *am,
                                  size_t least, size_t most, aq_reservation_t *out)
{
    (void)conduit, (void)least;
    record_route(link, am);
    if (refusals) {
        refusals--;
        return AQ_AGAIN;
    }
    *out = (aq_reservation_t){line, most < sizeof line ? most : sizeof line, 7};
    return AQ_OK;
}

static void buffer_commit(aq_conduit_t *conduit, void *link, const aq_am_t *am,
                          const aq_reservation_t *room)
{
    (void)conduit;
    record_route(link, am);
    assert_int_equal(room->cookie, 7);
    assert_ptr_equal(am->payload, line);
    committed = am->nbytes;
    commits++;
}

static void buffer_cancel(aq_conduit_t *conduit, void *link, const aq_am_t *am,
                          const aq_reservation_t *room)
{
    (void)conduit;
    record_route(link, am);
    assert_int_equal(room->cookie, 7);
    cancels++;
}

static unsigned buffer_poll(aq_conduit_t *conduit, unsigned what)
{
    (void)conduit, (void)what;
    if (!during_poll)
        return 0;
    void (*act)(void) = during_poll;
    during_poll = NULL;
    act();
    return 1;
}

static void use_conduit_buffer(void)
{
    static const aq_conduit_ops_t ops = {
        .am = {.send = post_send,
               .poll = buffer_poll,
               .prepare = buffer_prepare,
               .commit = buffer_commit,
               .cancel = buffer_cancel},
    };
    aq_job.conduits[0]->ops = &ops;
    commits = cancels = refusals = 0;
}

static gex_AM_SrcDesc_t prepare_medium(gex_Flags_t flags)
{
    return gex_AM_PrepareRequestMedium(&aq_team.head, 0, NULL, 8, 48, NULL, flags, 0);
}

static void test_conduit_buffer(void **state)
{
    (void)state;
    use_conduit_buffer();
    gex_AM_SrcDesc_t sd = prepare_medium(0);
    assert_ptr_equal(gex_AM_SrcDescAddr(sd), line);
    assert_int_equal(gex_AM_SrcDescSize(sd), 48);
    gex_AM_CommitRequestMedium(sd, 200, 5);
    assert_int_equal(commits, 1);
    assert_int_equal(committed, 5);
    gex_AM_CancelRequestMedium(prepare_medium(0), 0);
    assert_int_equal(cancels, 1);

    refusals = 1;
    assert_true(prepare_medium(GEX_FLAG_IMMEDIATE) == GEX_AM_SRCDESC_NO_OP);
    assert_int_equal(refusals, 0); // IMMEDIATE tries once
    refusals = 3;
    gex_AM_CancelRequestMedium(prepare_medium(0), 0); // Prepare waits for room
    assert_int_equal(refusals, 0);
}

static void assert_route(void *link, uint64_t cookie)
{
    assert_ptr_equal(last_link, link);
    assert_true(last_cookie == cookie);
    last_link = NULL;
    last_cookie = 0;
}

// A prepared reply takes the link and the cookie of its request, from Prepare to Commit or Cancel.
static void test_reply_route(void **state)
{
    (void)state;
    int link;
    use_conduit_buffer();
    const aq_return_path_t path = {
        .conduit = aq_job.conduits[0], .link = &link, .cookie = UINT64_C(1) << 63 | 5};
    const aq_arrival_t arrival = {.path = &path, .handler = 200, .category = AQ_AM_SHORT};
    struct aq_token token = {.arrival = &arrival};
    aq_thread_handler_depth++; // as in the handler of the request
    gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyMedium(&token, NULL, 8, 48, NULL, 0, 0);
    assert_route(&link, path.cookie);
    gex_AM_CommitReplyMedium(sd, 200, 5);
    assert_route(&link, path.cookie);
    assert_true(token.replied);
    token.replied = false;
    sd = gex_AM_PrepareReplyMedium(&token, NULL, 8, 48, NULL, 0, 0);
    gex_AM_CancelReplyMedium(sd, 0);
    aq_thread_handler_depth--;
    assert_route(&link, path.cookie);
    gex_AM_CancelRequestMedium(prepare_medium(0), 0);
    assert_int_equal(last_cookie, 0);
    assert_ptr_not_equal(last_link, &link);
}

// Acts as a handler that runs while the outer Prepare waits, and prepares a reply of its own.
static void reply_meanwhile(void)
{
    const aq_arrival_t arrival = {.source = 0, .handler = 200, .category = AQ_AM_SHORT};
    struct aq_token token = {.arrival = &arrival};
    aq_thread_handler_depth++;
    gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyMedium(&token, "a reply", 1, 8, GEX_EVENT_NOW, 0, 3);
    assert_string_equal(gex_AM_SrcDescAddr(sd), "a reply");
    gex_AM_CommitReplyMedium(sd, 201, 8, 1, 2, 3);
    aq_thread_handler_depth--;
    assert_true(token.replied);
}

static void test_nested(void **state)
{
    (void)state;
    use_conduit_buffer();
    refusals = 1;
    during_poll = reply_meanwhile;
    gex_AM_SrcDesc_t sd = prepare_medium(0);
    assert_null(during_poll);
    assert_ptr_equal(gex_AM_SrcDescAddr(sd), line);
    assert_int_equal(sd->am.nargs, 0); // the reply has 3
    assert_false(sd->am.reply);
    gex_AM_CommitRequestMedium(sd, 200, 8);
    assert_int_equal(commits, 1);
}

static void test_core_and_client_buffers(void **state)
{
    (void)state;
    static char mine[64] = "client";
    for (unsigned own = 0; own < 2; own++) {
        gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(&aq_team.head, 0, own ? mine : NULL, 8,
                                                          64, GEX_EVENT_NOW, 0, 0);
        assert_between(gex_AM_SrcDescSize(sd), 8, 64);
        char *room = gex_AM_SrcDescAddr(sd);
        assert_true((room == mine) == own);
        memcpy(room, "written", 8);
        unsigned before = sends;
        gex_AM_CommitRequestMedium(sd, 200, 7); // shorter than asked for
        assert_int_equal(sends, before + 1);
        assert_ptr_equal(sent_from, room);
        assert_int_equal(sent_bytes, 7);
        assert_memory_equal(sent, "written", 7);
        sd = gex_AM_PrepareRequestMedium(&aq_team.head, 0, NULL, 0, 4096, NULL, 0, 0);
        assert_int_equal(gex_AM_SrcDescSize(sd), sizeof sent); // no more than the limit
        assert_int_equal(gex_AM_CancelRequestMedium(sd, 0), GASNET_OK);
        assert_int_equal(sends, before + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_core_and_client_buffers), cmocka_unit_test(test_conduit_buffer),
        cmocka_unit_test(test_reply_route), cmocka_unit_test(test_nested)};
    return cmocka_run_group_tests(tests, start_job, NULL);
}
