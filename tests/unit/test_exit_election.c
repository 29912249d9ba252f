// The election and the news of the end, simulated: all ranks of jobs of up to 100,000 run their
// state machines in this process, over a network with delays, losses, cuts and dead ranks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/exit_election.h"

enum { MOST_RANKS = 100000 };

// What happens at a time: a message arrives, or a rank looks at the clock.
typedef struct happening {
    uint64_t time;
    uint32_t from, to;
    bool is_news;
    aq_exit_message_t news;
} happening_t;

typedef struct world {
    uint32_t size;
    unsigned delay_most, loss_percent; // of the network: delays are 1 to delay_most
    uint32_t cut;    // no message passes between ranks below and others; 0: all do
    uint64_t linger; // that a rank which is done still answers
    aq_election_timing_t timing;

    aq_election_t *rank;
    uint64_t *dies, *looks, *over;
    uint64_t now, messages, last_known, last_over;
    happening_t *heap;
    size_t used, room;
} world_t;

static uint64_t seed;

static uint32_t dice(uint32_t sides)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % sides);
}

// ---- time: a heap of what happens ----

static void plan(world_t *w, happening_t what)
{
    if (w->used == w->room) {
        w->room = w->room ? 2 * w->room : 1024;
        w->heap = realloc(w->heap, w->room * sizeof *w->heap);
        assert_non_null(w->heap);
    }
    size_t at = w->used++;
    for (; at > 0 && w->heap[(at - 1) / 2].time > what.time; at = (at - 1) / 2)
        w->heap[at] = w->heap[(at - 1) / 2];
    w->heap[at] = what;
}

static happening_t take_first(world_t *w)
{
    const happening_t first = w->heap[0], last = w->heap[--w->used];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < w->used; at = child) {
        if (child + 1 < w->used && w->heap[child + 1].time < w->heap[child].time)
            child++;
        if (w->heap[child].time >= last.time)
            break;
        w->heap[at] = w->heap[child];
    }
    w->heap[at] = last;
    return first;
}

// ---- the network ----

static void post(world_t *w, uint32_t from, uint32_t to, const aq_exit_message_t *news)
{
    assert_true(to < w->size && to != from);
    w->messages++;
    if (dice(100) < w->loss_percent || (from < w->cut) != (to < w->cut))
        return;
    plan(w, (happening_t){w->now + 1 + dice(w->delay_most), from, to, true, *news});
}

static void look(world_t *w, uint32_t rank)
{
    aq_election_t *e = &w->rank[rank];
    uint32_t to;
    aq_exit_message_t news;
    while (aq_election_next(e, w->now, &to, &news))
        post(w, rank, to, &news);
    if (aq_election_over(e)) {
        if (w->over[rank] == UINT64_MAX)
            w->over[rank] = w->last_over = w->now;
        return;
    }
    const uint64_t due = aq_election_due(e);
    assert_true(due > w->now);
    if (due < w->looks[rank]) {
        w->looks[rank] = due;
        plan(w, (happening_t){.time = due, .to = rank});
    }
}

static bool is_there(const world_t *w, uint32_t rank)
{
    return w->now < w->dies[rank] &&
           (w->over[rank] == UINT64_MAX || w->now <= w->over[rank] + w->linger);
}

static void happen(world_t *w, const happening_t *what)
{
    aq_election_t *e = &w->rank[what->to];
    w->now = what->time;
    if (!is_there(w, what->to))
        return;
    const bool knew = aq_election_knows(e);
    aq_exit_message_t reply;
    if (!what->is_news)
        w->looks[what->to] = UINT64_MAX;
    else if (aq_election_hear(e, what->from, &what->news, w->now, &reply))
        post(w, what->to, what->from, &reply);
    if (!knew && aq_election_knows(e))
        w->last_known = w->now;
    if (!aq_election_over(e)) // it may have learnt better while it lingered
        w->over[what->to] = UINT64_MAX;
    look(w, what->to);
}

// ---- jobs ----

static void begin_job(world_t *w, uint32_t size)
{
    *w = (world_t){.size = size,
                   .delay_most = 10,
                   .timing = {.retry_ns = 50, .tries = 8, .limit_ns = 1000000}};
    w->rank = calloc(size, sizeof *w->rank);
    w->dies = malloc(size * sizeof *w->dies);
    w->looks = malloc(size * sizeof *w->looks);
    w->over = malloc(size * sizeof *w->over);
    assert_true(w->rank && w->dies && w->looks && w->over);
    memset(w->dies, 0xff, size * sizeof *w->dies);
    memset(w->looks, 0xff, size * sizeof *w->looks);
    memset(w->over, 0xff, size * sizeof *w->over);
}

static void start_ranks(world_t *w)
{
    for (uint32_t r = 0; r < w->size; r++)
        aq_election_init(&w->rank[r], r, w->size, &w->timing);
}

static void leave(world_t *w, uint32_t rank, int32_t code)
{
    aq_election_begin(&w->rank[rank], code, w->now);
    look(w, rank);
}

static void run_to_end(world_t *w)
{
    while (w->used > 0) {
        const happening_t what = take_first(w);
        happen(w, &what);
    }
}

static void end_job(world_t *w)
{
    free(w->rank);
    free(w->dies);
    free(w->looks);
    free(w->over);
    free(w->heap);
}

// All ranks that live are done and have one code, which is returned.
static int32_t agreed(const world_t *w)
{
    int32_t code = -1;
    for (uint32_t r = 0; r < w->size; r++) {
        if (w->dies[r] != UINT64_MAX)
            continue;
        assert_int_equal(w->rank[r].state, AQ_ELECTION_DONE);
        if (code < 0)
            code = w->rank[r].ballot.code;
        assert_int_equal(w->rank[r].ballot.code, code);
    }
    assert_true(code >= 0);
    return code;
}

static const uint32_t sizes[] = {1, 2, 3, 8, 9, 10, 64, 100, 1000, 4096, MOST_RANKS};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

// ---- tests ----

static void test_one_leaves(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SIZES; i++)
        for (uint32_t k = 0; k < 3; k++) {
            const uint32_t size = sizes[i], leaver = k == 0 ? 0 : k == 1 ? size - 1 : size / 2;
            world_t w;
            begin_job(&w, size);
            start_ranks(&w);
            leave(&w, leaver, 7);
            run_to_end(&w);
            assert_int_equal(agreed(&w), 7);
            assert_int_equal(w.messages, leaver ? 2 * size : 2 * (size - 1));
            end_job(&w);
        }
}

static void test_all_leave(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SIZES; i++) {
        world_t w;
        begin_job(&w, sizes[i]);
        start_ranks(&w);
        for (uint32_t r = sizes[i]; r-- > 0;) // rank 0 last, so that all others ask
            leave(&w, r, (int32_t)(r % 256));
        run_to_end(&w);
        agreed(&w);
        assert_true(w.messages <= 4 * (uint64_t)sizes[i] - 2);
        end_job(&w);
    }
}

// With a network that takes one unit of time for each message.
static void test_time_grows_with_log(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SIZES; i++) {
        unsigned levels = 0;
        for (uint64_t reached = 1, row = 1; reached < sizes[i]; reached += row, levels++)
            row *= AQ_ELECTION_DEGREE;
        assert_true((uint64_t)1 << levels <= sizes[i]); // the logarithm to base 2, or less
        world_t w;
        begin_job(&w, sizes[i]);
        w.delay_most = 1;
        start_ranks(&w);
        leave(&w, sizes[i] - 1, 3);
        run_to_end(&w);
        agreed(&w);
        assert_true(w.last_known <= 2 + levels);
        assert_true(w.last_over <= 4 + levels);
        end_job(&w);
    }
}

// A tenth of the ranks is dead from the start, and the electors given in a mask.
static void check_dead(uint32_t size, unsigned dead_electors, uint32_t leavers)
{
    world_t w;
    begin_job(&w, size);
    w.linger = 10000;
    start_ranks(&w);
    for (uint32_t r = 0; r < size; r++)
        if (r < AQ_ELECTION_ELECTORS ? dead_electors >> r & 1 : dice(10) == 0)
            w.dies[r] = 0;
    for (uint32_t n = 0; n < leavers; n++) {
        uint32_t r = dice(size);
        if (w.dies[r])
            leave(&w, r, (int32_t)(r % 256));
    }
    w.dies[size - 1] = UINT64_MAX;
    leave(&w, size - 1, 9);
    run_to_end(&w);
    agreed(&w);
    end_job(&w);
}

static void test_dead_ranks(void **state)
{
    (void)state;
    for (unsigned electors = 0; electors < 1u << AQ_ELECTION_ELECTORS; electors++) {
        check_dead(4, electors, 0);
        for (unsigned n = 0; n < 40; n++)
            check_dead(5 + dice(400), electors, dice(5));
    }
    check_dead(MOST_RANKS, 0, 3);
    check_dead(MOST_RANKS, 3, 3);
}

static void test_loss(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 400; n++) {
        world_t w;
        begin_job(&w, 2 + dice(500));
        w.loss_percent = 20;
        w.timing.tries = 30;
        w.linger = 3000;
        start_ranks(&w);
        for (uint32_t leavers = 1 + dice(6); leavers > 0; leavers--)
            leave(&w, dice(w.size), (int32_t)dice(256));
        run_to_end(&w);
        agreed(&w);
        end_job(&w);
    }
}

// The master dies when it has been elected, and has told nobody.
static void test_dead_master(void **state)
{
    (void)state;
    for (uint32_t size = 2; size < 200; size++) {
        world_t w;
        begin_job(&w, size);
        w.linger = 10000;
        start_ranks(&w);
        leave(&w, size - 1, 5);
        w.dies[size - 1] = w.now + 1;
        run_to_end(&w);
        assert_int_equal(agreed(&w), 5);
        end_job(&w);
    }
}

// Ranks die at any time, and networks are cut: whoever has heard of the end comes to one, in time.
static void test_whatever_happens(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 1000; n++) {
        world_t w;
        begin_job(&w, 2 + dice(300));
        w.loss_percent = dice(2) * dice(60);
        w.cut = dice(2) * dice(w.size);
        w.timing.limit_ns = 5000;
        w.linger = dice(2) * 1000;
        start_ranks(&w);
        for (uint32_t r = 0; r < w.size; r++)
            if (dice(20) == 0)
                w.dies[r] = dice(500);
        for (uint32_t leavers = 1 + dice(4); leavers > 0; leavers--)
            leave(&w, dice(w.size), (int32_t)dice(256));
        run_to_end(&w);
        for (uint32_t r = 0; r < w.size; r++)
            if (w.dies[r] == UINT64_MAX && w.rank[r].state != AQ_ELECTION_IDLE) {
                assert_true(aq_election_over(&w.rank[r]));
                assert_true(w.over[r] <= w.rank[r].begun + w.timing.limit_ns);
            }
        end_job(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_leaves),
        cmocka_unit_test(test_all_leave),
        cmocka_unit_test(test_time_grows_with_log),
        cmocka_unit_test(test_dead_ranks),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_dead_master),
        cmocka_unit_test(test_whatever_happens),
    };
    seed = 20030624;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
