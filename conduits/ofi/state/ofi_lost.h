// SPDX-License-Identifier: BSD-3-Clause
// Lost peers: what happens when an operation with a peer fails.
//
// A rank that ends in good order, or is killed, ends the job through the launcher, with a better
// message and an exit code. So a failure only starts a grace period, half of the exit timeout, for
// the end of the job to become known. If it does not, a poll ends the job with a message that names
// the first lost peer.
#pragma once

#include "../../../core/conduit.h"

#define OFI_RANK_UNKNOWN UINT32_MAX // the provider does not say which peer it has lost

typedef struct ofi_losses {
    const aq_conduit_env_t *env;
    atomic_bool any;     // a peer was lost
    atomic_bool closing; // this process ends in good order
    char why[512];       // the message about it, once `at` is not 0
    _Atomic uint64_t at; // when it was lost, of aq_clock_ns
} ofi_losses_t;

// An operation with a rank, or with OFI_RANK_UNKNOWN, failed. provider, domain: with which. why: as
// libfabric says. Any thread.
void ofi_losses_note(ofi_losses_t *losses, uint32_t rank, const char *provider, const char *domain,
                     const char *why);

// For polls, once a peer was lost: ends the job if the grace period is over. Any thread.
void ofi_losses_watch(const ofi_losses_t *losses);
