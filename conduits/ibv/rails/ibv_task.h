// SPDX-License-Identifier: BSD-3-Clause
// Tasks of the connector's thread (ibv_connect.h): calls that may block for about a second, which
// the thread makes so that no poll waits for them.
//
//      any thread                     the connector's thread          any thread
//      aq_ibv_task_give --> given --> aq_ibv_tasks_turn: attempt, attempt, ... --> its own list
//
// What is always true:
// - A task belongs to the thread from the moment when it is given until its attempt returns true.
// - Tasks take turns, one attempt each, and the thread serves its connections after every attempt.
// - Lists of tasks are atomic, not locked by an aq_lock_t: that is no lock in mode seq, where the
//   connector's thread runs beside the client's one all the same.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

// The first member of what a task is about.
typedef struct aq_ibv_task {
    struct aq_ibv_task *next;
    // One attempt; may block for about a second. False: another one is needed. True: the task is
    // finished, and attempt has passed it on to its next owner.
    bool (*attempt)(struct aq_ibv_task *task);
} aq_ibv_task_t;

// Tasks that any thread may add, the newest first. Zero-initialized: empty.
typedef _Atomic(aq_ibv_task_t *) aq_ibv_task_list_t;

// Any thread.
void aq_ibv_task_add(aq_ibv_task_list_t *list, aq_ibv_task_t *task);

// Takes all tasks out, the oldest first. Any thread.
aq_ibv_task_t *aq_ibv_tasks_take(aq_ibv_task_list_t *list);

typedef struct aq_ibv_tasks {
    aq_ibv_task_list_t given;
    aq_ibv_task_t *first; // of the thread; the others by next
    int wake;             // an eventfd that wakes the thread
} aq_ibv_tasks_t;

// Gives a task to the thread. Any thread; does not block.
void aq_ibv_task_give(aq_ibv_tasks_t *tasks, aq_ibv_task_t *task);

// For the thread: makes one attempt, if there is a task. Returns whether it has to be called again
// without waiting for anything.
bool aq_ibv_tasks_turn(aq_ibv_tasks_t *tasks);
