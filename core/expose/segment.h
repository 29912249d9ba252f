// SPDX-License-Identifier: BSD-3-Clause
// The segment that gex_Segment_Attach gives to a process, its size limits, and queries of segments.
#pragma once

#include "../../other/base/log/status.h"
#include "../endpoint/segment_map.h"
#include "../gasnetex_core.h"

// Computes the smallest limit of all present ranks. Collective, at init; also a barrier. Logs
// faults.
aq_status_t aq_segment_agree_on_limit(void);

// As aq_segment_agree_on_limit, when ranks have joined: the limit of this rank stays as it is.
aq_status_t aq_segment_share_limit(void);

// Describes the segment of an endpoint of this process to other processes; size 0: there is none.
void aq_segment_describe(gex_EP_t ep, aq_segment_source_t *out);

// For a client of GASNET_SEGMENT_EVERYTHING: makes all memory of each rank its segment. At init.
void aq_segment_everything(void);

// Makes size bytes at addr, which are reserved at all ranks, the segment of ep, the primordial
// endpoint. Neighbours have mapped it already. Collective, once, instead of gex_Segment_Attach;
// blocks. Returns GASNET_OK or GASNET_ERR_RESOURCE.
int aq_segment_attach_reserved(gex_Segment_t *segment_p, gex_EP_t ep, void *addr, uintptr_t size);

// For a client that needs segments at the same address at all ranks: gex_Segment_Attach fails at
// all ranks if it cannot provide them. Before the segment is attached.
void aq_segment_require_aligned(void);

// For gasnet_attach, which accepts at most gasnet_getMaxLocalSegmentSize(): returns GASNET_OK if
// size is legal for this rank's segment, otherwise GASNET_ERR_BAD_ARG after a message that names
// the call.
int aq_segment_check_limit(const char *call, uintptr_t size);

// Registers how gex_Segment_Attach announces a segment in a job that has grown: collectively over
// the primordial team of this process; returns when all present ranks know the segment.
void aq_segment_tell_with(void (*tell)(const aq_segment_source_t *segment));
