// Locks that cost a test of one flag where only one thread is ever inside. A conduit that is a
// module has this, with a flag of its own, which it sets from aq_conduit_env_t.
#ifndef AQ_LOCK_H
#define AQ_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

// Several threads may be inside at the same time. Set before there are any.
extern bool aq_threads;

// A lock for short sections, which no handler runs under.
typedef struct aq_lock {
    atomic_uint held;
} aq_lock_t;

static inline bool aq_lock_try(aq_lock_t *lock)
{
    return !aq_threads || (!atomic_load_explicit(&lock->held, memory_order_relaxed) &&
                           !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire));
}

// This thread ends the process. A lock that it does not get for long is held by what it has
// interrupted as a handler of a signal, or by a thread that waits for the end: it goes on without.
extern _Thread_local bool aq_lock_leaving __attribute__((tls_model("initial-exec")));

void aq_lock_take_slow(aq_lock_t *lock);

static inline void aq_lock_take(aq_lock_t *lock)
{
    if (!aq_lock_try(lock))
        aq_lock_take_slow(lock);
}

static inline void aq_lock_drop(aq_lock_t *lock)
{
    if (aq_threads)
        atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif
