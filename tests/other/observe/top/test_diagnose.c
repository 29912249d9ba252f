// SPDX-License-Identifier: BSD-3-Clause
// The sentences of a diagnosis, from states that the test makes up.

#include "../../../unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../other/observe/top/diagnose.h"

#define SECOND UINT64_C(1000000000)
enum { RANKS = 8 };
static const uint64_t now = 1000 * SECOND;

static aq_watched_rank_t ranks[RANKS];
static aq_watched_rank_t *list[RANKS];
static aq_watched_job_t job;

static int start(void **state)
{
    (void)state;
    memset(ranks, 0, sizeof ranks);
    for (uint32_t i = 0; i < RANKS; i++) {
        ranks[i].process = 'S';
        ranks[i].seen = (aq_seen_rank_t){.rank = i,
                                         .ranks = RANKS,
                                         .pid = 100 + (int)i,
                                         .stage = AQ_STAGE_RUNNING,
                                         .program = "heat",
                                         .teams = 1,
                                         .threads = 1};
        ranks[i].seen.team[0] = (aq_seen_team_t){.rank = i, .size = RANKS};
        list[i] = &ranks[i];
    }
    job = (aq_watched_job_t){.ranks = RANKS, .rank = list, .found = RANKS};
    return 0;
}

// The rank waits for so many seconds, and polls.
static aq_seen_thread_t *wait_in(uint32_t rank, aq_wait_kind_t kind, uint64_t seconds)
{
    aq_seen_thread_t *thread = &ranks[rank].seen.thread[0];
    *thread = (aq_seen_thread_t){.kind = kind,
                                 .rank = AQ_WAIT_NO_RANK,
                                 .since = now - seconds * SECOND,
                                 .polled = now - 1000000,
                                 .team = -1};
    return thread;
}

// The rank has begun a call of a team and waits for it.
static void wait_in_call(uint32_t rank, uint32_t number, unsigned call, uint64_t seconds)
{
    aq_seen_thread_t *thread = wait_in(rank, AQ_WAIT_COLLECTIVE, seconds);
    aq_seen_team_t *team = &ranks[rank].seen.team[0];
    team->calls = number;
    memmove(team->last + 1, team->last, sizeof team->last - 1);
    team->last[0] = (uint8_t)call;
    thread->team = 0;
    thread->call = number & 0xffff;
}

static aq_stack_result_t stack_in_handler(const aq_watched_job_t *of, const aq_watched_rank_t *rank,
                                          aq_seen_stack_t *stack)
{
    (void)of;
    *stack = (aq_seen_stack_t){.handler = rank->seen.rank == 7 ? 130 : -1, .frames = 2};
    strcpy(stack->frame[0], "libc.so.6+0x12 (pause)");
    strcpy(stack->frame[1], "heat+0x1234 (main)");
    return AQ_STACK_GIVEN;
}

static void expect(const char *wanted, int found, aq_stack_get_t get)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const int got = aq_diagnose(&job, now, get, out);
    fclose(out);
    assert_string_equal(text, wanted);
    assert_int_equal(got, found);
    free(text);
}

static void nothing_is_wrong(void **state)
{
    (void)state;
    expect("no rank waits for longer than a second\n", 0, NULL);
}

static void a_rank_misses_a_barrier(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 7; i++)
        wait_in_call(i, 17, AQ_SHOWN_BARRIER, 41);
    ranks[7].seen.team[0].calls = 16;
    ranks[7].process = 'R';
    expect("ranks 0-6 wait for 41 s in barrier 17 of the team of all ranks for rank 7, which is "
           "not in the library: it computes\n",
           1, NULL);
}

static void the_number_of_a_call_goes_round(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 7; i++)
        wait_in_call(i, 0x20000, AQ_SHOWN_BARRIER, 2);
    ranks[7].seen.team[0].calls = 0x1ffff;
    expect("ranks 0-6 wait for 2 s in barrier 0 of the team of all ranks for rank 7, which is not "
           "in the library: it sleeps or waits for something else\n",
           1, NULL);
}

static void a_rank_is_in_a_handler(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 7; i++)
        wait_in_call(i, 1, AQ_SHOWN_BARRIER, 50);
    wait_in(7, AQ_WAIT_CONDITION, 51)->polled = now - 41 * SECOND;
    expect("ranks 0-6 wait for 50 s in barrier 1 of the team of all ranks for rank 7, which is in "
           "handler 130 for 41 s, in its client's code at heat+0x1234 (main)\n",
           1, stack_in_handler);
}

static void a_stopped_rank_is_named(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RANKS; i++)
        wait_in_call(i, 1, AQ_SHOWN_BARRIER, 5);
    ranks[3].process = 'T';
    expect("ranks 0-2, 4-7 wait for 5 s in barrier 1 of the team of all ranks for rank 3, which is "
           "stopped: kill -CONT 103 lets it go on\n",
           1, NULL);
}

static void different_calls_are_told(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RANKS; i++)
        wait_in_call(i, 3, i == 2 || i == 5 ? AQ_SHOWN_BROADCAST : AQ_SHOWN_BARRIER, 5);
    expect("collective 3 of the team of all ranks: ranks 0, 1, 3, 4, 6, 7 call barrier, ranks 2, 5 "
           "call broadcast; all members of a team have to call its collectives in the same order\n",
           1, NULL);
}

static void a_cycle_is_named(void **state)
{
    (void)state;
    wait_in(0, AQ_WAIT_RECEIVE, 9)->rank = 4;
    wait_in(4, AQ_WAIT_ROOM, 8)->rank = 6;
    wait_in(6, AQ_WAIT_RECEIVE, 7)->rank = 0;
    for (uint32_t i = 0; i < RANKS; i++)
        if (i != 0 && i != 4 && i != 6)
            wait_in(i, AQ_WAIT_CONDITION, 0);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_true(aq_diagnose(&job, now, NULL, out) > 3);
    fclose(out);
    assert_non_null(strstr(text, "a cycle: rank 0 waits for a message from rank 4 and so for rank "
                                 "4, rank 4 waits for room to send to rank 6 and so for rank 6, "
                                 "rank 6 waits for a message from rank 0 and so for rank 0\n"));
    free(text);
}

static void a_rank_that_is_gone_is_named(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 7; i++)
        wait_in_call(i, 1, AQ_SHOWN_BARRIER, 5);
    ranks[7].process = 'X';
    expect("ranks 0-6 wait for 5 s in barrier 1 of the team of all ranks for rank 7, which is "
           "gone: its process 107 has ended without leaving the job\n",
           1, NULL);
}

static void members_of_other_hosts_are_counted(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < RANKS; i++) {
        wait_in_call(i, 1, AQ_SHOWN_BARRIER, 5);
        ranks[i].seen.team[0].size = 12;
    }
    job.ranks = 12;
    expect("ranks 0-7 wait for 5 s in barrier 1 of the team of all ranks for 4 members of which "
           "nothing is known\n"
           "nothing is known of 4 of 12 ranks: they are on hosts that gasnet_top does not reach, "
           "or have not started\n",
           1, NULL);
}

#define TEST(name) cmocka_unit_test_setup(name, start)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_wrong),
        TEST(a_rank_misses_a_barrier),
        TEST(the_number_of_a_call_goes_round),
        TEST(a_rank_is_in_a_handler),
        TEST(a_stopped_rank_is_named),
        TEST(different_calls_are_told),
        TEST(a_cycle_is_named),
        TEST(a_rank_that_is_gone_is_named),
        TEST(members_of_other_hosts_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
