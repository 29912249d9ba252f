// Handler-safe locks: a mutex where threads run at the same time, else only the checks of a debug
// build.
#include <pthread.h>

#include "fatal.h"
#include "gasnetex_core.h"
#include "thread.h"

void gex_HSL_Init(gex_HSL_t *hsl)
{
    pthread_mutex_init(&hsl->aq_mutex, NULL);
    hsl->aq_held = 0;
}

void gex_HSL_Destroy(gex_HSL_t *hsl)
{
    AQ_CHECK(!hsl->aq_held, "gex_HSL_Destroy: the lock at %p is held", (void *)hsl);
    pthread_mutex_destroy(&hsl->aq_mutex);
}

void gex_HSL_Lock(gex_HSL_t *hsl)
{
    if (aq_threads)
        pthread_mutex_lock(&hsl->aq_mutex);
    AQ_CHECK(aq_threads || !hsl->aq_held, "gex_HSL_Lock: this thread holds the lock at %p already",
             (void *)hsl);
    hsl->aq_held = 1;
}

void gex_HSL_Unlock(gex_HSL_t *hsl)
{
    AQ_CHECK(hsl->aq_held, "gex_HSL_Unlock: the lock at %p is not held", (void *)hsl);
    hsl->aq_held = 0;
    if (aq_threads)
        pthread_mutex_unlock(&hsl->aq_mutex);
}

int gex_HSL_Trylock(gex_HSL_t *hsl)
{
    if (aq_threads ? pthread_mutex_trylock(&hsl->aq_mutex) != 0 : hsl->aq_held)
        return GASNET_ERR_NOT_READY;
    hsl->aq_held = 1;
    return GASNET_OK;
}
