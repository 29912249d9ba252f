// SPDX-License-Identifier: BSD-3-Clause
// Numbers the threads, and runs the functions that files have registered for the end of a thread,
// by a destructor of thread-specific data.
#include "thread_life.h"

#include <pthread.h>
#include <stdatomic.h>

#include "../../other/base/system/own_process.h"
#include "../ground/fatal.h"

static _Thread_local aq_thread_end_t *ends __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

uint64_t aq_thread_number(void)
{
    static _Thread_local uint64_t own __attribute__((tls_model("initial-exec")));
    static _Atomic uint64_t last;
    if (!own)
        own = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    return own;
}

static void ends_run(void *unused)
{
    (void)unused;
    while (ends && aq_own_process()) {
        aq_thread_end_t *end = ends;
        ends = end->next;
        end->run();
    }
}

static void make_key(void)
{
    if (pthread_key_create(&key, ends_run) != 0)
        aq_fatal("no thread-specific key is left: the client uses all that the system allows");
}

void aq_thread_at_end(aq_thread_end_t *end)
{
    pthread_once(&once, make_key);
    pthread_setspecific(key, &ends);
    end->next = ends;
    ends = end;
}
