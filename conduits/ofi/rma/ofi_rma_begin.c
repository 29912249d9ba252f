// SPDX-License-Identifier: BSD-3-Clause
// Chooses how the provider reaches the memory of this process for an operation, describes the
// operation, and begins it (ofi_rma_op.c).
#include "ofi_rma_begin.h"

#include <string.h>

#include "../../../other/base/minmax.h"
#include "ofi_pins.h"

enum { PIN_FROM = 4097 }; // the shortest operation for which memory here is registered

// ---- memory here ----

// The operation goes through a buffer of this process, at most as much as that holds.
static void op_copy(ofi_conduit_t *ofi, const aq_rma_t *rma, ofi_rma_op_t *op)
{
    op->copy = ofi_packet_take(&ofi->buffers);
    op->local = op->copy->bytes;
    op->descriptor = op->copy->descriptor;
    op->bytes = aq_min(op->bytes, ofi->packet_bytes);
    if (rma->kind == AQ_RMA_PUT)
        memcpy(op->local, rma->local, op->bytes);
    else
        op->into = rma->local;
}

// Whether the provider may use local memory while the operation lasts: the operation gets the
// region with its beginning, if there is one.
static bool op_in_place(ofi_conduit_t *ofi, const aq_rma_t *rma, aq_firehose_region_t *here,
                        ofi_rma_op_t *op)
{
    op->local = rma->local;
    if (here) {
        op->here = here;
        op->bytes = aq_firehose_covered(here, (uintptr_t)rma->local, op->bytes);
        op->descriptor = fi_mr_desc(here->key.handle);
        ofi->rma->in_place++;
        return true;
    }
    return !ofi->fabric.traits.mr_local ||
           ofi_keys_own(&ofi->rma->keys, rma->local, op->bytes, &op->descriptor);
}

static bool is_stable(const aq_rma_t *rma)
{
    return rma->kind == AQ_RMA_GET || (rma->flags & AQ_RMA_STABLE);
}

static void op_describe(ofi_conduit_t *ofi, const aq_rma_t *rma, aq_firehose_region_t *here,
                        ofi_rma_op_t *op)
{
    const bool is_get = rma->kind == AQ_RMA_GET;
    op->kind = is_get ? OFI_RMA_GET : OFI_RMA_PUT;
    op->bytes = aq_min(op->there.len, ofi->fabric.traits.message_most);
    if (!is_get && op->bytes <= ofi->fabric.traits.inject_most) {
        op->kind = OFI_RMA_PUT_INJECTED;
        op->local = rma->local;
    } else if (!is_stable(rma) || !op_in_place(ofi, rma, here, op)) {
        op_copy(ofi, rma, op);
    }
    op->there.len = op->bytes;
}

// ---- to the provider ----

// Under the lock. The regions belong to the operation if that begins.
static aq_status_t rma_post(ofi_conduit_t *ofi, ofi_link_t *link, const struct fi_rma_iov *there,
                            aq_firehose_region_t *here, aq_firehose_region_t *at_peer,
                            aq_rma_t *rma)
{
    ofi_rma_op_t *op = ofi_rma_op_take(ofi, link, rma->pending);
    if (!op)
        return AQ_AGAIN;
    op->there = *there;
    op->at_peer = at_peer;
    op_describe(ofi, rma, here, op);
    const size_t bytes = op->bytes;
    const aq_status_t status = ofi_rma_op_begin(ofi, op);
    if (status != AQ_OK)
        return status;
    ofi->counts.puts += rma->kind == AQ_RMA_PUT;
    ofi->counts.gets += rma->kind == AQ_RMA_GET;
    ofi->rma->ondemand.by_provider += at_peer != NULL;
    aq_rma_advance(rma, bytes);
    return AQ_OK;
}

// A region with the beginning of the memory here, if a copy costs more; NULL: none is needed, or
// there is none.
static aq_firehose_region_t *rma_pin(const ofi_conduit_t *ofi, const aq_rma_t *rma, size_t bytes)
{
    void *descriptor;
    const bool is_get = rma->kind == AQ_RMA_GET;
    if (bytes < PIN_FROM || !is_stable(rma) ||
        (!is_get && bytes <= ofi->fabric.traits.inject_most) ||
        ofi_keys_own(&ofi->rma->keys, rma->local, bytes, &descriptor))
        return NULL;
    return ofi_pins_local(ofi, rma->local, bytes, is_get);
}

aq_status_t ofi_rma_begin(ofi_conduit_t *ofi, ofi_link_t *link, const struct fi_rma_iov *there,
                          aq_firehose_region_t *at_peer, aq_rma_t *rma)
{
    aq_firehose_region_t *here = ofi->rma->pins.local ? rma_pin(ofi, rma, there->len) : NULL;
    aq_lock_take(&ofi->lock);
    const aq_status_t status = rma_post(ofi, link, there, here, at_peer, rma);
    aq_lock_drop(&ofi->lock);
    if (here && status != AQ_OK)
        aq_firehose_release(here);
    return status;
}

aq_status_t ofi_rma_begin_held(ofi_conduit_t *ofi, ofi_link_t *link, aq_firehose_region_t *hold,
                               aq_rma_t *rma)
{
    const struct fi_rma_iov there = ofi_pins_remote(ofi, hold, rma->remote, rma->nbytes);
    return ofi_rma_begin(ofi, link, &there, hold, rma);
}
