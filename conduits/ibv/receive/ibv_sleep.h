// SPDX-License-Identifier: BSD-3-Clause
// Waiting: a thread that sleeps is woken by completions of the device, or by the bell that other
// threads ring. Messages in rings make no completion; see aq_ibv_rings_quiet. With the receive
// thread (GASNET_RCV_THREAD), arrivals wake that thread, which rings the bell; with the send thread
// (GASNET_SND_THREAD), completions of what was sent wake that one.
#pragma once

#include "../verbs/ibv_queues.h"
#include "ibv_receive.h"
#include "ibv_thread.h"

// The receive thread or the send thread.
typedef struct aq_ibv_helper {
    bool wanted;
    aq_ibv_thread_t *thread; // NULL: there is none
    aq_ibv_thread_setup_t setup;
    aq_ibv_source_t source; // what wakes the thread
    int nudge;              // an eventfd that wakes it, too; 0: there is none
} aq_ibv_helper_t;

typedef struct aq_ibv_sleeper {
    const aq_ibv_queues_t *queues;
    aq_ibv_receiver_t *receiver;
    atomic_bool open; // of a window: only when it has a link
    int bell;         // an eventfd; 0: not open
    atomic_uint sleepers;
    aq_ibv_helper_t receive, send;
} aq_ibv_sleeper_t;

// Whether there is to be a receive thread and a send thread: if the settings ask for them, the
// client's program expects threads beside its own, and does not run these itself. Sets
// receive.wanted and send.wanted.
void aq_ibv_sleeper_choose_threads(aq_ibv_sleeper_t *sleeper, const aq_conduit_env_t *env);

// Makes the bell, and starts the threads that are wanted. AQ_ERR_RESOURCE: one of these cannot be
// had (logged).
aq_status_t aq_ibv_sleeper_open(aq_ibv_sleeper_t *sleeper);
// Ends these threads too. Before the queues are closed.
void aq_ibv_sleeper_close(aq_ibv_sleeper_t *sleeper);

// Ends the receive thread and the send thread, if there are any.
void aq_ibv_sleeper_stop_threads(aq_ibv_sleeper_t *sleeper);

// See arm, disarm, sleep and wake of aq_conduit_ops_t.
uint32_t aq_ibv_arm(aq_ibv_sleeper_t *sleeper);
void aq_ibv_disarm(aq_ibv_sleeper_t *sleeper);
void aq_ibv_sleep(aq_ibv_sleeper_t *sleeper, uint64_t limit_ns);
void aq_ibv_wake(aq_ibv_sleeper_t *sleeper);

// Wakes the send thread, if there is one and it is not the caller, for work that makes no
// completion. Any thread.
void aq_ibv_nudge(aq_ibv_sleeper_t *sleeper);

// The same for the receive thread: a link has to move to another port. Any thread.
void aq_ibv_nudge_receiver(aq_ibv_sleeper_t *sleeper);

// What the receive thread and the send thread do when they wake; see aq_ibv_thread_setup_t. The
// context is the sleeper.
int aq_ibv_poll_by_thread(void *context);
int aq_ibv_reap_by_thread(void *context);
