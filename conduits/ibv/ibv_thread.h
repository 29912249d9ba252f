// The receive thread (GASNET_RCV_THREAD) sleeps until something arrives, and handles it while the
// client computes.
//
//      +--> rearm: the next arrival makes fd readable
//      |    poll until nothing is left        (again a moment later, if another thread polls)
//      |    sleep on fd ----------------------> arrival
//      +--- sleep longer, if GASNET_RCV_THREAD_RATE asks for it
//
// What is always true:
// - Between rearm and sleep, a poll has found nothing: so the thread misses no arrival.
// - The thread blocks all signals: they go to the client's threads.
// - It knows no device: the caller provides the fd and the functions that rearm and poll.
#ifndef AQ_IBV_THREAD_H
#define AQ_IBV_THREAD_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../other/base/status.h"

typedef struct aq_ibv_thread aq_ibv_thread_t;

typedef struct aq_ibv_thread_setup {
    int fd;
    // Consumes what made fd readable, and makes the next arrival do so again.
    void (*rearm)(void *context);
    // Handles a bounded number of arrivals. Returns how many; 0: there were none; negative: it did
    // not look, because another thread polls.
    int (*poll)(void *context);
    void *context;
    uint32_t rate; // limit of wake-ups per second; 0: none
} aq_ibv_thread_setup_t;

// Whether the settings ask for the thread. Sets rate in the setup.
bool aq_ibv_thread_wanted(aq_ibv_thread_setup_t *setup);

// AQ_ERR_RESOURCE: the thread cannot be created (logged).
aq_status_t aq_ibv_thread_start(const aq_ibv_thread_setup_t *setup, aq_ibv_thread_t **out);

// Waits until the thread has finished its current poll and ended. Returns at once if that poll
// itself is the caller (a handler that ends the job), or in a child of fork, which has no such
// thread.
void aq_ibv_thread_stop(aq_ibv_thread_t *thread);

// How often the thread has woken up so far.
uint64_t aq_ibv_thread_wakes(const aq_ibv_thread_t *thread);

// ---- a completion channel as the source ----

typedef struct aq_ibv_source {
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq; // made with that channel
    unsigned owed;     // events that were received and not acknowledged yet
} aq_ibv_source_t;

// Makes the channel non-blocking, and sets fd in the setup. AQ_ERR_RESOURCE: that failed (logged).
aq_status_t aq_ibv_source_open(aq_ibv_source_t *source, aq_ibv_thread_setup_t *setup);

// The function rearm of a setup whose context is the source.
void aq_ibv_source_rearm(aq_ibv_source_t *source);

// Call it after the thread has ended and before the completion queue is destroyed.
void aq_ibv_source_close(aq_ibv_source_t *source);

#endif
