// Waiting: a thread that sleeps is woken by completions of the device, or by the bell that other
// threads ring. Messages in rings make no completion; see aq_ibv_rings_quiet. With the receive
// thread (GASNET_RCV_THREAD), arrivals wake that thread, which rings the bell.
#ifndef AQ_IBV_SLEEP_H
#define AQ_IBV_SLEEP_H

#include "ibv_queues.h"
#include "ibv_receive.h"
#include "ibv_thread.h"

typedef struct aq_ibv_sleeper {
    const aq_ibv_queues_t *queues;
    aq_ibv_receiver_t *receiver;
    atomic_bool open; // of a window: only when it has a link
    int bell;         // an eventfd; 0: not open
    atomic_uint sleepers;
    bool thread_wanted;
    aq_ibv_thread_t *thread; // NULL: there is none
    aq_ibv_thread_setup_t thread_setup;
    aq_ibv_source_t arrivals; // what wakes the thread
} aq_ibv_sleeper_t;

// Whether there is to be a receive thread: if the settings ask for it, and the client's program
// expects handlers to run beside it (threads).
bool aq_ibv_sleeper_wants_thread(aq_ibv_sleeper_t *sleeper, bool threads);

// Makes the bell, and starts the receive thread if it is wanted. AQ_ERR_RESOURCE: neither can be
// had (logged).
aq_status_t aq_ibv_sleeper_open(aq_ibv_sleeper_t *sleeper);
void aq_ibv_sleeper_close(aq_ibv_sleeper_t *sleeper);

// Ends the receive thread, if there is one.
void aq_ibv_sleeper_stop_thread(aq_ibv_sleeper_t *sleeper);

// See arm, disarm, sleep and wake of aq_conduit_ops_t.
uint32_t aq_ibv_arm(aq_ibv_sleeper_t *sleeper);
void aq_ibv_disarm(aq_ibv_sleeper_t *sleeper);
void aq_ibv_sleep(aq_ibv_sleeper_t *sleeper, uint64_t limit_ns);
void aq_ibv_wake(aq_ibv_sleeper_t *sleeper);

// What the receive thread does when it wakes; see aq_ibv_thread_setup_t. The context is the
// sleeper.
int aq_ibv_poll_by_thread(void *context);

#endif
