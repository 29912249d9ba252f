// The three thread modes, and what each thread keeps to itself. No other file asks for the mode
// by name.
//
// seq: one thread ever enters. parsync: several, never two at once. par: any number at once.
// aq_threads (lock.h) is true for par; and for parsync where a thread of the library runs handlers
// beside the client's.
#ifndef AQ_THREAD_H
#define AQ_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "lock.h"
#include "srcdesc.h"

// Sets the mode by its word; false when it is none.
bool aq_thread_mode(const char *word);

// With the settings loaded: whether handlers may run in another thread (GASNET_RCV_THREAD).
void aq_thread_expect_handlers(void);

// Most client threads that may be inside at the same time (GASNET_MAX_THREADS; 1 in seq mode).
uint64_t aq_thread_limit(void);

// State of one client thread; made when it first needs it, freed when it ends.
typedef struct aq_thread {
    aq_event_t *nbi;          // the implicit operations outside of an access region
    aq_event_t *region;       // those of the open access region, or NULL
    aq_srcdesc_t *prepared;   // between Prepare and Commit: the descriptor in use
    aq_srcdesc_t *descriptor; // its memory, reused
} aq_thread_t;

aq_thread_t *aq_thread_self(void);

// The record that implicit (NBI) operations of this thread are counted in: that of the open access
// region, if there is one.
aq_event_t *aq_thread_nbi(void);

// Threads that have such a state.
unsigned long aq_thread_live(void);

// Depth of handlers in this thread: 0 outside, 1 in a request or reply handler, 2 when a reply's
// handler runs inside a request's. Kept in debug builds only.
extern _Thread_local unsigned aq_thread_handler_depth __attribute__((tls_model("initial-exec")));

// How many handler-safe locks this thread holds. Kept in debug builds only.
extern _Thread_local unsigned aq_thread_held_locks __attribute__((tls_model("initial-exec")));

// For debug builds: ends the job when this thread may not make the call, named by both words
// together, since the call communicates, polls or waits: in a handler, with a handler-safe lock
// held, or between Prepare and Commit or Cancel.
void aq_thread_check_context(const char *call, const char *kind);

// The same for a reply, which a handler may send.
void aq_thread_check_reply_context(const char *call, const char *kind);

#endif
