// SPDX-License-Identifier: BSD-3-Clause
// The bound segments of all ranks. Those of primordial endpoints, attached or published, are in the
// table of the job; those of further endpoints, which are few, are in a tree of published segments.
#include <search.h>
#include <stdlib.h>

#include "../ground/fatal.h"
#include "../state/job.h"
#include "mapped.h"
#include "cma_copy.h"
#include "reserved_pages.h"
#include "segment_table.h"
#include "../endpoint/team.h"

typedef struct published {
    uint32_t rank;
    gex_EP_Index_t ep;
    bool guarded; // the endpoint has an identity
    uintptr_t addr, size;
} published_t;

static atomic_bool any_published; // a segment of a primordial endpoint, by gex_EP_BindSegment

static void *tree; // of published_t, by rank and ep
static aq_lock_t tree_lock;
static atomic_bool any_guarded; // the tree has, or had, a guarded segment

static int compare_published(const void *a, const void *b)
{
    const published_t *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->ep < y->ep ? -1 : x->ep > y->ep;
}

// Records the segment of a primordial endpoint. Other processes do not map one that was not
// attached, so the limits of Longs become those of unmapped memory.
static void publish_primordial(uint32_t rank, uintptr_t addr, uintptr_t size)
{
    if (aq_job.segment_addr[rank] == addr && aq_job.segment_size[rank] == size)
        return; // recorded by gex_Segment_Attach
    atomic_store_explicit(&any_published, true, memory_order_relaxed);
    aq_job.segment_addr[rank] = addr;
    aq_job.segment_size[rank] = size;
    aq_job.limits.long_reply = aq_job.limits.long_request = aq_job.limits.long_unmapped;
}

void aq_segment_publish(uint32_t rank, gex_EP_Index_t ep, uintptr_t addr, uintptr_t size,
                        bool guarded)
{
    if (ep == 0) {
        publish_primordial(rank, addr, size);
        return;
    }
    published_t *entry = aq_allocate(sizeof *entry, "the segment of a further endpoint");
    *entry = (published_t){rank, ep, guarded, addr, size};
    if (guarded)
        atomic_store_explicit(&any_guarded, true, memory_order_relaxed);
    aq_lock_take(&tree_lock);
    published_t **found = tsearch(entry, &tree, compare_published);
    if (found && *found != entry) {
        **found = *entry;
        free(entry);
    }
    aq_lock_drop(&tree_lock);
    if (!found)
        aq_fatal("gex_EP_PublishBoundSegment: out of memory for endpoint %u of rank %u", ep, rank);
}

bool aq_segment_guarded(uint32_t rank, gex_EP_Index_t ep)
{
    const published_t key = {.rank = rank, .ep = ep};
    if (!atomic_load_explicit(&any_guarded, memory_order_relaxed))
        return false;
    aq_lock_take(&tree_lock);
    published_t **found = tfind(&key, &tree, compare_published);
    const bool guarded = found && (*found)->guarded;
    aq_lock_drop(&tree_lock);
    return guarded;
}

static bool find_published(uint32_t rank, gex_EP_Index_t ep, uintptr_t *addr, uintptr_t *size)
{
    published_t key = {.rank = rank, .ep = ep};
    aq_lock_take(&tree_lock);
    published_t **found = tfind(&key, &tree, compare_published);
    if (found) {
        *addr = (*found)->addr;
        *size = (*found)->size;
    }
    aq_lock_drop(&tree_lock);
    return found != NULL;
}

bool aq_segment_bounds(uint32_t rank, gex_EP_Index_t ep, uintptr_t *addr, uintptr_t *size)
{
    if (ep == 0) {
        *addr = aq_job.segment_addr[rank];
        *size = aq_job.segment_size[rank];
        return *size != 0;
    }
    if (rank != aq_job.rank)
        return find_published(rank, ep, addr, size);
    return aq_segment_own_bounds(ep, addr, size);
}

bool aq_segment_contains(uint32_t rank, gex_EP_Index_t ep, const void *addr, size_t nbytes)
{
    uintptr_t start, size;
    if (!aq_segment_bounds(rank, ep, &start, &size))
        return nbytes == 0;
    const uintptr_t offset = (uintptr_t)addr - start;
    return offset <= size && nbytes <= size - offset &&
           (rank != aq_job.rank || aq_reserved_allows(addr, nbytes));
}

void aq_segment_refuse(const char *call, const char *kind, uint32_t rank, gex_EP_Index_t ep,
                       const void *addr, size_t nbytes)
{
    uintptr_t start = 0, size = 0;
    const bool bound = aq_segment_bounds(rank, ep, &start, &size);
    if (!bound && !ep)
        aq_fatal("%s%s: %zu bytes at %p are not inside the segment of rank %u, which has none "
                 "attached",
                 call, kind, nbytes, addr, rank);
    if (!bound)
        aq_fatal("%s%s: %zu bytes at %p: endpoint %u of rank %u has published no segment to this "
                 "rank",
                 call, kind, nbytes, addr, ep, rank);
    aq_fatal("%s%s: %zu bytes at %p are not inside the segment of rank %u (%p to %p, %lu bytes)",
             call, kind, nbytes, addr, rank, (void *)start, (void *)(start + size),
             (unsigned long)size);
}

void aq_segment_check(const char *call, const char *kind, uint32_t rank, gex_EP_Index_t ep,
                      const void *addr, size_t nbytes)
{
    if (AQ_CHECKS && nbytes && !aq_segment_contains(rank, ep, addr, nbytes))
        aq_segment_refuse(call, kind, rank, ep, addr, nbytes);
}

// ---- memory of this process that peers may write and read ----

aq_segment_attached_t aq_segment_attached;

typedef struct bounds {
    uintptr_t addr, size;
    bool guarded; // the endpoint has an identity
} bounds_t;

static bounds_t bound[GASNET_MAXEPS]; // size 0: no segment of gex_Segment_Create is bound
static aq_lock_t bound_lock;

void aq_segment_attach_bounds(uintptr_t addr, uintptr_t size)
{
    atomic_store_explicit(&aq_segment_attached.addr, addr, memory_order_relaxed);
    atomic_store_explicit(&aq_segment_attached.size, size, memory_order_release);
}

static bool all_memory; // GASNET_SEGMENT_EVERYTHING

void aq_segment_all_memory(void)
{
    all_memory = true;
}

bool aq_segment_may_vanish(void)
{
    return all_memory || atomic_load_explicit(&any_published, memory_order_relaxed);
}

void aq_segment_bind_bounds(gex_EP_Index_t ep, uintptr_t addr, uintptr_t size)
{
    const gex_EP_t made = aq_endpoint_at(ep);
    const bool guarded = made && made->identity;
    aq_lock_take(&bound_lock);
    bound[ep] = (bounds_t){addr, size, guarded};
    aq_cma_copy_open(ep, size && made && !guarded ? made->bound_serial : 0);
    aq_lock_drop(&bound_lock);
}

bool aq_segment_own_bounds(gex_EP_Index_t ep, uintptr_t *addr, uintptr_t *size)
{
    *addr = *size = 0;
    if (ep >= GASNET_MAXEPS)
        return false;
    if (ep == 0 && all_memory) {
        *size = UINTPTR_MAX;
        return true;
    }
    if (ep == 0 &&
        (*size = atomic_load_explicit(&aq_segment_attached.size, memory_order_acquire))) {
        *addr = atomic_load_explicit(&aq_segment_attached.addr, memory_order_relaxed);
        return true;
    }
    aq_lock_take(&bound_lock);
    *addr = bound[ep].addr;
    *size = bound[ep].size;
    aq_lock_drop(&bound_lock);
    return *size != 0;
}

bool aq_segment_open_bounds(gex_EP_Index_t ep, uintptr_t *addr, uintptr_t *size)
{
    aq_lock_take(&bound_lock);
    const bool guarded = ep < GASNET_MAXEPS && bound[ep].guarded;
    aq_lock_drop(&bound_lock);
    if (!guarded)
        return aq_segment_own_bounds(ep, addr, size);
    *addr = *size = 0;
    return false;
}

static bool bounds_hold(const bounds_t *bounds, const void *addr, size_t nbytes)
{
    const uintptr_t offset = (uintptr_t)addr - bounds->addr;
    return offset <= bounds->size && nbytes <= bounds->size - offset;
}

bool aq_segment_holds_bound(const void *addr, size_t nbytes)
{
    bool holds = nbytes == 0;
    if (all_memory)
        return aq_mapped(addr, nbytes, false);
    aq_lock_take(&bound_lock);
    for (unsigned i = 0; !holds && i < aq_endpoint_count(); i++)
        holds = !bound[i].guarded && bounds_hold(&bound[i], addr, nbytes);
    aq_lock_drop(&bound_lock);
    return holds && aq_reserved_allows(addr, nbytes);
}

bool aq_segment_admits(gex_EP_Index_t ep, const void *addr, size_t nbytes)
{
    aq_lock_take(&bound_lock);
    const bool own = ep < GASNET_MAXEPS && bound[ep].size && bounds_hold(&bound[ep], addr, nbytes);
    aq_lock_drop(&bound_lock);
    return own || aq_segment_holds(addr, nbytes);
}

// The address at which this process has mapped the segment of an endpoint, or NULL.
static void *local_address(uint32_t rank, gex_EP_Index_t ep, uintptr_t addr)
{
    intptr_t shift = aq_team_shift(rank, ep);
    return shift & 1 ? NULL : (void *)(addr + (uintptr_t)shift);
}

gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p,
                                       void **localaddr_p, uintptr_t *size_p, gex_Flags_t flags)
{
    aq_job_need("gex_EP_QueryBoundSegmentNB");
    if (!(flags & GEX_FLAG_IMMEDIATE))
        aq_thread_check_call("gex_EP_QueryBoundSegmentNB without GEX_FLAG_IMMEDIATE");
    aq_bounds_rank("gex_EP_QueryBoundSegmentNB", "rank", rank, tm->size);
    uint32_t jobrank = aq_tm_jobrank(tm, rank);
    gex_EP_Index_t ep = aq_team_ep_pair(aq_team_of(tm), rank).to;
    uintptr_t addr = 0, size = 0;
    aq_segment_bounds(jobrank, ep, &addr, &size);
    if (size_p)
        *size_p = size;
    if (owneraddr_p)
        *owneraddr_p = (void *)addr;
    if (localaddr_p)
        *localaddr_p = local_address(jobrank, ep, addr);
    return GEX_EVENT_INVALID;
}

int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p,
                           uintptr_t *size_p)
{
    aq_job_need("gex_Segment_QueryBound");
    aq_bounds_rank("gex_Segment_QueryBound", "rank", rank, tm->size);
    uintptr_t addr, size;
    if (!aq_segment_bounds(aq_tm_jobrank(tm, rank), aq_team_ep_pair(aq_team_of(tm), rank).to, &addr,
                           &size))
        return GASNET_ERR_NOT_READY;
    gex_EP_QueryBoundSegmentNB(tm, rank, owneraddr_p, localaddr_p, size_p, GEX_FLAG_IMMEDIATE);
    return GASNET_OK;
}
