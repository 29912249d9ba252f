// SPDX-License-Identifier: BSD-3-Clause
// Counters of the udp conduit, for each peer and for the process; printed with GASNET_STATS.
//
// What is always true: a counter only grows. The holder of the lock of a peer's flows counts for
// that peer, and the receiver counts drops; printing belongs to the end, when no thread counts.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "udp_socket.h"
#include "../wire/udp_wire.h"

struct gasnetx_counters; // core/aqueduct.h

// Why a received datagram was dropped.
typedef enum udp_drop {
    UDP_DROP_TRUNCATED,   // shorter than a header, or than its length field
    UDP_DROP_VERSION,     // of another version of the protocol
    UDP_DROP_MALFORMED,   // an invalid header or frame
    UDP_DROP_FOREIGN,     // of another job
    UDP_DROP_FORGED,      // its keyed hash is wrong
    UDP_DROP_CORRUPTED,   // its checksum is wrong
    UDP_DROP_MISDIRECTED, // for another rank or endpoint
    UDP_DROP_UNCONNECTED, // from an endpoint that this one is not connected to
    UDP_DROP_REPLAYED,    // its packet number was seen before, or is too old
    UDP_DROP_DUPLICATE,
    UDP_DROP_OLD_EPOCH,
    UDP_DROP_FUTURE_EPOCH,
    UDP_DROP_BEYOND,    // beyond the window of the receiver
    UDP_DROP_NO_MEMORY, // the queue is full
    UDP_DROPS
} udp_drop_t;

// Counters of one peer, or their sum over all peers.
typedef struct udp_stats {
    uint64_t datagrams_out, datagrams_in; // with data, including retransmissions
    uint64_t acks_out, acks_in;           // datagrams without data
    uint64_t frames_out, frames_in;       // without retransmissions
    uint64_t bytes_out, bytes_in;         // bytes of datagrams, including headers
    uint64_t resent;                      // retransmissions among datagrams_out
    uint64_t epochs;                      // opened
    uint64_t drops[UDP_DROPS];
    uint64_t memory; // peak memory of received datagrams, in bytes; of a process only
    uint64_t rtt_ns; // round-trip estimate; 0: none yet; in a sum the largest
} udp_stats_t;

void udp_stats_add(udp_stats_t *sum, const udp_stats_t *more);

// Counts a datagram of a peer that is dropped.
void udp_stats_drop(udp_stats_t *stats, udp_drop_t kind);

// Adds the counters of a peer to those that the client sees.
void udp_stats_publish(const udp_stats_t *stats, struct gasnetx_counters *sum);

// ---- drops before a peer is known ----

enum { UDP_UNAUTHENTICATED_WARN = 100 };

// Counts datagrams that are not authentic, and warns once after UDP_UNAUTHENTICATED_WARN of one
// kind. The warning names the sender of the last one; after twice as many it is printed without a
// name.
typedef struct udp_unauthenticated {
    _Atomic uint64_t drops[UDP_DROPS]; // written by the receiver
    bool warned;
} udp_unauthenticated_t;

// Counts a datagram that is not authentic. from: length 0 if the sender is unknown. Returns whether
// the source address of the next datagrams is needed for the warning.
bool udp_unauthenticated_drop(udp_unauthenticated_t *unauthenticated, udp_drop_t kind,
                              const udp_sockaddr_t *from);

// As udp_stats_publish.
void udp_unauthenticated_publish(const udp_unauthenticated_t *unauthenticated,
                                 struct gasnetx_counters *sum);

// ---- printing ----

// Prints one line about a peer of a receive side, in one write. Both are endpoint ids (udp_wire.h).
void udp_stats_print_peer(FILE *out, uint32_t ep_id, uint32_t peer, const udp_stats_t *stats);
// Prints one line about a receive side: the sum of the peers, datagrams of strangers, and the
// counters of the socket.
void udp_stats_print_all(FILE *out, uint32_t ep_id, const udp_stats_t *sum,
                         const udp_unauthenticated_t *unauthenticated, const udp_socket_t *socket);
