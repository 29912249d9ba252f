// SPDX-License-Identifier: BSD-3-Clause
// A simulation of the exit election and of the broadcast of its result. All ranks of a job, up to
// 100,000, run their state machines in this process, over a network with delays, losses, partitions
// and dead ranks.
#include "../../unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../core/job/exit_election.h"
#include "../../../other/base/minmax.h"

enum { MOST_RANKS = 100000, POLL_TIME = 10 };

// An event of the simulation: a message arrives, or a rank polls.
typedef struct sim_event {
    uint64_t time;
    uint32_t from, to;
    bool is_message;
    aq_exit_message_t message;
} sim_event_t;

typedef struct simulation {
    uint32_t size;
    unsigned delay_most, loss_percent; // of the network: delays are 1 to delay_most
    uint32_t cut;    // the network drops messages between ranks below `cut` and others; 0: no cut
    uint64_t linger; // time for which a rank that is done still answers
    aq_election_timing_t timing;

    aq_election_t *rank;
    uint64_t *dies, *over; // times of each rank; UINT64_MAX: never, or not yet
    bool *polls;           // whether the heap has the next poll of a rank
    uint64_t now, messages, last_known, last_over;
    sim_event_t *heap;
    size_t used, room;
} simulation_t;

static uint64_t seed;

static uint32_t random_below(uint32_t sides)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % sides);
}

// ---- time: a heap of events ----

static void push_event(simulation_t *sim, sim_event_t what)
{
    if (sim->used == sim->room) {
        sim->room = sim->room ? 2 * sim->room : 1024;
        sim->heap = realloc(sim->heap, sim->room * sizeof *sim->heap);
        assert_non_null(sim->heap);
    }
    size_t at = sim->used++;
    for (; at > 0 && sim->heap[(at - 1) / 2].time > what.time; at = (at - 1) / 2)
        sim->heap[at] = sim->heap[(at - 1) / 2];
    sim->heap[at] = what;
}

static sim_event_t pop_event(simulation_t *sim)
{
    const sim_event_t first = sim->heap[0], last = sim->heap[--sim->used];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < sim->used; at = child) {
        if (child + 1 < sim->used && sim->heap[child + 1].time < sim->heap[child].time)
            child++;
        if (sim->heap[child].time >= last.time)
            break;
        sim->heap[at] = sim->heap[child];
    }
    sim->heap[at] = last;
    return first;
}

// ---- the network ----

static void send_message(simulation_t *sim, uint32_t from, uint32_t to,
                         const aq_exit_message_t *message)
{
    assert_true(to < sim->size && to != from);
    sim->messages++;
    if (random_below(100) < sim->loss_percent || (from < sim->cut) != (to < sim->cut))
        return;
    push_event(
        sim, (sim_event_t){sim->now + 1 + random_below(sim->delay_most), from, to, true, *message});
}

// The time at which a rank gives up.
static uint64_t limit_of(const aq_election_t *e)
{
    return e->begun + e->timing.limit_ns;
}

// A rank that takes part polls until it is done.
static void advance_rank(simulation_t *sim, uint32_t rank)
{
    aq_election_t *e = &sim->rank[rank];
    uint32_t to;
    aq_exit_message_t message;
    while (aq_election_next(e, sim->now, &to, &message))
        send_message(sim, rank, to, &message);
    if (aq_election_over(e)) {
        if (sim->over[rank] == UINT64_MAX)
            sim->over[rank] = sim->last_over = sim->now;
        return;
    }
    if (e->state == AQ_ELECTION_IDLE || sim->polls[rank])
        return;
    assert_true(sim->now < limit_of(e));
    sim->polls[rank] = true;
    push_event(sim, (sim_event_t){.time = aq_min(sim->now + POLL_TIME, limit_of(e)), .to = rank});
}

static bool is_present(const simulation_t *sim, uint32_t rank)
{
    return sim->now < sim->dies[rank] &&
           (sim->over[rank] == UINT64_MAX || sim->now <= sim->over[rank] + sim->linger);
}

static void handle_event(simulation_t *sim, const sim_event_t *what)
{
    aq_election_t *e = &sim->rank[what->to];
    sim->now = what->time;
    if (!is_present(sim, what->to))
        return;
    const bool knew = aq_election_knows(e);
    aq_exit_message_t reply;
    if (!what->is_message)
        sim->polls[what->to] = false;
    else if (aq_election_hear(e, what->from, &what->message, sim->now, &reply))
        send_message(sim, what->to, what->from, &reply);
    if (!knew && aq_election_knows(e))
        sim->last_known = sim->now;
    if (!aq_election_over(e)) // a rank that lingers may learn a better result and go on
        sim->over[what->to] = UINT64_MAX;
    advance_rank(sim, what->to);
}

// ---- jobs ----

static void begin_job(simulation_t *sim, uint32_t size)
{
    *sim = (simulation_t){.size = size,
                          .delay_most = 10,
                          .timing = {.retry_ns = 50, .tries = 8, .limit_ns = 1000000}};
    sim->rank = calloc(size, sizeof *sim->rank);
    sim->dies = malloc(size * sizeof *sim->dies);
    sim->polls = calloc(size, sizeof *sim->polls);
    sim->over = malloc(size * sizeof *sim->over);
    assert_true(sim->rank && sim->dies && sim->polls && sim->over);
    memset(sim->dies, 0xff, size * sizeof *sim->dies);
    memset(sim->over, 0xff, size * sizeof *sim->over);
}

static void start_ranks(simulation_t *sim)
{
    for (uint32_t r = 0; r < sim->size; r++)
        aq_election_init(&sim->rank[r], r, sim->size, &sim->timing);
}

static void begin_exit(simulation_t *sim, uint32_t rank, int32_t code)
{
    aq_election_begin(&sim->rank[rank], code, sim->now);
    advance_rank(sim, rank);
}

static void run_to_end(simulation_t *sim)
{
    while (sim->used > 0) {
        const sim_event_t what = pop_event(sim);
        handle_event(sim, &what);
    }
}

static void end_job(simulation_t *sim)
{
    free(sim->rank);
    free(sim->dies);
    free(sim->polls);
    free(sim->over);
    free(sim->heap);
}

// Checks that all ranks alive are done and agree on one code, and returns that code.
static int32_t agreed_code(const simulation_t *sim)
{
    int32_t code = -1;
    for (uint32_t r = 0; r < sim->size; r++) {
        if (sim->dies[r] != UINT64_MAX)
            continue;
        assert_int_equal(sim->rank[r].state, AQ_ELECTION_DONE);
        if (code < 0)
            code = sim->rank[r].ballot.code;
        assert_int_equal(sim->rank[r].ballot.code, code);
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
            simulation_t sim;
            begin_job(&sim, size);
            start_ranks(&sim);
            begin_exit(&sim, leaver, 7);
            run_to_end(&sim);
            assert_int_equal(agreed_code(&sim), 7);
            assert_int_equal(sim.messages, leaver ? 2 * size : 2 * (size - 1));
            end_job(&sim);
        }
}

static void test_all_leave(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SIZES; i++) {
        simulation_t sim;
        begin_job(&sim, sizes[i]);
        start_ranks(&sim);
        for (uint32_t r = sizes[i]; r-- > 0;) // rank 0 exits last, so that all others ask it
            begin_exit(&sim, r, (int32_t)(r % 256));
        run_to_end(&sim);
        agreed_code(&sim);
        assert_true(sim.messages <= 4 * (uint64_t)sizes[i] - 2);
        end_job(&sim);
    }
}

// Each message takes one unit of time.
static void test_time_grows_with_log(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SIZES; i++) {
        unsigned levels = 0;
        for (uint64_t reached = 1, row = 1; reached < sizes[i]; reached += row, levels++)
            row *= AQ_ELECTION_DEGREE;
        assert_true((uint64_t)1 << levels <= sizes[i]); // the logarithm to base 2, or less
        simulation_t sim;
        begin_job(&sim, sizes[i]);
        sim.delay_most = 1;
        start_ranks(&sim);
        begin_exit(&sim, sizes[i] - 1, 3);
        run_to_end(&sim);
        agreed_code(&sim);
        assert_true(sim.last_known <= 2 + levels);
        assert_true(sim.last_over <= 4 + levels);
        end_job(&sim);
    }
}

// A tenth of the ranks, and the electors given by a mask, are dead from the start.
static void check_dead(uint32_t size, unsigned dead_electors, uint32_t leavers)
{
    simulation_t sim;
    begin_job(&sim, size);
    sim.linger = 10000;
    start_ranks(&sim);
    for (uint32_t r = 0; r < size; r++)
        if (r < AQ_ELECTION_ELECTORS ? dead_electors >> r & 1 : random_below(10) == 0)
            sim.dies[r] = 0;
    for (uint32_t n = 0; n < leavers; n++) {
        uint32_t r = random_below(size);
        if (sim.dies[r])
            begin_exit(&sim, r, (int32_t)(r % 256));
    }
    sim.dies[size - 1] = UINT64_MAX;
    begin_exit(&sim, size - 1, 9);
    run_to_end(&sim);
    agreed_code(&sim);
    end_job(&sim);
}

static void test_dead_ranks(void **state)
{
    (void)state;
    for (unsigned electors = 0; electors < 1u << AQ_ELECTION_ELECTORS; electors++) {
        check_dead(4, electors, 0);
        for (unsigned n = 0; n < 40; n++)
            check_dead(5 + random_below(400), electors, random_below(5));
    }
    check_dead(MOST_RANKS, 0, 3);
    check_dead(MOST_RANKS, 3, 3);
}

static void test_loss(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 400; n++) {
        simulation_t sim;
        begin_job(&sim, 2 + random_below(500));
        sim.loss_percent = 20;
        sim.timing.tries = 30;
        sim.linger = 3000;
        start_ranks(&sim);
        for (uint32_t leavers = 1 + random_below(6); leavers > 0; leavers--)
            begin_exit(&sim, random_below(sim.size), (int32_t)random_below(256));
        run_to_end(&sim);
        agreed_code(&sim);
        end_job(&sim);
    }
}

// The master dies after its election, before it tells any other rank.
static void test_dead_master(void **state)
{
    (void)state;
    for (uint32_t size = 2; size < 200; size++) {
        simulation_t sim;
        begin_job(&sim, size);
        sim.linger = 10000;
        start_ranks(&sim);
        begin_exit(&sim, size - 1, 5);
        sim.dies[size - 1] = sim.now + 1;
        run_to_end(&sim);
        assert_int_equal(agreed_code(&sim), 5);
        end_job(&sim);
    }
}

// Ranks die at any time, and the network is cut. Every rank that has heard of the exit finishes
// within its time limit.
static void test_whatever_happens(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 1000; n++) {
        simulation_t sim;
        begin_job(&sim, 2 + random_below(300));
        sim.loss_percent = random_below(2) * random_below(60);
        sim.cut = random_below(2) * random_below(sim.size);
        sim.timing.limit_ns = 5000;
        sim.linger = random_below(2) * 1000;
        start_ranks(&sim);
        for (uint32_t r = 0; r < sim.size; r++)
            if (random_below(20) == 0)
                sim.dies[r] = random_below(500);
        for (uint32_t leavers = 1 + random_below(4); leavers > 0; leavers--)
            begin_exit(&sim, random_below(sim.size), (int32_t)random_below(256));
        run_to_end(&sim);
        for (uint32_t r = 0; r < sim.size; r++)
            if (sim.dies[r] == UINT64_MAX && sim.rank[r].state != AQ_ELECTION_IDLE) {
                assert_true(aq_election_over(&sim.rank[r]));
                assert_true(sim.over[r] <= limit_of(&sim.rank[r]));
            }
        end_job(&sim);
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
