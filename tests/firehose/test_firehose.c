// SPDX-License-Identifier: BSD-3-Clause
// Pinned memory of one process: hits, growth, eviction, invalidation, limits; then a million random
// operations that are compared with a model, and threads.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../unit/unit_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../other/base/settings/settings.h"
#include "fake_pinner.h"
#include "../unit/assert_between.h"

enum { PAGES = 256, REGION_PAGES = 16, PLENTY = 100 };

#define BASE ((uintptr_t)0x7f5500000000)

static fake_memory_t memory;
static aq_firehose_t *firehose;

static const aq_firehose_ops_t ops = {.pin = fake_memory_pin, .unpin = fake_memory_unpin};

static aq_firehose_params_t params_of(uint32_t regions, uint32_t pages)
{
    return (aq_firehose_params_t){
        .victim = {regions, (uint64_t)pages * FAKE_PAGE},
        .region_bytes = REGION_PAGES * FAKE_PAGE,
        .page_bytes = FAKE_PAGE,
        .table_scale = 1,
    };
}

static void start_with(uint32_t regions, uint32_t pages, uint32_t room)
{
    aq_firehose_params_t params = params_of(regions, pages);
    fake_memory_start(&memory, BASE, PAGES, room);
    assert_int_equal(aq_firehose_start(&params, &ops, &memory, 1, &firehose), AQ_OK);
}

static void start(uint32_t regions, uint32_t pages)
{
    start_with(regions, pages, 1000);
}

static void tear_down(void)
{
    aq_firehose_stop(firehose);
    fake_memory_stop(&memory);
}

static uintptr_t at(uint32_t page)
{
    return fake_memory_page(&memory, page);
}

static aq_status_t try_pin(uint32_t page, uint32_t pages, bool write, aq_firehose_region_t **region)
{
    return aq_firehose_pin(firehose, (void *)at(page), (size_t)pages * FAKE_PAGE, write, region);
}

static aq_firehose_region_t *pin(uint32_t page, uint32_t pages, bool write)
{
    aq_firehose_region_t *region = NULL;
    assert_int_equal(try_pin(page, pages, write, &region), AQ_OK);
    size_t covered = aq_firehose_covered(region, at(page), (size_t)pages * FAKE_PAGE);
    fake_memory_use(&memory, region->key.remote, at(page), covered, write);
    return region;
}

static void pin_once(uint32_t page, uint32_t pages)
{
    aq_firehose_release(pin(page, pages, true));
}

static aq_firehose_stats_t stats(void)
{
    aq_firehose_stats_t stats;
    aq_firehose_stats(firehose, &stats);
    return stats;
}

static void assert_pages(const aq_firehose_region_t *region, uint32_t first, uint32_t last)
{
    assert_int_equal(region->start, at(first));
    assert_int_equal(region->end, at(last));
}

// Pins pages, and checks that the result is a region of the pages `first` to `last` - 1.
static void assert_pinned_as(uint32_t page, uint32_t pages, uint32_t first, uint32_t last)
{
    aq_firehose_region_t *region = pin(page, pages, true);
    assert_pages(region, first, last);
    aq_firehose_release(region);
}

// ---- hits and misses ----

static void test_hit(void **state)
{
    (void)state;
    start(PLENTY, PAGES);
    aq_firehose_region_t *first = pin(10, 3, true);
    assert_pages(first, 10, 13);
    aq_firehose_region_t *again = NULL;
    // A request for any part of the region hits, even one that starts inside a page.
    assert_int_equal(aq_firehose_pin(firehose, (void *)(at(11) + 100), 5000, true, &again), AQ_OK);
    assert_ptr_equal(again, first);
    assert_int_equal(memory.registered, 1);
    aq_firehose_release(first);
    aq_firehose_release(again);
    assert_int_equal(memory.now.regions, 1);
    assert_int_equal(stats().misses, 1);
    pin_once(12, 1);
    assert_int_equal(memory.registered, 1);
    tear_down();
}

static void test_parts_of_pages(void **state)
{
    (void)state;
    aq_firehose_region_t *region;
    start(PLENTY, PAGES);
    assert_int_equal(aq_firehose_pin(firehose, (void *)(at(5) + 4095), 2, false, &region), AQ_OK);
    assert_pages(region, 5, 7);
    aq_firehose_release(region);
    tear_down();
}

static void test_long(void **state)
{
    (void)state;
    start(PLENTY, PAGES);
    aq_firehose_region_t *region = pin(20, 3 * REGION_PAGES, true);
    assert_pages(region, 20, 20 + REGION_PAGES);
    // A region of the longest length serves the beginning of a longer request without another pin.
    aq_firehose_region_t *same = pin(21, 3 * REGION_PAGES, true);
    assert_ptr_equal(same, region);
    assert_int_equal(stats().misses, 1);
    aq_firehose_release(region);
    aq_firehose_release(same);
    // A length beyond the end of the address space is served by one region too.
    assert_int_equal(aq_firehose_pin(firehose, (void *)at(100), SIZE_MAX - 5, true, &region),
                     AQ_OK);
    assert_pages(region, 100, 100 + REGION_PAGES);
    aq_firehose_release(region);
    tear_down();
}

// ---- growth ----

static void test_grows(void **state)
{
    (void)state;
    start(PLENTY, PAGES);
    pin_once(10, 2);
    pin_once(11, 3); // begins inside the first region
    assert_pinned_as(10, 4, 10, 14);
    assert_int_equal(memory.now.regions, 1);
    tear_down();
}

static void test_merges_neighbours(void **state)
{
    (void)state;
    start(PLENTY, PAGES);
    pin_once(10, 1);
    pin_once(12, 1);
    pin_once(14, 2);
    aq_firehose_region_t *region = pin(9, 6, true); // covers two regions and a part of the third
    assert_pages(region, 9, 16);
    assert_int_equal(memory.now.regions, 1);
    aq_firehose_release(region);
    tear_down();
}

static void test_neighbours(void **state)
{
    (void)state;
    start(PLENTY, PAGES);
    pin_once(10, 1);
    pin_once(11, 1);
    assert_int_equal(memory.now.regions, 1);
    pin_once(12, 1); // does not merge: the neighbour is longer
    assert_int_equal(memory.now.regions, 2);
    pin_once(13, 1);
    assert_int_equal(memory.now.regions, 1);
    assert_pinned_as(10, 1, 10, 14);
    tear_down();
}

// When pages are pinned one after the other, a page is pinned again only when its region doubles.
static void test_growth_is_cheap(void **state)
{
    (void)state;
    start(PLENTY, PAGES);
    for (uint32_t page = 0; page < PAGES; page++)
        pin_once(page, 1);
    assert_int_equal(memory.now.regions, PAGES / REGION_PAGES);
    assert_int_equal(memory.registered, PAGES);
    uint64_t pinned = 0;
    for (uint32_t i = 1; i <= memory.registered; i++)
        pinned += (memory.registrations[i].end - memory.registrations[i].start) / FAKE_PAGE;
    assert_int_equal(pinned, PAGES * (2 + 4) / 2); // log2(16) = 4
    tear_down();
}

static void test_no_growth_in_use(void **state)
{
    (void)state;
    start(PLENTY, PAGES);
    aq_firehose_region_t *used = pin(10, 2, true);
    aq_firehose_region_t *head = pin(11, 3, true);
    assert_ptr_equal(head, used); // covers the beginning of the request only
    aq_firehose_region_t *before = pin(8, 4, true);
    assert_pages(before, 8, 10);
    aq_firehose_region_t *behind = pin(12, 2, true);
    assert_pages(behind, 12, 14);
    aq_firehose_release(used);
    aq_firehose_release(head);
    aq_firehose_release(before);
    aq_firehose_release(behind);
    tear_down();
}

static void test_unmapped_neighbours(void **state)
{
    (void)state;
    start(PLENTY, PAGES);
    pin_once(10, 1);
    memory.access[10] = FAKE_NONE; // unmapped without an invalidation
    aq_firehose_region_t *region = pin(11, 1, true);
    assert_pages(region, 11, 12);
    aq_firehose_release(region);
    assert_int_equal(try_pin(10, 2, true, &region), AQ_ERR_ARG);
    assert_int_equal(try_pin(10, 2, false, &region), AQ_ERR_ARG);
    tear_down();
}

// ---- access ----

static void test_read_only(void **state)
{
    (void)state;
    aq_firehose_region_t *region;
    start(PLENTY, PAGES);
    memory.access[10] = FAKE_READ;
    memory.access[11] = FAKE_READ;
    assert_int_equal(try_pin(10, 2, true, &region), AQ_ERR_ARG);
    region = pin(10, 2, false);
    assert_false(region->writable);
    // Once the pages are writable, a write gets a new registration although the old one is in use.
    memory.access[10] = FAKE_WRITE;
    memory.access[11] = FAKE_WRITE;
    aq_firehose_region_t *writable = pin(10, 2, true);
    assert_ptr_not_equal(writable, region);
    assert_int_equal(memory.now.regions, 2);
    fake_memory_use(&memory, region->key.remote, at(10), 100, false);
    aq_firehose_release(region);
    assert_int_equal(memory.now.regions, 1);
    aq_firehose_release(writable);
    tear_down();
}

static void test_readers_share(void **state)
{
    (void)state;
    start(PLENTY, PAGES);
    aq_firehose_region_t *writer = pin(10, 2, true);
    aq_firehose_region_t *reader = pin(10, 2, false);
    assert_ptr_equal(reader, writer);
    aq_firehose_release(writer);
    aq_firehose_release(reader);
    tear_down();
}

// ---- eviction ----

static void test_evicts_oldest(void **state)
{
    (void)state;
    start(3, PAGES);
    pin_once(0, 1);
    pin_once(20, 1);
    pin_once(40, 1);
    pin_once(0, 1); // used again
    pin_once(60, 1);
    assert_int_equal(memory.pins[0], 1);
    assert_int_equal(memory.pins[20], 0);
    assert_int_equal(memory.pins[40], 1);
    assert_int_equal(stats().evictions, 1);
    tear_down();
}

static void test_evicts_nothing_in_use(void **state)
{
    (void)state;
    aq_firehose_region_t *region;
    start(2, PAGES);
    aq_firehose_region_t *one = pin(0, 1, true);
    aq_firehose_region_t *two = pin(20, 1, true);
    assert_int_equal(try_pin(40, 1, true, &region), AQ_AGAIN);
    aq_firehose_release(one);
    aq_firehose_region_t *three = pin(40, 1, true);
    assert_int_equal(memory.pins[0], 0);
    aq_firehose_release(two);
    aq_firehose_release(three);
    tear_down();
}

static void test_bytes(void **state)
{
    (void)state;
    start(PLENTY, 4);
    pin_once(0, 3);
    aq_firehose_region_t *region = pin(20, 2, true); // the first one is evicted
    assert_int_equal(memory.now.bytes, 2 * FAKE_PAGE);
    aq_firehose_region_t *less = pin(40, 3, true); // cut to the pages that the limit leaves
    assert_pages(less, 40, 42);
    aq_firehose_release(region);
    aq_firehose_release(less);
    region = pin(60, 8, true); // more pages than the limit
    assert_pages(region, 60, 64);
    aq_firehose_release(region);
    tear_down();
}

static void test_no_memory_allowed(void **state)
{
    (void)state;
    aq_firehose_region_t *region;
    start(0, 0);
    assert_int_equal(try_pin(0, 1, true, &region), AQ_ERR_ABSENT);
    tear_down();
}

// ---- invalidation ----

static aq_status_t invalidate(uint32_t page, uint32_t pages)
{
    return aq_firehose_invalidate(firehose, (void *)at(page), (size_t)pages * FAKE_PAGE);
}

static void test_invalidate(void **state)
{
    (void)state;
    start(PLENTY, PAGES);
    pin_once(0, 3);
    pin_once(10, 3);
    pin_once(90, 3); // in another block
    assert_int_equal(invalidate(11, 80), AQ_OK);
    assert_int_equal(memory.now.regions, 1);
    assert_int_equal(memory.pins[0], 1);
    assert_int_equal(invalidate(50, 10), AQ_OK); // nothing is pinned there
    tear_down();
}

static void test_invalidate_in_use(void **state)
{
    (void)state;
    start(PLENTY, PAGES);
    aq_firehose_region_t *old = pin(10, 2, true);
    assert_int_equal(invalidate(11, 1), AQ_AGAIN);
    aq_firehose_region_t *fresh = pin(10, 1, true);
    assert_ptr_not_equal(fresh, old);
    fake_memory_use(&memory, old->key.remote, at(10), 100, true);
    aq_firehose_release(old);
    assert_int_equal(memory.now.regions, 1);
    aq_firehose_release(fresh);
    assert_int_equal(invalidate(10, 2), AQ_OK);
    assert_int_equal(memory.now.regions, 0);
    tear_down();
}

// ---- limits of the machine ----

// Stores what a function writes to standard error.
static void capture_stderr(void (*body)(void), char *text, size_t size)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    body();
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void meet_limit(void)
{
    for (uint32_t page = 0; page < PAGES; page += 20)
        pin_once(page, 3);
}

static void test_limits(void **state)
{
    (void)state;
    static const struct {
        aq_firehose_pinned_t limit;
        const char *name, *remedy;
    } cases[] = {
        {AQ_FIREHOSE_MEMLOCK, "RLIMIT_MEMLOCK", "ulimit -l"},
        {AQ_FIREHOSE_CGROUP, "control group", "GASNET_PHYSMEM_MAX"},
        {AQ_FIREHOSE_DEVICE, "network device", "GASNET_PINNED_REGIONS_MAX"},
    };
    char text[4096];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start(PLENTY, PAGES);
        memory.limit = cases[i].limit;
        if (memory.limit == AQ_FIREHOSE_DEVICE)
            memory.most.regions = 3;
        else
            memory.most.bytes = 10 * FAKE_PAGE;
        capture_stderr(meet_limit, text, sizeof text);
        assert_non_null(strstr(text, cases[i].name));
        assert_non_null(strstr(text, cases[i].remedy));
        assert_ptr_equal(strchr(text, '\n'), strrchr(text, '\n')); // one line only
        assert_int_equal(memory.now.regions, 3);
        // From now on the cache must stay below the limit. Past that limit, the fake device would
        // report success without pinning.
        memory.limit = AQ_FIREHOSE_PINNED;
        meet_limit();
        assert_int_equal(memory.now.regions, 3);
        tear_down();
    }
}

static void meet_limit_twice(void)
{
    meet_limit();
    memory.most.bytes = 6 * FAKE_PAGE;
    meet_limit();
}

static void test_limit_logged_once(void **state)
{
    (void)state;
    char text[4096];
    start(PLENTY, PAGES);
    memory.limit = AQ_FIREHOSE_MEMLOCK;
    memory.most.bytes = 10 * FAKE_PAGE;
    capture_stderr(meet_limit_twice, text, sizeof text);
    assert_int_equal(memory.now.regions, 2);
    assert_ptr_equal(strchr(text, '\n'), strrchr(text, '\n'));
    tear_down();
}

static void pin_much(void)
{
    aq_firehose_region_t *region = pin(30, 10, true);
    assert_pages(region, 30, 35); // half of the pages
    aq_firehose_release(region);
}

static void test_limit_cuts(void **state)
{
    (void)state;
    char text[4096];
    start(PLENTY, PAGES);
    memory.most.bytes = 7 * FAKE_PAGE;
    memory.limit = AQ_FIREHOSE_MEMLOCK;
    capture_stderr(pin_much, text, sizeof text);
    assert_non_null(strstr(text, "20 KiB"));
    tear_down();
}

static void pin_in_vain(void)
{
    aq_firehose_region_t *region;
    assert_int_equal(try_pin(0, 4, true, &region), AQ_ERR_RESOURCE);
    assert_int_equal(try_pin(0, 4, true, &region), AQ_ERR_ABSENT);
}

static void test_limit_of_nothing(void **state)
{
    (void)state;
    char text[4096];
    start(PLENTY, PAGES);
    memory.most.bytes = 0;
    memory.limit = AQ_FIREHOSE_CGROUP;
    capture_stderr(pin_in_vain, text, sizeof text);
    assert_non_null(strstr(text, "memory.max"));
    tear_down();
}

// ---- comparison with a model ----

enum { OPERATIONS = 1000000, HOLDERS = 6, MODEL_REGIONS = 10, MODEL_PAGES = 60 };

typedef struct holder {
    aq_firehose_region_t *region; // NULL: holds nothing
    uint32_t page, pages;         // pages of the region that the holder uses
    bool write;
} holder_t;

// The model: memory.owner has for each page the registration that must serve a request. The fake
// pinner records registrations there; the tests remove those that the cache forgets.
static holder_t holders[HOLDERS];
static uint64_t seed;

static uint32_t random_below(uint32_t below)
{
    return fake_random(&seed, below);
}

// Returns the registration that covers all of the pages with this access, or 0 if there is none.
static uint32_t expected_registration(uint32_t page, uint32_t pages, bool write)
{
    uint32_t id = memory.owner[page];
    for (uint32_t i = page; i < page + pages; i++)
        if (memory.owner[i] != id)
            return 0;
    return id && write && !memory.registrations[id].writable ? 0 : id;
}

// Removes a registration from the model: the cache forgets it, though it may still be in use.
static void forget_registration(uint32_t id)
{
    for (uint32_t i = 0; i < PAGES; i++)
        if (memory.owner[i] == id)
            memory.owner[i] = 0;
}

static bool is_allowed(uint32_t page, uint32_t pages, bool write)
{
    for (uint32_t i = page; i < page + pages; i++)
        if (memory.access[i] < (write ? FAKE_WRITE : FAKE_READ))
            return false;
    return true;
}

static aq_firehose_amount_t held_amount(void)
{
    aq_firehose_amount_t amount = {0, 0};
    for (int i = 0; i < HOLDERS; i++) {
        bool counted = !holders[i].region;
        for (int j = 0; j < i; j++)
            counted = counted || holders[j].region == holders[i].region;
        if (!counted) {
            amount.regions++;
            amount.bytes += aq_firehose_map_bytes(holders[i].region);
        }
    }
    return amount;
}

// AQ_AGAIN is correct only if all pinned memory is in use and a limit is reached.
static void check_full(void)
{
    aq_firehose_amount_t used = held_amount();
    assert_int_equal(used.regions, memory.now.regions);
    assert_int_equal(used.bytes, memory.now.bytes);
    assert_true(used.regions == MODEL_REGIONS || used.bytes == MODEL_PAGES * FAKE_PAGE);
}

static void pin_random(holder_t *holder)
{
    aq_firehose_region_t *region = NULL;
    uint32_t page = random_below(PAGES - 24);
    uint32_t pages = 1 + random_below(random_below(4) ? 4 : 24);
    bool write = random_below(2);
    uint32_t hit = expected_registration(page, pages, write), before = memory.registered;
    uint32_t old = memory.owner[page];
    aq_status_t status = try_pin(page, pages, write, &region);
    if (write && !memory.registrations[old].writable)
        forget_registration(old);
    if (hit) {
        assert_int_equal(status, AQ_OK);
        assert_int_equal(memory.registered, before);
        assert_int_equal(region->key.remote, hit);
    }
    if (status == AQ_AGAIN)
        check_full();
    else if (status != AQ_OK)
        assert_false(status != AQ_ERR_ARG || is_allowed(page, pages, write));
    if (status != AQ_OK)
        return;
    pages =
        (uint32_t)(aq_firehose_covered(region, at(page), (size_t)pages * FAKE_PAGE) / FAKE_PAGE);
    assert_between(pages, 1, REGION_PAGES);
    assert_int_equal(region->key.remote, memory.owner[page]);
    *holder = (holder_t){region, page, pages, write};
}

static void release_holder(holder_t *holder)
{
    fake_memory_use(&memory, holder->region->key.remote, at(holder->page),
                    (size_t)holder->pages * FAKE_PAGE, holder->write);
    aq_firehose_release(holder->region);
    holder->region = NULL;
}

static bool is_used(uint32_t page, uint32_t pages)
{
    for (int i = 0; i < HOLDERS; i++)
        if (holders[i].region && holders[i].region->start < at(page + pages) &&
            at(page) < holders[i].region->end)
            return true;
    return false;
}

// Unmaps random pages and maps them again with another access, unless they are in use.
static void change_mapping(void)
{
    uint32_t page = random_below(PAGES - 24), pages = 1 + random_below(24);
    bool used = is_used(page, pages);
    assert_int_equal(invalidate(page, pages), used ? AQ_AGAIN : AQ_OK);
    for (uint32_t i = page; i < page + pages; i++)
        forget_registration(memory.owner[i]);
    if (used)
        return;
    fake_access_t access = (fake_access_t)(random_below(4) ? FAKE_WRITE : random_below(2));
    for (uint32_t i = page; i < page + pages; i++) {
        assert_int_equal(memory.pins[i], 0);
        memory.access[i] = access;
    }
}

static void check_limits(void)
{
    assert_true(memory.now.regions <= MODEL_REGIONS);
    assert_true(memory.now.bytes <= MODEL_PAGES * FAKE_PAGE);
}

static void test_model(void **state)
{
    (void)state;
    seed = 88172645463325252u;
    start_with(MODEL_REGIONS, MODEL_PAGES, 2 * OPERATIONS);
    for (int i = 0; i < OPERATIONS; i++) {
        holder_t *holder = &holders[random_below(HOLDERS)];
        if (random_below(50) == 0)
            change_mapping();
        else if (holder->region)
            release_holder(holder);
        else
            pin_random(holder);
        check_limits();
    }
    for (int i = 0; i < HOLDERS; i++)
        if (holders[i].region)
            release_holder(&holders[i]);
    aq_firehose_stats_t done = stats();
    assert_true(done.evictions > OPERATIONS / 100);
    assert_true(done.merged > OPERATIONS / 100);
    assert_true(done.misses < OPERATIONS / 2 && done.misses > OPERATIONS / 10);
    tear_down();
}

// ---- threads ----

enum { THREADS = 4, THREAD_TURNS = 20000 };

static void *use_often(void *arg)
{
    uint64_t own = 12345 + (uintptr_t)arg;
    for (int i = 0; i < THREAD_TURNS; i++) {
        aq_firehose_region_t *region;
        uint32_t page = fake_random(&own, 60), pages = 1 + fake_random(&own, 3);
        if (fake_random(&own, 200) == 0)
            invalidate(page, pages);
        if (try_pin(page, pages, true, &region) != AQ_OK)
            continue;
        size_t covered = aq_firehose_covered(region, at(page), (size_t)pages * FAKE_PAGE);
        for (int j = 0; j < 3; j++)
            fake_memory_use(&memory, region->key.remote, at(page), covered, true);
        aq_firehose_release(region);
    }
    return NULL;
}

// The limit is a little lower than needed, so that hits, misses and evictions mix.
static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    start_with(8, PAGES, THREADS * THREAD_TURNS);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_often, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(memory.now.regions <= 8);
    assert_true(stats().evictions > 0);
    while (invalidate(0, PAGES) != AQ_OK)
        ;
    assert_int_equal(memory.now.regions, 0); // the threads have released all regions
    tear_down();
}

#ifdef __SANITIZE_THREAD__
enum { RECYCLED = 100000 };
#else
enum { RECYCLED = 2000000 }; // a race shows about once in a few million turns
#endif

// With one region at most, threads pin three places in turn, so that one record describes another
// region again and again while another thread reads that record.
static void *recycle(void *arg)
{
    uint64_t own = 999 + (uintptr_t)arg;
    for (int i = 0; i < RECYCLED; i++) {
        aq_firehose_region_t *region;
        uint32_t page = 20 * fake_random(&own, 3);
        if (try_pin(page, 1, true, &region) != AQ_OK)
            continue;
        fake_memory_use(&memory, region->key.remote, at(page), FAKE_PAGE, true);
        aq_firehose_release(region);
    }
    return NULL;
}

static void test_recycled(void **state)
{
    (void)state;
    pthread_t threads[2];
    start_with(1, PAGES, 2 * RECYCLED);
    for (uintptr_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, recycle, (void *)i), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    tear_down();
}

// ---- settings ----

static void read_params(const aq_firehose_limits_t *limits, aq_firehose_params_t *params)
{
    char err[512];
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    aq_firehose_params_read(limits, params);
}

#define MB (UINT64_C(1) << 20)

static void test_params(void **state)
{
    (void)state;
    aq_firehose_limits_t limits = {.bytes = 1024 * MB, .regions = 100000, .peers = 7};
    aq_firehose_params_t params;
    read_params(&limits, &params);
    assert_int_equal(params.main.bytes, 768 * MB);
    assert_int_equal(params.victim.bytes, 256 * MB);
    assert_int_equal(params.region_bytes, 128 << 10);
    assert_int_equal(params.main.regions, 768 * 8);
    assert_int_equal(params.victim.regions, 256 * 8);
    assert_int_equal(params.per_peer, 768 * 8 / 7);
    assert_int_equal(params.put_in_move, 3072);
    limits.regions = 1000; // limit of the device: the pools share it as they share the memory
    read_params(&limits, &params);
    assert_int_equal(params.main.regions, 750);
    assert_int_equal(params.victim.regions, 250);
    limits.segment_pinned = true;
    read_params(&limits, &params);
    assert_int_equal(params.main.bytes, 0);
    assert_int_equal(params.main.regions, 0);
    assert_int_equal(params.victim.bytes, 1024 * MB);
    limits.buffer_bytes = 5 * MB; // with FAST the main pool is as large as the conduit's buffers
    read_params(&limits, &params);
    assert_int_equal(params.main.bytes, 5 * MB);
    assert_int_equal(params.victim.bytes, 1019 * MB);
    limits.bytes = 4 * MB; // and leaves something for the victim pool
    read_params(&limits, &params);
    assert_int_equal(params.main.bytes, 3 * MB);
    assert_int_equal(params.victim.bytes, MB);
}

static void test_params_given(void **state)
{
    (void)state;
    aq_firehose_limits_t limits = {.bytes = 1024 * MB, .regions = 100000, .peers = 3};
    aq_firehose_params_t params;
    setenv("GASNET_FIREHOSE_M", "100", 1); // MB
    setenv("GASNET_FIREHOSE_MAXREGION_SIZE", "1M", 1);
    setenv("GASNET_FIREHOSE_R", "500", 1);
    setenv("GASNET_FIREHOSE_MAXVICTIM_R", "9", 1);
    read_params(&limits, &params);
    assert_int_equal(params.main.bytes, 100 * MB);
    assert_int_equal(params.victim.bytes, 924 * MB);
    assert_int_equal(params.main.regions, 100); // as many as fill the pool at full length
    assert_int_equal(params.victim.regions, 9);
    assert_int_equal(params.per_peer, 33);
    setenv("GASNET_FIREHOSE_MAXREGION_SIZE", "0", 1);
    limits.regions = 512;
    read_params(&limits, &params);
    assert_int_equal(params.region_bytes, 2 * MB);
    unsetenv("GASNET_FIREHOSE_M");
    setenv("GASNET_FIREHOSE_MAXVICTIM_M", "24M", 1);
    for (limits.segment_pinned = false;; limits.segment_pinned = true) {
        read_params(&limits, &params);
        assert_int_equal(params.main.bytes, 1000 * MB);
        assert_int_equal(params.victim.bytes, 24 * MB);
        if (limits.segment_pinned)
            break;
    }
}

// With 64 KiB of locked memory, regions are so short that several fit.
static void test_params_small(void **state)
{
    (void)state;
    aq_firehose_limits_t limits = {.bytes = 64 << 10, .regions = 100000, .peers = 1};
    aq_firehose_params_t params;
    read_params(&limits, &params);
    assert_int_equal(params.region_bytes, 4096);
    assert_int_equal(params.main.regions, 12);
    assert_int_equal(params.victim.regions, 4);
}

static void read_bad_params(void)
{
    aq_firehose_limits_t limits = {.bytes = 64 * MB, .regions = 100000, .peers = 7};
    aq_firehose_params_t params;
    setenv("GASNET_FIREHOSE_M", "60", 1);
    setenv("GASNET_FIREHOSE_MAXVICTIM_M", "40", 1);
    setenv("GASNET_FIREHOSE_R", "6", 1);
    read_params(&limits, &params);
    assert_int_equal(params.per_peer, 0);
}

static void test_params_bad(void **state)
{
    (void)state;
    char text[4096];
    capture_stderr(read_bad_params, text, sizeof text);
    assert_non_null(strstr(text, "are 100 MB together, and this process may pin 64 MB"));
    assert_non_null(strstr(text, "6 regions for 7 processes"));
}

static void test_params_off(void **state)
{
    (void)state;
    aq_firehose_limits_t limits = {.bytes = MB, .regions = 100, .peers = 1, .segment_pinned = true};
    aq_firehose_params_t params;
    setenv("GASNET_USE_FIREHOSE", "0", 1);
    read_params(&limits, &params);
    assert_int_equal(params.victim.regions, 0);
    limits.segment_pinned = false;
    read_params(&limits, &params);
    assert_int_equal(params.main.regions, 0);
    assert_int_equal(params.per_peer, 0);
}

static void test_pinnable(void **state)
{
    (void)state;
    char err[512];
    setenv("GASNET_PHYSMEM_MAX", "64M", 1);
    setenv("GASNET_MAXIMIZE_MEMLOCK", "1", 1);
    setenv("GASNET_PINNED_REGIONS_MAX", "1/4", 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_true(aq_firehose_pinnable(1) <= 64 * MB);
    assert_true(aq_firehose_pinnable(4) <= 16 * MB);
    assert_true(aq_firehose_pinnable(4) > 0);
    assert_int_equal(aq_firehose_pinnable(3) % 4096, 0);
    assert_int_equal(aq_firehose_regions(8000, 2), 1000);
    setenv("GASNET_PINNED_REGIONS_MAX", "100", 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_int_equal(aq_firehose_regions(8000, 2), 50);
    setenv("GASNET_PINNED_REGIONS_MAX", "0", 1);
    setenv("GASNET_PHYSMEM_MAX", "0.5", 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_int_equal(aq_firehose_regions(8000, 2), 2000);
}

#ifndef AQ_SANITIZER // sanitizers replace malloc
// A large block that was freed stays mapped. The test runs in a child, since the options of malloc
// stay set.
static void test_keep(void **state)
{
    (void)state;
    enum { LARGE = 64 << 20 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char err[512];
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_true(aq_firehose_memory_stays());
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        aq_firehose_memory_keep();
        char *volatile block = malloc(LARGE);
        if (block == NULL)
            _exit(2);
        uintptr_t first = ((uintptr_t)block + page) & ~(uintptr_t)(page - 1);
        unsigned char resident[16];
        memset(block, 1, LARGE);
        free(block);
        int failed = mincore((void *)first, sizeof resident * page, resident);
        _exit(failed == 0 && resident[0] & resident[15] & 1 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}
#endif

// Runs without privileges and with 64 KiB of locked memory. Returns 0, or the number of the check
// that fails.
static int run_limited(void)
{
    const struct rlimit limit = {64 << 10, 64 << 10};
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return 1;
    (void)!setresuid(1, 1, 1); // root is privileged, but in a user namespace without other users
    if (aq_firehose_why(ENOMEM, 128 << 10) != AQ_FIREHOSE_MEMLOCK)
        return 2;
    if (aq_firehose_why(ENOMEM, 4096) != AQ_FIREHOSE_DEVICE)
        return 3;
    return aq_firehose_pinnable(1) == 64 << 10 ? 0 : 4;
}

static void test_why(void **state)
{
    (void)state;
    int code;
    assert_int_equal(aq_firehose_why(EFAULT, 4096), AQ_FIREHOSE_NO_ACCESS);
    pid_t child = fork();
    if (child == 0)
        _exit(run_limited());
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    // More memory than the host has. If the process may not lock that much, that limit is the
    // reason instead.
    aq_firehose_pinned_t why = aq_firehose_why(ENOMEM, UINT64_C(1) << 60);
    assert_true(why == AQ_FIREHOSE_CGROUP || why == AQ_FIREHOSE_MEMLOCK);
}

static int clear_environment(void **state)
{
    (void)state;
    static const char *const names[] = {"FIREHOSE_M",           "FIREHOSE_R",
                                        "FIREHOSE_MAXVICTIM_M", "FIREHOSE_MAXVICTIM_R",
                                        "USE_FIREHOSE",         "FIREHOSE_MAXREGION_SIZE",
                                        "PHYSMEM_MAX",          "PINNED_REGIONS_MAX"};
    char name[64];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(name, sizeof name, "GASNET_%s", names[i]);
        unsetenv(name);
    }
    return 0;
}

#define CLEAN(test) cmocka_unit_test_setup_teardown(test, clear_environment, clear_environment)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hit),
        cmocka_unit_test(test_parts_of_pages),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_merges_neighbours),
        cmocka_unit_test(test_neighbours),
        cmocka_unit_test(test_growth_is_cheap),
        cmocka_unit_test(test_no_growth_in_use),
        cmocka_unit_test(test_unmapped_neighbours),
        cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_readers_share),
        cmocka_unit_test(test_evicts_oldest),
        cmocka_unit_test(test_evicts_nothing_in_use),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_no_memory_allowed),
        cmocka_unit_test(test_invalidate),
        cmocka_unit_test(test_invalidate_in_use),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_limit_logged_once),
        cmocka_unit_test(test_limit_cuts),
        cmocka_unit_test(test_limit_of_nothing),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_recycled),
        CLEAN(test_params),
        CLEAN(test_params_given),
        CLEAN(test_params_small),
        CLEAN(test_params_bad),
        CLEAN(test_params_off),
        CLEAN(test_pinnable),
        CLEAN(test_why),
#ifndef AQ_SANITIZER
        CLEAN(test_keep),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
