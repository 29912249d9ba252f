// SPDX-License-Identifier: BSD-3-Clause
// Gives an atomic on memory with a known key to the provider (ofi_rma_op.c). In all other cases the
// core sends a message to the target.
#include "ofi_atomic.h"

#include <rdma/fi_atomic.h>
#include <string.h>

#include "../../../other/base/settings/settings.h"
#include "../fabric/ofi_profile.h"

enum { BYTES = 8 };

static bool provider_has_them(const ofi_conduit_t *ofi)
{
    size_t fetches = 0, compares = 0;
    struct fid_ep *endpoint = ofi->fabric.endpoint;
    return ofi->fabric.traits.atomics &&
           fi_fetch_atomicvalid(endpoint, FI_UINT64, FI_SUM, &fetches) == 0 && fetches &&
           fi_compare_atomicvalid(endpoint, FI_UINT64, FI_CSWAP, &compares) == 0 && compares;
}

void ofi_atomics_open(ofi_conduit_t *ofi)
{
    bool first;
    const bool wanted = strcmp(aq_setting_text(aq_ofi_setting(OFI_SET_ATOMICS)), "1") == 0;
    const aq_status_t mine = wanted && provider_has_them(ofi) ? AQ_OK : AQ_ERR_ABSENT;
    ofi->rma->atomics = aq_boot_agree_quietly(ofi->base.env->boot, mine, &first) == AQ_OK;
}

// Under the lock.
static aq_status_t atomic_begin(ofi_conduit_t *ofi, ofi_link_t *link, const aq_atomic_t *atomic,
                                const struct fi_rma_iov *there, atomic_uint *pending)
{
    ofi_rma_op_t *op = ofi_rma_op_take(ofi, link, pending);
    if (!op)
        return AQ_AGAIN;
    const bool compares = atomic->kind == AQ_ATOMIC_CAS;
    op->kind = compares ? OFI_RMA_CAS : OFI_RMA_ADD;
    op->there = *there;
    op->copy = ofi_packet_take(&ofi->buffers);
    op->descriptor = op->copy->descriptor;
    ofi_words_t *words = ofi_rma_op_words(op);
    words->operand = compares ? atomic->operand2 : atomic->operand1;
    words->compared = atomic->operand1;
    op->local = &words->result;
    op->bytes = BYTES;
    op->into = atomic->result;
    return ofi_rma_op_begin(ofi, op);
}

aq_status_t ofi_atomic(aq_conduit_t *conduit, void *pointer, const aq_atomic_t *atomic,
                       atomic_uint *pending)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    ofi_link_t *link = pointer;
    struct fi_rma_iov there;
    if (!ofi->rma->atomics || !atomic->exclusive_ops ||
        !ofi_keys_remote(&ofi->rma->keys, link->rank, atomic->dest, BYTES, &there))
        return AQ_ERR_ABSENT;
    aq_lock_take(&ofi->lock);
    const aq_status_t status = atomic_begin(ofi, link, atomic, &there, pending);
    aq_lock_drop(&ofi->lock);
    return status;
}
