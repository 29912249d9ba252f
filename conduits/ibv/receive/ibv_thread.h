// SPDX-License-Identifier: BSD-3-Clause
// Threads that work while the client computes: the receive thread (GASNET_RCV_THREAD) sleeps until
// something arrives, and handles it; the send thread (GASNET_SND_THREAD) sleeps until something
// that was sent is complete, and reaps it.
//
//      +--> rearm: the next event makes an fd readable
//      |    poll until nothing is left        (again a moment later, if another thread polls)
//      |    sleep on the fds -----------------> event
//      +--- sleep longer, if GASNET_RCV_THREAD_RATE or GASNET_SND_THREAD_RATE asks for it
//
// What is always true:
// - Between rearm and sleep, a poll has found nothing: so the thread misses no event.
// - The thread blocks all signals: they go to the client's threads.
// - It knows no device: the caller provides the fds and the functions that rearm and poll.
#pragma once

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../../other/base/log/status.h"

typedef struct aq_ibv_thread aq_ibv_thread_t;

enum { AQ_IBV_THREAD_FDS = 10 };

typedef enum aq_ibv_thread_kind { AQ_IBV_RECEIVE_THREAD, AQ_IBV_SEND_THREAD } aq_ibv_thread_kind_t;

typedef struct aq_ibv_thread_setup {
    const char *variable; // that asks for the thread, for messages
    int fds[AQ_IBV_THREAD_FDS];
    unsigned fd_count;
    // Consumes what made fds readable, and makes the next event do so again.
    void (*rearm)(void *context);
    // Handles a bounded number of events. Returns how many; 0: there were none; negative: it did
    // not look, because another thread polls.
    int (*poll)(void *context);
    void *context;
    uint32_t rate; // limit of wake-ups per second; 0: none
} aq_ibv_thread_setup_t;

// Whether the settings ask for the thread. Sets variable and rate in the setup.
bool aq_ibv_thread_wanted(aq_ibv_thread_setup_t *setup, aq_ibv_thread_kind_t kind);

// AQ_ERR_RESOURCE: the thread cannot be created (logged).
aq_status_t aq_ibv_thread_start(const aq_ibv_thread_setup_t *setup, aq_ibv_thread_t **out);

// Waits until the thread has finished its current poll and ended. Returns at once if that poll
// itself is the caller (a handler that ends the job), or in a child of fork, which has no such
// thread.
void aq_ibv_thread_stop(aq_ibv_thread_t *thread);

// ---- a completion channel as the source ----

typedef struct aq_ibv_source {
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq; // made with that channel
    unsigned owed;     // events that were received and not acknowledged yet
} aq_ibv_source_t;

// Makes the channel non-blocking, and adds it to the fds of the setup. AQ_ERR_RESOURCE: that failed
// (logged).
aq_status_t aq_ibv_source_open(aq_ibv_source_t *source, aq_ibv_thread_setup_t *setup);

// The function rearm of a setup whose context is the source.
void aq_ibv_source_rearm(aq_ibv_source_t *source);

// Call it after the thread has ended and before the completion queue is destroyed.
void aq_ibv_source_close(aq_ibv_source_t *source);
