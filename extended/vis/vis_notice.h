// SPDX-License-Identifier: BSD-3-Clause
// Peer completion: a handler that runs at the target after a transfer.
#pragma once

#include "vis_transfer.h"

typedef struct aq_vis_notice {
    gex_AM_Index_t handler; // 0: none
    const void *payload;
    size_t nbytes;
} aq_vis_notice_t;

// Returns the notice that this thread has set for its next operation, and clears it.
aq_vis_notice_t aq_vis_notice_take(void);

// Run the handler at the target: at once, or after nothing is pending in `pieces`. The latter call
// takes ownership of that record, and `part` counts the notice until it is sent.
void aq_vis_notice_send(const aq_vis_notice_t *notice, uint32_t jobrank);
void aq_vis_notice_later(const aq_vis_notice_t *notice, uint32_t jobrank, aq_event_t *pieces,
                         gex_Event_t part);
