// SPDX-License-Identifier: BSD-3-Clause
// Signals a rank of this host (rank_signal.c) and waits for its stack in the file, or asks the
// launcher for a rank of another host (job_watch.c).
#include "stack_ask.h"

#include "../../base/clock.h"

static aq_stack_result_t ask_here(const aq_watched_rank_t *rank, aq_seen_stack_t *stack)
{
    uint32_t before = 0;
    if (rank->pid != rank->seen.pid)
        return AQ_STACK_UNREACHED;
    const aq_stack_result_t sent = aq_rank_signal(rank->fd, &rank->seen, &before);
    if (sent != AQ_STACK_GIVEN)
        return sent;
    const uint64_t until = aq_clock_ns() + AQ_STACK_WAIT_NS;
    while (aq_clock_ns() < until) {
        aq_clock_sleep_ns(AQ_STACK_LOOK_NS);
        if (aq_rank_has_answered(rank->fd, before, stack))
            return AQ_STACK_GIVEN;
    }
    return AQ_STACK_SILENT;
}

aq_stack_result_t aq_stack_ask(const aq_watched_job_t *job, const aq_watched_rank_t *rank,
                               aq_seen_stack_t *stack)
{
    if (!rank->remote)
        return ask_here(rank, stack);
    const aq_stack_result_t result = aq_watched_refresh(job, rank, true);
    if (result == AQ_STACK_GIVEN && !aq_rank_read_stack(rank->fd, stack))
        return AQ_STACK_UNREACHED;
    return result;
}
