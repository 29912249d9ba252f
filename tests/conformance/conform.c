/*
 * conform: runs subtests of the conformance suite by name.
 *   conform [--list] [--threads T] [--seed S] NAME...|all
 */
#include "conform.h"
#ifdef CONFORM_GASNET1_HEADER
#include "conform_gasnet1.h"
#endif

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

conform_job_t job;

static const conform_test_t *const rooms[] = {
#ifdef GASNET_SEGMENT_EVERYTHING
    conform_everything_tests,
#else
    conform_query_tests,   conform_team_tests,
#endif
    conform_handler_tests,    conform_am_tests,          conform_flood_tests,
    conform_npam_tests,       conform_rma_tests,         conform_event_tests,
    conform_barrier_tests,    conform_sync_tests,        conform_ratomic_tests,
    conform_vis_tests,        conform_coll_tests,        conform_coll1_tests,
#ifndef GASNET_SEQ
    conform_thread_tests,     conform_concurrent_tests,
#endif
#ifdef CONFORM_GASNET1_HEADER
    conform_gasnet1_tests,    conform_gasnet1_rma_tests, conform_gasnet1_am_tests,
#endif
};
static const size_t room_count = sizeof(rooms) / sizeof(rooms[0]);
static const char *running = "start";
static unsigned char index_taken[256];

void conform_die(const char *file, int line, const char *cond, const char *fmt, ...)
{
    char said[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(said, sizeof(said), fmt, args);
    va_end(args);
    fprintf(stderr, "%s:%d: rank %u of %u, subtest %s: %s (not true: %s)\n", file, line,
            (unsigned)job.rank, (unsigned)job.size, running, said, cond);
    fflush(stderr);
    gasnet_exit(1);
    abort(); /* gasnet_exit does not return; the compiler may not know it */
}

uint64_t conform_mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xc2b2ae3d27d4eb4fu + c * 0x165667b19e3779f9u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t conform_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return conform_mix(*state, 1, 2);
}

uint64_t conform_stream(uint64_t number)
{
    return conform_mix(job.seed, job.rank, number);
}

/* Cheap enough for megabytes; neighbouring bytes and neighbouring 256-byte rows both differ. */
static unsigned char pattern(size_t i, uint64_t key)
{
    return (unsigned char)((unsigned char)(i * 37) ^ (unsigned char)((i >> 8) * 11 + key));
}

void conform_fill(void *at, size_t n, uint64_t key)
{
    unsigned char *p = at;
    const uint64_t k = conform_mix(key, 3, 4);

    for (size_t i = 0; i < n; i++)
        p[i] = pattern(i, k);
}

void conform_match(const char *file, int line, const void *at, size_t n, uint64_t key,
                   const char *what)
{
    const unsigned char *p = at;
    const uint64_t k = conform_mix(key, 3, 4);

    for (size_t i = 0; i < n; i++) {
        if (p[i] != pattern(i, k))
            conform_die(file, line, "content",
                        "%s: byte %zu of %zu should be 0x%02x, but is 0x%02x", what, i, n,
                        pattern(i, k), p[i]);
    }
}

void conform_barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(job.tm, 0));
}

void conform_exchange(uint64_t mine, uint64_t *all)
{
    const volatile uint64_t *table = (const volatile uint64_t *)job.base[job.rank];

    for (gex_Rank_t r = 0; r < job.size; r++) {
        const int err = gex_RMA_PutBlocking(job.tm, r, job.base[r] + 8 * (size_t)job.rank, &mine,
                                            sizeof(mine), 0);
        CHECK(err == 0, "a blocking put without IMMEDIATE must return 0, but returned %d", err);
    }
    conform_barrier();
    for (gex_Rank_t r = 0; r < job.size; r++)
        all[r] = table[r];
    conform_barrier(); /* nobody overwrites the table while somebody reads it */
}

void conform_nap(unsigned ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) != 0)
        ;
}

void *conform_alloc(size_t n)
{
    void *p = malloc(n > 0 ? n : 1);

    CHECK(p != NULL, "the test needs %zu bytes of memory; give it a bigger machine", n);
    return p;
}

void conform_register(gex_AM_Entry_t *table, size_t n)
{
    unsigned char dynamic[256] = {0};
    unsigned expected = 255;
    int err;

    CHECK(n <= sizeof(dynamic), "a table may have 256 entries, but has %zu", n);
    for (size_t i = 0; i < n; i++) {
        dynamic[i] = table[i].gex_index == 0;
        index_taken[table[i].gex_index] = 1;
    }
    err = gex_EP_RegisterHandlers(job.ep, table, n);
    CHECK(err == GASNET_OK, "registration must return GASNET_OK, but returned %d", err);
    for (size_t i = 0; i < n; i++) {
        if (!dynamic[i])
            continue;
        while (index_taken[expected])
            expected--;
        CHECK(table[i].gex_index == expected, "entry %zu should get index %u, but got %u", i,
              expected, (unsigned)table[i].gex_index);
        index_taken[expected] = 1;
    }
}

void conform_index_used(unsigned index)
{
    index_taken[index] = 1;
}

unsigned conform_free_index(void)
{
    unsigned index = 255;

    while (index_taken[index])
        index--;
    return index;
}

gex_Rank_t conform_source(gex_Token_t token)
{
    gex_Token_Info_t info;
    const gex_TI_t known = gex_Token_Info(token, &info, GEX_TI_SRCRANK);

    CHECK((known & GEX_TI_SRCRANK) != 0, "GEX_TI_SRCRANK is required, but was not reported");
    CHECK(info.gex_srcrank < job.size, "a source rank must be below %u, but is %u",
          (unsigned)job.size, (unsigned)info.gex_srcrank);
    return info.gex_srcrank;
}

size_t conform_slot_size(void)
{
    return (((size_t)4 << 20) / job.size) & ~(size_t)4095;
}

unsigned char *conform_slot(gex_Rank_t owner, gex_Rank_t peer, int reply)
{
    return job.base[owner] + CONFORM_INBOX + (reply ? (size_t)4 << 20 : 0) +
           conform_slot_size() * peer;
}

static void list_tests(void)
{
    for (size_t i = 0; i < room_count; i++) {
        for (const conform_test_t *t = rooms[i]; t->name != NULL; t++)
            printf("%-18s %s\n", t->name, t->help);
    }
    fflush(stdout);
}

static uint64_t repeat = 1; /* how often each subtest is run */

static void run_test(const conform_test_t *test)
{
    running = test->name;
    for (uint64_t i = 0; i < repeat; i++) {
        conform_barrier();
        test->run();
    }
    conform_barrier();
    if (job.rank == 0) {
        printf("ok %s\n", test->name);
        fflush(stdout);
    }
}

static int run_named(const char *name)
{
    const int all = strcmp(name, "all") == 0;
    int found = 0;

    for (size_t i = 0; i < room_count; i++) {
        for (const conform_test_t *t = rooms[i]; t->name != NULL; t++) {
            if (!all && strcmp(name, t->name) != 0)
                continue;
            run_test(t);
            found = 1;
        }
    }
    return found;
}

#ifdef GASNET_SEGMENT_EVERYTHING
/* All memory may be reached; the suite takes a piece at the same address in every rank. */
static void find_segments(void)
{
    unsigned char *base = conform_everything_memory();

    job.base = conform_alloc(job.size * sizeof(*job.base));
    for (gex_Rank_t r = 0; r < job.size; r++)
        job.base[r] = base;
    job.outbox = base + CONFORM_OUTBOX;
}
#else
static void find_segments(void)
{
    job.base = conform_alloc(job.size * sizeof(*job.base));
    for (gex_Rank_t r = 0; r < job.size; r++) {
        void *owner = NULL;

        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(job.tm, r, &owner, NULL, NULL, 0));
        CHECK(owner != NULL, "the segment of rank %u should have an address", (unsigned)r);
        job.base[r] = owner;
    }
    job.outbox = job.base[job.rank] + CONFORM_OUTBOX;
}
#endif

#ifdef CONFORM_GASNET1_HEADER
static void join(int *argc, char ***argv)
{
    conform_gasnet1_start(argc, argv);
}
#else
/* In place of gex_Segment_Attach: a segment of the test's own memory, which nobody maps. */
static void bind_segment(void)
{
    int err = gex_Segment_Create(&job.segment, job.client, conform_alloc(CONFORM_SEGMENT),
                                 CONFORM_SEGMENT, GEX_MK_HOST, 0);

    CHECK(err == GASNET_OK, "gex_Segment_Create must return GASNET_OK, but returned %d", err);
    err = gex_EP_BindSegment(job.ep, job.segment, 0);
    CHECK(err == GASNET_OK, "gex_EP_BindSegment must return GASNET_OK, but returned %d", err);
    err = gex_EP_PublishBoundSegment(job.tm, &job.ep, 1, 0);
    CHECK(err == GASNET_OK, "gex_EP_PublishBoundSegment must return GASNET_OK, not %d", err);
}

static void join(int *argc, char ***argv)
{
    int err =
        gex_Client_Init(&job.client, &job.ep, &job.tm, CONFORM_NAME, argc, argv, CONFORM_FLAGS);

    CHECK(err == GASNET_OK, "gex_Client_Init must return GASNET_OK, but returned %d", err);
    job.rank = gex_TM_QueryRank(job.tm);
    job.size = gex_TM_QuerySize(job.tm);
    if (getenv("CONFORM_BIND") != NULL) {
        bind_segment();
        return;
    }
#ifndef GASNET_SEQ
    if (getenv("CONFORM_ATTACH_BESIDE") != NULL) {
        conform_attach_beside();
        return;
    }
#endif
    err = gex_Segment_Attach(&job.segment, job.tm, CONFORM_SEGMENT);
    CHECK(err == GASNET_OK, "gex_Segment_Attach must return GASNET_OK, but returned %d", err);
}
#endif

static void start(int *argc, char ***argv)
{
    join(argc, argv);
    CHECK(job.size <= 64, "the suite runs with up to 64 ranks, not with %u", (unsigned)job.size);
    find_segments();
    conform_argn_setup();
    conform_am_setup();
    conform_flood_setup();
    conform_npam_setup();
    conform_barrier_setup();
    conform_sync_setup();
    conform_handler_setup();
    conform_vis_setup();
#ifndef GASNET_SEQ
    conform_thread_setup();
#endif
    conform_barrier();
}

static _Noreturn void usage(const char *why)
{
    if (job.rank == 0)
        fprintf(stderr,
                "conform: %s; use: conform [--list] [--threads T] [--seed S] [--repeat K] "
                "NAME...|all\n",
                why);
    gasnet_exit(2);
    abort();
}

static uint64_t number(const char *text)
{
    char *end = NULL;
    unsigned long long value;

    if (text == NULL)
        usage("the option needs a number behind it");
    value = strtoull(text, &end, 0);
    if (end == text || *end != '\0')
        usage("the option's value is not a number");
    return value;
}

/* Reads the options and returns the place of the first name. */
static int options(int argc, char **argv)
{
    int i = 1;

    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            if (job.rank == 0)
                list_tests();
            conform_barrier();
            gasnet_exit(0);
        } else if (strcmp(argv[i], "--threads") == 0) {
            job.threads = (int)number(argv[++i]);
        } else if (strcmp(argv[i], "--repeat") == 0) {
            repeat = number(argv[++i]);
        } else if (strcmp(argv[i], "--seed") == 0) {
            job.seed = number(argv[++i]);
        } else {
            usage("unknown option");
        }
    }
    if (job.threads < 1 || job.threads > 64)
        usage("--threads takes a number from 1 to 64");
    return i;
}

int main(int argc, char **argv)
{
    int i;

    job.threads = 1;
    job.seed = 1;
    start(&argc, &argv);
    i = options(argc, argv);
    if (i == argc)
        usage("no subtest named");
    for (; i < argc; i++) {
        if (!run_named(argv[i]))
            usage("no such subtest; --list shows them");
    }
    conform_barrier();
    gasnet_exit(0);
    return 0;
}
