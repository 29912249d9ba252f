// Waiting: a thread sleeps on the descriptor of the completion queue, where the provider has one,
// and on the bell that other threads ring. Without such a descriptor sleeps are short.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../other/base/log.h"
#include "../../other/base/minmax.h"
#include "ofi_state.h"

enum {
    NAPS = 20,          // without a descriptor a sleep is so many times shorter,
    NAP_NS = 2500000,   // and at most so long
    LOOK_NS = 20000000, // longest sleep after a peer was lost
};

aq_status_t ofi_sleep_open(ofi_conduit_t *ofi)
{
    ofi->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ofi->bell >= 0)
        return AQ_OK;
    aq_log_error(
        "no descriptor is left for conduit ofi; raise the limit of open files (ulimit -n)");
    return AQ_ERR_RESOURCE;
}

uint32_t ofi_arm(aq_conduit_t *conduit)
{
    atomic_fetch_add(&ofi_of(conduit)->sleepers, 1);
    return 1;
}

void ofi_disarm(aq_conduit_t *conduit)
{
    atomic_fetch_sub(&ofi_of(conduit)->sleepers, 1);
}

void ofi_wake(aq_conduit_t *conduit, bool neighbourhood)
{
    const uint64_t one = 1;
    ofi_conduit_t *ofi = ofi_of(conduit);
    (void)neighbourhood;
    if (atomic_load(&ofi->sleepers) && write(ofi->bell, &one, sizeof one) < 0)
        return; // the bell rings already
}

// Whether nothing waits to be done, so that the descriptor will tell when there is something.
static bool may_wait(ofi_conduit_t *ofi)
{
    struct fid *const waits[] = {&ofi->fabric.queue->fid};
    if (atomic_load(&ofi->waiting))
        return false;
    aq_lock_take(&ofi->lock);
    const bool idle = !ofi->dirty && (ofi->fabric.queue_fd < 0 ||
                                      fi_trywait(ofi->fabric.fabric, (struct fid **)waits, 1) == 0);
    aq_lock_drop(&ofi->lock);
    return idle;
}

static uint64_t sleep_limit(const ofi_conduit_t *ofi, uint64_t limit_ns)
{
    if (ofi->fabric.queue_fd < 0)
        limit_ns = aq_min(limit_ns / NAPS, (uint64_t)NAP_NS);
    return atomic_load(&ofi->losses.any) ? aq_min(limit_ns, (uint64_t)LOOK_NS) : limit_ns;
}

void ofi_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    struct pollfd waits[] = {{ofi->bell, POLLIN, 0}, {ofi->fabric.queue_fd, POLLIN, 0}};
    uint64_t rings;
    (void)armed;
    if (!may_wait(ofi))
        return;
    limit_ns = sleep_limit(ofi, limit_ns);
    const struct timespec limit = {(time_t)(limit_ns / 1000000000), (long)(limit_ns % 1000000000)};
    if (ppoll(waits, 2, &limit, NULL) > 0 && waits[0].revents)
        (void)!read(ofi->bell, &rings, sizeof rings);
}
