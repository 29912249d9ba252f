#include "lock.h"

#include <sched.h>

bool aq_threads;

void aq_lock_take_slow(aq_lock_t *lock)
{
    for (unsigned turns = 0; !aq_lock_try(lock); turns++)
        if (turns % 64 == 63)
            sched_yield(); // the holder may need this processor
}
