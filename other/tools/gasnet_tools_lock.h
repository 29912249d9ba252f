// SPDX-License-Identifier: BSD-3-Clause
// Mutexes, condition variables, reader-writer locks and thread-specific pointers: README-tools,
// "Error-checking System Mutexes and Condition Variables", "Reader/Writer locks", "Thread-specific
// data". Include <gasnet_tools.h>, not this file.
//
// They work like their pthread namesakes, but are never recursive. A library built with
// --enable-debug ends the program with a message if a thread takes a lock twice, releases a lock
// that it does not hold, or destroys a held lock. Without GASNETT_THREAD_SAFE they do nothing
// except for these checks, unless GASNETT_USE_TRUE_MUTEXES is 1.
#ifndef GASNET_TOOLS_LOCK_H
#define GASNET_TOOLS_LOCK_H

#include <pthread.h>
#include <stdint.h>

#include "gasnet_config.h"
#include "gasnet_tools_atomic.h"

#if AQ_API_CONCURRENT || (defined(GASNETT_USE_TRUE_MUTEXES) && GASNETT_USE_TRUE_MUTEXES)
#define AQ_API_TRUE_LOCKS 1
#else
#define AQ_API_TRUE_LOCKS 0
#endif
#if AQ_API_TRUE_LOCKS || defined(GASNET_DEBUG)
#define AQ_API_LOCKS 1
#else
#define AQ_API_LOCKS 0
#endif
#define AQ_API_TOOLS extern __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    pthread_mutex_t aq_mutex;
    uintptr_t aq_holder; // debug builds: identifies the thread
} gasnett_mutex_t;
#define GASNETT_MUTEX_INITIALIZER                                                                  \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, 0                                                               \
    }
typedef struct {
    pthread_cond_t aq_cond;
} gasnett_cond_t;
#define GASNETT_COND_INITIALIZER                                                                   \
    {                                                                                              \
        PTHREAD_COND_INITIALIZER                                                                   \
    }
// Memory for a pthread_rwlock_t, which strict C11 does not declare; its initial state is zero.
typedef struct {
    uint64_t aq_room[8];
    uintptr_t aq_writer; // as aq_holder
} gasnett_rwlock_t;
#define GASNETT_RWLOCK_INITIALIZER                                                                 \
    {                                                                                              \
        {0, 0, 0, 0, 0, 0, 0, 0}, 0                                                                \
    }

// Implemented in the library. locks: whether to take the lock, or only to check.
AQ_API_TOOLS void aq_api_mutex_lock(gasnett_mutex_t *mutex, int locks);
AQ_API_TOOLS int aq_api_mutex_trylock(gasnett_mutex_t *mutex, int locks);
AQ_API_TOOLS void aq_api_mutex_unlock(gasnett_mutex_t *mutex, int locks);
AQ_API_TOOLS void aq_api_mutex_check(gasnett_mutex_t *mutex, int held);
AQ_API_TOOLS void aq_api_cond_wait(gasnett_cond_t *cond, gasnett_mutex_t *mutex, int locks);
AQ_API_TOOLS int aq_api_rwlock_take(gasnett_rwlock_t *lock, int write, int wait, int locks);
AQ_API_TOOLS void aq_api_rwlock_unlock(gasnett_rwlock_t *lock, int locks);
AQ_API_TOOLS void aq_api_rwlock_check(gasnett_rwlock_t *lock, int kinds);

AQ_API_TOOLS void gasnett_mutex_init(gasnett_mutex_t *mutex);
AQ_API_TOOLS void gasnett_mutex_destroy(gasnett_mutex_t *mutex);
AQ_API_TOOLS int gasnett_mutex_destroy_ignoreerr(gasnett_mutex_t *mutex); // 0 or an errno value
AQ_API_INLINE void gasnett_mutex_lock(gasnett_mutex_t *mutex)
{
    if (AQ_API_LOCKS)
        aq_api_mutex_lock(mutex, AQ_API_TRUE_LOCKS);
}
AQ_API_INLINE void gasnett_mutex_unlock(gasnett_mutex_t *mutex)
{
    if (AQ_API_LOCKS)
        aq_api_mutex_unlock(mutex, AQ_API_TRUE_LOCKS);
}
// Returns 0, or EBUSY if it is held.
AQ_API_INLINE int gasnett_mutex_trylock(gasnett_mutex_t *mutex)
{
    return AQ_API_LOCKS ? aq_api_mutex_trylock(mutex, AQ_API_TRUE_LOCKS) : 0;
}
// By the calling thread; checked in debug builds only.
AQ_API_INLINE void gasnett_mutex_assertlocked(gasnett_mutex_t *mutex)
{
    if (AQ_API_LOCKS)
        aq_api_mutex_check(mutex, 1);
}
AQ_API_INLINE void gasnett_mutex_assertunlocked(gasnett_mutex_t *mutex)
{
    if (AQ_API_LOCKS)
        aq_api_mutex_check(mutex, 0);
}

AQ_API_TOOLS void gasnett_cond_init(gasnett_cond_t *cond);
AQ_API_TOOLS void gasnett_cond_destroy(gasnett_cond_t *cond);
// The caller holds the mutex of the waiting threads.
AQ_API_TOOLS void gasnett_cond_signal(gasnett_cond_t *cond);
AQ_API_TOOLS void gasnett_cond_broadcast(gasnett_cond_t *cond);
// Blocks without polling until signalled; may also return without a signal.
AQ_API_INLINE void gasnett_cond_wait(gasnett_cond_t *cond, gasnett_mutex_t *mutex)
{
    if (AQ_API_LOCKS)
        aq_api_cond_wait(cond, mutex, AQ_API_TRUE_LOCKS);
}

AQ_API_TOOLS void gasnett_rwlock_init(gasnett_rwlock_t *lock);
AQ_API_TOOLS void gasnett_rwlock_destroy(gasnett_rwlock_t *lock);
AQ_API_INLINE void gasnett_rwlock_rdlock(gasnett_rwlock_t *lock)
{
    if (AQ_API_LOCKS)
        aq_api_rwlock_take(lock, 0, 1, AQ_API_TRUE_LOCKS);
}
AQ_API_INLINE void gasnett_rwlock_wrlock(gasnett_rwlock_t *lock)
{
    if (AQ_API_LOCKS)
        aq_api_rwlock_take(lock, 1, 1, AQ_API_TRUE_LOCKS);
}
// Returns 0, or EBUSY or EAGAIN if it is not available now.
AQ_API_INLINE int gasnett_rwlock_tryrdlock(gasnett_rwlock_t *lock)
{
    return AQ_API_LOCKS ? aq_api_rwlock_take(lock, 0, 0, AQ_API_TRUE_LOCKS) : 0;
}
AQ_API_INLINE int gasnett_rwlock_trywrlock(gasnett_rwlock_t *lock)
{
    return AQ_API_LOCKS ? aq_api_rwlock_take(lock, 1, 0, AQ_API_TRUE_LOCKS) : 0;
}
AQ_API_INLINE void gasnett_rwlock_unlock(gasnett_rwlock_t *lock)
{
    if (AQ_API_LOCKS)
        aq_api_rwlock_unlock(lock, AQ_API_TRUE_LOCKS);
}
// By the calling thread; checked in debug builds only.
#define AQ_API_RWLOCK_FREE 1
#define AQ_API_RWLOCK_READ 2
#define AQ_API_RWLOCK_WRITE 4
AQ_API_INLINE void gasnett_rwlock_assertrdlocked(gasnett_rwlock_t *lock)
{
    if (AQ_API_LOCKS)
        aq_api_rwlock_check(lock, AQ_API_RWLOCK_READ);
}
AQ_API_INLINE void gasnett_rwlock_assertwrlocked(gasnett_rwlock_t *lock)
{
    if (AQ_API_LOCKS)
        aq_api_rwlock_check(lock, AQ_API_RWLOCK_WRITE);
}
AQ_API_INLINE void gasnett_rwlock_assertlocked(gasnett_rwlock_t *lock)
{
    if (AQ_API_LOCKS)
        aq_api_rwlock_check(lock, AQ_API_RWLOCK_READ | AQ_API_RWLOCK_WRITE);
}
AQ_API_INLINE void gasnett_rwlock_assertunlocked(gasnett_rwlock_t *lock)
{
    if (AQ_API_LOCKS)
        aq_api_rwlock_check(lock, AQ_API_RWLOCK_FREE);
}

#ifdef __cplusplus
}
#endif

// ---- a pointer for each thread; macros, since they declare ----

// Use DEFINE in one file at file scope, and DECLARE wherever else the key is used. The initial
// value is NULL. Nothing needs to be initialized: both forms are the same.
#if AQ_API_CONCURRENT
#define AQ_API_PER_THREAD __thread
#else
#define AQ_API_PER_THREAD
#endif
#define GASNETT_THREADKEY_DECLARE(key) extern AQ_API_PER_THREAD void *aq_api_threadkey_##key
#define GASNETT_THREADKEY_DEFINE(key)                                                              \
    GASNETT_THREADKEY_DECLARE(key);                                                                \
    AQ_API_PER_THREAD void *aq_api_threadkey_##key = 0
#define gasnett_threadkey_init(key) ((void)0)
#define gasnett_threadkey_get(key) (aq_api_threadkey_##key)
#define gasnett_threadkey_set(key, val) ((void)(aq_api_threadkey_##key = (void *)(val)))
#define gasnett_threadkey_get_noinit(key) gasnett_threadkey_get(key)
#define gasnett_threadkey_set_noinit(key, val) gasnett_threadkey_set(key, val)
// Not in the specification. Clients take its address to avoid warnings about unused functions.
static inline __attribute__((__unused__)) void _gasneti_threadkey_init(void *key)
{
    (void)key;
}

#endif
