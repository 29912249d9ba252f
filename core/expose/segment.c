// SPDX-License-Identifier: BSD-3-Clause
// gex_Segment_Attach: exchanges sizes and addresses, and has conduits map the segments and register
// them. Also limits of segments, which client.c agrees on at init, and queries.
#include "segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../other/base/settings/settings.h"
#include "../../other/base/size.h"
#include "../memory/address_range.h"
#include "../aqueduct.h"
#include "../endpoint/endpoint.h"
#include "../ground/fatal.h"
#include "../state/init_broadcast.h"
#include "../state/job.h"
#include "../memory/segment_pages.h"
#include "../memory/segment_pool.h"
#include "../memory/segment_table.h"
#include "../endpoint/team.h"
#include "../../other/base/minmax.h"

static uint64_t local_limit, global_limit;
static struct gex_segment segment;
static bool everything;
static bool aligned;         // the segments of all ranks begin at the same address
static bool must_be_aligned; // the client needs aligned segments

static void (*tell_others)(const aq_segment_source_t *segment);

void (*gasnet_client_attach_hook)(void *addr, uintptr_t size);

// The memory of this host in bytes. The process that started its ranks has found it out for all,
// since that takes a dozen system calls.
static double memory_of_host(void)
{
    uint64_t known = aq_job.boot->memory;
    return (double)(known > 0 ? known : aq_size_physical_memory());
}

// The share of GASNET_MAX_SEGSIZE for one process. If the setting is for a whole host, the rings of
// the host are subtracted first.
static uint64_t find_local_limit(void)
{
    const aq_size_limit_t *limit = aq_settings_limit(AQ_SET_MAX_SEGSIZE);
    double bytes = limit->fraction > 0 ? limit->fraction * memory_of_host() : (double)limit->bytes;
    if (limit->per_host) {
        size_t rings;
        gasnetx_memory(NULL, &rings, NULL);
        bytes = bytes / aq_job.host.size - (double)rings;
    }
    if (bytes < GASNET_PAGESIZE)
        return GASNET_PAGESIZE;
    return (uint64_t)bytes / GASNET_PAGESIZE * GASNET_PAGESIZE;
}

// At the end of init. Limits are whole pages, so the lowest bit of what a rank exchanges is free:
// it tells whether the rank has bytes to broadcast (init_broadcast.h).
aq_status_t aq_segment_share_limit(void)
{
    uint64_t *all = aq_allocate(aq_job.size * sizeof *all, "the segment limits of all ranks");
    const uint64_t mine = local_limit | aq_init_broadcast_told();
    aq_status_t status = aq_job.boot->ops->exchange(aq_job.boot, &mine, sizeof mine, all);
    global_limit = local_limit;
    for (uint32_t r = 0; status == AQ_OK && r < aq_job_present(); r++)
        global_limit = aq_min(all[r] & ~(uint64_t)1, global_limit);
    if (status == AQ_OK && all[0] & 1)
        status = aq_init_broadcast_spread();
    free(all);
    return status;
}

aq_status_t aq_segment_agree_on_limit(void)
{
    local_limit = everything ? UINTPTR_MAX : find_local_limit();
    return aq_segment_share_limit();
}

void aq_segment_everything(void)
{
    everything = true;
    for (uint32_t r = 0; r < aq_job.size; r++)
        aq_job.segment_size[r] = UINTPTR_MAX;
    aq_job.shift[aq_job.rank] = 0;
    aq_segment_all_memory();
}

uintptr_t gasnet_getMaxLocalSegmentSize(void)
{
    aq_job_need("gasnet_getMaxLocalSegmentSize");
    return local_limit;
}

uintptr_t gasnet_getMaxGlobalSegmentSize(void)
{
    aq_job_need("gasnet_getMaxGlobalSegmentSize");
    return global_limit;
}

static const char *limit_setting(void)
{
    return aq_settings_given(AQ_SET_MAX_SEGSIZE) ? getenv("GASNET_MAX_SEGSIZE")
                                                 : aq_settings[AQ_SET_MAX_SEGSIZE].fallback;
}

static int check_pages(const char *call, uintptr_t size)
{
    if (size && size % GASNET_PAGESIZE == 0 && size <= AQ_ADDRESS_SPACE)
        return GASNET_OK;
    if (size > AQ_ADDRESS_SPACE)
        aq_log_error("%s: a segment of %lu bytes is larger than the address space of a process "
                     "(%lu); ask for at most gasnet_getMaxLocalSegmentSize() (%lu)",
                     call, size, AQ_ADDRESS_SPACE, local_limit);
    else
        aq_log_error("%s: a size of %lu bytes is no non-zero multiple of GASNET_PAGESIZE (%d)",
                     call, size, GASNET_PAGESIZE);
    return GASNET_ERR_BAD_ARG;
}

int aq_segment_check_limit(const char *call, uintptr_t size)
{
    if (everything || size <= local_limit)
        return everything ? GASNET_OK : check_pages(call, size);
    aq_log_error(
        "%s: a segment of %lu bytes is larger than this rank may have (%lu): ask for less, start "
        "fewer ranks on this host, or raise GASNET_MAX_SEGSIZE (now %s) if the memory is there",
        call, size, local_limit, limit_setting());
    return GASNET_ERR_BAD_ARG;
}

// Called when the sizes of all ranks are known: one of the ranks whose segment is larger than their
// limit logs a warning.
static void warn_of_limit(void)
{
    const uintptr_t size = aq_job.segment_size[aq_job.rank];
    if (size <= local_limit)
        return;
    for (uint32_t r = 0; r < aq_job.rank; r++)
        if (aq_job.segment_size[r] > global_limit)
            return;
    aq_log_warn(
        "gex_Segment_Attach: a segment of %lu bytes is larger than gasnet_getMaxLocalSegmentSize() "
        "(%lu): the system ends the job if it uses more memory than there is; ask for less, or "
        "raise GASNET_MAX_SEGSIZE (now %s) if the memory is there",
        size, local_limit, limit_setting());
}

// A network that shares memory with ranks beyond the neighbourhood goes first; smp is the last
// choice.
static aq_status_t share_segments(void **here)
{
    aq_status_t status = AQ_ERR_ABSENT;
    for (unsigned i = aq_job.conduit_count; status == AQ_ERR_ABSENT && i-- > 0;)
        if (aq_job.conduits[i]->ops->memory.share_segments)
            status = aq_job.conduits[i]->ops->memory.share_segments(aq_job.conduits[i],
                                                                    aq_job.segment_size, here);
    return status;
}

// Calls the client's hook first, so that a network that pins memory pins the pages where the hook
// has placed them.
static aq_status_t tell_conduits(void)
{
    const uintptr_t size = aq_job.segment_size[aq_job.rank];
    if (gasnet_client_attach_hook)
        gasnet_client_attach_hook(segment.addr, size);
    aq_status_t status = aq_segment_give_pages(segment.addr, size);
    for (unsigned i = 0; status == AQ_OK && i < aq_job.conduit_count; i++)
        if (aq_job.conduits[i]->ops->memory.attach)
            status = aq_job.conduits[i]->ops->memory.attach(aq_job.conduits[i], segment.addr, size);
    return status;
}

void aq_segment_require_aligned(void)
{
    must_be_aligned = true;
}

// Reserves the same address at all ranks. If there is none, *base stays NULL, and the job continues
// without one unless the client needs it.
static aq_status_t agree_on_base(uintptr_t size, bool needed, void **base)
{
    char why[256];
    aq_status_t status = aq_range_agree(aq_job.boot, size, base, why, sizeof why);
    if (status != AQ_ERR_ABSENT)
        return status;
    if (needed) {
        if (aq_job.rank == 0)
            aq_log_error("gasnet_attach: the program was compiled with GASNET_ALIGNED_SEGMENTS=1, "
                         "but the segments cannot be at the same address at all ranks: %s",
                         why);
        return AQ_ERR_RESOURCE;
    }
    if (aq_job.rank == 0)
        aq_log_warn(
            "GASNET_ALIGN_SEGMENTS=1: the segments are not at the same address at all ranks: %s",
            why);
    return AQ_OK;
}

// Moves the segment of this rank, which a conduit has mapped, into the reserved range.
static void move_segment(void **segment_p, void *base)
{
    const uintptr_t size = aq_job.segment_size[aq_job.rank];
    void *moved = mremap(*segment_p, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, base);
    if (moved != MAP_FAILED) {
        *segment_p = moved;
        return;
    }
    aq_log_warn("the segment of this rank cannot be moved to %p, the same address at all ranks "
                "(%s); raise the number of mappings of a process (sysctl vm.max_map_count)",
                base, strerror(errno));
    munmap(base, size);
}

static bool check_aligned(void)
{
    for (uint32_t r = 1; r < aq_job_present(); r++)
        if (aq_job.segment_addr[r] != aq_job.segment_addr[0])
            return false;
    return true;
}

// A conduit maps the segments of this host; then all ranks exchange the addresses of theirs.
static aq_status_t map_segments(void **here, void *base)
{
    aq_status_t status = share_segments(here);
    if (status != AQ_OK)
        return status;
    if (base)
        move_segment(&here[aq_job.rank], base);
    aq_segment_ask_huge_pages(here);
    uintptr_t mine = (uintptr_t)here[aq_job.rank];
    status = aq_job.boot->ops->exchange(aq_job.boot, &mine, sizeof mine, aq_job.segment_addr);
    aligned = status == AQ_OK && check_aligned();
    for (uint32_t r = 0; status == AQ_OK && r < aq_job.size; r++)
        if (here[r])
            aq_team_map(r, (intptr_t)((uintptr_t)here[r] - aq_job.segment_addr[r]));
    segment.addr = (void *)mine;
    if (status == AQ_OK)
        status = tell_conduits();
    aq_job_find_limits();
    return status;
}

// What a rank asks for: bits of the size that it exchanges, which are free, since sizes are whole
// pages.
enum { WANTS_ALIGNED = 1, NEEDS_ALIGNED = 2, WANTS_HUGE = 4 };

static uintptr_t wanted_bits(void)
{
    const uintptr_t huge = aq_settings_bool(AQ_SET_USE_HUGEPAGES) ? WANTS_HUGE : 0;
    if (must_be_aligned)
        return huge | NEEDS_ALIGNED | WANTS_ALIGNED;
    return huge | (aq_settings_bool(AQ_SET_ALIGN_SEGMENTS) ? WANTS_ALIGNED : 0);
}

// Exchanges the sizes of all ranks. *wanted: what any of them asks for.
static aq_status_t exchange_sizes(uintptr_t size, unsigned *wanted)
{
    size |= wanted_bits();
    aq_status_t status =
        aq_job.boot->ops->exchange(aq_job.boot, &size, sizeof size, aq_job.segment_size);
    *wanted = 0;
    for (uint32_t r = 0; status == AQ_OK && r < aq_job.size; r++) {
        *wanted |= aq_job.segment_size[r] % GASNET_PAGESIZE;
        aq_job.segment_size[r] -= aq_job.segment_size[r] % GASNET_PAGESIZE;
    }
    return status;
}

static aq_status_t attach_segment(uintptr_t size)
{
    unsigned wanted;
    void *base = NULL;
    void **here = aq_allocate_zeroed(aq_job.size, sizeof *here, "the segments of all ranks");
    aq_status_t status = exchange_sizes(size, &wanted);
    if (status == AQ_OK)
        warn_of_limit();
    if (status == AQ_OK && wanted & WANTS_ALIGNED)
        status = agree_on_base(size, wanted & NEEDS_ALIGNED, &base);
    // Older kernels cannot move such memory to a common address, and ranks that join map it at
    // addresses of their own.
    else if (status == AQ_OK && wanted & WANTS_HUGE && !aq_job.boot->absent)
        status = aq_segment_pool_open();
    if (status == AQ_OK)
        status = map_segments(here, base);
    aq_segment_pool_close();
    if (status == AQ_OK && !aligned && wanted & NEEDS_ALIGNED)
        status = AQ_ERR_RESOURCE;
    free(here);
    if (status != AQ_OK)
        memset(aq_job.segment_size, 0, aq_job.size * sizeof *aq_job.segment_size);
    return status;
}

// The barrier at the end of attach. Afterwards a process may send to handlers of all processes,
// even if they still wait here, because they know all segments by then.
static int end_attach(void)
{
    if (aq_job.boot->ops->barrier(aq_job.boot) == AQ_OK)
        return GASNET_OK;
    aq_job_exit_if_ended();
    return GASNET_ERR_RESOURCE;
}

// Whether ranks have joined the job since its start. Then the bootstrap cannot synchronize the
// members of a primordial team, and segments are announced by messages.
static bool job_has_grown(void)
{
    return aq_job.boot->first || aq_job_present() > aq_team.head.size;
}

void aq_segment_tell_with(void (*tell)(const aq_segment_source_t *segment))
{
    tell_others = tell;
}

// With GASNET_SEGMENT_EVERYTHING all memory is the segment already.
static int attach_nothing(gex_Segment_t *segment_p)
{
    if (segment_p)
        *segment_p = GEX_SEGMENT_INVALID;
    if (!job_has_grown())
        return end_attach();
    tell_others(&(aq_segment_source_t){.size = UINTPTR_MAX});
    return GASNET_OK;
}

// The file in which a conduit has allocated the segment of this rank. Without one, other processes
// do not map the segment.
static void find_file(aq_segment_source_t *out)
{
    bool found = false;
    for (unsigned i = 0; !found && i < aq_job.conduit_count; i++) {
        aq_conduit_t *conduit = aq_job.conduits[i];
        found = conduit->ops->memory.segment_file &&
                conduit->ops->memory.segment_file(conduit, &out->file, &out->offset);
    }
}

// Messages prove the identity of an endpoint that has one, so its segment is not mapped.
void aq_segment_describe(gex_EP_t ep, aq_segment_source_t *out)
{
    const struct gex_segment *bound = ep->segment;
    *out = (aq_segment_source_t){0};
    if (!bound)
        return;
    out->addr = (uintptr_t)bound->addr;
    out->size = bound->size;
    out->serial = aq_max(ep->bound_serial, 1u);
    if (!ep->identity && bound->allocated && bound->memory.fd >= 0 &&
        aq_memfile_ticket(bound->memory.fd, &out->file) != AQ_OK)
        out->file = (aq_memfile_ticket_t){0};
    if (bound->attached && !bound->allocated && !bound->reserved)
        find_file(out);
}

static int attach_announced(gex_Segment_t *segment_p, gex_EP_t ep, uintptr_t size)
{
    gex_Segment_t made;
    int result = gex_Segment_Create(&made, ep->client, NULL, size, GEX_MK_HOST, 0);
    if (result == GASNET_OK)
        result = gex_EP_BindSegment(ep, made, 0);
    if (result != GASNET_OK)
        return result;
    made->attached = true;
    if (gasnet_client_attach_hook)
        gasnet_client_attach_hook(made->addr, size);
    aq_segment_source_t source;
    aq_segment_describe(ep, &source);
    tell_others(&source);
    if (segment_p)
        *segment_p = made;
    return GASNET_OK;
}

static void bind_attached(gex_EP_t ep, uintptr_t size)
{
    segment.client = ep->client;
    segment.size = size;
    segment.attached = true;
    aq_lock_take(&aq_endpoint_lock);
    ep->segment = &segment;
    aq_lock_drop(&aq_endpoint_lock);
}

int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size)
{
    aq_job_admit("gex_Segment_Attach");
    gex_EP_t ep = gex_TM_QueryEP(tm);
    if (everything)
        return attach_nothing(segment_p);
    if (ep->segment) {
        aq_log_error(
            "gex_Segment_Attach was called a second time: one segment a process is supported");
        return GASNET_ERR_RESOURCE;
    }
    int result = check_pages("gex_Segment_Attach", size);
    if (result != GASNET_OK)
        return result;
    if (job_has_grown())
        return attach_announced(segment_p, ep, size);
    if (attach_segment(size) != AQ_OK) {
        aq_job_exit_if_ended();
        return GASNET_ERR_RESOURCE;
    }
    bind_attached(ep, size);
    aq_segment_attach_bounds((uintptr_t)segment.addr, size);
    aq_team_refresh();
    if (segment_p)
        *segment_p = &segment;
    return end_attach();
}

int aq_segment_attach_reserved(gex_Segment_t *segment_p, gex_EP_t ep, void *addr, uintptr_t size)
{
    for (uint32_t r = 0; r < aq_job.size; r++) {
        aq_job.segment_addr[r] = (uintptr_t)addr;
        aq_job.segment_size[r] = size;
    }
    aq_team_map(aq_job.rank, 0);
    aq_job.limits.long_reply = aq_job.limits.long_request = aq_job.limits.long_unmapped;
    segment.addr = addr;
    segment.reserved = true;
    aq_job.env.segment_sparse = true;
    bind_attached(ep, size);
    aq_segment_bind_bounds(0, (uintptr_t)addr, size); // further checks: aq_reserved_allows
    aq_team_refresh();
    aligned = true;
    if (segment_p)
        *segment_p = &segment;
    return end_attach();
}

// ---- queries ----

int gasnetx_Segments_Aligned(void)
{
    aq_job_need("gasnetx_Segments_Aligned");
    return (aligned && !job_has_grown()) || everything;
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
