// SPDX-License-Identifier: BSD-3-Clause
// Fault injection for tests: treats outgoing datagrams as a bad network would, before the kernel
// gets them. Part of every build; without a setting GASNET_UDP_FAULT_... it is not active.
//
// What is always true:
// - One sequence of random numbers decides what happens to a datagram. It depends only on
//   GASNET_UDP_FAULT_SEED and the rank: the n-th datagram of a process always has the same fate.
// - A delayed datagram is sent when enough others have overtaken it, or when its time is over: it
//   is late, but never lost.
// - Any thread may call; one lock protects the state.
//
//      datagram -> udp_faults_decide -> dropped
//                                    -> 1 or 2 copies -> cut short, a bit flipped -> now
//                                                                                 -> held, then
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../other/base/log/status.h"
#include "udp_address.h"

typedef struct udp_faults udp_faults_t;

// Rates in percent of datagrams.
typedef struct udp_faults_rates {
    double drop, duplicate, reorder, delay, truncate, flip, forge;
    uint64_t delay_ns; // longest delay
} udp_faults_rates_t;

// What will happen to one datagram.
typedef struct udp_faults_plan {
    bool drop;
    unsigned copies;   // 1 or 2
    unsigned overtake; // number of later datagrams that overtake it; 0: in order
    uint64_t delay_ns;
    size_t length; // its new length; shorter than before if it is truncated
    size_t flip;   // index of a bit to flip; SIZE_MAX: none
} udp_faults_plan_t;

enum { UDP_FAULTS_OVERTAKE = 8 }; // most datagrams that overtake a reordered one

// Decides the fate of a datagram of the given length. Changes nothing but *random.
udp_faults_plan_t udp_faults_decide(const udp_faults_rates_t *rates, uint64_t *random,
                                    size_t length);

typedef struct udp_faults_counts {
    uint64_t offered, dropped, duplicated, reordered, delayed, truncated, flipped, forged;
} udp_faults_counts_t;

// Passes a datagram to the kernel, which may reject it; then it is lost.
typedef void udp_faults_emit_t(void *context, const udp_sockaddr_t *to, const void *bytes,
                               size_t length);

// Reads the settings. *out is NULL if none of them requests a fault; the caller owns it. Logs
// faults.
aq_status_t udp_faults_start(uint32_t rank, udp_faults_t **out);
// As udp_faults_start, with explicit rates.
aq_status_t udp_faults_make(const udp_faults_rates_t *rates, uint64_t seed, udp_faults_t **out);
void udp_faults_stop(udp_faults_t *faults); // NULL is fine

// Flips a bit in some datagrams before they are encrypted or signed, as a malicious process with
// the key of the job could. bytes: the datagram behind the proof, without payload that is sent in
// place.
void udp_faults_forge(udp_faults_t *faults, uint8_t *bytes, size_t length);

// Processes an outgoing datagram, and copies it if it has to wait. Emits it, or others, or nothing.
void udp_faults_offer(udp_faults_t *faults, const udp_outgoing_t *datagram, uint64_t now,
                      udp_faults_emit_t *emit, void *context);
// Emits the delayed datagrams that are due.
void udp_faults_due(udp_faults_t *faults, uint64_t now, udp_faults_emit_t *emit, void *context);
// When udp_faults_due has to be called at the latest; UINT64_MAX: no datagram is delayed.
uint64_t udp_faults_deadline(udp_faults_t *faults);

udp_faults_counts_t udp_faults_count(udp_faults_t *faults);
