// SPDX-License-Identifier: BSD-3-Clause
// Non-contiguous transfers: how sides are walked and merged, what packed messages contain, and how
// many messages are sent. A stub conduit counts the messages and keeps the latest one.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../core/am/am.h"
#include "../../../core/thread/event.h"
#include "../../../core/state/job.h"
#include "../../../core/endpoint/team.h"
#include "../../../core/ground/arg64.h"
#include "../../../extended/gasnet_vis.h"
#include "../../../extended/rma/layer_table.h"
#include "../../../extended/rma/pending.h"
#include "../../../extended/vis/vis_pieces.h"
#include "../../../extended/vis/vis_copy.h"
#include "../../../extended/vis/vis_pack.h"
#include "../../unit/random_below.h"

enum { RANKS = 2, FAR = 1, MEDIUM = 1024, RUN = sizeof(aq_vis_run_t), REMOTE = 1 << 20 };

static struct {
    unsigned sends, refusals;
    unsigned refuse_after; // after this many sends, the next one is refused once; 0: never
    unsigned of_handler[256];
    size_t payload; // in bytes, of all messages
    aq_am_t am;
    char message[MEDIUM];
    aq_cookie_t gets[8]; // the cookies of the messages of a get
} post;

static char memory[1 << 16];

static void keep_cookie_of_get(const aq_am_t *am)
{
    unsigned number = post.of_handler[AQ_HANDLER_VIS_GET] - 1;
    assert_true(number < 8);
    post.gets[number] = aq_join(am->args[2], am->args[3]);
}

static aq_status_t post_send(aq_conduit_t *conduit, void *link, const aq_am_t *am)
{
    (void)conduit, (void)link;
    if (post.refuse_after && post.sends == post.refuse_after) {
        post.refuse_after = 0;
        return AQ_AGAIN;
    }
    if (post.refusals) {
        post.refusals--;
        return AQ_AGAIN;
    }
    post.sends++;
    post.of_handler[am->handler]++;
    post.payload += am->nbytes;
    if (am->handler == AQ_HANDLER_VIS_GET)
        keep_cookie_of_get(am);
    post.am = *am;
    if (am->category == AQ_AM_MEDIUM) {
        assert_true(am->nbytes <= MEDIUM);
        memcpy(post.message, am->payload, am->nbytes);
    }
    return AQ_OK;
}

static unsigned post_poll(aq_conduit_t *conduit, unsigned what)
{
    (void)conduit, (void)what;
    return 0;
}

static int clear_post(void **state)
{
    (void)state;
    memset(&post, 0, sizeof post);
    return 0;
}

static int start_job(void **state)
{
    static const aq_conduit_ops_t ops = {
        .am = {.send = post_send, .poll = post_poll},
    };
    static aq_conduit_t conduit = {.ops = &ops};
    static _Atomic int32_t exit_word = AQ_BOOT_RUNNING;
    static aq_boot_t boot = {.size = RANKS, .exit_word = &exit_word};
    static atomic_uintptr_t links[RANKS] = {16, 32};
    static intptr_t shifts[RANKS] = {0, AQ_UNMAPPED};
    static uintptr_t addrs[RANKS], sizes[RANKS] = {REMOTE, REMOTE};
    addrs[0] = (uintptr_t)memory;
    addrs[1] = REMOTE;
    aq_job.boot = &boot;
    aq_job.size = RANKS;
    aq_job.link = links;
    aq_job.shift = shifts;
    aq_job.segment_addr = addrs;
    aq_job.segment_size = sizes;
    aq_job.conduits[0] = &conduit;
    aq_job.conduit_count = 1;
    aq_job.limits.medium = aq_job.limits.long_reply = aq_job.limits.long_unmapped = MEDIUM;
    aq_team.head = (struct gex_tm){.size = RANKS, .peer_shift = shifts};
    return clear_post(state);
}

static char *remote_addr(size_t offset)
{
    return (char *)(uintptr_t)(REMOTE + offset);
}

static aq_vis_side_t make_strided_side(char *addr, size_t elem, size_t levels,
                                       const ptrdiff_t *strides, const size_t *steps)
{
    return (aq_vis_side_t){.kind = AQ_VIS_STRIDED,
                           .list = strides,
                           .count = levels,
                           .nbytes = elem,
                           .addr = addr,
                           .steps = steps};
}

// ---- shapes ----

static void contiguous_levels_become_one_block(void **state)
{
    (void)state;
    const ptrdiff_t strides[] = {8, 80, 240};
    const size_t steps[] = {10, 3, 7};
    aq_vis_side_t side = make_strided_side(memory, 8, 3, strides, steps);
    aq_vis_shape_t shape;
    aq_vis_shape(&shape, &side, &side);
    assert_int_equal(shape.elem, 8 * 10 * 3 * 7);
    assert_int_equal(shape.dims, 0);
}

static void a_level_that_one_side_cannot_merge_stays(void **state)
{
    (void)state;
    const ptrdiff_t dense[] = {8, 80, 1000}, sparse[] = {16, 160, 2000};
    const size_t steps[] = {10, 3, 1};
    aq_vis_side_t a = make_strided_side(memory, 8, 3, dense, steps),
                  b = make_strided_side(memory, 8, 3, sparse, steps);
    aq_vis_shape_t shape;
    aq_vis_shape(&shape, &a, &b);
    assert_int_equal(shape.elem, 8);
    assert_int_equal(shape.dims, 1); // regular levels merge; one step is no level
    assert_int_equal(shape.dim[0].count, 30);
    assert_int_equal(shape.dim[0].stride[0], 8);
    assert_int_equal(shape.dim[0].stride[1], 16);
}

static void a_level_without_steps_is_empty(void **state)
{
    (void)state;
    const ptrdiff_t strides[] = {8, 80};
    const size_t steps[] = {10, 0};
    aq_vis_side_t side = make_strided_side(memory, 8, 2, strides, steps);
    aq_vis_cursor_t cursor;
    aq_vis_cursor_start(&cursor, &side);
    assert_int_equal(cursor.left, 0);
    assert_int_equal(aq_vis_side_bytes(&side), 0);
}

// ---- cursors ----

static void a_cursor_walks_backwards_and_transposed(void **state)
{
    (void)state;
    const ptrdiff_t strides[] = {100, -10};
    const size_t steps[] = {2, 3};
    static const int expected[] = {50, 150, 40, 140, 30, 130};
    aq_vis_side_t side = make_strided_side(memory + 50, 4, 2, strides, steps);
    aq_vis_cursor_t cursor;
    aq_vis_cursor_start(&cursor, &side);
    for (unsigned i = 0; i < 6; i++) {
        assert_ptr_equal(cursor.at, memory + expected[i]);
        assert_int_equal(cursor.left, 4);
        aq_vis_cursor_skip(&cursor, 1);
        assert_ptr_equal(cursor.at, memory + expected[i] + 1);
        aq_vis_cursor_skip(&cursor, 3);
    }
    assert_int_equal(cursor.left, 0);
}

static void a_cursor_leaves_out_empty_pieces(void **state)
{
    (void)state;
    gex_Memvec_t list[] = {{memory, 0}, {memory + 8, 3}, {NULL, 0}, {memory + 1, 1}, {NULL, 0}};
    aq_vis_side_t side = {.kind = AQ_VIS_VECTOR, .list = list, .count = 5};
    aq_vis_cursor_t cursor;
    aq_vis_cursor_start(&cursor, &side);
    assert_ptr_equal(cursor.at, memory + 8);
    aq_vis_cursor_skip(&cursor, 3);
    assert_ptr_equal(cursor.at, memory + 1);
    aq_vis_cursor_skip(&cursor, 1);
    assert_int_equal(cursor.left, 0);
}

// ---- packing ----

static void regular_pieces_are_one_run(void **state)
{
    (void)state;
    char out[10 * RUN];
    aq_vis_pack_t pack = {.out = out, .limit = sizeof out};
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(aq_vis_pack_add(&pack, memory + 1000 - 24 * i, 8), 8);
    assert_int_equal(pack.runs, 1);
    assert_int_equal(aq_vis_pack_add(&pack, memory + 1, 2), 2);
    assert_int_equal(aq_vis_pack_add(&pack, memory + 3, 2), 2); // continues the piece before
    aq_vis_pack_end(&pack);
    assert_int_equal(pack.runs, 2);
    assert_int_equal(pack.nbytes, 164);
    aq_vis_run_t runs[2];
    memcpy(runs, out, sizeof runs);
    assert_int_equal(runs[0].count, 20);
    assert_int_equal(runs[0].stride, -24);
    assert_int_equal(runs[1].count, 1);
    assert_int_equal(runs[1].nbytes, 4);
}

static void runs_and_data_share_the_message(void **state)
{
    (void)state;
    char out[RUN * 2];
    aq_vis_pack_t put = {.out = out, .limit = RUN * 2, .together = true};
    assert_int_equal(aq_vis_pack_add(&put, memory, 1000), RUN);
    assert_int_equal(aq_vis_pack_add(&put, memory + 5000, 1), 0);
    aq_vis_pack_t get = {.out = out, .limit = RUN * 2};
    assert_int_equal(aq_vis_pack_add(&get, memory, 1), 1);
    assert_int_equal(aq_vis_pack_add(&get, memory + 5000, 1000), 2 * RUN - 1);
    assert_int_equal(aq_vis_pack_add(&get, memory, 1), 0);
}

static void unpack_puts_back_what_repack_took(void **state)
{
    (void)state;
    const aq_vis_run_t runs[] = {{(uintptr_t)(memory + 900), -30, 5, 7},
                                 {(uintptr_t)(memory + 2000), 0, 100, 1}};
    char before[4096], data[135];
    for (size_t i = 0; i < sizeof before; i++)
        before[i] = memory[i] = (char)(i * 7 + i / 256);
    aq_vis_repack((const char *)runs, 2, data);
    assert_memory_equal(data, before + 900, 5);
    assert_memory_equal(data + 5, before + 870, 5);
    assert_memory_equal(data + 35, before + 2000, 100);
    memset(memory, 0, sizeof before);
    aq_vis_unpack((const char *)runs, 2, data);
    assert_memory_equal(memory + 720, before + 720, 5);
    assert_memory_equal(memory + 2000, before + 2000, 100);
    assert_int_equal(memory[905], 0);
}

// A grid of up to 3 levels in `memory`.
typedef struct grid {
    size_t steps[3];
    ptrdiff_t strides[3];
    aq_vis_side_t side;
    size_t nbytes;
} grid_t;

static void grid_choose(grid_t *grid, uint64_t *seed)
{
    const size_t elem = 1 + random_below(seed, 9), levels = random_below(seed, 4);
    ptrdiff_t least = (ptrdiff_t)elem, low = 0;
    for (size_t i = 0; i < levels; i++) {
        grid->steps[i] = 1 + random_below(seed, 6);
        grid->strides[i] = least + (ptrdiff_t)random_below(seed, 3);
        least = grid->strides[i] * (ptrdiff_t)grid->steps[i];
        if (random_below(seed, 4) == 0) {
            grid->strides[i] = -grid->strides[i];
            low += least;
        }
    }
    grid->side = make_strided_side(memory + low, elem, levels, grid->strides, grid->steps);
    grid->nbytes = aq_vis_side_bytes(&grid->side);
}

// The bytes of a grid, one after the other.
static void grid_read(const grid_t *grid, char *out)
{
    aq_vis_cursor_t cursor;
    for (aq_vis_cursor_start(&cursor, &grid->side); cursor.left; aq_vis_cursor_skip(&cursor, 1))
        *out++ = *cursor.at;
}

static void memory_fill(uint64_t *seed)
{
    for (size_t i = 0; i < sizeof memory; i++)
        memory[i] = (char)random_below(seed, 256);
}

static void rows_are_copied_as_single_bytes_are(void **state)
{
    (void)state;
    static char wanted[1 << 14], got[1 << 14];
    uint64_t seed = 25;
    for (unsigned round = 0; round < 3000; round++) {
        grid_t grid;
        aq_vis_cursor_t from, to;
        if (round % 100 == 0)
            memory_fill(&seed);
        grid_choose(&grid, &seed);
        grid_read(&grid, wanted);
        aq_vis_cursor_start(&from, &grid.side);
        for (size_t at = 0, n; at < grid.nbytes; at += n) {
            n = 1 + random_below(&seed, (unsigned)(grid.nbytes - at));
            aq_vis_gather(got + at, &from, n);
        }
        assert_memory_equal(got, wanted, grid.nbytes);
        for (size_t i = 0; i < grid.nbytes; i++)
            got[i] = (char)~got[i];
        aq_vis_cursor_start(&to, &grid.side);
        for (size_t at = 0, n; at < grid.nbytes; at += n) {
            n = 1 + random_below(&seed, (unsigned)(grid.nbytes - at));
            aq_vis_scatter(&to, got + at, n);
        }
        grid_read(&grid, wanted);
        assert_memory_equal(got, wanted, grid.nbytes);
    }
}

// The rows of a grid in runs that fit into `limit` bytes, with their data or without.
static void rows_pack(grid_t *grid, size_t limit, bool together)
{
    static char wanted[1 << 14], data[1 << 14], out[1 << 12];
    aq_vis_cursor_t cursor;
    size_t packed = 0, rows;
    ptrdiff_t stride;
    grid_read(grid, wanted);
    aq_vis_cursor_start(&cursor, &grid->side);
    while (cursor.left) {
        aq_vis_pack_t pack = {.out = out, .limit = limit, .together = together};
        while (cursor.left) {
            const size_t most = aq_vis_cursor_rows(&cursor, &stride);
            rows = most ? aq_vis_pack_add_rows(&pack, cursor.at, cursor.left, stride, most) : 0;
            const size_t n = rows ? 0 : aq_vis_pack_add(&pack, cursor.at, cursor.left);
            if (rows)
                aq_vis_cursor_skip_rows(&cursor, rows);
            else if (n)
                aq_vis_cursor_skip(&cursor, n);
            else
                break;
        }
        aq_vis_pack_end(&pack);
        assert_true(pack.nbytes > 0);
        assert_true(pack.runs * RUN + (together ? pack.nbytes : 0) <= limit);
        assert_true(pack.nbytes <= limit);
        aq_vis_repack(out, pack.runs, data + packed);
        packed += pack.nbytes;
    }
    assert_int_equal(packed, grid->nbytes);
    assert_memory_equal(data, wanted, packed);
}

static void rows_are_packed_as_pieces_are(void **state)
{
    (void)state;
    uint64_t seed = 26;
    memory_fill(&seed);
    for (unsigned round = 0; round < 3000; round++) {
        grid_t grid;
        grid_choose(&grid, &seed);
        rows_pack(&grid, RUN + 20 + random_below(&seed, 1000), round % 2);
    }
}

// 8 rows of 4 bytes that follow each other at a distance of 10.
static void rows_are_one_run(void **state)
{
    (void)state;
    char out[2 * RUN];
    aq_vis_pack_t pack = {.out = out, .limit = 2 * RUN, .together = true};
    assert_int_equal(aq_vis_pack_add_rows(&pack, memory, 4, 10, 1), 0);
    assert_int_equal(pack.runs, 0);
    assert_int_equal(aq_vis_pack_add_rows(&pack, memory, 4, 10, 8), RUN / 4);
    assert_int_equal(pack.runs, 1);
    assert_int_equal(pack.nbytes, RUN);
    assert_int_equal(aq_vis_pack_add_rows(&pack, memory + 60, 4, 10, 2), 0); // no room
}

typedef struct wrong {
    aq_vis_run_t run;
    uint32_t runs;
    size_t size;
    const char *says;
} wrong_t;

static void a_wrong_message_is_described(void **state)
{
    (void)state;
    static const wrong_t wrongs[] = {
        {{100, 0, 8, 1}, 2, RUN, "the list of runs is cut off"},
        {{100, 0, 8, 1}, 1, RUN - 1, "the list of runs is cut off"},
        {{100, 0, 0, 1}, 1, RUN, "a run is empty"},
        {{100, 0, 8, 0}, 1, RUN, "a run is empty"},
        {{99, 0, 8, 1}, 1, RUN, "a run is not inside the segment"},
        {{1093, 0, 8, 1}, 1, RUN, "a run is not inside the segment"},
        {{100, 100, 8, 11}, 1, RUN, "a run is not inside the segment"},
        {{200, -51, 8, 3}, 1, RUN, "a run is not inside the segment"},
        {{100, 1001, 8, 2}, 1, RUN, "a run is longer than the segment"},
        {{100, INT64_MIN, 8, 2}, 1, RUN, "a run is longer than the segment"},
        {{100, INT64_MAX, 8, 3}, 1, RUN, "a run goes beyond all addresses"},
        {{100, 0, 500, 5}, 1, RUN, "the runs name more bytes than a message holds"}};
    size_t nbytes;
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        const aq_vis_message_t message = {(const char *)&wrongs[i].run, wrongs[i].size,
                                          wrongs[i].runs};
        const char *says = aq_vis_pack_check(&message, 100, 1000, 2000, &nbytes);
        assert_non_null(says);
        assert_string_equal(says, wrongs[i].says);
    }
    const aq_vis_run_t right = {1092, -124, 8, 9};
    const aq_vis_message_t message = {(const char *)&right, RUN, 1};
    assert_null(aq_vis_pack_check(&message, 100, 1000, 72, &nbytes));
    assert_int_equal(nbytes, 72);
}

// ---- messages ----

static unsigned count_pending(void)
{
    return atomic_load(&aq_thread_nbi()->part[AQ_PART_PUT].pending) +
           atomic_load(&aq_thread_nbi()->part[AQ_PART_GET].pending);
}

static void forget_pending(void)
{
    atomic_store(&aq_thread_nbi()->part[AQ_PART_PUT].pending, 0);
    atomic_store(&aq_thread_nbi()->part[AQ_PART_GET].pending, 0);
}

static const ptrdiff_t dense[] = {8}, sparse[] = {64};

static void a_strided_put_fills_its_messages(void **state)
{
    (void)state;
    const size_t one_message[] = {(MEDIUM - RUN) / 8}, steps[] = {500};
    gex_VIS_StridedPutNBI(&aq_team.head, FAR, remote_addr(0), sparse, memory, dense, 8, one_message,
                          1, 0);
    assert_int_equal(post.sends, 1);
    assert_int_equal(post.payload, MEDIUM);
    assert_int_equal(post.am.handler, AQ_HANDLER_VIS_PUT);
    clear_post(NULL);
    gex_VIS_StridedPutNBI(&aq_team.head, FAR, remote_addr(0), sparse, memory, dense, 8, steps, 1,
                          0);
    assert_int_equal(post.sends, 4); // 4000 bytes, 1000 in each message beside its run
    assert_int_equal(post.payload, 4000 + 4 * RUN);
    assert_int_equal(count_pending(), 5);
    forget_pending();
}

static void a_get_asks_for_full_messages(void **state)
{
    (void)state;
    const size_t steps[] = {512};
    gex_VIS_StridedGetNBI(&aq_team.head, memory, dense, FAR, remote_addr(0), sparse, 8, steps, 1,
                          0);
    assert_int_equal(post.of_handler[AQ_HANDLER_VIS_GET], 4);
    assert_int_equal(post.payload, 4 * RUN);
    assert_int_equal(count_pending(), 4);
    forget_pending();
    const aq_arrival_t answer = {.source = FAR};
    struct aq_token token = {.arrival = &answer};
    for (unsigned i = 0; i < 4; i++)
        free(aq_pending_end(AQ_PENDING_VIS_GET, &token, post.gets[i]).context);
}

static void a_large_piece_is_a_put_of_its_own(void **state)
{
    (void)state;
    gex_Memvec_t there[] = {
        {remote_addr(0), 10}, {remote_addr(100), 3000}, {remote_addr(4000), 10}};
    gex_Memvec_t here = {memory, 3020};
    gex_VIS_VectorPutNBI(&aq_team.head, FAR, 3, there, 1, &here, 0);
    assert_int_equal(post.of_handler[AQ_HANDLER_VIS_PUT], 2);
    assert_int_equal(post.of_handler[AQ_HANDLER_PUT], 3);
    assert_int_equal(post.sends, 5);
    forget_pending();
}

static void only_the_first_message_may_be_refused(void **state)
{
    (void)state;
    const size_t steps[] = {500};
    post.refusals = 1;
    assert_int_not_equal(gex_VIS_StridedPutNBI(&aq_team.head, FAR, remote_addr(0), sparse, memory,
                                               dense, 8, steps, 1, GEX_FLAG_IMMEDIATE),
                         0);
    post.refusals = 1;
    assert_ptr_equal(gex_VIS_StridedGetNB(&aq_team.head, memory, dense, FAR, remote_addr(0), sparse,
                                          8, steps, 1, GEX_FLAG_IMMEDIATE),
                     GEX_EVENT_NO_OP);
    assert_int_equal(post.sends, 0);
    assert_int_equal(count_pending(), 0);
    post.refuse_after = 2;
    assert_int_equal(gex_VIS_StridedPutNBI(&aq_team.head, FAR, remote_addr(0), sparse, memory,
                                           dense, 8, steps, 1, GEX_FLAG_IMMEDIATE),
                     0);
    assert_int_equal(post.sends, 4);
    assert_int_equal(count_pending(), 4);
    forget_pending();
}

static void nothing_is_sent_if_memory_is_mapped(void **state)
{
    (void)state;
    const size_t steps[] = {3};
    memcpy(memory, "aaaaaaaabbbbbbbbcccccccc", 24);
    assert_ptr_equal(gex_VIS_StridedPutNB(&aq_team.head, 0, memory + 1000, sparse, memory, dense, 8,
                                          steps, 1, 0),
                     GEX_EVENT_INVALID);
    assert_int_equal(post.sends, 0);
    assert_memory_equal(memory + 1128, "cccccccc", 8);
}

static void the_notice_follows_the_pieces(void **state)
{
    (void)state;
    const size_t steps[] = {3};
    char text[] = "text";
    gex_VIS_SetPeerCompletionHandler(200, text, 4, 0);
    gex_VIS_StridedPutNBI(&aq_team.head, FAR, remote_addr(0), sparse, memory, dense, 8, steps, 1,
                          0);
    assert_int_equal(post.sends, 1);
    assert_int_equal(post.of_handler[AQ_HANDLER_VIS_NOTICE], 0);
    assert_int_equal(count_pending(), 1);
    forget_pending();
    gex_VIS_SetPeerCompletionHandler(201, text, 4, 0);
    gex_VIS_StridedPutNB(&aq_team.head, 0, memory + 1000, sparse, memory, dense, 8, steps, 1, 0);
    assert_int_equal(post.of_handler[AQ_HANDLER_VIS_NOTICE], 1);
    assert_memory_equal(post.message, "text", 4);
    gex_VIS_StridedPutNB(&aq_team.head, 0, memory + 1000, sparse, memory, dense, 8, steps, 1, 0);
    // A handler is set for one put only.
    assert_int_equal(post.of_handler[AQ_HANDLER_VIS_NOTICE], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(contiguous_levels_become_one_block, clear_post),
        cmocka_unit_test_setup(a_level_that_one_side_cannot_merge_stays, clear_post),
        cmocka_unit_test_setup(a_level_without_steps_is_empty, clear_post),
        cmocka_unit_test_setup(a_cursor_walks_backwards_and_transposed, clear_post),
        cmocka_unit_test_setup(a_cursor_leaves_out_empty_pieces, clear_post),
        cmocka_unit_test_setup(regular_pieces_are_one_run, clear_post),
        cmocka_unit_test_setup(runs_and_data_share_the_message, clear_post),
        cmocka_unit_test_setup(unpack_puts_back_what_repack_took, clear_post),
        cmocka_unit_test_setup(rows_are_copied_as_single_bytes_are, clear_post),
        cmocka_unit_test_setup(rows_are_packed_as_pieces_are, clear_post),
        cmocka_unit_test_setup(rows_are_one_run, clear_post),
        cmocka_unit_test_setup(a_wrong_message_is_described, clear_post),
        cmocka_unit_test_setup(a_strided_put_fills_its_messages, clear_post),
        cmocka_unit_test_setup(a_get_asks_for_full_messages, clear_post),
        cmocka_unit_test_setup(a_large_piece_is_a_put_of_its_own, clear_post),
        cmocka_unit_test_setup(only_the_first_message_may_be_refused, clear_post),
        cmocka_unit_test_setup(nothing_is_sent_if_memory_is_mapped, clear_post),
        cmocka_unit_test_setup(the_notice_follows_the_pieces, clear_post),
    };
    return cmocka_run_group_tests(tests, start_job, NULL);
}
