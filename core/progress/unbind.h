// SPDX-License-Identifier: BSD-3-Clause
// Lifting a binding: the launcher has bound this process to cores of its own unless the user chose
// otherwise (spawner/supervise/binding.h). If the process turns out to have more threads than these
// cores have processors, its threads would wait for each other while processors of other ranks are
// idle; so they may all use the whole host again, as if nothing had been bound.
#pragma once

#include <stdatomic.h>

extern atomic_bool aq_unbind_armed; // this process is bound, and may be released

// After the job has started.
void aq_unbind_start(void);
// Counts the threads now and then, and lifts the binding if they are too many.
void aq_unbind_turn(void);

// Called by waits that do not end at once; costs one load unless the process is bound.
static inline void aq_unbind_check(void)
{
    if (atomic_load_explicit(&aq_unbind_armed, memory_order_relaxed))
        aq_unbind_turn();
}
