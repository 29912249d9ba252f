// SPDX-License-Identifier: BSD-3-Clause
// Waiting: a thread sleeps on the descriptor of the completion queue, where the provider has one,
// and on the bell that other threads ring. Without such a descriptor sleeps are short.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"
#include "../rma/ofi_rma_state.h"

enum {
    NAPS = 20,             // without a descriptor a sleep is so many times shorter,
    NAP_NS = 200000,       // and at most so long: peers may wait for this process to poll
    REFUSED_NS = 200000,   // longest sleep while something waits for the provider
    LOOK_NS = 20000000,    // longest sleep after a peer was lost,
    WATCH_NS = 1000000000, // and before
};

// Some providers have a descriptor that always says that there is something (net of
// libfabric 1.17): a sleep on it would be none.
static void queue_fd_try(ofi_fabric_t *fabric)
{
    struct fid *waits[] = {&fabric->queue->fid};
    struct pollfd wait = {fabric->queue_fd, POLLIN, 0};
    struct fi_cq_data_entry none;
    if (fabric->queue_fd < 0)
        return;
    (void)fi_cq_read(fabric->queue, &none, 0);
    if (fi_trywait(fabric->fabric, waits, 1) == 0 && poll(&wait, 1, 0) > 0)
        fabric->queue_fd = -1;
}

aq_status_t ofi_sleep_open(ofi_conduit_t *ofi)
{
    queue_fd_try(&ofi->fabric);
    ofi->sleeping.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ofi->sleeping.bell >= 0)
        return AQ_OK;
    aq_log_error(
        "no descriptor is left for conduit ofi; raise the limit of open files (ulimit -n)");
    return AQ_ERR_RESOURCE;
}

uint32_t ofi_arm(aq_conduit_t *conduit)
{
    atomic_fetch_add(&ofi_of(conduit)->sleeping.sleepers, 1);
    return 1;
}

void ofi_disarm(aq_conduit_t *conduit)
{
    atomic_fetch_sub(&ofi_of(conduit)->sleeping.sleepers, 1);
}

void ofi_wake(aq_conduit_t *conduit, bool neighbourhood)
{
    const uint64_t one = 1;
    ofi_conduit_t *ofi = ofi_of(conduit);
    (void)neighbourhood;
    if (atomic_load(&ofi->sleeping.sleepers) && write(ofi->sleeping.bell, &one, sizeof one) < 0)
        return; // the bell rings already
}

// Sets how long a sleep may be, at most *limit_ns. False: there is something to do now. A sleep
// with refused packets is short, because no event announces that the provider takes them.
static bool sleep_allow(ofi_conduit_t *ofi, uint64_t *limit_ns)
{
    struct fid *waits[] = {&ofi->fabric.queue->fid};
    const bool has_fd = ofi->fabric.queue_fd >= 0;
    aq_lock_take(&ofi->lock);
    if (!has_fd)
        *limit_ns = aq_min(*limit_ns / NAPS, (uint64_t)NAP_NS);
    if (ofi->dirty || atomic_load(&ofi->rma->ondemand.any))
        *limit_ns = aq_min(*limit_ns, (uint64_t)REFUSED_NS);
    const bool idle = !atomic_load(&ofi->queues.waiting) &&
                      (!has_fd || fi_trywait(ofi->fabric.fabric, waits, 1) == 0);
    ofi_links_watch(ofi);
    aq_lock_drop(&ofi->lock);
    *limit_ns = aq_min(*limit_ns, atomic_load(&ofi->losses.any) ? (uint64_t)LOOK_NS : WATCH_NS);
    return idle;
}

// Sleeps on the descriptors.
static void descriptors_await(const ofi_conduit_t *ofi, uint64_t limit_ns)
{
    struct pollfd waits[] = {{ofi->sleeping.bell, POLLIN, 0}, {ofi->fabric.queue_fd, POLLIN, 0}};
    const struct timespec limit = {(time_t)(limit_ns / 1000000000), (long)(limit_ns % 1000000000)};
    uint64_t rings;
    if (ppoll(waits, 2, &limit, NULL) > 0 && waits[0].revents &&
        read(ofi->sleeping.bell, &rings, sizeof rings) < 0)
        return; // another thread has read it
}

void ofi_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    (void)armed;
    if (sleep_allow(ofi, &limit_ns))
        descriptors_await(ofi, limit_ns);
}
