// SPDX-License-Identifier: BSD-3-Clause
// The task of large messages.
#include "../../core/progress/progress.h"
#include "large_task.h"

enum { WORKS = 256 }; // of one poll

aq_large_t aq_large;

static atomic_bool turning;
static _Thread_local bool inside;

static bool task_turn(aq_task_t *task);
static aq_task_t large_task = {.turn = task_turn};

bool aq_large_inside(void)
{
    return inside;
}

static void list_append(aq_large_list_t *list, aq_large_work_t *work)
{
    if (list->first)
        list->last->next = work;
    else
        list->first = work;
    list->last = work;
    work->next = NULL;
}

void aq_large_append(aq_large_work_t *work)
{
    aq_progress_busy(&large_task, 1);
    list_append(&aq_large.work, work);
}

void aq_large_add(aq_large_work_t *work)
{
    aq_lock_take(&aq_large.lock);
    aq_large_append(work);
    aq_lock_drop(&aq_large.lock);
    if (aq_threads)
        aq_progress_wake(); // so that another thread polls, since this one may not
}

static aq_large_work_t *work_take(void)
{
    aq_lock_take(&aq_large.lock);
    aq_large_work_t *work = aq_large.work.first;
    if (work)
        aq_large.work.first = work->next;
    aq_lock_drop(&aq_large.lock);
    return work;
}

// Puts work that is not over in front of the work that was added meanwhile.
static void works_return(const aq_large_list_t *again)
{
    if (!again->first)
        return;
    aq_lock_take(&aq_large.lock);
    again->last->next = aq_large.work.first;
    if (!aq_large.work.first)
        aq_large.work.last = again->last;
    aq_large.work.first = again->first;
    aq_lock_drop(&aq_large.lock);
}

// Returns whether anything was done.
static bool works_run(void)
{
    aq_large_list_t again = {NULL, NULL};
    aq_large_work_t *work;
    bool any = false;
    for (unsigned i = 0; i < WORKS && (work = work_take()); i++) {
        const aq_large_turn_t turn = work->run(work);
        any |= turn != AQ_LARGE_WAITS;
        if (turn == AQ_LARGE_OVER)
            aq_progress_busy(&large_task, -1);
        else
            list_append(&again, work);
    }
    works_return(&again);
    return any;
}

static bool task_turn(aq_task_t *task)
{
    (void)task;
    if (atomic_exchange_explicit(&turning, true, memory_order_acquire))
        return false;
    inside = true;
    const bool any = works_run();
    inside = false;
    atomic_store_explicit(&turning, false, memory_order_release);
    return any;
}

int gasnetx_Large_QueryCounts(gasnetx_large_counts_t *counts)
{
    aq_job_need("gasnetx_Large_QueryCounts");
    aq_lock_take(&aq_large.lock);
    *counts = aq_large.counts;
    aq_lock_drop(&aq_large.lock);
    counts->piece_bytes = aq_job.limits.medium;
    return GASNET_OK;
}

void aq_large_task_start(void)
{
    aq_progress_add(&large_task);
}
