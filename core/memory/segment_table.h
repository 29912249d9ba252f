// SPDX-License-Identifier: BSD-3-Clause
// The bound segments of all ranks, and the memory of this process that peers may access.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../other/base/log/status.h"
#include "../ground/bounds.h"
#include "../endpoint/segment_map.h"
#include "../gasnetex_core.h"

// Gets the segment of endpoint ep of a rank: the owner's address, and the size in bytes. Returns
// false if this process knows of none.
bool aq_segment_bounds(uint32_t rank, gex_EP_Index_t ep, uintptr_t *addr, uintptr_t *size);

// Gets the segment of an endpoint of this process; ep may have any value. Returns false and an
// empty segment if there is none. Other threads may bind and destroy segments meanwhile.
bool aq_segment_own_bounds(gex_EP_Index_t ep, uintptr_t *addr, uintptr_t *size);

// As aq_segment_own_bounds, for messages without a tag: the segment of an endpoint with an identity
// is empty.
bool aq_segment_open_bounds(gex_EP_Index_t ep, uintptr_t *addr, uintptr_t *size);

// Records the segment that a process has published for one of its endpoints; also that the
// primordial endpoint of this process was bound.
void aq_segment_publish(uint32_t rank, gex_EP_Index_t ep, uintptr_t addr, uintptr_t size,
                        bool guarded);

// Whether the segment of an endpoint of a rank is guarded: the endpoint has an identity. False if
// this process knows of no segment there. Any thread.
bool aq_segment_guarded(uint32_t rank, gex_EP_Index_t ep);

// Whether [addr, addr + nbytes) is inside that segment.
bool aq_segment_contains(uint32_t rank, gex_EP_Index_t ep, const void *addr, size_t nbytes);

// ---- memory of this process that peers may write and read ----

// The segment of gex_Segment_Attach. It changes once, when the segment is attached. Empty with
// GASNET_SEGMENT_EVERYTHING, so that each check asks the kernel whether the memory exists.
typedef struct aq_segment_attached {
    atomic_uintptr_t addr, size;
} aq_segment_attached_t;

extern aq_segment_attached_t aq_segment_attached;

// As aq_segment_holds, for segments of gex_Segment_Create that are bound to endpoints of this
// process.
bool aq_segment_holds_bound(const void *addr, size_t nbytes);

// Records the attached segment, and the segment bound to an endpoint of this process from now on;
// size 0: none.
void aq_segment_attach_bounds(uintptr_t addr, uintptr_t size);
// Makes all memory of this process the segment of its primordial endpoint.
void aq_segment_all_memory(void);
void aq_segment_bind_bounds(gex_EP_Index_t ep, uintptr_t addr, uintptr_t size);

// Whether memory in the known segment of the primordial endpoint of a rank may not exist: if all
// memory is the segment, or if some rank has published one that it may have destroyed.
bool aq_segment_may_vanish(void);

// For messages that prove the identity of an endpoint of this process: whether all of these bytes
// are in the segment of that endpoint, or aq_segment_holds is true. ep may have any value.
bool aq_segment_admits(gex_EP_Index_t ep, const void *addr, size_t nbytes);

// Whether peers may access these bytes: whether all of them are in one segment of this process, of
// an endpoint without an identity. Zero bytes are always allowed. Every address in a message is
// checked with this function before use. Any thread; does not block.
static inline bool aq_segment_holds(const void *addr, size_t nbytes)
{
    const uintptr_t size =
        atomic_load_explicit(&aq_segment_attached.size, memory_order_acquire); // before addr
    const uintptr_t offset =
        (uintptr_t)addr - atomic_load_explicit(&aq_segment_attached.addr, memory_order_relaxed);
    return __builtin_expect(offset <= size && nbytes <= size - offset, 1) ||
           aq_segment_holds_bound(addr, nbytes);
}

// Ends the job with one sentence: these bytes are not in that segment. The message names the call
// as call followed by kind.
void aq_segment_refuse(const char *call, const char *kind, uint32_t rank, gex_EP_Index_t ep,
                       const void *addr, size_t nbytes) __attribute__((noreturn, cold));

// For debug builds: as above, unless the bytes are in the segment.
void aq_segment_check(const char *call, const char *kind, uint32_t rank, gex_EP_Index_t ep,
                      const void *addr, size_t nbytes);
