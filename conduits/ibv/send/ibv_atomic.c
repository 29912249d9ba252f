// SPDX-License-Identifier: BSD-3-Clause
// Turns an atomic into a work request, or returns AQ_ERR_ABSENT, so that the core sends a message
// to the target. ibv_table.c calls it.
#include "ibv_atomic.h"
#include "../verbs/ibv_profile.h"

#include <string.h>

#include "../../../other/base/settings/settings.h"

enum { BYTES = 8 };

aq_ibv_atomics_t aq_ibv_atomics_of(enum ibv_atomic_cap can)
{
    const char *wanted = aq_setting_text(aq_ibv_setting(IBV_SET_ATOMICS));
    if (can == IBV_ATOMIC_NONE || strcmp(wanted, "0") == 0)
        return AQ_IBV_ATOMICS_NONE;
    if (can == IBV_ATOMIC_GLOB)
        return AQ_IBV_ATOMICS_ALL;
    return strcmp(wanted, "1") == 0 ? AQ_IBV_ATOMICS_EXCLUSIVE : AQ_IBV_ATOMICS_NONE;
}

aq_status_t aq_ibv_atomic(aq_ibv_atomic_path_t *path, aq_ibv_peer_t *link,
                          const aq_atomic_t *atomic, atomic_uint *pending)
{
    aq_ibv_hold_t there;
    if (link->atomics < (atomic->exclusive_ops ? AQ_IBV_ATOMICS_EXCLUSIVE : AQ_IBV_ATOMICS_ALL) ||
        !aq_ibv_keys_attached(path->keys, link->rank, atomic->dest, BYTES, &there))
        return AQ_ERR_ABSENT;
    // The buffer takes the old value, wanted or not.
    aq_ibv_op_t *op = aq_ibv_op_take_or_reap(path->queue, link, &path->buffers->bounces);
    if (!op)
        return AQ_AGAIN;
    op->pending = pending;
    op->into = atomic->result;
    op->nbytes = BYTES;
    aq_ibv_work_t *work = &op->work;
    aq_ibv_work_local(work, op->buffer->bytes, BYTES, path->buffers->slab_mr->lkey);
    work->wr.opcode =
        atomic->kind == AQ_ATOMIC_CAS ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
    work->wr.wr.atomic.remote_addr = (uintptr_t)atomic->dest;
    work->wr.wr.atomic.rkey = there.key;
    work->wr.wr.atomic.compare_add = atomic->operand1;
    work->wr.wr.atomic.swap = atomic->operand2;
    atomic_fetch_add_explicit(pending, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&path->begun, 1, memory_order_relaxed);
    aq_ibv_post(path->queue, op);
    return AQ_OK;
}
