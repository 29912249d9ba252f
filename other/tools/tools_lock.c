// SPDX-License-Identifier: BSD-3-Clause
// Mutexes, condition variables and reader-writer locks for clients; with checks in a debug build.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "gasnet_tools.h"

#ifdef AQ_DEBUG
#define CHECKS 1
#else
#define CHECKS 0
#endif
enum { READ_LOCKS = 64 };

_Static_assert(sizeof(pthread_rwlock_t) <= sizeof(((gasnett_rwlock_t *)0)->aq_room),
               "gasnett_rwlock_t has no room for a pthread_rwlock_t");

// The address of this variable identifies a thread as the holder of a lock. In debug builds it also
// lists the locks that the thread holds for reading, because a lock cannot list all its readers.
static _Thread_local struct {
    const gasnett_rwlock_t *lock[READ_LOCKS];
    unsigned count;
} reading;

static uintptr_t this_thread(void)
{
    return (uintptr_t)&reading;
}

// Other threads may take or release the lock meanwhile, but they never store this thread's
// identity.
static uintptr_t lock_holder(const uintptr_t *place)
{
    return __atomic_load_n(place, __ATOMIC_RELAXED);
}

static void set_holder(uintptr_t *place, uintptr_t who)
{
    if (CHECKS)
        __atomic_store_n(place, who, __ATOMIC_RELAXED);
}

// Ends the program because of an illegal call; reason completes the sentence.
static void lock_misused(const char *call, const void *lock, const char *reason)
{
    gasnett_fatalerror_nopos("%s: the lock at %p %s", call, lock, reason);
}

// ---- mutexes ----

void gasnett_mutex_init(gasnett_mutex_t *mutex)
{
    pthread_mutex_init(&mutex->aq_mutex, NULL);
    mutex->aq_holder = 0;
}

void gasnett_mutex_destroy(gasnett_mutex_t *mutex)
{
    if (CHECKS && lock_holder(&mutex->aq_holder))
        lock_misused("gasnett_mutex_destroy", mutex, "is held");
    pthread_mutex_destroy(&mutex->aq_mutex);
}

int gasnett_mutex_destroy_ignoreerr(gasnett_mutex_t *mutex)
{
    return pthread_mutex_destroy(&mutex->aq_mutex);
}

void aq_api_mutex_lock(gasnett_mutex_t *mutex, int locks)
{
    if (CHECKS && lock_holder(&mutex->aq_holder) == this_thread())
        lock_misused("gasnett_mutex_lock", mutex, "is held by this thread already");
    if (locks)
        pthread_mutex_lock(&mutex->aq_mutex);
    set_holder(&mutex->aq_holder, this_thread());
}

int aq_api_mutex_trylock(gasnett_mutex_t *mutex, int locks)
{
    int result = 0;
    if (locks)
        result = pthread_mutex_trylock(&mutex->aq_mutex);
    else if (CHECKS && lock_holder(&mutex->aq_holder))
        result = EBUSY;
    if (result == 0)
        set_holder(&mutex->aq_holder, this_thread());
    return result;
}

void aq_api_mutex_unlock(gasnett_mutex_t *mutex, int locks)
{
    if (CHECKS && lock_holder(&mutex->aq_holder) != this_thread())
        lock_misused("gasnett_mutex_unlock", mutex, "is not held by this thread");
    set_holder(&mutex->aq_holder, 0);
    if (locks)
        pthread_mutex_unlock(&mutex->aq_mutex);
}

void aq_api_mutex_check(gasnett_mutex_t *mutex, int held)
{
    if (!CHECKS)
        return;
    bool mine = lock_holder(&mutex->aq_holder) == this_thread();
    if (held && !mine)
        lock_misused("gasnett_mutex_assertlocked", mutex, "is not held by this thread");
    if (!held && mine)
        lock_misused("gasnett_mutex_assertunlocked", mutex, "is held by this thread");
}

// ---- condition variables ----

void gasnett_cond_init(gasnett_cond_t *cond)
{
    pthread_cond_init(&cond->aq_cond, NULL);
}

void gasnett_cond_destroy(gasnett_cond_t *cond)
{
    pthread_cond_destroy(&cond->aq_cond);
}

void gasnett_cond_signal(gasnett_cond_t *cond)
{
    pthread_cond_signal(&cond->aq_cond);
}

void gasnett_cond_broadcast(gasnett_cond_t *cond)
{
    pthread_cond_broadcast(&cond->aq_cond);
}

void aq_api_cond_wait(gasnett_cond_t *cond, gasnett_mutex_t *mutex, int locks)
{
    if (CHECKS && lock_holder(&mutex->aq_holder) != this_thread())
        lock_misused("gasnett_cond_wait", mutex, "is not held by this thread");
    if (CHECKS && !locks)
        lock_misused("gasnett_cond_wait", mutex,
                     "belongs to a single thread, and no other thread exists that could wake it");
    if (!locks)
        return;
    set_holder(&mutex->aq_holder, 0);
    pthread_cond_wait(&cond->aq_cond, &mutex->aq_mutex);
    set_holder(&mutex->aq_holder, this_thread());
}

// ---- reader-writer locks ----

static pthread_rwlock_t *pthread_lock_of(gasnett_rwlock_t *lock)
{
    return (pthread_rwlock_t *)(void *)lock->aq_room;
}

// The index at which this thread has recorded that it reads under the lock; reading.count: not
// recorded.
static unsigned find_reading(const gasnett_rwlock_t *lock)
{
    unsigned i = 0;
    while (i < reading.count && reading.lock[i] != lock)
        i++;
    return i;
}

// How this thread holds the lock: AQ_API_RWLOCK_FREE, _READ or _WRITE. Debug builds only.
static int state_of(const gasnett_rwlock_t *lock)
{
    if (lock_holder(&lock->aq_writer) == this_thread())
        return AQ_API_RWLOCK_WRITE;
    return find_reading(lock) < reading.count ? AQ_API_RWLOCK_READ : AQ_API_RWLOCK_FREE;
}

static void note_taken(gasnett_rwlock_t *lock, bool write)
{
    if (write)
        set_holder(&lock->aq_writer, this_thread());
    else if (reading.count == READ_LOCKS)
        lock_misused("gasnett_rwlock_rdlock", lock,
                     "is one too many: a debug build lets a thread hold 64 for reading");
    else
        reading.lock[reading.count++] = lock;
}

static void note_given_back(gasnett_rwlock_t *lock, int state)
{
    if (state == AQ_API_RWLOCK_WRITE)
        set_holder(&lock->aq_writer, 0);
    else
        reading.lock[find_reading(lock)] = reading.lock[--reading.count];
}

void gasnett_rwlock_init(gasnett_rwlock_t *lock)
{
    pthread_rwlock_init(pthread_lock_of(lock), NULL);
    lock->aq_writer = 0;
}

void gasnett_rwlock_destroy(gasnett_rwlock_t *lock)
{
    if (CHECKS && (lock_holder(&lock->aq_writer) || state_of(lock) != AQ_API_RWLOCK_FREE))
        lock_misused("gasnett_rwlock_destroy", lock, "is held");
    pthread_rwlock_destroy(pthread_lock_of(lock));
}

static int try_once(pthread_rwlock_t *lock, bool write)
{
    return write ? pthread_rwlock_trywrlock(lock) : pthread_rwlock_tryrdlock(lock);
}

// EAGAIN means that the number of readers has reached the system's limit; one of them will leave.
static int wait_for(pthread_rwlock_t *lock, bool write)
{
    int result;
    while ((result = write ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock)) == EAGAIN)
        sched_yield();
    return result;
}

int aq_api_rwlock_take(gasnett_rwlock_t *lock, int write, int wait, int locks)
{
    bool mine = CHECKS && state_of(lock) != AQ_API_RWLOCK_FREE;
    int result = mine ? EBUSY : 0;
    if (mine && wait)
        lock_misused(write ? "gasnett_rwlock_wrlock" : "gasnett_rwlock_rdlock", lock,
                     "is held by this thread already");
    if (!mine && locks)
        result =
            wait ? wait_for(pthread_lock_of(lock), write) : try_once(pthread_lock_of(lock), write);
    if (CHECKS && result == 0)
        note_taken(lock, write);
    return result;
}

void aq_api_rwlock_unlock(gasnett_rwlock_t *lock, int locks)
{
    if (CHECKS) {
        int state = state_of(lock);
        if (state == AQ_API_RWLOCK_FREE)
            lock_misused("gasnett_rwlock_unlock", lock, "is not held by this thread");
        note_given_back(lock, state);
    }
    if (locks)
        pthread_rwlock_unlock(pthread_lock_of(lock));
}

void aq_api_rwlock_check(gasnett_rwlock_t *lock, int kinds)
{
    if (!CHECKS || (state_of(lock) & kinds))
        return;
    if (kinds == AQ_API_RWLOCK_FREE)
        lock_misused("gasnett_rwlock_assertunlocked", lock, "is held by this thread");
    lock_misused("gasnett_rwlock_assertlocked", lock, "is not held in this way by this thread");
}
