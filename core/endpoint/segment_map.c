// SPDX-License-Identifier: BSD-3-Clause
// Allocates memory for segments of gex_Segment_Create, maps those of neighbours, and finds the
// mapping beside which an access has faulted. extended/team publishes segments here,
// segment_revoke.c unmaps them, fault_place.c asks.
#include "segment_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/size.h"
#include "../conduit.h"
#include "shift_table.h"

// ---- memory of this process ----

enum { FILES_SHARE = 2 }; // segments use files while less than 1 / FILES_SHARE of the limit is used

static uint64_t files_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : UINT64_MAX;
}

static void tell_of_files(uint64_t limit)
{
    static atomic_bool told;
    if (!atomic_exchange_explicit(&told, true, memory_order_relaxed))
        aq_log_warn("gex_Segment_Create: this process has half of its %llu files open, so "
                    "neighbours access further segments by messages; raise the limit of open "
                    "files (ulimit -n)",
                    (unsigned long long)limit);
}

// Returns a descriptor, or -1. The kernel gives the lowest free number, so a large one shows that
// many files are open. Makes no file larger than all memory, which the kernel would allow, unlike
// anonymous memory of that size.
static int file_create(size_t size)
{
    const uint64_t limit = files_limit();
    int fd = -1;
    if (size > aq_size_physical_memory())
        return -1;
    const int error = aq_memfile_try_create("gasnet-segment", size, &fd);
    if (error == 0 && (uint64_t)fd < limit / FILES_SHARE)
        return fd;
    if (error == 0)
        close(fd);
    if (error == 0 || error == EMFILE)
        tell_of_files(limit);
    return -1;
}

// Reserves addresses, with guards if there is room for them. Returns NULL if there is none.
static char *room_reserve(size_t size, size_t *guard)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    *guard = AQ_SEGMENT_GUARD;
    char *room = MAP_FAILED;
    if (size <= SIZE_MAX - 2 * *guard)
        room = mmap(NULL, size + 2 * *guard, PROT_NONE, flags, -1, 0);
    if (room == MAP_FAILED) {
        *guard = 0;
        room = mmap(NULL, size, PROT_NONE, flags, -1, 0);
    }
    return room == MAP_FAILED ? NULL : room + *guard;
}

static void room_release(uintptr_t addr, size_t size, size_t guard)
{
    munmap((void *)(addr - guard), size + 2 * guard);
}

// Maps a file, or memory without one for -1, in reserved addresses.
static bool room_fill(char *addr, size_t size, int fd, uint64_t offset)
{
    const int flags = MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
    return mmap(addr, size, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset) != MAP_FAILED;
}

bool aq_segment_memory_allocate(size_t size, aq_segment_memory_t *out)
{
    *out = (aq_segment_memory_t){.size = size, .fd = -1};
    char *addr = room_reserve(size, &out->guard);
    if (!addr)
        return false;
    out->addr = addr;
    out->fd = file_create(size);
    if (room_fill(addr, size, out->fd, 0))
        return true;
    aq_segment_memory_free(out);
    return false;
}

void aq_segment_memory_free(const aq_segment_memory_t *memory)
{
    if (memory->fd >= 0) {
        (void)aq_memfile_resize(memory->fd, 0);
        close(memory->fd);
    }
    room_release((uintptr_t)memory->addr, memory->size, memory->guard);
}

// ---- mappings of published segments ----

// The segment of an endpoint of a process of this neighbourhood.
typedef struct place {
    uintptr_t here; // 0: not mapped
    uintptr_t addr, size;
    size_t guard;
    uint64_t serial;
    uint64_t ended; // bindings up to this serial have ended
    bool gone;      // the addresses have no access
} place_t;

// The mappings of a process are limited by vm.max_map_count (65,530), and each takes up to three.
enum { MOST_MAPPED = 8192 };

_Atomic(intptr_t *) aq_segment_map_shifts[GASNET_MAXEPS];

static _Atomic(place_t *) places[GASNET_MAXEPS]; // by index in the neighbourhood
static aq_lock_t map_lock;
static atomic_uint mapped; // segments of neighbours

// Returns NULL if the rank is no neighbour, or if memory is out. With the lock held.
static place_t *place_of(uint32_t jobrank, gex_EP_Index_t ep)
{
    const uint32_t index = aq_index_in_nbrhd(&aq_job.env, jobrank);
    if (index == UINT32_MAX)
        return NULL;
    place_t *all = atomic_load_explicit(&places[ep], memory_order_relaxed);
    if (!all) {
        all = calloc(aq_job.env.nbrhd_size, sizeof *all);
        atomic_store_explicit(&places[ep], all, memory_order_release);
    }
    return all ? &all[index] : NULL;
}

// Returns NULL if memory is out. With the lock held.
static intptr_t *shifts_of(gex_EP_Index_t ep, bool *new_p)
{
    intptr_t *shifts = atomic_load_explicit(&aq_segment_map_shifts[ep], memory_order_relaxed);
    *new_p = !shifts;
    if (!shifts)
        shifts = aq_shift_table_new(aq_job.size);
    if (*new_p && shifts) {
        for (uint32_t r = 0; r < aq_job.size; r++)
            shifts[r] = r == aq_job.rank ? 0 : AQ_UNMAPPED;
        atomic_store_explicit(&aq_segment_map_shifts[ep], shifts, memory_order_release);
    }
    *new_p = *new_p && shifts;
    return shifts;
}

static void shift_set(uint32_t jobrank, gex_EP_Index_t ep, intptr_t shift)
{
    intptr_t *shifts = atomic_load_explicit(&aq_segment_map_shifts[ep], memory_order_relaxed);
    if (shifts && jobrank != aq_job.rank)
        __atomic_store_n(&shifts[jobrank], shift, __ATOMIC_RELEASE);
}

// With the lock held, and after shift_set has stored AQ_UNMAPPED.
static void place_clear(place_t *place, bool own)
{
    if (place->here && !own) {
        room_release(place->here, place->size, place->guard);
        atomic_fetch_sub_explicit(&mapped, 1, memory_order_relaxed);
    }
    *place = (place_t){.ended = place->ended};
}

// Opens the file of a neighbour if it has at least the size that the neighbour tells. Returns a
// descriptor, or -1.
static int source_open(const aq_segment_source_t *source)
{
    int fd = -1;
    if (!source->file.pid || aq_memfile_try_open(&source->file, &fd) != 0)
        return -1;
    const uint64_t bytes = (uint64_t)lseek(fd, 0, SEEK_END);
    if (source->offset <= bytes && source->size <= bytes - source->offset)
        return fd;
    close(fd);
    return -1;
}

// Maps a file of a neighbour with guards beside it. Without room for guards it is not mapped.
static void place_map(place_t *place, const aq_segment_source_t *source, int fd)
{
    size_t guard;
    char *addr = room_reserve(source->size, &guard);
    if (addr && (!guard || !room_fill(addr, source->size, fd, source->offset))) {
        room_release((uintptr_t)addr, source->size, guard);
        return;
    }
    if (!addr)
        return;
    place->here = (uintptr_t)addr;
    place->guard = guard;
    atomic_fetch_add_explicit(&mapped, 1, memory_order_relaxed);
}

// With the lock held. Returns whether the table of this index is new.
static bool place_fill(place_t *place, uint32_t jobrank, gex_EP_Index_t ep,
                       const aq_segment_source_t *source)
{
    bool new = false;
    if (atomic_load_explicit(&mapped, memory_order_relaxed) >= MOST_MAPPED)
        return false;
    const int fd = source_open(source);
    if (fd < 0)
        return false;
    if (shifts_of(ep, &new))
        place_map(place, source, fd);
    close(fd);
    if (place->here)
        shift_set(jobrank, ep, (intptr_t)(place->here - source->addr));
    return new;
}

// With the lock held.
static bool place_change(place_t *place, uint32_t jobrank, gex_EP_Index_t ep,
                         const aq_segment_source_t *source)
{
    const bool own = jobrank == aq_job.rank;
    bool new = false;
    if (place->here && !place->gone && place->serial == source->serial)
        return false;
    shift_set(jobrank, ep, AQ_UNMAPPED);
    place_clear(place, own);
    if (source->serial <= place->ended)
        return false;
    if (own)
        place->here = source->file.pid ? source->addr : 0; // only memory in a file has guards
    else
        new = place_fill(place, jobrank, ep, source);
    place->addr = source->addr;
    place->size = source->size;
    place->serial = source->serial;
    return new;
}

bool aq_segment_map(uint32_t jobrank, gex_EP_Index_t ep, const aq_segment_source_t *source)
{
    aq_lock_take(&map_lock);
    place_t *place = place_of(jobrank, ep);
    const bool new = place &&place_change(place, jobrank, ep, source);
    aq_lock_drop(&map_lock);
    return new;
}

void aq_segment_map_note(uint32_t jobrank, const aq_segment_source_t *source)
{
    aq_segment_source_t unmapped = *source;
    unmapped.file = (aq_memfile_ticket_t){0};
    (void)aq_segment_map(jobrank, 0, &unmapped);
}

// With the lock held. The addresses stay reserved: an access that comes late faults.
static void place_end(place_t *place, uint32_t jobrank, gex_EP_Index_t ep)
{
    shift_set(jobrank, ep, AQ_UNMAPPED);
    if (jobrank == aq_job.rank) {
        place_clear(place, true);
        return;
    }
    (void)mmap((void *)place->here, place->size, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    place->gone = true;
}

void aq_segment_unmap(uint32_t jobrank, gex_EP_Index_t ep, uint64_t serial)
{
    aq_lock_take(&map_lock);
    place_t *place = place_of(jobrank, ep);
    if (place && place->ended < serial)
        place->ended = serial;
    if (place && place->here && !place->gone && place->serial <= serial)
        place_end(place, jobrank, ep);
    aq_lock_drop(&map_lock);
}

uint64_t aq_segment_map_serial(uint32_t jobrank, gex_EP_Index_t ep, const void *addr, size_t nbytes)
{
    const uint32_t index = aq_index_in_nbrhd(&aq_job.env, jobrank);
    const place_t *all = atomic_load_explicit(&places[ep], memory_order_acquire);
    if (index == UINT32_MAX || !all)
        return 0;
    aq_lock_take(&map_lock);
    const place_t place = all[index];
    aq_lock_drop(&map_lock);
    const uintptr_t offset = (uintptr_t)addr - place.addr;
    return offset <= place.size && nbytes <= place.size - offset ? place.serial : 0;
}

// ---- faults ----

#define NULL_BYTES ((uintptr_t)1 << 16) // around NULL of another rank

// Distances: of an address beside no segment, and of an address near NULL of another rank, which
// is farther than any address beside a segment.
enum { NOT_FOUND = AQ_SEGMENT_GUARD, NEAR_NULL = NOT_FOUND - 1 };

static bool is_null_of(const place_t *place, uintptr_t here)
{
    const uintptr_t addr = here - place->here + place->addr;
    return place->here != place->addr && addr + NULL_BYTES < 2 * NULL_BYTES &&
           here + NULL_BYTES >= 2 * NULL_BYTES;
}

// The distance of an address from the place. Inside of it, in the memory of another rank, it is 0,
// since only a segment that was destroyed faults there.
static uintptr_t distance_from(const place_t *place, uintptr_t here, bool own)
{
    if (!place->here)
        return NOT_FOUND;
    if (here - place->here < place->size)
        return own ? NOT_FOUND : 0;
    const uintptr_t before = place->here - here, behind = here - (place->here + place->size);
    const uintptr_t distance = before < behind ? before : behind;
    return distance >= NEAR_NULL && is_null_of(place, here) ? NEAR_NULL : distance;
}

static aq_segment_near_t near_of(const place_t *place, uint32_t index, unsigned ep, uintptr_t here)
{
    return (aq_segment_near_t){.rank = aq_job.env.nbrhd[index],
                               .ep = (gex_EP_Index_t)ep,
                               .addr = here - place->here + place->addr,
                               .start = place->addr,
                               .size = place->size,
                               .gone = here - place->here < place->size};
}

bool aq_segment_map_find(uintptr_t here, aq_segment_near_t *near)
{
    uintptr_t nearest = NOT_FOUND;
    for (unsigned ep = 1; ep < GASNET_MAXEPS; ep++) {
        const place_t *all = atomic_load_explicit(&places[ep], memory_order_acquire);
        for (uint32_t i = 0; all && i < aq_job.env.nbrhd_size; i++) {
            const uintptr_t distance = distance_from(&all[i], here, i == aq_job.env.nbrhd_index);
            if (distance >= nearest)
                continue;
            nearest = distance;
            *near = near_of(&all[i], i, ep, here);
        }
    }
    return nearest < NOT_FOUND;
}
