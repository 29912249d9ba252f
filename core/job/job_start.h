// SPDX-License-Identifier: BSD-3-Clause
// Joins the job: spawner, groups of ranks, conduits, peer table.
#ifndef AQ_JOB_START_H
#define AQ_JOB_START_H

#include "../conduit.h"

// Fills in aq_job. Collective over the job; blocks. ranks: see aq_boot_start. Logs faults.
aq_status_t aq_job_start(const char *conduit_name, uint32_t ranks, aq_segment_mode_t segment_mode);

#endif
