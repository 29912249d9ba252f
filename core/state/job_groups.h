// SPDX-License-Identifier: BSD-3-Clause
// The hosts and neighbourhoods of all ranks.
#pragma once

#include <stdint.h>

#include "job.h"

// Fills in host and nbrhd of the job from the hosts of all ranks. A neighbourhood has at most
// nbrhd_limit ranks, or all of a host if nbrhd_limit is 0. Logs faults.
aq_status_t aq_job_find_groups(aq_job_t *job, uint32_t nbrhd_limit);

// The number of hosts and of neighbourhoods of the present ranks (aq_job_present).
void aq_job_count_groups(uint32_t *hosts, uint32_t *nbrhds);

// The host and the neighbourhood of each rank, numbered by first appearance. The caller frees the
// table. Returns NULL if memory is out (logged).
typedef struct aq_group_numbers {
    uint32_t host, nbrhd;
} aq_group_numbers_t;
aq_group_numbers_t *aq_job_group_numbers(void);
