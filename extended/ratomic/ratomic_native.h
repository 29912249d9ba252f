// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ratomic_domain.h"

// Translates an operation for a conduit. Returns false if conduits have no such operation. ops: all
// operations of the domain.
bool aq_ratomic_translate(const aq_api_atomic_t *atomic, gex_OP_t ops, aq_atomic_t *out);

// Starts an operation on a job rank by the conduit itself; `part` counts it until completion.
// Returns AQ_ERR_ABSENT if the conduit does not support it. Blocks for resources and polls; if
// atomic->flags has IMMEDIATE, returns AQ_AGAIN instead and does nothing.
aq_status_t aq_ratomic_native(uint32_t jobrank, const aq_api_atomic_t *atomic, gex_OP_t ops,
                              gex_Event_t part);
