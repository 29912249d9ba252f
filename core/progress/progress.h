// SPDX-License-Identifier: BSD-3-Clause
// Progress and waiting: polls conduits, and decides when a waiting thread spins, yields or sleeps.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../other/observe/format/rank_file.h"
#include "../gasnet_fwd.h"
#include "sleepers.h"

// Reads the settings. ranks_here: number of ranks that compete for the processors of this host.
void aq_progress_start(uint32_t ranks_here);

// The share of this rank of the processors of its host, at least 1, after aq_progress_start.
unsigned aq_progress_processors(void);

// Delivers arrived messages and advances tasks. Returns the number of messages and steps (0:
// nothing was done). Runs handlers; any thread.
unsigned aq_progress_poll(void);

// As aq_progress_poll, for a progress thread (progress_thread.h): polls one conduit of the job and
// its windows for `what` (AQ_POLL_...), and does not leave a job that has ended.
unsigned aq_progress_serve(unsigned index, unsigned what);

// Gives turns to tasks that have work; for a thread of a conduit that has delivered messages.
void aq_progress_go_on(void);

// As aq_progress_poll, after a send: conduits may defer the poll, to send and receive in batches.
void aq_progress_poll_sending(void);

// Polls one window only, or with NULL endpoint 0 only. Returns the number of messages and steps.
struct aq_window;
unsigned aq_progress_poll_endpoint(const struct aq_window *window);

// From now on polls serve windows (window.h): those of the calling thread's window first, those of
// all others in turn. Any thread.
void aq_progress_serve_windows(void);

// Delivers replies only; for waits in the handler of a request.
void aq_progress_poll_replies(void);

// Polls and sleeps until done(context) is true. Meanwhile the wait is published (wait_mark.h):
// what: of aq_wait_word; event: NULL or the event that it waits for.
void aq_progress_wait_until(bool (*done)(void *context), void *context, uint64_t what,
                            gex_Event_t event);

// One turn of a wait that polls for replies only; yields the processor when the wait gets long.
void aq_progress_wait_replies(unsigned turns);

// Work that takes several polls (a barrier, a collective). turn returns true if it made progress;
// it runs in one thread at a time and holds no lock but its own. Tasks are never removed.
typedef struct aq_task {
    bool (*turn)(struct aq_task *task);
    atomic_uint busy; // 0: the task gets no turns
    struct aq_task *next;
} aq_task_t;
void aq_progress_add(aq_task_t *task);

// Changes the number of things that a task has to do: +1 for each that begins, -1 for each that is
// done. Polls give turns to a task only while that number is not 0. Any thread.
void aq_progress_busy(aq_task_t *task, int change);

// Whether polls of the client's threads that find nothing call aq_idle_turn. Any thread.
void aq_progress_call_idle(bool on);

// The number of things that tasks have to do, one of them to call the idle function, and a bit
// while polls serve windows. 0: a poll goes to the conduits only.
extern atomic_uint aq_progress_busy_tasks;

// Whether ranks, or the threads of this rank, outnumber the processors. Then a thread that polls
// continuously keeps the threads that it waits for from working. Any thread; does not block.
bool aq_progress_is_crowded(void);

// Wakes threads of this process that sleep in a wait, after a change that they may wait for.
void aq_progress_wake_sleepers(void);
static inline void aq_progress_wake(void)
{
    if (__builtin_expect(aq_sleepers_any(), 0))
        aq_progress_wake_sleepers();
}
