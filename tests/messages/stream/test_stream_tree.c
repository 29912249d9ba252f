// SPDX-License-Identifier: BSD-3-Clause
// Trees of streams: random trees are accepted, and each place in them is right; trees with one
// mistake are refused, with the rank that has made it.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <string.h>

#include "../../../messages/stream/stream_tree.h"
#include "../../unit/random_below.h"

enum { SIZE = 40, TREES = 500 };

static gex_Rank_t parents[SIZE], place[SIZE];
static uint64_t random_state = 1;

// A random tree of the ranks but a few, which are absent. Parents come before their children in a
// random order of the ranks.
static void tree_make(void)
{
    for (unsigned i = 0; i < SIZE; i++)
        place[i] = i;
    for (unsigned i = 0; i < SIZE; i++) {
        const unsigned k = i + random_below(&random_state, SIZE - i);
        const gex_Rank_t rank = place[k];
        place[k] = place[i];
        place[i] = rank;
        parents[rank] = i ? place[random_below(&random_state, i)] : GASNETX_STREAM_ROOT;
    }
    for (unsigned i = SIZE - 5; i < SIZE; i++) // the last ones
        parents[place[i]] = GASNETX_STREAM_ABSENT;
    for (unsigned i = 1; i < SIZE - 5; i++)
        if (parents[parents[place[i]]] == GASNETX_STREAM_ABSENT)
            parents[place[i]] = place[0];
}

static void place_check(gex_Rank_t rank)
{
    gasnetx_stream_info_t info;
    gex_Rank_t children = 0, lower = 0, steps = 0;
    aq_stream_tree_place(parents, SIZE, rank, &info);
    for (gex_Rank_t other = 0; other < SIZE; other++) {
        children += parents[other] == rank;
        lower += other < rank && parents[other] != GASNETX_STREAM_ABSENT;
    }
    for (gex_Rank_t at = rank; parents[at] != GASNETX_STREAM_ROOT; at = parents[at])
        steps++;
    assert_int_equal(info.root, place[0]);
    assert_int_equal(info.parent, parents[rank]);
    assert_int_equal(info.members, SIZE - 5);
    assert_int_equal(info.place, lower);
    assert_int_equal(info.child_count, children);
    assert_int_equal(info.depth, steps);
    assert_int_equal(info.height > 0, children > 0);
}

static void test_random(void **state)
{
    gex_Rank_t culprit;
    (void)state;
    for (unsigned i = 0; i < TREES; i++) {
        tree_make();
        assert_null(aq_stream_tree_check(parents, SIZE, &culprit));
        for (unsigned k = 0; k < SIZE - 5; k++)
            place_check(place[k]);
    }
}

static void mistake_check(gex_Rank_t rank, gex_Rank_t parent, const char *why)
{
    gex_Rank_t culprit = 0;
    const gex_Rank_t right = parents[rank];
    parents[rank] = parent;
    const char *found = aq_stream_tree_check(parents, SIZE, &culprit);
    assert_non_null(found);
    assert_non_null(strstr(found, why));
    if (!strstr(why, "circle") && !strstr(why, "second"))
        assert_int_equal(culprit, rank);
    parents[rank] = right;
}

static void test_mistakes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TREES; i++) {
        tree_make();
        const gex_Rank_t rank = place[1 + random_below(&random_state, SIZE - 6)];
        mistake_check(rank, SIZE, "not in the team");
        mistake_check(rank, rank, "itself");
        mistake_check(rank, place[SIZE - 1], "no part");
        mistake_check(rank, GASNETX_STREAM_ROOT, "second root");
        mistake_check(place[0], rank, "circle");
    }
}

// Each k-ary tree is a tree; an inner rank has at most k children.
static void test_arity(void **state)
{
    (void)state;
    for (gex_Rank_t arity = 0; arity < 6; arity++)
        for (gex_Rank_t root = 0; root < SIZE; root++) {
            gasnetx_stream_info_t info;
            gex_Rank_t culprit;
            for (gex_Rank_t rank = 0; rank < SIZE; rank++)
                parents[rank] = gasnetx_Stream_TreeParent(rank, SIZE, root, arity);
            assert_null(aq_stream_tree_check(parents, SIZE, &culprit));
            for (gex_Rank_t rank = 0; rank < SIZE; rank++) {
                aq_stream_tree_place(parents, SIZE, rank, &info);
                assert_int_equal(info.root, root);
                assert_true(info.child_count <= (arity ? arity : 1));
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_arity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
