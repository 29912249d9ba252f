// SPDX-License-Identifier: BSD-3-Clause
// Ranks that join a running job.
//
//     ranks that are there (aq_job_grow)          new ranks (init)
//     grow of the bootstrap  -- starts them -->   aq_boot_start
//     agree on conduits  <--------------------->  find_conduits
//     admit, for each conduit  <--------------->  open
//     teams of all (extended/team/grow.c)  <-------->  the same
//     limits of segments  <-------------------->  the same: the barrier at the end of init
//
// Tables of the job have had places for these ranks from the start on, so that nothing moves while
// other threads read.
#pragma once

#include <stdint.h>

#include "../../other/base/log/status.h"

// Starts the next count ranks of the reserve, and admits them: peers can reach them afterwards.
// Collective over the present ranks; blocks and polls. On an error the job is about to end; see
// aq_job_grow_failed.
aq_status_t aq_job_grow(uint32_t count);

// Ends this process after a collective step of growth has failed, because the job ends: a new rank
// has logged the reason, or is about to.
void aq_job_grow_failed(void) __attribute__((noreturn, cold));
