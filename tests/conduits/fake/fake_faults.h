// SPDX-License-Identifier: BSD-3-Clause
// Injected faults: which sends the fake conduit refuses, and which arrivals it holds back.
//
// Always true: each process has one sequence of random decisions, which AQ_FAKE_SEED and the rank
// determine. Any thread may call these functions; none of them blocks or takes a lock.
#ifndef AQ_FAKE_FAULTS_H
#define AQ_FAKE_FAULTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../../other/base/log/status.h"

typedef struct fake_faults {
    unsigned again;      // percent of sends that are refused with AQ_AGAIN
    unsigned hold;       // percent of arrivals that wait for some polls
    uint64_t fail_after; // number of the send that fails; 0: none
    _Atomic uint64_t random, sends;
} fake_faults_t;

// Reads the environment. Logs an illegal value and returns AQ_ERR_CONFIG.
aq_status_t fake_faults_start(fake_faults_t *faults, uint32_t rank);

// Called at the start of each send: returns AQ_OK if the send may proceed, else the status that it
// must return. Logs an injected failure.
aq_status_t fake_faults_send(fake_faults_t *faults);

// Returns for how many polls an arrival waits; 0 if it does not wait.
unsigned fake_faults_hold(fake_faults_t *faults);

#endif
