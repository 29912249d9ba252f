// SPDX-License-Identifier: BSD-3-Clause
// Windows: the receive sides of further endpoints.
//
//     endpoint 0 ---- aq_job.conduits     ~~~~  aq_job.conduits of the peer, endpoint 0
//     endpoint i ---- window i            ~~~~  window j of the peer
//
// - A window has an open conduit of its own for each conduit of the job that offers windows
//   (open_window in conduit.h), and its own links. So threads that use an endpoint each share
//   nothing that is written.
// - A window opens when its endpoint communicates first, or when a thread binds itself to it, and
//   stays open: another endpoint with the same index uses it again.
// - Until two windows are connected (window_connect.h), and where a conduit offers none, messages
//   between their endpoints travel between the receive sides of endpoint 0. Both ways carry the
//   same message, which names its endpoints itself (am_header.h).
// - A thread polls the window that it is bound to, and now and then everything. A thread without a
//   window polls endpoint 0, and one window in turn. Both omit a window that its bound thread has
//   polled since they last looked, so that its cache lines stay at the processor of that thread.
#pragma once

#include <stdatomic.h>

#include "peer_link.h"
#include "../ground/ep_pair.h"

#define AQ_CACHE_LINE 64 // bytes

// The links from a window to one window of a job rank.
typedef struct aq_window_link {
    atomic_uintptr_t ready;     // 0: no messages yet; else the link, with the index of the conduit
    atomic_uintptr_t connected; // as ready, but set as soon as this process has connected
    atomic_uintptr_t replies;   // as connected, for replies to requests that came without a path
    atomic_uint requested;      // the peer was asked to connect
} aq_window_link_t;

typedef struct aq_window {
    gex_EP_Index_t endpoint;
    bool whole;                              // every conduit of the job offers this window
    aq_conduit_t *conduits[AQ_MAX_CONDUITS]; // as aq_job.conduits; NULL: offers no windows
    // attended: grows now and then while a bound thread polls the window. seen: its value when
    // another thread last looked. Each is on a cache line of its own.
    _Alignas(AQ_CACHE_LINE) atomic_uint attended;
    _Alignas(AQ_CACHE_LINE) atomic_uint seen;
    _Alignas(AQ_CACHE_LINE) _Atomic(aq_window_link_t *) links[GASNET_MAXEPS]; // by endpoint of the
                                                                              // peer, then job rank
} aq_window_t;

// By endpoint; NULL: not open.
extern _Atomic(aq_window_t *) aq_windows[GASNET_MAXEPS];

// The window that the calling thread is bound to, or NULL.
extern _Thread_local aq_window_t *aq_window_own __attribute__((tls_model("initial-exec")));

// Returns the window of an endpoint (1 or more), which is opened if need be. NULL: no conduit of
// the job offers windows, or no further one (logged). Any thread; may block for a moment.
aq_window_t *aq_window_open(gex_EP_Index_t endpoint);

// Returns the link between two windows, made with nothing connected if need be. NULL: memory is out
// (logged).
aq_window_link_t *aq_window_link(aq_window_t *window, gex_EP_Index_t to, uint32_t jobrank);

// As aq_window_link, or NULL if the window or the link does not exist yet.
static inline aq_window_link_t *aq_window_find_link(aq_ep_pair_t pair, uint32_t jobrank)
{
    aq_window_t *window = atomic_load_explicit(&aq_windows[pair.from], memory_order_acquire);
    if (!window)
        return NULL;
    aq_window_link_t *links = atomic_load_explicit(&window->links[pair.to], memory_order_acquire);
    return links ? &links[jobrank] : NULL;
}

static inline aq_conduit_t *aq_window_conduit(gex_EP_Index_t endpoint, uintptr_t link)
{
    return atomic_load_explicit(&aq_windows[endpoint], memory_order_relaxed)
        ->conduits[aq_link_index(link)];
}

// Whether this process has windows.
bool aq_window_any(void);

// Polls the open conduits of a window. Returns the number of messages and steps.
unsigned aq_window_poll(const aq_window_t *window, unsigned what);

// Polls all windows for replies, or one window in turn for everything, unless it is the calling
// thread's or attended.
unsigned aq_window_poll_others(unsigned what);

// Tells other threads that a bound thread polls the window.
static inline void aq_window_attend(aq_window_t *window)
{
    const unsigned count = atomic_load_explicit(&window->attended, memory_order_relaxed);
    atomic_store_explicit(&window->attended, count + 1, memory_order_relaxed);
}

// Polls one conduit of all windows: that of this index in aq_job.conduits.
unsigned aq_window_poll_conduit(unsigned index, unsigned what);

// Bytes that all windows hold for messages.
size_t aq_window_memory_bytes(void);

// Prints queues and counters of all windows; in a handler of a signal.
void aq_window_dump_state(void);
