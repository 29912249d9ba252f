// The three thread modes, and the state of each thread. No other file uses the names of the modes.
//
// seq: one thread ever calls the library. parsync: several, never two at once. par: any number at
// once. aq_threads (lock.h) is true for par, and for parsync if a thread of the library runs
// handlers beside the client's threads.
#ifndef AQ_THREAD_H
#define AQ_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "lock.h"
#include "srcdesc.h"

// Sets the mode by name; returns false if there is no such mode.
bool aq_thread_mode(const char *word);

// Sets aq_threads if handlers may run in a thread of the library (GASNET_RCV_THREAD). After the
// settings are loaded.
void aq_thread_expect_handlers(void);

// Most client threads that may use the library (GASNET_MAX_THREADS; 1 in seq mode).
uint64_t aq_thread_limit(void);

// State of one client thread: allocated on first use, freed when the thread ends.
typedef struct aq_thread {
    aq_event_t *nbi;          // the implicit operations outside of an access region
    aq_event_t *region;       // those of the open access region, or NULL
    aq_srcdesc_t *prepared;   // between Prepare and Commit: the descriptor in use
    aq_srcdesc_t *descriptor; // its memory, reused
} aq_thread_t;

aq_thread_t *aq_thread_self(void);

// The record that counts implicit (NBI) operations of this thread: that of the open access region,
// if there is one.
aq_event_t *aq_thread_nbi(void);

// Number of threads that have such a state.
unsigned long aq_thread_live(void);

// Depth of handlers in this thread: 0 outside, 1 in a request or reply handler, 2 when a reply's
// handler runs inside a request's. Kept in debug builds only.
extern _Thread_local unsigned aq_thread_handler_depth __attribute__((tls_model("initial-exec")));

// How many handler-safe locks this thread holds. Kept in debug builds only.
extern _Thread_local unsigned aq_thread_held_locks __attribute__((tls_model("initial-exec")));

// For debug builds: ends the job if this thread may not make a call that communicates, polls or
// waits: in a handler, with a handler-safe lock held, or between Prepare and Commit or Cancel. The
// name of the call is both words together.
void aq_thread_check_context(const char *call, const char *kind);

// As aq_thread_check_context, for a reply, which only a handler may send.
void aq_thread_check_reply_context(const char *call, const char *kind);

#endif
