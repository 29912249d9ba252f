// Waiting, and the receive thread: a process that sleeps is woken by completions of the device.
// Messages by RDMA make none: see aq_ibv_rings_quiet.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ibv_conduit.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../other/base/minmax.h"

enum {
    RING_NAP_NS = 100000, // the first sleep beside rings; then their owners are asked to leave
                          // them, and until all have, sleeps are twice as long each time
    NAP_DOUBLINGS = 5,
};

// Handlers of the receive thread run beside the client's, which a program of mode seq does not
// expect.
static bool open_source(aq_ibv_conduit_t *ibv)
{
    ibv->thread_wanted = aq_ibv_thread_wanted(&ibv->thread_setup) && ibv->base.env->threads;
    if (!ibv->thread_wanted)
        return true;
    ibv->arrivals_source.channel = ibv_create_comp_channel(ibv->verbs);
    return ibv->arrivals_source.channel;
}

static void rearm(void *context)
{
    aq_ibv_conduit_t *ibv = context;
    aq_ibv_source_rearm(&ibv->arrivals_source);
}

aq_status_t aq_ibv_receiver_start(aq_ibv_conduit_t *ibv)
{
    if (!ibv->thread_wanted)
        return AQ_OK;
    ibv->arrivals_source.cq = ibv->receive_cq;
    aq_status_t status = aq_ibv_source_open(&ibv->arrivals_source, &ibv->thread_setup);
    if (status != AQ_OK)
        return status;
    ibv->thread_setup.rearm = rearm;
    ibv->thread_setup.poll = aq_ibv_poll_by_thread;
    ibv->thread_setup.context = ibv;
    return aq_ibv_thread_start(&ibv->thread_setup, &ibv->thread);
}

bool aq_ibv_sleep_open(aq_ibv_conduit_t *ibv)
{
    if (!open_source(ibv))
        return false;
    ibv->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ibv->completions = ibv_create_comp_channel(ibv->verbs);
    if (ibv->bell < 0 || !ibv->completions)
        return false;
    int flags = fcntl(ibv->completions->fd, F_GETFL);
    return fcntl(ibv->completions->fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

void aq_ibv_sleep_close(aq_ibv_conduit_t *ibv)
{
    if (ibv->completions)
        ibv_destroy_comp_channel(ibv->completions);
    if (ibv->bell > 0)
        close(ibv->bell);
}

uint32_t aq_ibv_arm(aq_conduit_t *conduit)
{
    aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    atomic_fetch_add(&ibv->sleepers, 1);
    if (!ibv->thread_wanted) // else that is what wakes the thread, which wakes us
        ibv_req_notify_cq(ibv->receive_cq, 0);
    ibv_req_notify_cq(ibv->send_cq, 0);
    return 1;
}

void aq_ibv_disarm(aq_conduit_t *conduit)
{
    atomic_fetch_sub(&aq_ibv_of(conduit)->sleepers, 1);
}

static void take_events(aq_ibv_conduit_t *ibv)
{
    struct ibv_cq *cq;
    void *context;
    uint64_t count;
    while (ibv_get_cq_event(ibv->completions, &cq, &context) == 0)
        ibv_ack_cq_events(cq, 1);
    if (read(ibv->bell, &count, sizeof count) < 0)
        return; // nobody rang
}

static uint64_t nap(aq_ibv_conduit_t *ibv)
{
    const unsigned doublings = atomic_load_explicit(&ibv->nap, memory_order_relaxed);
    if (doublings < NAP_DOUBLINGS)
        atomic_store_explicit(&ibv->nap, doublings + 1, memory_order_relaxed);
    return (uint64_t)RING_NAP_NS << doublings;
}

void aq_ibv_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns)
{
    (void)armed;
    aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    struct pollfd ready[] = {{.fd = ibv->completions->fd, .events = POLLIN},
                             {.fd = ibv->bell, .events = POLLIN}};
    if (!aq_ibv_rings_quiet(ibv, atomic_load_explicit(&ibv->nap, memory_order_relaxed)))
        limit_ns = aq_min(limit_ns, nap(ibv));
    else
        atomic_store_explicit(&ibv->nap, 0, memory_order_relaxed);
    const struct timespec limit = {(time_t)(limit_ns / 1000000000), (long)(limit_ns % 1000000000)};
    if (ppoll(ready, 2, &limit, NULL) > 0)
        take_events(ibv);
}

// What other processes wait for, they hear by a message.
void aq_ibv_wake(aq_conduit_t *conduit, bool neighbourhood)
{
    aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    const uint64_t one = 1;
    (void)neighbourhood;
    if (atomic_load(&ibv->sleepers) && write(ibv->bell, &one, sizeof one) < 0)
        return; // it rings already
}
