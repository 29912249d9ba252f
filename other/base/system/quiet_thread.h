// SPDX-License-Identifier: BSD-3-Clause
// Threads of the library. Signals belong to the client's threads.
#pragma once

#include <pthread.h>

// pthread_create with default attributes, for a thread that blocks all signals. Returns 0, or an
// error number.
int aq_quiet_thread_create(pthread_t *thread, void *(*run)(void *), void *arg);
