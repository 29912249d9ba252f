// SPDX-License-Identifier: BSD-3-Clause
// The client's idle function, which progress.c calls after polls that have found nothing, and
// progress_thread_api.c sets.
#include "idle.h"

#include <sched.h>
#include <stdatomic.h>

#include "../ground/lock.h"

static struct {
    gasnetx_idle_t function;
    void *context;
} idle;
static atomic_flag taken; // by the thread that is in the function, or sets it
static _Thread_local bool inside, excluded;

// Threads that poll meanwhile, polls by the function itself, which has taken it, and a thread that
// leaves the job go on without it.
unsigned aq_idle_turn(void)
{
    if (excluded || aq_lock_leaving ||
        atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
        return 0;
    inside = true;
    const bool worked = idle.function && idle.function(idle.context);
    inside = false;
    atomic_flag_clear_explicit(&taken, memory_order_release);
    return worked;
}

void aq_idle_exclude_thread(void)
{
    excluded = true;
}

bool aq_idle_set(gasnetx_idle_t function, void *context)
{
    if (inside)
        return false;
    while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
        sched_yield();
    idle.function = function;
    idle.context = context;
    atomic_flag_clear_explicit(&taken, memory_order_release);
    return true;
}
