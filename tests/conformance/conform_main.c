/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conform: runs subtests of the conformance suite by name.
 *   conform [--list] [--threads T] [--seed S] [--repeat K] NAME...|all
 */
#include "conform.h"
#ifdef CONFORM_GASNET1_HEADER
#include "extended/conform_gasnet1.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const conform_test_t *const test_tables[] = {
    conform_counters_tests,   conform_endpoint_tests,    conform_window_tests,
    conform_further_tests,    conform_fence_tests,
#ifdef GASNET_SEGMENT_EVERYTHING
    conform_everything_tests,
#else
    conform_query_tests,    conform_team_tests,
#endif
    conform_handler_tests,    conform_am_tests,          conform_flood_tests,
    conform_npam_tests,       conform_rma_tests,         conform_event_tests,
    conform_barrier_tests,    conform_sync_tests,        conform_ratomic_tests,
    conform_vis_tests,        conform_coll_tests,        conform_coll1_tests,
    conform_gather_tests,     conform_shared_tests,      conform_limits_tests,
    conform_nets_tests,
#ifdef GASNET_PAR
    conform_thread_tests,     conform_concurrent_tests,
#endif
#ifdef CONFORM_GASNET1_HEADER
    conform_gasnet1_tests,    conform_gasnet1_rma_tests, conform_gasnet1_am_tests,
#endif
};
static const size_t table_count = sizeof(test_tables) / sizeof(test_tables[0]);

static void list_tests(void)
{
    for (size_t i = 0; i < table_count; i++) {
        for (const conform_test_t *t = test_tables[i]; t->name != NULL; t++)
            printf("%-18s %s\n", t->name, t->help);
    }
    fflush(stdout);
}

static uint64_t repeat = 1; /* runs of each subtest */

static void run_test(const conform_test_t *test)
{
    job.subtest = test->name;
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

    for (size_t i = 0; i < table_count; i++) {
        for (const conform_test_t *t = test_tables[i]; t->name != NULL; t++) {
            if (!all && strcmp(name, t->name) != 0)
                continue;
            run_test(t);
            found = 1;
        }
    }
    return found;
}

#ifdef GASNET_SEGMENT_EVERYTHING
/* Peers may access all memory; the suite uses a piece at the same address in every rank. */
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
static void job_join(int *argc, char ***argv)
{
    conform_gasnet1_start(argc, argv);
}
#else
/* Replaces gex_Segment_Attach: makes a segment of the test's own memory, which no peer maps. */
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

static void job_join(int *argc, char ***argv)
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
#ifdef GASNET_PAR
    if (getenv("CONFORM_ATTACH_BESIDE") != NULL) {
        conform_attach_beside();
        return;
    }
#endif
    err = gex_Segment_Attach(&job.segment, job.tm, CONFORM_SEGMENT);
    CHECK(err == GASNET_OK, "gex_Segment_Attach must return GASNET_OK, but returned %d", err);
}
#endif

/* Messages go over a team of the endpoints with this index. */
static void use_team(gex_EP_Index_t index)
{
    gex_EP_Location_t *members = conform_alloc(job.size * sizeof *members);

    for (gex_Rank_t r = 0; r < job.size; r++)
        members[r] = (gex_EP_Location_t){r, index};
    gex_TM_Create(&job.am, 1, job.tm, members, job.size, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    CHECK(job.am != GEX_TM_INVALID, "gex_TM_Create must make a team of endpoints %u", index);
    free(members);
}

/* Makes endpoints up to this index, which gets active messages and the segment of endpoint 0. */
static void use_endpoint(unsigned index)
{
    int err = GASNET_OK;

    while (err == GASNET_OK && gex_EP_QueryIndex(job.am_ep) < index)
        err = gex_EP_Create(&job.am_ep, job.client, GEX_EP_CAPABILITY_ALL, 0);
    CHECK(err == GASNET_OK, "gex_EP_Create must return GASNET_OK, but returned %d", err);
    err = gex_EP_BindSegment(job.am_ep, job.segment, 0);
    CHECK(err == GASNET_OK, "gex_EP_BindSegment must return GASNET_OK, but returned %d", err);
    err = gex_EP_PublishBoundSegment(job.tm, &job.am_ep, 1, 0);
    CHECK(err == GASNET_OK, "gex_EP_PublishBoundSegment must return GASNET_OK, not %d", err);
    job.am = gex_TM_Pair(job.am_ep, (gex_EP_Index_t)index);
    if (getenv("CONFORM_TEAM") != NULL)
        use_team((gex_EP_Index_t)index);
}

static void suite_start(int *argc, char ***argv)
{
    const char *endpoint = getenv("CONFORM_ENDPOINT");

    job_join(argc, argv);
    job.am_ep = job.ep;
    job.am = job.tm;
    if (endpoint != NULL)
        use_endpoint((unsigned)atoi(endpoint));
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
    conform_fence_setup();
#ifdef GASNET_PAR
    conform_thread_setup();
#endif
    conform_barrier();
}

static _Noreturn void exit_with_usage(const char *why)
{
    if (job.rank == 0)
        fprintf(stderr,
                "conform: %s; use: conform [--list] [--threads T] [--seed S] [--repeat K] "
                "NAME...|all\n",
                why);
    gasnet_exit(2);
    abort();
}

static uint64_t parse_number(const char *text)
{
    char *end = NULL;
    unsigned long long value;

    if (text == NULL)
        exit_with_usage("an option needs a number after it");
    value = strtoull(text, &end, 0);
    if (end == text || *end != '\0')
        exit_with_usage("an option's value is not a number");
    return value;
}

/* Returns the index in argv of the first name. */
static int parse_options(int argc, char **argv)
{
    int i = 1;

    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            if (job.rank == 0)
                list_tests();
            conform_barrier();
            gasnet_exit(0);
        } else if (strcmp(argv[i], "--threads") == 0) {
            job.threads = (int)parse_number(argv[++i]);
        } else if (strcmp(argv[i], "--repeat") == 0) {
            repeat = parse_number(argv[++i]);
        } else if (strcmp(argv[i], "--seed") == 0) {
            job.seed = parse_number(argv[++i]);
        } else {
            exit_with_usage("unknown option");
        }
    }
    if (job.threads < 1 || job.threads > 64)
        exit_with_usage("--threads takes a number from 1 to 64");
    return i;
}

int main(int argc, char **argv)
{
    int i;

    suite_start(&argc, &argv);
    i = parse_options(argc, argv);
    if (i == argc)
        exit_with_usage("no subtest is named");
    for (; i < argc; i++) {
        if (!run_named(argv[i]))
            exit_with_usage("there is no such subtest; --list prints all of them");
    }
    conform_barrier();
    gasnet_exit(0);
    return 0;
}
