// SPDX-License-Identifier: BSD-3-Clause
// The memory file of this rank (other/observe/format/rank_file.h): its making, its identity, its
// teams.
#pragma once

#include <stddef.h>

#include "../../other/observe/format/rank_file.h"
#include "../thread/event.h"

// The head, which is made at the first call: in the file of the process that started this rank, in
// one of its own, or, on a system without memory files, in private memory. Never NULL, and never
// unmapped. Ends the job if memory is out. Any thread.
aq_rank_head_t *aq_rank_head(void);

// The descriptor of the file; -1: there is none. After aq_rank_head.
int aq_rank_file(void);

// Fills in the identity of this rank: job, host, program, conduits. report_signal: the signal that
// prints the report (report.h), or 0. At init, when the conduits are open.
void aq_rank_file_start(int report_signal);

// Publishes the stage that this rank has reached. Any thread; async-signal-safe.
void aq_rank_stage(aq_stage_t stage);

// aq_rank_show_team publishes a team and returns its entry, or NULL if there is no room;
// aq_rank_hide_team removes the entry when the team ends, and allows NULL. Any thread.
aq_shown_team_t *aq_rank_show_team(uint64_t id, uint32_t rank, uint32_t size);
void aq_rank_hide_team(aq_shown_team_t *team);

// Notes that this rank begins a collective (aq_shown_call_t) of a team; NULL: does nothing. By one
// thread at a time.
static inline void aq_rank_show_call(aq_shown_team_t *team, unsigned call)
{
    if (!team)
        return;
    const uint64_t last = atomic_load_explicit(&team->last, memory_order_relaxed);
    const uint32_t calls = atomic_load_explicit(&team->calls, memory_order_relaxed);
    atomic_store_explicit(&team->last, last << 8 | call, memory_order_relaxed);
    atomic_store_explicit(&team->calls, calls + 1, memory_order_relaxed);
}

// Notes in an event that it is about the last collective that this rank has begun in a team, which
// may be NULL.
static inline void aq_rank_note_call(aq_event_t *event, const aq_shown_team_t *team)
{
    if (team)
        aq_event_note(event, atomic_load_explicit(&team->used, memory_order_relaxed),
                      atomic_load_explicit(&team->calls, memory_order_relaxed));
    else
        aq_event_note(event, 0, 0);
}
