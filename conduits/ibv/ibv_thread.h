// GASNET_RCV_THREAD: a thread that sleeps until something arrives, and handles it while the client
// computes.
//
//      +--> rearm: the next arrival makes fd readable
//      |    poll until nothing is left        (again a moment later, if another thread was at it)
//      |    sleep on fd ----------------------> arrival
//      +--- sleep on, if GASNET_RCV_THREAD_RATE says so
//
// What is always true:
// - Between rearm and sleep it has looked once and found nothing: no arrival is slept through.
// - It takes no signals: they go to the client's threads.
// - It knows no device: what makes fd readable and what is polled are injected.
#ifndef AQ_IBV_THREAD_H
#define AQ_IBV_THREAD_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../other/base/status.h"

typedef struct aq_ibv_thread aq_ibv_thread_t;

typedef struct aq_ibv_thread_setup {
    int fd;
    // Takes what made fd readable, and sees that what arrives from now on does so again.
    void (*rearm)(void *context);
    // Handles a bounded number of what has arrived; returns how many, 0 if there was nothing, and
    // less if it did not look because another thread was at it.
    int (*poll)(void *context);
    void *context;
    uint32_t rate; // wake-ups in a second, at most; 0: no limit
} aq_ibv_thread_setup_t;

// Whether the settings ask for the thread; if so, rate is set in the setup.
bool aq_ibv_thread_wanted(aq_ibv_thread_setup_t *setup);

// AQ_ERR_RESOURCE: no thread can be had (logged).
aq_status_t aq_ibv_thread_start(const aq_ibv_thread_setup_t *setup, aq_ibv_thread_t **out);

// Returns when the thread is gone, which is after the poll under way. Called by that poll itself (a
// handler that ends the job) or in a child of fork, where there is no such thread: returns at once.
void aq_ibv_thread_stop(aq_ibv_thread_t *thread);

// How often it woke up so far.
uint64_t aq_ibv_thread_wakes(const aq_ibv_thread_t *thread);

// ---- a completion channel as the source ----

typedef struct aq_ibv_source {
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq; // made with that channel
    unsigned owed;     // events that were taken and not acknowledged yet
} aq_ibv_source_t;

// Makes the channel not block, and sets fd in the setup. AQ_ERR_RESOURCE: it cannot be (logged).
aq_status_t aq_ibv_source_open(aq_ibv_source_t *source, aq_ibv_thread_setup_t *setup);

// For rearm: source is its argument.
void aq_ibv_source_rearm(aq_ibv_source_t *source);

// Before the completion queue is destroyed, when the thread is gone.
void aq_ibv_source_close(aq_ibv_source_t *source);

#endif
