// SPDX-License-Identifier: BSD-3-Clause
// The pages of the segment of gex_Segment_Attach: huge ones, and all of them at once, where the
// user or a network wants that.
#ifndef AQ_SEGMENT_PAGES_H
#define AQ_SEGMENT_PAGES_H

#include <stdint.h>

#include "../../other/base/log/status.h"

// Asks the kernel for huge pages in the segments of the neighbourhood, which are mapped at here[r],
// or NULL (GASNET_USE_HUGEPAGES), unless they are in the pool (segment_pool.h). Where the kernel
// gives none, a rank of each host says so.
void aq_segment_ask_huge_pages(void *const *here);

// Gives this rank's segment all its pages if GASNET_SEGMENT_TOUCH or a conduit asks for that, by
// all processors of the rank. Blocks. AQ_ERR_RESOURCE: the memory is not there; logged.
aq_status_t aq_segment_give_pages(void *segment, uintptr_t size);

#endif
