// SPDX-License-Identifier: BSD-3-Clause
// Measures how long it takes to find pinned memory: firehose_speed [REGIONS [HITS]] prints the
// nanoseconds of a hit, for own memory and for a peer's memory, first on random pages of regions of
// 128 KiB, then always on the same page. No memory is really pinned.
#include <stdio.h>
#include <stdlib.h>

#include "../../firehose/firehose.h"
#include "../../other/base/clock.h"

enum { PAGE = 4096, PAGES = 32, REGION = PAGES * PAGE };

#define BASE ((uintptr_t)0x7f0000000000)

static aq_firehose_t *firehose;

static aq_firehose_pinned_t pin_nothing(void *context, uintptr_t start, uint64_t bytes,
                                        bool writable, aq_firehose_key_t *key)
{
    (void)context, (void)bytes, (void)writable;
    *key = (aq_firehose_key_t){NULL, start};
    return AQ_FIREHOSE_PINNED;
}

static void unpin_nothing(void *context, uintptr_t start, uint64_t bytes,
                          const aq_firehose_key_t *key)
{
    (void)context, (void)start, (void)bytes, (void)key;
}

// Serves the request at once: the peer is this process.
static void serve_request(void *context, uint32_t peer, const aq_firehose_message_t *message,
                          const void *data, uint32_t data_bytes)
{
    (void)context;
    aq_firehose_message_t answer;
    if (aq_firehose_serve(firehose, peer, message, data, data_bytes, &answer) != AQ_OK ||
        aq_firehose_answered(firehose, peer, &answer) != AQ_OK)
        abort();
}

static void release_region(aq_firehose_wait_t *wait, aq_status_t status,
                           aq_firehose_region_t *region)
{
    (void)wait;
    if (status != AQ_OK)
        abort();
    aq_firehose_release(region);
}

// The next two functions return the end of the region, so that the compiler cannot omit the call.
static uintptr_t use_own(uintptr_t address, size_t bytes)
{
    aq_firehose_region_t *region;
    if (aq_firehose_pin(firehose, (void *)address, bytes, true, &region) != AQ_OK)
        abort();
    uintptr_t end = region->end;
    aq_firehose_release(region);
    return end;
}

static uintptr_t use_peer(uintptr_t address, size_t bytes)
{
    aq_firehose_region_t *region;
    aq_firehose_wait_t wait = {.done = release_region};
    const aq_firehose_target_t target = {.write = true, .address = address, .bytes = bytes};
    if (aq_firehose_reach(firehose, &target, &wait, &region) != AQ_FIREHOSE_HIT)
        return 0;
    uintptr_t end = region->end;
    aq_firehose_release(region);
    return end;
}

static double measure_hits(uintptr_t (*use)(uintptr_t, size_t), const uintptr_t *addresses,
                           size_t count)
{
    uintptr_t sum = 0;
    uint64_t start = aq_clock_ns();
    for (size_t i = 0; i < count; i++)
        sum += use(addresses[i], PAGE);
    double each = (double)(aq_clock_ns() - start) / (double)count;
    return sum ? each : 0;
}

static void print_speed(const char *name, uintptr_t (*use)(uintptr_t, size_t), uint32_t regions,
                        size_t hits)
{
    uintptr_t *addresses = calloc(hits, sizeof *addresses);
    uint64_t random_state = 88172645463325252u;
    if (!addresses)
        abort();
    for (uint32_t i = 0; i < 2 * regions; i++) // the first round pins the regions
        if (use(BASE + (uintptr_t)(i % regions) * REGION, REGION) == 0 && i >= regions)
            abort();
    for (size_t i = 0; i < hits; i++) {
        random_state = random_state * 6364136223846793005u + 1442695040888963407u;
        addresses[i] = BASE + (random_state >> 33) % ((uint64_t)regions * PAGES) * PAGE;
    }
    printf("%s: %.1f ns on random pages", name, measure_hits(use, addresses, hits));
    for (size_t i = 0; i < hits; i++)
        addresses[i] = BASE;
    printf(", %.1f ns on one page\n", measure_hits(use, addresses, hits));
    free(addresses);
}

int main(int argc, char **argv)
{
    uint32_t regions = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000;
    size_t hits = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000000;
    const aq_firehose_ops_t ops = {pin_nothing, unpin_nothing, serve_request};
    aq_firehose_params_t params = {
        .main = {regions, UINT64_C(1) << 50},
        .victim = {regions, UINT64_C(1) << 50},
        .per_peer = regions,
        .region_bytes = REGION,
        .page_bytes = PAGE,
        .table_scale = 1,
    };
    if (regions == 0 || hits == 0) {
        fprintf(stderr, "usage: firehose_speed [REGIONS [HITS]]\n");
        return 2;
    }
    if (aq_firehose_start(&params, &ops, NULL, 1, &firehose) != AQ_OK)
        return 1;
    printf("hits among %u regions\n", regions);
    print_speed("own memory", use_own, regions, hits);
    print_speed("a peer's memory", use_peer, regions, hits);
    aq_firehose_stop(firehose);
    return 0;
}
