// SPDX-License-Identifier: BSD-3-Clause
// The client's idle function, which progress.c calls after polls that have found nothing, and
// progress_thread_api.c sets.
#include "idle.h"

#include <sched.h>
#include <stdatomic.h>

static struct {
    gasnetx_idle_t function;
    void *context;
} idle;
static atomic_flag taken; // by the thread that is in the function, or sets it
static _Thread_local bool inside;

// Threads that poll meanwhile, and polls by the function itself, go on without it.
unsigned aq_idle_turn(void)
{
    if (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
        return 0;
    inside = true;
    const bool worked = idle.function && idle.function(idle.context);
    inside = false;
    atomic_flag_clear_explicit(&taken, memory_order_release);
    return worked;
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
