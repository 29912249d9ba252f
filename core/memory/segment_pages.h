// SPDX-License-Identifier: BSD-3-Clause
// The pages of the segment of gex_Segment_Attach: huge ones, and all of them at once, where the
// user or a network wants that.
#pragma once

#include <stdint.h>

#include "../../other/base/log/status.h"

// With GASNET_USE_HUGEPAGES: asks the kernel for huge pages in the segments of the neighbourhood,
// unless these are in a pool (segment_pool.h). here[r]: where the segment of rank r is mapped, or
// NULL. Where the kernel gives none, the first rank of each host logs that.
void aq_segment_ask_huge_pages(void *const *here);

// Gives this rank's segment all its pages if GASNET_SEGMENT_TOUCH or a conduit asks for that, by
// all processors of the rank. Blocks. AQ_ERR_RESOURCE: the memory is not there; logged.
aq_status_t aq_segment_give_pages(void *segment, uintptr_t size);
