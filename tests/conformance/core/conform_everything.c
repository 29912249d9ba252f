/* SPDX-License-Identifier: BSD-3-Clause */
/* Segment mode everything: all memory of a process is its segment, so that peers can access stack,
 * heap and globals. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../conform.h"
#if __has_include(<aqueduct.h>)
#include <aqueduct.h>
#endif

#ifdef GASNET_SEGMENT_EVERYTHING

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { BYTES = 200000 };
static unsigned char global[BYTES];

unsigned char *conform_everything_memory(void)
{
    void *wanted = (void *)(uintptr_t)0x200000000000u;
    void *got = mmap(wanted, CONFORM_SEGMENT, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    CHECK(got == wanted, "mmap gave no memory at %p", wanted);
    return got;
}

static uint64_t frames_sent(void)
{
#ifdef GASNETX_COUNTERS
    const volatile gasnetx_counters_t *all = gasnetx_Counters(GEX_EP_INVALID);

    gasnetx_Counters_Update();
    return gasnetx_counter(&all->frames_sent);
#else
    return 0; /* another GASNet */
#endif
}

/* Every rank puts to and gets from `mine` of the next rank, whose address may differ. Returns the
 * number of messages that it sends for that. */
static uint64_t check_reach(unsigned char *mine)
{
    uint64_t *all = conform_alloc(job.size * sizeof(*all));
    const gex_Rank_t next = (job.rank + 1) % job.size;
    const gex_Rank_t before = (job.rank + job.size - 1) % job.size;
    unsigned char *source = conform_alloc(BYTES);
    uint64_t frames;

    memset(mine, 0, BYTES);
    conform_exchange((uintptr_t)mine, all);
    conform_fill(source, BYTES, job.rank);
    frames = frames_sent();
    gex_RMA_PutBlocking(job.tm, next, (void *)(uintptr_t)all[next], source, BYTES, 0);
    frames = frames_sent() - frames;
    conform_barrier();
    CHECK_FILL(mine, BYTES, before, "the bytes that the previous rank put");
    memset(source, 0, BYTES);
    frames -= frames_sent();
    gex_RMA_GetBlocking(job.tm, source, next, (void *)(uintptr_t)all[next], BYTES, 0);
    frames += frames_sent();
    CHECK_FILL(source, BYTES, job.rank, "the bytes that a get brought back");
    conform_barrier();
    free(source);
    free(all);
    return frames;
}

static void everything_reach(void)
{
    unsigned char local[BYTES];
    unsigned char *heap = conform_alloc(BYTES);

    (void)check_reach(global);
    (void)check_reach(local);
    (void)check_reach(heap);
    free(heap);
}

/* Between processes of a host nothing travels as a message (CONFORM_COPIES=yes), or all does: =no,
 * and =refused, which has the kernel refuse. */
static void everything_copies(void)
{
    const char *copies = getenv("CONFORM_COPIES");
    const int refused = copies && strcmp(copies, "refused") == 0;

    if (refused) {
        conform_refuse_call(SYS_process_vm_readv);
        conform_refuse_call(SYS_process_vm_writev);
    }
    const uint64_t frames = check_reach(global);
    CHECK(!copies || (strcmp(copies, "yes") == 0 ? frames == 0 : frames > 0),
          "%llu messages were sent, and CONFORM_COPIES is %s", (unsigned long long)frames, copies);
}

static void everything_query(void)
{
    CHECK(job.segment == GEX_SEGMENT_INVALID, "gex_Segment_Attach made a segment");
    CHECK(gex_EP_QuerySegment(job.ep) == GEX_SEGMENT_INVALID, "the endpoint has a segment");
    for (gex_Rank_t r = 0; r < job.size; r++) {
        void *owner = &owner;
        uintptr_t size = 0;

        CHECK(gex_Segment_QueryBound(job.tm, r, &owner, NULL, &size) == 0,
              "the segment of rank %u is not known", (unsigned)r);
        CHECK(owner == NULL && size == UINTPTR_MAX, "%zu bytes at %p are not all memory",
              (size_t)size, owner);
    }
}

const conform_test_t conform_everything_tests[] = {
    {"everything_query", everything_query, "the segment of each rank is all memory"},
    {"everything_reach", everything_reach, "put and get of globals, stack and heap"},
    {"everything_copies", everything_copies, "one copy between processes of a host"},
    {NULL, NULL, NULL},
};

#endif
