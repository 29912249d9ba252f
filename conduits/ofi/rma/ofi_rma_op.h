// SPDX-License-Identifier: BSD-3-Clause
// Operations on memory of peers that the provider does: describing, giving them to the provider,
// and what follows when they are complete.
//
// What is always true:
// - Operations use at most a quarter of the places that the provider has, so that messages, which
//   have half of them, and replies always find one.
// - A put is complete when its data is in the memory of the target (FI_DELIVERY_COMPLETE).
// - An operation that the provider has belongs to it; all others are free, or described and not
//   posted yet.
//
// Everything here is called under the lock of the conduit, except ofi_rma_release.
#pragma once

#include "ofi_rma_state.h"

// A new state; NULL: no memory (logged).
ofi_rma_state_t *ofi_rma_state_new(ofi_conduit_t *ofi);

// An operation with everything 0 but the link and what it needs to complete; NULL: the provider has
// as many as it may have. Ends the job if there is no memory.
ofi_rma_op_t *ofi_rma_op_take(ofi_conduit_t *ofi, ofi_link_t *link, atomic_uint *pending);

// Gives a described operation to the provider, and counts it in *pending. AQ_AGAIN: the provider
// does not take it now, and it is free again.
aq_status_t ofi_rma_op_begin(ofi_conduit_t *ofi, ofi_rma_op_t *op);

// An operation is complete, or has failed with an error of libfabric, a positive number.
void ofi_rma_completed(ofi_conduit_t *ofi, ofi_op_t *op);
void ofi_rma_failed(ofi_conduit_t *ofi, ofi_op_t *op, int error);

// Takes the operations that have ended, for ofi_rma_release after the lock was dropped.
static inline ofi_rma_op_t *ofi_rma_take_ended(ofi_rma_state_t *state)
{
    ofi_rma_op_t *ended = state->ended;
    state->ended = NULL;
    return ended;
}

// Without the lock: releases the regions that these operations use, and frees the operations.
void ofi_rma_release(ofi_conduit_t *ofi, ofi_rma_op_t *ended);
