// SPDX-License-Identifier: BSD-3-Clause
// The list of deferred work, which a task of progress.c runs when it is ready. Long replies in
// pieces (long_fragment.c), and fences and notices of extended/, add to it.
#include "deferred.h"

#include <stddef.h>

#include "../ground/lock.h"
#include "progress.h"

// In the order in which they were added, so that each gets its turn.
static aq_deferred_t *waiting, **waiting_end = &waiting;
static aq_lock_t lock; // guards the list
static aq_task_t deferred_task;

static aq_deferred_t *deferred_take(void)
{
    aq_lock_take(&lock);
    aq_deferred_t **place = &waiting;
    while (*place && !(*place)->ready(*place))
        place = &(*place)->next;
    aq_deferred_t *ready = *place;
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
static bool deferred_turn(aq_task_t *task)
{
    (void)task;
    aq_deferred_t *ready = deferred_take();
    if (!ready)
        return false;
    aq_progress_busy(&deferred_task, -1);
    const bool done = ready->run(ready);
    if (!done)
        aq_deferred_add(ready);
    return done;
}

void aq_deferred_add(aq_deferred_t *deferred)
{
    aq_lock_take(&lock);
    deferred->next = NULL;
    *waiting_end = deferred;
    waiting_end = &deferred->next;
    if (!deferred_task.turn) { // added on first use: most programs need no such work
        deferred_task.turn = deferred_turn;
        aq_progress_add(&deferred_task);
    }
    aq_lock_drop(&lock);
    aq_progress_busy(&deferred_task, 1);
}
