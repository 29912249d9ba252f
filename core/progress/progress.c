// SPDX-License-Identifier: BSD-3-Clause
// Polls conduits and windows, gives tasks their turns, and decides when a wait spins, yields or
// sleeps. event_wait.c and retry.c wait by turns of aq_api_wait_turn, the rest of the library by
// aq_progress_wait_until.
#include "progress.h"

#include <sched.h>
#include <string.h>

#include "../../other/base/clock.h"
#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "../record/counters.h"
#include "../ground/fatal.h"
#include "../state/job.h"
#include "../record/wait_mark.h"
#include "idle.h"
#include "sleepers.h"
#include "unbind.h"
#include "wake_fd.h"
#include "../endpoint/window.h"

enum {
    // Fruitless polls before a wait checks whether another rank is on this processor, before it
    // reads the clock.
    SHARE_TURNS = 16,
    // Yields to a rank on this processor before this thread goes to another processor.
    SHARE_YIELDS = 64,
    SPIN_TURNS = 64,
    // If the threads of a rank outnumber its processors, a wait polls this many times (two or three
    // round trips) before it yields: the awaited thread may be running, and a message takes less
    // time than a yield. After each vain attempt more of the thread's next waits yield at once, and
    // after each one that succeeds fewer.
    BRIEF_TURNS = 96,
    BRIEF_PAUSE_MAX = 31, // waits
    // One of this many fruitless polls in a row is as thorough as the first.
    AGAIN_TURNS = 8,
    // One of this many polls of a thread with a window serves endpoint 0 too, and one of this many
    // another window. A poll of a window that its bound thread polls, too, costs both threads a
    // cache miss.
    ENDPOINT0_TURNS = 16,
    OTHERS_TURNS = 64,
    // A wait yields at least this often and for this time before it sleeps, and longer for each
    // rank that shares the processor: waking from a sleep costs far more than a yield.
    YIELD_TURNS = 8,
    YIELD_NS = 500000,
    YIELD_NS_A_RANK = 20000,
    // Time for which one of several threads of a rank yields: while another thread works, each
    // message would wake a sleeping one.
    YIELD_NS_BESIDE = 50000000,
    // Sleeps have limits because remote puts do not wake this process: the first limit doubles up
    // to SLEEP_NS_MAX. Later the limit is 1 / SLEEP_PART of the time waited so far, which bounds
    // the added latency, up to SLEEP_NS_LONGEST, so that a long wait leaves the processor to
    // working processes.
    SLEEP_NS_FIRST = 1000000,
    SLEEP_NS_MAX = 4000000,
    SLEEP_PART = 8,
    SLEEP_NS_LONGEST = 50000000,
};

_Static_assert(SHARE_TURNS % AGAIN_TURNS == 0,
               "a thorough poll follows each yield of a spinning wait");

static uint64_t spin_ns, yield_ns;
static int wait_mode = GASNET_WAIT_SPINBLOCK;
static unsigned crowding = 1;       // ranks for each processor
static unsigned own_processors = 1; // processors for each rank
static bool adapt;                  // spins only while each thread has a processor

static _Atomic(aq_task_t *) tasks;
atomic_uint aq_progress_busy_tasks;
#define WINDOWS_OPEN (1u << 31)
static atomic_bool idle_called; // counts as a busy task
static aq_lock_t task_lock;

unsigned aq_progress_processors(void)
{
    return own_processors;
}

static void set_spin(bool spin)
{
    spin_ns = spin ? 1000 * (uint64_t)aq_settings_int(AQ_SET_SPIN_US) : 0;
}

void aq_progress_start(uint32_t ranks_here)
{
    const unsigned bound_to = aq_size_processors();
    const unsigned processors = aq_job.boot->processors ? aq_job.boot->processors : bound_to;
    crowding = (ranks_here + processors - 1) / processors;
    own_processors = processors > ranks_here ? processors / ranks_here : 1;
    own_processors = aq_min(own_processors, bound_to);
    yield_ns = YIELD_NS + (uint64_t)YIELD_NS_A_RANK * crowding;
    if (aq_threads)
        aq_sleepers_start();
    aq_unbind_start();
    const char *mode = aq_settings_text(AQ_SET_WAITMODE);
    if (strcmp(mode, "spin") == 0)
        gasnet_set_waitmode(GASNET_WAIT_SPIN);
    else if (strcmp(mode, "block") == 0)
        gasnet_set_waitmode(GASNET_WAIT_BLOCK);
    else
        gasnet_set_waitmode(GASNET_WAIT_SPINBLOCK);
    if (strcmp(mode, "spinblock") == 0) { // the user wants to spin, whatever the processors
        adapt = false;
        set_spin(true);
    }
}

int gasnet_set_waitmode(int mode)
{
    AQ_CHECK(mode >= GASNET_WAIT_SPIN && mode <= GASNET_WAIT_SPINBLOCK,
             "gasnet_set_waitmode: mode %d is not GASNET_WAIT_SPIN, _BLOCK or _SPINBLOCK", mode);
    if (mode < GASNET_WAIT_SPIN || mode > GASNET_WAIT_SPINBLOCK)
        return GASNET_ERR_BAD_ARG;
    // A client that asks for SPINBLOCK leaves the time to the library: with more ranks than
    // processors, the awaited rank may need this one.
    wait_mode = mode;
    adapt = mode == GASNET_WAIT_SPINBLOCK;
    set_spin(mode == GASNET_WAIT_SPIN || (adapt && crowding == 1));
    return GASNET_OK;
}

void aq_progress_add(aq_task_t *task)
{
    aq_lock_take(&task_lock);
    task->next = atomic_load_explicit(&tasks, memory_order_relaxed);
    atomic_store_explicit(&tasks, task, memory_order_release);
    aq_lock_drop(&task_lock);
}

void aq_progress_busy(aq_task_t *task, int change)
{
    aq_counter_add(&task->busy, (unsigned)change);
    aq_counter_add(&aq_progress_busy_tasks, (unsigned)change);
}

static unsigned turn_tasks(void)
{
    unsigned done = 0;
    for (aq_task_t *task = atomic_load_explicit(&tasks, memory_order_acquire); task;
         task = task->next)
        if (atomic_load_explicit(&task->busy, memory_order_relaxed))
            done += task->turn(task);
    return done;
}

static unsigned poll_conduits(unsigned what)
{
    unsigned done = 0;
    unsigned i = atomic_load_explicit(&aq_job.unused_conduits, memory_order_relaxed);
    for (; i < aq_job.conduit_count; i++) {
        aq_conduit_t *conduit = aq_job.conduits[i];
        done += conduit->ops->am.poll(conduit, what);
    }
    return done;
}

void aq_progress_call_idle(bool on)
{
    if (atomic_exchange(&idle_called, on) != on)
        aq_counter_add(&aq_progress_busy_tasks, on ? 1u : -1u);
}

void aq_progress_wake_sleepers(void)
{
    for (unsigned i = 0; i < aq_job.conduit_count; i++)
        aq_conduit_wake(aq_job.conduits[i], false);
    aq_wake_fd_ring();
}

void aq_progress_serve_windows(void)
{
    if (!(atomic_load_explicit(&aq_progress_busy_tasks, memory_order_relaxed) & WINDOWS_OPEN))
        atomic_fetch_or_explicit(&aq_progress_busy_tasks, WINDOWS_OPEN, memory_order_relaxed);
}

static unsigned poll_everything(unsigned what)
{
    return poll_conduits(what) + aq_window_poll_others(what);
}

static unsigned poll_own_window(aq_window_t *own, unsigned what)
{
    static _Thread_local unsigned turns __attribute__((tls_model("initial-exec")));
    const unsigned done = aq_window_poll(own, what);
    if (++turns % ENDPOINT0_TURNS)
        return done;
    if (turns % OTHERS_TURNS)
        return done + poll_conduits(what);
    aq_window_attend(own);
    return done + poll_everything(what);
}

static __attribute__((noinline)) unsigned poll_with_windows(unsigned what)
{
    aq_window_t *own = aq_window_own;
    return own ? poll_own_window(own, what) : poll_everything(what);
}

// Counts a poll that found something, and wakes threads that may wait for what its handlers did.
// Returns done.
static inline unsigned poll_ends(unsigned done)
{
    if (!done)
        return 0;
    aq_count_own(AQ_OWN_POLLS_FOUND);
    if (aq_threads)
        aq_progress_wake();
    return done;
}

// A poll that has more to do than to ask the conduits. busy: of aq_progress_busy_tasks, not 0.
static __attribute__((noinline)) unsigned poll_busy(unsigned what, unsigned busy)
{
    // Tasks first: this poll sends their messages. The next poll may come much later.
    unsigned done = busy & ~WINDOWS_OPEN ? turn_tasks() : 0;
    done += busy & WINDOWS_OPEN ? poll_with_windows(what) : poll_conduits(what);
    if (!done && !(what & AQ_POLL_SENDING) &&
        atomic_load_explicit(&idle_called, memory_order_relaxed))
        done = aq_idle_turn();
    return poll_ends(done);
}

static inline unsigned poll_all(unsigned what)
{
    if (__builtin_expect(aq_boot_ended(aq_job.boot), 0))
        aq_job_exit_requested();
    const unsigned busy = atomic_load_explicit(&aq_progress_busy_tasks, memory_order_relaxed);
    return busy ? poll_busy(what, busy) : poll_ends(poll_conduits(what));
}

unsigned aq_progress_poll(void)
{
    return poll_all(AQ_POLL_REPLIES | AQ_POLL_REQUESTS);
}

void aq_progress_poll_sending(void)
{
    poll_all(AQ_POLL_REPLIES | AQ_POLL_REQUESTS | AQ_POLL_SENDING);
}

void aq_progress_poll_replies(void)
{
    if (__builtin_expect(aq_boot_ended(aq_job.boot), 0))
        aq_job_exit_requested();
    (void)poll_ends(poll_everything(AQ_POLL_REPLIES));
}

unsigned aq_progress_poll_endpoint(const aq_window_t *window)
{
    const unsigned what = AQ_POLL_REPLIES | AQ_POLL_REQUESTS;
    if (__builtin_expect(aq_boot_ended(aq_job.boot), 0))
        aq_job_exit_requested();
    return poll_ends(window ? aq_window_poll(window, what) : poll_conduits(what));
}

static unsigned turn_busy_tasks(void)
{
    return atomic_load_explicit(&aq_progress_busy_tasks, memory_order_relaxed) & ~WINDOWS_OPEN
               ? turn_tasks()
               : 0;
}

void aq_progress_go_on(void)
{
    (void)turn_busy_tasks();
}

unsigned aq_progress_serve(unsigned index, unsigned what)
{
    aq_conduit_t *conduit = aq_job.conduits[index];
    unsigned done = what & AQ_POLL_REQUESTS ? turn_busy_tasks() : 0;
    done += conduit->ops->am.poll(conduit, what) + aq_window_poll_conduit(index, what);
    return poll_ends(done);
}

void aq_progress_wait_replies(unsigned turns)
{
    aq_progress_poll_replies();
    if (turns >= YIELD_TURNS)
        sched_yield();
}

// The number of threads of this rank that use the library. Counts this thread, which may do nothing
// there but poll or wait.
static unsigned long threads_here(void)
{
    if (!aq_threads)
        return 1;
    aq_thread_self();
    return aq_thread_live();
}

// Whether ranks, or the threads of this rank, outnumber the processors. Then a thread that polls
// continuously keeps the threads that it waits for from working.
bool aq_progress_is_crowded(void)
{
    return crowding > 1 || threads_here() > own_processors;
}

// The conduit that waits of this thread block in, of its window if it has one: the first one that
// can wake it, or the last one, the network, in a process that shares memory with no other. Waits
// poll the other conduits after each bounded sleep.
static aq_conduit_t *wakeup_conduit(void)
{
    aq_conduit_t *const *conduits = aq_window_own ? aq_window_own->conduits : aq_job.conduits;
    aq_conduit_t *found = NULL;
    for (unsigned i = 0; i < aq_job.conduit_count; i++)
        if (conduits[i]->ops->wait.arm && (!found || aq_job.nbrhd.size == 1))
            found = conduits[i];
    return found;
}

// Whether messages may come by another conduit than the one that a wait blocks in. A process that
// shares memory with no other receives only by the last conduit, the network, which may not be able
// to wake it.
static bool others_may_call(const aq_conduit_t *sleeping)
{
    return aq_window_any() ||
           (aq_job.conduit_count > 1 &&
            (aq_job.nbrhd.size > 1 || sleeping != aq_job.conduits[aq_job.conduit_count - 1]));
}

// Publishes the processor that this process waits on, 0 for none (waiting_cpus in aq_boot_t).
static void publish_waiting_cpu(uint16_t cpu)
{
    _Atomic uint16_t *waiting_cpus = aq_job.boot->waiting_cpus;
    if (waiting_cpus &&
        atomic_load_explicit(&waiting_cpus[aq_job.rank], memory_order_relaxed) != cpu)
        atomic_store_explicit(&waiting_cpus[aq_job.rank], cpu, memory_order_relaxed);
}

// Whether the kernel has put another rank onto this processor, as it may for a while even if there
// are enough processors. Then the awaited rank may need this processor, and spinning delays it.
// Other processes do not count: yielding to them would cost a whole time slice.
static bool processor_is_shared(void)
{
    const int processor = sched_getcpu();
    if (!aq_job.boot->waiting_cpus || processor < 0 || processor >= UINT16_MAX)
        return false;
    const uint16_t cpu = (uint16_t)(processor + 1);
    unsigned here = 0;
    publish_waiting_cpu(cpu);
    for (uint32_t i = 0; i < aq_job.host.size; i++)
        here += atomic_load_explicit(&aq_job.boot->waiting_cpus[aq_job.host.members[i].gex_jobrank],
                                     memory_order_relaxed) == cpu;
    return here > 1;
}

// Moves this thread to a processor on which no rank of this host waits, if it may use one. The
// kernel leaves two ranks that yield to each other where they are, also beside an idle processor.
// Restores the affinity, so the kernel may move the thread again.
static void processor_leave(void)
{
    cpu_set_t all, others;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    others = all;
    for (uint32_t i = 0; i < aq_job.host.size; i++) {
        const uint16_t cpu = atomic_load_explicit(
            &aq_job.boot->waiting_cpus[aq_job.host.members[i].gex_jobrank], memory_order_relaxed);
        if (cpu && cpu <= CPU_SETSIZE)
            CPU_CLR(cpu - 1u, &others);
    }
    if (CPU_COUNT(&others) && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof all, &all);
}

// Lets another rank on this processor run. If that goes on, moves to another processor: a wait
// spins where there are enough processors for all ranks.
static void share_processor(void)
{
    static _Thread_local unsigned yields __attribute__((tls_model("initial-exec")));
    if (!processor_is_shared()) {
        yields = 0;
        return;
    }
    if (++yields % SHARE_YIELDS == 0)
        processor_leave();
    else
        sched_yield();
}

// Whether the network needs polls of a process that waits.
static bool is_polled(void)
{
    return aq_conduit_can(aq_job.conduits[aq_job.conduit_count - 1], AQ_NEEDS_POLLS);
}

// Sleeps for at most `limit`. If one of several threads wakes earlier, a message has woken it,
// which may have been for another thread. More messages may follow, and waking for each would cost
// far more than a yield, so the thread yields again first.
static void sleep_up_to(aq_conduit_t *conduit, aq_api_wait_t *wait, uint64_t limit)
{
    const uint64_t begun = aq_clock_ns();
    conduit->ops->wait.sleep(conduit, wait->armed, limit);
    const uint64_t slept = aq_clock_ns() - begun;
    aq_count_own_add(AQ_OWN_SLEEPS, 1);
    aq_count_own_add(AQ_OWN_SLEEP_NS, slept);
    if (threads_here() > 1 && slept < limit)
        wait->turns = wait->since = 0;
}

// Not inline, so that a turn saves no registers for it.
static __attribute__((noinline)) void wait_disarm(aq_api_wait_t *wait)
{
    if (wait->armed) {
        aq_conduit_t *conduit = wakeup_conduit();
        conduit->ops->wait.disarm(conduit);
        if (aq_threads)
            aq_sleepers_leave();
        wait->armed = 0;
    }
}

// The last steps of a wait. The first call announces the sleep; the caller then checks its
// condition and polls once more. If that finds nothing, the next call sleeps.
static void block_in_conduit(aq_api_wait_t *wait, uint64_t waited)
{
    aq_conduit_t *conduit = wakeup_conduit();
    if (is_polled()) {
        sched_yield();
        return;
    }
    if (!conduit) {
        aq_clock_sleep_ns(SLEEP_NS_FIRST / 20);
        return;
    }
    if (!wait->armed) {
        if (aq_threads)
            aq_sleepers_enter();
        wait->armed = conduit->ops->wait.arm(conduit) | 1;
        return;
    }
    uint64_t limit = wait->naps > 1 ? SLEEP_NS_MAX : (uint64_t)SLEEP_NS_FIRST << wait->naps;
    wait->naps++;
    const bool others = others_may_call(conduit); // arrivals there do not wake this process
    const bool grows = limit == SLEEP_NS_MAX && (!others || aq_progress_is_crowded());
    if (others)
        limit /= 20;
    if (grows)
        limit = aq_min(aq_max(limit, waited / SLEEP_PART), SLEEP_NS_LONGEST);
    publish_waiting_cpu(0);
    sleep_up_to(conduit, wait, limit);
    wait_disarm(wait);
}

void aq_api_wait_end(aq_api_wait_t *wait)
{
    aq_wait_end_unmarked();
    wait_disarm(wait);
}

// The time to yield in nanoseconds before a sleep.
static uint64_t yield_time(void)
{
    return threads_here() > 1 ? YIELD_NS_BESIDE : yield_ns;
}

// The time to spin in nanoseconds. It is 0 if this rank has more threads in the library than
// processors, because a spinning thread would keep another one from working.
static uint64_t spin_time(void)
{
    return adapt && aq_threads && spin_ns && aq_progress_is_crowded() ? 0 : spin_ns;
}

// The attempts of a thread to wait without a yield.
typedef struct brief {
    unsigned pause; // waits that yielded at once after the last vain attempt
    unsigned left;  // of these, still to come
    bool trying;
} brief_t;

static void brief_begin(brief_t *brief)
{
    if (brief->trying) // no failure since, so the last attempt has succeeded
        brief->pause /= 2;
    brief->trying = !brief->left;
    brief->left -= !brief->trying;
}

static void brief_fail(brief_t *brief)
{
    brief->trying = false;
    brief->pause = aq_min(2 * brief->pause + 1, BRIEF_PAUSE_MAX);
    brief->left = brief->pause;
}

// Whether a wait that does not spin polls again before it yields. Never if ranks outnumber
// processors: yielding at once lets the awaited rank run.
static bool wait_is_brief(const aq_api_wait_t *wait)
{
    static _Thread_local brief_t brief __attribute__((tls_model("initial-exec")));
    if (crowding > 1 || wait_mode == GASNET_WAIT_BLOCK || wait->armed)
        return false;
    if (wait->turns == 1)
        brief_begin(&brief);
    if (brief.trying && wait->turns == BRIEF_TURNS)
        brief_fail(&brief);
    return brief.trying;
}

// Most polls of a spinning wait are light, because the previous poll was a moment ago. A yield
// precedes each thorough poll.
static unsigned wait_poll(const aq_api_wait_t *wait)
{
    const bool again = spin_ns && !wait->since && wait->turns % AGAIN_TURNS;
    return poll_all(AQ_POLL_REPLIES | AQ_POLL_REQUESTS | (again ? AQ_POLL_AGAIN : 0));
}

void aq_api_wait_turn(aq_api_wait_t *wait)
{
    aq_thread_check_call("GASNET_BLOCKUNTIL");
    if (wait_poll(wait)) {
        wait->turns = 0;
        wait->since = 0;
        wait->naps = 0;
        if (wait->armed)
            wait_disarm(wait);
        return;
    }
    wait->turns++;
    uint64_t spin = spin_time();
    if (spin) {
        if (wait->turns % SHARE_TURNS == 0) {
            aq_unbind_check();
            share_processor();
        }
        if (wait->turns % SPIN_TURNS && !wait->armed)
            return;
        if (wait_mode == GASNET_WAIT_SPIN && !aq_progress_is_crowded())
            return;
    }
    if (!spin && wait_is_brief(wait))
        return;
    aq_unbind_check();
    uint64_t now = aq_clock_ns();
    aq_wait_lasts(now);
    aq_count_own_add(AQ_OWN_POLLS_EMPTY, spin && !wait->armed ? SPIN_TURNS : 1);
    if (!wait->since)
        wait->since = now;
    uint64_t waited = now - wait->since;
    if (waited < spin)
        return;
    if (wait_mode == GASNET_WAIT_SPIN || waited < spin + yield_time() || wait->turns < YIELD_TURNS)
        sched_yield();
    else
        block_in_conduit(wait, waited);
}

void aq_progress_wait_until(bool (*done)(void *context), void *context, uint64_t what,
                            gex_Event_t event)
{
    aq_api_wait_t wait = {0};
    aq_wait_begin(what, event);
    while (!done(context))
        aq_api_wait_turn(&wait);
    aq_api_wait_end(&wait);
    aq_wait_end();
}
