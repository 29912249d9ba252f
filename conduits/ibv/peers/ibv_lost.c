// SPDX-License-Identifier: BSD-3-Clause
// Keeps the first loss that the connector or a completion reports, and wakes the connector's
// thread, which ends the job when the grace period is over.
#include "ibv_lost.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"

enum {
    LEAST_GRACE_NS = 1000000000,
    LOOK_MS = 20,
};

static bool job_ends(const aq_ibv_losses_t *losses)
{
    return aq_boot_ended(losses->env->boot) || atomic_load(&losses->closing);
}

// Keeps the message about the first lost peer; aq_ibv_losses_watch acts on it.
AQ_PRINTF(2, 3) static void loss_record(aq_ibv_losses_t *losses, const char *format, ...)
{
    const uint64_t one = 1;
    va_list args;
    if (job_ends(losses) || atomic_exchange(&losses->any, true))
        return;
    va_start(args, format);
    vsnprintf(losses->why, sizeof losses->why, format, args);
    va_end(args);
    atomic_store(&losses->at, aq_clock_ns());
    if (write(losses->wake, &one, sizeof one) < 0)
        aq_log_error("the connector thread of conduit ibv cannot be woken");
}

void aq_ibv_peer_lost(aq_ibv_losses_t *losses, aq_ibv_peer_t *link, const char *why)
{
    aq_ibv_peer_lost_by(losses, link, why, losses->port);
}

void aq_ibv_peer_lost_by(aq_ibv_losses_t *losses, aq_ibv_peer_t *link, const char *why,
                         const char *port)
{
    atomic_store_explicit(&link->entries->dead, true, memory_order_relaxed);
    loss_record(losses,
                "the connection to rank %u is lost (%s%s%s): that process or its host has ended, "
                "or the network between is cut",
                link->rank, why, *port ? ", by " : "", port);
}

void aq_ibv_peer_failed(aq_ibv_losses_t *losses, aq_ibv_peer_t *link, enum ibv_wc_status status)
{
    if (status != IBV_WC_RNR_RETRY_EXC_ERR) {
        aq_ibv_peer_lost(losses, link, ibv_wc_status_str(status));
        return;
    }
    atomic_store_explicit(&link->entries->dead, true, memory_order_relaxed);
    loss_record(losses,
                "rank %u has no buffer for a message of this rank (%s), though it keeps one for "
                "each credit that it grants: see that all hosts have the same version of the "
                "library and the same settings",
                link->rank, ibv_wc_status_str(status));
}

void aq_ibv_peer_unreached(aq_ibv_losses_t *losses, const aq_ibv_peer_t *link, const char *here,
                           const char *there, const char *port, const char *why)
{
    loss_record(losses,
                "rank %u cannot be reached at %s from %s%s%s (%s): if that process and its host "
                "have not ended, see that the verbs ports of all hosts are up and that a network "
                "joins these addresses ('rping' or 'ibv_ud_pingpong' tries it), or name ports of "
                "one network in GASNET_IBV_PORTS",
                link->rank, there, here, *port ? ", " : "", port, why);
}

// The time for the end of the job to become known: a process with much memory ends a while after
// its connections were closed.
static uint64_t grace_of(const aq_ibv_losses_t *losses)
{
    return aq_max(losses->env->exit_timeout_ns / 2, LEAST_GRACE_NS);
}

void aq_ibv_losses_await_end(const aq_ibv_losses_t *losses)
{
    while (atomic_load(&losses->any) && !job_ends(losses))
        aq_clock_sleep_ns(LOOK_MS * UINT64_C(1000000));
}

int aq_ibv_losses_watch(const aq_ibv_losses_t *losses)
{
    const uint64_t lost_at = atomic_load(&losses->at);
    if (!lost_at || job_ends(losses))
        return -1;
    if (aq_clock_ns() - lost_at < grace_of(losses))
        return LOOK_MS;
    aq_log_error("%s", losses->why);
    losses->env->boot->ops->abort(losses->env->boot, 1);
    return -1;
}
