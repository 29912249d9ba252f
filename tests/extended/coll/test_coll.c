// SPDX-License-Identifier: BSD-3-Clause
// Collectives: the trees, for teams of every layout, and the operators.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "../../../extended/coll/coll_tree.h"
#include "../../../extended/coll/coll_operators.h"
#include "../../unit/assert_between.h"

enum { RANKS_MAX = 200, CASES = 300, WIDE = 1 << 30 };

static uint64_t seed = 11;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % n);
}

// A team, and each rank's view of a tree over that team.
static struct {
    uint32_t size, nbrhds, nbrhd[RANKS_MAX];
    aq_coll_map_t map;
    aq_coll_tree_t tree[RANKS_MAX];
    uint32_t child[RANKS_MAX][RANKS_MAX];
} team;

static void make_team(uint32_t size, uint32_t nbrhds, bool blocks)
{
    team.size = size;
    team.nbrhds = nbrhds;
    for (uint32_t r = 0; r < size; r++)
        team.nbrhd[r] = blocks ? (uint32_t)((uint64_t)r * nbrhds / size) : random_below(nbrhds);
    aq_coll_map_make(&team.map, size, team.nbrhd, nbrhds);
}

static void make_trees(aq_coll_shape_t shape, uint32_t root)
{
    for (uint32_t r = 0; r < team.size; r++)
        aq_coll_tree_make(&team.map, shape, root, r, &team.tree[r], team.child[r]);
}

// Parents and children agree on the links of the tree, and no rank has more children than the
// announced maximum.
static void check_links(aq_coll_shape_t shape, uint32_t root)
{
    uint32_t links = 0;
    for (uint32_t r = 0; r < team.size; r++) {
        const aq_coll_tree_t *tree = &team.tree[r];
        assert_true(tree->children <= aq_coll_tree_most(&team.map, shape));
        links += tree->children;
        if (r == root) {
            assert_int_equal(tree->parent, GEX_RANK_INVALID);
            continue;
        }
        assert_true(tree->parent < team.size);
        assert_true(tree->index < team.tree[tree->parent].children);
        assert_int_equal(team.child[tree->parent][tree->index], r);
    }
    assert_int_equal(links, team.size - 1);
}

// Appends the ranks of a subtree, top first, and returns the new count. Fails the test if there is
// a cycle.
static uint32_t collect_subtree(uint32_t top, uint32_t *ranks, uint32_t count)
{
    assert_true(count < team.size);
    ranks[count++] = top;
    for (uint32_t c = 0; c < team.tree[top].children; c++)
        count = collect_subtree(team.child[top][c], ranks, count);
    return count;
}

static uint32_t depth_of(uint32_t r)
{
    uint32_t depth = 0;
    for (; team.tree[r].parent != GEX_RANK_INVALID; r = team.tree[r].parent)
        depth++;
    return depth;
}

static uint32_t count_levels(uint32_t n, uint64_t base)
{
    uint32_t count = 0;
    for (uint64_t reach = 1; reach < n; reach *= base)
        count++;
    return count;
}

// A binary tree of 2^k members or more has a level k.
static uint32_t levels_of(uint32_t n, uint32_t width)
{
    return width == AQ_COLL_HALVES ? count_levels(n + 1, 2) - (n > 0) : count_levels(n, width);
}

static void check_tree(aq_coll_shape_t shape, uint32_t root)
{
    uint32_t ranks[RANKS_MAX];
    make_trees(shape, root);
    check_links(shape, root);
    assert_int_equal(collect_subtree(root, ranks, 0), team.size);
    for (uint32_t i = 0; !team.map.order && root == 0 && i < team.size; i++)
        assert_int_equal(ranks[i], i); // the tree keeps the order of the ranks
    uint32_t most_levels =
        levels_of(team.map.groups, shape.across) + levels_of(team.map.largest, shape.inside);
    for (uint32_t r = 0; r < team.size; r++)
        assert_true(depth_of(r) <= most_levels);
}

// One message enters each neighbourhood but the root's.
static void check_crossings(uint32_t root)
{
    uint32_t into[RANKS_MAX] = {0}, crossings = 0;
    for (uint32_t r = 0; r < team.size; r++)
        if (r != root && team.nbrhd[r] != team.nbrhd[team.tree[r].parent]) {
            into[team.nbrhd[r]]++;
            crossings++;
        }
    for (uint32_t n = 0; n < team.nbrhds; n++)
        assert_true(into[n] <= 1);
    assert_int_equal(crossings, team.map.groups - 1);
}

static void test_trees(void **state)
{
    (void)state;
    static const uint32_t widths[] = {AQ_COLL_HALVES, 2, 3, 4, 8, WIDE};
    for (unsigned i = 0; i < CASES; i++) {
        uint32_t size = 1 + random_below(i < 50 ? 9 : RANKS_MAX);
        make_team(size, 1 + random_below(size), i % 2);
        aq_coll_shape_t shape = {widths[random_below(6)], widths[random_below(6)]};
        uint32_t root = i % 3 ? random_below(size) : 0;
        check_tree(shape, root);
        check_crossings(root);
        aq_coll_map_free(&team.map);
    }
}

// If each neighbourhood is a block of ranks, the map needs no tables. Otherwise its tables order
// the ranks by neighbourhood.
static void test_map(void **state)
{
    (void)state;
    static const uint32_t shuffled[] = {1, 0, 1, 2, 0, 1}, order[] = {0, 2, 5, 1, 4, 3};
    make_team(7, 3, true);
    assert_null(team.map.order);
    assert_int_equal(team.map.groups, 3);
    assert_int_equal(team.map.largest, 3);
    for (uint32_t r = 0; r < 7; r++)
        assert_int_equal(aq_coll_map_group(&team.map, r), team.nbrhd[r]);
    aq_coll_map_free(&team.map);
    aq_coll_map_make(&team.map, 6, shuffled, 4);
    assert_int_equal(team.map.groups, 3); // one neighbourhood has no member
    for (uint32_t p = 0; p < 6; p++)
        assert_int_equal(aq_coll_map_rank(&team.map, p), order[p]);
    assert_int_equal(aq_coll_map_group(&team.map, 0), 0);
    assert_int_equal(aq_coll_map_group(&team.map, 4), 1);
    assert_int_equal(aq_coll_map_group(&team.map, 3), 2);
    aq_coll_map_free(&team.map);
}

// The tables of a map are freed with it. The first map fills the caches of malloc.
static void test_map_memory(void **state)
{
    (void)state;
    static const uint32_t shuffled[] = {1, 0, 1, 2, 0, 1};
    size_t held = 0;
    for (unsigned i = 0; i < 100; i++) {
        held = i == 1 ? mallinfo2().uordblks : held;
        aq_coll_map_make(&team.map, 6, shuffled, 4);
        aq_coll_map_free(&team.map);
    }
    assert_int_equal(mallinfo2().uordblks, held);
}

// With a small payload, all other ranks of a neighbourhood are children of one rank.
static void test_shapes(void **state)
{
    (void)state;
    make_team(RANKS_MAX, 1, true);
    make_trees(aq_coll_shape(8, false), 3);
    assert_int_equal(team.tree[3].children, RANKS_MAX - 1);
    make_trees(aq_coll_shape(1 << 20, true), 3);
    assert_between(team.tree[3].children, 2, 64);
    aq_coll_map_free(&team.map);
    make_team(RANKS_MAX, RANKS_MAX, true);
    for (size_t bytes = 8; bytes <= 1 << 20; bytes *= 2)
        check_tree(aq_coll_shape(bytes, bytes % 3 == 1), 5);
    aq_coll_map_free(&team.map);
}

static void test_operators(void **state)
{
    (void)state;
    static const gex_DT_t reals[] = {GEX_DT_FLT, GEX_DT_DBL, GEX_DT_USER};
    static const gex_OP_t bits[] = {GEX_OP_AND, GEX_OP_OR, GEX_OP_XOR};
    static const gex_OP_t atomics[] = {GEX_OP_SUB, GEX_OP_INC,  GEX_OP_SET,
                                       GEX_OP_GET, GEX_OP_FADD, GEX_OP_USER};
    for (unsigned t = 0; t < 3; t++)
        for (unsigned o = 0; o < 3; o++)
            assert_null(aq_coll_operator(reals[t], bits[o]));
    for (unsigned o = 0; o < 6; o++)
        assert_null(aq_coll_operator(GEX_DT_I32, atomics[o]));
    assert_null(aq_coll_operator(GEX_DT_I32 | GEX_DT_U32, GEX_OP_ADD));
    assert_int_equal(aq_coll_type_size(GEX_DT_FLT), sizeof(float));
    assert_int_equal(aq_coll_type_size(GEX_DT_USER), 0);
    int32_t left[] = {INT32_MAX, -5, 7}, right[] = {1, 3, -8};
    aq_coll_operator(GEX_DT_I32, GEX_OP_ADD)(left, right, 3, NULL);
    assert_int_equal(right[0], INT32_MIN); // wraps
    assert_int_equal(right[1], -2);
    aq_coll_operator(GEX_DT_I32, GEX_OP_MIN)(left, right, 3, NULL);
    assert_int_equal(right[1], -5);
    assert_int_equal(right[2], -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),      cmocka_unit_test(test_map),
        cmocka_unit_test(test_map_memory), cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
