/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries: rank and position, objects, limits, segments. */
#include "conform.h"

#include <stdlib.h>
#include <string.h>

static void check_neighbours(gex_RankInfo_t *info, gex_Rank_t count, gex_Rank_t mine,
                             const char *what)
{
    CHECK(count >= 1 && count <= job.size, "a %s has 1 to %u ranks, not %u", what,
          (unsigned)job.size, (unsigned)count);
    CHECK(mine < count, "this rank's index in the %s must be below %u, but is %u", what,
          (unsigned)count, (unsigned)mine);
    CHECK(info[mine].gex_jobrank == job.rank,
          "this rank's entry in the %s must name rank %u, not %u", what, (unsigned)job.rank,
          (unsigned)info[mine].gex_jobrank);
    for (gex_Rank_t i = 1; i < count; i++)
        CHECK(info[i - 1].gex_jobrank < info[i].gex_jobrank,
              "the ranks of a %s must be in ascending order, but %u is before %u", what,
              (unsigned)info[i - 1].gex_jobrank, (unsigned)info[i].gex_jobrank);
    CHECK(info[count - 1].gex_jobrank < job.size, "a %s names rank %u of a job of %u", what,
          (unsigned)info[count - 1].gex_jobrank, (unsigned)job.size);
}

static int is_in(gex_RankInfo_t *info, gex_Rank_t count, gex_Rank_t rank)
{
    for (gex_Rank_t i = 0; i < count; i++) {
        if (info[i].gex_jobrank == rank)
            return 1;
    }
    return 0;
}

/* The ranks of one set report the same set rank, other ranks another one; all report the same
 * number of sets. */
static void check_sets(gex_RankInfo_t *info, gex_Rank_t count, gex_Rank_t set_size,
                       gex_Rank_t set_rank, const char *what)
{
    uint64_t sizes[64], ranks[64];

    CHECK(set_rank < set_size, "the rank of this %s must be below %u, but is %u", what,
          (unsigned)set_size, (unsigned)set_rank);
    conform_exchange(set_size, sizes);
    conform_exchange(set_rank, ranks);
    for (gex_Rank_t r = 0; r < job.size; r++) {
        const int together = is_in(info, count, r);

        CHECK(sizes[r] == set_size, "rank %u counts %llu %ss, this rank counts %u", (unsigned)r,
              (unsigned long long)sizes[r], what, (unsigned)set_size);
        CHECK((ranks[r] == set_rank) == together,
              "rank %u is %s this %s, but its number is %llu and the number here is %u",
              (unsigned)r, together ? "in" : "not in", what, (unsigned long long)ranks[r],
              (unsigned)set_rank);
    }
}

static void test_position(void)
{
    gex_RankInfo_t *nbrhd = NULL, *host = NULL;
    gex_Rank_t nbrhd_count = 0, nbrhd_mine = 0, host_count = 0, host_mine = 0;
    gex_Rank_t nbrhds = 0, my_nbrhd = 0, hosts = 0, my_host = 0;

    gex_System_QueryNbrhdInfo(&nbrhd, &nbrhd_count, &nbrhd_mine);
    gex_System_QueryHostInfo(&host, &host_count, &host_mine);
    check_neighbours(nbrhd, nbrhd_count, nbrhd_mine, "neighbourhood");
    check_neighbours(host, host_count, host_mine, "host");
    for (gex_Rank_t i = 0; i < nbrhd_count; i++)
        CHECK(is_in(host, host_count, nbrhd[i].gex_jobrank),
              "a host contains its neighbourhoods, but rank %u is missing",
              (unsigned)nbrhd[i].gex_jobrank);
    gex_System_QueryMyPosition(&nbrhds, &my_nbrhd, &hosts, &my_host);
    CHECK(hosts <= nbrhds && nbrhds <= job.size,
          "there are %u hosts, %u neighbourhoods and %u ranks, but no number may exceed the next",
          (unsigned)hosts, (unsigned)nbrhds, (unsigned)job.size);
    check_sets(nbrhd, nbrhd_count, nbrhds, my_nbrhd, "neighbourhood");
    check_sets(host, host_count, hosts, my_host, "host");
    gex_System_QueryNbrhdInfo(NULL, NULL, NULL);
    gex_System_QueryHostInfo(NULL, NULL, NULL);
    gex_System_QueryMyPosition(NULL, NULL, NULL, NULL);
}

static void test_ranks(void)
{
    uint64_t all[64];

    CHECK(gex_System_QueryJobSize() == job.size, "the job size is %u, but the team size is %u",
          (unsigned)gex_System_QueryJobSize(), (unsigned)job.size);
    CHECK(gex_System_QueryJobRank() == job.rank, "the job rank is %u, but the team rank is %u",
          (unsigned)gex_System_QueryJobRank(), (unsigned)job.rank);
    CHECK(job.rank < job.size, "the rank is %u in a job of %u", (unsigned)job.rank,
          (unsigned)job.size);
    CHECK(GEX_RANK_INVALID > job.size, "GEX_RANK_INVALID must be above every rank");
    CHECK((gex_Rank_t)-1 > 0, "gex_Rank_t must be unsigned");
    conform_exchange(job.rank, all);
    for (gex_Rank_t r = 0; r < job.size; r++)
        CHECK(all[r] == r, "rank %u reports rank %llu", (unsigned)r, (unsigned long long)all[r]);
}

static void check_owners(void)
{
    CHECK(gex_EP_QueryClient(job.ep) == job.client, "the endpoint names another client");
    CHECK(gex_TM_QueryClient(job.tm) == job.client, "the team names another client");
    CHECK(gex_Segment_QueryClient(job.segment) == job.client, "the segment names another client");
    CHECK(gex_TM_QueryEP(job.tm) == job.ep, "the team names another endpoint");
    CHECK(gex_EP_QuerySegment(job.ep) == job.segment, "the endpoint names another segment");
    CHECK(gex_EP_QueryIndex(job.ep) == 0, "the first endpoint should have index 0, not %u",
          (unsigned)gex_EP_QueryIndex(job.ep));
    CHECK(gex_Segment_QueryAddr(job.segment) == job.base[job.rank],
          "the segment is at %p, not at %p", gex_Segment_QueryAddr(job.segment),
          (void *)job.base[job.rank]);
    CHECK(gex_Segment_QuerySize(job.segment) == CONFORM_SEGMENT,
          "the segment has %zu bytes, not %zu", (size_t)gex_Segment_QuerySize(job.segment),
          CONFORM_SEGMENT);
}

static void test_objects(void)
{
    CHECK(job.client != GEX_CLIENT_INVALID && job.ep != GEX_EP_INVALID, "invalid client or EP");
    CHECK(job.tm != GEX_TM_INVALID && job.segment != GEX_SEGMENT_INVALID, "invalid TM or segment");
    check_owners();
#ifndef CONFORM_GASNET1_HEADER /* with GASNet-1 the library chooses the name */
    CHECK(strcmp(gex_Client_QueryName(job.client), CONFORM_NAME) == 0, "the name is '%s', not '%s'",
          gex_Client_QueryName(job.client), CONFORM_NAME);
#endif
    CHECK(gex_Client_QueryFlags(job.client) == CONFORM_FLAGS,
          "the client's flags should be 0x%x, not 0x%x", (unsigned)CONFORM_FLAGS,
          (unsigned)gex_Client_QueryFlags(job.client));
    CHECK(gex_Segment_QueryFlags(job.segment) == 0, "the segment's flags should be 0, not 0x%x",
          (unsigned)gex_Segment_QueryFlags(job.segment));
    CHECK(gex_EP_QueryFlags(job.ep) == gex_EP_QueryFlags(job.ep) &&
              gex_TM_QueryFlags(job.tm) == gex_TM_QueryFlags(job.tm),
          "flags must not change between two queries");
}

static void test_cdata(void)
{
    static int seen[4];
    static int first = 1;

    if (first) {
        CHECK(gex_Client_QueryCData(job.client) == NULL, "a new client has no CData");
        CHECK(gex_EP_QueryCData(job.ep) == NULL, "a new endpoint has no CData");
        CHECK(gex_TM_QueryCData(job.tm) == NULL, "a new team has no CData");
        CHECK(gex_Segment_QueryCData(job.segment) == NULL, "a new segment has no CData");
        first = 0;
    }
    gex_Client_SetCData(job.client, &seen[0]);
    gex_EP_SetCData(job.ep, &seen[1]);
    gex_TM_SetCData(job.tm, &seen[2]);
    gex_Segment_SetCData(job.segment, &seen[3]);
    CHECK(gex_Client_QueryCData(job.client) == &seen[0], "the client lost its CData");
    CHECK(gex_EP_QueryCData(job.ep) == &seen[1], "the endpoint lost its CData");
    CHECK(gex_TM_QueryCData(job.tm) == &seen[2], "the team lost its CData");
    CHECK(gex_Segment_QueryCData(job.segment) == &seen[3], "the segment lost its CData");
    gex_TM_SetCData(job.tm, NULL);
    CHECK(gex_TM_QueryCData(job.tm) == NULL, "the team's CData should be NULL again");
    CHECK(gex_EP_QueryCData(job.ep) == &seen[1], "the endpoint lost its CData to the team");
}

static void test_translate(void)
{
    for (gex_Rank_t r = 0; r < job.size; r++) {
        const gex_EP_Location_t at = gex_TM_TranslateRankToEP(job.tm, r, 0);

        CHECK(gex_TM_TranslateRankToJobrank(job.tm, r) == r, "rank %u has another job rank",
              (unsigned)r);
        CHECK(gex_TM_TranslateJobrankToRank(job.tm, r) == r, "job rank %u has another rank",
              (unsigned)r);
        CHECK(at.gex_rank == r && at.gex_ep_index == 0, "rank %u is translated to endpoint (%u,%u)",
              (unsigned)r, (unsigned)at.gex_rank, (unsigned)at.gex_ep_index);
    }
    CHECK(gex_TM_Pair(job.ep, 0) == gex_TM_Pair(job.ep, 0), "equal TM-pairs must compare equal");
    CHECK(gex_TM_Pair(job.ep, 0) != job.tm, "a TM-pair never equals a team");
}

typedef size_t max_fn_t(gex_TM_t, gex_Rank_t, const gex_Event_t *, gex_Flags_t, unsigned);

/* These calls may be macros or inline functions; the functions here have addresses. */
static size_t max_request_medium(gex_TM_t tm, gex_Rank_t r, const gex_Event_t *lc, gex_Flags_t f,
                                 unsigned n)
{
    return gex_AM_MaxRequestMedium(tm, r, lc, f, n);
}

static size_t max_reply_medium(gex_TM_t tm, gex_Rank_t r, const gex_Event_t *lc, gex_Flags_t f,
                               unsigned n)
{
    return gex_AM_MaxReplyMedium(tm, r, lc, f, n);
}

static size_t max_request_long(gex_TM_t tm, gex_Rank_t r, const gex_Event_t *lc, gex_Flags_t f,
                               unsigned n)
{
    return gex_AM_MaxRequestLong(tm, r, lc, f, n);
}

static size_t max_reply_long(gex_TM_t tm, gex_Rank_t r, const gex_Event_t *lc, gex_Flags_t f,
                             unsigned n)
{
    return gex_AM_MaxReplyLong(tm, r, lc, f, n);
}

static max_fn_t *const max_fns[] = {max_request_medium, max_reply_medium, max_request_long,
                                    max_reply_long};
static const char *const max_names[] = {"MaxRequestMedium", "MaxReplyMedium", "MaxRequestLong",
                                        "MaxReplyLong"};

static void check_max(int which, gex_Rank_t r, const gex_Event_t *lc, gex_Flags_t flags, size_t lub)
{
    size_t last = SIZE_MAX;

    for (unsigned n = 0; n <= gex_AM_MaxArgs(); n++) {
        const size_t max = max_fns[which](job.tm, r, lc, flags, n);

        CHECK(max >= 512, "%s must be at least 512, but is %zu", max_names[which], max);
        CHECK(max <= last,
              "%s must not grow with the number of arguments: %zu with %u, %zu with one less",
              max_names[which], max, n, last);
        CHECK(lub <= max, "%s with %u arguments is %zu, below its LUB of %zu", max_names[which], n,
              max, lub);
        CHECK(max == max_fns[which](job.tm, r, lc, flags, n), "%s must not change",
              max_names[which]);
        CHECK(max == max_fns[which](gex_TM_Pair(job.ep, 0), r, lc, flags, n),
              "%s must not depend on how the endpoints are named", max_names[which]);
        last = max;
    }
}

static void check_max_all(int which, size_t lub)
{
    gex_Event_t event = GEX_EVENT_INVALID;
    const gex_Event_t *const lcs[] = {GEX_EVENT_NOW, &event, GEX_EVENT_GROUP};
    const size_t lc_count = which % 2 == 0 ? 3 : 2; /* replies take no GROUP */

    CHECK(lub >= 512, "the LUB of %s must be at least 512, but is %zu", max_names[which], lub);
    for (size_t i = 0; i < lc_count; i++) {
        for (gex_Rank_t r = 0; r < job.size; r++) {
            check_max(which, r, lcs[i], 0, lub);
            check_max(which, r, lcs[i], GEX_FLAG_IMMEDIATE, lub);
            check_max(which, r, lcs[i], GEX_FLAG_AM_PREPARE_LEAST_CLIENT, 0);
        }
    }
    for (gex_Rank_t r = 0; r < job.size; r++)
        check_max(which, r, NULL, GEX_FLAG_AM_PREPARE_LEAST_ALLOC, 0);
}

/* A query with GEX_RANK_INVALID gives the minimum over all ranks, the same on every rank. */
static void check_max_least(int which)
{
    uint64_t all[64];

    for (unsigned n = 0; n <= 16; n += 8) {
        const size_t least = max_fns[which](job.tm, GEX_RANK_INVALID, GEX_EVENT_NOW, 0, n);
        size_t found = SIZE_MAX;

        for (gex_Rank_t r = 0; r < job.size; r++) {
            const size_t max = max_fns[which](job.tm, r, GEX_EVENT_NOW, 0, n);

            found = max < found ? max : found;
        }
        CHECK(least <= found, "%s for all ranks is %zu, but for one rank only %zu",
              max_names[which], least, found);
        conform_exchange(least, all);
        for (gex_Rank_t r = 0; r < job.size; r++)
            CHECK(all[r] == least, "%s for all ranks is %llu on rank %u, %zu here",
                  max_names[which], (unsigned long long)all[r], (unsigned)r, least);
    }
}

/* The value of rank a for rank b equals that of rank b for rank a. */
static void check_max_symmetric(int which)
{
    uint64_t all[64];

    for (gex_Rank_t a = 0; a < job.size; a++) {
        conform_exchange(max_fns[which](job.tm, a, GEX_EVENT_NOW, 0, 5), all);
        for (gex_Rank_t b = 0; job.rank == a && b < job.size; b++) {
            const size_t mine = max_fns[which](job.tm, b, GEX_EVENT_NOW, 0, 5);

            CHECK(mine == all[b], "%s is %zu here for rank %u, but %llu there for this rank",
                  max_names[which], mine, (unsigned)b, (unsigned long long)all[b]);
        }
    }
}

static void test_limits(void)
{
    const size_t lubs[] = {gex_AM_LUBRequestMedium(), gex_AM_LUBReplyMedium(),
                           gex_AM_LUBRequestLong(), gex_AM_LUBReplyLong()};

    CHECK(gex_AM_MaxArgs() == 16, "gex_AM_MaxArgs() should be 16, but is %u", gex_AM_MaxArgs());
    CHECK(GEX_AM_INDEX_BASE <= 128, "GEX_AM_INDEX_BASE is at most 128, not %d",
          (int)GEX_AM_INDEX_BASE);
    for (int which = 0; which < 4; which++) {
        CHECK(lubs[which] >= 512, "LUB %d is %zu, which is below 512", which, lubs[which]);
        check_max_all(which, lubs[which]);
        check_max_least(which);
        check_max_symmetric(which);
    }
}

static void test_threads_max(void)
{
    const uint64_t most = gex_System_QueryMaxThreads();

#ifdef GASNET_SEQ
    CHECK(most == 1, "seq mode allows one thread, not %llu", (unsigned long long)most);
#else
    CHECK(most >= (uint64_t)job.threads, "%llu threads are allowed, but the test needs %d",
          (unsigned long long)most, job.threads);
#endif
    CHECK(most == gex_System_QueryMaxThreads(), "the number of threads must not change");
    CHECK(gex_System_QueryHiddenAMConcurrencyLevel() <= GASNET_HIDDEN_AM_CONCURRENCY_LEVEL,
          "the threads of this job are more than the mode may have");
}

static void check_bound(gex_TM_t tm, gex_Rank_t r, gex_Flags_t flags)
{
    void *owner = NULL, *local = NULL, *owner_old = NULL, *local_old = NULL;
    uintptr_t size = 0, size_old = 0;
    const gex_Event_t event = gex_EP_QueryBoundSegmentNB(tm, r, &owner, &local, &size, flags);

    if ((flags & GEX_FLAG_IMMEDIATE) && r == job.rank)
        CHECK(event == GEX_EVENT_INVALID,
              "an IMMEDIATE query of this rank itself must complete at once");
    if (event == GEX_EVENT_NO_OP) {
        CHECK(flags & GEX_FLAG_IMMEDIATE, "only IMMEDIATE may give GEX_EVENT_NO_OP");
        return;
    }
    gex_Event_Wait(event);
    CHECK(owner == job.base[r], "the segment of rank %u is at %p, not at %p", (unsigned)r, owner,
          (void *)job.base[r]);
    CHECK(size == CONFORM_SEGMENT, "the segment of rank %u has %zu bytes, not %zu", (unsigned)r,
          (size_t)size, CONFORM_SEGMENT);
    CHECK(gex_Segment_QueryBound(tm, r, &owner_old, &local_old, &size_old) == 0,
          "gex_Segment_QueryBound must find the segment of rank %u", (unsigned)r);
    CHECK(owner == owner_old && local == local_old && size == size_old,
          "rank %u: the two queries of bound segments differ", (unsigned)r);
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(tm, r, NULL, NULL, NULL, 0));
}

/* If the segment of rank r is mapped here, this rank reads what rank r wrote. */
static void check_mapping(gex_Rank_t r)
{
    void *local = NULL;

    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(job.tm, r, NULL, &local, NULL, 0));
    CHECK(local != NULL || r != job.rank, "this rank's own segment must be mapped");
    if (local == NULL)
        return;
    CHECK_FILL((unsigned char *)local + CONFORM_INBOX, 8192, r, "mapped segment, start");
    CHECK_FILL((unsigned char *)local + CONFORM_SEGMENT - 4096, 4096, r + 100u,
               "mapped segment, end");
}

static void test_segments(void)
{
    unsigned char *mine = job.base[job.rank];

    for (gex_Rank_t r = 0; r < job.size; r++) {
        check_bound(job.tm, r, 0);
        check_bound(job.tm, r, GEX_FLAG_IMMEDIATE);
        check_bound(gex_TM_Pair(job.ep, 0), r, 0);
    }
    conform_fill(mine + CONFORM_INBOX, 8192, job.rank);
    conform_fill(mine + CONFORM_SEGMENT - 4096, 4096, job.rank + 100u);
    conform_barrier();
    for (gex_Rank_t r = 0; r < job.size; r++)
        check_mapping(r);
}

static void test_constants(void)
{
    CHECK(GEX_EVENT_INVALID == (gex_Event_t)0, "GEX_EVENT_INVALID must be zero");
    CHECK(GEX_EVENT_NO_OP != (gex_Event_t)0, "GEX_EVENT_NO_OP must not be zero");
    CHECK(GEX_AM_SRCDESC_NO_OP == (gex_AM_SrcDesc_t)0, "GEX_AM_SRCDESC_NO_OP must be zero");
    CHECK(GEX_EVENT_NOW != GEX_EVENT_DEFER && GEX_EVENT_DEFER != GEX_EVENT_GROUP &&
              GEX_EVENT_NOW != GEX_EVENT_GROUP,
          "NOW, DEFER and GROUP must differ");
    CHECK(sizeof(gex_RMA_Value_t) == SIZEOF_GEX_RMA_VALUE_T, "gex_RMA_Value_t has %zu bytes",
          sizeof(gex_RMA_Value_t));
    CHECK(sizeof(gex_AM_Arg_t) == 4 && (gex_AM_Arg_t)-1 < 0, "an argument is a signed 32-bit word");
    CHECK(sizeof(gex_AM_Index_t) == 1, "a handler index has one byte");
    CHECK(CONFORM_SEGMENT % GASNET_PAGESIZE == 0,
          "the segment is no multiple of a page of %zu bytes", (size_t)GASNET_PAGESIZE);
    CHECK(gasnet_getMaxLocalSegmentSize() >= gasnet_getMaxGlobalSegmentSize(),
          "the global limit must not be above the local one");
    gex_System_SetVerboseErrors(0);
    CHECK(gex_System_GetVerboseErrors() == 0, "verbose errors should be off");
    gex_System_SetVerboseErrors(1);
    CHECK(gex_System_GetVerboseErrors() != 0, "verbose errors should be on");
    CHECK(gex_System_QueryHiddenAMConcurrencyLevel() == gex_System_QueryHiddenAMConcurrencyLevel(),
          "the concurrency level must not change");
}

const conform_test_t conform_query_tests[] = {
    {"query_constants", test_constants, "constants, sizes of types, verbose errors"},
    {"query_ranks", test_ranks, "rank, size and job rank"},
    {"query_position", test_position, "neighbourhoods and hosts are consistent"},
    {"query_objects", test_objects, "client, endpoint, team and segment name each other"},
    {"query_cdata", test_cdata, "client data of each object"},
    {"query_translate", test_translate, "ranks, job ranks, endpoints and TM-pairs"},
    {"query_limits", test_limits, "payload limits: at least 512, LUB, monotone, symmetric"},
    {"query_threads", test_threads_max, "number of client threads"},
    {"query_segments", test_segments, "bound segments of all ranks, and their mapping"},
    {NULL, NULL, NULL}};
