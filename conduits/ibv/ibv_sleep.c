#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ibv_sleep.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../other/base/clock.h"
#include "../../other/base/log.h"
#include "../../other/base/minmax.h"

enum {
    RING_NAP_NS = 100000, // the first sleep beside rings; afterwards their owners are asked to
                          // leave them, and until all have left each sleep is twice as long
    NAP_DOUBLINGS = 5,
    UNLINKED_NAP_NS = 1000000, // of a window that nothing can wake, because it has no link
};

// ---- the receive thread ----

bool aq_ibv_sleeper_wants_thread(aq_ibv_sleeper_t *sleeper, bool threads)
{
    sleeper->thread_wanted = aq_ibv_thread_wanted(&sleeper->thread_setup) && threads;
    return sleeper->thread_wanted;
}

static void thread_rearm(void *context)
{
    aq_ibv_sleeper_t *sleeper = context;
    aq_ibv_source_rearm(&sleeper->arrivals);
}

int aq_ibv_poll_by_thread(void *context)
{
    aq_ibv_sleeper_t *sleeper = context;
    aq_ibv_receiver_t *receiver = sleeper->receiver;
    bool looked = aq_ibv_take_arrivals(receiver, false);
    unsigned delivered = aq_ibv_deliver_some(receiver, AQ_POLL_REQUESTS | AQ_POLL_REPLIES);
    if (delivered)
        aq_ibv_wake(sleeper); // threads of the client may wait for what handlers did
    // Nothing wakes this thread when there is room again for what it still has to send.
    if (!delivered && (!aq_ibv_ondemand_progress(receiver->ondemand) ||
                       atomic_load_explicit(&receiver->sender->credits_due, memory_order_relaxed)))
        return 1;
    return delivered ? (int)delivered : looked ? 0 : -1;
}

static aq_status_t thread_start(aq_ibv_sleeper_t *sleeper)
{
    sleeper->arrivals.channel = sleeper->queues->arrivals;
    sleeper->arrivals.cq = sleeper->queues->receive_cq;
    aq_status_t status = aq_ibv_source_open(&sleeper->arrivals, &sleeper->thread_setup);
    if (status != AQ_OK)
        return status;
    sleeper->thread_setup.rearm = thread_rearm;
    sleeper->thread_setup.poll = aq_ibv_poll_by_thread;
    sleeper->thread_setup.context = sleeper;
    return aq_ibv_thread_start(&sleeper->thread_setup, &sleeper->thread);
}

void aq_ibv_sleeper_stop_thread(aq_ibv_sleeper_t *sleeper)
{
    if (sleeper->thread)
        aq_ibv_thread_stop(sleeper->thread);
}

// ---- open and close ----

aq_status_t aq_ibv_sleeper_open(aq_ibv_sleeper_t *sleeper)
{
    sleeper->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sleeper->bell < 0) {
        aq_log_error(
            "conduit ibv has no file descriptor to wake threads with (%s): raise the limit "
            "on open files (ulimit -n)",
            strerror(errno));
        return AQ_ERR_RESOURCE;
    }
    aq_status_t status = sleeper->thread_wanted ? thread_start(sleeper) : AQ_OK;
    if (status == AQ_OK) {
        atomic_store(&sleeper->open, true);
        aq_ibv_wake(sleeper); // those that sleep for short times only, see aq_ibv_sleep
    }
    return status;
}

void aq_ibv_sleeper_close(aq_ibv_sleeper_t *sleeper)
{
    if (sleeper->bell > 0)
        close(sleeper->bell);
}

// ---- sleeping and waking ----

uint32_t aq_ibv_arm(aq_ibv_sleeper_t *sleeper)
{
    atomic_fetch_add(&sleeper->sleepers, 1);
    if (!atomic_load(&sleeper->open))
        return 1;
    if (!sleeper->thread_wanted) // otherwise arrivals wake the receive thread
        ibv_req_notify_cq(sleeper->queues->receive_cq, 0);
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
    struct pollfd ready[2 + AQ_IBV_RAIL_PORTS_MOST] = {
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
