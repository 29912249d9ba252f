// SPDX-License-Identifier: BSD-3-Clause
// Progress threads: threads of the library, one for each conduit, which block in its sleep
// operation in place of the client. They start on first use. With GEX_FLAG_DEFER_THREADS the client
// runs those that GASNET_RCV_THREAD and GASNET_SND_THREAD ask for, in threads of its own.
//
// - They stand by for a client that is about to sleep on the descriptor of wake_fd.h: each sleeps
//   once in its conduit, and rings the descriptor. They run no handlers.
// - They serve at the level GASNETX_PROGRESS_THREAD: they run handlers and tasks while the client
//   computes. A client that sleeps on the descriptor is woken after each step. A deferred thread
//   for GASNET_SND_THREAD alone only takes in completions, which it polls for at intervals.
//
//      stand by:  wait for aq_progress_threads_watch           serve:  poll until nothing is left
//                 sleep in the conduit                           announce the sleep, poll once more
//                 ring the descriptor                            sleep in the conduit; ring
//
// The progress thread of a conduit with a receive thread of its own (AQ_CAN_DELIVER) does not
// serve, and only stands by. A progress thread and a client that poll at the same time take turns
// by the conduit's own try-locks: neither waits while the other runs a handler. Where arrivals do
// not end a sleep, the thread polls at intervals (conduit_sleep).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../other/base/log/status.h"
#include "../gasnetex_core.h"

// Starts the threads and lets them serve, if the setting GASNET_RCV_THREAD asks for it and several
// threads may use the library; or leaves these threads to the client (deferred). AQ_ERR_RESOURCE: a
// thread cannot be started (logged).
aq_status_t aq_progress_threads_start(bool deferred);

// Sets *info to the threads that are left to the client, in memory of the library, and returns
// their number. Once.
unsigned aq_progress_threads_lend(const gex_ProgressThreadInfo_t **info);

// Lets the threads serve from now on, or stand by; starts them if need be. Standing by, waits for
// the handlers that they run. AQ_ERR_RESOURCE: a thread cannot be started (logged). Any thread; not
// in a handler.
aq_status_t aq_progress_threads_serve(bool serve);

// For a client thread that is about to sleep on the descriptor. arm announces the sleep to the
// conduits, and starts the threads if need be; on AQ_OK one disarm follows. After it the caller
// polls once more, and if that finds nothing watch makes the threads sleep in the conduits, for at
// most limit_ns nanoseconds. AQ_AGAIN: the client does not run all of its threads yet, so that none
// would end the sleep. Any thread; not in a handler.
aq_status_t aq_progress_threads_arm(void);
void aq_progress_threads_watch(uint64_t limit_ns);
void aq_progress_threads_disarm(void);

// Ends the threads; call before the conduits are closed. Blocks until they have ended, which is
// after the handlers that they run. Does not wait for the thread that calls (a handler ends the
// job), and returns at once in a child of fork.
void aq_progress_threads_stop(void);

// Called by a thread that waits for the end of the process: if it is a progress thread,
// aq_progress_threads_stop does not wait for it.
void aq_progress_thread_retire(void);
