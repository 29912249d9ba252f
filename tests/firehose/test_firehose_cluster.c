// SPDX-License-Identifier: BSD-3-Clause
// Firehoses between processes: several nodes in one process, whose messages and transfers arrive in
// random order. There are so few firehoses that nearly every put and get moves one.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../unit/unit_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "fake_pinner.h"

enum {
    NODES = 4,
    PAGES = 64,
    QUARTER = FAKE_PAGE / NODES, // node n writes only the n-th quarter of any page
    REGION_PAGES = 4,
    PER_PEER = 2,
    VICTIMS = 3,
    IN_FLIGHT = 40,
    IN_MOVE = 512,
    OWN_REGIONS = 3,
    REGISTRATIONS = 1000000,
#ifdef __SANITIZE_THREAD__
    OPERATIONS = 10000, // the sanitizer makes each one twenty times slower
#else
    OPERATIONS = 200000,
#endif
};

typedef struct node {
    fake_memory_t memory;
    char *bytes, *expected;
    aq_firehose_t *firehose;
    uint32_t users[PAGES]; // operations that touch the page
    // Pages `closing` to `closing_end` - 1 are about to be unmapped: no operation starts there.
    bool is_closing;
    uint32_t closing, closing_end;
    struct {
        aq_firehose_region_t *region;
        uint32_t page;
    } own_regions[OWN_REGIONS]; // regions of its own memory that the node uses
} node_t;

typedef struct operation {
    aq_firehose_wait_t wait;
    bool used, put;
    uint32_t node, peer;
    uint32_t at, bytes, left; // offset in the peer's memory; length, and the rest still to be done
    char data[QUARTER];
} operation_t;

typedef enum event_kind { REQUEST, ANSWER, TRANSFER, RETRY } event_kind_t;

typedef struct event {
    event_kind_t kind;
    uint32_t from, to;
    aq_firehose_message_t message;
    char data[IN_MOVE];
    uint32_t data_bytes;
    operation_t *operation; // TRANSFER and RETRY
    aq_firehose_region_t *region;
} event_t;

static node_t nodes[NODES];
static operation_t operations[IN_FLIGHT];
static bool busy[NODES][NODES][PAGES]; // node, peer, page: an operation is under way
static event_t events[4 * IN_FLIGHT + 16 * NODES];
static uint32_t event_count;
static uint64_t seed;
static uint64_t done, by_message, moves, put_in_move, revoked;

static uint32_t random_below(uint32_t below)
{
    return fake_random(&seed, below);
}

static event_t *add_event(event_kind_t kind, uint32_t from, uint32_t to)
{
    assert_true(event_count < sizeof events / sizeof events[0]);
    event_t *event = &events[event_count++];
    event->kind = kind;
    event->from = from;
    event->to = to;
    return event;
}

static void send_request(void *context, uint32_t peer, const aq_firehose_message_t *message,
                         const void *data, uint32_t data_bytes)
{
    const fake_memory_t *memory = context;
    event_t *event = add_event(REQUEST, (uint32_t)((const node_t *)memory - nodes), peer);
    event->message = *message;
    event->data_bytes = data_bytes;
    assert_true(data_bytes <= IN_MOVE);
    if (data_bytes)
        memcpy(event->data, data, data_bytes);
    moves += message->kind == AQ_FIREHOSE_MOVE;
    revoked += message->kind == AQ_FIREHOSE_REVOKE;
}

static const aq_firehose_ops_t ops = {fake_memory_pin, fake_memory_unpin, send_request};

// ---- operations ----

// Performs a put, or checks the data of a get, on the next `bytes` bytes of an operation.
static void copy_bytes(const operation_t *operation, uint32_t bytes)
{
    const node_t *peer = &nodes[operation->peer];
    uint32_t at = operation->at + operation->bytes - operation->left;
    if (operation->put) {
        memcpy(peer->bytes + at, operation->data + (operation->bytes - operation->left), bytes);
        return;
    }
    for (uint32_t i = at; i < at + bytes; i++)
        if (i % FAKE_PAGE / QUARTER == operation->node)
            assert_int_equal(peer->bytes[i], peer->expected[i]);
}

static void mark_pages(const operation_t *operation, bool yes)
{
    uint32_t last = (operation->at + operation->bytes - 1) / FAKE_PAGE;
    for (uint32_t page = operation->at / FAKE_PAGE; page <= last; page++) {
        busy[operation->node][operation->peer][page] = yes;
        nodes[operation->peer].users[page] += yes ? 1u : -1u;
    }
}

static void finish_operation(operation_t *operation)
{
    if (operation->put)
        memcpy(nodes[operation->peer].expected + operation->at, operation->data, operation->bytes);
    mark_pages(operation, false);
    operation->used = false;
    done++;
}

static void add_transfer(operation_t *operation, aq_firehose_region_t *region)
{
    event_t *event = add_event(TRANSFER, operation->node, operation->peer);
    event->operation = operation;
    event->region = region;
}

static uintptr_t address_of(const operation_t *operation)
{
    return nodes[operation->peer].memory.base + operation->at + operation->bytes - operation->left;
}

static void send_by_message(operation_t *operation)
{
    by_message++;
    copy_bytes(operation, operation->left);
    finish_operation(operation);
}

static void advance_operation(operation_t *operation)
{
    aq_firehose_region_t *region;
    const bool whole = operation->put && operation->left == operation->bytes;
    const aq_firehose_target_t target = {.peer = operation->peer,
                                         .write = operation->put,
                                         .address = address_of(operation),
                                         .bytes = operation->left,
                                         .data = whole ? operation->data : NULL};
    switch (
        aq_firehose_reach(nodes[operation->node].firehose, &target, &operation->wait, &region)) {
    case AQ_FIREHOSE_HIT:
        add_transfer(operation, region);
        return;
    case AQ_FIREHOSE_PENDING:
        return;
    case AQ_FIREHOSE_FULL:
        if (random_below(20) == 0)
            send_by_message(operation);
        else
            add_event(RETRY, operation->node, operation->peer)->operation = operation;
        return;
    }
}

static void complete_wait(aq_firehose_wait_t *wait, aq_status_t status,
                          aq_firehose_region_t *region)
{
    operation_t *operation = (operation_t *)(void *)wait;
    if (status == AQ_OK && region) {
        add_transfer(operation, region);
    } else if (status == AQ_OK) {
        assert_true(operation->put && operation->bytes <= IN_MOVE);
        put_in_move++;
        finish_operation(operation);
    } else if (status == AQ_AGAIN) {
        advance_operation(operation);
    } else {
        send_by_message(operation);
    }
}

static void run_transfer(operation_t *operation, aq_firehose_region_t *region)
{
    uintptr_t address = address_of(operation);
    uint32_t bytes = (uint32_t)aq_firehose_covered(region, address, operation->left);
    fake_memory_use(&nodes[operation->peer].memory, region->key.remote, address, bytes,
                    operation->put);
    copy_bytes(operation, bytes);
    operation->left -= bytes;
    aq_firehose_release(region);
    if (operation->left)
        advance_operation(operation);
    else
        finish_operation(operation);
}

static bool may_touch(uint32_t node, uint32_t peer, uint32_t page, bool put)
{
    const node_t *target = &nodes[peer];
    bool open = !target->is_closing || page < target->closing || page >= target->closing_end;
    return open && !busy[node][peer][page] &&
           target->memory.access[page] >= (put ? FAKE_WRITE : FAKE_READ);
}

static void start_operation(void)
{
    operation_t *operation = &operations[random_below(IN_FLIGHT)];
    uint32_t node = random_below(NODES), peer = (node + 1 + random_below(NODES - 1)) % NODES,
             page = random_below(PAGES);
    bool put = random_below(2);
    uint32_t at = page * FAKE_PAGE + node * QUARTER, bytes = 1 + random_below(QUARTER);
    if (!put) { // begins and ends anywhere
        at = page * FAKE_PAGE + random_below(FAKE_PAGE);
        bytes = 1 + random_below((random_below(4) ? 1 : 6) * FAKE_PAGE);
    }
    if (operation->used || at + bytes > PAGES * FAKE_PAGE)
        return;
    for (uint32_t i = page; i <= (at + bytes - 1) / FAKE_PAGE; i++)
        if (!may_touch(node, peer, i, put))
            return;
    *operation = (operation_t){.used = true,
                               .wait.done = complete_wait,
                               .put = put,
                               .node = node,
                               .peer = peer,
                               .at = at,
                               .bytes = bytes,
                               .left = bytes};
    for (uint32_t i = 0; put && i < bytes; i++)
        operation->data[i] = (char)random_below(256);
    mark_pages(operation, true);
    advance_operation(operation);
}

// ---- use of a node's memory by the node itself ----

static void use_own_memory(node_t *node)
{
    uint32_t slot = random_below(OWN_REGIONS), page = random_below(PAGES);
    aq_firehose_region_t **region = &node->own_regions[slot].region;
    if (*region) {
        page = node->own_regions[slot].page;
        fake_memory_use(&node->memory, (*region)->key.remote, fake_memory_page(&node->memory, page),
                        FAKE_PAGE, false);
        aq_firehose_release(*region);
        node->users[page]--;
        *region = NULL;
        return;
    }
    if (!may_touch((uint32_t)(node - nodes), (uint32_t)(node - nodes), page, false))
        return;
    aq_status_t status = aq_firehose_pin(
        node->firehose, (void *)fake_memory_page(&node->memory, page), FAKE_PAGE, false, region);
    if (status == AQ_OK) {
        node->own_regions[slot].page = page;
        node->users[page]++;
    } else {
        *region = NULL;
        assert_true(status == AQ_AGAIN || status == AQ_ERR_ABSENT);
    }
}

// ---- memory that is unmapped ----

static bool is_touched(const node_t *node)
{
    for (uint32_t page = node->closing; page < node->closing_end; page++)
        if (node->users[page])
            return true;
    return false;
}

static void close_pages(node_t *node)
{
    if (!node->is_closing) {
        node->is_closing = true;
        node->closing = random_below(PAGES - 8);
        node->closing_end = node->closing + 1 + random_below(8);
    }
    if (is_touched(node))
        return;
    void *start = (void *)fake_memory_page(&node->memory, node->closing);
    size_t bytes = (size_t)(node->closing_end - node->closing) * FAKE_PAGE;
    if (aq_firehose_invalidate(node->firehose, start, bytes) != AQ_OK)
        return;
    fake_access_t access = (fake_access_t)random_below(3);
    for (uint32_t page = node->closing; page < node->closing_end; page++) {
        assert_int_equal(node->memory.pins[page], 0);
        node->memory.access[page] = access;
    }
    node->is_closing = false;
}

// ---- the network ----

static void deliver_event(void)
{
    if (event_count == 0)
        return;
    uint32_t which = random_below(event_count);
    event_t event = events[which];
    events[which] = events[--event_count];
    if (event.kind == TRANSFER) {
        run_transfer(event.operation, event.region);
    } else if (event.kind == RETRY) {
        advance_operation(event.operation);
    } else if (event.kind == ANSWER) {
        assert_int_equal(aq_firehose_answered(nodes[event.to].firehose, event.from, &event.message),
                         AQ_OK);
    } else {
        aq_firehose_message_t answer;
        assert_int_equal(aq_firehose_serve(nodes[event.to].firehose, event.from, &event.message,
                                           event.data, event.data_bytes, &answer),
                         AQ_OK);
        add_event(ANSWER, event.to, event.from)->message = answer;
    }
}

static void start_nodes_with(const aq_firehose_ops_t *network)
{
    const aq_firehose_params_t params = {
        .main = {PER_PEER * (NODES - 1), PER_PEER * (NODES - 1) * REGION_PAGES * FAKE_PAGE},
        .victim = {VICTIMS, VICTIMS * REGION_PAGES * FAKE_PAGE},
        .per_peer = PER_PEER,
        .region_bytes = REGION_PAGES * FAKE_PAGE,
        .page_bytes = FAKE_PAGE,
        .put_in_move = IN_MOVE,
        .table_scale = 1,
    };
    done = by_message = moves = put_in_move = revoked = 0;
    seed = 2463534242u;
    memset(nodes, 0, sizeof nodes);
    for (int i = 0; i < NODES; i++) {
        node_t *node = &nodes[i];
        node->bytes = aligned_alloc(FAKE_PAGE, PAGES * FAKE_PAGE);
        node->expected = calloc(PAGES, FAKE_PAGE);
        assert_true(node->bytes && node->expected);
        memset(node->bytes, 0, PAGES * FAKE_PAGE);
        fake_memory_start(&node->memory, (uintptr_t)node->bytes, PAGES, REGISTRATIONS);
        // The device refuses more than the pools may hold.
        node->memory.most = (aq_firehose_amount_t){params.main.regions + params.victim.regions,
                                                   params.main.bytes + params.victim.bytes};
        node->memory.limit = AQ_FIREHOSE_DEVICE;
        assert_int_equal(aq_firehose_start(&params, network, &node->memory, NODES, &node->firehose),
                         AQ_OK);
    }
}

static void start_nodes(void)
{
    start_nodes_with(&ops);
}

static void stop_nodes(void)
{
    while (event_count)
        deliver_event();
    for (int i = 0; i < IN_FLIGHT; i++)
        assert_false(operations[i].used);
    for (int i = 0; i < NODES; i++) {
        node_t *node = &nodes[i];
        for (int j = 0; j < OWN_REGIONS; j++)
            if (node->own_regions[j].region)
                aq_firehose_release(node->own_regions[j].region);
        assert_memory_equal(node->bytes, node->expected, PAGES * FAKE_PAGE);
        aq_firehose_stop(node->firehose);
        fake_memory_stop(&node->memory);
        free(node->bytes);
        free(node->expected);
    }
}

static void run_operations(uint64_t count, bool closing)
{
    while (done < count) {
        start_operation();
        if (random_below(4) == 0)
            use_own_memory(&nodes[random_below(NODES)]);
        if (closing && random_below(10) == 0)
            close_pages(&nodes[random_below(NODES)]);
        deliver_event();
        deliver_event();
    }
}

// ---- threads ----

enum { THREADS = 4, TURNS = 10000 };

// Serves a request directly, without a network: the answer arrives before aq_firehose_reach
// returns.
static void request_at_once(void *context, uint32_t peer, const aq_firehose_message_t *message,
                            const void *data, uint32_t data_bytes)
{
    const fake_memory_t *memory = context;
    uint32_t own = (uint32_t)((const node_t *)memory - nodes);
    aq_firehose_message_t answer;
    assert_int_equal(
        aq_firehose_serve(nodes[peer].firehose, own, message, data, data_bytes, &answer), AQ_OK);
    assert_int_equal(aq_firehose_answered(nodes[own].firehose, peer, &answer), AQ_OK);
}

typedef struct thread_wait {
    aq_firehose_wait_t wait;
    _Atomic(aq_firehose_region_t *) region;
    atomic_bool over; // may be set by another thread that requested the same region
} thread_wait_t;

static void complete_thread_wait(aq_firehose_wait_t *wait, aq_status_t status,
                                 aq_firehose_region_t *region)
{
    thread_wait_t *waiting = (thread_wait_t *)(void *)wait;
    waiting->region = status == AQ_OK ? region : NULL;
    waiting->over = true;
}

// Returns the region, or NULL if none was available.
static aq_firehose_region_t *reach_region(const node_t *node, uint32_t peer, uintptr_t address,
                                          size_t bytes)
{
    thread_wait_t waiting = {.wait.done = complete_thread_wait};
    aq_firehose_region_t *region;
    const aq_firehose_target_t target = {
        .peer = peer, .write = true, .address = address, .bytes = bytes};
    switch (aq_firehose_reach(node->firehose, &target, &waiting.wait, &region)) {
    case AQ_FIREHOSE_HIT:
        return region;
    case AQ_FIREHOSE_FULL:
        return NULL;
    case AQ_FIREHOSE_PENDING:
        break;
    }
    while (!waiting.over)
        sched_yield();
    return waiting.region;
}

// Even threads belong to node 0 and access node 1, odd threads the other way round.
static void *reach_often(void *arg)
{
    uint64_t own = 777 + (uintptr_t)arg;
    uint32_t me = (uintptr_t)arg % 2, peer = 1 - me;
    for (int i = 0; i < TURNS; i++) {
        uint32_t page = fake_random(&own, 12), pages = 1 + fake_random(&own, 3);
        uintptr_t address = fake_memory_page(&nodes[peer].memory, page);
        if (fake_random(&own, 100) == 0)
            aq_firehose_invalidate(nodes[me].firehose,
                                   (void *)fake_memory_page(&nodes[me].memory, page),
                                   (size_t)pages * FAKE_PAGE);
        aq_firehose_region_t *region =
            reach_region(&nodes[me], peer, address, (size_t)pages * FAKE_PAGE);
        if (!region)
            continue;
        fake_memory_use(&nodes[peer].memory, region->key.remote, address, FAKE_PAGE, true);
        aq_firehose_release(region);
    }
    return NULL;
}

// ---- tests ----

static void test_segment(void **state)
{
    (void)state;
    aq_firehose_stats_t stats;
    start_nodes();
    for (int i = 0; i < NODES; i++)
        aq_firehose_stays(nodes[i].firehose, nodes[i].bytes, PAGES * FAKE_PAGE);
    run_operations(OPERATIONS, false);
    assert_true(moves > OPERATIONS / 2);
    assert_true(put_in_move > OPERATIONS / 10);
    assert_true(by_message < done);
    for (int i = 0; i < NODES; i++) {
        aq_firehose_stats(nodes[i].firehose, &stats);
        assert_int_equal(stats.refused, 0); // the main pool has room for all firehoses
        assert_int_equal(stats.main_most.regions, PER_PEER * (NODES - 1)); // nothing shrank
        assert_int_equal(stats.victim_most.regions, VICTIMS);
    }
    stop_nodes();
}

static void test_everything(void **state)
{
    (void)state;
    start_nodes();
    run_operations(OPERATIONS, true);
    assert_true(moves > OPERATIONS / 2);
    assert_true(revoked > OPERATIONS / 100);
    stop_nodes();
}

// After some operations the limit of the machine drops: fewer firehoses, more messages, the same
// data.
static void test_limit(void **state)
{
    (void)state;
    start_nodes();
    run_operations(OPERATIONS / 20, true);
    assert_true(by_message < OPERATIONS / 100);
    uint64_t before = by_message;
    for (int i = 0; i < NODES; i++)
        nodes[i].memory.most.regions = 3;
    run_operations(OPERATIONS / 10, true);
    assert_true(by_message > before + OPERATIONS / 40);
    for (int i = 0; i < NODES; i++)
        assert_true(nodes[i].memory.now.regions <= 6);
    stop_nodes();
}

static void test_threads(void **state)
{
    (void)state;
    const aq_firehose_ops_t at_once = {fake_memory_pin, fake_memory_unpin, request_at_once};
    pthread_t threads[THREADS];
    aq_firehose_stats_t stats;
    start_nodes_with(&at_once);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, reach_often, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    aq_firehose_stats(nodes[0].firehose, &stats);
    assert_true(stats.moves_sent > TURNS / 10 && stats.moves_served > TURNS / 10);
    // Nothing is in use any more, so the second invalidation finds nothing left to revoke.
    for (int i = 0; i < 2; i++) {
        void *all = (void *)fake_memory_page(&nodes[i].memory, 0);
        aq_firehose_invalidate(nodes[i].firehose, all, PAGES * FAKE_PAGE);
        assert_int_equal(aq_firehose_invalidate(nodes[i].firehose, all, PAGES * FAKE_PAGE), AQ_OK);
        assert_int_equal(nodes[i].memory.now.regions, 0);
    }
    stop_nodes();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segment),
        cmocka_unit_test(test_everything),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
