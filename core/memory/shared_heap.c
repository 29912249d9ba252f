// SPDX-License-Identifier: BSD-3-Clause
// Divides memory that neighbours can map, and maps theirs. messages/ allocates here for
// gasnetx_Msg_Alloc; cma_read.c looks up memory of neighbours.
#include "shared_heap.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/memory/memfile.h"
#include "../../other/base/settings/settings.h"
#include "../ground/fatal.h"
#include "first_fit.h"
#include "../ground/lock.h"
#include "scratch.h"

enum { UNIT = 64 }; // bytes; of blocks

// What a process publishes to its neighbours, in its scratch. Written once.
typedef struct description {
    aq_memfile_ticket_t file;
    uint64_t address; // of the memory in its process
    atomic_bool written;
} description_t;
_Static_assert(sizeof(description_t) <= AQ_SCRATCH_HEAP, "a description fits into the scratch");

static description_t *description_of(uint32_t nbrhd_index)
{
    return (description_t *)(void *)(aq_scratch_of(nbrhd_index) + AQ_SCRATCH_HEAP_AT);
}

// ---- the heap of this process ----

static struct {
    aq_lock_t lock;
    char *memory; // NULL: not made yet
    size_t size;
    bool shared; // neighbours can map it
    aq_first_fit_t blocks;
} heap;

// Returns the descriptor of a file for neighbours, or -1.
static int file_create(size_t size)
{
    int fd = -1;
    if (aq_job.env.nbrhd_size == 1)
        return -1;
    const int error = aq_memfile_try_create("gasnet-messages", size, &fd);
    if (error)
        aq_log_warn("gasnetx_Msg_Alloc: a file of %zu bytes (GASNET_MSG_SHARED), which neighbours "
                    "could map, cannot be made (%s); they read the memory as any other",
                    size, strerror(error));
    return fd;
}

// Maps a file, or memory of this process for -1. Returns NULL if there is no room.
static char *memory_map(size_t size, int fd)
{
    const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

// The file stays open, since neighbours open it through its descriptor.
static void heap_describe(int fd)
{
    description_t *mine = description_of(aq_job.env.nbrhd_index);
    if (aq_memfile_ticket(fd, &mine->file) != AQ_OK)
        return;
    heap.shared = true;
    mine->address = (uintptr_t)heap.memory;
    atomic_store_explicit(&mine->written, true, memory_order_release);
}

// With the lock. False: there is no room for the heap.
static bool heap_start(void)
{
    if (heap.memory)
        return true;
    const size_t size = aq_settings_bytes(AQ_SET_MSG_SHARED) & ~(size_t)(GASNET_PAGESIZE - 1);
    const int fd = file_create(size);
    char *memory = memory_map(size, fd);
    if (memory && aq_first_fit_start(&heap.blocks, size)) {
        heap.memory = memory;
        heap.size = size;
        if (fd >= 0)
            heap_describe(fd);
        return true;
    }
    if (memory)
        munmap(memory, size);
    if (fd >= 0)
        close(fd);
    return false;
}

void *aq_shared_heap_take(size_t nbytes)
{
    const size_t bytes = (nbytes + !nbytes + UNIT - 1) & ~(size_t)(UNIT - 1);
    size_t offset;
    aq_lock_take(&heap.lock);
    const bool taken =
        bytes >= nbytes && heap_start() && aq_first_fit_take(&heap.blocks, bytes, &offset);
    void *memory = taken ? heap.memory + offset : NULL;
    aq_lock_drop(&heap.lock);
    return memory;
}

bool aq_shared_heap_give(void *memory)
{
    aq_lock_take(&heap.lock);
    const size_t offset = (uintptr_t)memory - (uintptr_t)heap.memory;
    const bool given = heap.memory && aq_first_fit_give(&heap.blocks, offset);
    aq_lock_drop(&heap.lock);
    return given;
}

bool aq_shared_heap_holds(const void *memory, size_t nbytes)
{
    aq_lock_take(&heap.lock);
    const size_t offset = (uintptr_t)memory - (uintptr_t)heap.memory;
    const bool holds = heap.shared && offset < heap.size && nbytes <= heap.size - offset;
    aq_lock_drop(&heap.lock);
    return holds;
}

// ---- the heaps of neighbours ----

typedef struct place {
    atomic_bool known; // the rest does not change any more
    char *here;        // NULL: this process cannot map the heap
    uint64_t address;
    size_t size;
} place_t;

static _Atomic(place_t *) places; // by index in the neighbourhood
static aq_lock_t places_lock;

// Maps all of the file of a neighbour. The mapping keeps the file alive.
static void place_map(place_t *place, const description_t *told)
{
    int fd;
    if (aq_memfile_try_open(&told->file, &fd) != 0)
        return;
    const off_t size = lseek(fd, 0, SEEK_END);
    if (size > 0)
        place->here = memory_map((size_t)size, fd);
    place->address = told->address;
    place->size = (size_t)size;
    close(fd);
}

// With the lock. NULL: memory is out.
static place_t *places_make(void)
{
    place_t *all = atomic_load_explicit(&places, memory_order_relaxed);
    if (!all) {
        all = calloc(aq_job.env.nbrhd_size, sizeof *all);
        atomic_store_explicit(&places, all, memory_order_release);
    }
    return all;
}

static const place_t *place_make(uint32_t nbrhd_index)
{
    const description_t *told = description_of(nbrhd_index);
    if (!atomic_load_explicit(&told->written, memory_order_acquire))
        return NULL;
    aq_lock_take(&places_lock);
    place_t *all = places_make(), *place = all ? &all[nbrhd_index] : NULL;
    if (place && !atomic_load_explicit(&place->known, memory_order_relaxed)) {
        place_map(place, told);
        atomic_store_explicit(&place->known, true, memory_order_release);
    }
    aq_lock_drop(&places_lock);
    return place;
}

// NULL: the neighbour has no heap.
static const place_t *place_of(uint32_t nbrhd_index)
{
    const place_t *all = atomic_load_explicit(&places, memory_order_acquire);
    if (all && atomic_load_explicit(&all[nbrhd_index].known, memory_order_acquire))
        return &all[nbrhd_index];
    return place_make(nbrhd_index);
}

char *aq_shared_heap_find(uint32_t jobrank, uint64_t address, size_t nbytes)
{
    const uint32_t index = aq_index_in_nbrhd(&aq_job.env, jobrank);
    const place_t *place = index == UINT32_MAX ? NULL : place_of(index);
    const uint64_t offset = place ? address - place->address : 0;
    if (!place || !place->here || offset >= place->size)
        return NULL;
    if (nbytes > place->size - offset)
        aq_fatal("rank %u names %zu bytes at 0x%llx, of which only %zu are in the memory that it "
                 "shares",
                 jobrank, nbytes, (unsigned long long)address, place->size - (size_t)offset);
    return place->here + offset;
}
