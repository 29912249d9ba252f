// SPDX-License-Identifier: BSD-3-Clause
// Keeps the first loss that a failed completion (ofi_poll.c) or call (ofi_link.c) shows, and ends
// the job from a poll when the grace period is over.
#include "ofi_lost.h"

#include <stdio.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"

#define LEAST_GRACE_NS UINT64_C(1000000000)

static bool job_ends(const ofi_losses_t *losses)
{
    return aq_boot_ended(losses->env->boot) || atomic_load(&losses->closing);
}

void ofi_losses_note(ofi_losses_t *losses, uint32_t rank, const char *provider, const char *domain,
                     const char *why)
{
    if (job_ends(losses) || atomic_exchange(&losses->any, true))
        return;
    char peer[32] = "a peer";
    if (rank != OFI_RANK_UNKNOWN)
        snprintf(peer, sizeof peer, "rank %u", rank);
    snprintf(losses->why, sizeof losses->why,
             "the connection to %s is lost (%s, by %s on %s): that process or its host has "
             "ended, or the network between is cut",
             peer, why, provider, domain);
    atomic_store(&losses->at, aq_clock_ns());
}

// The time for the end of the job to become known: a process with much memory ends a while after
// its connections were closed.
static uint64_t grace_of(const ofi_losses_t *losses)
{
    return aq_max(losses->env->exit_timeout_ns / 2, LEAST_GRACE_NS);
}

void ofi_losses_watch(const ofi_losses_t *losses)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const uint64_t lost_at = atomic_load(&losses->at);
    if (!lost_at || job_ends(losses) || aq_clock_ns() - lost_at < grace_of(losses) ||
        atomic_flag_test_and_set(&told))
        return;
    aq_log_error("%s", losses->why);
    losses->env->boot->ops->abort(losses->env->boot, 1);
}
