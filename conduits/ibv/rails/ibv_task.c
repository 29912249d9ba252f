// SPDX-License-Identifier: BSD-3-Clause
// The lists, and the turn of the connector's thread. ibv_rail_set.c gives tasks, and finds those
// that are finished in its own list.
#include "ibv_task.h"

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "../../../other/base/log/log.h"

void aq_ibv_task_add(aq_ibv_task_list_t *list, aq_ibv_task_t *task)
{
    task->next = atomic_load(list);
    while (!atomic_compare_exchange_weak(list, &task->next, task))
        ;
}

aq_ibv_task_t *aq_ibv_tasks_take(aq_ibv_task_list_t *list)
{
    aq_ibv_task_t *oldest = NULL, *next;
    for (aq_ibv_task_t *task = atomic_exchange(list, NULL); task; task = next) {
        next = task->next;
        task->next = oldest;
        oldest = task;
    }
    return oldest;
}

void aq_ibv_task_give(aq_ibv_tasks_t *tasks, aq_ibv_task_t *task)
{
    const uint64_t one = 1;
    aq_ibv_task_add(&tasks->given, task);
    if (write(tasks->wake, &one, sizeof one) < 0)
        aq_log_error("the connector thread of conduit ibv cannot be woken");
}

static aq_ibv_task_t **tasks_end(aq_ibv_tasks_t *tasks)
{
    aq_ibv_task_t **end = &tasks->first;
    while (*end)
        end = &(*end)->next;
    return end;
}

bool aq_ibv_tasks_turn(aq_ibv_tasks_t *tasks)
{
    *tasks_end(tasks) = aq_ibv_tasks_take(&tasks->given);
    aq_ibv_task_t *task = tasks->first;
    if (!task)
        return false;
    tasks->first = task->next;
    task->next = NULL;
    if (!task->attempt(task))
        *tasks_end(tasks) = task;
    return tasks->first;
}
