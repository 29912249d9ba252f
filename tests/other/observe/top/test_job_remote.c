// SPDX-License-Identifier: BSD-3-Clause
// The answers of a launcher to a look, whole, in pieces, and damaged: ranks of other hosts come out
// of them as files that the reader of this host's ranks accepts.

#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../../other/observe/top/job_remote.h"
#include "../../../../other/observe/format/look_format.h"
#include "../../../../other/observe/top/rank_reader.h"

enum { LOOK = 17, JOB = 4711, RANKS = 20, PEER = 4 + 8 * AQ_PEER_COUNTS, MOST = 1 << 16 };

static uint8_t answer[MOST];
static size_t used;

static void put(uint64_t value, unsigned bytes)
{
    for (unsigned i = bytes; i-- > 0;)
        answer[used++] = (uint8_t)(value >> 8 * i);
}

static void put_head(uint32_t number)
{
    static aq_rank_head_t head;
    const uint8_t *bytes = (const uint8_t *)&head;
    memset(&head, 0, sizeof head);
    memcpy(head.magic, AQ_RANK_FILE_MAGIC, sizeof AQ_RANK_FILE_MAGIC);
    head.version = AQ_RANK_FILE_VERSION;
    head.pid = 77;
    head.rank = number;
    head.ranks = RANKS;
    head.thread[0].tid = 78;
    head.thread[0].wait = aq_wait_word(AQ_WAIT_ROOM, 2);
    head.thread[0].since = 500;
    uint8_t *map = answer + used;
    memset(map, 0, AQ_LOOK_MAP);
    used += AQ_LOOK_MAP;
    for (unsigned i = 0; i < AQ_LOOK_LINES; i++) {
        static const uint8_t zero[AQ_LOOK_LINE];
        if (memcmp(bytes + i * (size_t)AQ_LOOK_LINE, zero, sizeof zero) == 0)
            continue;
        map[i / 8] |= (uint8_t)(1u << i % 8);
        memcpy(answer + used, bytes + i * (size_t)AQ_LOOK_LINE, AQ_LOOK_LINE);
        used += AQ_LOOK_LINE;
    }
}

static void put_rank(uint32_t number)
{
    put('S', 1);
    put(9, 8);
    put_head(number);
    for (unsigned i = 0; i < AQ_OWN_COUNTS; i++)
        put(i == AQ_OWN_SLEEPS ? number + 1 : 0, 8);
    put(1, 4);
    put(number + 1, 4);
    for (unsigned i = 0; i < AQ_PEER_COUNTS; i++)
        put(i == AQ_PEER_PUT ? 7 : 0, 8);
}

static void put_hosts(uint32_t hosts)
{
    used = 0;
    put(AQ_LOOK_HOSTS, 1);
    put(0, 3);
    put(16, 4);
    put(LOOK, 4);
    put(hosts, 4);
    put(JOB, 8);
}

static size_t seen_begin(uint32_t number, unsigned result)
{
    const size_t begin = used;
    put(AQ_LOOK_SEEN, 1);
    put(0, 7);
    put(number, 4);
    put(1000, 8);
    put(result, 1);
    return begin;
}

static void seen_end(size_t begin)
{
    const size_t end = used, length = end - begin - AQ_LOOK_FRAME_HEAD;
    used = begin + 4;
    put(length, 4);
    used = end;
}

// Two hosts answer, with two ranks and with one. In front is an answer to an earlier look.
static void answer_make(void)
{
    put_hosts(2);
    const size_t late = seen_begin(LOOK - 1, AQ_STACK_GIVEN);
    put_rank(7);
    seen_end(late);
    for (uint32_t host = 0; host < 2; host++) {
        const size_t begin = seen_begin(LOOK, AQ_STACK_GIVEN);
        put_rank(host);
        if (host == 0)
            put_rank(5);
        seen_end(begin);
    }
}

typedef struct seen {
    unsigned ranks, good;
    uint64_t puts, sleeps, job;
    uint32_t last;
} seen_t;

static void count_visit(uint32_t to, const uint64_t sum[AQ_PEER_COUNTS], void *context)
{
    seen_t *seen = context;
    seen->last = to;
    seen->puts += sum[AQ_PEER_PUT];
}

static void rank_visit(const aq_remote_rank_t *rank, void *context)
{
    static aq_seen_rank_t read;
    seen_t *seen = context;
    uint64_t own[AQ_OWN_COUNTS];
    uint32_t version;
    const int file = aq_remote_store(rank, -1);
    seen->ranks++;
    if (file < 0)
        return;
    if (aq_rank_read(file, &read, &version) == AQ_READ_OK) {
        seen->good++;
        (void)aq_rank_read_counts(file, &read, count_visit, seen);
        if (aq_rank_read_own(file, &read, own))
            seen->sleeps += own[AQ_OWN_SLEEPS];
    }
    close(file);
}

// A launcher that has sent these bytes and is gone.
static aq_remote_t launcher_make(const uint8_t *bytes, size_t length, int *end)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(write(ends[1], bytes, length), (ssize_t)length);
    assert_int_equal(shutdown(ends[1], SHUT_WR), 0);
    *end = ends[1];
    return (aq_remote_t){.fd = ends[0]};
}

// Returns what aq_remote_look returns.
static bool look_at(const uint8_t *bytes, size_t length, seen_t *seen)
{
    int end;
    uint64_t job;
    aq_remote_t remote = launcher_make(bytes, length, &end);
    *seen = (seen_t){0};
    const bool fine = aq_remote_look(&remote, rank_visit, seen, &job);
    seen->job = job;
    aq_remote_close(&remote);
    close(end);
    return fine;
}

static aq_stack_result_t stack_of(uint32_t rank, size_t length, seen_t *seen, uint8_t request[])
{
    int end;
    aq_remote_t remote = launcher_make(answer, length, &end);
    *seen = (seen_t){0};
    const aq_stack_result_t result = aq_remote_look_at(&remote, rank, true, rank_visit, seen);
    assert_int_equal(read(end, request, AQ_LOOK_REQUEST), AQ_LOOK_REQUEST);
    aq_remote_close(&remote);
    close(end);
    return result;
}

static void all_ranks_are_read(void **state)
{
    seen_t seen;
    (void)state;
    answer_make();
    assert_true(look_at(answer, used, &seen));
    assert_int_equal(seen.ranks, 3);
    assert_int_equal(seen.good, 3);
    assert_int_equal(seen.puts, 21);
    assert_int_equal(seen.sleeps, 1 + 2 + 6);
    assert_int_equal(seen.last, 2);
    assert_int_equal(seen.job, JOB);
}

static void one_rank_answers_with_its_stack(void **state)
{
    static const uint8_t expected[AQ_LOOK_REQUEST] = {AQ_LOOK_STACK, 0, 0, 1, 5};
    uint8_t request[AQ_LOOK_REQUEST];
    seen_t seen;
    (void)state;
    for (unsigned result = 0; result < 256; result += 85) {
        put_hosts(1);
        const size_t begin = seen_begin(LOOK, result);
        put_rank(5);
        seen_end(begin);
        assert_int_equal(stack_of(261, used, &seen, request),
                         result < AQ_STACK_RESULTS ? result : AQ_STACK_UNREACHED);
        assert_memory_equal(request, expected, sizeof expected);
        assert_int_equal(seen.good, 1);
    }
    assert_int_equal(stack_of(5, used - 1, &seen, request), AQ_STACK_UNREACHED);
    put_hosts(0); // the launcher knows that there is no such rank
    assert_int_equal(stack_of(5, used, &seen, request), AQ_STACK_UNREACHED);
}

static void a_host_without_an_answer_is_left_out(void **state)
{
    seen_t seen;
    (void)state;
    answer_make();
    assert_true(look_at(answer, used - 1, &seen));
    assert_int_equal(seen.ranks, 2);
    assert_false(look_at(answer, 5, &seen));
}

// A launcher that has the next answer ready as soon as one is read.
typedef struct flood {
    int end;
    size_t begin; // of the answer of a host
    unsigned answers;
} flood_t;

static void flood_visit(const aq_remote_rank_t *rank, void *context)
{
    flood_t *flood = context;
    const size_t length = used - flood->begin;
    (void)rank;
    assert_int_equal(write(flood->end, answer + flood->begin, length), (ssize_t)length);
    flood->answers++;
}

static void a_launcher_that_never_stops_is_left(void **state)
{
    int ends[2];
    uint64_t job;
    (void)state;
    put_hosts(UINT32_MAX);
    flood_t flood = {.begin = seen_begin(LOOK, AQ_STACK_GIVEN)};
    put_rank(1);
    seen_end(flood.begin);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(write(ends[1], answer, used), (ssize_t)used);
    aq_remote_t remote = {.fd = ends[0]};
    flood.end = ends[1];
    assert_true(aq_remote_look(&remote, flood_visit, &flood, &job));
    assert_true(flood.answers > 1);
    aq_remote_close(&remote);
    close(ends[1]);
}

static void damaged_answers_stay_within_bounds(void **state)
{
    seen_t seen;
    (void)state;
    srandom(1);
    for (int round = 0; round < 500; round++) {
        answer_make();
        for (int i = 0; i < 8; i++)
            answer[12 + (size_t)random() % (used - 12)] = (uint8_t)random();
        (void)look_at(answer, used, &seen);
        assert_true(seen.good <= seen.ranks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_are_read),
        cmocka_unit_test(one_rank_answers_with_its_stack),
        cmocka_unit_test(a_host_without_an_answer_is_left_out),
        cmocka_unit_test(a_launcher_that_never_stops_is_left),
        cmocka_unit_test(damaged_answers_stay_within_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
