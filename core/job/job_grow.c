// SPDX-License-Identifier: BSD-3-Clause
// Growth at the ranks that are present already: the bootstrap starts new ranks, and each conduit
// admits them. extended/team/grow.c calls it, and makes the team of all.
#include "job_grow.h"

#include "../../other/base/clock.h"
#include "../ground/fatal.h"
#include "../state/job.h"

enum { LOOK_NS = 10000000, LOOKS = 500 }; // checks whether the job has ended

aq_status_t aq_job_grow(uint32_t count)
{
    aq_boot_t *boot = aq_job.boot;
    aq_status_t status = boot->ops->grow(boot, count);
    if (status != AQ_OK)
        return status;
    atomic_store_explicit(&aq_job.absent, boot->absent, memory_order_relaxed);
    aq_log_identity(aq_job.rank, aq_job_present());
    status = aq_boot_agree(boot, AQ_OK, "");
    for (unsigned i = 0; status == AQ_OK && i < aq_job.conduit_count; i++)
        status = aq_job.conduits[i]->ops->admit(aq_job.conduits[i], count);
    return status;
}

void aq_job_grow_failed(void)
{
    for (unsigned i = 0; i < LOOKS; i++) {
        aq_job_exit_if_ended();
        aq_clock_sleep_ns(LOOK_NS);
    }
    aq_fatal("gasnetx_Job_Grow: a rank that was started could not join the job");
}
