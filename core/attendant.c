#include "attendant.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../other/base/log.h"
#include "../other/base/quiet_thread.h"
#include "../other/base/settings.h"
#include "lock.h"
#include "window.h"

// The sleep has a limit because a polling thread of the client may stop before it has handled all
// messages, without waking this thread.
#define SLEEP_NS UINT64_C(10000000)

static struct {
    aq_conduit_t *conduit;
    void (*wake)(void);
    pthread_t thread;
    pid_t owner; // 0: no thread
    atomic_bool ending;
} attendant;

static bool attendant_polls(void)
{
    const unsigned what = AQ_POLL_REPLIES | AQ_POLL_REQUESTS;
    aq_conduit_t *conduit = attendant.conduit;
    if (atomic_load(&attendant.ending) ||
        !(conduit->ops->poll(conduit, what) + aq_window_poll_conduit(0, what)))
        return false;
    attendant.wake();
    return true;
}

static void attendant_sleeps(void)
{
    aq_conduit_t *conduit = attendant.conduit;
    const uint32_t armed = conduit->ops->arm(conduit);
    if (!attendant_polls() && !atomic_load(&attendant.ending))
        conduit->ops->sleep(conduit, armed, SLEEP_NS);
    conduit->ops->disarm(conduit);
}

static void *attendant_run(void *unused)
{
    (void)unused;
    while (!atomic_load(&attendant.ending))
        if (!attendant_polls())
            attendant_sleeps();
    return NULL;
}

aq_status_t aq_attendant_start(aq_conduit_t *conduit, void (*wake)(void))
{
    if (!aq_settings_bool(AQ_SET_RCV_THREAD) || !aq_threads)
        return AQ_OK;
    attendant.conduit = conduit;
    attendant.wake = wake;
    const int error = aq_quiet_thread_create(&attendant.thread, attendant_run, NULL);
    if (error == 0) {
        attendant.owner = getpid();
        return AQ_OK;
    }
    aq_log_error("the thread of GASNET_RCV_THREAD cannot be started (%s); raise the limit on "
                 "processes (ulimit -u), or unset the variable",
                 strerror(error));
    return AQ_ERR_RESOURCE;
}

void aq_attendant_stop(void)
{
    if (attendant.owner != getpid())
        return;
    attendant.owner = 0;
    atomic_store(&attendant.ending, true);
    if (pthread_equal(pthread_self(), attendant.thread))
        return; // it ends with the process
    attendant.wake();
    pthread_join(attendant.thread, NULL);
}
