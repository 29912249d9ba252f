// SPDX-License-Identifier: BSD-3-Clause
// Segments of further endpoints that neighbours map, so that puts and gets to them are inline.
//
//     gex_Segment_Create      the memory is a file without a name, with guards beside it
//     publish                 tells the neighbours the file; each maps it, with guards beside it
//     gex_Segment_Destroy     cuts the file to 0 bytes: from now on every access faults, everywhere
//     notice                  also tells the neighbours to give up the mapping (segment_revoke.h)
//
// A neighbour that gives up a mapping leaves its addresses without access until the endpoint index
// gets another segment, so an access that comes late faults and hits no other memory. Memory that
// the client brings is not mapped: the kernel copies (cma_copy.h). Nor is the segment of an
// endpoint with an identity: puts and gets to it are messages, as between hosts.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../other/base/memory/memfile.h"
#include "../state/job.h"

// ---- memory of this process ----

// Memory for a segment: whole pages, filled with zeros.
typedef struct aq_segment_memory {
    void *addr;
    size_t size;
    size_t guard; // bytes without access on both sides
    int fd;       // of the file that neighbours can map; -1: there is none
} aq_segment_memory_t;

// Allocates size bytes, a multiple of the page size. Without a file if this process has many files
// open (logged once), or if there is no room for one. Returns false, unlogged, if memory is out.
bool aq_segment_memory_allocate(size_t size, aq_segment_memory_t *out);

// Frees the memory here. Accesses of neighbours to it fault from now on.
void aq_segment_memory_free(const aq_segment_memory_t *memory);

// ---- mappings of published segments ----

// A segment as its process publishes it.
typedef struct aq_segment_source {
    aq_memfile_ticket_t file; // pid 0: neighbours cannot map it
    uint64_t offset;          // in the file
    uint64_t serial;          // of the binding to its endpoint; later bindings have larger numbers
    uintptr_t addr, size;     // as its process sees it
} aq_segment_source_t;

// By endpoint index: what to add to addresses of a job rank's segment to reach them here; odd: not
// mapped. NULL: no neighbour's segment with this index is mapped. Made once, never freed. That of
// index 0 is aq_job.shift, in jobs that may grow.
extern _Atomic(intptr_t *) aq_segment_map_shifts[GASNET_MAXEPS];

// For a rank other than this one, and endpoint 1 or more. Any thread; does not block.
static inline intptr_t aq_segment_map_shift(uint32_t jobrank, gex_EP_Index_t ep)
{
    const intptr_t *shifts = atomic_load_explicit(&aq_segment_map_shifts[ep], memory_order_acquire);
    return shifts ? __atomic_load_n(&shifts[jobrank], __ATOMIC_RELAXED) : AQ_UNMAPPED;
}

// Maps the published segment of an endpoint of a job rank in place of an earlier one, if that rank
// is a neighbour and there is room; if the rank is this one, only notes the address. Endpoint 0:
// only in a job that may grow; then aq_team_refresh updates the teams. Returns true if the table
// of this index is new: aq_team_refresh_pairs then gives it to pairs. Blocks for a moment; no
// other thread uses the endpoint meanwhile.
bool aq_segment_map(uint32_t jobrank, gex_EP_Index_t ep, const aq_segment_source_t *source);

// Notes the published segment of the primordial endpoint of a neighbour without mapping it; it is
// not mapped already. Blocks for a moment.
void aq_segment_map_note(uint32_t jobrank, const aq_segment_source_t *source);

// Gives up the mapping of that segment if its serial is at most this one. Any thread.
void aq_segment_unmap(uint32_t jobrank, gex_EP_Index_t ep, uint64_t serial);

// The serial of the binding that a neighbour has published for an endpoint, if these bytes are in
// its segment, mapped or not; 0: they are not, or there is none. Any thread.
uint64_t aq_segment_map_serial(uint32_t jobrank, gex_EP_Index_t ep, const void *addr,
                               size_t nbytes);

// The mapping that an address of this process belongs to.
typedef struct aq_segment_near {
    uint32_t rank;
    gex_EP_Index_t ep;
    uintptr_t addr; // as that rank sees it
    uintptr_t start, size;
    bool gone; // the address was in the segment, which was destroyed
} aq_segment_near_t;

// Finds the mapping in or beside which an access to an address here has faulted. Returns false if
// there is none. Async-signal-safe.
bool aq_segment_map_find(uintptr_t here, aq_segment_near_t *near);
