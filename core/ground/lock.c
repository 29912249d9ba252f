// SPDX-License-Identifier: BSD-3-Clause
// The slow path of aq_lock_take (lock.h): yields until the lock is free. In the thread that ends
// the process it goes on without the lock after 0.1 s.
#include "lock.h"

#include <sched.h>

#include "../../other/base/clock.h"

enum { BREAK_NS = 100000000 };

bool aq_threads;

_Thread_local bool aq_lock_leaving __attribute__((tls_model("initial-exec")));

void aq_lock_take_slow(aq_lock_t *lock)
{
    const uint64_t begun = aq_lock_leaving ? aq_clock_ns() : 0;
    for (unsigned turns = 0; !aq_lock_try(lock); turns++) {
        if (turns % 64 != 63)
            continue;
        sched_yield(); // the holder may need this processor
        if (begun && aq_clock_ns() - begun > BREAK_NS)
            return;
    }
}
