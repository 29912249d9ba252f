// SPDX-License-Identifier: BSD-3-Clause
// The pool of operations, their begin (ofi_rma_post.c), and their end, which ofi_poll.c reports.
#include "ofi_rma_op.h"

#include <stdlib.h>
#include <string.h>

#include "../../../core/ground/fatal.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"

enum { OPS_MADE = 64 }; // at a time

ofi_rma_state_t *ofi_rma_state_new(ofi_conduit_t *ofi)
{
    ofi_rma_state_t *state = calloc(1, sizeof *state);
    if (!state) {
        aq_log_error("out of memory for put and get of conduit ofi (%zu bytes)", sizeof *state);
        return NULL;
    }
    state->keys.env = ofi->base.env;
    state->keys.fabric = &ofi->fabric;
    state->most = (unsigned)aq_max(ofi->fabric.traits.sends_most / 4, (size_t)1);
    state->puts = ofi->fabric.traits.delivery_complete;
    return state;
}

// ---- the pool ----

static void op_push(ofi_rma_state_t *state, ofi_rma_op_t *op)
{
    op->next = state->free;
    state->free = op;
}

static void ops_make(ofi_rma_state_t *state)
{
    ofi_rma_op_t *ops = calloc(OPS_MADE, sizeof *ops);
    if (!ops)
        aq_fatal("out of memory for put and get of conduit ofi (%zu bytes)",
                 OPS_MADE * sizeof *ops);
    for (unsigned i = OPS_MADE; i-- > 0;)
        op_push(state, &ops[i]);
}

ofi_rma_op_t *ofi_rma_op_take(ofi_conduit_t *ofi, ofi_link_t *link, atomic_uint *pending)
{
    ofi_rma_state_t *state = ofi->rma;
    if (state->under_way >= state->most || link->dead)
        return NULL;
    if (!state->free)
        ops_make(state);
    ofi_rma_op_t *op = state->free;
    state->free = op->next;
    *op = (ofi_rma_op_t){.op = {.link = link, .kind = OFI_OP_RMA}, .pending = pending};
    return op;
}

// The operation, which the provider does not have, is free again, with its copy.
static void op_give(ofi_conduit_t *ofi, ofi_rma_op_t *op)
{
    if (op->copy)
        ofi_packet_give(&ofi->buffers, op->copy);
    op_push(ofi->rma, op);
}

// An operation that uses regions is freed later, by ofi_rma_release: regions are released without
// the lock (ofi_pins.h).
static void op_finish(ofi_conduit_t *ofi, ofi_rma_op_t *op)
{
    if (__builtin_expect(op->here || op->at_peer, 0)) {
        op->next = ofi->rma->ended;
        ofi->rma->ended = op;
        return;
    }
    op_give(ofi, op);
}

void ofi_rma_release(ofi_conduit_t *ofi, ofi_rma_op_t *ended)
{
    ofi_rma_op_t *next, *op;
    for (op = ended; op; op = op->next) {
        if (op->here)
            aq_firehose_release(op->here);
        if (op->at_peer)
            aq_firehose_release(op->at_peer);
    }
    aq_lock_take(&ofi->lock);
    for (op = ended; op; op = next) {
        next = op->next;
        op_give(ofi, op);
    }
    aq_lock_drop(&ofi->lock);
}

// ---- to the provider ----

// Decides what an error means: the provider does not do what it offers, or the peer is gone.
static void error_judge(ofi_conduit_t *ofi, ofi_link_t *link, int error)
{
    if (error == FI_EOPNOTSUPP || error == FI_ENOSYS)
        aq_fatal("provider %s offers to access memory of other processes, and does not do it (%s); "
                 "set GASNET_OFI_RMA=0, or choose another one with GASNET_OFI_PROVIDER",
                 ofi->fabric.info->fabric_attr->prov_name, fi_strerror(error));
    if (!link->dead)
        ofi_link_failed(ofi, link, error);
}

// Nothing begins with a dead peer; the job ends soon. A put that was not injected is copied next
// time.
static aq_status_t op_refused(ofi_conduit_t *ofi, ofi_rma_op_t *op, int error)
{
    ofi_link_t *link = op->op.link;
    const bool injected = op->kind == OFI_RMA_PUT_INJECTED;
    op_give(ofi, op);
    if (injected && ofi_fabric_injects_no_more(&ofi->fabric, error))
        return AQ_AGAIN;
    if (error != -FI_EAGAIN)
        error_judge(ofi, link, -error);
    return AQ_AGAIN;
}

aq_status_t ofi_rma_op_begin(ofi_conduit_t *ofi, ofi_rma_op_t *op)
{
    const int error = ofi_rma_post(&ofi->fabric, op);
    if (__builtin_expect(error, 0))
        return op_refused(ofi, op, error);
    op->op.link->accesses++;
    ofi->rma->under_way++;
    aq_counter_add(op->pending, 1);
    return AQ_OK;
}

// ---- completion ----

void ofi_rma_completed(ofi_conduit_t *ofi, ofi_op_t *completed)
{
    ofi_rma_op_t *op = (ofi_rma_op_t *)completed;
    ofi->rma->under_way--;
    op->op.link->accesses--;
    op->op.link->moved = true;
    if (op->into)
        memcpy(op->into, op->local, op->bytes);
    aq_counter_add(op->pending, (unsigned)-1);
    op_finish(ofi, op);
}

void ofi_rma_failed(ofi_conduit_t *ofi, ofi_op_t *failed, int error)
{
    ofi_rma_op_t *op = (ofi_rma_op_t *)failed;
    ofi->rma->under_way--;
    op->op.link->accesses--;
    error_judge(ofi, op->op.link, error);
    op_finish(ofi, op);
}
