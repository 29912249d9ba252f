// SPDX-License-Identifier: BSD-3-Clause
// Whether a transfer is legal, and whether its target has the memory.
#pragma once

#include "vis_transfer.h"

// Ends the job if a number of the description is wrong; in a debug build, if anything is. notifies:
// the transfer sends a notice even if it has no bytes.
void aq_vis_check(const aq_vis_t *vis, bool notifies);

// Whether the target has all remote pieces, of which there is at least one. If not, *wrong is the
// first piece that it does not have.
bool aq_vis_fits(const aq_vis_t *vis, uint32_t jobrank, aq_access_t *wrong);
