// SPDX-License-Identifier: BSD-3-Clause
// The loop of such a thread, and the completion channel that wakes it. ibv_sleep.c starts one for
// each kind that the user wants.
#include "ibv_thread.h"
#include "../verbs/ibv_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/system/quiet_thread.h"
#include "../../../other/base/settings/settings.h"

#define BUSY_NS UINT64_C(200000) // until the next try, while another thread polls
#define ACKNOWLEDGE 64           // events at a time, since acknowledging takes a lock

struct aq_ibv_thread {
    aq_ibv_thread_setup_t setup;
    pthread_t thread;
    pid_t owner;
    int wake; // an eventfd: readable when the thread has to end
    atomic_bool ending;
    uint64_t woke_at;
};

// Sleeps until there is an event (if `events`), the thread has to end, or the time is over;
// UINT64_MAX: no limit. False: an fd is not valid any more.
static bool sleep_on(const aq_ibv_thread_t *thread, bool events, uint64_t limit_ns)
{
    const unsigned count = events ? thread->setup.fd_count : 0;
    struct pollfd all[AQ_IBV_THREAD_FDS + 1] = {{.fd = thread->wake, .events = POLLIN}};
    struct timespec limit = {(time_t)(limit_ns / 1000000000), (long)(limit_ns % 1000000000)};
    int wrong = 0;
    for (unsigned i = 1; i <= count; i++)
        all[i] = (struct pollfd){.fd = thread->setup.fds[i - 1], .events = POLLIN};
    ppoll(all, count + 1, limit_ns == UINT64_MAX ? NULL : &limit, NULL);
    for (unsigned i = 1; i <= count; i++)
        wrong |= all[i].revents & (POLLERR | POLLNVAL);
    return wrong == 0;
}

static bool is_ending(const aq_ibv_thread_t *thread)
{
    return atomic_load_explicit(&thread->ending, memory_order_acquire);
}

static void handle_all(const aq_ibv_thread_t *thread)
{
    int handled;
    while (!is_ending(thread) && (handled = thread->setup.poll(thread->setup.context)) != 0)
        if (handled < 0)
            sleep_on(thread, false, BUSY_NS);
}

// Delays the next wake-up to keep the rate.
static void keep_rate(aq_ibv_thread_t *thread)
{
    uint64_t now = aq_clock_ns(), gap = thread->setup.rate ? 1000000000 / thread->setup.rate : 0;
    while (!is_ending(thread) && now - thread->woke_at < gap) {
        sleep_on(thread, false, gap - (now - thread->woke_at));
        now = aq_clock_ns();
    }
    thread->woke_at = now;
}

static void *thread_run(void *arg)
{
    aq_ibv_thread_t *thread = arg;
    bool sound = true;
    while (sound && !is_ending(thread)) {
        thread->setup.rearm(thread->setup.context);
        handle_all(thread);
        if (is_ending(thread))
            break;
        sound = sleep_on(thread, true, UINT64_MAX);
        keep_rate(thread);
    }
    if (!sound)
        aq_log_warn("the thread of %s ends, since its completion channel is gone; its work waits "
                    "until the program calls the runtime",
                    thread->setup.variable);
    return NULL;
}

bool aq_ibv_thread_wanted(aq_ibv_thread_setup_t *setup, aq_ibv_thread_kind_t kind)
{
    static const struct {
        aq_setting_id_t wanted;
        aq_ibv_setting_id_t rate;
    } settings[] = {
        [AQ_IBV_RECEIVE_THREAD] = {AQ_SET_RCV_THREAD, IBV_SET_RCV_THREAD_RATE},
        [AQ_IBV_SEND_THREAD] = {AQ_SET_SND_THREAD, IBV_SET_SND_THREAD_RATE},
    };
    setup->variable = aq_settings_row(settings[kind].wanted)->name;
    setup->rate = (uint32_t)aq_setting_int(aq_ibv_setting(settings[kind].rate));
    return aq_settings_bool(settings[kind].wanted);
}

aq_status_t aq_ibv_thread_start(const aq_ibv_thread_setup_t *setup, aq_ibv_thread_t **out)
{
    int error = ENOMEM;
    aq_ibv_thread_t *thread = calloc(1, sizeof *thread);
    if (thread != NULL) {
        *thread = (aq_ibv_thread_t){.setup = *setup, .owner = getpid()};
        thread->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        error =
            thread->wake < 0 ? errno : aq_quiet_thread_create(&thread->thread, thread_run, thread);
    }
    if (error == 0) {
        *out = thread;
        return AQ_OK;
    }
    aq_log_error("the thread of %s cannot be started (%s); raise the limits on processes (ulimit "
                 "-u) and open files (ulimit -n), or unset the variable",
                 setup->variable, strerror(error));
    if (thread != NULL && thread->wake >= 0)
        close(thread->wake);
    free(thread);
    return AQ_ERR_RESOURCE;
}

void aq_ibv_thread_stop(aq_ibv_thread_t *thread)
{
    if (thread->owner != getpid())
        return; // the child has copies of the descriptors only
    atomic_store_explicit(&thread->ending, true, memory_order_release);
    eventfd_write(thread->wake, 1);
    if (pthread_equal(pthread_self(), thread->thread)) {
        pthread_detach(thread->thread); // it ends when the handler returns, or with the process
        return;
    }
    pthread_join(thread->thread, NULL);
    close(thread->wake);
    free(thread);
}

// ---- a completion channel as the source ----

aq_status_t aq_ibv_source_open(aq_ibv_source_t *source, aq_ibv_thread_setup_t *setup)
{
    int flags = fcntl(source->channel->fd, F_GETFL);
    setup->fds[setup->fd_count++] = source->channel->fd;
    if (flags >= 0 && fcntl(source->channel->fd, F_SETFL, flags | O_NONBLOCK) == 0)
        return AQ_OK;
    aq_log_error("the completion channel of the network device cannot be used (%s); unset %s",
                 strerror(errno), setup->variable);
    return AQ_ERR_RESOURCE;
}

static void events_acknowledge(aq_ibv_source_t *source)
{
    ibv_ack_cq_events(source->cq, source->owed);
    source->owed = 0;
}

void aq_ibv_source_rearm(aq_ibv_source_t *source)
{
    struct ibv_cq *cq;
    void *context;
    while (ibv_get_cq_event(source->channel, &cq, &context) == 0)
        source->owed++;
    if (source->owed >= ACKNOWLEDGE)
        events_acknowledge(source);
    ibv_req_notify_cq(source->cq, 0);
}

void aq_ibv_source_close(aq_ibv_source_t *source)
{
    events_acknowledge(source);
}
