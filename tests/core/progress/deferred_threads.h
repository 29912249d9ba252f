/* SPDX-License-Identifier: BSD-3-Clause */
/* The client of GEX_FLAG_DEFER_THREADS: it starts the progress threads itself. */
#ifndef DEFERRED_THREADS_H
#define DEFERRED_THREADS_H

#include <gasnetex.h>

/* The number of threads of this process. */
unsigned deferred_threads_count(void);

/* Starts the threads of gex_System_QueryProgressThreads: the first one by pthread_create, the next
 * one by a function of the client, and so on. Checks that there are `expected`, with the roles that
 * GASNET_RCV_THREAD and GASNET_SND_THREAD ask for, and that the library starts none beside them.
 * Returns NULL, or what is wrong. */
const char *deferred_threads_start(gex_Client_t client, unsigned expected);

#endif
