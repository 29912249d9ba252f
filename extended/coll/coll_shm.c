// SPDX-License-Identifier: BSD-3-Clause
// The shared memory of a team: its start and end, turns, and the memory of other ranks.
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

aq_shm_t *aq_shm_new(const aq_team_t *team, void *const *areas)
{
    const uint32_t size = team->head.size;
    aq_shm_t *shm = aq_allocate_zeroed(1, sizeof *shm + size * sizeof *shm->member,
                                       "the collectives of a team");
    shm->size = size;
    shm->rank = team->head.rank;
    shm->combiners = aq_min(size, count_processors());
    shm->looks = aq_job.host.size <= count_processors() ? LOOKS : 1;
    for (uint32_t r = 0; r < size; r++)
        shm->member[r] =
            (aq_shm_member_t){areas[r], aq_index_in_nbrhd(&aq_job.env, aq_team_jobrank(team, r))};
    atomic_store_explicit(&shm->member[shm->rank].area->lookers, size, memory_order_relaxed);
    return shm;
}

void aq_shm_free(aq_shm_t *shm)
{
    for (uint32_t r = 0; shm && r < shm->size; r++)
        atomic_fetch_add_explicit(&shm->member[r].area->left, 1, memory_order_release);
    free(shm);
}

bool aq_shm_reset(void *memory)
{
    aq_area_t *area = memory;
    if (atomic_load_explicit(&area->left, memory_order_acquire) !=
        atomic_load_explicit(&area->lookers, memory_order_relaxed))
        return false;
    memset(area, 0, offsetof(aq_area_t, far));
    return true;
}

// ---- turns ----

void aq_shm_join(aq_coll_op_t *op, size_t nbytes, bool all_post)
{
    op->post.phase = ++op->coll->shm->phases;
    op->post.is_far = nbytes > AQ_POST_NEAR;
    op->post.index = nbytes && nbytes <= AQ_POST_SMALL && !all_post
                         ? AQ_SHM_POSTS + op->post.phase % AQ_SHM_MORE
                         : op->post.phase % AQ_SHM_POSTS;
}

bool aq_shm_room_look(aq_shm_t *shm, uint32_t before)
{
    uint32_t all_done = shm->completed;
    for (uint32_t r = 0; r < shm->size; r++) {
        const uint32_t done =
            atomic_load_explicit(&shm->member[r].area->done, memory_order_acquire);
        if ((int32_t)(done - before) < 0)
            return false;
        if ((int32_t)(done - all_done) < 0)
            all_done = done;
    }
    shm->all_done = all_done;
    return true;
}

void aq_shm_wake(void)
{
    aq_conduit_wake(aq_job.conduits[0], true);
}

void aq_shm_publish(const aq_coll_op_t *op)
{
    aq_shm_t *shm = op->coll->shm;
    if (op->post.is_far)
        *(op->post.index < AQ_SHM_POSTS ? &shm->last_large : &shm->last_small) = op->post.phase;
    atomic_store_explicit(&aq_shm_post(op, shm->rank)->phase, op->post.phase, memory_order_release);
    aq_shm_wake();
}

static void done_store(const aq_coll_op_t *op)
{
    atomic_store_explicit(&aq_shm_area(op, op->coll->shm->rank)->done, op->post.phase,
                          memory_order_release);
}

void aq_shm_tell_done(const aq_coll_op_t *op)
{
    done_store(op);
    aq_shm_wake();
}

void aq_shm_complete(const aq_coll_op_t *op, bool all)
{
    aq_shm_t *shm = op->coll->shm;
    shm->completed = op->post.phase;
    if (all && (int32_t)(op->post.phase - 1 - shm->all_done) > 0)
        shm->all_done = op->post.phase - 1;
}

void aq_shm_end(const aq_coll_op_t *op)
{
    done_store(op);
    aq_shm_complete(op, true);
}

// ---- the memory of other ranks ----

const void *aq_shm_see(const aq_coll_op_t *op, uint32_t rank, uint64_t address, void *room,
                       size_t nbytes)
{
    const void *mapped = aq_process_mapped(aq_team_jobrank(op->coll->team, rank), address, nbytes);
    if (mapped)
        return mapped;
    const int32_t process = aq_process_of(op->coll->shm->member[rank].neighbour);
    return process > 0 && aq_cma_read(process, address, room, nbytes) ? room : NULL;
}

void aq_shm_count(const aq_coll_op_t *op, uint32_t rank, size_t nbytes)
{
    if (rank != op->coll->shm->rank)
        aq_count_bytes_to(aq_team_jobrank(op->coll->team, rank), AQ_COUNT_COLL, AQ_COUNT_COLL_BYTES,
                          nbytes);
}

bool aq_shm_reads_all(aq_shm_t *shm)
{
    uint32_t r = aq_settings_bool(AQ_SET_PSHM_COPY) ? 0 : shm->size;
    const bool allowed = r == 0;
    while (r < shm->size && (r == shm->rank || aq_process_of(shm->member[r].neighbour) > 0))
        r++;
    return allowed && r == shm->size;
}
