/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conform_space: the reserved segment, and segments at the same address at all ranks.
 *   reserved        1 TiB at every rank, with blocks of 64 KiB that one or every rank has allocated
 *   refused         reservations and allocations that cannot be, then one that can
 *   stray           rank 0 puts to a page that the last rank has not allocated: ends the job
 *   released        as stray, to a page that the last rank has given back
 *   returned        the same, and more, with GASNET_ERRORS=return: errors, and the job goes on
 *   threads         threads allocate, use and give back parts of the segment at the same time
 *   narrow          not all neighbours find room for the segments of the others
 *   filtered        the kernel refuses userfaultfd to the last rank
 *   aligned         the segments of gex_Segment_Attach, of different sizes, begin at one address
 *   unaligned       as aligned, but no address is free at all ranks: they begin at several
 * If something is wrong, the program prints a message and exits with 1.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnetex.h>

#include <aqueduct.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

#include "conform_standalone.h"
#include "../../conformance/conform_modes.h"
#include "../../conformance/conform_refuse.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TIB ((uintptr_t)1 << 40)
#define BLOCK ((uintptr_t)64 << 10)
#define LARGE                                                                                      \
    ((uintptr_t)8 << 30) /* of a segment that does not fit between the chunks of crowd             \
                          */

enum { BLOCKS = 64, ON_LONG = GEX_AM_INDEX_BASE, WORDS = 100, MOST_CHUNKS = 4096 };

static gex_EP_t endpoint;
static gex_TM_t team;
static gex_Rank_t me, ranks;
static gex_Segment_t segment;
static char *base;
static volatile unsigned longs;

static void on_long(gex_Token_t token, void *bytes, size_t length, gex_AM_Arg_t source)
{
    (void)token;
    CHECK(length == WORDS * sizeof(uint64_t), "the bytes of a Long are", length);
    CHECK(((uint64_t *)bytes)[WORDS - 1] == (uint64_t)source, "the Long came from rank",
          (unsigned long)source);
    longs++;
}

/* ---- memory that is in the way ---- */

static void *chunks[MOST_CHUNKS];
static size_t sizes[MOST_CHUNKS], chunk_count;

static void *map_nothing(uintptr_t at, size_t size)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *got = mmap((void *)at, size, PROT_NONE, at ? flags | MAP_FIXED_NOREPLACE : flags, -1, 0);
    return got == MAP_FAILED ? NULL : got;
}

/* Leaves this process no free range of 4 GiB, but one of `hole` bytes at `at` if hole is not 0. */
static void crowd_fill(uintptr_t at, size_t hole)
{
    void *kept = hole ? map_nothing(at, hole) : NULL;
    CHECK(!hole || kept == (void *)at, "there is no room for a hole at", at);
    for (size_t size = (size_t)1 << 46; size >= (size_t)1 << 32; size /= 2)
        while (chunk_count < MOST_CHUNKS && (chunks[chunk_count] = map_nothing(0, size)) != NULL)
            sizes[chunk_count++] = size;
    CHECK(chunk_count < MOST_CHUNKS, "too many chunks:", chunk_count);
    if (hole)
        munmap(kept, hole);
}

static void crowd_leave(void)
{
    while (chunk_count > 0) {
        chunk_count--;
        munmap(chunks[chunk_count], sizes[chunk_count]);
    }
}

/* Bytes of physical memory of this process in a range. */
static size_t resident(const char *start, size_t size)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    size_t sum = 0, kilobytes;
    unsigned long first, last;
    int inside = 0;
    CHECK(maps != NULL, "there is no /proc/self/smaps", 0ul);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &first, &last) == 2)
            inside = first >= (uintptr_t)start && last <= (uintptr_t)start + size;
        else if (inside && sscanf(line, "Rss: %zu kB", &kilobytes) == 1)
            sum += kilobytes << 10;
    }
    fclose(maps);
    return sum;
}

/* ---- the reserved segment ---- */

/* Whether the library maps the segment of a rank: a neighbour's, where there is userfaultfd. */
static int can_map(gex_Rank_t rank)
{
    gex_RankInfo_t *near;
    gex_Rank_t count, i = 0;
    const int watch = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1);
    if (watch < 0)
        return 0;
    close(watch);
    gex_System_QueryNbrhdInfo(&near, &count, NULL);
    while (i < count && near[i].gex_jobrank != rank)
        i++;
    return i < count;
}

static int attach_reserved(uintptr_t size)
{
    return gasnetx_Segment_AttachReserved(&segment, team, size, 0);
}

static void attach_space(void)
{
    int result = attach_reserved(TIB);
    CHECK(result == GASNET_OK, "gasnetx_Segment_AttachReserved returned", (unsigned long)result);
    base = gex_Segment_QueryAddr(segment);
    CHECK(gex_Segment_QuerySize(segment) == TIB, "the size is", gex_Segment_QuerySize(segment));
    CHECK(gasnetx_Segments_Aligned() == 1, "the segments are not aligned at", (uintptr_t)base);
    for (gex_Rank_t r = 0; r < ranks; r++) {
        void *there, *local;
        uintptr_t size;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, r, &there, &local, &size, 0));
        CHECK(there == base && size == TIB, "the segment is elsewhere at rank", r);
        CHECK(r == me ? local == base : can_map(r) == (local != NULL),
              "another address is mapped for rank", r);
    }
    CHECK(resident(base, TIB) == 0, "an empty space takes bytes:", resident(base, TIB));
}

static char *block_at(unsigned block)
{
    return base + block * (TIB / BLOCKS);
}

static gex_Rank_t home_of(unsigned block)
{
    return block % ranks;
}

static void allocate(char *addr, uintptr_t size)
{
    int result = gasnetx_Segment_Allocate(segment, addr, size);
    CHECK(result == GASNET_OK, "gasnetx_Segment_Allocate returned", (unsigned long)result);
}

static void give_back(char *addr, uintptr_t size)
{
    int result = gasnetx_Segment_Free(segment, addr, size);
    CHECK(result == GASNET_OK, "gasnetx_Segment_Free returned", (unsigned long)result);
}

/* Each block has one home. Every rank puts to its own part of every block, and reads all parts. */
static void use_blocks(void)
{
    const size_t part = BLOCK / ranks / 8 * 8;
    uint64_t *words = malloc(part);
    for (unsigned b = 0; b < BLOCKS; b++)
        if (home_of(b) == me)
            allocate(block_at(b), BLOCK);
    wait_barrier(team);
    for (unsigned b = 0; b < BLOCKS; b++) {
        for (size_t i = 0; i < part / 8; i++)
            words[i] = b * 1000000 + me * 100000 + i;
        gex_RMA_PutBlocking(team, home_of(b), block_at(b) + me * part, words, part, 0);
    }
    wait_barrier(team);
    for (unsigned b = me; b < BLOCKS * ranks; b += 7) {
        const unsigned block = b % BLOCKS, r = b / BLOCKS;
        memset(words, 0, part);
        gex_RMA_GetBlocking(team, words, home_of(block), block_at(block) + r * part, part, 0);
        for (size_t i = 0; i < part / 8; i++)
            CHECK(words[i] == block * 1000000 + r * 100000 + i, "a get brought", words[i]);
    }
    if (home_of(me) == me)
        CHECK(*(uint64_t *)(void *)block_at(me) == me * 1000000ul, "a load brought",
              *(unsigned long *)(void *)block_at(me));
    free(words);
    wait_barrier(team);
}

/* Physical memory is where a block has its home, and nowhere else. */
static void count_blocks(void)
{
    for (unsigned b = 0; b < BLOCKS; b++) {
        const size_t bytes = resident(block_at(b), BLOCK);
        CHECK(bytes == (home_of(b) == me ? BLOCK : 0), "a block takes bytes:", bytes);
    }
}

/* Every rank allocates the same addresses; each has its own memory there. */
static void use_same_address(gex_AD_t domain)
{
    char *at = base + TIB - BLOCK;
    const gex_Rank_t next = (me + 1) % ranks;
    uint64_t words[WORDS], old;
    allocate(at, BLOCK);
    wait_barrier(team);
    for (gex_Rank_t r = 0; r < ranks; r++) {
        gex_Event_Wait(
            gex_AD_OpNB_U64(domain, &old, r, at, GEX_OP_FADD, 1ul << (8 * (me % 8)), 0, 0));
        gex_Event_Wait(gex_AD_OpNB_U64(domain, NULL, r, at + 8, GEX_OP_ADD, r + 1, 0, 0));
    }
    wait_barrier(team);
    CHECK(((uint64_t *)(void *)at)[1] == (uint64_t)ranks * (me + 1), "atomics made",
          ((unsigned long *)(void *)at)[1]);
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = me;
    gex_AM_RequestLong1(team, next, ON_LONG, words, sizeof words, at + 4096, GEX_EVENT_NOW, 0, me);
    GASNET_BLOCKUNTIL(longs == 1);
    wait_barrier(team);
}

/* Two rows of a matrix, in two blocks of the next rank. */
static void use_rows(void)
{
    const gex_Rank_t next = (me + 1) % ranks;
    gex_Memvec_t rows[] = {{block_at(next), 64}, {block_at(next + ranks), 64}};
    char bytes[128], back[128];
    gex_Memvec_t mine = {bytes, sizeof bytes}, again = {back, sizeof back};
    memset(bytes, 'a' + (int)me, sizeof bytes);
    gex_Event_Wait(gex_VIS_VectorPutNB(team, next, 2, rows, 1, &mine, 0));
    gex_Event_Wait(gex_VIS_VectorGetNB(team, 1, &again, next, 2, rows, 0));
    CHECK(!memcmp(bytes, back, sizeof bytes), "rows are wrong at rank", next);
    wait_barrier(team);
    CHECK(block_at(me)[63] == 'a' + (int)((me + ranks - 1) % ranks), "a row begins with",
          (unsigned long)block_at(me)[63]);
    wait_barrier(team);
}

/* Half of a block is given back and allocated again. */
static void reuse_block(void)
{
    char *at = block_at(me), *half = at + BLOCK / 2;
    give_back(half, BLOCK / 2);
    CHECK(resident(half, BLOCK / 2) == 0,
          "what was given back takes bytes:", resident(half, BLOCK / 2));
    CHECK(resident(at, BLOCK / 2) == BLOCK / 2,
          "the other half takes bytes:", resident(at, BLOCK / 2));
    allocate(half, BLOCK / 2);
    for (size_t i = 0; i < BLOCK / 2; i++)
        CHECK(half[i] == 0, "allocated again, but not zero: byte", i);
    give_back(at, BLOCK);
    CHECK(resident(at, BLOCK) == 0,
          "a block that was given back takes bytes:", resident(at, BLOCK));
    wait_barrier(team);
}

static int do_reserved(char **arg)
{
    gex_AD_t domain;
    (void)arg;
    attach_space();
    gex_AD_Create(&domain, team, GEX_DT_U64, GEX_OP_ADD | GEX_OP_FADD, 0);
    use_blocks();
    count_blocks();
    use_same_address(domain);
    use_rows();
    reuse_block();
    gex_AD_Destroy(domain);
    return 0;
}

/* ---- what is refused ---- */

static void expect_refusal(uintptr_t size, int expected)
{
    int result = attach_reserved(size);
    CHECK(result == expected, "gasnetx_Segment_AttachReserved returned", (unsigned long)result);
    CHECK(gasnetx_Segments_Aligned() == 0, "aligned after the error", (unsigned long)expected);
    CHECK(gex_EP_QuerySegment(endpoint) == GEX_SEGMENT_INVALID, "a segment after the error",
          (unsigned long)expected);
    wait_barrier(team);
}

static void refuse_sizes(void)
{
    expect_refusal(0, GASNET_ERR_BAD_ARG);
    expect_refusal(TIB + 1, GASNET_ERR_BAD_ARG);
    expect_refusal(UINTPTR_MAX - 4095, GASNET_ERR_BAD_ARG);
    expect_refusal(TIB * 127, GASNET_ERR_RESOURCE); /* stack and libraries are in the way */
    if (ranks > 1)
        expect_refusal(TIB + me * BLOCK, GASNET_ERR_BAD_ARG);
}

/* A limit of the last rank, memory in its way, and free ranges that have nothing in common. */
static void refuse_ranges(void)
{
    struct rlimit limit, tight;
    getrlimit(RLIMIT_AS, &limit);
    tight = limit;
    tight.rlim_cur = TIB / 2;
    if (me == ranks - 1)
        setrlimit(RLIMIT_AS, &tight);
    expect_refusal(TIB, GASNET_ERR_RESOURCE);
    setrlimit(RLIMIT_AS, &limit);
    if (me == ranks - 1)
        crowd_fill(0, 0);
    expect_refusal(TIB, GASNET_ERR_RESOURCE);
    crowd_leave();
    if (ranks == 1)
        return;
    crowd_fill((16 + 4 * (uintptr_t)me) * TIB + BLOCK, TIB + TIB / 4);
    expect_refusal(TIB, GASNET_ERR_RESOURCE);
    crowd_leave();
}

static void refuse_changes(void)
{
    static const struct {
        uintptr_t offset, size;
        int free;
    } wrong[] = {
        {0, 0, 0},                      /* nothing */
        {1, 4096, 0},                   /* no whole pages */
        {0, 4097, 0},                   /* no whole pages */
        {TIB, 4096, 0},                 /* behind the segment */
        {TIB - 4096, 8192, 0},          /* partly behind the segment */
        {(uintptr_t)0 - 4096, 4096, 0}, /* before the segment */
        {0, (uintptr_t)0 - 4096, 0},    /* wraps around */
        {BLOCK, 4096, 0},               /* allocated already */
        {BLOCK - 4096, 8192, 0},        /* partly allocated already */
        {0, 4096, 1},                   /* not allocated */
        {BLOCK, BLOCK + 4096, 1},       /* partly not allocated */
    };
    attach_space();
    allocate(base + BLOCK, BLOCK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char *at = base + wrong[i].offset;
        int result = wrong[i].free ? gasnetx_Segment_Free(segment, at, wrong[i].size)
                                   : gasnetx_Segment_Allocate(segment, at, wrong[i].size);
        CHECK(result == GASNET_ERR_BAD_ARG, "this was not refused: line", i);
    }
    CHECK(attach_reserved(TIB) == GASNET_ERR_RESOURCE, "a second segment at rank", me);
    CHECK(gasnetx_Segment_Allocate(GEX_SEGMENT_INVALID, base, 4096) == GASNET_ERR_BAD_ARG,
          "no segment at rank", me);
    give_back(base + BLOCK, BLOCK);
    allocate(base + TIB - 4096, 4096);
}

static int do_refused(char **arg)
{
    (void)arg;
    gex_System_SetVerboseErrors(1);
    CHECK(gasnetx_Segment_AttachReserved(&segment, team, TIB, 1) == GASNET_ERR_BAD_ARG,
          "flags at rank", me);
    refuse_sizes();
    refuse_ranges();
    refuse_changes();
    return 0;
}

static int do_stray(char **arg)
{
    char byte = 1;
    (void)arg;
    attach_space();
    allocate(base, BLOCK);
    wait_barrier(team);
    if (me == 0)
        gex_RMA_PutBlocking(team, ranks - 1, base + BLOCK, &byte, 1, 0);
    wait_barrier(team);
    printf("went on\n");
    return 0;
}

static int do_released(char **arg)
{
    char byte = 1, back = 0;
    (void)arg;
    attach_space();
    allocate(base, BLOCK);
    wait_barrier(team);
    if (me == 0) {
        gex_RMA_PutBlocking(team, ranks - 1, base + BLOCK / 2, &byte, 1, 0);
        gex_RMA_GetBlocking(team, &back, ranks - 1, base + BLOCK / 2, 1, 0);
        CHECK(back == byte, "a get brought", (unsigned long)back);
    }
    wait_barrier(team);
    give_back(base + BLOCK / 2, BLOCK / 2);
    wait_barrier(team);
    if (me == 0)
        gex_RMA_GetBlocking(team, &back, ranks - 1, base + BLOCK / 2, 1, 0);
    wait_barrier(team);
    printf("went on\n");
    return 0;
}

/* An error of an operation on pages of a rank that are not there. */
static void expect_error(gex_Rank_t rank, const void *addr)
{
    gasnetx_error_t error;
    CHECK(gasnetx_Error_Next(&error) == GASNET_OK, "no error of rank", rank);
    CHECK(error.reason == GASNETX_ERROR_UNMAPPED, "the reason is", (unsigned long)error.reason);
    CHECK(error.rank == rank && error.addr == addr, "the error is of rank", error.rank);
    CHECK(gasnetx_Error_Next(&error) == GASNET_ERR_NOT_READY, "two errors of rank", rank);
}

static void expect_errors(gex_AD_t domain, gex_Rank_t r, char *at)
{
    uint64_t word = 7;
    gex_Memvec_t pieces[] = {{base, 8}, {at, 8}}, mine = {&word, 8};
    gex_RMA_PutBlocking(team, r, at, &word, 8, 0);
    expect_error(r, at);
    gex_RMA_GetBlocking(team, &word, r, at, 8, 0);
    expect_error(r, at);
    gex_Event_Wait(gex_RMA_PutNB(team, r, at, &word, 8, GEX_EVENT_NOW, 0));
    expect_error(r, at);
    gex_RMA_GetNBI(team, &word, r, at, 8, 0);
    gex_NBI_Wait(GEX_EC_ALL, 0);
    expect_error(r, at);
    gex_Event_Wait(gex_AD_OpNB_U64(domain, &word, r, at, GEX_OP_FADD, 1, 0, 0));
    expect_error(r, at);
    gex_Event_Wait(gex_VIS_VectorPutNB(team, r, 1, &pieces[1], 1, &mine, 0));
    expect_error(r, at);
    CHECK(word == 7, "the errors have changed a word to", word);
    /* The page before is allocated, and gets nothing of a put that goes beyond it. */
    gex_RMA_PutBlocking(team, r, base + BLOCK - 4, &word, 8, 0);
    expect_error(r, base + BLOCK - 4);
    gex_RMA_GetBlocking(team, &word, r, base + BLOCK - 8, 8, 0);
    CHECK(word == 0, "the page before has", word);
}

static int do_returned(char **arg)
{
    gex_AD_t domain;
    (void)arg;
    attach_space();
    gex_AD_Create(&domain, team, GEX_DT_U64, GEX_OP_ADD | GEX_OP_FADD, 0);
    allocate(base, 2 * BLOCK);
    wait_barrier(team);
    give_back(base + BLOCK, BLOCK);
    wait_barrier(team);
    for (gex_Rank_t r = 0; r < ranks; r++) {
        expect_errors(domain, r, base + BLOCK);
        expect_errors(domain, r, base + TIB - 8);
    }
    CHECK(resident(base + BLOCK, BLOCK) == 0, "pages were made:", resident(base + BLOCK, BLOCK));
    wait_barrier(team);
    allocate(base + BLOCK, BLOCK);
    wait_barrier(team);
    for (gex_Rank_t r = 0; r < ranks; r++) {
        gasnetx_error_t error;
        uint64_t word = 8;
        gex_RMA_PutBlocking(team, r, base + BLOCK + 8 * me, &word, 8, 0);
        CHECK(gasnetx_Error_Next(&error) == GASNET_ERR_NOT_READY, "an error of rank", r);
    }
    wait_barrier(team);
    gex_AD_Destroy(domain);
    return 0;
}

/* Each thread has every fourth of some pages side by side, so that all change the same words of the
 * table of pages. */
enum { THREADS = 4, ROUNDS = 200, SIDE = 4 };

static void *allocate_in_turn(void *arg)
{
    const unsigned number = (unsigned)(uintptr_t)arg;
    const size_t page = GASNET_PAGESIZE;
    for (unsigned round = 0; round < ROUNDS; round++) {
        char *at = base + (round % SIDE * THREADS + number) * page;
        uint64_t word = round * 100ul + number, back = 0;
        allocate(at, page);
        CHECK(*(uint64_t *)(void *)at == 0, "new pages have", *(unsigned long *)(void *)at);
        gex_RMA_PutBlocking(team, me, at, &word, sizeof word, 0);
        gex_RMA_GetBlocking(team, &back, me, at, sizeof back, 0);
        CHECK(back == word && *(uint64_t *)(void *)at == word, "a page has", back);
        CHECK(gasnetx_Segment_Allocate(segment, at, page) == GASNET_ERR_BAD_ARG,
              "allocated twice in round", round);
        give_back(at, page);
    }
    return NULL;
}

/* The ranks put to other pages meanwhile. */
static int do_threads(char **arg)
{
    pthread_t threads[THREADS];
    const size_t size = (size_t)64 << 20;
    (void)arg;
    gex_System_SetVerboseErrors(0);
    CHECK(attach_reserved(size) == GASNET_OK, "no segment at rank", me);
    base = gex_Segment_QueryAddr(segment);
    allocate(base + size / 2, BLOCK);
    wait_barrier(team);
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, allocate_in_turn, (void *)i) == 0, "no thread", i);
    for (uint64_t i = 1; i <= 1000; i++)
        for (gex_Rank_t r = 0; r < ranks; r++)
            gex_RMA_PutBlocking(team, r, base + size / 2 + 8 * me, &i, sizeof i, 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    wait_barrier(team);
    for (gex_Rank_t r = 0; r < ranks; r++)
        CHECK(((uint64_t *)(void *)(base + size / 2))[r] == 1000, "too few puts of rank", r);
    CHECK(resident(base, BLOCK) == 0, "what was given back takes bytes:", resident(base, BLOCK));
    wait_barrier(team);
    return 0;
}

/* Attaches segments, and puts to and gets from those of all ranks. Returns how many neighbours are
 * mapped. */
static unsigned reach_all(void)
{
    unsigned mapped = 0;
    CHECK(attach_reserved(TIB) == GASNET_OK, "no segment at rank", me);
    base = gex_Segment_QueryAddr(segment);
    allocate(base, BLOCK);
    wait_barrier(team);
    for (gex_Rank_t r = 0; r < ranks; r++) {
        void *local;
        uint64_t word = me + 1, back = 0;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, r, NULL, &local, NULL, 0));
        mapped += r != me && local;
        gex_RMA_PutBlocking(team, r, base + 8 * me, &word, sizeof word, 0);
        gex_RMA_GetBlocking(team, &back, r, base + 8 * me, sizeof back, 0);
        CHECK(back == word, "a get brought", back);
    }
    wait_barrier(team);
    return mapped;
}

/* The last rank has room for two segments, its own and one of a neighbour. */
static int do_narrow(char **arg)
{
    struct rlimit limit = {5 * (TIB / 2), 5 * (TIB / 2)};
    (void)arg;
    if (me == ranks - 1)
        CHECK(setrlimit(RLIMIT_AS, &limit) == 0, "no limit at rank", me);
    const unsigned mapped = reach_all();
    CHECK(mapped == (me == ranks - 1 ? 1 : ranks - 1), "neighbours are mapped:", mapped);
    return 0;
}

/* The last rank can neither map the others nor be mapped. */
static int do_filtered(char **arg)
{
    (void)arg;
    if (me == ranks - 1)
        CHECK(refuse_call(SYS_userfaultfd) == 0, "no filter at rank", me);
    const unsigned mapped = reach_all();
    CHECK(mapped == (me == ranks - 1 ? 0 : ranks - 2), "neighbours are mapped:", mapped);
    return 0;
}

/* ---- ordinary segments ---- */

static void attach_ordinary(uintptr_t size)
{
    char *at;
    int result = gex_Segment_Attach(&segment, team, size);
    CHECK(result == GASNET_OK, "gex_Segment_Attach returned", (unsigned long)result);
    at = gex_Segment_QueryAddr(segment);
    for (gex_Rank_t r = 0; r < ranks; r++) {
        void *there;
        uint64_t number = me + 1, old = 0;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, r, &there, NULL, NULL, 0));
        CHECK(!gasnetx_Segments_Aligned() || there == at, "the segment is elsewhere at rank", r);
        gex_RMA_PutBlocking(team, r, (uint64_t *)there + me, &number, sizeof number, 0);
        gex_RMA_GetBlocking(team, &old, r, (uint64_t *)there + me, sizeof old, 0);
        CHECK(old == number, "a get brought", old);
    }
    wait_barrier(team);
    for (gex_Rank_t r = 0; r < ranks; r++)
        CHECK(((uint64_t *)(void *)at)[r] == r + 1, "no put came from rank", r);
    wait_barrier(team);
}

static int do_aligned(char **arg)
{
    (void)arg;
    attach_ordinary((me + 1) * BLOCK);
    CHECK(gasnetx_Segments_Aligned() == 1, "not aligned at rank", me);
    return 0;
}

static int do_unaligned(char **arg)
{
    (void)arg;
    crowd_fill((16 + 4 * (uintptr_t)me) * TIB + BLOCK, (2 * ranks + 1) * LARGE);
    attach_ordinary(LARGE);
    CHECK(gasnetx_Segments_Aligned() == 0, "aligned at rank", me);
    return 0;
}

static const conform_mode_t modes[] = {
    {"reserved", 0, do_reserved},   {"refused", 0, do_refused},   {"stray", 0, do_stray},
    {"released", 0, do_released},   {"returned", 0, do_returned}, {"threads", 0, do_threads},
    {"narrow", 0, do_narrow},       {"filtered", 0, do_filtered}, {"aligned", 0, do_aligned},
    {"unaligned", 0, do_unaligned},
};

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_AM_Entry_t handler = {.gex_index = ON_LONG,
                              .gex_fnptr = (gex_AM_Fn_t)on_long,
                              .gex_flags = GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST,
                              .gex_nargs = 1};
    if (gex_Client_Init(&client, &endpoint, &team, "conform_space", &argc, &argv, 0) != GASNET_OK ||
        gex_EP_RegisterHandlers(endpoint, &handler, 1) != GASNET_OK)
        return 1;
    me = gex_TM_QueryRank(team);
    ranks = gex_TM_QuerySize(team);
    gasnet_exit(conform_run_mode(modes, sizeof modes / sizeof *modes, argc, argv));
    return 0;
}
