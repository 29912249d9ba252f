#include "ofi_rma.h"

#include <string.h>

#include "../../other/base/minmax.h"
#include "../../other/base/settings.h"
#include "ofi_atomic.h"
#include "ofi_profile.h"
#include "ofi_rma_op.h"

enum { LONG_AHEAD_BYTES = 1 << 20 }; // the longest Long whose payload is put ahead

// ---- opening ----

// What the core may leave to rma. Without puts of the provider only short ones go by messages of
// this conduit.
static void limits_set(ofi_conduit_t *ofi, bool puts)
{
    ofi->base.max_long_ahead = puts ? LONG_AHEAD_BYTES : 0;
    ofi->base.put_waits_from = puts ? ofi->packet_bytes + 1 : 0;
}

// Whether memory may be registered that does not exist yet, or is not there as a whole.
static bool takes_any_memory(const ofi_conduit_t *ofi)
{
    return !ofi->fabric.traits.mr_allocated;
}

static aq_status_t keys_share(ofi_conduit_t *ofi, void *memory, size_t bytes, bool wanted)
{
    ofi_keys_t *keys = &ofi->rma->keys;
    aq_status_t status = ofi_keys_share(keys, memory, bytes, wanted);
    limits_set(ofi, keys->reached && ofi->rma->puts);
    if (status == AQ_OK && keys->reached)
        ofi_atomics_open(ofi);
    return status;
}

// Whether the provider shall access memory of peers. A process that sleeps where its neighbours
// wake it, and not the provider, lets peers wait; a message wakes it for a while.
static bool rma_is_wanted(const ofi_conduit_t *ofi)
{
    const char *wish = aq_setting_text(aq_ofi_setting(OFI_SET_RMA));
    const bool sleeps_elsewhere = ofi->wait != OFI_WAIT_SPIN && ofi->base.env->nbrhd_size > 1;
    if (!ofi->fabric.traits.rma || strcmp(wish, "0") == 0)
        return false;
    return strcmp(wish, "1") == 0 || !ofi->fabric.traits.in_software || !sleeps_elsewhere;
}

aq_status_t ofi_rma_open(ofi_conduit_t *ofi)
{
    const bool everything = ofi->base.env->segment_mode == AQ_SEGMENT_EVERYTHING;
    ofi->rma = ofi_rma_state_new(ofi);
    if (!ofi->rma)
        return AQ_ERR_RESOURCE;
    ofi->rma->wanted = rma_is_wanted(ofi);
    ofi->rma->keys.whole = everything;
    limits_set(ofi, ofi->rma->wanted && ofi->rma->puts);
    return everything ? keys_share(ofi, NULL, SIZE_MAX, ofi->rma->wanted && takes_any_memory(ofi))
                      : AQ_OK;
}

aq_status_t ofi_attach(aq_conduit_t *conduit, void *segment, size_t size)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    const bool registers = conduit->env->segment_mode == AQ_SEGMENT_FAST || takes_any_memory(ofi);
    return keys_share(ofi, segment, size, ofi->rma->wanted && registers);
}

// ---- put and get ----

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

// Whether the provider may use local memory while the operation lasts.
static bool op_in_place(const ofi_conduit_t *ofi, const aq_rma_t *rma, ofi_rma_op_t *op)
{
    op->local = rma->local;
    return !ofi->fabric.traits.mr_local ||
           ofi_keys_own(&ofi->rma->keys, rma->local, op->bytes, &op->descriptor);
}

static void op_describe(ofi_conduit_t *ofi, const aq_rma_t *rma, ofi_rma_op_t *op)
{
    const bool is_get = rma->kind == AQ_RMA_GET, stable = is_get || (rma->flags & AQ_RMA_STABLE);
    op->kind = is_get ? OFI_RMA_GET : OFI_RMA_PUT;
    op->bytes = aq_min(rma->nbytes, ofi->fabric.traits.message_most);
    if (!is_get && op->bytes <= ofi->fabric.traits.inject_most) {
        op->kind = OFI_RMA_PUT_INJECTED;
        op->local = rma->local;
    } else if (!stable || !op_in_place(ofi, rma, op)) {
        op_copy(ofi, rma, op);
    }
    op->there.len = op->bytes;
}

// Under the lock.
static aq_status_t rma_begin(ofi_conduit_t *ofi, ofi_link_t *link, const struct fi_rma_iov *there,
                             aq_rma_t *rma)
{
    ofi_rma_op_t *op = ofi_rma_op_take(ofi, link, rma->pending);
    if (!op)
        return AQ_AGAIN;
    op->there = *there;
    op_describe(ofi, rma, op);
    const size_t bytes = op->bytes;
    const aq_status_t status = ofi_rma_op_begin(ofi, op);
    if (status != AQ_OK)
        return status;
    ofi->puts += rma->kind == AQ_RMA_PUT;
    ofi->gets += rma->kind == AQ_RMA_GET;
    aq_rma_advance(rma, bytes);
    return AQ_OK;
}

// Whether a short put shares a packet with others. One that is alone is complete sooner if the
// provider does it.
static bool put_shares(ofi_conduit_t *ofi, const ofi_link_t *link, const aq_rma_t *put)
{
    if (put->nbytes > ofi->coalesce)
        return false;
    if (!ofi->rma->puts || !ofi->rma->keys.reached)
        return true;
    aq_lock_take(&ofi->lock);
    const bool alone = !link->out[OFI_REQUESTS].first && !ofi->batches_used && !ofi->rma->under_way;
    aq_lock_drop(&ofi->lock);
    return !alone;
}

aq_status_t ofi_rma(aq_conduit_t *conduit, void *pointer, aq_rma_t *rma)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    ofi_link_t *link = pointer;
    struct fi_rma_iov there;
    if (rma->kind == AQ_RMA_PUT && put_shares(ofi, link, rma))
        return ofi_send_put(ofi, link, rma);
    if ((rma->kind == AQ_RMA_PUT && !ofi->rma->puts) ||
        !ofi_keys_remote(&ofi->rma->keys, link->rank, rma->remote, rma->nbytes, &there))
        return AQ_ERR_ABSENT;
    aq_lock_take(&ofi->lock);
    const aq_status_t status = rma_begin(ofi, link, &there, rma);
    aq_lock_drop(&ofi->lock);
    return status;
}
