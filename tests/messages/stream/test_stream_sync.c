// SPDX-License-Identifier: BSD-3-Clause
// Order and rounds of streams: random schedules of arrivals and times, against rules that hold in
// each schedule, and against a model that says exactly how far each edge has come.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../messages/stream/stream_sync.h"
#include "../../unit/random_below.h"

enum { SOURCES = 4, EDGES = SOURCES + 1, KINDS = 3, EACH = 60, SCHEDULES = 400, LIMIT = 50 };

typedef enum fate { UNSENT, ARRIVED, HANDLED, LATE, ABANDONED } fate_t;

// Message `number` of edge `edge`. kind 0: plain, else the handler that synchronizes. The parent,
// the last edge, sends plain ones only.
typedef struct message {
    aq_item_t item;
    unsigned kind;
    fate_t fate;
} message_t;

static struct {
    aq_inbox_t inbox;
    aq_inbox_edge_t edge[EDGES];
    aq_round_t round[KINDS]; // [0] is not used
    aq_item_list_t items[KINDS][SOURCES];
    message_t message[EDGES][EACH];
    unsigned order[EDGES][EACH]; // in which they arrive
    unsigned arrived[EDGES];
    unsigned handled[EDGES]; // in order: the number of the next one
    uint64_t now, random;
    unsigned early_rounds, full_rounds;
} t;

// ---- schedules ----

static void message_set(unsigned edge, unsigned number)
{
    message_t *message = &t.message[edge][number];
    message->kind = edge == SOURCES ? 0 : random_below(&t.random, KINDS);
    message->item.edge = edge;
    message->item.number = UINT32_MAX - EACH / 2 + number; // numbers wrap around
    message->item.round = message->kind ? &t.round[message->kind] : NULL;
    t.order[edge][number] = number;
}

// Messages overtake each other by a few places.
static void order_shuffle(unsigned edge)
{
    for (unsigned i = 0; i < EACH; i++) {
        const unsigned k = i + random_below(&t.random, EACH - i < 4 ? EACH - i : 4);
        const unsigned other = t.order[edge][k];
        t.order[edge][k] = t.order[edge][i];
        t.order[edge][i] = other;
    }
}

static void schedule_make(uint64_t seed, bool ordered, bool drops, bool all)
{
    memset(&t, 0, sizeof t);
    t.random = seed;
    t.inbox = (aq_inbox_t){.ordered = ordered, .drops = drops, .sources = SOURCES, .edge = t.edge};
    for (unsigned kind = 1; kind < KINDS; kind++) {
        const bool limited = !all && random_below(&t.random, 2);
        t.round[kind] = (aq_round_t){.need = all ? SOURCES : 1 + random_below(&t.random, SOURCES),
                                     .limit_ns = limited ? LIMIT : UINT64_MAX,
                                     .deadline = AQ_NO_DEADLINE,
                                     .items = t.items[kind],
                                     .next = t.inbox.rounds};
        t.inbox.rounds = &t.round[kind];
    }
    for (unsigned edge = 0; edge < EDGES; edge++) {
        t.edge[edge].expected = UINT32_MAX - EACH / 2;
        for (unsigned number = 0; number < EACH; number++)
            message_set(edge, number);
        order_shuffle(edge);
    }
}

static void message_arrive(unsigned edge)
{
    message_t *message = &t.message[edge][t.order[edge][t.arrived[edge]++]];
    const aq_arrival_fate_t fate = aq_inbox_arrive(&t.inbox, &message->item, t.now);
    assert_int_not_equal(fate, AQ_ARRIVAL_TWICE);
    assert_true(t.inbox.drops || fate == AQ_ARRIVAL_KEPT);
    message->fate = fate == AQ_ARRIVAL_LATE ? LATE : ARRIVED;
}

// ---- rules ----

static unsigned place_of(const message_t *message)
{
    return message->item.number - (UINT32_MAX - EACH / 2);
}

static void message_handle(message_t *message)
{
    const unsigned edge = message->item.edge, place = place_of(message);
    assert_int_equal(message->fate, ARRIVED);
    message->fate = HANDLED;
    if (!t.inbox.ordered)
        return;
    assert_true(place >= t.handled[edge]);
    for (unsigned i = t.handled[edge]; i < place; i++)
        assert_true(t.inbox.drops && t.message[edge][i].fate != ARRIVED);
    t.handled[edge] = place + 1;
}

// A round has one message of each edge. It is short only if it has a limit, and the time is up.
static void round_handle(message_t *first)
{
    const aq_round_t *round = first->item.round;
    unsigned count = 0, seen = 0;
    for (aq_item_t *item = &first->item, *with; item; item = with, count++) {
        with = item->with;
        assert_ptr_equal(item->round, round);
        assert_false(seen & 1u << item->edge);
        seen |= 1u << item->edge;
        message_handle((message_t *)(void *)item);
    }
    if (count >= round->need)
        t.full_rounds++;
    else
        t.early_rounds++;
    assert_true(count >= round->need || (round->limit_ns == LIMIT && t.now >= LIMIT));
}

static void ready_handle(void)
{
    for (unsigned direction = 0; direction < AQ_INBOX_DIRECTIONS; direction++)
        for (aq_item_t *item; (item = aq_inbox_take(&t.inbox, direction)) != NULL;) {
            assert_int_equal(item->edge == SOURCES, direction == AQ_INBOX_DOWN);
            if (item->round) {
                round_handle((message_t *)(void *)item);
                continue;
            }
            assert_null(item->with);
            message_handle((message_t *)(void *)item);
        }
}

// No round is complete that was not handled, and no deadline has passed.
static void rounds_check(void)
{
    for (unsigned kind = 1; kind < KINDS; kind++) {
        unsigned present = 0;
        for (unsigned edge = 0; edge < SOURCES; edge++)
            present += t.items[kind][edge].first != NULL;
        assert_int_equal(present, t.round[kind].present);
        assert_true(present < t.round[kind].need);
        assert_int_equal(t.round[kind].deadline != AQ_NO_DEADLINE,
                         present && t.round[kind].limit_ns == LIMIT);
    }
    assert_true(aq_inbox_deadline(&t.inbox) > t.now);
}

static unsigned abandon(void)
{
    unsigned count = 0;
    for (aq_item_t *item; (item = aq_inbox_abandon(&t.inbox)) != NULL; count++) {
        message_t *message = (message_t *)(void *)item;
        assert_int_equal(message->fate, ARRIVED);
        message->fate = ABANDONED;
    }
    return count;
}

// ---- the model of rounds of all sources on an ordered inbox ----

static bool model_has_arrived(unsigned edge, unsigned number)
{
    return number < EACH && t.message[edge][number].fate != UNSENT;
}

// Advances over the plain messages of an edge. Returns the kind that the edge waits with, or 0.
static unsigned model_advance(unsigned edge, unsigned *at)
{
    while (model_has_arrived(edge, *at) && !t.message[edge][*at].kind)
        ++*at;
    return model_has_arrived(edge, *at) ? t.message[edge][*at].kind : 0;
}

static bool model_round(unsigned *at)
{
    const unsigned kind = model_advance(0, &at[0]);
    bool same = kind != 0;
    for (unsigned edge = 1; edge < SOURCES; edge++)
        same &= model_advance(edge, &at[edge]) == kind;
    for (unsigned edge = 0; same && edge < SOURCES; edge++)
        at[edge]++;
    return same;
}

static void model_compare(void)
{
    unsigned at[EDGES] = {0};
    while (model_round(at)) {
    }
    (void)model_advance(SOURCES, &at[SOURCES]);
    for (unsigned edge = 0; edge < EDGES; edge++)
        assert_int_equal(t.handled[edge], at[edge]);
}

// ---- tests ----

static void step(void)
{
    const unsigned edge = random_below(&t.random, EDGES);
    t.now += random_below(&t.random, 10);
    if (aq_inbox_deadline(&t.inbox) != AQ_NO_DEADLINE)
        aq_inbox_expire(&t.inbox, t.now);
    if (t.arrived[edge] < EACH)
        message_arrive(edge);
    if (random_below(&t.random, 3))
        ready_handle();
}

static void messages_account(void)
{
    unsigned handled = 0, rest = 0;
    ready_handle();
    t.now += 1000 * LIMIT;
    for (unsigned i = 0; i < EDGES * EACH; i++, t.now += 2 * LIMIT) {
        aq_inbox_expire(&t.inbox, t.now);
        ready_handle();
    }
    const unsigned abandoned = abandon();
    for (unsigned edge = 0; edge < EDGES; edge++)
        for (unsigned i = 0; i < EACH; i++) {
            handled += t.message[edge][i].fate == HANDLED;
            rest += t.message[edge][i].fate == ABANDONED;
            assert_true(t.message[edge][i].fate >= HANDLED);
        }
    assert_int_equal(rest, abandoned);
    assert_true(handled > 0);
}

static void schedules_run(bool ordered, bool drops)
{
    unsigned early = 0, full = 0;
    for (unsigned seed = 1; seed <= SCHEDULES; seed++) {
        schedule_make(seed, ordered, drops, false);
        for (unsigned i = 0; i < 3 * EDGES * EACH; i++) {
            step();
            rounds_check();
        }
        for (unsigned edge = 0; edge < EDGES; edge++)
            while (t.arrived[edge] < EACH)
                message_arrive(edge);
        messages_account();
        early += t.early_rounds;
        full += t.full_rounds;
    }
    assert_true(early > SCHEDULES && full > SCHEDULES);
}

static void test_ordered(void **state)
{
    (void)state;
    schedules_run(true, false);
}

static void test_unordered(void **state)
{
    (void)state;
    schedules_run(false, false);
}

static void test_drops(void **state)
{
    (void)state;
    schedules_run(true, true);
}

static void test_model(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= SCHEDULES; seed++) {
        schedule_make(seed, true, false, true);
        for (unsigned i = 0; i < 2 * EDGES * EACH; i++) {
            step();
            ready_handle();
            model_compare();
        }
    }
}

// A second message with the same number is wrong, whether the first one waits or was handled.
static void test_twice(void **state)
{
    (void)state;
    schedule_make(1, true, false, true);
    aq_item_t ahead = {.edge = 0, .number = t.edge[0].expected + 1}, again = ahead;
    aq_item_t next = {.edge = 0, .number = t.edge[0].expected}, old = next;
    assert_int_equal(aq_inbox_arrive(&t.inbox, &ahead, 0), AQ_ARRIVAL_KEPT);
    assert_int_equal(aq_inbox_arrive(&t.inbox, &again, 0), AQ_ARRIVAL_TWICE);
    assert_int_equal(aq_inbox_arrive(&t.inbox, &next, 0), AQ_ARRIVAL_KEPT);
    assert_int_equal(aq_inbox_arrive(&t.inbox, &old, 0), AQ_ARRIVAL_TWICE);
}

// Many messages that each end a round of their own wait behind one that does not: no recursion.
static void test_deep(void **state)
{
    enum { MANY = 1000000 };
    (void)state;
    schedule_make(1, true, false, true);
    t.round[2].need = 1;
    t.edge[0].expected = t.edge[1].expected = 0;
    aq_item_t *items = calloc(MANY, sizeof *items);
    assert_non_null(items);
    for (uint32_t i = 0; i < MANY; i++) {
        items[i] = (aq_item_t){.edge = 0, .number = i, .round = i ? &t.round[2] : &t.round[1]};
        assert_int_equal(aq_inbox_arrive(&t.inbox, &items[i], 0), AQ_ARRIVAL_KEPT);
    }
    assert_null(aq_inbox_take(&t.inbox, AQ_INBOX_UP));
    t.round[1].deadline = 1;
    aq_inbox_expire(&t.inbox, 1);
    for (uint32_t i = 0; i < MANY; i++)
        assert_ptr_equal(aq_inbox_take(&t.inbox, AQ_INBOX_UP), &items[i]);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordered), cmocka_unit_test(test_unordered),
        cmocka_unit_test(test_drops),   cmocka_unit_test(test_model),
        cmocka_unit_test(test_twice),   cmocka_unit_test(test_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
