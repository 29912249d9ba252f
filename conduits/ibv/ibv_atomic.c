// Remote atomics by the device: fetch-and-add and compare-and-swap of 64 bits.
//
// Most devices are atomic only beside themselves (IBV_ATOMIC_HCA): what a processor does to the
// same memory at the same time may be lost. Theirs are not used, unless the user knows that no
// processor does (GASNET_IBV_ATOMICS=1), and then only where all operations are the device's, so
// that none goes to the target's processor. Whose atomics are atomic beside processors
// (IBV_ATOMIC_GLOB) mix with any. It is the device of the target that counts; it says so when it is
// connected.
#include "ibv_conduit.h"

#include <string.h>

#include "../../other/base/settings.h"

enum { BYTES = 8 };

aq_ibv_atomics_t aq_ibv_atomics_of(enum ibv_atomic_cap can)
{
    const char *wanted = aq_settings_text(AQ_SET_IBV_ATOMICS);
    if (can == IBV_ATOMIC_NONE || strcmp(wanted, "0") == 0)
        return AQ_IBV_ATOMICS_NONE;
    if (can == IBV_ATOMIC_GLOB)
        return AQ_IBV_ATOMICS_ALL;
    return strcmp(wanted, "1") == 0 ? AQ_IBV_ATOMICS_ALONE : AQ_IBV_ATOMICS_NONE;
}

// An operation with a buffer that takes the old value, wanted or not.
static aq_ibv_op_t *take(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link)
{
    aq_ibv_op_t *op = aq_ibv_op_take(ibv, link);
    if (op && !(op->buffer = aq_ibv_buffer_take(&ibv->bounces))) {
        aq_ibv_op_put(ibv, op);
        op = NULL;
    }
    return op;
}

aq_status_t aq_ibv_atomic(aq_conduit_t *conduit, void *pointer, const aq_atomic_t *atomic,
                          atomic_uint *pending)
{
    aq_ibv_conduit_t *ibv = aq_ibv_of(conduit);
    aq_ibv_peer_t *link = pointer;
    aq_ibv_hold_t there;
    if (link->atomics < (atomic->exclusive_ops ? AQ_IBV_ATOMICS_ALONE : AQ_IBV_ATOMICS_ALL) ||
        !aq_ibv_attached(ibv, link->rank, atomic->dest, BYTES, &there))
        return AQ_ERR_ABSENT;
    aq_ibv_op_t *op = take(ibv, link);
    if (!op && aq_ibv_reap(ibv))
        op = take(ibv, link);
    if (!op)
        return AQ_AGAIN;
    op->pending = pending;
    op->into = atomic->result;
    op->nbytes = BYTES;
    const aq_ibv_work_t work = {.op = op,
                                .opcode = atomic->kind == AQ_ATOMIC_CAS
                                              ? IBV_WR_ATOMIC_CMP_AND_SWP
                                              : IBV_WR_ATOMIC_FETCH_AND_ADD,
                                .local = op->buffer->bytes,
                                .nbytes = BYTES,
                                .local_key = ibv->slab_mr->lkey,
                                .remote = (uintptr_t)atomic->dest,
                                .remote_key = there.key,
                                .operand1 = atomic->operand1,
                                .operand2 = atomic->operand2};
    atomic_fetch_add_explicit(pending, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ibv->atomics_begun, 1, memory_order_relaxed);
    aq_ibv_post(ibv, link, &work, 1);
    return AQ_OK;
}
