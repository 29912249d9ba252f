// Counters of the udp conduit: for each peer, and for the process; printed with GASNET_STATS.
//
// What is always true: a counter only grows. Those of a peer are counted by whoever holds the lock
// of its flows, those of drops by whoever receives; printing belongs to the end, when nobody
// counts.
#ifndef AQ_UDP_STATS_H
#define AQ_UDP_STATS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "udp_socket.h"

// Why an arrived datagram was dropped.
typedef enum udp_drop {
    UDP_DROP_TRUNCATED,   // shorter than a header, or than the header tells
    UDP_DROP_VERSION,     // of another version of the protocol
    UDP_DROP_MALFORMED,   // a header or a frame that cannot be
    UDP_DROP_FOREIGN,     // of another job
    UDP_DROP_FORGED,      // its keyed hash is wrong
    UDP_DROP_CORRUPTED,   // its checksum is wrong
    UDP_DROP_MISDIRECTED, // for another rank
    UDP_DROP_REPLAYED,    // its packet number came before, or is too old
    UDP_DROP_DUPLICATE,
    UDP_DROP_OLD_EPOCH,
    UDP_DROP_FUTURE_EPOCH,
    UDP_DROP_BEYOND,    // beyond the window of the receiver
    UDP_DROP_NO_MEMORY, // could not be kept now
    UDP_DROPS
} udp_drop_t;

// Of one peer, or the sum of all.
typedef struct udp_stats {
    uint64_t datagrams_out, datagrams_in; // data; each transmission
    uint64_t acks_out, acks_in;           // datagrams without data
    uint64_t frames_out, frames_in;       // each once
    uint64_t bytes_out, bytes_in;         // of datagrams, with headers
    uint64_t resent;                      // datagrams, of datagrams_out
    uint64_t epochs;                      // opened
    uint64_t drops[UDP_DROPS];
    uint64_t memory; // bytes for what has arrived, at most; of a process only
    uint64_t rtt_ns; // round-trip estimate; 0: none yet; in a sum the largest
} udp_stats_t;

void udp_stats_add(udp_stats_t *sum, const udp_stats_t *more);

// ---- drops before a peer is known ----

enum { UDP_STRANGERS_WARN = 100 };

// Counts datagrams that cannot be believed, and warns once when there were UDP_STRANGERS_WARN of
// one kind, naming the sender of the last one; when twice as many have come, also without a name.
typedef struct udp_strangers {
    uint64_t drops[UDP_DROPS];
    bool warned;
} udp_strangers_t;

// from: length 0 if the sender is not known. Returns whether the sender of the next datagrams
// should be known, since the warning would name it.
bool udp_strangers_drop(udp_strangers_t *strangers, udp_drop_t kind, const udp_sockaddr_t *from);

// ---- printing ----

// "forged", "old epoch" ...
const char *udp_drop_name(udp_drop_t kind);

// One line for a peer, in one write.
void udp_stats_print_peer(FILE *out, uint32_t rank, uint32_t peer, const udp_stats_t *stats);
// One line for the process: the sum of the peers, what came from strangers, and what the socket
// did.
void udp_stats_print_all(FILE *out, uint32_t rank, const udp_stats_t *sum,
                         const udp_strangers_t *strangers, const udp_socket_t *socket);

#endif
