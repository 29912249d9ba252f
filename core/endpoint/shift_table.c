// SPDX-License-Identifier: BSD-3-Clause
// Maps tables of shifts with a guard behind each, and finds the table behind which an access has
// faulted (for fault.c). job_start.c, team.c and segment_map.c make tables.
#include "shift_table.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../ground/lock.h"

#define WHOLE_GUARD ((size_t)UINT32_MAX * sizeof(intptr_t) + sizeof(intptr_t))
#define SMALL_GUARD ((size_t)131072 * sizeof(intptr_t))

// A table, or a record for a later one. Records are never freed, so that a handler of a signal may
// read them at any time.
typedef struct record {
    struct record *next;
    atomic_uintptr_t table; // 0: none
    size_t size, guard;     // entries; bytes without access
    char *mapping;
    size_t mapped;
} record_t;

static _Atomic(record_t *) records;
static bool whole; // a table has WHOLE_GUARD now
static aq_lock_t lock;

static bool addresses_are_limited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// Maps a table with a guard behind it. False: there is no room.
static bool record_map(record_t *record, uint32_t size, size_t guard)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t bytes = ((size_t)size * sizeof(intptr_t) + page - 1) / page * page;
    char *mapping =
        mmap(NULL, bytes + guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return false;
    if (bytes && mprotect(mapping, bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(mapping, bytes + guard);
        return false;
    }
    record->mapping = mapping;
    record->mapped = bytes + guard;
    record->size = size;
    record->guard = guard;
    const char *table = mapping + bytes - (size_t)size * sizeof(intptr_t);
    atomic_store_explicit(&record->table, (uintptr_t)table, memory_order_release);
    return true;
}

// Returns a record without a table; NULL: memory is out. With the lock.
static record_t *record_take(void)
{
    record_t *record = atomic_load_explicit(&records, memory_order_relaxed);
    while (record && atomic_load_explicit(&record->table, memory_order_relaxed))
        record = record->next;
    if (record)
        return record;
    record = calloc(1, sizeof *record);
    if (!record)
        return NULL;
    record->next = atomic_load_explicit(&records, memory_order_relaxed);
    atomic_store_explicit(&records, record, memory_order_release);
    return record;
}

intptr_t *aq_shift_table_new(uint32_t size)
{
    aq_lock_take(&lock);
    record_t *record = record_take();
    bool made = false;
    if (record && !whole && !addresses_are_limited())
        made = record_map(record, size, WHOLE_GUARD);
    if (made)
        whole = true;
    else
        made = record && record_map(record, size, SMALL_GUARD);
    void *table = made ? (void *)atomic_load_explicit(&record->table, memory_order_relaxed) : NULL;
    aq_lock_drop(&lock);
    return table;
}

void aq_shift_table_free(intptr_t *table)
{
    aq_lock_take(&lock);
    record_t *record = table ? atomic_load_explicit(&records, memory_order_relaxed) : NULL;
    while (record && atomic_load_explicit(&record->table, memory_order_relaxed) != (uintptr_t)table)
        record = record->next;
    if (record) {
        atomic_store_explicit(&record->table, 0, memory_order_relaxed);
        whole = whole && record->guard != WHOLE_GUARD;
        munmap(record->mapping, record->mapped);
    }
    aq_lock_drop(&lock);
}

// The table behind which that address is the entry of a rank; NULL: none. GEX_RANK_INVALID,
// UINT32_MAX, may be behind the guard of its table and in the guard of the first one, so it is
// looked for first.
static const record_t *record_find(uintptr_t addr)
{
    const record_t *first = atomic_load_explicit(&records, memory_order_acquire), *record;
    for (record = first; record; record = record->next) {
        const uintptr_t table = atomic_load_explicit(&record->table, memory_order_acquire);
        if (table && addr == table + UINT32_MAX * sizeof(intptr_t))
            return record;
    }
    for (record = first; record; record = record->next) {
        const uintptr_t table = atomic_load_explicit(&record->table, memory_order_acquire);
        if (table && addr - table - record->size * sizeof(intptr_t) < record->guard)
            return record;
    }
    return NULL;
}

bool aq_shift_table_beyond(uintptr_t addr, uint32_t *rank, uint32_t *size)
{
    const record_t *record = record_find(addr);
    if (!record)
        return false;
    const uintptr_t table = atomic_load_explicit(&record->table, memory_order_acquire);
    *rank = (uint32_t)((addr - table) / sizeof(intptr_t));
    *size = (uint32_t)record->size;
    return true;
}
