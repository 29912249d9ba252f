// Which ranks share a host, and which a neighbourhood.
#ifndef AQ_JOB_GROUPS_H
#define AQ_JOB_GROUPS_H

#include <stdint.h>

#include "job.h"

// Fills in host and nbrhd of the job from the hosts of all ranks. nbrhd_limit: most ranks of a
// neighbourhood, 0 for all of a host. Logs faults.
aq_status_t aq_job_find_groups(aq_job_t *job, uint32_t nbrhd_limit);

// The host and the neighbourhood of each rank, numbered by first appearance. The caller frees the
// table. Returns NULL if memory is out (logged).
typedef struct aq_group_numbers {
    uint32_t host, nbrhd;
} aq_group_numbers_t;
aq_group_numbers_t *aq_job_group_numbers(void);

#endif
