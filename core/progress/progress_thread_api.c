// SPDX-License-Identifier: BSD-3-Clause
// The calls of the client on the descriptor that wakes it, on levels of progress, and on the
// progress threads that it runs.
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "../aqueduct.h"
#include "progress_thread.h"
#include "../ground/errors.h"
#include "idle.h"
#include "progress.h"
#include "../thread/thread.h"
#include "wake_fd.h"
#include "../endpoint/endpoint.h"
#include "../endpoint/window.h"

// A sleep has a limit because nothing signals room at a peer, or the end of the job. Unless the
// user sets it, the limit doubles while sleeps find nothing.
enum { FIRST_MS = 1, LONGEST_MS = 50, NS_PER_MS = 1000000 };

static _Thread_local struct {
    bool armed;
    uint64_t limit_ms; // of the last sleep; 0: something was found since
} sleeper;

// ---- the descriptor ----

int gasnetx_Wait_Descriptor(int *fd)
{
    aq_job_admit("gasnetx_Wait_Descriptor");
    *fd = aq_wake_fd_open();
    return *fd >= 0
               ? GASNET_OK
               : aq_refuse(GASNET_ERR_RESOURCE, "gasnetx_Wait_Descriptor: %s", strerror(errno));
}

// A poll leaves out windows that other threads poll, and endpoint 0 if the thread has a window.
static unsigned poll_thoroughly(void)
{
    unsigned done = aq_progress_poll();
    for (unsigned i = 0; !done && aq_window_any() && i < aq_job.conduit_count; i++)
        done = aq_progress_serve(i, AQ_POLL_REPLIES | AQ_POLL_REQUESTS);
    return done;
}

static void sleep_end(void)
{
    sleeper.armed = false;
    aq_progress_threads_disarm();
    if (aq_threads)
        aq_sleepers_leave();
    aq_wake_fd_leave();
}

// Announces a sleep, as in other waits: arrivals, and handlers that other threads run, ring the
// descriptor from now on. The caller then polls for the last time. AQ_AGAIN: the client's own
// progress threads do not run yet, so the client has to poll.
static aq_status_t sleep_begin(void)
{
    const aq_status_t status = aq_progress_threads_arm();
    if (status != AQ_OK)
        return status;
    aq_wake_fd_enter();
    if (aq_threads)
        aq_sleepers_enter();
    sleeper.armed = true;
    return AQ_OK;
}

// Ends an announced sleep because there is work. The descriptor stays readable until all threads
// that it has woken have left it, so lets them run.
static int sleep_refuse(void)
{
    sleeper.limit_ms = 0;
    sleep_end();
    if (aq_wake_fd_has_rung())
        sched_yield();
    return GASNET_ERR_NOT_READY;
}

static uint64_t sleep_limit_ms(void)
{
    const uint64_t wanted = (uint64_t)aq_settings_int(AQ_SET_WAKE_LIMIT);
    sleeper.limit_ms = aq_min(aq_max(2 * sleeper.limit_ms, FIRST_MS), LONGEST_MS);
    return wanted ? wanted : sleeper.limit_ms;
}

int gasnetx_Wait_Arm(void)
{
    static const char call[] = "gasnetx_Wait_Arm";
    aq_job_admit(call);
    if (sleeper.armed)
        return aq_refuse(GASNET_ERR_BAD_ARG,
                         "%s: this thread has called it already; call gasnetx_Wait_Disarm first",
                         call);
    const aq_status_t status = aq_wake_fd_open() < 0 ? AQ_ERR_RESOURCE : sleep_begin();
    if (status == AQ_AGAIN) {
        (void)poll_thoroughly();
        return GASNET_ERR_NOT_READY;
    }
    if (status != AQ_OK)
        return aq_refuse(GASNET_ERR_RESOURCE,
                         "%s: there is no descriptor or thread; raise the limits on open files "
                         "and processes (ulimit -n, -u)",
                         call);
    if (poll_thoroughly() || aq_wake_fd_has_rung())
        return sleep_refuse();
    aq_progress_threads_watch(sleep_limit_ms() * NS_PER_MS);
    return GASNET_OK;
}

int gasnetx_Wait_Disarm(void)
{
    aq_job_admit("gasnetx_Wait_Disarm");
    if (!sleeper.armed)
        return GASNET_OK;
    sleep_end();
    if (poll_thoroughly())
        sleeper.limit_ms = 0;
    return GASNET_OK;
}

// ---- levels of progress ----

// With GASNET_RCV_THREAD the user has asked for the progress threads, so the level stays theirs. A
// client that defers threads gets no others.
int gasnetx_Progress_Level(unsigned wanted, unsigned *granted)
{
    static const char call[] = "gasnetx_Progress_Level";
    aq_job_admit(call);
    if (wanted > GASNETX_PROGRESS_THREAD)
        return aq_refuse(GASNET_ERR_BAD_ARG,
                         "%s: the level is neither GASNETX_PROGRESS_POLLING nor _THREAD", call);
    const bool more = wanted && !(aq_client.flags & GEX_FLAG_DEFER_THREADS);
    const bool serve = aq_threads && (more || aq_settings_bool(AQ_SET_RCV_THREAD));
    if (aq_progress_threads_serve(serve) != AQ_OK)
        return aq_refuse(GASNET_ERR_RESOURCE, "%s: there is no thread for it", call);
    *granted = serve ? GASNETX_PROGRESS_THREAD : GASNETX_PROGRESS_POLLING;
    return GASNET_OK;
}

int gasnetx_Progress_OnIdle(gasnetx_idle_t idle, void *context)
{
    static const char call[] = "gasnetx_Progress_OnIdle";
    aq_job_admit(call);
    if (!aq_idle_set(idle, context))
        return aq_refuse(GASNET_ERR_BAD_ARG, "%s: the idle function cannot replace itself", call);
    aq_progress_call_idle(idle != NULL);
    return GASNET_OK;
}

// ---- threads that the client runs ----

int gex_System_QueryProgressThreads(gex_Client_t client, unsigned int *count_p,
                                    const gex_ProgressThreadInfo_t **info_p, gex_Flags_t flags)
{
    static const char call[] = "gex_System_QueryProgressThreads";
    static atomic_flag asked = ATOMIC_FLAG_INIT;
    aq_job_need(call);
    if (!count_p || !info_p || flags)
        return aq_refuse(GASNET_ERR_BAD_ARG, "%s: %s", call,
                         flags ? "flags is not 0" : "count_p or info_p is NULL");
    if (!(client->flags & GEX_FLAG_DEFER_THREADS))
        return aq_refuse(GASNET_ERR_RESOURCE,
                         "%s: the library runs its threads itself, since gex_Client_Init got no "
                         "GEX_FLAG_DEFER_THREADS; pass that flag, or leave out this call",
                         call);
    if (atomic_flag_test_and_set(&asked))
        return aq_refuse(GASNET_ERR_RESOURCE,
                         "%s was called a second time: each thread runs once, so use what the "
                         "first call returned",
                         call);
    *count_p = aq_progress_threads_lend(info_p);
    return GASNET_OK;
}
