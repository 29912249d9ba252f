// SPDX-License-Identifier: BSD-3-Clause
// Events: the pool of records, the parts of a record, arrays of events, and access regions of
// implicit operations.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "../../../core/thread/event.h"
#include "../../../core/gasnetex_core.h"
#include "../../../core/state/job.h"
#include "../../../core/progress/progress.h"
#include "../../../core/thread/thread.h"
#include "../../unit/assert_between.h"

static const struct {
    gex_EC_t category;
    aq_part_t part;
} leaves[] = {{GEX_EC_GET, AQ_PART_GET},
              {GEX_EC_PUT, AQ_PART_PUT},
              {GEX_EC_AM, AQ_PART_AM},
              {GEX_EC_LC, AQ_PART_LC},
              {GEX_EC_RMW, AQ_PART_RMW}};
enum { LEAVES = sizeof leaves / sizeof leaves[0] };

static void part_begin(aq_event_t *record, aq_part_t part)
{
    aq_event_begin(aq_event_part(record, part));
}

static void part_end(aq_event_t *record, aq_part_t part)
{
    aq_event_end(aq_event_part(record, part));
}

static gex_Event_t root_of(aq_event_t *record)
{
    return aq_event_part(record, AQ_PART_ROOT);
}

// ---- a job of one process, whose polls end the parts that a test has scheduled ----

static struct {
    gex_Event_t part;
    unsigned polls; // polls left until the part ends
} countdowns[4];

static bool end_later(aq_task_t *task)
{
    (void)task;
    bool any = false;
    for (unsigned i = 0; i < 4; i++) {
        if (!countdowns[i].part || --countdowns[i].polls)
            continue;
        aq_event_end(countdowns[i].part);
        countdowns[i].part = NULL;
        any = true;
    }
    return any;
}

static void end_after(unsigned place, aq_event_t *record, aq_part_t part, unsigned polls)
{
    countdowns[place].polls = polls;
    countdowns[place].part = aq_event_part(record, part);
}

static int start_job(void **state)
{
    (void)state;
    static _Atomic int32_t exit_word = AQ_BOOT_RUNNING;
    static aq_boot_t boot = {.size = 1, .exit_word = &exit_word};
    static aq_task_t task = {.turn = end_later};
    aq_job.boot = &boot;
    aq_job.size = 1;
    aq_progress_add(&task);
    aq_progress_busy(&task, 1);
    return 0;
}

// ---- the pool ----

static void test_pool(void **state)
{
    (void)state;
    enum { MANY = 300 };
    aq_event_t *records[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        records[i] = aq_event_new();
        assert_true(aq_event_idle(records[i], ~0u));
        for (uint32_t p = 0; p < AQ_PART_COUNT; p++)
            assert_int_equal(records[i]->part[p].index, p);
        for (unsigned j = 0; j < i; j++)
            assert_ptr_not_equal(records[i], records[j]);
    }
    for (unsigned i = 0; i < MANY; i++)
        aq_event_free(records[i]);
    aq_event_t *again = aq_event_new(); // the record freed last is reused first: it is in the cache
    assert_ptr_equal(again, records[MANY - 1]);
    aq_event_free(again);
}

enum { BATCH = 64 }; // records that move between a thread and the shared pool at a time

static void take_records(aq_event_t **records, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        records[i] = aq_event_new();
}

static void free_records(aq_event_t **records, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        aq_event_free(records[i]);
}

static void *take_others(void *mine)
{
    aq_event_t *records[4 * BATCH];
    void *found = NULL;
    take_records(records, 4 * BATCH);
    for (unsigned i = 0; i < 4 * BATCH; i++)
        found = records[i] == mine ? mine : found;
    free_records(records, 4 * BATCH);
    return found;
}

// A thread keeps the records that it freed last: another thread does not get them.
static void test_own_records(void **state)
{
    (void)state;
    pthread_t thread;
    void *found;
    aq_event_t *mine = aq_event_new();
    aq_event_free(mine);
    aq_threads = true;
    assert_int_equal(pthread_create(&thread, NULL, take_others, mine), 0);
    pthread_join(thread, &found);
    aq_threads = false;
    assert_null(found);
    assert_ptr_equal(aq_event_new(), mine);
    aq_event_free(mine);
}

enum { PASSED = 5 * BATCH, PASSES = 100 };
static aq_event_t *passed[PASSED];

static void *free_passed(void *unused)
{
    (void)unused;
    free_records(passed, PASSED);
    return NULL;
}

static void *take_passed(void *unused)
{
    (void)unused;
    take_records(passed, PASSED);
    return NULL;
}

// Counts the records that the pool has made, as seen in `passed`.
static unsigned add_seen(aq_event_t **seen, unsigned count)
{
    for (unsigned i = 0; i < PASSED; i++) {
        unsigned at = 0;
        while (at < count && seen[at] != passed[i])
            at++;
        if (at == count)
            seen[count++] = passed[i];
    }
    return count;
}

// Other threads take what this thread frees and free what it takes, and end. They give back all
// records, so that the pool does not grow after the first rounds.
static void test_pass_records(void **state)
{
    (void)state;
    enum { MOST = PASSED + 6 * BATCH }; // in use, and kept by two threads
    static aq_event_t *seen[MOST + PASSED];
    unsigned count = 0;
    aq_threads = true;
    for (unsigned i = 0; i < PASSES && count <= MOST; i++) {
        pthread_t thread;
        take_records(passed, PASSED);
        count = add_seen(seen, count);
        assert_int_equal(pthread_create(&thread, NULL, i % 2 ? free_passed : take_others, NULL), 0);
        pthread_join(thread, NULL);
        if (i % 2)
            continue;
        free_records(passed, PASSED);
        assert_int_equal(pthread_create(&thread, NULL, take_passed, NULL), 0);
        pthread_join(thread, NULL);
        free_records(passed, PASSED);
    }
    aq_threads = false;
    assert_between(count, PASSED, MOST);
}

static void test_idle(void **state)
{
    (void)state;
    aq_event_t *record = aq_event_new();
    for (unsigned p = AQ_PART_GET; p < AQ_PART_COUNT; p++) {
        part_begin(record, (aq_part_t)p);
        part_begin(record, (aq_part_t)p);
        assert_false(aq_event_idle(record, ~0u));
        assert_false(aq_event_idle(record, 1u << p));
        assert_true(aq_event_idle(record, ~(1u << p)));
        part_end(record, (aq_part_t)p);
        assert_false(aq_event_idle(record, 1u << p));
        part_end(record, (aq_part_t)p);
        assert_true(aq_event_idle(record, ~0u));
    }
    aq_event_free(record);
}

static void test_masks(void **state)
{
    (void)state;
    unsigned all = 0;
    for (unsigned i = 0; i < LEAVES; i++) {
        assert_int_equal(aq_event_parts_of(leaves[i].category), 1u << leaves[i].part);
        all |= 1u << leaves[i].part;
    }
    assert_int_equal(aq_event_parts_of(0), 0);
    assert_int_equal(aq_event_parts_of(GEX_EC_ALL), all);
    assert_int_equal(aq_event_parts_of(GEX_EC_GET | GEX_EC_RMW),
                     1u << AQ_PART_GET | 1u << AQ_PART_RMW);
}

// ---- one event ----

// A root event waits for every part, and its record returns to the pool once the event was
// synchronized.
static void test_root(void **state)
{
    (void)state;
    for (unsigned p = AQ_PART_GET; p < AQ_PART_COUNT; p++) {
        aq_event_t *record = aq_event_new();
        part_begin(record, (aq_part_t)p);
        assert_int_equal(gex_Event_Test(root_of(record)), GASNET_ERR_NOT_READY);
        aq_event_t *other = aq_event_new();
        assert_ptr_not_equal(other, record);
        aq_event_free(other);
        part_end(record, (aq_part_t)p);
        assert_int_equal(gex_Event_Test(root_of(record)), GASNET_OK);
        other = aq_event_new();
        assert_ptr_equal(other, record);
        aq_event_free(other);
    }
    assert_int_equal(gex_Event_Test(GEX_EVENT_INVALID), GASNET_OK);
    gex_Event_Wait(GEX_EVENT_INVALID);
}

// A leaf event waits for its own part only, and does not free the record.
static void test_leaf(void **state)
{
    (void)state;
    aq_event_t *record = aq_event_new();
    for (unsigned i = 0; i < LEAVES; i++) {
        gex_Event_t leaf = gex_Event_QueryLeaf(root_of(record), leaves[i].category);
        assert_ptr_equal(leaf, aq_event_part(record, leaves[i].part));
        part_begin(record, leaves[(i + 1) % LEAVES].part);
        assert_int_equal(gex_Event_Test(leaf), GASNET_OK);
        part_begin(record, leaves[i].part);
        assert_int_equal(gex_Event_Test(leaf), GASNET_ERR_NOT_READY);
        end_after(0, record, leaves[i].part, 3);
        gex_Event_Wait(leaf);
        assert_null(countdowns[0].part);
        part_end(record, leaves[(i + 1) % LEAVES].part);
        aq_event_t *other = aq_event_new();
        assert_ptr_not_equal(other, record);
        aq_event_free(other);
    }
    gex_Event_Wait(root_of(record));
    assert_ptr_equal(gex_Event_QueryLeaf(GEX_EVENT_INVALID, GEX_EC_LC), GEX_EVENT_INVALID);
}

// ---- arrays ----

static void test_some(void **state)
{
    (void)state;
    aq_event_t *a = aq_event_new(), *b = aq_event_new();
    part_begin(a, AQ_PART_PUT);
    part_begin(b, AQ_PART_GET);
    gex_Event_t events[] = {root_of(a), GEX_EVENT_INVALID, root_of(b)};
    assert_int_equal(gex_Event_TestSome(events, 3, 0), GASNET_ERR_NOT_READY);
    assert_int_equal(gex_Event_TestAll(events, 3, 0), GASNET_ERR_NOT_READY);
    part_end(b, AQ_PART_GET);
    assert_int_equal(gex_Event_TestSome(events, 3, 0), GASNET_OK);
    assert_ptr_equal(events[0], root_of(a));
    assert_ptr_equal(events[2], GEX_EVENT_INVALID);
    assert_int_equal(gex_Event_TestSome(events, 3, 0), GASNET_ERR_NOT_READY);
    assert_int_equal(gex_Event_TestAll(events, 3, 0), GASNET_ERR_NOT_READY);
    part_end(a, AQ_PART_PUT);
    assert_int_equal(gex_Event_TestAll(events, 3, 0), GASNET_OK);
    assert_ptr_equal(events[0], GEX_EVENT_INVALID);
    assert_int_equal(gex_Event_TestSome(events, 3, 0), GASNET_OK); // nothing is left to wait for
    assert_int_equal(gex_Event_TestAll(events, 0, 0), GASNET_OK);
}

static void test_waits(void **state)
{
    (void)state;
    gex_Event_t events[3];
    aq_event_t *records[3];
    for (unsigned i = 0; i < 3; i++) {
        records[i] = aq_event_new();
        part_begin(records[i], AQ_PART_AM);
        events[i] = root_of(records[i]);
    }
    end_after(0, records[1], AQ_PART_AM, 2);
    gex_Event_WaitSome(events, 3, 0);
    assert_ptr_equal(events[1], GEX_EVENT_INVALID);
    assert_ptr_equal(events[0], root_of(records[0]));
    assert_ptr_equal(events[2], root_of(records[2]));
    end_after(0, records[0], AQ_PART_AM, 2);
    end_after(1, records[2], AQ_PART_AM, 5);
    gex_Event_WaitAll(events, 3, 0);
    assert_null(countdowns[1].part);
    for (unsigned i = 0; i < 3; i++)
        assert_ptr_equal(events[i], GEX_EVENT_INVALID);
}

// Takes more and more records until the victim is among them, and begins an operation on the victim
// that never ends.
static aq_event_t *stolen;
static atomic_bool thief_running, thief_ready;

static void *steal_record(void *victim)
{
    enum { MOST = 16 * BATCH };
    aq_event_t *loot[MOST];
    atomic_store(&thief_ready, true);
    for (unsigned count = BATCH; atomic_load(&thief_running) && !stolen;
         count = count < MOST ? count + BATCH : BATCH) {
        take_records(loot, count);
        for (unsigned i = 0; i < count; i++)
            if (loot[i] == victim) {
                part_begin(victim, AQ_PART_LC);
                stolen = victim;
                loot[i] = aq_event_new();
            }
        free_records(loot, count);
    }
    return NULL;
}

// In an array, leaves may stand behind their root. The leaves are tested first: testing the root
// frees the record, and another thread may then begin an operation on it, which must not count for
// the leaves. There are so many roots that the first records reach the shared pool.
static void test_leaf_before_root(void **state)
{
    (void)state;
    enum { ROOTS = 3 * BATCH, ENTRIES = 20000, ROUNDS = 20 };
    gex_Event_t *events = malloc(ENTRIES * sizeof *events);
    aq_threads = true;
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        aq_event_t *records[ROOTS];
        take_records(records, ROOTS);
        for (unsigned i = 0; i < ROOTS; i++)
            events[i] = root_of(records[i]);
        for (unsigned i = ROOTS; i < ENTRIES; i++)
            events[i] = gex_Event_QueryLeaf(events[0], GEX_EC_LC);
        stolen = NULL;
        atomic_store(&thief_running, true);
        atomic_store(&thief_ready, false);
        assert_int_equal(pthread_create(&thread, NULL, steal_record, records[0]), 0);
        while (!atomic_load(&thief_ready))
            sched_yield();
        assert_int_equal(gex_Event_TestAll(events, ENTRIES, 0), GASNET_OK);
        for (unsigned i = 0; i < ENTRIES; i++)
            assert_ptr_equal(events[i], GEX_EVENT_INVALID);
        atomic_store(&thief_running, false);
        pthread_join(thread, NULL);
        if (!stolen)
            continue;
        part_end(stolen, AQ_PART_LC);
        aq_event_free(stolen);
    }
    aq_threads = false;
    free(events);
}

// ---- threads ----

// So many operations are begun together, since on a busy machine the other thread waits long for
// its processor each time.
enum { RELAYS = 20000, TOGETHER = 50 };
static aq_event_t *relayed[TOGETHER];
static atomic_uint begun;
static unsigned results[TOGETHER]; // written before the operation ends, read after the wait

static void *end_relays(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < RELAYS; i++) {
        while (atomic_load(&begun) <= i)
            sched_yield();
        results[i % TOGETHER] = i;
        part_end(relayed[i % TOGETHER], AQ_PART_RMW);
    }
    return NULL;
}

static void begin_relays(gex_Event_t *events)
{
    for (unsigned i = 0; i < TOGETHER; i++) {
        relayed[i] = aq_event_new();
        part_begin(relayed[i], AQ_PART_RMW);
        events[i] = root_of(relayed[i]);
        assert_int_equal(gex_Event_Test(events[i]), GASNET_ERR_NOT_READY);
    }
    atomic_fetch_add(&begun, TOGETHER);
}

// One thread begins operations and waits, and another thread ends each: after the wait, the first
// thread sees what the other wrote before the end.
static void test_other_thread(void **state)
{
    (void)state;
    pthread_t thread;
    gex_Event_t events[TOGETHER];
    aq_threads = true;
    assert_int_equal(pthread_create(&thread, NULL, end_relays, NULL), 0);
    for (unsigned i = 0; i < RELAYS; i++) {
        if (i % TOGETHER == 0)
            begin_relays(events);
        while (gex_Event_Test(events[i % TOGETHER]) != GASNET_OK)
            sched_yield();
        assert_int_equal(results[i % TOGETHER], i);
    }
    pthread_join(thread, NULL);
    aq_threads = false;
}

// ---- implicit operations ----

static void test_nbi(void **state)
{
    (void)state;
    aq_event_t *nbi = aq_thread_nbi();
    assert_ptr_equal(aq_thread_nbi(), nbi);
    for (unsigned i = 0; i < LEAVES; i++) {
        part_begin(nbi, leaves[i].part);
        assert_int_equal(gex_NBI_Test(leaves[i].category, 0), GASNET_ERR_NOT_READY);
        assert_int_equal(gex_NBI_Test(GEX_EC_ALL, 0), GASNET_ERR_NOT_READY);
        assert_int_equal(gex_NBI_Test(GEX_EC_ALL & ~leaves[i].category, 0), GASNET_OK);
        end_after(0, nbi, leaves[i].part, 4);
        gex_NBI_Wait(leaves[i].category, 0);
        assert_null(countdowns[0].part);
    }
    assert_int_equal(gex_NBI_Test(GEX_EC_ALL, 0), GASNET_OK);
}

static void *other_nbi(void *unused)
{
    (void)unused;
    aq_event_t *nbi = aq_thread_nbi();
    return gex_NBI_Test(GEX_EC_ALL, 0) == GASNET_OK ? nbi : NULL;
}

// Implicit operations are counted per thread.
static void test_nbi_of_threads(void **state)
{
    (void)state;
    pthread_t thread;
    void *theirs;
    aq_event_t *mine = aq_thread_nbi();
    part_begin(mine, AQ_PART_PUT);
    assert_int_equal(pthread_create(&thread, NULL, other_nbi, NULL), 0);
    pthread_join(thread, &theirs);
    assert_non_null(theirs);
    assert_ptr_not_equal(theirs, mine);
    part_end(mine, AQ_PART_PUT);
}

static void test_region(void **state)
{
    (void)state;
    aq_event_t *nbi = aq_thread_nbi();
    gex_NBI_BeginAccessRegion(0);
    aq_event_t *region = aq_thread_nbi();
    assert_ptr_not_equal(region, nbi);
    assert_ptr_equal(gex_NBI_EndAccessRegion(0), GEX_EVENT_INVALID); // nothing is pending
    assert_ptr_equal(aq_thread_nbi(), nbi);

    gex_NBI_BeginAccessRegion(0);
    region = aq_thread_nbi();
    part_begin(region, AQ_PART_PUT);
    part_begin(region, AQ_PART_GET);
    // Operations of a region do not count as implicit operations of the thread.
    assert_int_equal(gex_NBI_Test(GEX_EC_ALL, 0), GASNET_OK);
    gex_Event_t event = gex_NBI_EndAccessRegion(0);
    assert_ptr_equal(event, root_of(region));
    assert_ptr_equal(aq_thread_nbi(), nbi);
    part_end(region, AQ_PART_PUT);
    assert_int_equal(gex_Event_Test(event), GASNET_ERR_NOT_READY);
    end_after(0, region, AQ_PART_GET, 3);
    gex_Event_Wait(event);
    assert_null(countdowns[0].part);
    aq_event_t *again = aq_event_new();
    assert_ptr_equal(again, region);
    aq_event_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),           cmocka_unit_test(test_own_records),
        cmocka_unit_test(test_pass_records),   cmocka_unit_test(test_idle),
        cmocka_unit_test(test_masks),          cmocka_unit_test(test_root),
        cmocka_unit_test(test_leaf),           cmocka_unit_test(test_some),
        cmocka_unit_test(test_waits),          cmocka_unit_test(test_leaf_before_root),
        cmocka_unit_test(test_other_thread),   cmocka_unit_test(test_nbi),
        cmocka_unit_test(test_nbi_of_threads), cmocka_unit_test(test_region),
    };
    return cmocka_run_group_tests(tests, start_job, NULL);
}
