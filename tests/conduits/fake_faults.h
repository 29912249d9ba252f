// Faults on request: which sends the fake conduit refuses, which arrivals it holds back.
//
// What is always true: the decisions come from one sequence of random numbers for each process, set
// by AQ_FAKE_SEED and the rank. Any thread may ask; nothing here blocks or takes a lock.
#ifndef AQ_FAKE_FAULTS_H
#define AQ_FAKE_FAULTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../other/base/status.h"

typedef struct fake_faults {
    unsigned again;      // percent of sends that are refused with AQ_AGAIN
    unsigned hold;       // percent of arrivals that wait for some polls
    uint64_t fail_after; // number of the send that fails; 0: none
    _Atomic uint64_t random, sends;
} fake_faults_t;

// Reads the environment. Logs a value that is not legal.
aq_status_t fake_faults_start(fake_faults_t *faults, uint32_t rank);

// What a send has to answer before it does anything. Logs the fault that it makes up.
aq_status_t fake_faults_send(fake_faults_t *faults);

// For how many polls an arrival waits; 0: not at all.
unsigned fake_faults_hold(fake_faults_t *faults);

#endif
