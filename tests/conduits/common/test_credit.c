// SPDX-License-Identifier: BSD-3-Clause
// Credits: random schedules of several processes whose messages overtake each other, with handlers
// that may reply, and sends that may be refused. No credit is lost, no message lacks a buffer, and
// there is no deadlock. Then threads.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <pthread.h>
#include <stdlib.h>

#include "../../../conduits/common/credit.h"

enum { NODES = 3, UNDER_WAY = 1024, REQUESTS = 40, SCHEDULES = 400 };

// A message under way, or a request in its handler.
typedef struct message {
    uint8_t from, to;
    bool reply, handled;
    unsigned credits; // credits that the message returns
} message_t;

static struct {
    aq_credit_limits_t limits;
    aq_credit_pool_t pool[NODES];
    aq_credit_t of[NODES][NODES];
    unsigned to_send[NODES][NODES];
    unsigned reply_percent; // percentage of the requests that get a reply
    unsigned count;
    message_t under_way[UNDER_WAY];
    unsigned hidden, piggybacked; // hidden replies; credits that requests carried
    uint64_t random;
} net;

static unsigned random_below(unsigned n)
{
    net.random = net.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(net.random >> 33) % n;
}

static void post_message(unsigned from, unsigned to, bool reply, unsigned credits)
{
    assert_true(net.count < UNDER_WAY);
    net.under_way[net.count++] = (message_t){(uint8_t)from, (uint8_t)to, reply, false, credits};
}

static message_t remove_message(unsigned i)
{
    message_t message = net.under_way[i];
    net.under_way[i] = net.under_way[--net.count];
    return message;
}

// Collects banked credits for a message to carry. Returns false, and banks them again, if the
// network refuses the message.
static bool piggyback(aq_credit_t *credit, unsigned *riding)
{
    *riding = aq_credit_collect(credit, 1 + random_below(8));
    if (random_below(4))
        return true;
    aq_credit_return(credit, *riding);
    return false;
}

static void send_request(unsigned from, unsigned to)
{
    aq_credit_t *credit = &net.of[from][to];
    unsigned riding;
    if (!net.to_send[from][to] || !aq_credit_take(credit))
        return;
    if (!piggyback(credit, &riding)) {
        aq_credit_untake(credit);
        return;
    }
    net.piggybacked += riding;
    net.to_send[from][to]--;
    post_message(from, to, false, riding);
}

static void send_hidden(unsigned from, unsigned to)
{
    unsigned riding;
    if (!aq_credit_due(&net.of[from][to]) || !piggyback(&net.of[from][to], &riding))
        return;
    net.hidden += riding > 0;
    post_message(from, to, true, riding);
}

// Ends the handler of a request, unless the network refuses its reply.
static void end_handler(unsigned i)
{
    message_t request = net.under_way[i];
    aq_credit_t *credit = &net.of[request.to][request.from];
    unsigned riding;
    if (random_below(100) >= net.reply_percent) {
        remove_message(i);
        if (aq_credit_bank(credit))
            send_hidden(request.to, request.from);
    } else if (piggyback(credit, &riding)) {
        remove_message(i);
        post_message(request.to, request.from, true, riding + 1);
    }
}

static void deliver_message(unsigned i)
{
    message_t *message = &net.under_way[i];
    aq_credit_give(&net.of[message->to][message->from], message->credits);
    message->credits = 0;
    if (message->reply)
        remove_message(i);
    else
        message->handled = true;
}

// Checks the invariants, which hold between any two steps.
static void check_invariants(void)
{
    unsigned owed[NODES][NODES] = {{0}}, requests[NODES][NODES] = {{0}}, replies[NODES] = {0};
    for (unsigned i = 0; i < net.count; i++) {
        const message_t *m = &net.under_way[i];
        owed[m->to][m->from] += m->credits;
        requests[m->from][m->to] += !m->reply;
        replies[m->to] += m->reply;
    }
    for (unsigned a = 0; a < NODES; a++) {
        unsigned out = 0;
        for (unsigned b = 0; b < NODES; b++) {
            if (a == b)
                continue;
            unsigned free = net.of[a][b].free;
            assert_int_equal(free + requests[a][b] + net.of[b][a].banked + owed[a][b],
                             net.limits.each);
            out += net.limits.each - free;
        }
        assert_int_equal(net.pool[a].free + out, net.limits.total);
        assert_true(replies[a] <= out); // each reply finds a buffer
    }
}

static void random_step(void)
{
    unsigned a = random_below(NODES), b = (a + 1 + random_below(NODES - 1)) % NODES;
    if (net.count && random_below(2)) {
        unsigned i = random_below(net.count);
        if (net.under_way[i].handled)
            end_handler(i);
        else
            deliver_message(i);
    } else if (random_below(2)) {
        send_request(a, b);
    } else {
        send_hidden(a, b);
    }
}

static unsigned work_left(void)
{
    unsigned sum = net.count;
    for (unsigned a = 0; a < NODES; a++)
        for (unsigned b = 0; b < NODES; b++)
            sum += net.to_send[a][b];
    return sum;
}

// one_way: only node 0 sends requests, so that no request can carry credits back.
static void set_up(aq_credit_limits_t wanted, bool one_way)
{
    net.limits = aq_credit_fit(wanted, NODES - 1);
    net.count = 0;
    for (unsigned a = 0; a < NODES; a++) {
        aq_credit_pool_start(&net.pool[a], net.limits.total);
        for (unsigned b = 0; b < NODES; b++) {
            aq_credit_start(&net.of[a][b], &net.pool[a], net.limits.each, net.limits.each,
                            net.limits.slack);
            net.to_send[a][b] = a == b || (one_way && a) ? 0 : REQUESTS;
        }
    }
}

static void run_schedule(void)
{
    unsigned steps = 0;
    while (work_left()) {
        random_step();
        check_invariants();
        // Every step that is possible keeps a fair chance, so a schedule of this length is stuck.
        assert_true(++steps < 2000000);
    }
}

static void test_schedules(void **state)
{
    (void)state;
    net.random = 1;
    for (unsigned i = 0; i < SCHEDULES; i++) {
        set_up((aq_credit_limits_t){1 + random_below(6), 1 + random_below(12), random_below(8)},
               random_below(2));
        net.reply_percent = random_below(4) * 33;
        run_schedule();
    }
    assert_true(net.hidden > 100);
    assert_true(net.piggybacked > 100);
}

// The purpose of GASNET_AM_CREDITS_SLACK: where requests go both ways and handlers do not reply,
// slack saves most hidden replies. Without slack, each request causes a hidden reply.
static void test_slack_saves_messages(void **state)
{
    (void)state;
    unsigned hidden[2];
    for (unsigned slack = 0; slack < 2; slack++) {
        set_up((aq_credit_limits_t){4, 64, slack}, false);
        net.reply_percent = 0;
        net.hidden = 0;
        run_schedule();
        hidden[slack] = net.hidden;
    }
    assert_true(hidden[1] * 2 < hidden[0]);
}

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        aq_credit_limits_t wanted;
        uint32_t peers;
        aq_credit_limits_t fit;
    } cases[] = {
        {{32, 1024, 1}, 1, {32, 1024, 1}},
        {{32, 1024, 1}, 1023, {32, 1024, 1}},
        {{32, 1024, 1}, 1024, {32, 1024, 0}}, // with slack, all credits could be banked: deadlock
        {{32, 1024, 99}, 1, {32, 1024, 31}},
        {{1, 1024, 1}, 1, {1, 1024, 0}},
        {{0, 0, 5}, 3, {1, 1, 0}},
        {{64, 16, 5}, 1, {16, 16, 5}},
        {{8, 8, 8}, 0, {8, 8, 7}},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        aq_credit_limits_t fit = aq_credit_fit(cases[i].wanted, cases[i].peers);
        assert_int_equal(fit.each, cases[i].fit.each);
        assert_int_equal(fit.total, cases[i].fit.total);
        assert_int_equal(fit.slack, cases[i].fit.slack);
    }
}

// A peer that granted fewer credits than the slack still gets its last credit back.
static void test_small_grant(void **state)
{
    (void)state;
    aq_credit_pool_t pool;
    aq_credit_t credit;
    aq_credit_pool_start(&pool, 8);
    aq_credit_start(&credit, &pool, 8, 2, 5);
    assert_false(aq_credit_bank(&credit));
    assert_true(aq_credit_bank(&credit));
    assert_int_equal(aq_credit_collect(&credit, 1), 1);
    assert_false(aq_credit_due(&credit));
    assert_int_equal(aq_credit_collect(&credit, 9), 1);
    assert_int_equal(aq_credit_collect(&credit, 9), 0);
}

// ---- threads ----

enum { THREADS = 4, TURNS = 20000 };

static struct {
    aq_credit_pool_t pool;
    aq_credit_t mine, peer; // both ends in one process
    atomic_uint under_way;
} shared;

static void *run_thread(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < TURNS; i++) {
        while (!aq_credit_take(&shared.mine))
            if (aq_credit_due(&shared.peer))
                aq_credit_give(&shared.mine, aq_credit_collect(&shared.peer, 3));
        if (atomic_fetch_add(&shared.under_way, 1) >= 5)
            abort();
        atomic_fetch_sub(&shared.under_way, 1);
        if (i % 3)
            aq_credit_bank(&shared.peer);
        else
            aq_credit_give(&shared.mine, 1);
    }
    return NULL;
}

// A peer that returns more credits than were taken cannot make this process exceed the grant.
static void test_too_many_come_back(void **state)
{
    (void)state;
    aq_credit_pool_t pool;
    aq_credit_t credit;
    aq_credit_pool_start(&pool, 7);
    aq_credit_start(&credit, &pool, 5, 5, 1);
    assert_false(aq_credit_give(&credit, 1));
    assert_true(aq_credit_take(&credit) && aq_credit_take(&credit));
    assert_false(aq_credit_give(&credit, 3));
    assert_false(aq_credit_give(&credit, UINT16_MAX + 1u));
    assert_true(aq_credit_give(&credit, 2));
    assert_false(aq_credit_give(&credit, 1));
    assert_int_equal(atomic_load(&credit.free), 5);
    assert_int_equal(atomic_load(&pool.free), 7);
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t thread[THREADS];
    aq_credit_pool_start(&shared.pool, 7);
    aq_credit_start(&shared.mine, &shared.pool, 5, 5, 1);
    aq_credit_start(&shared.peer, &shared.pool, 5, 5, 1);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_thread, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    unsigned banked = aq_credit_collect(&shared.peer, UINT32_MAX);
    assert_int_equal(shared.mine.free + banked, 5);
    assert_int_equal(shared.pool.free + banked, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules), cmocka_unit_test(test_slack_saves_messages),
        cmocka_unit_test(test_limits),    cmocka_unit_test(test_small_grant),
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_too_many_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
