// SPDX-License-Identifier: BSD-3-Clause
// Locks that cost only a test of a flag while one thread at a time uses the library. A conduit that
// is a module has its own copy of this file and of the flag, which it sets from aq_conduit_env_t.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

// Several threads may use the library at the same time. Set before a second thread exists.
extern bool aq_threads;

// A lock for short sections. No handler runs while it is held.
typedef struct aq_lock {
    atomic_uint held;
} aq_lock_t;

static inline bool aq_lock_try(aq_lock_t *lock)
{
    return !aq_threads || (!atomic_load_explicit(&lock->held, memory_order_relaxed) &&
                           !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire));
}

// Set in the thread that ends the process. If this thread cannot take a lock for long, it continues
// without the lock: the holder is either the code that this thread has interrupted as a signal
// handler, or a thread that waits for the end of the process.
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

// Add to a counter that is changed only by threads of the client, or by threads that exist only if
// aq_threads is set. With aq_threads the addition is one atomic step with release order; a single
// thread does not pay for that. n may be negative, modulo the range. Any thread; do not block.
static inline void aq_counter_add(atomic_uint *counter, unsigned n)
{
    if (aq_threads)
        atomic_fetch_add_explicit(counter, n, memory_order_release);
    else
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                              memory_order_relaxed);
}
static inline void aq_counter_add_long(atomic_ulong *counter, unsigned long n)
{
    if (aq_threads)
        atomic_fetch_add_explicit(counter, n, memory_order_release);
    else
        atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
                              memory_order_relaxed);
}
