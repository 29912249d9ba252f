// SPDX-License-Identifier: BSD-3-Clause
// The calls of the reserved segment: attach, and allocate and free pages of it.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../ground/errors.h"
#include "../memory/address_range.h"
#include "../aqueduct.h"
#include "../endpoint/endpoint.h"
#include "../state/job.h"
#include "../memory/reserved_map.h"
#include "../memory/reserved_pages.h"
#include "segment.h"
#include "../ground/bounds.h"

enum { PAGE = GASNET_PAGESIZE, WORD = 64 };

static aq_lock_t change_lock; // for changes of the table, together with the mapping

// ---- attach ----

static size_t table_bytes(uintptr_t size)
{
    const size_t words = (size / PAGE + WORD - 1) / WORD;
    return (words * sizeof(uint64_t) + PAGE - 1) / PAGE * PAGE;
}

// The table takes memory only for pages that are allocated, and their neighbours. Returns NULL if
// there is no room.
static _Atomic uint64_t *table_map(uintptr_t size)
{
    void *table = mmap(NULL, table_bytes(size), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return table == MAP_FAILED ? NULL : table;
}

// Checks the sizes of all ranks, which gives the same answer at each of them.
static int check_sizes(const uintptr_t *sizes, char *errbuf, size_t errbuf_size)
{
    for (uint32_t r = 0; r < aq_job.size; r++) {
        if (sizes[r] != sizes[0]) {
            snprintf(errbuf, errbuf_size,
                     "rank %u asks for %lu bytes and rank 0 for %lu; the size has to be the same",
                     r, sizes[r], sizes[0]);
            return GASNET_ERR_BAD_ARG;
        }
        if (!sizes[r] || sizes[r] % PAGE || sizes[r] >= AQ_ADDRESS_SPACE) {
            snprintf(errbuf, errbuf_size,
                     "rank %u asks for %lu bytes; the size has to be a multiple of GASNET_PAGESIZE "
                     "(%d), not 0, and smaller than the address space of a process (%lu)",
                     r, sizes[r], PAGE, AQ_ADDRESS_SPACE);
            return GASNET_ERR_BAD_ARG;
        }
    }
    return GASNET_OK;
}

// Reserves the range and maps the table, at all ranks or at none.
static aq_status_t reserve_range(uintptr_t size, char *errbuf, size_t errbuf_size)
{
    void *base;
    _Atomic uint64_t *table = table_map(size);
    aq_status_t status =
        aq_range_agree(aq_job.boot, table ? size : AQ_RANGE_IMPOSSIBLE, &base, errbuf, errbuf_size);
    if (status == AQ_OK)
        aq_reserved = (aq_reserved_t){(uintptr_t)base, size, table};
    else if (table)
        munmap((void *)table, table_bytes(size));
    return status;
}

static int reserve_segment(uintptr_t size)
{
    char why[256] = "";
    aq_status_t status =
        aq_job.boot->ops->exchange(aq_job.boot, &size, sizeof size, aq_job.segment_size);
    int result = GASNET_ERR_RESOURCE;
    if (status == AQ_OK)
        result = check_sizes(aq_job.segment_size, why, sizeof why);
    if (status == AQ_OK && result == GASNET_OK) {
        status = reserve_range(size, why, sizeof why);
        result = status == AQ_OK ? GASNET_OK : GASNET_ERR_RESOURCE;
    }
    if (result == GASNET_OK)
        return GASNET_OK;
    memset(aq_job.segment_size, 0, aq_job.size * sizeof *aq_job.segment_size);
    return *why ? aq_refuse(result, "gasnetx_Segment_AttachReserved: %s", why) : result;
}

int gasnetx_Segment_AttachReserved(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size,
                                   gex_Flags_t flags)
{
    aq_job_need("gasnetx_Segment_AttachReserved");
    gex_EP_t ep = gex_TM_QueryEP(tm);
    if (flags)
        return aq_refuse(GASNET_ERR_BAD_ARG,
                         "gasnetx_Segment_AttachReserved: flags are 0x%x and have to be 0", flags);
    if (ep != &aq_endpoint || ep->segment || aq_job.env.segment_mode == AQ_SEGMENT_EVERYTHING)
        return aq_refuse(GASNET_ERR_RESOURCE,
                         "gasnetx_Segment_AttachReserved: the primordial endpoint has a segment "
                         "already; a process attaches one segment, with one of the calls");
    if (aq_job.grows)
        return aq_refuse(
            GASNET_ERR_RESOURCE,
            "gasnetx_Segment_AttachReserved: ranks that join later (--reserve) could not "
            "reserve the same addresses; use gex_Segment_Attach");
    int result = reserve_segment(size);
    aq_job_exit_if_ended();
    if (result != GASNET_OK)
        return result;
    if (aq_reserved_map_share((void *)aq_reserved.addr, size) != AQ_OK) {
        aq_job_exit_if_ended();
        return GASNET_ERR_RESOURCE;
    }
    return aq_segment_attach_reserved(segment_p, ep, (void *)aq_reserved.addr, size);
}

// ---- allocate and free ----

typedef struct change {
    const char *call;
    uintptr_t addr, size;
} change_t;

static int check_change(const change_t *change, gex_Segment_t segment)
{
    const uintptr_t offset = change->addr - aq_reserved.addr;
    if (!segment || !segment->reserved)
        return aq_refuse(GASNET_ERR_BAD_ARG,
                         "%s: the segment is not of gasnetx_Segment_AttachReserved", change->call);
    if (!change->size || change->size % PAGE || change->addr % PAGE)
        return aq_refuse(GASNET_ERR_BAD_ARG,
                         "%s: %lu bytes at %p are no whole pages (GASNET_PAGESIZE is %d)",
                         change->call, change->size, (void *)change->addr, PAGE);
    if (offset >= aq_reserved.size || change->size > aq_reserved.size - offset)
        return aq_refuse(
            GASNET_ERR_BAD_ARG,
            "%s: %lu bytes at %p are not inside the reserved segment of rank %u (%p to %p, %lu "
            "bytes)",
            change->call, change->size, (void *)change->addr, aq_job.rank, (void *)aq_reserved.addr,
            (void *)(aq_reserved.addr + aq_reserved.size), aq_reserved.size);
    return GASNET_OK;
}

static int refuse_page(const change_t *change, uint64_t page, const char *what)
{
    return aq_refuse(GASNET_ERR_BAD_ARG,
                     "%s: rank %u has %s the page at %p, one of %lu bytes at %p", change->call,
                     aq_job.rank, what, (void *)(aq_reserved.addr + page * PAGE), change->size,
                     (void *)change->addr);
}

static int refuse_mapping(const change_t *change, int error)
{
    return aq_refuse(
        GASNET_ERR_RESOURCE,
        "%s: the kernel refuses rank %u %lu bytes at %p (%s); the number of allocated parts "
        "is limited by the number of mappings of a process: raise it (sysctl "
        "vm.max_map_count), allocate fewer and larger parts, or free memory",
        change->call, aq_job.rank, change->size, (void *)change->addr, strerror(error));
}

static size_t offset_of(const change_t *change)
{
    return change->addr - aq_reserved.addr;
}

// Return 0 or errno. Without a file, a new mapping in place of the old one gives back the memory,
// and never leaves a moment in which another thread could map something there.
static int pages_open(const change_t *change)
{
    void *addr = (void *)change->addr;
    if (aq_reserved_file >= 0)
        return aq_reserved_map_allocate(addr, change->size, offset_of(change));
    return mprotect(addr, change->size, PROT_READ | PROT_WRITE) == 0 ? 0 : errno;
}

static int pages_close(const change_t *change)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    void *addr = (void *)change->addr;
    if (aq_reserved_file >= 0)
        return aq_reserved_map_free(addr, change->size, offset_of(change));
    return mmap(addr, change->size, PROT_NONE, flags, -1, 0) != MAP_FAILED ? 0 : errno;
}

// With the lock held.
static int allocate(const change_t *change)
{
    const aq_reserved_run_t run = aq_reserved_run(change->addr, change->size);
    const uint64_t taken = aq_reserved_find(run, true);
    if (taken != run.end)
        return refuse_page(change, taken, "already allocated");
    const int error = pages_open(change);
    if (error)
        return refuse_mapping(change, error);
    aq_reserved_mark(run, true);
    return GASNET_OK;
}

// With the lock held.
static int give_back(const change_t *change)
{
    const aq_reserved_run_t run = aq_reserved_run(change->addr, change->size);
    const uint64_t missing = aq_reserved_find(run, false);
    if (missing != run.end)
        return refuse_page(change, missing, "not allocated");
    aq_reserved_mark(run, false);
    const int error = pages_close(change);
    if (!error)
        return GASNET_OK;
    aq_reserved_mark(run, true);
    return refuse_mapping(change, error);
}

static int change_run(const change_t *change, gex_Segment_t segment,
                      int (*apply)(const change_t *change))
{
    aq_job_need(change->call);
    int result = check_change(change, segment);
    if (result != GASNET_OK)
        return result;
    aq_lock_take(&change_lock);
    result = apply(change);
    aq_lock_drop(&change_lock);
    return result;
}

int gasnetx_Segment_Allocate(gex_Segment_t segment, void *addr, uintptr_t size)
{
    const change_t change = {"gasnetx_Segment_Allocate", (uintptr_t)addr, size};
    return change_run(&change, segment, allocate);
}

int gasnetx_Segment_Free(gex_Segment_t segment, void *addr, uintptr_t size)
{
    const change_t change = {"gasnetx_Segment_Free", (uintptr_t)addr, size};
    return change_run(&change, segment, give_back);
}
