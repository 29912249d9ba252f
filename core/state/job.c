// SPDX-License-Identifier: BSD-3-Clause
// The one aq_job of this process, its payload limits, and the end of a process that has no job or
// whose job has ended. job_start.c fills aq_job in; the rooms above read it.
#include "job.h"

#include "../../other/base/clock.h"
#include "../../other/base/minmax.h"
#include "../ground/fatal.h"

static _Atomic int32_t no_exit_word = AQ_BOOT_RUNNING + 1;
aq_boot_t aq_job_no_boot = {.exit_word = &no_exit_word};
aq_job_t aq_job = {.boot = &aq_job_no_boot, .fast.ep_pair = AQ_FAST_NEVER};

_Static_assert(sizeof(atomic_uintptr_t) + sizeof(intptr_t) + 2 * sizeof(uintptr_t) <= 32,
               "a rank without communication costs at most 32 bytes");

// How long the other ranks wait for rank 0 to report a fault that all ranks have. Afterwards the
// end of one rank ends all ranks.
#define SPEECH_NS 3000000000u

static void lower_limit(size_t *limit, size_t to)
{
    if (to < *limit)
        *limit = to;
}

static void replace_limit(size_t *limit, size_t value)
{
    if (*limit != value)
        *limit = value;
}

// Other threads may be sending: each limit changes from its old value to the new one in one store,
// and a limit that stays the same is not written.
void aq_job_find_limits(void)
{
    aq_job_t *job = &aq_job;
    size_t medium = SIZE_MAX, reply = SIZE_MAX, unmapped = SIZE_MAX, request = SIZE_MAX;
    for (unsigned i = 0; i < job->conduit_count; i++) {
        const aq_conduit_t *conduit = job->conduits[i];
        const size_t most = job->env.segment_mode == AQ_SEGMENT_EVERYTHING
                                ? conduit->max_long_unmapped // nothing is mapped
                                : conduit->max_long;
        lower_limit(&medium, conduit->max_medium);
        lower_limit(&reply, most);
        lower_limit(&unmapped, conduit->max_long_unmapped);
        lower_limit(&request, aq_max(conduit->max_long_ahead, most));
    }
    replace_limit(&job->limits.medium, medium);
    replace_limit(&job->limits.long_reply, reply);
    replace_limit(&job->limits.long_unmapped, unmapped);
    replace_limit(&job->limits.long_request, request);
}

void aq_job_let_first_speak(void)
{
    if (!aq_log_is_first())
        aq_clock_sleep_ns(SPEECH_NS);
}

void aq_job_missing(const char *call)
{
    if (aq_job.failed) {
        aq_job_let_first_speak();
        aq_fatal("%s was called after gex_Client_Init or gasnet_init had failed; end the program "
                 "where they do not return GASNET_OK",
                 call);
    }
    aq_boot_begin_start(); // a launcher reports the first such fault
    aq_fatal("%s was called before gex_Client_Init or gasnet_init; call one of these first, and "
             "end the program where it does not return GASNET_OK",
             call);
}

void aq_job_exit_requested(void)
{
    if (!aq_job_running())
        aq_job_missing("a function that polls or waits");
    if (aq_job.exit)
        aq_job.exit->requested();
}

void aq_job_exit_if_ended(void)
{
    if (aq_job_running() && aq_boot_ended(aq_job.boot) && aq_job.exit)
        aq_job.exit->if_ended();
}
