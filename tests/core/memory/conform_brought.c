/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conform_brought: segments in memory that the client brings, which neighbours reach by a copy of
 * the kernel.
 *   copied WAY      puts and gets to them, of the primordial endpoint and of a further one. WAY:
 * any, or what happens between neighbours: none of them sends a message for that (yes), or all do
 * (no, and refused, which has the kernel refuse) rebound         an endpoint gets another segment,
 * of which its neighbours do not know yet threads         threads put to neighbours while another
 * one publishes and destroys segments dies            a rank is killed while the others put to it
 *   wrong PLACE     rank 0 puts to a place that rank 1 does not have: behind: beside the segment;
 *                   segment, endpoint: what was destroyed; unread: a destroyed segment, before rank
 *                   0 polls again
 * If something is wrong, the program prints a message and exits with 1.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnetex.h>

#include <aqueduct.h>

#include "conform_standalone.h"
#include "../../conformance/conform_modes.h"
#include "../../conformance/conform_refuse.h"
#include "conform_stations.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES = 200000, WORDS = BYTES / 8, THREADS = 3, ROUNDS = 20 };

static uint64_t memory[WORDS]; /* of a further endpoint */

static station_t first_station(void)
{
    static uint64_t first[WORDS];
    station_t station = {.ep = primordial};
    bind_segment(&station, first, sizeof first);
    publish(&station);
    return station;
}

/* ---- what works ---- */

static uint64_t messages_so_far(void)
{
    const volatile gasnetx_counters_t *counters = gasnetx_Counters(GEX_EP_INVALID);
    gasnet_AMPoll(); /* lets open datagrams leave */
    gasnetx_Counters_Update();
    return gasnetx_counter(&counters->frames_sent);
}

static void fill(uint64_t *words, gex_Rank_t rank, unsigned turn)
{
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = rank * 1000000ul + turn * 1000000000ul + i;
}

/* Puts to the next rank in three ways, and one word behind; no rank reads the words meanwhile. */
static void put_parts(gex_TM_t tm, uint64_t *there, uint64_t *words)
{
    const gex_Rank_t next = (me + 1) % ranks;
    const size_t third = WORDS / 3, rest = WORDS - 2 * third;
    gex_Event_t event = gex_RMA_PutNB(tm, next, there, words, third * 8, GEX_EVENT_DEFER, 0);
    gex_RMA_PutNBI(tm, next, there + third, words + third, third * 8, GEX_EVENT_DEFER, 0);
    gex_RMA_PutBlocking(tm, next, there + 2 * third, words + 2 * third, (rest - 1) * 8, 0);
    gex_RMA_PutBlocking(tm, next, there + WORDS - 1, words + WORDS - 1, 8, 0);
    gex_Event_Wait(event);
    gex_NBI_Wait(GEX_EC_ALL, 0);
}

static void get_parts(gex_TM_t tm, uint64_t *there, uint64_t *words)
{
    const gex_Rank_t next = (me + 1) % ranks;
    const size_t third = WORDS / 3, rest = WORDS - 2 * third;
    gex_Event_t event = gex_RMA_GetNB(tm, words, next, there, third * 8, 0);
    gex_RMA_GetNBI(tm, words + third, next, there + third, third * 8, 0);
    gex_RMA_GetBlocking(tm, words + 2 * third, next, there + 2 * third, rest * 8, 0);
    gex_Event_Wait(event);
    gex_NBI_Wait(GEX_EC_ALL, 0);
}

/* Returns the number of messages that this rank has sent for the puts and gets. */
static uint64_t exchange(gex_TM_t tm, const station_t *station, unsigned turn)
{
    static uint64_t words[WORDS], wanted[WORDS];
    uint64_t *here, messages;
    uintptr_t size;
    uint64_t *there = find_segment(tm, (me + 1) % ranks, &here, &size);
    CHECK(size == BYTES, "the segment has bytes:", size);
    CHECK(ranks == 1 || !here, "memory of the client is mapped at rank", me);
    fill(words, me, turn);
    wait_barrier(team);
    messages = messages_so_far();
    put_parts(tm, there, words);
    messages = messages_so_far() - messages;
    wait_barrier(team);
    fill(wanted, (me + ranks - 1) % ranks, turn);
    CHECK(!memcmp(station->words, wanted, BYTES), "puts are wrong in turn", turn);
    wait_barrier(team);
    memset(words, 0, BYTES);
    messages -= messages_so_far();
    get_parts(tm, there, words);
    messages += messages_so_far();
    fill(wanted, me, turn);
    CHECK(!memcmp(words, wanted, BYTES), "gets are wrong in turn", turn);
    wait_barrier(team);
    return messages;
}

static void check_messages(uint64_t messages, const char *way)
{
    if (strcmp(way, "any"))
        CHECK(strcmp(way, "yes") ? messages > 0 : messages == 0, "messages were sent:", messages);
}

static int do_copied(char **arg)
{
    if (!strcmp(arg[0], "refused"))
        CHECK(refuse_call(SYS_process_vm_readv) == 0 && refuse_call(SYS_process_vm_writev) == 0,
              "no filter of system calls at rank", me);
    station_t first = first_station(), station = make_station(memory, sizeof memory);
    const gex_TM_t pairs[] = {team, pair_of(NULL, station.ep), pair_of(&station, station.ep),
                              pair_of(&station, primordial)};
    wait_barrier(team);
    for (unsigned i = 0; i < 4; i++)
        check_messages(exchange(pairs[i], i % 3 ? &station : &first, i), arg[0]);
    return 0;
}

static int do_rebound(char **arg)
{
    station_t station = make_station(memory, sizeof memory);
    const gex_TM_t pair = pair_of(NULL, station.ep);
    (void)arg;
    wait_barrier(team);
    check_messages(exchange(pair, &station, 0), "yes");
    gex_Segment_Destroy(station.segment, 0);
    bind_segment(&station, memory, sizeof memory);
    check_messages(exchange(pair, &station, 1), "no");
    publish(&station);
    check_messages(exchange(pair, &station, 2), "yes");
    end_station(&station);
    wait_barrier(team);
    return 0;
}

/* ---- threads ---- */

static station_t own[THREADS];
static volatile int stop_threads;

static void *put_to_all(void *arg)
{
    const station_t *station = arg;
    const gex_TM_t pair = pair_of(station, station->ep);
    uint64_t turn = 0, back, *here;
    uintptr_t size;
    do {
        for (gex_Rank_t r = 0; r < ranks; r++) {
            uint64_t *there = find_segment(pair, r, &here, &size) + me;
            turn++;
            gex_RMA_PutBlocking(pair, r, there, &turn, sizeof turn, 0);
            gex_RMA_GetBlocking(pair, &back, r, there, sizeof back, 0);
            CHECK(back == turn, "a word is wrong in thread", station - own);
        }
    } while (!__atomic_load_n(&stop_threads, __ATOMIC_RELAXED));
    return NULL;
}

static void make_and_end(unsigned round)
{
    station_t station = make_station(memory, sizeof memory);
    const gex_TM_t pair = pair_of(NULL, station.ep);
    uint64_t word = round * 1000ul + me, *here;
    uintptr_t size;
    wait_barrier(team);
    uint64_t *there = find_segment(pair, (me + 1) % ranks, &here, &size);
    gex_RMA_PutBlocking(pair, (me + 1) % ranks, there, &word, sizeof word, 0);
    wait_barrier(team);
    CHECK(*station.words == round * 1000ul + (me + ranks - 1) % ranks, "a put brought",
          *station.words);
    end_station(&station);
}

static int do_threads(char **arg)
{
    static uint64_t words[THREADS][512];
    pthread_t threads[THREADS];
    (void)arg;
    for (int i = 0; i < THREADS; i++)
        own[i] = make_station(words[i], sizeof words[i]);
    wait_barrier(team);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, put_to_all, &own[i]) == 0, "no thread", i);
    for (unsigned round = 0; round < ROUNDS; round++)
        make_and_end(round);
    wait_barrier(team);
    __atomic_store_n(&stop_threads, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    wait_barrier(team);
    return 0;
}

/* ---- what ends the job ---- */

static int do_dies(char **arg)
{
    station_t station = make_station(memory, sizeof memory);
    const gex_TM_t pair = pair_of(NULL, station.ep);
    static uint64_t words[WORDS];
    uint64_t *here;
    uintptr_t size;
    uint64_t *there = find_segment(pair, 1, &here, &size);
    (void)arg;
    wait_barrier(team);
    if (me == 1) {
        while (!__atomic_load_n(station.words, __ATOMIC_ACQUIRE))
            usleep(100);
        raise(SIGKILL);
    }
    for (words[0] = 1;; words[0]++)
        gex_RMA_PutBlocking(pair, 1, there, words, sizeof words, 0);
    return 0;
}

/* Rank 1 destroys its segment and says so in memory that rank 0 reads without a poll. */
static void destroy_unread(const station_t *station)
{
    station_t said = make_station(NULL, 4096);
    uint64_t *here;
    uintptr_t size;
    (void)find_segment(pair_of(NULL, said.ep), 1, &here, &size);
    wait_barrier(team);
    if (me == 0)
        __atomic_store_n(&here[1], 1, __ATOMIC_RELEASE); /* polls no more */
    if (me == 1) {
        while (!__atomic_load_n(&here[1], __ATOMIC_ACQUIRE))
            usleep(100);
        gex_Segment_Destroy(station->segment, 0);
        __atomic_store_n(said.words, 1, __ATOMIC_RELEASE);
    }
    while (me == 0 && !__atomic_load_n(here, __ATOMIC_ACQUIRE))
        usleep(100);
}

static int do_wrong(char **arg)
{
    uint64_t word = 1, *here;
    uintptr_t size;
    station_t station = make_station(memory, sizeof memory);
    const gex_TM_t pair = pair_of(NULL, station.ep);
    char *at = (char *)find_segment(pair, 1, &here, &size);
    wait_barrier(team);
    if (!strcmp(arg[0], "behind"))
        at += size;
    else if (!strcmp(arg[0], "segment"))
        gex_Segment_Destroy(station.segment, 0);
    else if (!strcmp(arg[0], "endpoint"))
        gasnetx_EP_Destroy(station.ep);
    else
        destroy_unread(&station);
    if (strcmp(arg[0], "unread"))
        wait_barrier(team);
    if (me == 0)
        gex_RMA_PutBlocking(pair, 1, at, &word, sizeof word, 0);
    wait_barrier(team);
    printf("went on\n");
    return 0;
}

static const conform_mode_t modes[] = {
    {"copied", 1, do_copied}, {"rebound", 0, do_rebound}, {"threads", 0, do_threads},
    {"dies", 0, do_dies},     {"wrong", 1, do_wrong},
};

int main(int argc, char **argv)
{
    if (stations_init("conform_brought", &argc, &argv))
        return 1;
    gasnet_exit(conform_run_mode(modes, sizeof modes / sizeof *modes, argc, argv));
    return 0;
}
