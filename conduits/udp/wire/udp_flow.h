// SPDX-License-Identifier: BSD-3-Clause
// A flow: the datagrams of one class from one process to another, each delivered exactly once, in
// any order. Sender and receiver are state machines without input or output of their own; the
// caller passes the time, in nanoseconds of a monotonic clock. One thread at a time.
//
//      sender                                        receiver
//      base           next                           cumulative
//       v              v                                v
//      [9][ ][11][12]  .  at most `window` slots     [9]..[11][12]    below: all here
//       |      |   |                                       `---`----- bits of `here`
//       |      |   +- UNDER_WAY    sent, not acknowledged
//       |      +- LOST             to be sent again
//       +- the oldest; 10 is acknowledged and released
//
// What is always true:
// - A sequence number (64 bits, never reused, continuous across epochs) identifies a datagram for
//   ever. The receiver accepts each number once: a bit, once set, is cleared only after cumulative
//   has passed it. So nothing is delivered twice, whatever the network and the epochs do.
// - The set of received datagrams only grows. So an acknowledgement stays true however late it
//   arrives, and one of an older epoch releases datagrams like any other. Everything else in an
//   acknowledgement (what is missing, credit) is believed only under the conditions below.
// - The sender keeps a datagram until it is acknowledged: none is lost.
// - Within an epoch a datagram is retransmitted only when a datagram that was transmitted
//   UDP_OVERTAKEN or more transmissions later has arrived. After a time-out nothing is sent but a
//   request for the next epoch, until it is confirmed; then everything that is still missing is
//   retransmitted.
//
// The change of epochs, seen from both sides (e: the receiver's epoch):
//
//      sender                                    receiver
//      data, epoch 1       ---------------->     takes epoch e, drops all others
//      time is up: request 2  -------------->    2 == e + 1: e = 2, confirms
//                          x--------------       (lost)
//      request 2 again     ---------------->     2 == e: confirms again
//      acknowledgement of epoch 2 <---------     any other request is late or forged: ignored
//      missing data, epoch 2  -------------->
//
// - The sender requests epoch n + 1 only after n was confirmed. So it is at most one epoch ahead,
//   and a request for any epoch but e or e + 1 is an old one. Requests and confirmations may be
//   lost, duplicated and delayed: a request is repeated, and a duplicate changes nothing.
// - Any acknowledgement of the requested epoch confirms it, because the receiver created it after
//   the change.
// - Once e is n + 1, no copy sent in epoch n is accepted. A datagram that is missing in a
//   confirmation can therefore arrive only by a transmission of the new epoch: round trips and
//   overtaking are measured correctly even for datagrams that were sent many times.
// - Data of an old epoch is dropped even if it is new; the sender has seen no acknowledgement and
//   retransmits it. Data of a future epoch cannot exist and is dropped.
// - Epochs of 32 bits wrap around after as many time-outs, that is, weeks of nothing else. This is
//   harmless. A copy from 2^32 epochs ago that passes for a current one is dropped because of its
//   number. A confirmation from that time reports less than the sender knows and is not believed. A
//   request from that time moves the receiver at most one epoch ahead; the sender's next time-out
//   requests that same epoch, and traffic continues.
// - tests/model/udp_epoch.pml is a model of this protocol for the checker spin.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../../other/base/log/status.h"
#include "udp_wire.h"

enum {
    UDP_WINDOW_MAX = 256, // numbers from cumulative on that a receiver tracks; a power of two
    // A datagram is lost when a transmission this much later has arrived (RFC 9002).
    UDP_OVERTAKEN = 3,
    UDP_FIRST_EPOCH = 1,
};

#define UDP_NEVER UINT64_MAX // no deadline

// ---- sender ----

typedef struct udp_sender_setup {
    uint32_t window;         // number of slots: a power of two, at most UDP_WINDOW_MAX
    uint32_t datagram_bytes; // size of the largest datagram
    // The initial congestion window. The window never gets smaller than this value or 8 datagrams,
    // whichever is less.
    uint32_t first_bytes;
    uint32_t credit; // used until an acknowledgement carries another value
    // The retransmission time-out and its limits. rto_least has to be well above the time for which
    // a receiver may delay an acknowledgement. After a few time-outs in a row without progress (the
    // answer to a request, or an epoch that releases something) the time-out doubles each time, up
    // to rto_most.
    uint64_t rto_first, rto_least, rto_most;
    // Called for each datagram that the sender no longer keeps, because it is acknowledged or the
    // sender stops. Must not call the sender.
    void (*release)(void *context, void *datagram);
    void *context;
} udp_sender_setup_t;

typedef struct udp_slot {
    void *datagram;
    uint64_t sent_at; // time of the latest transmission
    uint64_t order;   // number of the latest transmission among all of the flow
    // An acknowledgement proves that this transmission or a later one arrived; 0: not sent yet.
    uint64_t proof;
    uint32_t bytes;
    uint8_t state; // defined in udp_flow.c
} udp_slot_t;

typedef struct udp_sender_counts {
    uint64_t sent;     // datagrams, without retransmissions
    uint64_t resent;   // retransmissions
    uint64_t released; // acknowledged
    uint64_t lost;     // detected as lost by overtaking
    uint64_t epochs;   // opened
    uint64_t idle;     // epochs after which nothing was missing: the peer was slow
    uint64_t requests; // requests for epochs
    uint64_t bad_acks; // implausible acknowledgements, ignored
} udp_sender_counts_t;

// Congestion: how many bytes may be in flight, as losses and round trips show it.
typedef struct udp_congestion {
    uint64_t flight;       // bytes in flight
    uint64_t window;       // upper limit of flight
    uint64_t threshold;    // slow-start threshold: below it the window doubles in a round trip
    uint64_t recovery;     // losses of transmissions up to this one have been handled
    uint64_t round;        // the current round trip ends when this transmission has arrived
    uint64_t round_rtt;    // shortest round-trip time of this round
    uint64_t least_rtt;    // shortest round-trip time over a longer period
    uint64_t least_rtt_at; // time of that measurement
} udp_congestion_t;

typedef struct udp_sender {
    udp_slot_t *slots; // setup.window slots; number s is in slot s modulo window
    udp_sender_setup_t setup;
    uint64_t base, next; // number of the oldest datagram that is kept, and of the next one
    uint32_t epoch;      // confirmed
    bool requesting;     // epoch + 1 is requested, and nothing else is sent
    uint32_t kept;       // number of datagrams in slots
    uint32_t lost;       // number of these that wait for retransmission

    // Transmissions: their number, the latest that is known to have arrived, and the datagram
    // number below which the order of transmissions may differ from the order of numbers.
    uint64_t orders, arrived, mixed;

    // Time.
    uint64_t timer; // when the time-out expires; UDP_NEVER: nothing is kept
    uint64_t rtt, rtt_deviation, rto;
    uint32_t fruitless;     // epochs since a datagram was last released
    uint64_t requested_at;  // time of the first request for this epoch
    uint32_t request_count; // number of requests for this epoch

    uint64_t credit;      // bytes that the receiver has granted
    uint64_t credit_from; // cumulative number of the acknowledgement that granted it
    udp_congestion_t congestion;
    udp_sender_counts_t counts;
} udp_sender_t;

// AQ_ERR_RESOURCE: no memory (logged).
aq_status_t udp_sender_start(udp_sender_t *sender, const udp_sender_setup_t *setup);

// Releases the datagrams that are left, and the memory of the sender.
void udp_sender_stop(udp_sender_t *sender);

// Whether a datagram of this size may be added now: a slot is free, no epoch is being requested, no
// retransmission is pending, and congestion window and credit allow it. (With nothing in flight one
// datagram is always allowed, because an acknowledgement with more credit may be lost.)
bool udp_sender_room(const udp_sender_t *sender, uint32_t bytes);

// Registers a datagram that was just sent with udp_sender_epoch and udp_sender_sequence; the caller
// has checked for room. If the socket rejected the datagram, it counts as lost in the network and
// is retransmitted. The slot keeps the datagram until it is released; meanwhile the caller may
// write only its header, for another transmission.
void udp_sender_add(udp_sender_t *sender, void *datagram, uint32_t bytes, uint64_t now);

// The epoch for outgoing data, and the number of the next datagram.
static inline uint32_t udp_sender_epoch(const udp_sender_t *sender)
{
    return sender->epoch;
}

static inline uint64_t udp_sender_sequence(const udp_sender_t *sender)
{
    return sender->next;
}

// Whether datagrams of the flow have not been acknowledged.
static inline bool udp_sender_keeps(const udp_sender_t *sender)
{
    return sender->kept > 0;
}

// Processes an acknowledgement of this class from any datagram of the peer, including a
// confirmation of an epoch; returns how many datagrams were released. The kernel must have all
// copies that udp_sender_next returned by then: their memory may be reused.
unsigned udp_sender_ack(udp_sender_t *sender, const udp_ack_t *ack, uint64_t now);

typedef enum udp_todo { UDP_TODO_NOTHING, UDP_TODO_RESEND, UDP_TODO_REQUEST } udp_todo_t;

typedef struct udp_action {
    udp_todo_t todo;
    uint32_t epoch;    // epoch of the retransmission, or the requested epoch
    uint64_t sequence; // number of the datagram to retransmit
    void *datagram;    // as passed to udp_sender_add
    uint32_t bytes;
} udp_action_t;

// What to send now. Call it until there is nothing, after each acknowledgement and at the deadline.
// Process received datagrams first: they may hold the acknowledgements that the sender waits for.
udp_action_t udp_sender_next(udp_sender_t *sender, uint64_t now);

// When to call udp_sender_next again; 0: at once.
uint64_t udp_sender_deadline(const udp_sender_t *sender);

// ---- receiver ----

typedef enum udp_verdict {
    UDP_NEW,
    UDP_DUPLICATE,
    UDP_OLD_EPOCH,
    UDP_FUTURE_EPOCH,
    UDP_BEYOND, // the window
    UDP_VERDICTS
} udp_verdict_t;

typedef struct udp_receiver {
    uint32_t epoch;
    uint32_t owed; // datagrams received since the last acknowledgement
    uint32_t news; // number of acknowledgements that still have to repeat the last news
    uint64_t cumulative;
    uint64_t here[UDP_WINDOW_MAX / 64]; // number s is bit s modulo UDP_WINDOW_MAX
    uint64_t counts[UDP_VERDICTS];      // results of udp_receiver_take
    uint64_t epochs;                    // changes
    uint64_t requests[2];               // requests for epochs: ignored, confirmed
} udp_receiver_t;

void udp_receiver_start(udp_receiver_t *receiver);

// What udp_receiver_take would return. Changes nothing: a new datagram for which there is no memory
// is dropped after this call, and the peer retransmits it.
udp_verdict_t udp_receiver_peek(const udp_receiver_t *receiver, uint32_t epoch, uint64_t sequence);

// UDP_NEW: the caller delivers the datagram, now or later; from now on it is a duplicate, and the
// next acknowledgement reports it, delivered or not. With any other result the datagram is dropped.
// New datagrams and duplicates have to be acknowledged.
udp_verdict_t udp_receiver_take(udp_receiver_t *receiver, uint32_t epoch, uint64_t sequence);

// Handles a request for an epoch; true: confirm it, with udp_receiver_ack.
bool udp_receiver_request(udp_receiver_t *receiver, uint32_t epoch);

// Writes the acknowledgement to send; nothing is owed after that.
void udp_receiver_ack(udp_receiver_t *receiver, uint32_t credit, udp_ack_t *ack);

// The number of datagrams that are not acknowledged yet.
static inline uint32_t udp_receiver_owed(const udp_receiver_t *receiver)
{
    return receiver->owed;
}

// Whether an acknowledgement is likely to tell the sender something new: each change is reported a
// few times, because acknowledgements get lost.
static inline bool udp_receiver_has_news(const udp_receiver_t *receiver)
{
    return receiver->news;
}

// Whether a datagram below a received one is missing: the sooner the sender learns it, the sooner
// it retransmits.
bool udp_receiver_gap(const udp_receiver_t *receiver);
