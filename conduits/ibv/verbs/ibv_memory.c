// SPDX-License-Identifier: BSD-3-Clause
// Registers and releases memory with ibv_reg_mr, and explains refusals. Buffers, segments, firehose
// and rails register through it.
#include "ibv_memory.h"
#include "ibv_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/settings/settings.h"
#include "../../../other/base/minmax.h"

#define ONE_PIECE 63 // the shift of a segment that is one region

// ibv_reg_mr is a macro.
static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *start, size_t bytes, int access)
{
    return ibv_reg_mr(pd, start, bytes, (unsigned)access);
}

const aq_ibv_calls_t aq_ibv_calls = {reg_mr, ibv_dereg_mr, ibv_is_fork_initialized, ibv_fork_init};

uint64_t aq_ibv_memory_piece_bytes(uint64_t device)
{
    uint64_t given = aq_setting_bytes(aq_ibv_setting(IBV_SET_PIN_MAXSZ));
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (given != 0 && given < page)
        given = page;
    return given != 0 ? aq_min(given, device) : device;
}

aq_ibv_paging_t aq_ibv_memory_can_page(const struct ibv_odp_caps *caps, bool atomics)
{
    const uint32_t needed = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
                            (atomics ? IBV_ODP_SUPPORT_ATOMIC : 0u);
    if (!(caps->general_caps & IBV_ODP_SUPPORT) ||
        (caps->per_transport_caps.rc_odp_caps & needed) != needed)
        return AQ_IBV_NOT_PAGED;
    return caps->general_caps & IBV_ODP_SUPPORT_IMPLICIT ? AQ_IBV_PAGED_WHOLE : AQ_IBV_PAGED;
}

aq_ibv_paging_t aq_ibv_memory_pages(struct ibv_context *verbs, bool atomics)
{
    struct ibv_device_attr_ex can = {.comp_mask = 0};
    aq_ibv_paging_t paging = AQ_IBV_NOT_PAGED;
    if (!aq_setting_bool(aq_ibv_setting(IBV_SET_USE_ODP)))
        return paging;
    if (ibv_query_device_ex(verbs, NULL, &can) == 0)
        paging = aq_ibv_memory_can_page(&can.odp_caps, atomics);
    if (paging != AQ_IBV_NOT_PAGED)
        return paging;
    if (aq_log_is_first() && aq_setting_int(aq_ibv_setting(IBV_SET_ODP_VERBOSE)))
        aq_log_warn("verbs device %s cannot page memory on demand (GASNET_USE_ODP): memory is "
                    "pinned; GASNET_ODP_VERBOSE=0 silences this",
                    ibv_get_device_name(verbs->device));
    return paging;
}

// ---- one region ----

static bool is_pinned(const aq_ibv_memory_t *memory, aq_ibv_access_t access)
{
    return !memory->paged || access == AQ_IBV_BUFFER;
}

// Whether GASNET_PHYSMEM_MAX leaves room for so many bytes. It limits only what is pinned.
static bool memory_fits(const aq_ibv_memory_t *memory, uint64_t bytes, aq_ibv_access_t access)
{
    uint64_t now = memory->bytes;
    return !memory->limited || !is_pinned(memory, access) ||
           (bytes <= memory->most && now <= memory->most - bytes);
}

static int flags_of(const aq_ibv_memory_t *memory, aq_ibv_access_t access)
{
    int flags = is_pinned(memory, access) ? 0 : IBV_ACCESS_ON_DEMAND;
    if (access != AQ_IBV_ALL_HERE)
        flags |= IBV_ACCESS_REMOTE_READ;
    if (access != AQ_IBV_READ)
        flags |= IBV_ACCESS_LOCAL_WRITE;
    if (access != AQ_IBV_READ && access != AQ_IBV_ALL_HERE)
        flags |= IBV_ACCESS_REMOTE_WRITE;
    if (memory->atomics && (access == AQ_IBV_WRITE || access == AQ_IBV_BUFFER))
        flags |= IBV_ACCESS_REMOTE_ATOMIC;
    return flags;
}

aq_firehose_pinned_t aq_ibv_memory_try(aq_ibv_memory_t *memory, const void *start, size_t bytes,
                                       aq_ibv_access_t access, struct ibv_mr **region)
{
    if (bytes > memory->region_bytes && access < AQ_IBV_ALL_HERE)
        return AQ_FIREHOSE_DEVICE;
    if (!memory_fits(memory, bytes, access))
        return AQ_FIREHOSE_SETTING;
    errno = 0;
    *region = memory->calls->reg_mr(memory->pd, (void *)(uintptr_t)start, bytes,
                                    flags_of(memory, access));
    if (*region == NULL)
        return aq_firehose_why(errno != 0 ? errno : ENOMEM, bytes);
    if (is_pinned(memory, access))
        atomic_fetch_add_explicit(&memory->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&memory->regions, 1, memory_order_relaxed);
    return AQ_FIREHOSE_PINNED;
}

// Writes what was wanted, what was found, and the remedy.
static void refusal_explain(const aq_ibv_memory_t *memory, const char *what, uint64_t bytes,
                            aq_firehose_pinned_t outcome, char *errbuf, size_t errbuf_size)
{
    char found[96] = "";
    struct rlimit limit;
    const char *remedy = aq_firehose_remedy(outcome);
    if (outcome == AQ_FIREHOSE_MEMLOCK && getrlimit(RLIMIT_MEMLOCK, &limit) == 0)
        snprintf(found, sizeof found, ", and may lock %llu bytes",
                 (unsigned long long)limit.rlim_cur);
    if (outcome == AQ_FIREHOSE_DEVICE && bytes > memory->region_bytes) {
        snprintf(found, sizeof found, ", each of at most %llu bytes",
                 (unsigned long long)memory->region_bytes);
        remedy = "a region of this device (max_mr_size of ibv_devinfo -v) cannot be that long; "
                 "make it smaller";
    }
    snprintf(errbuf, errbuf_size,
             "%s (%llu bytes) cannot be registered with device %s, where this process has %llu "
             "bytes in %u regions%s: %s",
             what, (unsigned long long)bytes, memory->device, (unsigned long long)memory->bytes,
             memory->regions, found, remedy);
}

// As memory_fits(); if there is no room, writes the message into errbuf.
static bool has_room(const aq_ibv_memory_t *memory, const char *what, uint64_t bytes,
                     aq_ibv_access_t access, char *errbuf, size_t errbuf_size)
{
    if (memory_fits(memory, bytes, access))
        return true;
    snprintf(errbuf, errbuf_size,
             "%s (%llu bytes) cannot be registered with device %s: this process may have %llu "
             "bytes, and has %llu already; raise GASNET_PHYSMEM_MAX, and the limit on locked "
             "memory (ulimit -l) if that is less",
             what, (unsigned long long)bytes, memory->device, (unsigned long long)memory->most,
             (unsigned long long)memory->bytes);
    return false;
}

aq_status_t aq_ibv_memory_register(aq_ibv_memory_t *memory, const aq_ibv_area_t *area,
                                   struct ibv_mr **region, char *errbuf, size_t errbuf_size)
{
    if (!has_room(memory, area->what, area->bytes, area->access, errbuf, errbuf_size))
        return AQ_ERR_RESOURCE;
    aq_firehose_pinned_t outcome =
        aq_ibv_memory_try(memory, area->start, area->bytes, area->access, region);
    if (outcome == AQ_FIREHOSE_PINNED)
        return AQ_OK;
    refusal_explain(memory, area->what, area->bytes, outcome, errbuf, errbuf_size);
    return outcome == AQ_FIREHOSE_NO_ACCESS ? AQ_ERR_ARG : AQ_ERR_RESOURCE;
}

void aq_ibv_memory_release(aq_ibv_memory_t *memory, struct ibv_mr *region, aq_ibv_access_t access)
{
    uint64_t bytes = is_pinned(memory, access) ? region->length : 0;
    memory->calls->dereg_mr(region); // fails only if the device is gone
    atomic_fetch_sub_explicit(&memory->bytes, bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&memory->regions, 1, memory_order_relaxed);
}

// ---- as much as there can be ----

size_t aq_ibv_memory_register_pool(aq_ibv_memory_t *memory, const aq_ibv_pool_area_t *pool,
                                   struct ibv_mr **region, char *errbuf, size_t errbuf_size)
{
    const size_t most = pool->most, least = pool->least;
    size_t count = most;
    char first[512] = ""; // the message about the full size
    while (count >= least) {
        const aq_ibv_area_t area = {pool->what, pool->start, count * pool->unit, AQ_IBV_BUFFER};
        char *sentence = count == most ? first : errbuf;
        size_t size = count == most ? sizeof first : errbuf_size;
        if (aq_ibv_memory_register(memory, &area, region, sentence, size) == AQ_OK) {
            if (count < most)
                snprintf(errbuf, errbuf_size, "%s; continuing with %zu of %zu", first, count, most);
            return count;
        }
        if (count == least)
            break;
        count = count / 2 > least ? count / 2 : least;
    }
    snprintf(errbuf, errbuf_size, "%s", first);
    return 0;
}

bool aq_ibv_memory_probe_wanted(void)
{
    return aq_setting_bool(aq_ibv_setting(IBV_SET_PHYSMEM_PROBE)) ||
           !aq_setting_bool(aq_ibv_setting(IBV_SET_PHYSMEM_NOPROBE));
}

// Registers up to so many bytes, in as many regions as needed, and gives them back. Returns how
// many bytes were registered.
static uint64_t try_bytes(aq_ibv_memory_t *memory, char *start, uint64_t bytes)
{
    uint64_t length = aq_min(memory->region_bytes, bytes), done = 0;
    size_t count = 0, room = (size_t)(bytes / length + 1);
    struct ibv_mr **regions = calloc(room, sizeof(struct ibv_mr *));
    for (; regions != NULL && done < bytes; count++) {
        uint64_t part = bytes - done < length ? bytes - done : length;
        if (aq_ibv_memory_try(memory, start + done, part, AQ_IBV_BUFFER, &regions[count]) !=
            AQ_FIREHOSE_PINNED)
            break;
        done += part;
    }
    while (count > 0)
        aq_ibv_memory_release(memory, regions[--count], AQ_IBV_BUFFER);
    free(regions);
    return done;
}

// Bisects between low, which could be registered, and high, which could not, to a 64th of the
// whole.
uint64_t aq_ibv_memory_probe(aq_ibv_memory_t *memory)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t most = memory->most > memory->bytes ? memory->most - memory->bytes : 0, low = 0;
    most &= ~(page - 1);
    void *start = most == 0 ? MAP_FAILED
                            : mmap(NULL, most, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return 0;
    uint64_t high = most, step = most / 64 > page ? most / 64 : page;
    for (uint64_t next = most; high - low >= step; next = (low + (high - low) / 2) & ~(page - 1)) {
        if (next == low)
            break;
        if (try_bytes(memory, start, next) == next)
            low = next;
        else
            high = next;
    }
    munmap(start, most);
    return low;
}

// ---- a segment ----

aq_ibv_cut_t aq_ibv_segment_cut(const aq_ibv_memory_t *memory, size_t bytes)
{
    aq_ibv_cut_t cut = {.shift = ONE_PIECE, .overlap = (uint32_t)memory->overlap};
    uint64_t longest = memory->region_bytes - memory->overlap;
    if (bytes <= memory->piece_bytes)
        return cut;
    if (longest > memory->piece_bytes)
        longest = memory->piece_bytes;
    for (cut.shift = 0; longest >> cut.shift > 1;)
        cut.shift++;
    return cut;
}

aq_status_t aq_ibv_segment_register(aq_ibv_memory_t *memory, aq_ibv_segment_t *segment,
                                    char *errbuf, size_t errbuf_size)
{
    const aq_ibv_cut_t cut = segment->cut;
    const size_t bytes = segment->bytes;
    const uint32_t count = aq_ibv_segment_pieces(cut, bytes);
    if (!has_room(memory, "the segment", bytes, AQ_IBV_WRITE, errbuf, errbuf_size))
        return AQ_ERR_RESOURCE;
    segment->pieces = calloc(count, sizeof(struct ibv_mr *));
    if (segment->pieces == NULL) {
        snprintf(errbuf, errbuf_size, "there is no memory for the keys of the segment; free some");
        return AQ_ERR_RESOURCE;
    }
    for (; segment->count < count; segment->count++) {
        size_t left, at = (size_t)segment->count << cut.shift;
        aq_ibv_segment_piece(bytes, cut, at, SIZE_MAX, &left);
        aq_firehose_pinned_t outcome =
            aq_ibv_memory_try(memory, (char *)segment->start + at, left, AQ_IBV_WRITE,
                              &segment->pieces[segment->count]);
        if (outcome == AQ_FIREHOSE_PINNED)
            continue;
        refusal_explain(memory, "the segment", bytes, outcome, errbuf, errbuf_size);
        aq_ibv_segment_release(memory, segment);
        return outcome == AQ_FIREHOSE_NO_ACCESS ? AQ_ERR_ARG : AQ_ERR_RESOURCE;
    }
    return AQ_OK;
}

void aq_ibv_segment_release(aq_ibv_memory_t *memory, aq_ibv_segment_t *segment)
{
    while (segment->count > 0)
        aq_ibv_memory_release(memory, segment->pieces[--segment->count], AQ_IBV_WRITE);
    free(segment->pieces);
    *segment = (aq_ibv_segment_t){0};
}

// ---- children ----

aq_status_t aq_ibv_memory_fork_safe(const aq_ibv_calls_t *calls, char *errbuf, size_t errbuf_size)
{
    if (calls->is_fork_initialized() != IBV_FORK_DISABLED)
        return AQ_OK;
    int error = calls->fork_init();
    if (error == 0)
        return AQ_OK;
    snprintf(
        errbuf, errbuf_size,
        "a child that this process forks may spoil memory that the network device uses: libibverbs "
        "cannot protect it (%s); fork before the job starts, or use Linux 5.12 or newer",
        strerror(error));
    return AQ_ERR_RESOURCE;
}
