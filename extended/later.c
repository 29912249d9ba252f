#include "later.h"

#include <stddef.h>

#include "../core/lock.h"
#include "../core/progress.h"

static aq_later_t *waiting;
static aq_lock_t lock; // guards the list

static aq_later_t *later_take(void)
{
    aq_lock_take(&lock);
    aq_later_t **place = &waiting;
    while (*place && !(*place)->ready(*place))
        place = &(*place)->next;
    aq_later_t *ready = *place;
    if (ready)
        *place = ready->next;
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
    aq_progress_busy(-1);
    ready->run(ready);
    return true;
}

void aq_later_add(aq_later_t *later)
{
    static aq_task_t task;
    aq_lock_take(&lock);
    later->next = waiting;
    waiting = later;
    if (!task.turn) { // added on first use: all tasks get turns while a barrier is busy
        task.turn = later_turn;
        aq_progress_add(&task);
    }
    aq_lock_drop(&lock);
    aq_progress_busy(1);
}
