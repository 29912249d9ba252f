// SPDX-License-Identifier: BSD-3-Clause
// How a transfer starts: by copies, or over active messages.
#pragma once

#include "vis_transfer.h"

int aq_vis_start_blocking(const aq_vis_t *vis);
gex_Event_t aq_vis_start_nb(const aq_vis_t *vis);
int aq_vis_start_nbi(const aq_vis_t *vis);
