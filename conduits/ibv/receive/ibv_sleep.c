// SPDX-License-Identifier: BSD-3-Clause
// Sleeps on the channels of the device and on the bell, and starts the receive and send threads
// (ibv_thread.c) with what they do when they wake. The core's waits come here through ibv_table.c.
#include "ibv_sleep.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"
#include "../rails/ibv_rail.h"

enum {
    RING_NAP_NS = 100000, // the first sleep beside rings; afterwards their owners are asked to
                          // leave them, and until all have left each sleep is twice as long
    NAP_DOUBLINGS = 5,
    UNLINKED_NAP_NS = 1000000, // of a window that nothing can wake, because it has no link
};

// ---- the receive thread ----

static void receive_thread_rearm(void *context)
{
    aq_ibv_sleeper_t *sleeper = context;
    eventfd_t nudges;
    eventfd_read(sleeper->receive.nudge, &nudges);
    aq_ibv_source_rearm(&sleeper->receive.source);
    aq_ibv_rails_rearm_arrivals(sleeper->receiver->rails);
}

void aq_ibv_nudge_receiver(aq_ibv_sleeper_t *sleeper)
{
    if (sleeper->receive.nudge > 0)
        eventfd_write(sleeper->receive.nudge, 1);
}

int aq_ibv_poll_by_thread(void *context)
{
    aq_ibv_sleeper_t *sleeper = context;
    aq_ibv_receiver_t *receiver = sleeper->receiver;
    bool looked = aq_ibv_take_arrivals(receiver, false);
    unsigned delivered = aq_ibv_deliver_some(receiver, AQ_POLL_REQUESTS | AQ_POLL_REPLIES);
    if (delivered) {
        receiver->env->go_on();
        aq_ibv_wake(sleeper); // threads of the client may wait for what handlers did
    }
    // Returns 1, so that the thread polls again: no event wakes it when there is room for what it
    // still has to send.
    if (!delivered && (!aq_ibv_ondemand_progress(receiver->ondemand) ||
                       atomic_load_explicit(&receiver->sender->credits_due, memory_order_relaxed)))
        return 1;
    return delivered ? (int)delivered : looked ? 0 : -1;
}

// ---- the send thread ----

_Static_assert(AQ_IBV_THREAD_FDS >= 2 + AQ_IBV_RAIL_PORTS_MAX,
               "each thread sleeps on a channel, the nudge, and all rails");

// Whose send thread this is, while it reaps.
static _Thread_local const aq_ibv_sleeper_t *served;

static void send_thread_rearm(void *context)
{
    aq_ibv_sleeper_t *sleeper = context;
    eventfd_t nudges;
    eventfd_read(sleeper->send.nudge, &nudges);
    aq_ibv_source_rearm(&sleeper->send.source);
    aq_ibv_rails_rearm_sends(sleeper->receiver->rails);
}

int aq_ibv_reap_by_thread(void *context)
{
    aq_ibv_sleeper_t *sleeper = context;
    aq_ibv_receiver_t *receiver = sleeper->receiver;
    served = sleeper;
    const unsigned reaped = aq_ibv_reap_before_sleep(receiver->send_queue) +
                            aq_ibv_rails_reap_before_sleep(receiver->rails);
    aq_ibv_send_due(receiver->sender);
    aq_ibv_ondemand_progress(receiver->ondemand);
    served = NULL;
    if (reaped)
        aq_ibv_wake(sleeper); // threads of the client may wait for what is complete, or for room
    return (int)reaped;
}

void aq_ibv_nudge(aq_ibv_sleeper_t *sleeper)
{
    if (sleeper->send.nudge > 0 && served != sleeper)
        eventfd_write(sleeper->send.nudge, 1);
}

// ---- both threads ----

void aq_ibv_sleeper_choose_threads(aq_ibv_sleeper_t *sleeper, const aq_conduit_env_t *env)
{
    const bool threads = env->threads && !env->deferred;
    aq_ibv_helper_t *receive = &sleeper->receive, *send = &sleeper->send;
    receive->wanted = aq_ibv_thread_wanted(&receive->setup, AQ_IBV_RECEIVE_THREAD) && threads;
    send->wanted = aq_ibv_thread_wanted(&send->setup, AQ_IBV_SEND_THREAD) && threads;
    sleeper->receiver->rails->send_thread = send->wanted;
    sleeper->receiver->rails->receive_thread = receive->wanted;
}

// rail_fds: writes the fds of the further rails that wake the thread; returns their number.
static aq_status_t helper_start(aq_ibv_sleeper_t *sleeper, aq_ibv_helper_t *helper,
                                unsigned (*rail_fds)(const aq_ibv_rails_t *rails, int *fds))
{
    aq_ibv_thread_setup_t *setup = &helper->setup;
    aq_status_t status = aq_ibv_source_open(&helper->source, setup);
    if (status != AQ_OK)
        return status;
    setup->fds[setup->fd_count++] = helper->nudge;
    setup->fd_count += rail_fds(sleeper->receiver->rails, setup->fds + setup->fd_count);
    setup->context = sleeper;
    return aq_ibv_thread_start(setup, &helper->thread);
}

static aq_status_t receive_thread_start(aq_ibv_sleeper_t *sleeper)
{
    aq_ibv_helper_t *helper = &sleeper->receive;
    helper->source.channel = sleeper->queues->arrivals;
    helper->source.cq = sleeper->queues->receive_cq;
    helper->setup.rearm = receive_thread_rearm;
    helper->setup.poll = aq_ibv_poll_by_thread;
    return helper_start(sleeper, helper, aq_ibv_rails_arrival_fds);
}

static aq_status_t send_thread_start(aq_ibv_sleeper_t *sleeper)
{
    aq_ibv_helper_t *helper = &sleeper->send;
    helper->source.channel = sleeper->queues->sends;
    helper->source.cq = sleeper->queues->send_cq;
    helper->setup.rearm = send_thread_rearm;
    helper->setup.poll = aq_ibv_reap_by_thread;
    return helper_start(sleeper, helper, aq_ibv_rails_send_fds);
}

static aq_status_t threads_start(aq_ibv_sleeper_t *sleeper)
{
    aq_status_t status = sleeper->receive.wanted ? receive_thread_start(sleeper) : AQ_OK;
    return status == AQ_OK && sleeper->send.wanted ? send_thread_start(sleeper) : status;
}

static void helper_stop(const aq_ibv_helper_t *helper)
{
    if (helper->thread)
        aq_ibv_thread_stop(helper->thread);
}

void aq_ibv_sleeper_stop_threads(aq_ibv_sleeper_t *sleeper)
{
    helper_stop(&sleeper->receive);
    helper_stop(&sleeper->send);
}

// ---- open and close ----

// An eventfd. Negative: there is none (logged).
static int bell_make(void)
{
    const int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell < 0)
        aq_log_error("conduit ibv has no file descriptor to wake threads with (%s): raise the "
                     "limit on open files (ulimit -n)",
                     strerror(errno));
    return bell;
}

static bool helper_prepare(aq_ibv_helper_t *helper)
{
    helper->nudge = helper->wanted ? bell_make() : 0;
    return helper->nudge >= 0;
}

aq_status_t aq_ibv_sleeper_open(aq_ibv_sleeper_t *sleeper)
{
    sleeper->bell = bell_make();
    if (sleeper->bell < 0 || !helper_prepare(&sleeper->receive) || !helper_prepare(&sleeper->send))
        return AQ_ERR_RESOURCE;
    aq_status_t status = threads_start(sleeper);
    if (status == AQ_OK) {
        atomic_store(&sleeper->open, true);
        aq_ibv_wake(sleeper); // threads that sleep for short times, see aq_ibv_sleep
    }
    return status;
}

static void helper_close(aq_ibv_helper_t *helper)
{
    if (helper->thread) {
        helper_stop(helper);
        aq_ibv_source_close(&helper->source);
    }
    if (helper->nudge > 0)
        close(helper->nudge);
}

void aq_ibv_sleeper_close(aq_ibv_sleeper_t *sleeper)
{
    helper_close(&sleeper->receive);
    helper_close(&sleeper->send);
    if (sleeper->bell > 0)
        close(sleeper->bell);
}

// ---- sleeping and waking ----

uint32_t aq_ibv_arm(aq_ibv_sleeper_t *sleeper)
{
    atomic_fetch_add(&sleeper->sleepers, 1);
    if (!atomic_load(&sleeper->open))
        return 1;
    if (!sleeper->receive.wanted) // otherwise they wake the thread
        ibv_req_notify_cq(sleeper->queues->receive_cq, 0);
    if (!sleeper->send.wanted)
        ibv_req_notify_cq(sleeper->queues->send_cq, 0);
    aq_ibv_rails_arm(sleeper->receiver->rails);
    return 1;
}

void aq_ibv_disarm(aq_ibv_sleeper_t *sleeper)
{
    atomic_fetch_sub(&sleeper->sleepers, 1);
}

static void events_take(aq_ibv_sleeper_t *sleeper)
{
    struct ibv_cq *cq;
    void *context;
    uint64_t count;
    while (ibv_get_cq_event(sleeper->queues->completions, &cq, &context) == 0)
        ibv_ack_cq_events(cq, 1);
    aq_ibv_rails_take_events(sleeper->receiver->rails);
    if (read(sleeper->bell, &count, sizeof count) < 0)
        return; // nothing was written to the bell
}

// The length of the next sleep beside rings.
static uint64_t nap_length(aq_ibv_rings_t *rings)
{
    const unsigned doublings = atomic_load_explicit(&rings->nap, memory_order_relaxed);
    if (doublings < NAP_DOUBLINGS)
        atomic_store_explicit(&rings->nap, doublings + 1, memory_order_relaxed);
    return (uint64_t)RING_NAP_NS << doublings;
}

void aq_ibv_sleep(aq_ibv_sleeper_t *sleeper, uint64_t limit_ns)
{
    aq_ibv_rings_t *rings = sleeper->receiver->rings;
    if (!atomic_load(&sleeper->open)) {
        aq_clock_sleep_ns(aq_min(limit_ns, UNLINKED_NAP_NS));
        return;
    }
    struct pollfd ready[2 + AQ_IBV_RAIL_PORTS_MAX] = {
        {.fd = sleeper->queues->completions->fd, .events = POLLIN},
        {.fd = sleeper->bell, .events = POLLIN}};
    const unsigned count = 2 + aq_ibv_rails_events(sleeper->receiver->rails, ready + 2);
    if (!aq_ibv_rings_quiet(sleeper->receiver,
                            atomic_load_explicit(&rings->nap, memory_order_relaxed)))
        limit_ns = aq_min(limit_ns, nap_length(rings));
    else
        atomic_store_explicit(&rings->nap, 0, memory_order_relaxed);
    const struct timespec limit = {(time_t)(limit_ns / 1000000000), (long)(limit_ns % 1000000000)};
    if (ppoll(ready, count, &limit, NULL) > 0)
        events_take(sleeper);
}

// Messages wake other processes, so only threads of this process are woken here.
void aq_ibv_wake(aq_ibv_sleeper_t *sleeper)
{
    const uint64_t one = 1;
    if (atomic_load(&sleeper->sleepers) && write(sleeper->bell, &one, sizeof one) < 0)
        return; // it rings already
}
