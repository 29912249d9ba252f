// SPDX-License-Identifier: BSD-3-Clause
// The state of udp_watch.c: what a receive side knows of silent peers and hosts. udp_watch.h says
// what silence means.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../../core/ground/lock.h"
#include "../socket/udp_address.h"

// Another host, identified by its address.
typedef struct udp_host {
    struct udp_host *next;
    udp_sockaddr_t address; // of one of its processes
    uint32_t rank;          // the rank of that process
    // The members below are protected by the lock of the watch.
    uint64_t last_rx; // time of the last datagram or answer to a probe, on the clock `listened`
    int probe;        // socket of the outstanding probe; -1: none
    unsigned probes;  // sent since the last answer
    bool answers;     // its kernel answered a probe at least once
} udp_host_t;

typedef struct udp_watch {
    uint64_t connect_timeout, silence, host_timeout, peer_timeout; // ns; 0: never
    uint64_t step;                                                 // ns between checks
    _Atomic uint64_t listened; // ns for which this process was able to receive
    atomic_bool drained;       // a receive found the socket empty since the last check
    atomic_bool warned;        // the warning about a silent peer was logged
    atomic_bool warned_of_path, warned_of_block;
    aq_lock_t lock;
    uint64_t listened_at;        // system time of the last check; under the lock
    _Atomic uint64_t hosts_at;   // system time of the next check of hosts
    _Atomic(udp_host_t *) hosts; // only grows, under the lock of the links
} udp_watch_t;

// The part of a link. Its lock protects the members; times are on the clock `listened` unless they
// say otherwise.
typedef struct udp_peer_watch {
    udp_host_t *host;   // NULL: not monitored; constant
    bool seen;          // a datagram of the peer was received
    uint64_t last_rx;   // time of the last datagram, or of the link's creation
    uint64_t due_since; // time since which an answer is due; 0: none is
    uint64_t ping_at;   // next ping, on the system clock
} udp_peer_watch_t;
