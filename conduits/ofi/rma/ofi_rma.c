// SPDX-License-Identifier: BSD-3-Clause
// The entry of put and get: chooses between a packet (ofi_send.c), the provider with a known key
// (ofi_rma_begin.c), and a transfer (ofi_ondemand.c).
#include "ofi_rma.h"

#include <string.h>

#include "../../../other/base/settings/settings.h"
#include "ofi_atomic.h"
#include "ofi_ondemand.h"
#include "ofi_pins.h"
#include "../fabric/ofi_profile.h"
#include "ofi_rma_begin.h"

enum { LONG_AHEAD_BYTES = 1 << 20 }; // the longest Long whose payload is put ahead

// ---- opening ----

// Sets which puts the core leaves to this conduit: without puts by the provider only short ones,
// which travel in packets.
static void limits_set(ofi_conduit_t *ofi, bool puts)
{
    ofi->base.max_long_ahead = puts ? LONG_AHEAD_BYTES : 0;
    ofi->base.long_ahead_from = ofi->base.max_long + 1;
    ofi->base.put_waits_from = puts ? ofi->packet_bytes + 1 : 0;
}

// Whether memory may be registered that does not exist yet, or is not there as a whole.
static bool takes_any_memory(const ofi_conduit_t *ofi)
{
    return !ofi->fabric.traits.mr_allocated;
}

// Firehose takes over where the keys do not reach.
static aq_status_t keys_share(ofi_conduit_t *ofi, void *memory, size_t bytes, bool registers)
{
    ofi_rma_state_t *state = ofi->rma;
    aq_status_t status = ofi_keys_share(&state->keys, memory, bytes, state->wanted && registers);
    if (status == AQ_OK)
        status = ofi_pins_open(ofi, memory, bytes, ofi_ondemand_request);
    limits_set(ofi, (state->keys.reached || state->pins.reaches) && state->puts);
    if (status == AQ_OK && state->keys.reached)
        ofi_atomics_open(ofi);
    return status;
}

// Whether the provider shall access memory of peers. A process with neighbours sleeps where these
// wake it, but a provider in software does not, so that peers would wait; a message wakes it for a
// while.
static bool rma_is_wanted(const ofi_conduit_t *ofi)
{
    const char *setting = aq_setting_text(aq_ofi_setting(OFI_SET_RMA));
    const bool sleeps_elsewhere =
        ofi->sleeping.wait != OFI_WAIT_SPIN && ofi->base.env->nbrhd_size > 1;
    if (!ofi->fabric.traits.rma || strcmp(setting, "0") == 0)
        return false;
    return strcmp(setting, "1") == 0 || !ofi->fabric.traits.in_software || !sleeps_elsewhere;
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
    ofi_pins_prepare(ofi);
    return everything ? keys_share(ofi, NULL, SIZE_MAX, takes_any_memory(ofi)) : AQ_OK;
}

aq_status_t ofi_attach(aq_conduit_t *conduit, void *segment, size_t size)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    const bool registers = conduit->env->segment_mode == AQ_SEGMENT_FAST || takes_any_memory(ofi);
    return keys_share(ofi, segment, size, registers);
}

// ---- put and get ----

// Whether a short put shares a packet with others. If nothing else is under way, it is complete
// sooner if the provider does it.
static bool put_shares(ofi_conduit_t *ofi, const ofi_link_t *link, const aq_rma_t *put)
{
    if (put->nbytes > ofi->coalesce)
        return false;
    if (!ofi->rma->puts || !ofi->rma->keys.reached)
        return true;
    aq_lock_take(&ofi->lock);
    const bool idle = !link->out[OFI_REQUESTS].first && !ofi->batches.used && !ofi->rma->under_way;
    aq_lock_drop(&ofi->lock);
    return !idle;
}

aq_status_t ofi_rma(aq_conduit_t *conduit, void *pointer, aq_rma_t *rma)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    ofi_link_t *link = pointer;
    struct fi_rma_iov there;
    if (rma->kind == AQ_RMA_PUT && put_shares(ofi, link, rma))
        return ofi_send_put(ofi, link, rma);
    if (rma->kind == AQ_RMA_PUT && !ofi->rma->puts)
        return AQ_ERR_ABSENT;
    if (ofi_keys_remote(&ofi->rma->keys, link->rank, rma->remote, rma->nbytes, &there))
        return ofi_rma_begin(ofi, link, &there, NULL, rma);
    return ofi->rma->pins.reaches ? ofi_ondemand_begin(ofi, link, rma) : AQ_ERR_ABSENT;
}
