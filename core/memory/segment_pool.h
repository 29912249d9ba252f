// SPDX-License-Identifier: BSD-3-Clause
// The pools of huge pages that an administrator has reserved (vm.nr_hugepages), as memory for the
// segments of a neighbourhood. Its pages are reserved for a job before they are used: a pool that
// is too small is not used at all, so that no access ends a process.
#pragma once

#include "../../other/base/log/status.h"

// Makes a file of huge pages for the segments of aq_job.segment_size, with the largest pages of
// which a pool has enough and no segment is smaller than one. Sets segment_pool and segment_page of
// aq_job.env; segment_pool stays -1 if no pool fits, which is no fault. Collective over the job;
// blocks. Logs faults.
aq_status_t aq_segment_pool_open(void);

// Closes the file, which the mappings keep. The segment_pool stays as it is.
void aq_segment_pool_close(void);
