// SPDX-License-Identifier: BSD-3-Clause
// What each thread waits for, in the memory file of the rank (rank_head.h), where gasnet_top and
// the report read it.
//
// A thread writes a word when it begins to wait, and another when it goes on. All else is written
// only once a wait has polled in vain for a while: when the wait began, when it polled last, and
// what is pending.
#ifndef AQ_WAIT_MARK_H
#define AQ_WAIT_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "../../other/observe/format/rank_file.h"
#include "../gasnetex_core.h"

// Mark the beginning of a wait of this thread (aq_wait_word), for an event or NULL, and its end.
void aq_wait_begin(uint64_t what, gex_Event_t event);
void aq_wait_end(void);

// What a wait that nothing has marked waits for: an event that is not complete, which the wait may
// change in each turn, or NULL.
extern _Thread_local gex_Event_t aq_wait_event __attribute__((tls_model("initial-exec")));

// The wait of this thread lasts, and has polled at this time. A wait that nothing has marked counts
// as one for aq_wait_event, or else for a condition of the client, until aq_wait_end_unmarked.
void aq_wait_lasts(uint64_t now);
extern _Thread_local bool aq_wait_unmarked __attribute__((tls_model("initial-exec")));
static inline void aq_wait_end_unmarked(void)
{
    if (__builtin_expect(aq_wait_unmarked, 0))
        aq_wait_end();
}

// A loop of the client polls in vain.
void aq_wait_loops(void);

#endif
