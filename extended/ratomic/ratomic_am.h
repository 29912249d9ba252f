// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ratomic_domain.h"

// Sends an operation to its target; `part` (event.h) counts it until the reply. Blocks for
// resources and polls; if atomic->flags has IMMEDIATE, returns non-zero instead and does nothing.
int aq_ratomic_over_am(aq_atomic_target_t target, const aq_api_atomic_t *atomic, gex_Event_t part);
