// SPDX-License-Identifier: BSD-3-Clause
// Handler-safe locks: a mutex if threads run at the same time, otherwise only the checks of a debug
// build.
#include <pthread.h>

#include "../ground/fatal.h"
#include "../gasnetex_core.h"
#include "thread.h"
#include "thread_life.h"

// The value of aq_held while this thread holds a lock: the number of the thread in a debug build,
// else 1. 0 means free.
static int holder_number(void)
{
    return AQ_CHECKS ? (int)aq_thread_number() : 1;
}

// Other threads may take or release the lock meanwhile, but neither stores the number of this
// thread.
static int held_by(const gex_HSL_t *hsl)
{
    return __atomic_load_n(&hsl->aq_held, __ATOMIC_RELAXED);
}

static void set_held(gex_HSL_t *hsl, int by)
{
    __atomic_store_n(&hsl->aq_held, by, __ATOMIC_RELAXED);
    if (AQ_CHECKS)
        aq_thread_held_locks += by ? 1u : -1u;
}

void gex_HSL_Init(gex_HSL_t *hsl)
{
    pthread_mutex_init(&hsl->aq_mutex, NULL);
    hsl->aq_held = 0;
}

void gex_HSL_Destroy(gex_HSL_t *hsl)
{
    AQ_CHECK(!held_by(hsl), "gex_HSL_Destroy: the lock at %p is held", (void *)hsl);
    pthread_mutex_destroy(&hsl->aq_mutex);
}

void gex_HSL_Lock(gex_HSL_t *hsl)
{
    AQ_CHECK(held_by(hsl) != holder_number(),
             "gex_HSL_Lock: this thread holds the lock at %p already", (void *)hsl);
    AQ_CHECK(aq_threads || !held_by(hsl),
             "gex_HSL_Lock: another thread holds the lock at %p; only GASNET_PAR lets several "
             "threads compete for one",
             (void *)hsl);
    if (aq_threads)
        pthread_mutex_lock(&hsl->aq_mutex);
    set_held(hsl, holder_number());
}

void gex_HSL_Unlock(gex_HSL_t *hsl)
{
    AQ_CHECK(held_by(hsl), "gex_HSL_Unlock: the lock at %p is not held", (void *)hsl);
    AQ_CHECK(held_by(hsl) == holder_number(), "gex_HSL_Unlock: another thread holds the lock at %p",
             (void *)hsl);
    set_held(hsl, 0);
    if (aq_threads)
        pthread_mutex_unlock(&hsl->aq_mutex);
}

int gex_HSL_Trylock(gex_HSL_t *hsl)
{
    if (aq_threads ? pthread_mutex_trylock(&hsl->aq_mutex) != 0 : held_by(hsl) != 0)
        return GASNET_ERR_NOT_READY;
    set_held(hsl, holder_number());
    return GASNET_OK;
}
