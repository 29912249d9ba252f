// SPDX-License-Identifier: BSD-3-Clause
// Lost peers: what happens when an operation with a peer fails or its connection ends.
//
// A rank that ends in good order, or is killed, ends the job through the launcher, with a better
// message and an exit code. So a lost connection only starts a grace period, half of the exit
// timeout, for the end of the job to become known. If it does not, the connector's thread ends the
// job with a message that names the first lost peer.
#pragma once

#include "../../../core/conduit.h"
#include "ibv_peer.h"

typedef struct aq_ibv_losses {
    const aq_conduit_env_t *env;
    char port[96];       // of this process, "port 1 of mlx5_0", for messages; empty: not known yet
    int wake;            // an eventfd that wakes the connector's thread
    atomic_bool closing; // this process ends in good order
    atomic_bool any;     // a peer was lost
    char why[640];       // the message about it, once `at` is not 0
    _Atomic uint64_t at; // when it was lost
} aq_ibv_losses_t;

// An operation with a peer failed, or its connection ended. Any thread.
void aq_ibv_peer_lost(aq_ibv_losses_t *losses, aq_ibv_peer_t *link, const char *why);

// The same at a port of this process, "port 1 of mlx5_1".
void aq_ibv_peer_lost_by(aq_ibv_losses_t *losses, aq_ibv_peer_t *link, const char *why,
                         const char *port);

// The same for a completion with an error.
void aq_ibv_peer_failed(aq_ibv_losses_t *losses, aq_ibv_peer_t *link, enum ibv_wc_status status);

// The same where no connection came about, between two addresses: here, of a port of this process,
// and where the peer listens. why: the outcome of the last attempt.
void aq_ibv_peer_unreached(aq_ibv_losses_t *losses, const aq_ibv_peer_t *link, const char *here,
                           const char *there, const char *port, const char *why);

// If a peer was lost, blocks until the job ends.
void aq_ibv_losses_await_end(const aq_ibv_losses_t *losses);

// For the connector's thread: ends the job if a peer was lost and the grace period is over. Returns
// the time until it has to be called again, in ms; -1: only after a wake-up.
int aq_ibv_losses_watch(const aq_ibv_losses_t *losses);
