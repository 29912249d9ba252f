// SPDX-License-Identifier: BSD-3-Clause
// Blocks all signals around pthread_create. The progress threads of core and conduits, and the
// watch of spawner pmi, start here.
#include "quiet_thread.h"

#include <signal.h>

// A new thread inherits the signal mask of its creator.
int aq_quiet_thread_create(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(thread, NULL, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
