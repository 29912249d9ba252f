/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conform_maps: segments of further endpoints, which neighbours map.
 *   mapped          puts, gets, Longs and the like to them; those of neighbours are not counted,
 *                   since they are inline; memory that the client brings is not mapped
 *   churn ROUNDS    endpoints and segments made, published, used and destroyed; nothing grows
 *   replaced        an endpoint gets another segment, of another size, and the endpoint a successor
 *   late            endpoints are destroyed while a rank that has mapped their segments is away
 *   files           a process with few files left
 *   threads         threads put to neighbours while another one publishes and destroys segments
 *   wrong PLACE     rank 0 puts to a place that rank 1 does not have: behind, before, null: beside
 *                   the segment; segment, endpoint: what was destroyed; unread: a destroyed
 *                   segment, before rank 0 polls again
 * If something is wrong, the program prints a message and exits with 1.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnetex.h>

#include <aqueduct.h>
#include <gasnet_vis.h>

#include "conform_standalone.h"
#include "../../conformance/conform_modes.h"
#include "conform_stations.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BYTES = 1 << 16, WORDS = BYTES / 8, ON_LONG = GEX_AM_INDEX_BASE, THREADS = 4 };

static volatile unsigned longs;

static uint64_t puts_so_far(void)
{
    const volatile gasnetx_counters_t *counters = gasnetx_Counters(GEX_EP_INVALID);
    gasnetx_Counters_Update();
    return gasnetx_counter(&counters->puts) + gasnetx_counter(&counters->gets);
}

/* Puts one word to each rank, and gets it back. Returns how many operations were counted. */
static uint64_t exchange_words(gex_TM_t pair, unsigned place, int mapped)
{
    const uint64_t before = puts_so_far();
    uint64_t expected = 0;
    for (gex_Rank_t r = 0; r < ranks; r++) {
        uint64_t word = place * 1000000ul + r * 1000ul + me, back = 0, *here;
        uintptr_t size;
        uint64_t *there = find_segment(pair, r, &here, &size);
        const int inline_here = r == me || (mapped && is_near[r]);
        CHECK(size >= BYTES, "the segment has bytes:", size);
        CHECK(inline_here == (here != NULL), "another segment is mapped of rank", r);
        CHECK(r != me || here == there, "this segment is elsewhere at rank", r);
        gex_RMA_PutBlocking(pair, r, there + place * ranks + me, &word, sizeof word, 0);
        CHECK(!here || here[place * ranks + me] == word, "the mapped word is",
              here[place * ranks + me]);
        gex_RMA_GetBlocking(pair, &back, r, there + place * ranks + me, sizeof back, 0);
        CHECK(back == word, "a get brought", back);
        expected += inline_here ? 0 : 2;
    }
    CHECK(puts_so_far() == before + expected, "operations were counted:", puts_so_far() - before);
    wait_barrier(team);
    return expected;
}

static void check_words(const station_t *station, unsigned place)
{
    for (gex_Rank_t r = 0; r < ranks; r++)
        CHECK(station->words[place * ranks + r] == place * 1000000ul + me * 1000ul + r,
              "the segment has", station->words[place * ranks + r]);
}

/* ---- what works ---- */

static void on_long(gex_Token_t token, void *bytes, size_t length, gex_AM_Arg_t source)
{
    (void)token;
    CHECK(length == 800 && ((uint64_t *)bytes)[99] == (uint64_t)source,
          "a Long has bytes:", length);
    longs++;
}

static void send_longs(const station_t *station)
{
    const gex_AM_Entry_t handler = {.gex_index = ON_LONG,
                                    .gex_fnptr = (gex_AM_Fn_t)on_long,
                                    .gex_flags = GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST,
                                    .gex_nargs = 1};
    gex_AM_Entry_t entry = handler;
    uint64_t words[100], *here;
    uintptr_t size;
    CHECK(gex_EP_RegisterHandlers(station->ep, &entry, 1) == GASNET_OK, "handler", ON_LONG);
    wait_barrier(team);
    const gex_TM_t pair = pair_of(station, station->ep);
    for (gex_Rank_t r = 0; r < ranks; r++) {
        uint64_t *there = find_segment(pair, r, &here, &size) + WORDS / 2 + 100 * me;
        for (unsigned i = 0; i < 100; i++)
            words[i] = me;
        gex_AM_RequestLong1(pair, r, ON_LONG, words, sizeof words, there, GEX_EVENT_NOW, 0,
                            (gex_AM_Arg_t)me);
    }
    GASNET_BLOCKUNTIL(longs == ranks);
    wait_barrier(team);
}

static void send_rows(const station_t *station)
{
    const gex_TM_t pair = pair_of(station, station->ep);
    const gex_Rank_t next = (me + 1) % ranks;
    char bytes[128], back[128];
    uint64_t *here;
    uintptr_t size;
    char *there = (char *)find_segment(pair, next, &here, &size);
    gex_Memvec_t rows[] = {{there + BYTES - 4096, 64}, {there + BYTES - 64, 64}};
    gex_Memvec_t mine = {bytes, sizeof bytes}, again = {back, sizeof back};
    memset(bytes, 'a' + (int)(me % 26), sizeof bytes);
    gex_Event_Wait(gex_VIS_VectorPutNB(pair, next, 2, rows, 1, &mine, 0));
    gex_Event_Wait(gex_VIS_VectorGetNB(pair, 1, &again, next, 2, rows, 0));
    CHECK(!memcmp(bytes, back, sizeof bytes), "rows are wrong at rank", next);
    wait_barrier(team);
}

/* The segment of an endpoint with an identity is not mapped: puts have to prove the identity. */
static void check_guarded(void)
{
    const gasnetx_identity_t secret = {{1, 2, 3}};
    station_t station;
    CHECK(gasnetx_EP_Create(&station.ep, client, GEX_EP_CAPABILITY_ALL, 0, &secret) == GASNET_OK,
          "gasnetx_EP_Create at rank", me);
    bind_segment(&station, NULL, BYTES);
    publish(&station);
    wait_barrier(team);
    const gex_TM_t pair = pair_of(&station, station.ep);
    for (gex_Rank_t r = 0; r < ranks; r++) {
        uint64_t word = me + 1, back = 0, *here;
        uintptr_t size;
        uint64_t *there = find_segment(pair, r, &here, &size) + me;
        CHECK(r == me || !here, "mapped in spite of its identity: rank", r);
        gex_RMA_PutBlocking(pair, r, there, &word, sizeof word, 0);
        gex_RMA_GetBlocking(pair, &back, r, there, sizeof back, 0);
        CHECK(back == word, "a get brought", back);
    }
    wait_barrier(team);
    end_station(&station);
    wait_barrier(team);
}

static int do_mapped(char **arg)
{
    static uint64_t memory[WORDS];
    (void)arg;
    check_guarded();
    station_t station = make_station(NULL, BYTES), brought = make_station(memory, BYTES);
    wait_barrier(team);
    (void)exchange_words(pair_of(NULL, station.ep), 0, 1);
    (void)exchange_words(pair_of(&station, station.ep), 1, 1);
    (void)exchange_words(pair_of(&brought, station.ep), 2, 1);
    for (unsigned place = 0; place < 3; place++)
        check_words(&station, place);
    (void)exchange_words(pair_of(&station, brought.ep), 0, 0);
    check_words(&brought, 0);
    send_longs(&station);
    send_rows(&station);
    publish(&station); /* again */
    wait_barrier(team);
    (void)exchange_words(pair_of(NULL, station.ep), 3, 1);
    end_station(&brought);
    end_station(&station);
    wait_barrier(team);
    return 0;
}

/* ---- what does not grow ---- */

typedef struct {
    unsigned long mappings, files, kilobytes;
} held_t;

static unsigned long count_lines(const char *name)
{
    FILE *file = fopen(name, "r");
    unsigned long lines = 0;
    int c;
    CHECK(file != NULL, "no file of this process", 0ul);
    while ((c = getc(file)) != EOF)
        lines += c == '\n';
    fclose(file);
    return lines;
}

static unsigned long count_files(void)
{
    unsigned long count = 0;
    for (int fd = 0; fd < 4096; fd++) {
        char name[64], target[64];
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        count += readlink(name, target, sizeof target) > 0;
    }
    return count;
}

static unsigned long resident(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%*s %lu", &pages) == 1, "statm has", pages);
    fclose(file);
    return pages * 4;
}

static held_t what_is_held(void)
{
    return (held_t){count_lines("/proc/self/maps"), count_files(), resident()};
}

/* Every second round destroys the segment after its endpoint. */
static void churn_once(unsigned round)
{
    station_t station = make_station(NULL, BYTES);
    const gex_TM_t pair = pair_of(NULL, station.ep);
    const gex_Rank_t next = (me + 1) % ranks, last = (me + ranks - 1) % ranks;
    uint64_t word = round * 1000ul + me, *here;
    uintptr_t size;
    CHECK(station.words[0] == 0, "new memory has", station.words[0]);
    wait_barrier(team);
    uint64_t *there = find_segment(pair, next, &here, &size);
    CHECK(!is_near[next] || here, "not mapped in round", round);
    gex_RMA_PutBlocking(pair, next, there, &word, sizeof word, 0);
    wait_barrier(team);
    CHECK(station.words[0] == round * 1000ul + last, "the put brought", station.words[0]);
    if (round % 2) {
        CHECK(gasnetx_EP_Destroy(station.ep) == GASNET_OK, "gasnetx_EP_Destroy in round", round);
        gex_Segment_Destroy(station.segment, 0);
    } else {
        end_station(&station);
    }
}

static int do_churn(char **arg)
{
    const unsigned rounds = (unsigned)atoi(arg[0]), first = rounds / 10;
    held_t before = {0};
    for (unsigned round = 0; round < rounds; round++) {
        if (round == first)
            before = what_is_held();
        churn_once(round);
    }
    const held_t after = what_is_held();
    CHECK(after.mappings <= before.mappings + 4,
          "mappings more:", after.mappings - before.mappings);
    CHECK(after.files <= before.files, "files more:", after.files - before.files);
    CHECK(after.kilobytes <= before.kilobytes + 2048,
          "kilobytes more:", after.kilobytes - before.kilobytes);
    wait_barrier(team);
    return 0;
}

static int do_replaced(char **arg)
{
    (void)arg;
    station_t station = make_station(NULL, BYTES);
    wait_barrier(team);
    (void)exchange_words(pair_of(NULL, station.ep), 0, 1);
    gex_Segment_Destroy(station.segment, 0);
    bind_segment(&station, NULL, 3 * BYTES);
    publish(&station);
    wait_barrier(team);
    (void)exchange_words(pair_of(NULL, station.ep), 1, 1);
    check_words(&station, 1);
    /* The segment lives on, and belongs to the next endpoint with this index. */
    const gex_EP_Index_t index = gex_EP_QueryIndex(station.ep);
    CHECK(gasnetx_EP_Destroy(station.ep) == GASNET_OK, "gasnetx_EP_Destroy of", index);
    make_endpoint(&station);
    CHECK(gex_EP_QueryIndex(station.ep) == index, "the successor has index",
          gex_EP_QueryIndex(station.ep));
    CHECK(gex_EP_BindSegment(station.ep, station.segment, 0) == GASNET_OK, "bind of", index);
    publish(&station);
    wait_barrier(team);
    (void)exchange_words(pair_of(NULL, station.ep), 2, 1);
    check_words(&station, 1);
    check_words(&station, 2);
    wait_barrier(team);
    end_station(&station);
    wait_barrier(team);
    return 0;
}

/* More notices than rings have room for, while the last rank does not poll. */
static int do_late(char **arg)
{
    enum { STATIONS = 1000 };
    static station_t stations[STATIONS];
    (void)arg;
    for (int i = 0; i < STATIONS; i++)
        make_endpoint(&stations[i]);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < STATIONS; i++)
            bind_segment(&stations[i], NULL, 4096);
        gex_EP_t eps[STATIONS];
        for (int i = 0; i < STATIONS; i++)
            eps[i] = stations[i].ep;
        CHECK(gex_EP_PublishBoundSegment(team, eps, STATIONS, 0) == GASNET_OK, "publish in",
              (unsigned long)round);
        wait_barrier(team);
        if (me == ranks - 1)
            usleep(20000);
        for (int i = 0; i < STATIONS; i++)
            gex_Segment_Destroy(stations[i].segment, 0);
    }
    wait_barrier(team);
    for (int i = 0; i < STATIONS; i++) {
        uint64_t *here = NULL;
        uintptr_t size;
        GASNET_BLOCKUNTIL(
            (find_segment(pair_of(NULL, stations[i].ep), (me + 1) % ranks, &here, &size),
             ranks == 1 || !here));
    }
    wait_barrier(team);
    return 0;
}

static int do_files(char **arg)
{
    enum { STATIONS = 60, FILES = 100 };
    station_t stations[STATIONS];
    struct rlimit limit = {FILES, FILES};
    unsigned mapped = 0;
    (void)arg;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0, "no limit of files:", FILES);
    for (int i = 0; i < STATIONS; i++) {
        uint64_t word = me, *here;
        uintptr_t size;
        stations[i] = make_station(NULL, BYTES);
        const gex_TM_t pair = pair_of(NULL, stations[i].ep);
        wait_barrier(team);
        uint64_t *there = find_segment(pair, (me + 1) % ranks, &here, &size);
        mapped += here != NULL;
        gex_RMA_PutBlocking(pair, (me + 1) % ranks, there, &word, sizeof word, 0);
        wait_barrier(team);
        CHECK(stations[i].words[0] == (me + ranks - 1) % ranks, "a put brought",
              stations[i].words[0]);
    }
    CHECK(mapped > 0 && mapped < STATIONS, "mapped segments:", mapped);
    CHECK(count_files() <= FILES / 2 + 4, "files are open:", count_files());
    wait_barrier(team);
    return 0;
}

/* ---- threads ---- */

static station_t own[THREADS + 1];
static volatile int stop_threads;

static void *put_to_neighbours(void *arg)
{
    const station_t *station = arg;
    const unsigned number = (unsigned)(station - own);
    const gex_TM_t pair = pair_of(station, station->ep);
    uint64_t turn = 0, back, *here;
    uintptr_t size;
    do {
        for (gex_Rank_t r = 0; r < ranks; r++) {
            uint64_t *there = find_segment(pair, r, &here, &size) + me;
            turn++;
            gex_RMA_PutBlocking(pair, r, there, &turn, sizeof turn, 0);
            gex_RMA_GetBlocking(pair, &back, r, there, sizeof back, 0);
            CHECK(back == turn, "a word is wrong in thread", number);
        }
    } while (!__atomic_load_n(&stop_threads, __ATOMIC_RELAXED));
    return NULL;
}

static int do_threads(char **arg)
{
    pthread_t threads[THREADS];
    (void)arg;
    for (int i = 0; i < THREADS; i++)
        own[i] = make_station(NULL, BYTES);
    wait_barrier(team);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, put_to_neighbours, &own[i]) == 0, "no thread",
              (unsigned long)i);
    for (unsigned round = 0; round < 40; round++)
        churn_once(round);
    wait_barrier(team);
    __atomic_store_n(&stop_threads, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    wait_barrier(team);
    return 0;
}

/* ---- what ends the job ---- */

/* Rank 1 destroys its segment and says so in memory that rank 0 reads without a poll. */
static void destroy_unread(const station_t *station, const station_t *said)
{
    uint64_t *here;
    uintptr_t size;
    (void)find_segment(pair_of(NULL, said->ep), 1, &here, &size);
    if (me == 0)
        __atomic_store_n(&here[1], 1, __ATOMIC_RELEASE); /* polls no more */
    if (me == 1) {
        while (!__atomic_load_n(&here[1], __ATOMIC_ACQUIRE))
            usleep(100);
        gex_Segment_Destroy(station->segment, 0);
        __atomic_store_n(said->words, 1, __ATOMIC_RELEASE);
    }
    while (me == 0 && !__atomic_load_n(here, __ATOMIC_ACQUIRE))
        usleep(100);
}

static int do_wrong(char **arg)
{
    uint64_t word = 1, *here;
    uintptr_t size;
    station_t station = make_station(NULL, BYTES), said = make_station(NULL, BYTES);
    const gex_TM_t pair = pair_of(NULL, station.ep);
    char *at = (char *)find_segment(pair, 1, &here, &size);
    CHECK(here != NULL, "not mapped at rank", me);
    wait_barrier(team);
    if (!strcmp(arg[0], "behind"))
        at += size;
    else if (!strcmp(arg[0], "before"))
        at -= sizeof word;
    else if (!strcmp(arg[0], "null"))
        at = NULL;
    else if (!strcmp(arg[0], "segment"))
        gex_Segment_Destroy(station.segment, 0);
    else if (!strcmp(arg[0], "endpoint"))
        gasnetx_EP_Destroy(station.ep);
    else
        destroy_unread(&station, &said);
    if (strcmp(arg[0], "unread"))
        wait_barrier(team);
    if (me == 0)
        gex_RMA_PutBlocking(pair, 1, at, &word, sizeof word, 0);
    wait_barrier(team);
    printf("went on\n");
    return 0;
}

static const conform_mode_t modes[] = {
    {"mapped", 0, do_mapped}, {"churn", 1, do_churn}, {"replaced", 0, do_replaced},
    {"late", 0, do_late},     {"files", 0, do_files}, {"threads", 0, do_threads},
    {"wrong", 1, do_wrong},
};

int main(int argc, char **argv)
{
    if (stations_init("conform_maps", &argc, &argv))
        return 1;
    gasnet_exit(conform_run_mode(modes, sizeof modes / sizeof *modes, argc, argv));
    return 0;
}
