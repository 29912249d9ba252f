// SPDX-License-Identifier: BSD-3-Clause
// Transfers over active messages.
#pragma once

#include "vis_transfer.h"

// Starts a transfer over active messages; `part` counts it until completion. Returns non-zero if
// IMMEDIATE was given and nothing was done.
int aq_vis_over_am(const aq_vis_t *vis, uint32_t jobrank, gex_Event_t part);
