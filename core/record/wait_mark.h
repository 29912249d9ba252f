// SPDX-License-Identifier: BSD-3-Clause
// What each thread waits for, in the memory file of the rank (rank_head.h), where gasnet_top and
// the report read it.
//
// A thread writes a word when it begins to wait, and another when it goes on. The rest is written
// only after a wait has polled in vain for a while: when the wait began, when it polled last, and
// what is pending.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../other/observe/format/rank_file.h"
#include "../gasnetex_core.h"

// Mark the beginning of a wait of this thread (aq_wait_word), for an event or NULL, and its end.
void aq_wait_begin(uint64_t what, gex_Event_t event);
void aq_wait_end(void);

// Of a wait that has not called aq_wait_begin: an event that it waits for and that is not
// complete, or NULL. The wait may set another one in each turn.
extern _Thread_local gex_Event_t aq_wait_event __attribute__((tls_model("initial-exec")));

// Publishes that the wait of this thread lasts, and has polled at this time. A wait without
// aq_wait_begin counts as one for aq_wait_event, or else for a condition of the client, until
// aq_wait_end_unmarked.
void aq_wait_lasts(uint64_t now);
extern _Thread_local bool aq_wait_unmarked __attribute__((tls_model("initial-exec")));
static inline void aq_wait_end_unmarked(void)
{
    if (__builtin_expect(aq_wait_unmarked, 0))
        aq_wait_end();
}

// Counts turns of a loop of the client that polls in vain.
void aq_wait_loops(void);
