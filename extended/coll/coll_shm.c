// SPDX-License-Identifier: BSD-3-Clause
// The boards of a team: their start and end, turns, and the memory of other ranks.
#include "coll_shm.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/record/counters.h"
#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"
#include "../../other/base/minmax.h"
#include "../../other/base/settings/settings.h"
#include "../../other/base/size.h"

enum { LOOKS = 40 };

// ---- start and end ----

static uint32_t count_processors(void)
{
    const uint32_t all = aq_job.boot->processors;
    return all ? all : aq_size_processors();
}

aq_board_t *aq_board_new(const aq_team_t *team, void *const *areas)
{
    const uint32_t size = team->head.size;
    aq_board_t *board = aq_allocate_zeroed(1, sizeof *board + size * sizeof *board->member,
                                           "the collectives of a team");
    board->size = size;
    board->rank = team->head.rank;
    board->combiners = aq_min(size, count_processors());
    board->looks = aq_job.host.size <= count_processors() ? LOOKS : 1;
    for (uint32_t r = 0; r < size; r++)
        board->member[r] =
            (aq_board_member_t){areas[r], aq_index_in_nbrhd(&aq_job.env, aq_team_jobrank(team, r))};
    atomic_store_explicit(&board->member[board->rank].area->lookers, size, memory_order_relaxed);
    return board;
}

void aq_board_free(aq_board_t *board)
{
    for (uint32_t r = 0; board && r < board->size; r++)
        atomic_fetch_add_explicit(&board->member[r].area->left, 1, memory_order_release);
    free(board);
}

bool aq_board_reset(void *memory)
{
    aq_area_t *area = memory;
    if (atomic_load_explicit(&area->left, memory_order_acquire) !=
        atomic_load_explicit(&area->lookers, memory_order_relaxed))
        return false;
    memset(area, 0, offsetof(aq_area_t, far));
    return true;
}

// ---- turns ----

void aq_board_join(aq_coll_op_t *op, size_t nbytes, bool all_post)
{
    op->post.phase = ++op->coll->board->phases;
    op->post.is_far = nbytes > AQ_POST_NEAR;
    op->post.index = nbytes && nbytes <= AQ_POST_SMALL && !all_post
                         ? AQ_BOARD_POSTS + op->post.phase % AQ_BOARD_MORE
                         : op->post.phase % AQ_BOARD_POSTS;
}

bool aq_board_room_look(aq_board_t *board, uint32_t before)
{
    uint32_t all_done = board->completed;
    for (uint32_t r = 0; r < board->size; r++) {
        const uint32_t done =
            atomic_load_explicit(&board->member[r].area->done, memory_order_acquire);
        if ((int32_t)(done - before) < 0)
            return false;
        if ((int32_t)(done - all_done) < 0)
            all_done = done;
    }
    board->all_done = all_done;
    return true;
}

void aq_board_wake(void)
{
    aq_conduit_wake(aq_job.conduits[0], true);
}

void aq_board_publish(const aq_coll_op_t *op)
{
    aq_board_t *board = op->coll->board;
    if (op->post.is_far)
        *(op->post.index < AQ_BOARD_POSTS ? &board->last_large : &board->last_small) =
            op->post.phase;
    atomic_store_explicit(&aq_board_post(op, board->rank)->phase, op->post.phase,
                          memory_order_release);
    aq_board_wake();
}

static void done_store(const aq_coll_op_t *op)
{
    atomic_store_explicit(&aq_board_area(op, op->coll->board->rank)->done, op->post.phase,
                          memory_order_release);
}

void aq_board_tell_done(const aq_coll_op_t *op)
{
    done_store(op);
    aq_board_wake();
}

void aq_board_complete(const aq_coll_op_t *op, bool all)
{
    aq_board_t *board = op->coll->board;
    board->completed = op->post.phase;
    if (all && (int32_t)(op->post.phase - 1 - board->all_done) > 0)
        board->all_done = op->post.phase - 1;
}

void aq_board_end(const aq_coll_op_t *op)
{
    done_store(op);
    aq_board_complete(op, true);
}

// ---- the memory of other ranks ----

const void *aq_board_see(const aq_coll_op_t *op, uint32_t rank, uint64_t address, void *room,
                         size_t nbytes)
{
    const void *mapped = aq_process_mapped(aq_team_jobrank(op->coll->team, rank), address, nbytes);
    if (mapped)
        return mapped;
    const int32_t process = aq_process_of(op->coll->board->member[rank].neighbour);
    return process > 0 && aq_cma_read(process, address, room, nbytes) ? room : NULL;
}

void aq_board_count(const aq_coll_op_t *op, uint32_t rank, size_t nbytes)
{
    if (rank != op->coll->board->rank)
        aq_count_bytes_to(aq_team_jobrank(op->coll->team, rank), AQ_COUNT_COLL, AQ_COUNT_COLL_BYTES,
                          nbytes);
}

bool aq_board_reads_all(aq_board_t *board)
{
    uint32_t r = aq_settings_bool(AQ_SET_PSHM_COPY) ? 0 : board->size;
    const bool allowed = r == 0;
    while (r < board->size && (r == board->rank || aq_process_of(board->member[r].neighbour) > 0))
        r++;
    return allowed && r == board->size;
}
