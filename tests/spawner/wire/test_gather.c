// SPDX-License-Identifier: BSD-3-Clause
// Collective steps across hosts: simulated trees of up to 1,024 processes gather contributions and
// broadcast the result. The tests check results and count frames and bytes.
#include "../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../spawner/wire/gather.h"
#include "../../../spawner/tree/node_tree.h"

#define PART 24u

typedef struct traffic {
    uint64_t frames_up, frames_down, bytes_up, bytes_down;
    uint32_t most_children, depth;
} traffic_t;

typedef struct tree {
    uint32_t hosts, radix;
    aq_step_t step;
    traffic_t traffic;
} tree_t;

// Fills in the contribution of a rank.
static void fill_row(uint8_t row[PART], uint32_t rank)
{
    for (uint32_t i = 0; i < PART; i++)
        row[i] = (uint8_t)(rank * 7 + i + (rank >> 8));
}

static uint32_t parts_of(const tree_t *tree, uint32_t count)
{
    return tree->radix == 0 || tree->radix > count ? count : tree->radix;
}

static void contribute_own(const tree_t *tree, uint32_t rank, aq_gather_t *gather)
{
    uint8_t row[PART];
    aq_bytes_t data = {0};
    fill_row(row, rank);
    if (tree->step.kind == AQ_STEP_EXCHANGE)
        aq_gather_row(&data, rank, row, PART);
    else if (tree->step.kind == AQ_STEP_BROADCAST && rank == tree->step.root)
        aq_put_raw(&data, row, PART);
    const aq_gathered_t part = {tree->step, data.data, data.used};
    assert_true(aq_gather_add(gather, &part));
    aq_bytes_free(&data);
}

static aq_bytes_t gather_host(tree_t *tree, uint32_t low, uint32_t high, uint32_t depth);

static void gather_children(tree_t *tree, uint32_t low, uint32_t high, uint32_t depth,
                            aq_gather_t *gather)
{
    uint32_t parts = parts_of(tree, high - low);
    if (parts > tree->traffic.most_children)
        tree->traffic.most_children = parts;
    if (depth > tree->traffic.depth)
        tree->traffic.depth = depth;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t from, to;
        aq_frame_t frame;
        aq_gathered_t part;
        aq_node_part(low, high, parts, i, &from, &to);
        aq_bytes_t sent = gather_host(tree, from, to, depth + 1);
        assert_int_equal(aq_frame_read(sent.data, sent.used, AQ_FRAME_MAX, &frame), AQ_FRAME_WHOLE);
        assert_true(aq_read_gathered(frame.payload, AQ_MSG_GATHER, tree->hosts, &part));
        assert_true(aq_gather_add(gather, &part));
        tree->traffic.frames_up++;
        tree->traffic.bytes_up += sent.used;
        aq_bytes_free(&sent);
    }
}

// Returns the frame that the helper of host `low` sends to its parent. Each host runs one rank, of
// the host's number.
static aq_bytes_t gather_host(tree_t *tree, uint32_t low, uint32_t high, uint32_t depth)
{
    aq_bytes_t sent = {0};
    aq_gather_t gather = {.size = tree->hosts, .expected = 1 + parts_of(tree, high - low - 1)};
    contribute_own(tree, low, &gather);
    gather_children(tree, low + 1, high, depth, &gather);
    assert_true(aq_gather_complete(&gather));
    aq_gathered_t all = aq_gather_result(&gather);
    aq_write_gathered(&sent, AQ_MSG_GATHER, &all);
    aq_bytes_free(&gather.data);
    return sent;
}

static void check_all(const tree_t *tree, const aq_gathered_t *all)
{
    uint8_t row[PART];
    for (uint32_t rank = 0; rank < tree->hosts && tree->step.kind == AQ_STEP_EXCHANGE; rank++) {
        fill_row(row, rank);
        assert_memory_equal(all->data + (size_t)rank * PART, row, PART);
    }
    if (tree->step.kind == AQ_STEP_BROADCAST) {
        fill_row(row, tree->step.root);
        assert_memory_equal(all->data, row, PART);
    }
}

// Forwards a frame unchanged to the children and their subtrees. Returns the number of hosts that
// received the frame.
static uint32_t forward_to_children(tree_t *tree, uint32_t low, uint32_t high,
                                    const aq_bytes_t *received)
{
    uint32_t parts = parts_of(tree, high - low), reached = 0;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t from, to;
        aq_frame_t frame;
        aq_gathered_t all;
        aq_bytes_t sent = {0};
        aq_node_part(low, high, parts, i, &from, &to);
        assert_int_equal(aq_frame_read(received->data, received->used, AQ_FRAME_MAX, &frame),
                         AQ_FRAME_WHOLE);
        aq_frame_copy(&sent, &frame);
        assert_true(aq_read_gathered(frame.payload, AQ_MSG_SPREAD, tree->hosts, &all));
        if (from % 64 == 0)
            check_all(tree, &all);
        tree->traffic.frames_down++;
        tree->traffic.bytes_down += sent.used;
        reached += 1 + forward_to_children(tree, from + 1, to, &sent);
        aq_bytes_free(&sent);
    }
    return reached;
}

static traffic_t run_step(uint32_t hosts, uint32_t radix, aq_step_kind_t kind)
{
    tree_t tree = {.hosts = hosts, .radix = radix};
    aq_bytes_t all = {0}, frame = {0};
    tree.step = (aq_step_t){.kind = kind,
                            .part = kind == AQ_STEP_BARRIER ? 0 : PART,
                            .root = kind == AQ_STEP_BROADCAST ? hosts - 1 : 0};
    aq_gather_t gather = {.size = hosts, .expected = parts_of(&tree, hosts)};
    gather_children(&tree, 0, hosts, 1, &gather);
    assert_true(aq_gather_complete(&gather));
    assert_true(aq_gather_union(&gather, &all));
    aq_write_gathered(&frame, AQ_MSG_SPREAD, &(aq_gathered_t){tree.step, all.data, all.used});
    assert_int_equal(forward_to_children(&tree, 0, hosts, &frame), hosts);
    aq_bytes_free(&gather.data);
    aq_bytes_free(&all);
    aq_bytes_free(&frame);
    return tree.traffic;
}

static uint32_t log2_up(uint32_t n)
{
    uint32_t log = 0;
    while ((1u << log) < n)
        log++;
    return log;
}

// Each of the N links carries one frame up and one frame down. Up: a row crosses as many links as
// the depth of its host, O(log N), so N rows are O(N log N) bytes. Down: every process must get N
// rows, which is O(N) bytes on each link of any tree, and no process gets a byte twice.
static void test_traffic(void **state)
{
    (void)state;
    enum { FRAME = 8 + 9, ROW = 4 + PART };
    static const uint32_t radices[] = {2, 4, 8};
    for (uint32_t hosts = 2; hosts <= 1024; hosts *= 2)
        for (size_t i = 0; i < sizeof radices / sizeof radices[0]; i++) {
            uint32_t deep = log2_up(hosts) + 1;
            traffic_t exchange = run_step(hosts, radices[i], AQ_STEP_EXCHANGE);
            traffic_t barrier = run_step(hosts, radices[i], AQ_STEP_BARRIER);
            traffic_t broadcast = run_step(hosts, radices[i], AQ_STEP_BROADCAST);
            assert_int_equal(exchange.frames_up, hosts);
            assert_int_equal(exchange.frames_down, hosts);
            assert_true(exchange.depth <= deep);
            assert_true(exchange.most_children <= radices[i]);
            assert_true(exchange.bytes_up <=
                        (uint64_t)hosts * FRAME + (uint64_t)hosts * deep * ROW);
            assert_int_equal(exchange.bytes_down,
                             (uint64_t)hosts * (FRAME + (uint64_t)hosts * PART));
            assert_int_equal(barrier.bytes_up + barrier.bytes_down, 2 * (uint64_t)hosts * FRAME);
            assert_true(broadcast.bytes_up <= (uint64_t)hosts * FRAME + deep * PART);
            assert_int_equal(broadcast.bytes_down, (uint64_t)hosts * (FRAME + PART));
        }
}

// ---- illegal contributions ----

static aq_gathered_t make_rows(aq_bytes_t *data, uint32_t first, uint32_t count)
{
    uint8_t row[PART] = {0};
    data->used = 0;
    for (uint32_t i = 0; i < count; i++)
        aq_gather_row(data, first + i, row, PART);
    return (aq_gathered_t){{AQ_STEP_EXCHANGE, PART, 0}, data->data, data->used};
}

static void test_disagreement(void **state)
{
    (void)state;
    aq_bytes_t data = {0}, out = {0};
    aq_gather_t gather = {.size = 4, .expected = 2};
    aq_gathered_t part = make_rows(&data, 0, 2), barrier = {{AQ_STEP_BARRIER, 0, 0}, NULL, 0};
    assert_true(aq_gather_add(&gather, &part));
    assert_false(aq_gather_add(&gather, &barrier));
    assert_false(aq_gather_complete(&gather));
    part = make_rows(&data, 0, 2); // twice
    assert_true(aq_gather_add(&gather, &part));
    assert_true(aq_gather_complete(&gather));
    assert_false(aq_gather_union(&gather, &out));
    part = make_rows(&data, 2, 2);
    assert_false(aq_gather_add(&gather, &part)); // one too many
    aq_gather_reset(&gather);
    part = make_rows(&data, 1, 2);
    assert_true(aq_gather_add(&gather, &part));
    part = make_rows(&data, 3, 1);
    assert_true(aq_gather_add(&gather, &part)); // rank 0 is missing
    assert_false(aq_gather_union(&gather, &out));
    aq_gather_reset(&gather);
    part = make_rows(&data, 0, 5);
    assert_false(aq_gather_add(&gather, &part)); // more rows than ranks
    aq_bytes_free(&gather.data);
    aq_bytes_free(&data);
    aq_bytes_free(&out);
}

// A step of all parts that adds ranks; whether the root completes it.
static bool grow_by(aq_gather_t *gather, uint32_t count)
{
    const aq_gathered_t part = {{AQ_STEP_GROW, count, 0}, NULL, 0};
    aq_bytes_t out = {0};
    for (uint32_t i = 0; i < gather->expected; i++)
        assert_true(aq_gather_add(gather, &part));
    assert_true(aq_gather_complete(gather));
    const bool grown = aq_gather_union(gather, &out);
    assert_int_equal(out.used, 0);
    aq_gather_reset(gather);
    return grown;
}

// Rows of absent ranks are refused, and zeros in the union, until the ranks have joined.
static void test_growth(void **state)
{
    (void)state;
    static const uint8_t zeros[PART];
    aq_bytes_t data = {0}, out = {0};
    aq_gather_t gather = {.size = 4, .absent = 2, .expected = 1};
    aq_gathered_t part = make_rows(&data, 0, 3);
    assert_true(aq_gather_add(&gather, &part));
    assert_false(aq_gather_union(&gather, &out));
    aq_gather_reset(&gather);
    assert_false(grow_by(&gather, 3));
    assert_true(grow_by(&gather, 1));
    part = make_rows(&data, 0, 3);
    assert_true(aq_gather_add(&gather, &part));
    assert_true(aq_gather_union(&gather, &out));
    assert_int_equal(out.used, 4 * PART);
    assert_memory_equal(out.data + 3 * PART, zeros, PART);
    aq_gather_reset(&gather);
    assert_true(grow_by(&gather, 1));
    assert_int_equal(gather.absent, 0);
    assert_false(grow_by(&gather, 1));
    aq_bytes_free(&gather.data);
    aq_bytes_free(&data);
    aq_bytes_free(&out);
}

static void assert_refused(const aq_gathered_t *gathered, aq_message_t type)
{
    aq_bytes_t bytes = {0};
    aq_frame_t frame;
    aq_gathered_t got;
    aq_write_gathered(&bytes, type, gathered);
    assert_int_equal(aq_frame_read(bytes.data, bytes.used, AQ_FRAME_MAX, &frame), AQ_FRAME_WHOLE);
    assert_false(aq_read_gathered(frame.payload, type, 4, &got));
    aq_bytes_free(&bytes);
}

static void test_lengths(void **state)
{
    (void)state;
    static const uint8_t some[4 * PART + 1] = {0};
    const aq_gathered_t bad[] = {{{AQ_STEP_BARRIER, 0, 0}, some, 1},
                                 {{AQ_STEP_EXCHANGE, PART, 0}, some, PART},
                                 {{AQ_STEP_EXCHANGE, 0, 0}, some, 0},
                                 {{AQ_STEP_BROADCAST, PART, 4}, some, PART},
                                 {{AQ_STEP_BROADCAST, PART, 0}, some, PART - 1},
                                 {{AQ_STEP_GROW, 1, 0}, some, 1},
                                 {{AQ_STEP_GROW + 1, 0, 0}, some, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_refused(&bad[i], AQ_MSG_GATHER);
    assert_refused(&(aq_gathered_t){{AQ_STEP_EXCHANGE, PART, 0}, some, 4 * PART + 1},
                   AQ_MSG_SPREAD);
    assert_refused(&(aq_gathered_t){{AQ_STEP_BROADCAST, PART, 0}, some, 0}, AQ_MSG_SPREAD);
}

// The parts of a subtree are contiguous, nearly equal in size, and hold every host once. The first
// host of each part starts the others.
static void test_parts(void **state)
{
    (void)state;
    for (uint32_t count = 1; count < 40; count++)
        for (uint32_t parts = 1; parts <= count; parts++) {
            uint32_t next = 5, from, to;
            for (uint32_t i = 0; i < parts; i++) {
                aq_node_part(5, 5 + count, parts, i, &from, &to);
                assert_int_equal(from, next);
                assert_true(to > from && to - from <= count / parts + 1);
                next = to;
            }
            assert_int_equal(next, 5 + count);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traffic), cmocka_unit_test(test_disagreement),
        cmocka_unit_test(test_growth),  cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
