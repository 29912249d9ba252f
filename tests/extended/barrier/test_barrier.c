// SPDX-License-Identifier: BSD-3-Clause
// Barriers: the step inside a neighbourhood and the step across neighbourhoods, each simulated in
// one process in random order. No process may be released before all have arrived, and all
// processes learn the joined vote.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../core/am/am.h"
#include "../../../core/record/counters.h"
#include "../../../core/endpoint/endpoint.h"
#include "../../../core/state/job.h"
#include "../../../core/job/layers.h"
#include "../../../core/endpoint/team.h"
#include "../../../extended/barrier/barrier.h"
#include "../../../extended/rma/layer_table.h"

enum { SIDES_MAX = 33, GROUPS_MAX = 300, PHASES = 60 };

static uint64_t seed = 5;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % n);
}

// ---- votes and their join ----

static aq_vote_t random_vote(uint32_t phase)
{
    switch (random_below(phase % 4 == 0 ? 12 : 3)) {
    case 0:
        return AQ_VOTE_NONE;
    case 11:
        return random_below(2) ? AQ_VOTE_MISMATCH : AQ_VOTE_NAME(-1);
    default:
        return AQ_VOTE_NAME((int)phase * 1000003);
    }
}

static aq_vote_t join_all(const aq_vote_t *votes, uint32_t count)
{
    aq_vote_t name = AQ_VOTE_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (votes[i] == AQ_VOTE_MISMATCH)
            return AQ_VOTE_MISMATCH;
        if (votes[i] != AQ_VOTE_NONE && name != AQ_VOTE_NONE && votes[i] != name)
            return AQ_VOTE_MISMATCH;
        if (votes[i] != AQ_VOTE_NONE)
            name = votes[i];
    }
    return name;
}

static void test_join(void **state)
{
    (void)state;
    const aq_vote_t all[] = {AQ_VOTE_NONE, AQ_VOTE_NAME(0), AQ_VOTE_NAME(-1), AQ_VOTE_NAME(7),
                             AQ_VOTE_MISMATCH};
    for (unsigned i = 0; i < 5; i++)
        for (unsigned j = 0; j < 5; j++) {
            const aq_vote_t pair[] = {all[i], all[j]};
            assert_true(aq_vote_join(all[i], all[j]) == join_all(pair, 2));
        }
}

// ---- a job of one process, whose conduit keeps the messages sent ----

enum { QUEUE_MAX = 4096, LINK_UNIT = 16 };

typedef struct message {
    int32_t args[AQ_AM_MAX_ARGS];
    uint32_t to;
    uint8_t handler, nargs;
} message_t;

static struct {
    message_t messages[QUEUE_MAX];
    unsigned count;
    uint64_t sent, woken;
} posted;

static aq_status_t post_send(aq_conduit_t *conduit, void *link, const aq_am_t *am)
{
    (void)conduit;
    message_t *message = &posted.messages[posted.count++];
    assert_true(posted.count <= QUEUE_MAX);
    assert_int_equal(am->category, AQ_AM_SHORT);
    assert_false(am->reply);
    memcpy(message->args, am->args, am->nargs * sizeof *am->args);
    message->to = (uint32_t)((uintptr_t)link / LINK_UNIT) - 1;
    message->handler = am->handler;
    message->nargs = am->nargs;
    posted.sent++;
    return AQ_OK;
}

static unsigned post_poll(aq_conduit_t *conduit, unsigned what)
{
    (void)conduit, (void)what;
    return 0;
}

static uint64_t flushed_count = UINT64_MAX; // messages sent that have left the process

static bool post_requests_flushed(aq_conduit_t *conduit, void *link, uint64_t *mark)
{
    (void)conduit, (void)link;
    if (*mark == 0)
        *mark = posted.sent;
    return flushed_count >= *mark;
}

static void post_wake(aq_conduit_t *conduit, bool neighbourhood)
{
    (void)conduit;
    posted.woken += neighbourhood;
}

static void *post_scratch(aq_conduit_t *conduit)
{
    (void)conduit;
    static _Alignas(64) char scratch[AQ_SCRATCH_BYTES];
    return scratch;
}

static int start_job(void **state)
{
    (void)state;
    static const aq_conduit_ops_t ops = {
        .am = {.send = post_send, .poll = post_poll, .requests_flushed = post_requests_flushed},
        .wait = {.wake = post_wake},
        .memory = {.shared_scratch = post_scratch},
    };
    static aq_conduit_t conduit = {.ops = &ops};
    static _Atomic int32_t exit_word = AQ_BOOT_RUNNING;
    static uint32_t hosts[GROUPS_MAX];
    static aq_boot_t boot = {.size = GROUPS_MAX, .host_of_rank = hosts, .exit_word = &exit_word};
    static atomic_uintptr_t links[GROUPS_MAX];
    for (uint32_t r = 0; r < GROUPS_MAX; r++) {
        hosts[r] = r;
        links[r] = (r + 1) * LINK_UNIT;
    }
    aq_job.boot = &boot;
    aq_job.size = GROUPS_MAX;
    aq_job.link = links;
    aq_job.conduits[0] = &conduit;
    aq_job.conduit_count = 1;
    aq_job.nbrhd = (aq_group_t){.size = 1, .groups = 1};
    aq_team.head.size = 1;
    boot.size = aq_job.size;
    (void)aq_count_record(0);        // counters for all of these ranks, before the job gets smaller
    aq_layers_start(aq_layer_table); // registers the handler
    return 0;
}

// ---- inside a neighbourhood ----

static struct {
    aq_shared_side_t sides[SIDES_MAX];
    uint32_t entered[SIDES_MAX], done[SIDES_MAX]; // phases
    aq_vote_t votes[2][SIDES_MAX];
    uint32_t size, arrived[2]; // arrived: processes in the current phase of each parity
    uint32_t released;         // last phase that the first process released
    aq_vote_t across[2];       // joined vote of all neighbourhoods, by parity
    bool last_releases;
    char *scratch;
} sim;

static void start_sides(uint32_t size, bool last_releases)
{
    memset(&sim, 0, sizeof sim);
    void *areas[SIDES_MAX];
    sim.size = size;
    sim.last_releases = last_releases;
    sim.scratch = aligned_alloc(64, (size_t)size * AQ_SHARED_BARRIER_BYTES);
    memset(sim.scratch, 0, (size_t)size * AQ_SHARED_BARRIER_BYTES);
    for (uint32_t i = 0; i < size; i++)
        areas[i] = sim.scratch + (size_t)i * AQ_SHARED_BARRIER_BYTES;
    for (uint32_t i = 0; i < size; i++)
        aq_shared_start(&sim.sides[i], areas, size, i, last_releases);
}

static void side_arrive(uint32_t i)
{
    uint32_t phase = ++sim.entered[i], parity = phase & 1;
    uint64_t woken = posted.woken;
    sim.votes[parity][i] = random_vote(phase);
    aq_shared_arrive(&sim.sides[i], phase, sim.votes[parity][i]);
    if (++sim.arrived[parity] == sim.size)
        assert_true(posted.woken > woken); // other processes may sleep until the last one arrives
}

// When all have arrived, the first process joins the votes of the other neighbourhoods, and then
// releases the processes of its own neighbourhood.
static void side_lead(uint32_t phase)
{
    aq_vote_t vote;
    uint32_t parity = phase & 1;
    if (sim.released == phase)
        return;
    bool gathered = aq_shared_gathered(&sim.sides[0], phase, &vote);
    assert_true(gathered == (sim.arrived[parity] == sim.size));
    if (!gathered || random_below(3) == 0)
        return;
    assert_true(vote == join_all(sim.votes[parity], sim.size));
    sim.across[parity] = aq_vote_join(vote, random_vote(phase));
    sim.released = phase;
    uint64_t woken = posted.woken;
    aq_shared_release(&sim.sides[0], phase, sim.across[parity]);
    assert_true(posted.woken > woken);
}

static void side_try_release(uint32_t i)
{
    uint32_t phase = sim.entered[i], parity = phase & 1;
    aq_vote_t vote;
    bool due = sim.last_releases ? sim.arrived[parity] == sim.size : sim.released == phase;
    assert_true(aq_shared_released(&sim.sides[i], phase, &vote) == due);
    if (!due)
        return;
    assert_true(vote ==
                (sim.last_releases ? join_all(sim.votes[parity], sim.size) : sim.across[parity]));
    sim.done[i] = phase;
    sim.arrived[!parity] = sim.arrived[!parity] == sim.size ? 0 : sim.arrived[!parity];
}

static bool all_done(void)
{
    for (uint32_t i = 0; i < sim.size; i++)
        if (sim.done[i] < PHASES)
            return false;
    return true;
}

static void run_sides(uint32_t size, bool last_releases)
{
    start_sides(size, last_releases);
    while (!all_done()) {
        uint32_t i = random_below(size);
        if (sim.entered[i] == sim.done[i] && sim.done[i] < PHASES)
            side_arrive(i);
        else if (sim.entered[i] != sim.done[i] && i == 0 && !last_releases)
            side_lead(sim.entered[i]);
        if (sim.entered[i] != sim.done[i] && random_below(2))
            side_try_release(i);
    }
    free(sim.scratch);
}

static const uint32_t sizes[] = {1, 2, 3, 4, 5, 33};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void test_shared(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SIZES; i++)
        run_sides(sizes[i], true);
}

static void test_shared_with_leader(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SIZES; i++)
        run_sides(sizes[i], false);
}

// The same with threads: each thread sees after the barrier what the others wrote before the
// barrier.
enum { THREAD_PHASES = 100 };
static uint32_t written[SIDES_MAX];
static atomic_uint wrong;

static void *cross_barriers(void *pointer)
{
    aq_shared_side_t *side = pointer;
    for (uint32_t phase = 1; phase <= 2 * THREAD_PHASES; phase += 2) {
        aq_vote_t vote;
        written[side->index] = phase;
        for (uint32_t p = phase; p < phase + 2; p++) { // the second barrier ends the reads
            aq_shared_arrive(side, p, AQ_VOTE_NAME(phase));
            while (!aq_shared_released(side, p, &vote))
                sched_yield();
            wrong += vote != AQ_VOTE_NAME(phase);
            for (uint32_t i = 0; p == phase && i < side->size; i++)
                wrong += written[i] != phase;
        }
    }
    return NULL;
}

static void quiet_wake(aq_conduit_t *conduit, bool neighbourhood)
{
    (void)conduit, (void)neighbourhood;
}

static void test_shared_threads(void **state)
{
    (void)state;
    static const aq_conduit_ops_t quiet = {
        .wait = {.wake = quiet_wake},
    };
    const aq_conduit_ops_t *old = aq_job.conduits[0]->ops;
    aq_job.conduits[0]->ops = &quiet;
    for (uint32_t size = 2; size <= 6; size++) {
        pthread_t threads[SIDES_MAX];
        start_sides(size, true);
        for (uint32_t i = 0; i < size; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, cross_barriers, &sim.sides[i]), 0);
        for (uint32_t i = 0; i < size; i++)
            pthread_join(threads[i], NULL);
        free(sim.scratch);
    }
    assert_int_equal(wrong, 0);
    aq_job.conduits[0]->ops = old;
}

// ---- across neighbourhoods ----

// The library keeps one state per barrier and process. To simulate several groups in one process,
// `current` holds the state of the group whose turn it is.
enum { ID = 7 };
static aq_dissemination_t current;

static struct {
    aq_dissemination_t states[GROUPS_MAX];
    uint32_t entered[GROUPS_MAX], done[GROUPS_MAX];
    uint64_t sent[GROUPS_MAX]; // messages of the current phase
    aq_vote_t votes[2][GROUPS_MAX];
    uint32_t size, rounds, arrived[2];
} cluster;

static uint32_t rounds_of(uint32_t groups)
{
    uint32_t rounds = 0;
    for (uint32_t reach = 1; reach < groups; reach *= 2)
        rounds++;
    return rounds;
}

static void start_groups(uint32_t groups)
{
    memset(&cluster, 0, sizeof cluster);
    cluster.size = groups;
    cluster.rounds = rounds_of(groups);
    aq_job.size = groups;
    static uint32_t leaders[GROUPS_MAX];
    for (uint32_t g = 0; g < groups; g++)
        leaders[g] = g;
    for (uint32_t g = 0; g < groups; g++) {
        aq_dissemination_start(&current, ID, groups, g, leaders);
        memcpy(&cluster.states[g], &current, sizeof current);
        aq_dissemination_end(&current);
    }
    aq_dissemination_start(&current, ID, groups, 0, leaders);
}

static void group_load(uint32_t g)
{
    memcpy(&current, &cluster.states[g], sizeof current);
}

static void group_save(uint32_t g)
{
    memcpy(&cluster.states[g], &current, sizeof current);
}

static void group_enter(uint32_t g)
{
    uint32_t phase = ++cluster.entered[g];
    cluster.votes[phase & 1][g] = random_vote(phase);
    cluster.arrived[phase & 1]++;
    uint64_t before = posted.sent;
    group_load(g);
    aq_dissemination_enter(&current, phase, cluster.votes[phase & 1][g]);
    group_save(g);
    cluster.sent[g] = posted.sent - before;
}

static void group_advance(uint32_t g)
{
    uint32_t parity = cluster.entered[g] & 1;
    uint64_t before = posted.sent;
    aq_vote_t vote;
    group_load(g);
    bool complete = aq_dissemination_advance(&current, &vote);
    group_save(g);
    cluster.sent[g] += posted.sent - before;
    if (!complete)
        return;
    assert_int_equal(cluster.arrived[parity], cluster.size);
    assert_true(vote == join_all(cluster.votes[parity], cluster.size));
    assert_int_equal(cluster.sent[g], cluster.rounds);
    cluster.done[g] = cluster.entered[g];
    cluster.arrived[!parity] =
        cluster.arrived[!parity] == cluster.size ? 0 : cluster.arrived[!parity];
}

// Delivers a random message, so that messages arrive in any order.
static void deliver_any(void)
{
    if (!posted.count)
        return;
    unsigned which = random_below(posted.count);
    message_t message = posted.messages[which];
    posted.messages[which] = posted.messages[--posted.count];
    assert_true(message.to < cluster.size);
    const uint32_t distance = ((uint32_t)1 << message.args[3]) % cluster.size;
    aq_arrival_t arrival = {.args = message.args,
                            .source = (message.to + cluster.size - distance) % cluster.size,
                            .category = AQ_AM_SHORT,
                            .handler = message.handler,
                            .nargs = message.nargs};
    group_load(message.to);
    aq_am_deliver(&arrival);
    group_save(message.to);
}

static bool groups_done(uint32_t phases)
{
    for (uint32_t g = 0; g < cluster.size; g++)
        if (cluster.done[g] < phases)
            return false;
    return true;
}

// Each group sends ceil(log2 N) messages per phase, whatever the order of arrival.
static void run_groups(uint32_t groups, uint32_t phases)
{
    start_groups(groups);
    uint64_t before = posted.sent, steps = 0;
    while (!groups_done(phases)) {
        uint32_t g = random_below(groups);
        assert_true(++steps < 1000000); // more steps mean that a group is never released
        if (cluster.entered[g] != cluster.done[g])
            group_advance(g);
        else if (cluster.done[g] < phases)
            group_enter(g);
        if (random_below(3))
            deliver_any();
    }
    while (posted.count)
        deliver_any();
    assert_int_equal(posted.sent - before, (uint64_t)phases * groups * cluster.rounds);
    for (uint32_t g = 0; g < groups; g++)
        assert_int_equal(cluster.states[g].sent, (uint64_t)phases * cluster.rounds);
    aq_dissemination_end(&current);
}

static void test_dissemination(void **state)
{
    (void)state;
    for (uint32_t groups = 1; groups <= 9; groups++)
        run_groups(groups, PHASES);
    static const uint32_t large[] = {64, 65, 255, 256, 257, GROUPS_MAX};
    for (unsigned i = 0; i < sizeof large / sizeof large[0]; i++)
        run_groups(large[i], 4);
}

// A message for a barrier that this process has not created yet is kept until the process creates
// that barrier.
static void test_early(void **state)
{
    (void)state;
    static const uint32_t leaders[] = {0, 1};
    static aq_dissemination_t d;
    const uint64_t far = (uint64_t)1 << 32 | ID; // differs from ID in the upper half only
    int32_t args[] = {1, ID, 1, 0, (int32_t)(AQ_VOTE_NAME(3) >> 32), 3};
    aq_arrival_t arrival = {.args = args,
                            .source = 1,
                            .category = AQ_AM_SHORT,
                            .handler = AQ_HANDLER_BARRIER,
                            .nargs = 6};
    aq_am_deliver(&arrival);
    aq_dissemination_start(&d, ID, 2, 0, leaders); // another barrier does not receive the message
    aq_vote_t vote;
    aq_dissemination_enter(&d, 1, AQ_VOTE_NONE);
    assert_false(aq_dissemination_advance(&d, &vote));
    aq_dissemination_end(&d);
    aq_dissemination_start(&d, far, 2, 0, leaders);
    aq_dissemination_enter(&d, 1, AQ_VOTE_NONE);
    assert_true(aq_dissemination_advance(&d, &vote));
    assert_true(vote == AQ_VOTE_NAME(3));
    aq_dissemination_end(&d);
    posted.count = 0;
}

// A phase ends only when its own messages have left the process. Messages sent after the barrier
// has asked for the mark do not delay the phase.
static void test_requests_flushed(void **state)
{
    (void)state;
    static const uint32_t leaders[] = {0, 1, 2};
    static aq_dissemination_t d;
    aq_vote_t vote;
    const uint64_t before = posted.sent;
    flushed_count = before;
    aq_dissemination_start(&d, ID + 2, 3, 0, leaders);
    aq_dissemination_enter(&d, 1, AQ_VOTE_NONE);
    for (int round = 0; round < 2; round++) {
        int32_t args[] = {0, ID + 2, 1, round, (int32_t)(AQ_VOTE_NAME(3) >> 32), 3};
        aq_arrival_t arrival = {.args = args,
                                .source = round == 0 ? 2 : 1,
                                .category = AQ_AM_SHORT,
                                .handler = AQ_HANDLER_BARRIER,
                                .nargs = 6};
        aq_am_deliver(&arrival);
    }
    assert_false(aq_dissemination_advance(&d, &vote));
    assert_int_equal(posted.sent, before + 2);
    flushed_count++;
    assert_false(aq_dissemination_advance(&d, &vote));
    posted.sent += 10;
    flushed_count++;
    assert_false(aq_dissemination_advance(&d, &vote));
    posted.sent += 10;
    flushed_count += 10;
    assert_true(aq_dissemination_advance(&d, &vote));
    aq_dissemination_end(&d);
    flushed_count = UINT64_MAX;
    posted.count = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_shared_with_leader),
        cmocka_unit_test(test_shared_threads),
        cmocka_unit_test(test_dissemination),
        cmocka_unit_test(test_early),
        cmocka_unit_test(test_requests_flushed),
    };
    return cmocka_run_group_tests(tests, start_job, NULL);
}
