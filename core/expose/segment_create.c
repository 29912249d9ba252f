// SPDX-License-Identifier: BSD-3-Clause
// Segments of gex_Segment_Create, and their binding to endpoints.
#include <stdlib.h>

#include "../ground/errors.h"
#include "../endpoint/endpoint.h"
#include "../state/job.h"
#include "../memory/segment_table.h"
#include "../endpoint/segment_map.h"
#include "segment_revoke.h"
#include "../endpoint/team.h"

static int check_create(gex_Addr_t address, uintptr_t length, gex_MK_t kind, gex_Flags_t flags)
{
    if (kind != GEX_MK_HOST)
        return aq_refuse(GASNET_ERR_BAD_ARG,
                         "gex_Segment_Create: kind 0x%lx is not GEX_MK_HOST: this library "
                         "knows no device memory",
                         (unsigned long)(uintptr_t)kind);
    if (!length)
        return aq_refuse(GASNET_ERR_BAD_ARG,
                         "gex_Segment_Create: the length is %lu bytes; give 1 at least", length);
    if (length > AQ_ADDRESS_SPACE || length > UINTPTR_MAX - (uintptr_t)address)
        return aq_refuse(GASNET_ERR_BAD_ARG,
                         "gex_Segment_Create: %lu bytes at %p are more than the address space of a "
                         "process holds (%lu bytes)",
                         length, address, AQ_ADDRESS_SPACE);
    if (flags)
        return aq_refuse(GASNET_ERR_BAD_ARG, "gex_Segment_Create: flags are 0x%x and have to be 0",
                         flags);
    return GASNET_OK;
}

int gex_Segment_Create(gex_Segment_t *segment_p, gex_Client_t client, gex_Addr_t address,
                       uintptr_t length, gex_MK_t kind, gex_Flags_t flags)
{
    aq_job_need("gex_Segment_Create");
    int result = check_create(address, length, kind, flags);
    if (result != GASNET_OK)
        return result;
    struct gex_segment new = {.client = client, .addr = address, .size = length};
    if (!address) {
        new.size = (length + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE *GASNET_PAGESIZE;
        new.allocated = aq_segment_memory_allocate(new.size, &new.memory);
        new.addr = new.memory.addr;
    }
    gex_Segment_t made = malloc(sizeof *made);
    if (!made || !new.addr) {
        if (new.allocated)
            aq_segment_memory_free(&new.memory);
        free(made);
        return aq_refuse(GASNET_ERR_RESOURCE, "gex_Segment_Create: no memory for %lu bytes",
                         length);
    }
    *made = new;
    *segment_p = made;
    return GASNET_OK;
}

// Checks all endpoints, including those that other threads create and bind meanwhile.
static void unbind_segment(gex_Segment_t seg)
{
    aq_lock_take(&aq_endpoint_lock);
    for (gex_EP_Index_t i = 0; i < aq_endpoint_count(); i++) {
        gex_EP_t ep = aq_endpoint_at(i);
        if (!ep || ep->segment != seg)
            continue;
        ep->segment = GEX_SEGMENT_INVALID;
        aq_segment_bind_bounds(i, 0, 0); // before the memory is freed
        aq_segment_revoke(ep);
        if (i == 0)
            aq_job.segment_size[aq_job.rank] = 0;
    }
    aq_lock_drop(&aq_endpoint_lock);
}

void gex_Segment_Destroy(gex_Segment_t seg, gex_Flags_t flags)
{
    (void)flags;
    if (seg->attached) {
        aq_log_error("gex_Segment_Destroy: the segment of gex_Segment_Attach cannot be destroyed");
        return;
    }
    unbind_segment(seg);
    if (seg->allocated)
        aq_segment_memory_free(&seg->memory);
    free(seg);
}

static uint64_t last_serial; // of a binding

static bool bind_if_unbound(gex_EP_t ep, gex_Segment_t seg)
{
    aq_lock_take(&aq_endpoint_lock);
    const bool unbound =
        !ep->segment && (ep->index || aq_job.env.segment_mode != AQ_SEGMENT_EVERYTHING);
    if (unbound) {
        ep->segment = seg;
        ep->bound_serial = ++last_serial;
        ep->published = false;
        aq_segment_bind_bounds(ep->index, (uintptr_t)seg->addr, seg->size);
    }
    aq_lock_drop(&aq_endpoint_lock);
    return unbound;
}

int gex_EP_BindSegment(gex_EP_t ep, gex_Segment_t seg, gex_Flags_t flags)
{
    aq_job_need("gex_EP_BindSegment");
    if (ep == GEX_EP_INVALID || seg == GEX_SEGMENT_INVALID || flags)
        return aq_refuse(GASNET_ERR_BAD_ARG,
                         "gex_EP_BindSegment: GEX_EP_INVALID, GEX_SEGMENT_INVALID or flags 0x%x",
                         flags);
    if (!bind_if_unbound(ep, seg))
        return aq_refuse(GASNET_ERR_BAD_ARG,
                         "gex_EP_BindSegment: endpoint %u has a bound segment already", ep->index);
    if (!ep->index) {
        aq_segment_publish(aq_job.rank, 0, (uintptr_t)seg->addr, seg->size, false);
        aq_team_map(aq_job.rank, 0);
        aq_team_refresh();
    }
    return GASNET_OK;
}
