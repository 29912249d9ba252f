#include "segment.h"

#include <stdlib.h>
#include <string.h>

#include "../other/settings.h"
#include "../other/size.h"
#include "endpoint.h"
#include "exit.h"
#include "fatal.h"
#include "job.h"
#include "team.h"

static uint64_t local_limit, global_limit;
static struct gex_segment segment;

// What GASNET_MAX_SEGSIZE leaves for one process, with the rings of this host taken off where it
// says so.
static uint64_t find_local_limit(void)
{
    const aq_size_limit_t *limit = aq_settings_limit(AQ_SET_MAX_SEGSIZE);
    double bytes = limit->fraction > 0 ? limit->fraction * (double)aq_size_physical_memory()
                                       : (double)limit->bytes;
    if (limit->per_host) {
        size_t rings;
        gasnetx_memory(NULL, &rings, NULL);
        bytes = bytes / aq_job.host.size - (double)rings;
    }
    if (bytes < GASNET_PAGESIZE)
        return GASNET_PAGESIZE;
    return (uint64_t)bytes / GASNET_PAGESIZE * GASNET_PAGESIZE;
}

aq_status_t aq_segment_agree_on_limit(void)
{
    uint64_t *all = malloc(aq_job.size * sizeof *all);
    if (!all) {
        aq_log_error("out of memory for the segment limits of %u ranks", aq_job.size);
        return AQ_ERR_RESOURCE;
    }
    local_limit = global_limit = find_local_limit();
    aq_status_t status =
        aq_job.boot->ops->exchange(aq_job.boot, &local_limit, sizeof local_limit, all);
    for (uint32_t r = 0; status == AQ_OK && r < aq_job.size; r++)
        global_limit = all[r] < global_limit ? all[r] : global_limit;
    free(all);
    return status;
}

uintptr_t gasnet_getMaxLocalSegmentSize(void)
{
    return local_limit;
}

uintptr_t gasnet_getMaxGlobalSegmentSize(void)
{
    return global_limit;
}

const intptr_t *aq_segment_unmapped(void)
{
    static intptr_t *table;
    if (!table) {
        table = malloc(aq_job.size * sizeof *table);
        if (!table)
            aq_fatal("out of memory for the checks of %u ranks", aq_job.size);
        for (uint32_t r = 0; r < aq_job.size; r++)
            table[r] = AQ_UNMAPPED;
    }
    return table;
}

bool aq_segment_contains(uint32_t rank, const void *addr, size_t nbytes)
{
    uintptr_t offset = (uintptr_t)addr - aq_job.segment_addr[rank];
    uintptr_t size = aq_job.segment_size[rank];
    return offset <= size && nbytes <= size - offset;
}

void aq_segment_check(const char *call, const char *kind, uint32_t rank, const void *addr,
                      size_t nbytes)
{
    uintptr_t start = aq_job.segment_addr[rank], size = aq_job.segment_size[rank];
    AQ_CHECK(!nbytes || size,
             "%s%s: %zu bytes at %p are not inside the segment of rank %u, which has none attached",
             call, kind, nbytes, addr, rank);
    AQ_CHECK(!nbytes || aq_segment_contains(rank, addr, nbytes),
             "%s%s: %zu bytes at %p are not inside the segment of rank %u (%p to %p, %lu bytes)",
             call, kind, nbytes, addr, rank, (void *)start, (void *)(start + size),
             (unsigned long)size);
}

static int check_size(uintptr_t size)
{
    if (size && size % GASNET_PAGESIZE == 0 && size <= local_limit)
        return GASNET_OK;
    if (size > local_limit)
        aq_log_error("gex_Segment_Attach: a segment of %lu bytes is larger than this rank may have "
                     "(%lu): ask for less, "
                     "start fewer ranks on this host, or raise GASNET_MAX_SEGSIZE (now %s) if the "
                     "memory is there",
                     (unsigned long)size, (unsigned long)local_limit,
                     aq_settings_given(AQ_SET_MAX_SEGSIZE)
                         ? getenv("GASNET_MAX_SEGSIZE")
                         : aq_settings[AQ_SET_MAX_SEGSIZE].fallback);
    else
        aq_log_error("gex_Segment_Attach: a size of %lu bytes is no non-zero multiple of "
                     "GASNET_PAGESIZE (%d)",
                     (unsigned long)size, GASNET_PAGESIZE);
    return GASNET_ERR_BAD_ARG;
}

// The conduit of this host maps the segments of the neighbourhood; then all ranks tell where
// theirs is.
static aq_status_t map_segments(uintptr_t *sizes, void **here)
{
    const aq_group_t *nbrhd = &aq_job.nbrhd;
    aq_conduit_t *shared = aq_job.conduits[0];
    for (uint32_t i = 0; i < nbrhd->size; i++)
        sizes[i] = aq_job.segment_size[nbrhd->members[i].gex_jobrank];
    aq_status_t status = shared->ops->share_segments(shared, sizes, here);
    if (status != AQ_OK)
        return status;
    uintptr_t mine = (uintptr_t)here[nbrhd->my_index];
    status = aq_job.boot->ops->exchange(aq_job.boot, &mine, sizeof mine, aq_job.segment_addr);
    for (uint32_t i = 0; status == AQ_OK && i < nbrhd->size; i++) {
        uint32_t rank = nbrhd->members[i].gex_jobrank;
        aq_job.shift[rank] = (intptr_t)((uintptr_t)here[i] - aq_job.segment_addr[rank]);
    }
    segment.addr = (void *)mine;
    return status;
}

static aq_status_t attach(uintptr_t size)
{
    aq_status_t status =
        aq_job.boot->ops->exchange(aq_job.boot, &size, sizeof size, aq_job.segment_size);
    if (status != AQ_OK)
        return status;
    uintptr_t *sizes = malloc(aq_job.nbrhd.size * sizeof *sizes);
    void **here = malloc(aq_job.nbrhd.size * sizeof *here);
    if (sizes && here) {
        status = map_segments(sizes, here);
    } else {
        aq_log_error("out of memory for the segments of %u ranks", aq_job.nbrhd.size);
        status = AQ_ERR_RESOURCE;
    }
    free(sizes);
    free(here);
    if (status != AQ_OK)
        memset(aq_job.segment_size, 0, aq_job.size * sizeof *aq_job.segment_size);
    return status;
}

int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size)
{
    gex_EP_t ep = gex_TM_QueryEP(tm);
    if (AQ_CHECKS)
        aq_thread_check_context("gex_Segment_Attach", "");
    if (ep->segment) {
        aq_log_error(
            "gex_Segment_Attach was called a second time: one segment a process is supported");
        return GASNET_ERR_RESOURCE;
    }
    int result = check_size(size);
    if (result != GASNET_OK)
        return result;
    if (attach(size) != AQ_OK) {
        aq_exit_if_ended();
        return GASNET_ERR_RESOURCE;
    }
    segment.client = ep->client;
    segment.size = size;
    ep->segment = &segment;
    if (segment_p)
        *segment_p = &segment;
    return GASNET_OK;
}

gex_Client_t gex_Segment_QueryClient(gex_Segment_t seg)
{
    return seg->client;
}

gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t seg)
{
    (void)seg;
    return 0;
}

void *gex_Segment_QueryAddr(gex_Segment_t seg)
{
    return seg->addr;
}

uintptr_t gex_Segment_QuerySize(gex_Segment_t seg)
{
    return seg->size;
}

void gex_Segment_SetCData(gex_Segment_t seg, const void *val)
{
    seg->cdata = (void *)(uintptr_t)val;
}

void *gex_Segment_QueryCData(gex_Segment_t seg)
{
    return seg->cdata;
}

gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p,
                                       void **localaddr_p, uintptr_t *size_p, gex_Flags_t flags)
{
    if (AQ_CHECKS && !(flags & GEX_FLAG_IMMEDIATE))
        aq_thread_check_context("gex_EP_QueryBoundSegmentNB without GEX_FLAG_IMMEDIATE", "");
    AQ_CHECK(rank < tm->size, "gex_EP_QueryBoundSegmentNB: rank %u is not below the team's size %u",
             rank, tm->size);
    uint32_t jobrank = aq_tm_jobrank(tm, rank);
    intptr_t shift = aq_job.shift[jobrank];
    if (size_p)
        *size_p = aq_job.segment_size[jobrank];
    if (owneraddr_p)
        *owneraddr_p = (void *)aq_job.segment_addr[jobrank];
    if (localaddr_p)
        *localaddr_p = shift & 1 ? NULL : (void *)(aq_job.segment_addr[jobrank] + (uintptr_t)shift);
    return GEX_EVENT_INVALID;
}

int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p,
                           uintptr_t *size_p)
{
    AQ_CHECK(rank < tm->size, "gex_Segment_QueryBound: rank %u is not below the team's size %u",
             rank, tm->size);
    if (!aq_job.segment_size[aq_tm_jobrank(tm, rank)])
        return GASNET_ERR_NOT_READY;
    gex_EP_QueryBoundSegmentNB(tm, rank, owneraddr_p, localaddr_p, size_p, GEX_FLAG_IMMEDIATE);
    return GASNET_OK;
}
