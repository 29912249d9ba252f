#ifndef _GNU_SOURCE
#define _GNU_SOURCE // SEEK_DATA
#endif
#include "peer_records.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../other/base/memfile.h"
#include "fatal.h"
#include "job.h"
#include "rank_head.h"

typedef struct slot {
    aq_peer_record_t *records;
    bool in_file, taken;
} slot_t;

static slot_t *slots;
static size_t slot_count;

// ---- memory ----

static size_t slot_bytes(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = aq_slot_used(aq_job.size);
    return (bytes + page - 1) / page * page;
}

static size_t slot_offset(size_t i)
{
    return aq_rank_file_first() + i * slot_bytes();
}

static void *memory_map(int fd, size_t offset, size_t bytes)
{
    const int flags = MAP_NORESERVE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, (off_t)offset);
    if (memory == MAP_FAILED)
        aq_fatal("out of memory for the counters of %u ranks (%zu bytes of addresses)", aq_job.size,
                 bytes);
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE); // a huge page for one rank is a waste
    return memory;
}

static bool file_grow(void)
{
    return aq_rank_file() >= 0 &&
           aq_memfile_resize(aq_rank_file(), slot_offset(slot_count + 1)) == 0;
}

// ---- slots ----

static aq_peer_record_t *slot_make(void)
{
    aq_rank_head_t *head = aq_rank_head();
    slot_t *more = realloc(slots, (slot_count + 1) * sizeof *slots);
    if (!more)
        aq_fatal("out of memory for the counters of a thread");
    slots = more;
    const bool in_file = file_grow();
    void *records =
        memory_map(in_file ? aq_rank_file() : -1, slot_offset(slot_count), slot_bytes());
    slots[slot_count] = (slot_t){.records = records, .in_file = in_file, .taken = true};
    head->slot_bytes = slot_bytes();
    atomic_store_explicit(&head->slots, slot_count + 1, memory_order_release);
    return slots[slot_count++].records;
}

aq_peer_record_t *aq_peer_slot_take(void)
{
    for (size_t i = 0; i < slot_count; i++)
        if (!slots[i].taken) {
            slots[i].taken = true;
            return slots[i].records;
        }
    return slot_make();
}

void aq_peer_slot_drop(aq_peer_record_t *slot)
{
    for (size_t i = 0; i < slot_count; i++)
        if (slots[i].records == slot)
            slots[i].taken = false;
}

aq_own_record_t *aq_peer_own(aq_peer_record_t *slot)
{
    return (aq_own_record_t *)(void *)(slot + aq_job.size);
}

void aq_peer_own_sum(uint64_t sum[AQ_OWN_COUNTS])
{
    for (size_t i = 0; i < slot_count; i++) {
        const aq_own_record_t *own = aq_peer_own(slots[i].records);
        for (unsigned c = 0; c < AQ_OWN_COUNTS; c++)
            sum[c] += atomic_load_explicit(&own->count[c], memory_order_relaxed);
    }
}

// ---- walks ----

static void visit_ranks(const slot_t *slot, size_t low, size_t high, aq_peer_visit_t visit,
                        void *context)
{
    for (size_t rank = low; rank < high && rank < aq_job.size; rank++)
        visit((uint32_t)rank, &slot->records[rank], context);
}

// The bytes of a slot that are there, from *at on; false: no more.
static bool find_written(size_t i, size_t *at, size_t *end)
{
    const off_t start = (off_t)slot_offset(i), limit = start + (off_t)slot_bytes();
    const off_t data = lseek(aq_rank_file(), start + (off_t)*at, SEEK_DATA);
    if (data < 0 || data >= limit)
        return false;
    const off_t hole = lseek(aq_rank_file(), data, SEEK_HOLE);
    *at = (size_t)(data - start);
    *end = (size_t)((hole > 0 && hole < limit ? hole : limit) - start);
    return true;
}

static void visit_slot(size_t i, aq_peer_visit_t visit, void *context)
{
    size_t at = 0, end = 0;
    if (!slots[i].in_file) {
        visit_ranks(&slots[i], 0, aq_job.size, visit, context);
        return;
    }
    for (; find_written(i, &at, &end); at = end)
        visit_ranks(&slots[i], at / sizeof(aq_peer_record_t), end / sizeof(aq_peer_record_t), visit,
                    context);
}

void aq_peer_each(aq_peer_visit_t visit, void *context)
{
    for (size_t i = 0; i < slot_count; i++)
        visit_slot(i, visit, context);
}

// ---- reading without a lock ----

// The slots of the process may move, so this reads the file.
static bool slot_read(size_t i, uint32_t first, uint32_t count, uint64_t *sums)
{
    enum { WORDS = sizeof(aq_peer_record_t) / sizeof(uint64_t) };
    uint64_t words[AQ_PEER_READ * WORDS];
    const size_t bytes = count * sizeof(aq_peer_record_t);
    const off_t at = (off_t)(slot_offset(i) + first * sizeof(aq_peer_record_t));
    if (pread(aq_rank_file(), words, bytes, at) != (ssize_t)bytes)
        return false;
    for (size_t word = 0; word < count * WORDS; word++)
        sums[word] += words[word];
    return true;
}

bool aq_peer_read(uint32_t first, uint32_t count, aq_peer_record_t *sums)
{
    memset(sums, 0, count * sizeof *sums);
    if (slot_count == 0)
        return true;
    bool all = aq_rank_file() >= 0;
    const uint64_t made = atomic_load_explicit(&aq_rank_head()->slots, memory_order_acquire);
    for (uint64_t i = 0; i < made && all; i++)
        all = slot_read(i, first, count, (uint64_t *)sums);
    return all;
}
