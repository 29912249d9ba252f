// SPDX-License-Identifier: BSD-3-Clause
// The progress threads: their start, their service and their sleeps for the client. client.c starts
// them for GASNET_RCV_THREAD, progress_thread_api.c for calls of the client, or the client itself
// runs them; exit.c ends them.
#include "progress_thread.h"
#include "idle.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/log/log.h"
#include "../../other/base/minmax.h"
#include "../../other/base/system/quiet_thread.h"
#include "../../other/base/settings/settings.h"
#include "../state/job.h"
#include "../ground/fatal.h"
#include "../ground/lock.h"
#include "progress.h"
#include "wake_fd.h"
#include "../endpoint/window.h"

enum {
    // The sleep has a limit because a polling thread of the client may stop before it has handled
    // all messages, without waking a thread that serves.
    SERVE_NS = 10000000,
    // A sleep that arrivals may not end is so many times shorter, and at most so long.
    NAPS = 20,
    NAP_NS = 2500000,
    DEVICES_BYTES = 512, // of the names of a conduit's devices
};

typedef struct progress_thread {
    unsigned index; // of its conduit
    unsigned roles; // GEX_THREAD_ROLE_... of a thread that the client runs; else 0
    bool begun;
    uint32_t armed; // what the conduit's arm has returned for the client
    unsigned order; // number of the last order that it has followed
    bool asleep;    // for an order of the client
    bool retired;
} progress_thread_t;

// Under the lock, but for the flags that progress threads read while they serve.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    progress_thread_t all[AQ_MAX_CONDUITS];
    unsigned count;   // of progress threads, begun or not
    unsigned running; // of these: begun and not retired
    unsigned active;  // of these: may run a handler
    unsigned armed;   // threads of the client
    unsigned orders;  // grows when the progress threads are to sleep in their conduits once
    uint64_t limit_ns;
    pid_t owner;
    atomic_bool serving, ending;
} crew = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local progress_thread_t *self;

static aq_conduit_t *conduit_of(const progress_thread_t *progress_thread)
{
    return aq_job.conduits[progress_thread->index];
}

static uint32_t conduit_arm(aq_conduit_t *conduit)
{
    return conduit->ops->wait.arm ? conduit->ops->wait.arm(conduit) : 0;
}

static void conduit_disarm(aq_conduit_t *conduit)
{
    if (conduit->ops->wait.disarm)
        conduit->ops->wait.disarm(conduit);
}

// Conduits that cannot be slept in beside the client, or end no sleep, are polled at intervals; so
// are windows, whose arrivals end no sleep.
static void conduit_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns)
{
    const aq_conduit_wait_ops_t *ops = &conduit->ops->wait;
    const uint64_t nap_ns = aq_min(limit_ns / NAPS, NAP_NS);
    if (!ops->sleep || !(aq_threads || aq_conduit_can(conduit, AQ_CAN_SLEEP_BESIDE)))
        aq_clock_sleep_ns(nap_ns);
    else
        ops->sleep(conduit, armed, aq_window_any() ? nap_ns : limit_ns);
}

// Ends the sleeps in a conduit. Announces a sleep first (arm), since wake may do nothing without
// one.
static void conduit_wake(aq_conduit_t *conduit)
{
    if (!conduit->ops->wait.wake)
        return;
    conduit_arm(conduit);
    conduit->ops->wait.wake(conduit, false);
    conduit_disarm(conduit);
}

// ---- a thread ----

// Whether the thread runs no handlers.
static bool progress_thread_completes(const progress_thread_t *progress_thread)
{
    return progress_thread->roles == GEX_THREAD_ROLE_SND;
}

static bool progress_thread_serves(const progress_thread_t *progress_thread)
{
    return (atomic_load(&crew.serving) || progress_thread_completes(progress_thread)) &&
           !atomic_load(&crew.ending) &&
           !aq_conduit_can(conduit_of(progress_thread), AQ_CAN_DELIVER);
}

static bool progress_thread_polls(const progress_thread_t *progress_thread)
{
    const unsigned what = progress_thread_completes(progress_thread)
                              ? AQ_POLL_COMPLETIONS
                              : AQ_POLL_REPLIES | AQ_POLL_REQUESTS;
    return progress_thread_serves(progress_thread) &&
           aq_progress_serve(progress_thread->index, what);
}

static void progress_thread_sleep(const progress_thread_t *progress_thread)
{
    aq_conduit_t *conduit = conduit_of(progress_thread);
    const uint32_t armed = conduit_arm(conduit);
    if (!progress_thread_polls(progress_thread) && progress_thread_serves(progress_thread))
        conduit_sleep(conduit, armed, SERVE_NS);
    conduit_disarm(conduit);
}

// A thread that runs no handlers does not sleep in the conduit, since it would take the events of
// arrivals from threads of the client.
static void progress_thread_serve(const progress_thread_t *progress_thread)
{
    if (progress_thread_polls(progress_thread))
        return;
    if (progress_thread_completes(progress_thread))
        aq_clock_sleep_ns(SERVE_NS / NAPS);
    else
        progress_thread_sleep(progress_thread);
    aq_wake_fd_ring();
}

// Called with the lock held; releases the lock while the thread serves.
static void progress_thread_serve_until_told(const progress_thread_t *progress_thread)
{
    const unsigned active = !progress_thread_completes(progress_thread);
    crew.active += active;
    pthread_mutex_unlock(&crew.lock);
    while (progress_thread_serves(progress_thread))
        progress_thread_serve(progress_thread);
    pthread_mutex_lock(&crew.lock);
    crew.active -= active;
    pthread_cond_broadcast(&crew.changed);
}

// Sleeps once in the conduit. Called with the lock held; releases the lock during the sleep.
static void progress_thread_follow_order(progress_thread_t *progress_thread)
{
    const uint32_t armed = progress_thread->armed;
    const uint64_t limit_ns = crew.limit_ns;
    progress_thread->order = crew.orders;
    progress_thread->asleep = true;
    pthread_mutex_unlock(&crew.lock);
    conduit_sleep(conduit_of(progress_thread), armed, limit_ns);
    pthread_mutex_lock(&crew.lock);
    progress_thread->asleep = false;
    pthread_cond_broadcast(&crew.changed);
    aq_wake_fd_ring();
}

static void *progress_thread_run(void *arg)
{
    progress_thread_t *progress_thread = self = arg;
    aq_idle_exclude_thread();
    pthread_mutex_lock(&crew.lock);
    while (!atomic_load(&crew.ending))
        if (progress_thread_serves(progress_thread))
            progress_thread_serve_until_told(progress_thread);
        else if (progress_thread->order != crew.orders)
            progress_thread_follow_order(progress_thread);
        else
            pthread_cond_wait(&crew.changed, &crew.lock);
    pthread_mutex_unlock(&crew.lock);
    aq_progress_thread_retire();
    return NULL;
}

void aq_progress_thread_retire(void)
{
    if (!self)
        return;
    pthread_mutex_lock(&crew.lock);
    crew.running -= !self->retired;
    self->retired = true;
    pthread_cond_broadcast(&crew.changed);
    pthread_mutex_unlock(&crew.lock);
}

static void progress_thread_begin(progress_thread_t *progress_thread)
{
    progress_thread->begun = true;
    progress_thread->order = crew.orders;
    crew.running++;
}

// The function of a thread of the client, which never returns and detaches its thread. As in the
// other threads of the library, signals go to the client's threads.
static void *progress_thread_run_lent(void *arg)
{
    progress_thread_t *progress_thread = arg;
    sigset_t all;
    pthread_mutex_lock(&crew.lock);
    const bool again = progress_thread->begun;
    if (!again)
        progress_thread_begin(progress_thread);
    pthread_mutex_unlock(&crew.lock);
    if (again)
        aq_fatal("a second thread runs a function of gex_System_QueryProgressThreads with the same "
                 "argument: start one thread for each of the entries");
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, NULL);
    progress_thread_run(progress_thread);
    pthread_detach(pthread_self());
    pthread_exit(NULL);
}

// ---- all of them; with the lock ----

static aq_status_t progress_thread_start(progress_thread_t *progress_thread)
{
    pthread_t thread;
    const int error = aq_quiet_thread_create(&thread, progress_thread_run, progress_thread);
    if (error) {
        aq_log_error("a thread of the library cannot be started (%s); raise the limit on processes "
                     "(ulimit -u)",
                     strerror(error));
        return AQ_ERR_RESOURCE;
    }
    pthread_detach(thread);
    progress_thread_begin(progress_thread);
    return AQ_OK;
}

// One thread for each conduit. A process that shares memory with no other has no use for the
// conduit of its host.
static void crew_lay_out(void)
{
    const unsigned first = aq_job.conduit_count > 1 && aq_job.nbrhd.size == 1;
    crew.owner = getpid();
    for (; first + crew.count < aq_job.conduit_count; crew.count++)
        crew.all[crew.count] = (progress_thread_t){.index = first + crew.count};
}

// Starts the threads that are missing, except those that the client runs.
static aq_status_t crew_start(void)
{
    aq_status_t status = AQ_OK;
    crew_lay_out();
    for (unsigned i = 0; status == AQ_OK && i < crew.count; i++)
        if (!crew.all[i].begun && !crew.all[i].roles)
            status = progress_thread_start(&crew.all[i]);
    return status;
}

static bool crew_is_complete(void)
{
    unsigned begun = 0;
    for (unsigned i = 0; i < crew.count; i++)
        begun += crew.all[i].begun;
    return begun == crew.count;
}

static void crew_wake(void)
{
    pthread_cond_broadcast(&crew.changed);
    for (unsigned i = 0; i < crew.count; i++)
        conduit_wake(conduit_of(&crew.all[i]));
}

// ---- the calls ----

aq_status_t aq_progress_threads_serve(bool serve)
{
    pthread_mutex_lock(&crew.lock);
    const aq_status_t status = serve ? crew_start() : AQ_OK;
    if (status == AQ_OK && atomic_exchange(&crew.serving, serve) != serve)
        crew_wake();
    while (!serve && crew.active)
        pthread_cond_wait(&crew.changed, &crew.lock);
    pthread_mutex_unlock(&crew.lock);
    return status;
}

static void crew_defer(bool receives, bool sends)
{
    pthread_mutex_lock(&crew.lock);
    crew_lay_out();
    for (unsigned i = 0; i < crew.count; i++) {
        const bool completes = sends && aq_conduit_can(conduit_of(&crew.all[i]), AQ_CAN_COMPLETE);
        crew.all[i].roles =
            (receives ? GEX_THREAD_ROLE_RCV : 0) | (completes ? GEX_THREAD_ROLE_SND : 0);
    }
    pthread_mutex_unlock(&crew.lock);
}

aq_status_t aq_progress_threads_start(bool deferred)
{
    const bool receives = aq_threads && aq_settings_bool(AQ_SET_RCV_THREAD);
    if (deferred)
        crew_defer(receives, aq_threads && aq_settings_bool(AQ_SET_SND_THREAD));
    return receives ? aq_progress_threads_serve(true) : AQ_OK;
}

static const char *devices_of(aq_conduit_t *conduit, char text[DEVICES_BYTES])
{
    if (!conduit->ops->report.devices)
        return conduit->ops->name;
    conduit->ops->report.devices(conduit, text, DEVICES_BYTES);
    return text;
}

unsigned aq_progress_threads_lend(const gex_ProgressThreadInfo_t **info)
{
    static gex_ProgressThreadInfo_t lent[AQ_MAX_CONDUITS];
    static char devices[AQ_MAX_CONDUITS][DEVICES_BYTES];
    unsigned count = 0;
    pthread_mutex_lock(&crew.lock);
    for (unsigned i = 0; i < crew.count; i++)
        if (crew.all[i].roles) {
            lent[count] = (gex_ProgressThreadInfo_t){
                devices_of(conduit_of(&crew.all[i]), devices[count]), crew.all[i].roles,
                progress_thread_run_lent, &crew.all[i]};
            count++;
        }
    pthread_mutex_unlock(&crew.lock);
    *info = lent;
    return count;
}

// Waits for the threads that still sleep for an earlier order, which began with earlier timers of
// their conduits.
static void crew_await_awake(void)
{
    for (unsigned i = 0; i < crew.count; i++)
        while (crew.armed == 0 && crew.all[i].asleep) // not for another thread meanwhile
            pthread_cond_wait(&crew.changed, &crew.lock);
}

// The conduits are armed once for all threads of the client: each arrival then wakes a progress
// thread, whose ring wakes all these threads.
aq_status_t aq_progress_threads_arm(void)
{
    pthread_mutex_lock(&crew.lock);
    aq_status_t status = crew_start();
    if (status == AQ_OK && !crew_is_complete())
        status = AQ_AGAIN;
    if (status == AQ_OK)
        crew_await_awake();
    if (status == AQ_OK && crew.armed++ == 0)
        for (unsigned i = 0; i < crew.count; i++)
            crew.all[i].armed = conduit_arm(conduit_of(&crew.all[i]));
    pthread_mutex_unlock(&crew.lock);
    return status;
}

void aq_progress_threads_watch(uint64_t limit_ns)
{
    pthread_mutex_lock(&crew.lock);
    crew.orders++;
    crew.limit_ns = limit_ns;
    pthread_cond_broadcast(&crew.changed);
    pthread_mutex_unlock(&crew.lock);
}

// Ends the order of a progress thread: wakes it if it sleeps, and disarms its conduit.
static void progress_thread_disarm(progress_thread_t *progress_thread)
{
    aq_conduit_t *conduit = conduit_of(progress_thread);
    progress_thread->order = crew.orders;
    if (progress_thread->asleep)
        aq_conduit_wake(conduit, false);
    conduit_disarm(conduit);
}

void aq_progress_threads_disarm(void)
{
    pthread_mutex_lock(&crew.lock);
    if (--crew.armed == 0)
        for (unsigned i = 0; i < crew.count; i++)
            progress_thread_disarm(&crew.all[i]);
    pthread_mutex_unlock(&crew.lock);
}

void aq_progress_threads_stop(void)
{
    if (crew.owner != getpid())
        return;
    aq_progress_thread_retire();
    pthread_mutex_lock(&crew.lock);
    atomic_store(&crew.ending, true);
    crew_wake();
    while (crew.running)
        pthread_cond_wait(&crew.changed, &crew.lock);
    pthread_mutex_unlock(&crew.lock);
}
