// SPDX-License-Identifier: BSD-3-Clause
// Copies the file and checks each number on the way out. job_watch.c reads ranks of this host by
// it, and spawner/launch/helper_look.c those that it reports.
#include "rank_reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/minmax.h"
#include "../format/printable.h"

enum { HANDLERS = 256, READ_RECORDS = 256, READ_SHORTS = 4096, SLOTS_MAX = 1 << 16 };

#define LOAD(field) atomic_load_explicit(&(field), memory_order_relaxed)

// ---- the head ----

static bool read_whole(int fd, void *to, size_t bytes, off_t at)
{
    return pread(fd, to, bytes, at) == (ssize_t)bytes;
}

static void text_copy(char *to, const char *from, size_t size)
{
    memcpy(to, from, size);
    to[size - 1] = '\0';
    aq_printable_make(to);
}

static bool team_read(const aq_shown_team_t *shown, const aq_seen_rank_t *of, aq_seen_team_t *team)
{
    const uint64_t last = LOAD(shown->last);
    if (!LOAD(shown->used) || shown->size > of->ranks || shown->rank >= shown->size)
        return false;
    *team = (aq_seen_team_t){
        .id = shown->id, .rank = shown->rank, .size = shown->size, .calls = LOAD(shown->calls)};
    for (unsigned i = 0; i < AQ_SEEN_LAST; i++) {
        const uint8_t call = (uint8_t)(last >> 8 * i);
        team->last[i] = call < AQ_SHOWN_CALLS ? call : AQ_SHOWN_NONE;
    }
    return true;
}

// Fills in the teams. place[i]: where the team of the file's place i is; -1: nowhere.
static void teams_read(const aq_rank_head_t *head, aq_seen_rank_t *seen, int place[AQ_SHOWN_TEAMS])
{
    for (unsigned i = 0; i < AQ_SHOWN_TEAMS; i++) {
        const bool there = team_read(&head->team[i], seen, &seen->team[seen->teams]);
        place[i] = there ? (int)seen->teams : -1;
        seen->teams += there;
    }
}

static void pending_read(uint64_t pending, uint32_t out[AQ_PENDING_KINDS])
{
    for (unsigned i = 0; i < AQ_PENDING_KINDS; i++)
        out[i] = (uint32_t)(pending >> AQ_PENDING_BITS * i & AQ_PENDING_MAX);
}

static void thread_read(const aq_shown_thread_t *shown, const aq_seen_rank_t *of, const int *place,
                        aq_seen_thread_t *thread)
{
    const uint64_t wait = LOAD(shown->wait);
    const uint32_t team = LOAD(shown->team), number = (uint32_t)wait;
    *thread = (aq_seen_thread_t){.kind = AQ_WAIT_NOTHING,
                                 .rank = number < of->ranks ? number : AQ_WAIT_NO_RANK,
                                 .since = LOAD(shown->since),
                                 .polled = LOAD(shown->polled),
                                 .team = -1,
                                 .call = LOAD(shown->call),
                                 .tid = LOAD(shown->tid),
                                 .loops = LOAD(shown->loops)};
    if (wait >> 32 < AQ_WAIT_KINDS)
        thread->kind = (aq_wait_kind_t)(wait >> 32);
    if (thread->kind == AQ_WAIT_COLLECTIVE && team >= 1 && team <= AQ_SHOWN_TEAMS)
        thread->team = place[team - 1];
    pending_read(LOAD(shown->pending), thread->pending);
}

static void threads_read(const aq_rank_head_t *head, aq_seen_rank_t *seen, const int *place)
{
    for (unsigned i = 0; i < AQ_SHOWN_THREADS; i++)
        if (LOAD(head->thread[i].tid))
            thread_read(&head->thread[i], seen, place, &seen->thread[seen->threads++]);
}

static void identity_read(const aq_rank_head_t *head, aq_seen_rank_t *seen)
{
    const uint32_t stage = LOAD(head->stage);
    *seen =
        (aq_seen_rank_t){.job = head->job,
                         .started = head->started,
                         .started_unix = head->started_unix,
                         .stage_since = LOAD(head->stage_since),
                         .rank = head->rank,
                         .ranks = head->ranks,
                         .host = head->host,
                         .pid = head->pid,
                         .starter = head->starter > 0 ? head->starter : 0,
                         .launcher.pid = head->launcher.pid > 0 ? head->launcher.pid : 0,
                         .signal = head->signal < 65 ? (int)head->signal : 0,
                         .stage = stage < AQ_STAGES ? (aq_stage_t)stage : AQ_STAGE_STARTING,
                         .record_bytes = head->record_bytes,
                         .slots = {head->slots.first, head->slots.bytes, LOAD(head->slots.used)}};
    text_copy(seen->host_name, head->host_name, sizeof seen->host_name);
    text_copy(seen->program, head->program, sizeof seen->program);
    text_copy(seen->launcher.host, head->launcher.host, sizeof seen->launcher.host);
    text_copy(seen->launcher.other_hosts, head->launcher.other_hosts,
              sizeof seen->launcher.other_hosts);
    for (unsigned i = 0; i < AQ_SHOWN_CONDUITS; i++) {
        aq_shown_conduit_t *conduit = &seen->conduit[i];
        text_copy(conduit->name, head->conduit[i].name, sizeof conduit->name);
        text_copy(conduit->network, head->conduit[i].network, sizeof conduit->network);
    }
}

static aq_read_result_t head_check(const aq_rank_head_t *head)
{
    if (memcmp(head->magic, AQ_RANK_FILE_MAGIC, sizeof AQ_RANK_FILE_MAGIC) != 0)
        return AQ_READ_DAMAGED;
    if (head->version != AQ_RANK_FILE_VERSION)
        return AQ_READ_VERSION;
    if (head->pid == 0)
        return AQ_READ_NOT_YET;
    if (head->pid < 0 || head->ranks < 1 || head->ranks > AQ_SEEN_RANKS_MAX ||
        head->rank >= head->ranks || head->host >= head->ranks)
        return AQ_READ_DAMAGED;
    return AQ_READ_OK;
}

aq_read_result_t aq_rank_read(int fd, aq_seen_rank_t *seen, uint32_t *version)
{
    static aq_rank_head_t head;
    int place[AQ_SHOWN_TEAMS];
    memset(&head, 0, sizeof head);
    if (pread(fd, &head, sizeof head, 0) < (ssize_t)offsetof(aq_rank_head_t, starter_rank))
        return AQ_READ_DAMAGED;
    const aq_read_result_t result = head_check(&head);
    *version = head.version;
    if (result != AQ_READ_OK)
        return result;
    identity_read(&head, seen);
    teams_read(&head, seen, place);
    threads_read(&head, seen, place);
    return AQ_READ_OK;
}

// ---- times ----

// Times of the file may be anything.
static uint64_t since(uint64_t then, uint64_t now)
{
    return then && then < now ? now - then : 0;
}

uint64_t aq_seen_waited(const aq_seen_thread_t *thread, uint64_t now)
{
    return thread->kind == AQ_WAIT_NOTHING ? 0 : since(thread->since, now);
}

uint64_t aq_seen_unpolled(const aq_seen_thread_t *thread, uint64_t now)
{
    return aq_seen_waited(thread, now) ? since(thread->polled, now) : 0;
}

// ---- counters ----

// The sums of all ranks that have counts.
typedef struct sums {
    uint64_t (*of)[AQ_PEER_COUNTS];
    uint32_t ranks;
} sums_t;

static void record_add(uint64_t sum[AQ_PEER_COUNTS], const aq_peer_record_t *record)
{
    for (unsigned i = 0; i < AQ_PEER_COUNTS; i++)
        sum[i] += LOAD(record->endpoint0[i]) + LOAD(record->further[i]);
}

// Adds the records in a part of the slot that begins at `start`.
static bool records_add(int fd, off_t start, aq_slot_part_t bytes, const sums_t *sums)
{
    static aq_peer_record_t records[READ_RECORDS];
    aq_slot_part_t ranks = aq_slot_elements(bytes, 0, sizeof *records, sums->ranks);
    while (ranks.low < ranks.high) {
        const uint64_t count = aq_min(ranks.high - ranks.low, READ_RECORDS);
        const uint64_t at = ranks.low * sizeof *records;
        if (!read_whole(fd, records, count * sizeof *records, start + (off_t)at))
            return false;
        for (uint64_t i = 0; i < count; i++)
            record_add(sums->of[ranks.low + i], &records[i]);
        ranks.low += count;
    }
    return true;
}

// As records_add, for a table of Shorts.
static bool shorts_add(int fd, off_t start, aq_slot_part_t bytes, unsigned table,
                       const sums_t *sums)
{
    static uint64_t shorts[READ_SHORTS];
    const uint64_t array = aq_slot_shorts(sums->ranks, table);
    aq_slot_part_t ranks = aq_slot_elements(bytes, array, sizeof *shorts, sums->ranks);
    while (ranks.low < ranks.high) {
        const uint64_t count = aq_min(ranks.high - ranks.low, READ_SHORTS);
        const uint64_t at = array + ranks.low * sizeof *shorts;
        if (!read_whole(fd, shorts, count * sizeof *shorts, start + (off_t)at))
            return false;
        for (uint64_t i = 0; i < count; i++)
            sums->of[ranks.low + i][aq_short_count(table)] += shorts[i];
        ranks.low += count;
    }
    return true;
}

static bool part_add(int fd, off_t start, aq_slot_part_t bytes, const sums_t *sums)
{
    bool fine = records_add(fd, start, bytes, sums);
    for (unsigned table = 0; table < AQ_SHORT_TABLES && fine; table++)
        fine = shorts_add(fd, start, bytes, table, sums);
    return fine;
}

// The bytes of a slot that are there.
static bool slot_add(int fd, off_t start, const sums_t *sums)
{
    const off_t limit = start + (off_t)aq_slot_used(sums->ranks);
    off_t at = start;
    while ((at = lseek(fd, at, SEEK_DATA)) >= 0 && at < limit) {
        off_t hole = lseek(fd, at, SEEK_HOLE);
        if (hole <= at || hole > limit)
            hole = limit;
        const aq_slot_part_t bytes = {(uint64_t)(at - start), (uint64_t)(hole - start)};
        if (!part_add(fd, start, bytes, sums))
            return false;
        at = hole;
    }
    return true;
}

// Whether the slots are within the file.
static bool slots_fit(int fd, const aq_seen_rank_t *seen)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size < AQ_RANK_HEAD_BYTES)
        return false;
    const uint64_t size = (uint64_t)st.st_size;
    const uint64_t least = aq_slot_used(seen->ranks);
    uint64_t all;
    return seen->record_bytes == sizeof(aq_peer_record_t) &&
           seen->slots.first >= AQ_RANK_HEAD_BYTES && seen->slots.first <= size &&
           seen->slots.used <= SLOTS_MAX && seen->slots.bytes >= least &&
           seen->slots.bytes <= size &&
           !__builtin_mul_overflow(seen->slots.used, seen->slots.bytes, &all) &&
           all <= size - seen->slots.first;
}

static bool is_zero(const uint64_t sum[AQ_PEER_COUNTS])
{
    static const uint64_t zero[AQ_PEER_COUNTS];
    return memcmp(sum, zero, sizeof zero) == 0;
}

bool aq_rank_read_counts(int fd, const aq_seen_rank_t *seen, aq_counts_visit_t visit, void *context)
{
    if (seen->slots.used == 0)
        return true;
    if (!slots_fit(fd, seen))
        return false;
    sums_t sums = {.of = calloc(seen->ranks, sizeof *sums.of), .ranks = seen->ranks};
    bool fine = sums.of != NULL;
    for (uint64_t i = 0; fine && i < seen->slots.used; i++)
        fine = slot_add(fd, (off_t)(seen->slots.first + i * seen->slots.bytes), &sums);
    for (uint32_t r = 0; fine && r < seen->ranks; r++)
        if (!is_zero(sums.of[r]))
            visit(r, sums.of[r], context);
    free(sums.of);
    return fine;
}

bool aq_rank_read_own(int fd, const aq_seen_rank_t *seen, uint64_t sum[AQ_OWN_COUNTS])
{
    aq_own_record_t own;
    memset(sum, 0, AQ_OWN_COUNTS * sizeof *sum);
    if (seen->slots.used > 0 && !slots_fit(fd, seen))
        return false;
    for (uint64_t i = 0; i < seen->slots.used; i++) {
        const uint64_t slot = seen->slots.first + i * seen->slots.bytes;
        if (!read_whole(fd, &own, sizeof own, (off_t)(slot + aq_slot_own(seen->ranks))))
            return false;
        for (unsigned c = 0; c < AQ_OWN_COUNTS; c++)
            sum[c] += LOAD(own.count[c]);
    }
    return true;
}

// ---- a stack ----

bool aq_rank_read_stack(int fd, aq_seen_stack_t *seen)
{
    static aq_shown_stack_t stack;
    if (!read_whole(fd, &stack, sizeof stack, offsetof(aq_rank_head_t, stack)))
        return false;
    seen->answers = LOAD(stack.answers);
    seen->tid = stack.tid;
    seen->handler = stack.handler >= 0 && stack.handler < HANDLERS ? stack.handler : -1;
    seen->frames = stack.frames <= AQ_SHOWN_FRAMES ? stack.frames : 0;
    for (uint32_t i = 0; i < AQ_SHOWN_FRAMES; i++)
        text_copy(seen->frame[i], stack.frame[i], sizeof seen->frame[i]);
    return true;
}
