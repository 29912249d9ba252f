// SPDX-License-Identifier: BSD-3-Clause
// The list of deferred work, which a task of progress.c runs when it is ready. Long replies in
// pieces (long_fragment.c), and fences and notices of extended/, add to it.
#include "later.h"

#include <stddef.h>

#include "../ground/lock.h"
#include "progress.h"

// In the order in which they were added, so that each gets its turn.
static aq_later_t *waiting, **waiting_end = &waiting;
static aq_lock_t lock; // guards the list
static aq_task_t later_task;

static aq_later_t *later_take(void)
{
    aq_lock_take(&lock);
    aq_later_t **place = &waiting;
    while (*place && !(*place)->ready(*place))
        place = &(*place)->next;
    aq_later_t *ready = *place;
    if (ready) {
        *place = ready->next;
        if (waiting_end == &ready->next)
            waiting_end = place;
    }
    aq_lock_drop(&lock);
    return ready;
}

// run may poll, and so call this function again: what was taken from the list belongs to this call
// alone.
static bool later_turn(aq_task_t *task)
{
    (void)task;
    aq_later_t *ready = later_take();
    if (!ready)
        return false;
    aq_progress_busy(&later_task, -1);
    const bool done = ready->run(ready);
    if (!done)
        aq_later_add(ready);
    return done;
}

void aq_later_add(aq_later_t *later)
{
    aq_lock_take(&lock);
    later->next = NULL;
    *waiting_end = later;
    waiting_end = &later->next;
    if (!later_task.turn) { // added on first use: most programs need no such work
        later_task.turn = later_turn;
        aq_progress_add(&later_task);
    }
    aq_lock_drop(&lock);
    aq_progress_busy(&later_task, 1);
}
