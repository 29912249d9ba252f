// The pool of huge pages that an administrator has reserved (vm.nr_hugepages), as memory for the
// segments of a neighbourhood. Its pages are reserved for a job before they are used: a pool that
// is too small is not used at all, so that no access ends a process.
#ifndef AQ_SEGMENT_POOL_H
#define AQ_SEGMENT_POOL_H

#include "../other/base/status.h"

// Makes a file from the pool for the segments of aq_job.segment_size, where these have huge pages
// or more and the pool has enough: aq_job.env.segment_pool, otherwise -1. Collective over the job;
// blocks. Logs faults; that there is no file is none.
aq_status_t aq_segment_pool_open(void);

// Closes the file, which the mappings keep. The segment_pool stays as it is.
void aq_segment_pool_close(void);

#endif
