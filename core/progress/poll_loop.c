// SPDX-License-Identifier: BSD-3-Clause
// Polls of loops and of sends. They read the watches of the conduit, and go on to progress.c if a
// watch shows something, or now and then. gasnet_AMPoll of the client is here.
#include "poll_loop.h"

#include <sched.h>

#include "../../other/base/clock.h"
#include "../gasnetex_core.h"
#include "../record/counters.h"
#include "../state/job.h"
#include "progress.h"
#include "../record/wait_mark.h"
#include "../thread/thread.h"
#include "../thread/thread_life.h"

enum {
    // After LOOP_TURNS fruitless turns, a loop yields, and its poll asks the conduits whatever the
    // watches show. A poll that asks them counts as ASKING_TURNS. Yields that were vain make the
    // next loop longer.
    LOOP_TURNS = 64,
    ASKING_TURNS = 4,
    // One of so many sends asks the conduits whatever the watches show.
    SEND_TURNS = 16,
    // A yield that took less time was vain: it is more than the call alone takes, and less than two
    // switches of processes with what runs between them (docs/decisions/short-loops.md).
    VAIN_YIELD_NS = 1500,
    LONGER_MAX = 63, // times LOOP_TURNS
};

// The watches of the only conduit. A process with several conduits, or with one that has no
// watches, has always_calls in their place: its word always has the awaited value, so each poll
// calls the conduits.
static const aq_watched_t always_calls[AQ_WATCHES] = {{.word = &always_calls->awaited}};
static const aq_watched_t *watches = always_calls;
static bool has_watches; // not always_calls
// Whether the loops of all threads count their turns. A loop need not count if the process has one
// thread, so that the watches show all that can arrive, and if ranks do not share processors; then
// a turn need not wait for the store of the turn before. A thread decides this when its first loop
// lasts, so a second thread is known by then.
static atomic_bool all_count = true; // until the conduits are open
// The thread that need not count, as thread_here() names it: the only one known, if it has a
// processor. NULL: all threads count.
static _Atomic(const void *) resting_thread;
static const _Atomic int32_t *exit_word; // of the job

void aq_poll_loop_start(void)
{
    const aq_watched_t *watch = aq_job.conduits[0]->watch;
    has_watches = aq_job.conduit_count == 1 && watch;
    watches = has_watches ? watch : always_calls;
    aq_thread_on_second(aq_poll_loop_count);
    atomic_init(&all_count, !has_watches);
    exit_word = aq_job.boot->exit_word;
}

void aq_poll_loop_count(void)
{
    atomic_store(&all_count, true);
    atomic_store(&resting_thread, NULL);
}

// Whether a watch has its awaited value. The thread sanitizer cannot know that another thread may
// reuse the word.
#ifdef __SANITIZE_THREAD__
__attribute__((no_sanitize_thread))
#endif
static inline bool
watch_calls(const aq_watched_t *watch)
{
    const _Atomic uint64_t *word = atomic_load_explicit(&watch->word, memory_order_relaxed);
    const uint64_t value = atomic_load_explicit(word, memory_order_relaxed);
    return __builtin_expect(value == atomic_load_explicit(&watch->awaited, memory_order_relaxed),
                            0);
}

// Whether a poll would find something to do, as far as the watches show. Tells the compiler what is
// usual at each step, so that a poll that finds nothing jumps little.
static inline bool something_calls(void)
{
    const aq_watched_t *watch = watches;
    _Static_assert(AQ_WATCHES == 4, "all watches are looked at");
    return __builtin_expect(
               atomic_load_explicit(&aq_progress_busy_tasks, memory_order_relaxed) != 0, 0) ||
           watch_calls(watch) || watch_calls(watch + 1) || watch_calls(watch + 2) ||
           watch_calls(watch + 3) ||
           __builtin_expect(
               atomic_load_explicit(exit_word, memory_order_relaxed) != AQ_BOOT_RUNNING, 0);
}

// ---- after a send ----

void aq_poll_sending(void)
{
    static _Thread_local unsigned sends __attribute__((tls_model("initial-exec")));
    if (!has_watches || ++sends % SEND_TURNS == 0 || something_calls())
        aq_progress_poll_sending();
}

// ---- in a loop ----

// The turn that the loop of this thread is in, and the one that it began with: below 0 if the loop
// is a longer one.
static _Thread_local int turn __attribute__((tls_model("initial-exec")));
static _Thread_local int first_turn __attribute__((tls_model("initial-exec")));

// gcc for powerpc has the builtin and refuses its use.
#if defined __has_builtin && !defined __powerpc__
#if __has_builtin(__builtin_thread_pointer)
#define HAS_THREAD_POINTER
#endif
#endif

// Names the calling thread, by one load where the compiler can.
static inline const void *thread_here(void)
{
#ifdef HAS_THREAD_POINTER
    return __builtin_thread_pointer();
#else
    return &turn;
#endif
}

// Whether thread_leaves will run at the end of this thread: a later thread may get the same name.
static _Thread_local bool will_leave;

static void thread_leaves(void)
{
    will_leave = false;
    atomic_store(&resting_thread, NULL);
}

static void thread_leaves_at_end(void)
{
    static _Thread_local aq_thread_end_t end = {.run = thread_leaves};
    if (!will_leave)
        aq_thread_at_end(&end);
    will_leave = true;
}

// Lets the loops of this thread stop counting. aq_poll_loop_count may interrupt this, or run in
// another thread meanwhile, so all_count is read again.
static void thread_rests(void)
{
    if (atomic_load(&all_count)) // no store, which would disturb all threads that poll
        return;
    thread_leaves_at_end();
    atomic_store(&resting_thread, thread_here());
    if (atomic_load(&all_count))
        atomic_store(&resting_thread, NULL);
}

static void loop_begin(unsigned longer)
{
    turn = first_turn = -(int)longer * LOOP_TURNS;
}

// Returns by how many times LOOP_TURNS the next loop is longer: while the other processes on this
// processor sleep, the yields become ever rarer.
static unsigned loop_yield_in_vain(void)
{
    static _Thread_local unsigned char vain __attribute__((tls_model("initial-exec")));
    const uint64_t begun = aq_clock_ns();
    sched_yield();
    if (aq_clock_ns() - begun >= VAIN_YIELD_NS)
        vain = 0;
    else if (vain < LONGER_MAX)
        vain++;
    return vain;
}

// Returns what loop_yield_in_vain returns. Loops stay short if the process has several threads,
// because the loop may wait for one of them.
static unsigned loop_yield(void)
{
    if (aq_thread_live() <= 1)
        return loop_yield_in_vain();
    sched_yield();
    return 0;
}

static void loop_lasts(void)
{
    aq_wait_loops();
    aq_count_own_add(AQ_OWN_POLLS_EMPTY, (uint64_t)(LOOP_TURNS - first_turn));
    const bool crowded = aq_progress_is_crowded();
    if (!crowded)
        thread_rests();
    loop_begin(crowded ? loop_yield() : 0);
}

// Returns GASNET_OK, so that gasnet_AMPoll ends with a tail call.
static __attribute__((noinline)) int poll_in_turn(void)
{
    turn += ASKING_TURNS - 1;
    if (aq_progress_poll())
        loop_begin(0);
    else if (turn >= LOOP_TURNS)
        loop_lasts();
    return GASNET_OK;
}

static inline bool loop_counts(void)
{
    return atomic_load_explicit(&resting_thread, memory_order_relaxed) != thread_here();
}

static inline int poll_in_loop(void)
{
    const bool full = __builtin_expect(loop_counts(), 0) && ++turn >= LOOP_TURNS;
    return __builtin_expect(full || something_calls(), 0) ? poll_in_turn() : GASNET_OK;
}

void aq_poll_in_loop(void)
{
    (void)poll_in_loop();
}

int gasnet_AMPoll(void)
{
    aq_thread_check_call("gasnet_AMPoll");
    return poll_in_loop();
}
