/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attach_pages BYTES: attaches a segment of so many bytes (K, M and G allowed), and rank 0 prints
 * for each rank in turn: its address, the bytes of it that have memory then, those of them in huge
 * pages, and the seconds that gex_Segment_Attach took.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnetex.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { FOUND = GEX_AM_INDEX_BASE, CHUNK = 1 << 16 };

typedef struct found {
    uint64_t address, there, huge; /* bytes */
    double seconds;
} found_t;

static gex_TM_t team;
static volatile gex_Rank_t told;
static found_t found_of_all[64];

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uintptr_t read_size(const char *text)
{
    char *end;
    uintptr_t size = strtoull(text, &end, 10);

    return *end == 'K' ? size << 10 : *end == 'M' ? size << 20 : *end == 'G' ? size << 30 : size;
}

/* mincore says what the file has; nobody but this rank has used the segment. */
static uint64_t bytes_there(char *segment, uintptr_t size)
{
    static unsigned char pages[CHUNK];
    uint64_t count = 0;

    for (uintptr_t at = 0; at < size; at += (uintptr_t)CHUNK * GASNET_PAGESIZE) {
        uintptr_t left = size - at, most = (uintptr_t)CHUNK * GASNET_PAGESIZE;
        uintptr_t n = (left < most ? left : most) / GASNET_PAGESIZE;

        if (mincore(segment + at, n * GASNET_PAGESIZE, pages) != 0)
            return UINT64_MAX;
        for (uintptr_t i = 0; i < n; i++)
            count += pages[i] & 1;
    }
    return count * GASNET_PAGESIZE;
}

static uint64_t bytes_huge(uintptr_t segment)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    uintptr_t from = 0, to, kilobytes;
    uint64_t huge = 0;

    while (maps && fgets(line, sizeof(line), maps)) {
        uintptr_t begin;

        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &begin, &to) == 2)
            from = begin;
        else if (from == segment && (sscanf(line, "ShmemPmdMapped: %" SCNuPTR, &kilobytes) == 1 ||
                                     sscanf(line, "Shared_Hugetlb: %" SCNuPTR, &kilobytes) == 1 ||
                                     sscanf(line, "Private_Hugetlb: %" SCNuPTR, &kilobytes) == 1))
            huge += (uint64_t)kilobytes << 10;
    }
    if (maps)
        fclose(maps);
    return huge;
}

static void on_found(gex_Token_t token, void *bytes, size_t length)
{
    gex_Token_Info_t info;

    gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    if (length == sizeof(found_t) && info.gex_srcrank < 64)
        found_of_all[info.gex_srcrank] = *(const found_t *)bytes;
    told++;
}

static found_t attach(uintptr_t size)
{
    gex_Segment_t segment;
    double begin = now();
    found_t found = {0, 0, 0, 0};

    if (gex_Segment_Attach(&segment, team, size) != GASNET_OK)
        gasnet_exit(1);
    found.seconds = now() - begin;
    found.address = (uint64_t)(uintptr_t)gex_Segment_QueryAddr(segment);
    found.there = bytes_there(gex_Segment_QueryAddr(segment), size);
    found.huge = bytes_huge((uintptr_t)found.address);
    return found;
}

static void print_all(void)
{
    const gex_Rank_t size = gex_TM_QuerySize(team);

    GASNET_BLOCKUNTIL(told == size);
    for (gex_Rank_t r = 0; r < size; r++) {
        const found_t *found = &found_of_all[r];

        printf("%u: at %#" PRIx64 " there %" PRIu64 " huge %" PRIu64 " seconds %.3f\n", (unsigned)r,
               found->address, found->there, found->huge, found->seconds);
    }
}

int main(int argc, char **argv)
{
    gex_AM_Entry_t handler = {
        FOUND, (gex_AM_Fn_t)on_found, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL, "found"};
    gex_Client_t client;
    gex_EP_t endpoint;
    found_t found;

    if (gex_Client_Init(&client, &endpoint, &team, "PAGES", &argc, &argv, 0) != GASNET_OK ||
        argc != 2 || gex_TM_QuerySize(team) > 64)
        return 2;
    gex_EP_RegisterHandlers(endpoint, &handler, 1);
    found = attach(read_size(argv[1]));
    gex_AM_RequestMedium0(team, 0, FOUND, &found, sizeof(found), GEX_EVENT_NOW, 0);
    if (gex_TM_QueryRank(team) == 0)
        print_all();
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
    return 0;
}
