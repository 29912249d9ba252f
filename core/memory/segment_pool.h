// SPDX-License-Identifier: BSD-3-Clause
// The pools of huge pages that an administrator has reserved (vm.nr_hugepages), as memory for the
// segments of a neighbourhood. Its pages are reserved for a job before they are used: a pool that
// is too small is not used at all, so that no access ends a process.
#ifndef AQ_SEGMENT_POOL_H
#define AQ_SEGMENT_POOL_H

#include "../../other/base/log/status.h"

// Makes a file from a pool for the segments of aq_job.segment_size: from the one with the largest
// pages of those where no segment is smaller than a page and there are enough of them, as
// aq_job.env.segment_pool with segment_page; otherwise -1. Collective over the job;
// blocks. Logs faults; that there is no file is none.
aq_status_t aq_segment_pool_open(void);

// Closes the file, which the mappings keep. The segment_pool stays as it is.
void aq_segment_pool_close(void);

#endif
