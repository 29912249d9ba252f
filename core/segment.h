// Segments: how large they may be, and where those of all ranks are.
#ifndef AQ_SEGMENT_H
#define AQ_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../other/base/status.h"
#include "gasnet_fwd.h"

// Collective, at init: all ranks agree on the least of their limits. Also a barrier.
aq_status_t aq_segment_agree_on_limit(void);

// For a client of GASNET_SEGMENT_EVERYTHING: makes all memory of each rank its segment. At init.
void aq_segment_everything(void);

// The segment of endpoint ep of a rank, as its owner sees it. Returns false if none is known here.
bool aq_segment_bounds(uint32_t rank, gex_EP_Index_t ep, uintptr_t *addr, uintptr_t *size);

// The segment of an endpoint of this process, with any number. Returns false, and an empty segment,
// if there is none. Safe while other threads bind and destroy segments.
bool aq_segment_own_bounds(gex_EP_Index_t ep, uintptr_t *addr, uintptr_t *size);

// Records the segment that a process has published for one of its endpoints; also that the
// primordial endpoint of this process was bound.
void aq_segment_publish(uint32_t rank, gex_EP_Index_t ep, uintptr_t addr, uintptr_t size);

// Whether [addr, addr + nbytes) is inside that segment.
bool aq_segment_contains(uint32_t rank, gex_EP_Index_t ep, const void *addr, size_t nbytes);

// ---- which memory of this process peers may write and read ----

// The segment that gex_Segment_Attach gave to this process, or all memory
// (GASNET_SEGMENT_EVERYTHING). It changes once, from none to what it is.
typedef struct aq_segment_attached {
    atomic_uintptr_t addr, size;
} aq_segment_attached_t;

extern aq_segment_attached_t aq_segment_attached;

// As aq_segment_holds, for segments that the client has created and bound to endpoints of this
// process.
bool aq_segment_holds_bound(const void *addr, size_t nbytes);

// Records the attached segment, and the segment bound to an endpoint of this process from now on;
// size 0: none.
void aq_segment_attach_bounds(uintptr_t addr, uintptr_t size);
void aq_segment_bind_bounds(gex_EP_Index_t ep, uintptr_t addr, uintptr_t size);

// Whether peers may write and read all these bytes: whether they lie in one segment of this
// process. Zero bytes are always allowed. Every address in a message is checked by this before use.
// Any thread; does not block.
static inline bool aq_segment_holds(const void *addr, size_t nbytes)
{
    const uintptr_t size =
        atomic_load_explicit(&aq_segment_attached.size, memory_order_acquire); // before addr
    const uintptr_t offset =
        (uintptr_t)addr - atomic_load_explicit(&aq_segment_attached.addr, memory_order_relaxed);
    return __builtin_expect(offset <= size && nbytes <= size - offset, 1) ||
           aq_segment_holds_bound(addr, nbytes);
}

// For gasnet_attach, which does not go beyond gasnet_getMaxLocalSegmentSize(): GASNET_OK when size
// is legal for this rank's segment, else GASNET_ERR_BAD_ARG after a message that names the call.
int aq_segment_check_limit(const char *call, uintptr_t size);

// For debug builds: ends the job unless these bytes are inside that segment. The name of the call
// is both words together.
void aq_segment_check(const char *call, const char *kind, uint32_t rank, gex_EP_Index_t ep,
                      const void *addr, size_t nbytes);

#endif
