// SPDX-License-Identifier: BSD-3-Clause
// The three thread modes, and the state of each thread. Only thread.c uses the names of the modes.
//
// seq: only one thread calls the library. parsync: several threads, never two at once. par: any
// number at once. aq_threads (lock.h) is true in par, and in parsync if a thread of the library
// works beside those of the client.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "outstanding.h"
#include "event.h"
#include "../ground/fatal.h"
#include "../ground/lock.h"
#include "srcdesc.h"

// Sets the mode by name; returns false if there is no such mode.
bool aq_thread_mode(const char *word);

// Sets aq_threads if a thread of the library works beside those of the client (GASNET_RCV_THREAD,
// GASNET_SND_THREAD). After the settings are loaded.
void aq_thread_expect_helpers(void);

// Limit on the client threads that use the library (GASNET_MAX_THREADS; 1 in seq mode).
uint64_t aq_thread_limit(void);

// State of one client thread: allocated on first use, freed when the thread ends.
typedef struct aq_thread {
    aq_event_t *nbi;               // the implicit operations outside of an access region
    aq_event_t *region;            // those of the open access region, or NULL
    aq_srcdesc_t *prepared;        // between Prepare and Commit: the descriptor in use
    aq_srcdesc_t *descriptor;      // memory for prepared, reused
    aq_outstanding_t *outstanding; // operations that fences wait for
} aq_thread_t;

aq_thread_t *aq_thread_self(void);

// The record that counts implicit (NBI) operations of this thread: the record of the open access
// region, if there is one, else nbi.
aq_event_t *aq_thread_nbi(void);

// Number of threads that have such a state.
unsigned long aq_thread_live(void);
// `second` is called when a thread gets a state while another thread has one. At init.
void aq_thread_on_second(void (*second)(void));

// Depth of handlers in this thread: 0 outside, 1 in a request or reply handler, 2 when a reply's
// handler runs inside a request's. Kept in debug builds only.
extern _Thread_local unsigned aq_thread_handler_depth __attribute__((tls_model("initial-exec")));

// The number of handler-safe locks that this thread holds. Kept in debug builds only.
extern _Thread_local unsigned aq_thread_held_locks __attribute__((tls_model("initial-exec")));

// For debug builds: ends the job if this thread may not make a call that communicates, polls or
// waits: in a handler, with a handler-safe lock held, or between Prepare and Commit or Cancel. The
// message names the call as call followed by kind.
void aq_thread_check_context(const char *call, const char *kind);
static inline void aq_thread_check_call(const char *call)
{
    if (AQ_CHECKS)
        aq_thread_check_context(call, "");
}

// As aq_thread_check_context, for a reply, which only a handler may send.
void aq_thread_check_reply_context(const char *call, const char *kind);
