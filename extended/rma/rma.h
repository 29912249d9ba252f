// SPDX-License-Identifier: BSD-3-Clause
// Put and get to peers whose memory is not mapped in this process: by the conduit, or over active
// messages.
#pragma once

#include <stdbool.h>

#include "../../core/am/am.h"
#include "../../core/conduit.h"
#include "../../core/gasnetex_core.h"

// A put or get of the client.
typedef struct aq_rma_op {
    const char *call; // the function that the client called; a string constant
    aq_rma_t access;
    uint32_t rank;        // job rank of the peer
    aq_ep_pair_t ep_pair; // to: the peer's endpoint, whose segment has access.remote
    gex_Flags_t flags;
    bool waits; // the caller waits for completion, and so polls
} aq_rma_op_t;

// Starts an operation in the best way; `part` (event.h) counts its pieces until they are complete.
// Blocks for resources and polls; if flags has IMMEDIATE, returns non-zero instead and does
// nothing.
int aq_rma_start(const aq_rma_op_t *op, gex_Event_t part);

// As aq_rma_start, for a part of an operation that the caller counts as a whole.
int aq_rma_start_part(const aq_rma_op_t *op, gex_Event_t part);

// As aq_rma_start, from an endpoint with an identity (rma_tagged.c).
int aq_rma_tagged(const aq_rma_op_t *op, gex_Event_t part);

// The two ways to a peer whose memory is not mapped, with the arguments and the result of
// aq_rma_start.
// rma_native.c: by the conduit of this way to the peer
int aq_rma_native(const aq_rma_op_t *op, aq_path_t path, gex_Event_t part);
int aq_rma_over_am(const aq_rma_op_t *op, gex_Event_t part); // rma_am.c: the default
