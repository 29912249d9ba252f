// SPDX-License-Identifier: BSD-3-Clause
// The threads of this process that sleep in a wait, or are about to.
//
//     sleeper                                    thread that handled messages
//     count++                                    the handlers' effects
//     (fence)                                    (fence)
//     looks at what it waits for once more       count != 0?  then wake
//
// Either the sleeper sees the effects or the other thread sees the sleeper, if both fences are
// there. The sleeper has the kernel run a fence on all processors that run this process
// (membarrier), so that the other threads, which would need it after each poll, have none. Both
// fence only if the kernel has no such call. This is the order of conduits/common/mailbox_sleep.c,
// and tests/model/weak_mail.pml is its model.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

extern atomic_uint aq_sleepers;
extern bool aq_sleepers_fence; // threads other than sleepers fence, too

// At init, before threads sleep.
void aq_sleepers_start(void);

// Before a thread looks for the last time at what it waits for; and once it is awake.
void aq_sleepers_enter(void);
void aq_sleepers_leave(void);

// Whether a thread may sleep that waits for what this thread did.
static inline bool aq_sleepers_any(void)
{
    if (__builtin_expect(aq_sleepers_fence, 0))
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst); // the compiler keeps the order, too
    return atomic_load_explicit(&aq_sleepers, memory_order_relaxed);
}
