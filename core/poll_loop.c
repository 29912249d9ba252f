#include "poll_loop.h"

#include <sched.h>

#include "../other/base/clock.h"
#include "gasnetex_core.h"
#include "counters.h"
#include "fatal.h"
#include "job.h"
#include "progress.h"
#include "report.h"
#include "thread.h"

enum {
    // After LOOP_TURNS fruitless turns, a loop yields, and its poll asks the conduits whatever the
    // watches show. A poll that asks them counts as ASKING_TURNS.
    LOOP_TURNS = 64,
    ASKING_TURNS = 4,
    // One of so many sends asks the conduits whatever the watches show.
    SEND_TURNS = 16,
    // A yield that took less time was vain: it is more than the call alone takes, and less than two
    // switches of processes with what runs between them (docs/decisions/short-loops.md).
    VAIN_YIELD_NS = 1500,
    OMITTED_YIELDS = 7, // at most
};

// Of the only conduit. A process with several, or with one that has no watches, asks them at each
// poll: a watch of its own value always calls.
static const aq_watched_t always_calls[AQ_WATCHES] = {{.word = &always_calls->awaited}};
static const aq_watched_t *watches = always_calls;
static bool has_watches; // not always_calls
// With one thread the watches show all that there is. If ranks do not share processors either,
// loops need not count: each turn of a count waits for the store of the one before. A thread learns
// that when its first loop lasts, so a second thread is known by then.
enum { ALL_COUNT, KNOWN_RESTS, ALL_REST };
static _Atomic unsigned loops;
// This thread is one of those that are counted (aq_thread_live), and has a processor.
static _Thread_local bool is_known __attribute__((tls_model("initial-exec")));
static const _Atomic int32_t *exit_word; // of the job

static unsigned loops_at_start(void)
{
    if (!has_watches)
        return ALL_COUNT;
    if (aq_threads)
        return KNOWN_RESTS;
    return aq_progress_is_crowded() ? ALL_COUNT : ALL_REST;
}

void aq_poll_loop_start(void)
{
    const aq_watched_t *watch = aq_job.conduits[0]->watch;
    has_watches = aq_job.conduit_count == 1 && watch;
    watches = has_watches ? watch : always_calls;
    aq_thread_on_second(aq_poll_loop_count);
    atomic_init(&loops, loops_at_start());
    exit_word = aq_job.boot->exit_word;
}

void aq_poll_loop_count(void)
{
    if (atomic_load_explicit(&loops, memory_order_relaxed) != ALL_COUNT)
        atomic_store_explicit(&loops, ALL_COUNT, memory_order_relaxed);
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
    return atomic_load_explicit(word, memory_order_relaxed) ==
           atomic_load_explicit(&watch->awaited, memory_order_relaxed);
}

// Whether a poll would find nothing to do, as far as the watches show.
static inline bool all_rest(void)
{
    const aq_watched_t *watch = watches;
    _Static_assert(AQ_WATCHES == 4, "all watches are looked at");
    return !atomic_load_explicit(&aq_progress_busy_tasks, memory_order_relaxed) &&
           !watch_calls(watch) && !watch_calls(watch + 1) && !watch_calls(watch + 2) &&
           !watch_calls(watch + 3) &&
           atomic_load_explicit(exit_word, memory_order_relaxed) == AQ_BOOT_RUNNING;
}

// ---- after a send ----

void aq_poll_sending(void)
{
    static _Thread_local unsigned sends __attribute__((tls_model("initial-exec")));
    if (!has_watches || ++sends % SEND_TURNS == 0 || !all_rest())
        aq_progress_poll_sending();
}

// ---- in a loop ----

static _Thread_local unsigned turns __attribute__((tls_model("initial-exec")));

static void loop_yield_unless_vain(void)
{
    static _Thread_local unsigned char vain, omit __attribute__((tls_model("initial-exec")));
    if (omit) {
        omit--;
        return;
    }
    const uint64_t begun = aq_clock_ns();
    sched_yield();
    if (aq_clock_ns() - begun >= VAIN_YIELD_NS)
        vain = 0;
    else if (vain < OMITTED_YIELDS)
        vain++;
    omit = vain;
}

// A process that shares its processor with others that sleep does not ask for them each time: after
// n vain yields it omits n. A thread beside others of its process always yields, because what it
// polls for may be theirs to do.
static void loop_yield(void)
{
    if (aq_thread_live() > 1)
        sched_yield();
    else
        loop_yield_unless_vain();
}

static void loop_lasts(void)
{
    aq_report_loops();
    aq_count_own_add(AQ_OWN_POLLS_EMPTY, LOOP_TURNS);
    is_known = !aq_progress_is_crowded();
    if (!is_known)
        loop_yield();
}

// Returns GASNET_OK, as the call that ends with it.
static __attribute__((noinline)) int poll_in_turn(void)
{
    const unsigned all = turns + ASKING_TURNS - 1;
    const bool found = aq_progress_poll();
    turns = found || all >= LOOP_TURNS ? 0 : all;
    if (!found && all >= LOOP_TURNS)
        loop_lasts();
    return GASNET_OK;
}

static inline bool loop_counts(void)
{
    const unsigned mode = atomic_load_explicit(&loops, memory_order_relaxed);
    return __builtin_expect(mode != ALL_REST, 0) && !(mode == KNOWN_RESTS && is_known);
}

static inline int poll_in_loop(void)
{
    const bool full = loop_counts() && ++turns >= LOOP_TURNS;
    return !full && all_rest() ? GASNET_OK : poll_in_turn();
}

void aq_poll_in_loop(void)
{
    (void)poll_in_loop();
}

int gasnet_AMPoll(void)
{
    if (AQ_CHECKS)
        aq_thread_check_context("gasnet_AMPoll", "");
    return poll_in_loop();
}
