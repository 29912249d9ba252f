// SPDX-License-Identifier: BSD-3-Clause
// Gives each thread a slot in the memory file of the rank (rank_head.c), and sums or walks the
// records of all slots. counters.c calls it with its lock; traffic_file.c reads without one.
#include "peer_records.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../other/base/memory/memfile.h"
#include "../ground/fatal.h"
#include "../state/job.h"
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
    return aq_rank_head_bytes() + i * slot_bytes();
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
    slots = aq_reallocate(slots, (slot_count + 1) * sizeof *slots, "the counters of a thread");
    const bool in_file = file_grow();
    void *records =
        memory_map(in_file ? aq_rank_file() : -1, slot_offset(slot_count), slot_bytes());
    slots[slot_count] = (slot_t){.records = records, .in_file = in_file, .taken = true};
    head->slots.bytes = slot_bytes();
    atomic_store_explicit(&head->slots.used, slot_count + 1, memory_order_release);
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
    return (aq_own_record_t *)(void *)((char *)slot + aq_slot_own(aq_job.size));
}

_Atomic uint64_t *aq_peer_shorts(aq_peer_record_t *slot, unsigned table)
{
    return (_Atomic uint64_t *)(void *)((char *)slot + aq_slot_shorts(aq_job.size, table));
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

typedef struct walk {
    aq_peer_visit_t visit;
    void *context;
} walk_t;

static void walk_records(const walk_t *walk, const slot_t *slot, aq_slot_part_t bytes)
{
    const aq_slot_part_t ranks = aq_slot_elements(bytes, 0, sizeof(aq_peer_record_t), aq_job.size);
    for (uint64_t rank = ranks.low; rank < ranks.high; rank++)
        walk->visit((uint32_t)rank, &slot->records[rank], walk->context);
}

// Visits each count as a record whose other counts are 0.
static void walk_shorts(const walk_t *walk, const slot_t *slot, aq_slot_part_t bytes,
                        unsigned table)
{
    const _Atomic uint64_t *shorts = aq_peer_shorts(slot->records, table);
    const aq_slot_part_t ranks =
        aq_slot_elements(bytes, aq_slot_shorts(aq_job.size, table), sizeof *shorts, aq_job.size);
    aq_peer_record_t record = {0};
    for (uint64_t rank = ranks.low; rank < ranks.high; rank++) {
        const uint64_t count = atomic_load_explicit(&shorts[rank], memory_order_relaxed);
        atomic_store_explicit(&record.endpoint0[aq_short_count(table)], count,
                              memory_order_relaxed);
        if (count)
            walk->visit((uint32_t)rank, &record, walk->context);
    }
}

static void walk_part(const walk_t *walk, const slot_t *slot, aq_slot_part_t bytes)
{
    walk_records(walk, slot, bytes);
    for (unsigned table = 0; table < AQ_SHORT_TABLES; table++)
        walk_shorts(walk, slot, bytes, table);
}

// Finds the next bytes of a slot that were written, from part->high on. False: there are no more.
static bool find_written(size_t i, aq_slot_part_t *part)
{
    const off_t start = (off_t)slot_offset(i), limit = start + (off_t)slot_bytes();
    const off_t data = lseek(aq_rank_file(), start + (off_t)part->high, SEEK_DATA);
    if (data < 0 || data >= limit)
        return false;
    const off_t hole = lseek(aq_rank_file(), data, SEEK_HOLE);
    *part = (aq_slot_part_t){(uint64_t)(data - start),
                             (uint64_t)((hole > 0 && hole < limit ? hole : limit) - start)};
    return true;
}

static void walk_slot(const walk_t *walk, size_t i)
{
    aq_slot_part_t part = {0};
    if (!slots[i].in_file)
        walk_part(walk, &slots[i], (aq_slot_part_t){0, slot_bytes()});
    else
        while (find_written(i, &part))
            walk_part(walk, &slots[i], part);
}

void aq_peer_each(aq_peer_visit_t visit, void *context)
{
    const walk_t walk = {visit, context};
    for (size_t i = 0; i < slot_count; i++)
        walk_slot(&walk, i);
}

// ---- reading without a lock ----

// Reads the file, since the table `slots` may move when another thread takes a slot.
static bool words_read(size_t at, uint64_t *words, size_t count)
{
    const size_t bytes = count * sizeof *words;
    return pread(aq_rank_file(), words, bytes, (off_t)at) == (ssize_t)bytes;
}

static bool records_read(size_t i, uint32_t first, uint32_t count, aq_peer_record_t *sums)
{
    enum { WORDS = sizeof(aq_peer_record_t) / sizeof(uint64_t) };
    uint64_t words[AQ_PEER_READ * WORDS], *sum = (uint64_t *)(void *)sums;
    if (!words_read(slot_offset(i) + first * sizeof *sums, words, count * WORDS))
        return false;
    for (size_t word = 0; word < count * WORDS; word++)
        sum[word] += words[word];
    return true;
}

static bool shorts_read(size_t i, unsigned table, uint32_t first, uint32_t count,
                        aq_peer_record_t *sums)
{
    uint64_t words[AQ_PEER_READ];
    const size_t at = slot_offset(i) + aq_slot_shorts(aq_job.size, table);
    if (!words_read(at + first * sizeof *words, words, count))
        return false;
    for (uint32_t rank = 0; rank < count; rank++)
        atomic_fetch_add_explicit(&sums[rank].endpoint0[aq_short_count(table)], words[rank],
                                  memory_order_relaxed);
    return true;
}

static bool slot_read(size_t i, uint32_t first, uint32_t count, aq_peer_record_t *sums)
{
    bool all = records_read(i, first, count, sums);
    for (unsigned table = 0; table < AQ_SHORT_TABLES && all; table++)
        all = shorts_read(i, table, first, count, sums);
    return all;
}

bool aq_peer_read(uint32_t first, uint32_t count, aq_peer_record_t *sums)
{
    memset(sums, 0, count * sizeof *sums);
    if (slot_count == 0)
        return true;
    bool all = aq_rank_file() >= 0;
    const uint64_t made = atomic_load_explicit(&aq_rank_head()->slots.used, memory_order_acquire);
    for (uint64_t i = 0; i < made && all; i++)
        all = slot_read(i, first, count, sums);
    return all;
}
