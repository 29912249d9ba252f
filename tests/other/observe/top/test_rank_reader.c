// SPDX-License-Identifier: BSD-3-Clause
// The reader of the memory file of a rank: what a correct file says, and that nothing of a damaged
// file gets beyond its bounds.

#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../../core/record/rank_head.h"
#include "../../../../other/base/clock.h"
#include "../../../../other/observe/top/rank_reader.h"

enum { RANKS = 40, SLOT = 4096 * 6, SLOTS = 2 };
enum { FILE_BYTES = AQ_RANK_HEAD_BYTES + SLOT * SLOTS };

typedef struct file {
    int fd;
    aq_rank_head_t *head;
} file_t;

static aq_peer_record_t *record_of(const file_t *file, unsigned slot, uint32_t rank)
{
    char *slots = (char *)file->head + AQ_RANK_HEAD_BYTES;
    return (aq_peer_record_t *)(void *)(slots + (size_t)slot * SLOT) + rank;
}

static uint64_t *shorts_of(const file_t *file, unsigned slot, unsigned table)
{
    return (uint64_t *)(void *)((char *)record_of(file, slot, 0) + aq_slot_shorts(RANKS, table));
}

static void head_fill(aq_rank_head_t *head)
{
    memcpy(head->magic, AQ_RANK_FILE_MAGIC, sizeof AQ_RANK_FILE_MAGIC);
    head->version = AQ_RANK_FILE_VERSION;
    head->pid = 77;
    head->job = 5;
    head->rank = 3;
    head->ranks = RANKS;
    head->signal = 12;
    strcpy(head->program, "heat");
    head->stage = AQ_STAGE_RUNNING;
    head->record_bytes = sizeof(aq_peer_record_t);
    head->slots.first = AQ_RANK_HEAD_BYTES;
    head->slots.bytes = SLOT;
    head->slots.used = SLOTS;
    head->team[2] = (aq_shown_team_t){.id = 9, .rank = 1, .size = 4, .used = 1, .calls = 6};
    head->team[2].last = AQ_SHOWN_BROADCAST << 8 | AQ_SHOWN_BARRIER;
    head->thread[0].tid = 78;
    head->thread[0].wait = aq_wait_word(AQ_WAIT_COLLECTIVE, 0);
    head->thread[0].team = 3;
    head->thread[0].call = 6;
    head->thread[1].tid = 79;
    head->thread[1].wait = aq_wait_word(AQ_WAIT_ROOM, 39);
    head->thread[1].pending = 5 | 7ull << AQ_PENDING_BITS;
}

static int file_make(void **state)
{
    static file_t file;
    file.fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(file.fd >= 0);
    assert_int_equal(ftruncate(file.fd, FILE_BYTES), 0);
    void *memory = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    assert_true(memory != MAP_FAILED);
    file.head = memory;
    head_fill(file.head);
    *state = &file;
    return 0;
}

static int file_drop(void **state)
{
    const file_t *file = *state;
    munmap(file->head, FILE_BYTES);
    close(file->fd);
    return 0;
}

static aq_seen_rank_t seen;
static uint32_t version;

static void a_correct_file_is_read(void **state)
{
    const file_t *file = *state;
    assert_int_equal(aq_rank_read(file->fd, &seen, &version), AQ_READ_OK);
    assert_int_equal(seen.rank, 3);
    assert_int_equal(seen.ranks, RANKS);
    assert_string_equal(seen.program, "heat");
    assert_int_equal(seen.teams, 1);
    assert_int_equal(seen.team[0].last[0], AQ_SHOWN_BARRIER);
    assert_int_equal(seen.team[0].last[1], AQ_SHOWN_BROADCAST);
    assert_int_equal(seen.threads, 2);
    assert_int_equal(seen.thread[0].kind, AQ_WAIT_COLLECTIVE);
    assert_int_equal(seen.thread[0].team, 0);
    assert_int_equal(seen.thread[1].rank, 39);
    assert_int_equal(seen.thread[1].pending[0], 5);
    assert_int_equal(seen.thread[1].pending[1], 7);
}

static void assert_shown(const file_t *file, const char *program, const char *shown)
{
    memset(file->head->program, 0, sizeof file->head->program);
    strcpy(file->head->program, program);
    assert_int_equal(aq_rank_read(file->fd, &seen, &version), AQ_READ_OK);
    assert_string_equal(seen.program, shown);
}

static void texts_are_printable_characters_of_utf8(void **state)
{
    assert_shown(*state, "h\xc3\xa9 \xe2\x82\xac\xf0\x9f\x8c\x8a",
                 "h\xc3\xa9 \xe2\x82\xac\xf0\x9f\x8c\x8a");
    assert_shown(*state, "\xc2\xa0\xe0\xa0\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf",
                 "\xc2\xa0\xe0\xa0\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf");
    assert_shown(*state, "caf\xe9", "caf?");                         // Latin 1
    assert_shown(*state, "\033[2Ja\177", "?[2Ja?");                  // control characters
    assert_shown(*state, "\xc2\x9b", "??");                          // one of two bytes
    assert_shown(*state, "\xc0\xaf\xe0\x9f\xbf", "?????");           // longer than needed
    assert_shown(*state, "\xed\xa0\x80\xf4\x90\x80\x80", "???????"); // a surrogate; too great
    assert_shown(*state, "\xe2\x82", "??");                          // without its end
    assert_shown(*state, "\xf0\x9f\x8cz\xff", "???z?");
}

// ---- counters ----

typedef struct visits {
    uint32_t count, last;
    uint64_t sum;
} visits_t;

static void visit(uint32_t to, const uint64_t sum[AQ_PEER_COUNTS], void *context)
{
    visits_t *visits = context;
    visits->count++;
    visits->last = to;
    for (unsigned i = 0; i < AQ_PEER_COUNTS; i++)
        visits->sum += sum[i];
}

static void counters_of_all_slots_are_added(void **state)
{
    const file_t *file = *state;
    visits_t visits = {0};
    record_of(file, 0, 1)->endpoint0[AQ_PEER_PUT] = 3;
    record_of(file, 1, 1)->further[AQ_PEER_PUT] = 4;
    record_of(file, 1, 39)->endpoint0[AQ_PEER_GET] = 5;
    assert_int_equal(aq_rank_read(file->fd, &seen, &version), AQ_READ_OK);
    assert_true(aq_rank_read_counts(file->fd, &seen, visit, &visits));
    assert_int_equal(visits.count, 2);
    assert_int_equal(visits.last, 39);
    assert_int_equal(visits.sum, 12);
}

static void visit_shorts(uint32_t to, const uint64_t sum[AQ_PEER_COUNTS], void *context)
{
    uint64_t(*seen_shorts)[2] = context;
    seen_shorts[to][0] = sum[AQ_PEER_REQUEST_SHORT];
    seen_shorts[to][1] = sum[AQ_PEER_REPLY_SHORT];
}

static void shorts_of_tables_and_records_are_added(void **state)
{
    const file_t *file = *state;
    uint64_t sums[RANKS][2] = {{0}};
    record_of(file, 0, 1)->endpoint0[AQ_PEER_REQUEST_SHORT] = 1;
    shorts_of(file, 0, AQ_SHORT_REQUESTS)[1] = 2;
    shorts_of(file, 1, AQ_SHORT_REQUESTS)[1] = 4;
    shorts_of(file, 1, AQ_SHORT_REPLIES)[0] = 8;
    shorts_of(file, 0, AQ_SHORT_REPLIES)[39] = 16;
    assert_int_equal(aq_rank_read(file->fd, &seen, &version), AQ_READ_OK);
    assert_true(aq_rank_read_counts(file->fd, &seen, visit_shorts, sums));
    assert_int_equal(sums[1][0], 7);
    assert_int_equal(sums[0][1], 8);
    assert_int_equal(sums[39][1], 16);
    assert_int_equal(sums[39][0] + sums[1][1] + sums[0][0], 0);
}

// Bytes 100 to 200 of a slot, and an array of 5 elements of 16 bytes from byte `array` on.
static void expect_elements(uint64_t array, uint64_t low, uint64_t high)
{
    const aq_slot_part_t bytes = {100, 200}, found = aq_slot_elements(bytes, array, 16, 5);
    assert_int_equal(found.low, low);
    assert_int_equal(found.high, high);
}

static void elements_of_a_part_are_found(void **state)
{
    (void)state;
    expect_elements(120, 0, 5);
    expect_elements(80, 1, 5);
    expect_elements(64, 2, 5);
    expect_elements(180, 0, 2);
    expect_elements(200, 0, 0);
    expect_elements(300, 0, 0);
    const aq_slot_part_t none = aq_slot_elements((aq_slot_part_t){100, 200}, 0, 16, 5);
    assert_true(none.low >= none.high); // the array ends before the part
}

static aq_own_record_t *own_of(const file_t *file, unsigned slot)
{
    return (aq_own_record_t *)(void *)record_of(file, slot, RANKS);
}

static void counts_of_all_threads_are_added(void **state)
{
    const file_t *file = *state;
    uint64_t own[AQ_OWN_COUNTS];
    visits_t visits = {0};
    own_of(file, 0)->count[AQ_OWN_POLLS_FOUND] = 3;
    own_of(file, 1)->count[AQ_OWN_POLLS_FOUND] = 4;
    own_of(file, 1)->count[AQ_OWN_COUNTS - 1] = 5;
    assert_int_equal(aq_rank_read(file->fd, &seen, &version), AQ_READ_OK);
    assert_true(aq_rank_read_own(file->fd, &seen, own));
    assert_int_equal(own[AQ_OWN_POLLS_FOUND], 7);
    assert_int_equal(own[AQ_OWN_POLLS_EMPTY], 0);
    assert_int_equal(own[AQ_OWN_COUNTS - 1], 5);
    assert_true(aq_rank_read_counts(file->fd, &seen, visit, &visits)); // no rank has counts
    assert_int_equal(visits.count, 0);
}

static void refuse_counts(const file_t *file)
{
    visits_t visits = {0};
    assert_int_equal(aq_rank_read(file->fd, &seen, &version), AQ_READ_OK);
    uint64_t own[AQ_OWN_COUNTS];
    assert_false(aq_rank_read_counts(file->fd, &seen, visit, &visits));
    assert_int_equal(visits.count, 0);
    assert_false(aq_rank_read_own(file->fd, &seen, own));
    head_fill(file->head);
}

static void counters_outside_of_the_file_are_refused(void **state)
{
    const file_t *file = *state;
    file->head->slots.used = 3;
    refuse_counts(file);
    file->head->slots.used = UINT64_MAX / SLOT + 2;
    refuse_counts(file);
    file->head->slots.bytes = aq_slot_used(RANKS) - 1;
    refuse_counts(file);
    file->head->slots.bytes = UINT64_MAX;
    refuse_counts(file);
    file->head->slots.first = 0;
    refuse_counts(file);
    file->head->slots.first = UINT64_MAX - SLOT;
    refuse_counts(file);
    file->head->record_bytes = 128;
    refuse_counts(file);
    file->head->ranks = AQ_SEEN_RANKS_MAX;
    refuse_counts(file);
}

// In a file of so many bytes, without memory behind most of them, slots may wrap around.
static void slots_that_wrap_are_refused(void **state)
{
    const file_t *file = *state;
    assert_int_equal(ftruncate(file->fd, (off_t)1 << 62), 0);
    file->head->slots.bytes = (uint64_t)1 << 50;
    file->head->slots.used = 1 << 14;
    refuse_counts(file);
}

static void a_file_that_shrinks_is_refused(void **state)
{
    const file_t *file = *state;
    visits_t visits = {0};
    record_of(file, 1, 39)->endpoint0[AQ_PEER_GET] = 5;
    assert_int_equal(aq_rank_read(file->fd, &seen, &version), AQ_READ_OK);
    assert_int_equal(ftruncate(file->fd, FILE_BYTES - SLOT - 1), 0);
    uint64_t own[AQ_OWN_COUNTS];
    assert_false(aq_rank_read_counts(file->fd, &seen, visit, &visits));
    assert_false(aq_rank_read_own(file->fd, &seen, own));
}

// ---- damaged heads ----

static void expect_damaged(const file_t *file)
{
    assert_int_equal(aq_rank_read(file->fd, &seen, &version), AQ_READ_DAMAGED);
    head_fill(file->head);
}

static void wrong_identities_are_refused(void **state)
{
    const file_t *file = *state;
    file->head->magic[0] = 'B';
    expect_damaged(file);
    file->head->rank = RANKS;
    expect_damaged(file);
    file->head->ranks = 0;
    expect_damaged(file);
    file->head->ranks = AQ_SEEN_RANKS_MAX + 1;
    expect_damaged(file);
    file->head->host = RANKS;
    expect_damaged(file);
    file->head->host = 0;
    file->head->pid = -1;
    expect_damaged(file);
    assert_int_equal(ftruncate(file->fd, 11), 0);
    assert_int_equal(aq_rank_read(file->fd, &seen, &version), AQ_READ_DAMAGED);
}

static void other_versions_and_early_files_are_told(void **state)
{
    const file_t *file = *state;
    file->head->pid = 0;
    assert_int_equal(aq_rank_read(file->fd, &seen, &version), AQ_READ_NOT_YET);
    file->head->version = AQ_RANK_FILE_VERSION + 1;
    assert_int_equal(aq_rank_read(file->fd, &seen, &version), AQ_READ_VERSION);
    assert_int_equal(version, AQ_RANK_FILE_VERSION + 1);
}

static void a_file_without_its_end_has_no_threads(void **state)
{
    const file_t *file = *state;
    assert_int_equal(ftruncate(file->fd, 4096), 0);
    assert_int_equal(aq_rank_read(file->fd, &seen, &version), AQ_READ_OK);
    assert_int_equal(seen.threads, 0);
}

// ---- any bytes ----

static void within_bounds(void)
{
    assert_true(seen.rank < seen.ranks && seen.host < seen.ranks);
    assert_true(seen.signal >= 0 && seen.signal < 65);
    assert_true(seen.stage < AQ_STAGES);
    assert_true(memchr(seen.program, 0, sizeof seen.program) != NULL);
    assert_true(memchr(seen.host_name, 0, sizeof seen.host_name) != NULL);
    assert_true(seen.teams <= AQ_SHOWN_TEAMS && seen.threads <= AQ_SHOWN_THREADS);
    for (unsigned i = 0; i < seen.teams; i++)
        for (unsigned j = 0; j < AQ_SEEN_LAST; j++)
            assert_true(seen.team[i].rank < seen.team[i].size &&
                        seen.team[i].last[j] < AQ_SHOWN_CALLS);
    for (unsigned i = 0; i < seen.threads; i++) {
        const aq_seen_thread_t *thread = &seen.thread[i];
        assert_true(thread->kind < AQ_WAIT_KINDS && thread->team < (int)seen.teams);
        assert_true(thread->rank < seen.ranks || thread->rank == AQ_WAIT_NO_RANK);
    }
}

// Changes some bytes behind the version.
static void head_damage(aq_rank_head_t *head)
{
    unsigned char *bytes = (unsigned char *)head;
    for (int i = 0; i < 40; i++)
        bytes[12 + (size_t)random() % (sizeof *head - 12)] = (unsigned char)random();
    if (random() % 2)
        for (unsigned i = 0; i < AQ_SHOWN_THREADS; i++)
            head->thread[i].wait = (uint64_t)random() << 32 | (uint64_t)random();
    if (random() % 2)
        for (unsigned i = 0; i < AQ_SHOWN_THREADS; i++)
            head->thread[i].team = (uint32_t)random() % 64;
}

static void any_bytes_stay_within_bounds(void **state)
{
    const file_t *file = *state;
    aq_seen_stack_t stack;
    uint64_t own[AQ_OWN_COUNTS];
    visits_t visits;
    srandom(1);
    for (int round = 0; round < 3000; round++) {
        memset(file->head->thread, 0xff, sizeof file->head->thread);
        head_fill(file->head);
        head_damage(file->head);
        if (aq_rank_read(file->fd, &seen, &version) == AQ_READ_OK) {
            within_bounds();
            (void)aq_rank_read_counts(file->fd, &seen, visit, &visits);
            (void)aq_rank_read_own(file->fd, &seen, own);
        }
        assert_true(aq_rank_read_stack(file->fd, &stack));
        assert_true(stack.handler >= -1 && stack.handler < 256);
        assert_true(stack.frames <= AQ_SHOWN_FRAMES);
    }
}

// ---- what this process writes ----

static void stages_are_written(void **state)
{
    (void)state;
    const aq_rank_head_t *head = aq_rank_head();
    for (aq_stage_t stage = AQ_STAGE_RUNNING; stage < AQ_STAGES; stage++) {
        const uint64_t before = aq_clock_ns();
        aq_rank_stage(stage);
        assert_int_equal(head->stage, stage);
        assert_true(head->stage_since >= before);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, file_make, file_drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_correct_file_is_read),
        TEST(texts_are_printable_characters_of_utf8),
        TEST(counters_of_all_slots_are_added),
        TEST(shorts_of_tables_and_records_are_added),
        TEST(elements_of_a_part_are_found),
        TEST(counts_of_all_threads_are_added),
        TEST(counters_outside_of_the_file_are_refused),
        TEST(slots_that_wrap_are_refused),
        TEST(a_file_that_shrinks_is_refused),
        TEST(wrong_identities_are_refused),
        TEST(other_versions_and_early_files_are_told),
        TEST(a_file_without_its_end_has_no_threads),
        TEST(any_bytes_stay_within_bounds),
        cmocka_unit_test(stages_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
