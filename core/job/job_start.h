// SPDX-License-Identifier: BSD-3-Clause
// Steps of the start and their counterparts (start_steps.h): spawner, groups of ranks, peer table,
// conduits. They fill in aq_job. Collective over the job; block.
#pragma once

#include "start_steps.h"

aq_status_t aq_job_join(const aq_job_request_t *request);
void aq_job_leave(void);

// Fills in the groups of the ranks that share a host or memory.
aq_status_t aq_job_find_hosts(const aq_job_request_t *request);
aq_status_t aq_job_allocate_peers(const aq_job_request_t *request);

aq_status_t aq_job_open_conduits(const aq_job_request_t *request);
void aq_job_close_conduits(void);
