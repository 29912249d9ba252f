// SPDX-License-Identifier: BSD-3-Clause
// Progress and waiting: which tasks get a turn, and in what order a wait spins, arms, sleeps and
// disarms. A stub conduit records the calls that it gets.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../core/record/counters.h"
#include "../../../core/thread/event.h"
#include "../../../core/ground/fatal.h"
#include "../../../core/gasnetex_core.h"
#include "../../../core/state/job.h"
#include "../../../core/progress/poll_loop.h"
#include "../../../core/progress/progress.h"
#include "../../../core/thread/thread.h"
#include "../../../other/base/settings/settings.h"
#include "../../../other/base/size.h"
#include "../../unit/assert_between.h"

enum { ARMED = 7, TURNS_MAX = 100000000, SLEEPS = 6 };

static const uint64_t MS = 1000000;

// The clock of these tests: each reading advances it by one microsecond.
static uint64_t time_ns = 1;

// Replaces the function of the C library.
int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    time_ns += 1000;
    now->tv_sec = (time_t)(time_ns / 1000000000u);
    now->tv_nsec = (long)(time_ns % 1000000000u);
    return 0;
}

static struct {
    char last[8]; // the latest steps, in order: p(oll), a(rm), s(leep), d(isarm)
    unsigned polls, arms, sleeps, disarms, wakes;
    unsigned polls_of[4]; // by the AQ_POLL_ flags of the poll
    unsigned arrived;     // messages that the next poll finds
    gex_Event_t ends;     // what the first poll after a sleep completes
    uint32_t slept_with;
    uint64_t limit;
} seen;

static void record_step(char step)
{
    memmove(seen.last, seen.last + 1, sizeof seen.last - 2);
    seen.last[sizeof seen.last - 2] = step;
}

static unsigned stub_poll(aq_conduit_t *conduit, unsigned what)
{
    (void)conduit;
    unsigned found = seen.arrived;
    record_step('p');
    seen.polls++;
    seen.polls_of[what & 3]++;
    seen.arrived = 0;
    if (seen.ends && seen.sleeps) {
        aq_event_end(seen.ends);
        seen.ends = NULL;
    }
    return found;
}

static uint32_t stub_arm(aq_conduit_t *conduit)
{
    (void)conduit;
    record_step('a');
    seen.arms++;
    return ARMED;
}

static void stub_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns)
{
    (void)conduit;
    record_step('s');
    seen.sleeps++;
    seen.slept_with = armed;
    seen.limit = limit_ns;
}

static void stub_disarm(aq_conduit_t *conduit)
{
    (void)conduit;
    record_step('d');
    seen.disarms++;
}

static void stub_wake(aq_conduit_t *conduit, bool neighbourhood)
{
    (void)conduit;
    assert_false(neighbourhood);
    seen.wakes++;
}

static const aq_conduit_ops_t ops = {
    .am = {.poll = stub_poll},
    .wait = {.arm = stub_arm, .sleep = stub_sleep, .disarm = stub_disarm, .wake = stub_wake},
};
static const aq_conduit_ops_t no_wake_ops = {
    .am = {.poll = stub_poll},
};
static aq_conduit_t stub = {.ops = &ops}, no_wake = {.ops = &no_wake_ops};

static int start_job(void **state)
{
    (void)state;
    static _Atomic int32_t exit_word = AQ_BOOT_RUNNING;
    static aq_boot_t boot = {.size = 1, .exit_word = &exit_word};
    aq_job.boot = &boot;
    aq_job.size = 1;
    return 0;
}

static int clear_record(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    memset(seen.last, '.', sizeof seen.last - 1);
    aq_job.conduits[0] = &stub;
    aq_job.conduit_count = 1;
    return gasnet_set_waitmode(GASNET_WAIT_BLOCK); // spins for the same number of turns each time
}

static void assert_last(const char *steps)
{
    assert_string_equal(seen.last + sizeof seen.last - 1 - strlen(steps), steps);
}

// Takes turns of the wait until the counter changes; returns how many turns that took.
static unsigned turn_until(aq_api_wait_t *wait, const unsigned *counter)
{
    unsigned turns = 0, before = *counter;
    while (*counter == before) {
        aq_api_wait_turn(wait);
        assert_true(++turns < TURNS_MAX);
    }
    return turns;
}

// ---- processors ----

static _Atomic uint16_t waiting_cpus[3];
static unsigned yields;
static uint64_t yield_ns;         // that a yield takes
static int processor = -1;        // the processor that this process runs on; -1: not known
static cpu_set_t allowed = {{3}}; // processors that this process may use
static unsigned moves;            // to other processors
static cpu_set_t moved_to;        // the processors that it could choose then

// The next four functions replace those of the C library.
int sched_yield(void)
{
    yields++;
    time_ns += yield_ns;
    return 0;
}

int sched_getcpu(void)
{
    return processor;
}

int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set)
{
    assert_int_equal(process, 0);
    assert_between(size, sizeof allowed, SIZE_MAX);
    memset(set, 0, size);
    memcpy(set, &allowed, sizeof allowed);
    return 0;
}

int sched_setaffinity(pid_t process, size_t size, const cpu_set_t *set)
{
    assert_int_equal(process, 0);
    assert_int_equal(size, sizeof allowed);
    if (!CPU_EQUAL(set, &allowed)) {
        moves++;
        moved_to = *set;
    }
    return 0;
}

// Takes this many turns of a wait that spins; returns how often the wait yielded the processor.
static unsigned count_yields(unsigned turns_to_take)
{
    aq_api_wait_t wait = {0};
    yields = 0;
    while (turns_to_take--)
        aq_api_wait_turn(&wait);
    assert_int_equal(seen.arms, 0);
    return yields;
}

// A spinning wait yields to a rank of this host that waits on the same processor, and to no other.
static void test_shared_processor(void **state)
{
    (void)state;
    static gex_RankInfo_t here[] = {{0}, {2}};
    char err[512];
    setenv("GASNET_SPIN_US", "1000000", 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_int_equal(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK), GASNET_OK);
    aq_job.host.members = here;
    aq_job.host.size = 2;
    aq_job.boot->waiting_cpus = waiting_cpus;
    waiting_cpus[1] = 4; // rank 1 is on another host
    for (processor = 3; processor < 5; processor++) {
        waiting_cpus[2] = 6;
        assert_int_equal(count_yields(160), 0);
        assert_int_equal(waiting_cpus[0], processor + 1);
        waiting_cpus[2] = (uint16_t)(processor + 1);
        assert_int_equal(count_yields(160), 10);
    }
    processor = -1;
    waiting_cpus[2] = 0;
    assert_int_equal(count_yields(160), 0);
    unsetenv("GASNET_SPIN_US");
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
}

// A thread that has yielded to a rank on its processor for long goes to a processor on which no
// rank waits, if it may use one.
static void test_leaves_processor(void **state)
{
    (void)state;
    static gex_RankInfo_t here[] = {{0}, {1}, {2}};
    enum { SHARED = 1, OTHER = 2, FREE = 3, TURNS = 16 * 64 };
    setenv("GASNET_SPIN_US", "1000000", 1);
    char err[512];
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_int_equal(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK), GASNET_OK);
    aq_job.host.members = here;
    aq_job.host.size = 3;
    aq_job.boot->waiting_cpus = waiting_cpus;
    processor = SHARED;
    waiting_cpus[1] = OTHER + 1;
    waiting_cpus[2] = OTHER + 1;
    count_yields(16); // not shared: counting begins
    waiting_cpus[2] = SHARED + 1;
    CPU_ZERO(&allowed);
    CPU_SET(SHARED, &allowed);
    CPU_SET(OTHER, &allowed);
    assert_int_equal(count_yields(TURNS), 63);
    assert_int_equal(moves, 0); // no rank may be displaced
    CPU_SET(FREE, &allowed);
    assert_int_equal(count_yields(TURNS), 63);
    assert_int_equal(moves, 1);
    assert_true(CPU_COUNT(&moved_to) == 1 && CPU_ISSET(FREE, &moved_to));
    waiting_cpus[2] = FREE + 1;
    assert_int_equal(count_yields(TURNS), 0);
    assert_int_equal(moves, 1);
    processor = -1;
    allowed = (cpu_set_t){{3}};
    unsetenv("GASNET_SPIN_US");
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
}

enum { SWITCHES_NS = 5000 }; // what a yield takes if another process runs meanwhile

// A client's own loop of polls yields if there are more ranks than processors, as long as no
// message arrives.
static void test_loop_of_polls(void **state)
{
    (void)state;
    yield_ns = SWITCHES_NS;
    for (unsigned ranks = 1; ranks <= 3; ranks++) {
        aq_job.boot->processors = 2;
        aq_progress_start(ranks);
        yields = 0;
        for (unsigned i = 0; i < 160; i++) {
            seen.arrived = i >= 80 && i % 10 == 0;
            gasnet_AMPoll();
        }
        assert_int_equal(yields, ranks > 2 ? 5 : 0);
    }
    aq_progress_start(1);
    aq_job.boot->processors = 0;
}

static unsigned loop_yields(unsigned loops)
{
    yields = 0;
    for (unsigned i = 0; i < 16 * loops; i++)
        gasnet_AMPoll();
    return yields;
}

// A loop of polls is twice as long after a yield that let no other process run, three times after
// two, and at most 64 times, until a yield lets a process run. A message ends the longer loop.
static void test_vain_yields_get_rare(void **state)
{
    (void)state;
    enum { MOST = 64, ALL = MOST * (MOST + 1) / 2 };
    aq_job.boot->processors = 2;
    aq_progress_start(3);
    yield_ns = SWITCHES_NS;
    assert_int_equal(loop_yields(16), 16);
    yield_ns = 0;
    assert_int_equal(loop_yields(ALL), MOST);
    assert_int_equal(loop_yields(10 * MOST), 10);
    seen.arrived = 1;
    gasnet_AMPoll();
    assert_int_equal(loop_yields(1), 1);
    yield_ns = SWITCHES_NS;
    assert_int_equal(loop_yields(MOST + 15), 16);
    aq_progress_start(1);
    aq_job.boot->processors = 0;
}

// A rank that sleeps does not count as waiting on a processor.
static void test_sleeper_waits_on_no_processor(void **state)
{
    (void)state;
    aq_api_wait_t wait = {0};
    aq_job.boot->waiting_cpus = waiting_cpus;
    waiting_cpus[0] = 9;
    turn_until(&wait, &seen.arms);
    assert_int_equal(waiting_cpus[0], 9);
    turn_until(&wait, &seen.sleeps);
    assert_int_equal(waiting_cpus[0], 0);
}

static sem_t second_counted, second_may_end;

// A thread that only polls.
static void *second_thread(void *unused)
{
    for (unsigned i = 0; i < 16; i++)
        gasnet_AMPoll();
    sem_post(&second_counted);
    sem_wait(&second_may_end);
    return unused;
}

static pthread_t start_second_thread(void)
{
    pthread_t thread;
    sem_init(&second_counted, 0, 0);
    sem_init(&second_may_end, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, second_thread, NULL), 0);
    sem_wait(&second_counted);
    return thread;
}

// So does one if there are more threads than processors. Threads that only poll count.
static void test_loop_beside_thread(void **state)
{
    (void)state;
    aq_threads = true;
    for (unsigned processors = 1; processors <= 2; processors++) {
        aq_job.boot->processors = processors;
        aq_progress_start(1);
        const pthread_t second = start_second_thread();
        yields = 0;
        for (unsigned i = 0; i < 160; i++)
            gasnet_AMPoll();
        assert_int_equal(yields, processors == 1 ? 10 : 0);
        sem_post(&second_may_end);
        pthread_join(second, NULL);
    }
    aq_threads = false;
    aq_job.boot->processors = 0;
}

// The number of polls that ask the conduit, of 640.
static unsigned count_asking(void)
{
    seen.polls = 0;
    for (unsigned i = 0; i < 640; i++)
        gasnet_AMPoll();
    return seen.polls;
}

static void *count_asking_here(void *count)
{
    *(unsigned *)count = count_asking();
    return NULL;
}

static unsigned count_asking_in_thread(void)
{
    pthread_t thread;
    unsigned count = 0;
    assert_int_equal(pthread_create(&thread, NULL, count_asking_here, &count), 0);
    pthread_join(thread, NULL);
    return count;
}

static int use_watches(void **state)
{
    static const _Atomic uint64_t word = 1;
    static const aq_watched_t silent[AQ_WATCHES] = {
        {.word = &word}, {.word = &word}, {.word = &word}, {.word = &word}};
    static aq_conduit_t watched = {.ops = &ops, .watch = silent};
    clear_record(state);
    aq_job.conduits[0] = &watched;
    aq_job.boot->processors = 2;
    aq_threads = true;
    aq_progress_start(1);
    aq_poll_loop_start();
    return 0;
}

static int use_no_watches(void **state)
{
    (void)state;
    aq_threads = false;
    aq_job.boot->processors = 0;
    aq_job.conduits[0] = &stub;
    aq_poll_loop_start();
    return 0;
}

// If watches tell what arrives, the only thread of a process asks the conduit no more once its loop
// has lasted. A later thread does not rest at once, though it may get the memory of the first one.
static void test_new_thread_asks(void **state)
{
    (void)state;
    assert_int_equal(aq_thread_live(), 0);
    assert_int_equal(count_asking_in_thread(), 1);
    assert_int_equal(count_asking_in_thread(), 1);
}

// It asks for those who watch the job.
static void test_watched_loop_asks(void **state)
{
    (void)state;
    count_asking();
    assert_int_equal(count_asking(), 0);
    aq_poll_loop_count();
    assert_int_equal(count_asking(), 10);
}

// It asks beside a second thread.
static void test_loop_asks_beside_thread(void **state)
{
    (void)state;
    count_asking();
    assert_int_equal(count_asking(), 0);
    count_asking_in_thread();
    assert_int_equal(count_asking(), 10);
}

// A thread beside another one yields for longer before it sleeps.
static void test_yields_beside_thread(void **state)
{
    (void)state;
    aq_api_wait_t single = {0}, beside = {0};
    turn_until(&single, &seen.arms);
    aq_api_wait_end(&single);
    yields = 0;
    turn_until(&single, &seen.arms);
    const unsigned few = yields;
    aq_api_wait_end(&single);
    aq_threads = true;
    const pthread_t second = start_second_thread();
    yields = 0;
    turn_until(&beside, &seen.arms);
    aq_api_wait_end(&beside);
    assert_true(yields > few);
    sem_post(&second_may_end);
    pthread_join(second, NULL);
    aq_threads = false;
}

static int remove_waiting_cpus(void **state)
{
    (void)state;
    aq_job.boot->waiting_cpus = NULL;
    aq_job.host.size = 0;
    return 0;
}

// ---- polls and tasks ----

static unsigned turns[2];
static bool first_makes_progress;

static bool first_turn(aq_task_t *task)
{
    (void)task;
    turns[0]++;
    return first_makes_progress;
}

static bool second_turn(aq_task_t *task)
{
    (void)task;
    turns[1]++;
    return false;
}

static void assert_turns(unsigned of_first, unsigned of_second)
{
    assert_int_equal(turns[0], of_first);
    assert_int_equal(turns[1], of_second);
}

static void test_tasks(void **state)
{
    (void)state;
    static aq_task_t first = {.turn = first_turn}, second = {.turn = second_turn};
    aq_progress_add(&first);
    aq_progress_add(&second);
    assert_int_equal(aq_progress_poll(), 0);
    assert_turns(0, 0);
    aq_progress_busy(&first, 1);
    aq_progress_busy(&first, 1);
    assert_int_equal(aq_progress_poll(), 0);
    assert_turns(1, 0);           // a task that has nothing to do gets no turn
    aq_progress_busy(&first, -1); // the other operation is still pending
    aq_progress_busy(&second, 1);
    first_makes_progress = true;
    seen.arrived = 3;
    assert_int_equal(aq_progress_poll(), 4);
    assert_turns(2, 1);
    aq_progress_poll_replies(); // a wait inside a handler runs no tasks
    assert_turns(2, 1);
    aq_progress_busy(&first, -1);
    aq_progress_busy(&second, -1);
    assert_int_equal(aq_progress_poll(), 0);
    assert_turns(2, 1);
    assert_int_equal(seen.polls_of[AQ_POLL_REPLIES], 1);
    assert_int_equal(seen.polls_of[AQ_POLL_REPLIES | AQ_POLL_REQUESTS], 4);
}

static void test_all_conduits(void **state)
{
    (void)state;
    aq_job.conduits[1] = &no_wake;
    aq_job.conduit_count = 2;
    aq_progress_poll();
    assert_int_equal(seen.polls, 2);
    assert_int_equal(gasnet_AMPoll(), GASNET_OK);
    assert_int_equal(seen.polls, 4);
    aq_progress_wait_replies(0);
    aq_progress_wait_replies(1000);
    assert_int_equal(seen.polls_of[AQ_POLL_REPLIES], 4);
    aq_progress_wake(); // nobody sleeps
    assert_int_equal(seen.wakes, 0);
    aq_sleepers_enter();
    aq_progress_wake(); // a conduit without this operation is skipped
    assert_int_equal(seen.wakes, 1);
    aq_sleepers_leave();
}

static void poll_arrival(void)
{
    seen.arrived = 1;
    aq_progress_poll();
    seen.arrived = 1;
    aq_progress_poll_replies();
}

// Only with threads can another waiter sleep until a poll makes progress.
static void test_wakes(void **state)
{
    (void)state;
    aq_sleepers_enter();
    poll_arrival();
    assert_int_equal(seen.wakes, 0);
    aq_threads = true;
    aq_progress_poll();
    aq_progress_poll_replies();
    assert_int_equal(seen.wakes, 0);
    poll_arrival();
    assert_int_equal(seen.wakes, 2);
    aq_sleepers_leave();
    poll_arrival();
    assert_int_equal(seen.wakes, 2);
    aq_threads = false;
}

// A wait of a job with threads counts as a sleeper before its last look.
static void test_sleepers(void **state)
{
    (void)state;
    aq_api_wait_t wait = {0};
    aq_threads = true;
    turn_until(&wait, &seen.arms);
    assert_true(aq_sleepers_any());
    turn_until(&wait, &seen.sleeps);
    assert_false(aq_sleepers_any());
    turn_until(&wait, &seen.arms);
    aq_api_wait_end(&wait);
    assert_false(aq_sleepers_any());
    aq_threads = false;
}

// ---- the steps of a wait ----

static void test_order(void **state)
{
    (void)state;
    aq_api_wait_t wait = {0};
    assert_true(turn_until(&wait, &seen.arms) > 1); // it spins first
    assert_int_equal(seen.sleeps, 0);
    assert_last("pppa");
    assert_int_equal(turn_until(&wait, &seen.sleeps), 1); // one more poll in between
    assert_last("ppapsd");
    assert_int_equal(seen.slept_with, ARMED);
    turn_until(&wait, &seen.sleeps);
    assert_last("dpapsd"); // the following sleeps need no new spin
    aq_api_wait_end(&wait);
    assert_int_equal(seen.disarms, 2);
    assert_int_equal(seen.arms, 2);
}

static void test_progress_resets(void **state)
{
    (void)state;
    aq_api_wait_t wait = {0};
    unsigned fresh = turn_until(&wait, &seen.arms);
    turn_until(&wait, &seen.sleeps);
    seen.arrived = 1;
    aq_api_wait_turn(&wait);
    assert_last("psdp");
    assert_int_equal(turn_until(&wait, &seen.arms), fresh);
    aq_api_wait_end(&wait);
}

// What this process has counted of itself since the last call.
static const uint64_t *counted(void)
{
    static uint64_t before[AQ_OWN_COUNTS], change[AQ_OWN_COUNTS];
    uint64_t now[AQ_OWN_COUNTS] = {0};
    aq_counts_own_sum(now);
    for (unsigned i = 0; i < AQ_OWN_COUNTS; i++)
        change[i] = now[i] - before[i];
    memcpy(before, now, sizeof before);
    return change;
}

// A wait that nobody has marked is one for a condition of the client.
static void test_waits_count(void **state)
{
    (void)state;
    aq_api_wait_t wait = {0};
    (void)counted();
    turn_until(&wait, &seen.sleeps);
    turn_until(&wait, &seen.sleeps);
    const uint64_t began = wait.since, *change = counted();
    assert_int_equal(change[AQ_OWN_POLLS_FOUND], 0);
    assert_true(change[AQ_OWN_POLLS_EMPTY] > 0 && change[AQ_OWN_POLLS_EMPTY] <= seen.polls);
    assert_int_equal(change[AQ_OWN_SLEEPS], 2);
    assert_int_equal(change[AQ_OWN_SLEEP_NS], 2000); // the clock is read before and after
    assert_int_equal(change[AQ_OWN_WAIT_NS + AQ_WAIT_CONDITION], 0);
    seen.arrived = 1;
    aq_api_wait_turn(&wait);
    aq_api_wait_end(&wait);
    change = counted();
    assert_int_equal(change[AQ_OWN_POLLS_FOUND], 1);
    assert_int_equal(change[AQ_OWN_POLLS_EMPTY], 0);
    assert_int_equal(change[AQ_OWN_WAIT_NS + AQ_WAIT_CONDITION], time_ns - began);
}

static bool has_slept(void *sleeps)
{
    return seen.sleeps > *(const unsigned *)sleeps;
}

// Waits of a kind count there, and those that end soon not at all.
static void test_waits_count_by_kind(void **state)
{
    (void)state;
    unsigned sleeps = 0;
    (void)counted();
    aq_progress_wait_until(has_slept, &sleeps, aq_wait_word(AQ_WAIT_ROOM, 0), NULL);
    const uint64_t *change = counted();
    assert_true(change[AQ_OWN_WAIT_NS + AQ_WAIT_ROOM] > 0);
    assert_int_equal(change[AQ_OWN_WAIT_NS + AQ_WAIT_CONDITION], 0);
    sleeps = 0;
    aq_progress_wait_until(has_slept, &sleeps, aq_wait_word(AQ_WAIT_ROOM, 0), NULL);
    assert_int_equal(counted()[AQ_OWN_WAIT_NS + AQ_WAIT_ROOM], 0);
}

// Waits for implicit operations and for several events are waits for operations.
static void test_waits_count_for_events(void **state)
{
    (void)state;
    (void)counted();
    seen.ends = aq_event_part(aq_thread_nbi(), AQ_PART_PUT);
    aq_event_begin(seen.ends);
    gex_NBI_Wait(GEX_EC_ALL, 0);
    const uint64_t *change = counted();
    assert_true(change[AQ_OWN_WAIT_NS + AQ_WAIT_EVENT] > 0);
    assert_int_equal(change[AQ_OWN_WAIT_NS + AQ_WAIT_CONDITION], 0);
    gex_Event_t event = aq_event_part(aq_event_new(), AQ_PART_GET);
    seen.sleeps = 0;
    seen.ends = event;
    aq_event_begin(event);
    gex_Event_WaitAll(&event, 1, 0);
    change = counted();
    assert_true(change[AQ_OWN_WAIT_NS + AQ_WAIT_EVENT] > 0);
    assert_int_equal(change[AQ_OWN_WAIT_NS + AQ_WAIT_CONDITION], 0);
}

// Sleeps get longer, up to a bound, until a message arrives.
static void test_limits(void **state)
{
    (void)state;
    aq_api_wait_t wait = {0};
    uint64_t limits[SLEEPS];
    for (unsigned i = 0; i < SLEEPS; i++) {
        turn_until(&wait, &seen.sleeps);
        limits[i] = seen.limit;
    }
    assert_true(limits[0] > 0);
    assert_true(limits[1] == 2 * limits[0]);
    for (unsigned i = 2; i < SLEEPS; i++)
        assert_true(limits[i] == 4 * MS);
    seen.arrived = 1;
    aq_api_wait_turn(&wait);
    turn_until(&wait, &seen.sleeps);
    assert_true(seen.limit == limits[0]);
}

// A sleep that no event ends makes a long wait at most one eighth longer, and lasts 50 ms at most.
static void test_long_wait_sleeps_long(void **state)
{
    (void)state;
    aq_api_wait_t wait = {0};
    for (unsigned i = 0; i < SLEEPS; i++)
        turn_until(&wait, &seen.sleeps);
    time_ns = wait.since + 160 * MS;
    turn_until(&wait, &seen.sleeps);
    assert_between(seen.limit, 20 * MS, 21 * MS); // the wait read the clock a few times
    time_ns = wait.since + 10000 * MS;
    turn_until(&wait, &seen.sleeps);
    assert_int_equal(seen.limit, 50 * MS);
    aq_job.conduits[1] = &no_wake; // its messages cannot end a sleep
    aq_job.conduit_count = 2;
    aq_job.nbrhd.size = 2;
    turn_until(&wait, &seen.sleeps);
    assert_true(seen.limit < 4 * MS);
    aq_job.nbrhd.size = 0;
    aq_api_wait_end(&wait);
}

static void test_message_prevents_sleep(void **state)
{
    (void)state;
    aq_api_wait_t wait = {0};
    turn_until(&wait, &seen.arms);
    seen.arrived = 1;
    aq_api_wait_turn(&wait);
    assert_last("apd");
    assert_int_equal(seen.sleeps, 0);
    aq_api_wait_end(&wait); // the wait is disarmed already
    assert_int_equal(seen.disarms, 1);
}

static void test_end_disarms(void **state)
{
    (void)state;
    aq_api_wait_t wait = {0};
    aq_api_wait_end(&wait);
    assert_int_equal(seen.disarms, 0);
    turn_until(&wait, &seen.arms);
    aq_api_wait_end(&wait);
    assert_last("ad");
    aq_api_wait_end(&wait);
    assert_int_equal(seen.disarms, 1);
    turn_until(&wait, &seen.sleeps); // a wait may continue after its end
    assert_last("papsd");
}

// ---- the conduit that a wait sleeps in ----

static void test_wakeup_conduit(void **state)
{
    (void)state;
    aq_api_wait_t wait = {0};
    turn_until(&wait, &seen.sleeps);
    uint64_t longest = seen.limit;
    aq_job.conduits[0] = &no_wake;
    aq_job.conduits[1] = &stub;
    aq_job.conduit_count = 2;
    aq_job.nbrhd.size = 2;
    wait = (aq_api_wait_t){0};
    turn_until(&wait, &seen.sleeps);
    assert_last("pappsd");
    // A message of the other conduit wakes no sleeper, so that the sleep is short.
    assert_true(seen.limit && seen.limit < longest);
    aq_job.nbrhd.size = 1; // no peer can send by the conduit that cannot wake
    wait = (aq_api_wait_t){0};
    turn_until(&wait, &seen.sleeps);
    assert_int_equal(seen.limit, longest);
    aq_job.conduits[0] = &stub; // peers can send by the second conduit, which cannot wake
    aq_job.conduits[1] = &no_wake;
    wait = (aq_api_wait_t){0};
    turn_until(&wait, &seen.sleeps);
    assert_true(seen.limit && seen.limit < longest);
    aq_job.nbrhd.size = 0;

    aq_job.conduits[0] = &no_wake; // no conduit can wake: the core sleeps by itself
    aq_job.conduit_count = 1;
    wait = (aq_api_wait_t){0};
    unsigned arms = seen.arms;
    for (unsigned i = 0; i < 20; i++)
        aq_api_wait_turn(&wait);
    aq_api_wait_end(&wait);
    assert_last("pppp");
    assert_int_equal(seen.arms, arms);
}

// ---- wait modes ----

static void assert_never_sleeps(void)
{
    aq_api_wait_t wait = {0};
    for (unsigned i = 0; i < 5000; i++)
        aq_api_wait_turn(&wait);
    aq_api_wait_end(&wait);
    assert_int_equal(seen.arms, 0);
    assert_int_equal(seen.disarms, 0);
    assert_int_equal(seen.polls, 5000);
}

static void test_modes(void **state)
{
    (void)state;
    assert_int_equal(gasnet_set_waitmode(GASNET_WAIT_SPIN), GASNET_OK);
    assert_never_sleeps();
    aq_api_wait_t wait = {0};
    assert_int_equal(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK), GASNET_OK);
    unsigned spins = turn_until(&wait, &seen.arms);
    aq_api_wait_end(&wait);
    assert_int_equal(gasnet_set_waitmode(GASNET_WAIT_BLOCK), GASNET_OK);
    wait = (aq_api_wait_t){0};
    assert_true(turn_until(&wait, &seen.arms) < spins);
    aq_api_wait_end(&wait);
}

static void test_bad_mode(void **state)
{
    (void)state;
    if (AQ_CHECKS) // a bad mode would end the job
        skip();
    assert_int_equal(gasnet_set_waitmode(-1), GASNET_ERR_BAD_ARG);
    assert_int_equal(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK + 1), GASNET_ERR_BAD_ARG);
}

static void start_in_mode(const char *mode, uint32_t ranks)
{
    char err[512];
    assert_int_equal(setenv("GASNET_WAITMODE", mode, 1), 0);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    aq_progress_start(ranks);
}

// Runs near the end, because it changes how long waits of the other tests yield.
static void test_start(void **state)
{
    (void)state;
    static const char *const sleepy[] = {"block", "spinblock", "auto"};
    uint32_t crowd = 2 * aq_size_processors();
    for (uint32_t ranks = 1; ranks <= crowd; ranks += crowd - 1) {
        clear_record(NULL);
        start_in_mode("spin", ranks);
        assert_never_sleeps();
        for (unsigned i = 0; i < 3; i++) {
            aq_api_wait_t wait = {0};
            start_in_mode(sleepy[i], ranks);
            turn_until(&wait, &seen.sleeps);
            assert_last("psd");
            assert_int_equal(seen.arms, seen.sleeps);
        }
    }
}

// The number of ranks is compared with all processors that the ranks share, not with the few that
// this rank may be bound to.
static void test_bound(void **state)
{
    (void)state;
    const uint32_t ranks = 2 * aq_size_processors();
    start_in_mode("auto", ranks);
    assert_between(count_yields(8), 1, 8);
    aq_job.boot->processors = ranks;
    start_in_mode("auto", ranks);
    assert_int_equal(count_yields(8), 0);
    aq_job.boot->processors = 0;
}

// A client that asks for SPINBLOCK does not spin either if there are more ranks than processors; a
// user who asks for it does.
static void test_crowd_in_mode(void **state)
{
    (void)state;
    const uint32_t crowd = 2 * aq_size_processors();
    start_in_mode("auto", crowd);
    assert_int_equal(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK), GASNET_OK);
    assert_between(count_yields(8), 1, 8);
    start_in_mode("auto", 1);
    assert_int_equal(gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK), GASNET_OK);
    assert_int_equal(count_yields(8), 0);
    start_in_mode("spinblock", crowd);
    assert_int_equal(count_yields(8), 0);
}

// A wait of one of two threads on one processor polls for a moment before it yields. After a vain
// attempt, some waits of the thread yield at once, and more after the next one, up to 31; an
// attempt that succeeds halves their number.
static void test_brief_polls(void **state)
{
    (void)state;
    enum { MOMENT = 95, ATTEMPTS = 6 };
    static const unsigned pauses[ATTEMPTS] = {1, 3, 7, 15, 31, 31};
    aq_job.boot->processors = 1;
    gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK);
    start_in_mode("auto", 1);
    aq_threads = true;
    const pthread_t second = start_second_thread();
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        assert_int_equal(count_yields(MOMENT + 1), 1);
        for (unsigned j = 0; j < pauses[i]; j++)
            assert_int_equal(count_yields(1), 1);
    }
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(count_yields(MOMENT), 0); // they end in time: 31, 15, 7, 3
    assert_int_equal(count_yields(MOMENT + 1), 1);
    for (unsigned j = 0; j < 3; j++)
        assert_int_equal(count_yields(1), 1);
    assert_int_equal(count_yields(MOMENT), 0);
    sem_post(&second_may_end);
    pthread_join(second, NULL);
    aq_threads = false;
    aq_job.boot->processors = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_new_thread_asks, use_watches, use_no_watches),
        cmocka_unit_test_setup_teardown(test_watched_loop_asks, use_watches, use_no_watches),
        cmocka_unit_test_setup_teardown(test_loop_asks_beside_thread, use_watches, use_no_watches),
        cmocka_unit_test_setup(test_tasks, clear_record),
        cmocka_unit_test_setup(test_all_conduits, clear_record),
        cmocka_unit_test_setup(test_wakes, clear_record),
        cmocka_unit_test_setup(test_sleepers, clear_record),
        cmocka_unit_test_setup(test_order, clear_record),
        cmocka_unit_test_setup(test_progress_resets, clear_record),
        cmocka_unit_test_setup(test_waits_count, clear_record),
        cmocka_unit_test_setup(test_waits_count_by_kind, clear_record),
        cmocka_unit_test_setup(test_waits_count_for_events, clear_record),
        cmocka_unit_test_setup(test_limits, clear_record),
        cmocka_unit_test_setup(test_long_wait_sleeps_long, clear_record),
        cmocka_unit_test_setup(test_message_prevents_sleep, clear_record),
        cmocka_unit_test_setup(test_end_disarms, clear_record),
        cmocka_unit_test_setup(test_wakeup_conduit, clear_record),
        cmocka_unit_test_setup(test_modes, clear_record),
        cmocka_unit_test_setup_teardown(test_shared_processor, clear_record, remove_waiting_cpus),
        cmocka_unit_test_setup_teardown(test_leaves_processor, clear_record, remove_waiting_cpus),
        cmocka_unit_test_setup(test_loop_of_polls, clear_record),
        cmocka_unit_test_setup(test_vain_yields_get_rare, clear_record),
        cmocka_unit_test_setup(test_loop_beside_thread, clear_record),
        cmocka_unit_test_setup(test_yields_beside_thread, clear_record),
        cmocka_unit_test_setup_teardown(test_sleeper_waits_on_no_processor, clear_record,
                                        remove_waiting_cpus),
        cmocka_unit_test_setup(test_bad_mode, clear_record),
        cmocka_unit_test_setup(test_start, clear_record),
        cmocka_unit_test_setup(test_bound, clear_record),
        cmocka_unit_test_setup(test_crowd_in_mode, clear_record),
        cmocka_unit_test_setup(test_brief_polls, clear_record),
    };
    return cmocka_run_group_tests(tests, start_job, NULL);
}
