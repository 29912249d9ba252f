// A flow: the datagrams of one class from one process to another, each delivered exactly once, in
// any order. Sender and receiver are state machines without any input or output; time is
// nanoseconds of a clock that never goes back, told by the caller. One thread at a time.
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
// - A number (64 bits, never used twice, goes on across epochs) names a datagram for good. The
//   receiver takes a number once: a bit, once set, is cleared only when cumulative has passed it.
//   So nothing is delivered twice, whatever the network and the epochs do.
// - What a receiver has only grows. So an acknowledgement stays true however late it comes, and one
//   of an older epoch releases datagrams like any other. All else that it seems to say (what is
//   missing, credit) is believed only as told below.
// - The sender keeps a datagram until it is acknowledged: none is lost.
// - In an epoch a datagram is sent again only when UDP_OVERTAKEN later transmissions were passed by
//   one that has arrived. When time is up nothing is sent but a request for the next epoch, until
//   it is confirmed; then what is still missing goes out again.
//
// The change of epochs, seen from both sides (e: the receiver's epoch)
//
//      sender                                    receiver
//      data, epoch 1       ---------------->     takes epoch e, drops all others
//      time is up: request 2  -------------->    2 == e + 1: e = 2, confirms
//                          x--------------       (lost)
//      request 2 again     ---------------->     2 == e: confirms again
//      acknowledgement of epoch 2 <---------     any other request is late or forged: ignored
//      missing data, epoch 2  -------------->
//
// - The sender asks for epoch n + 1 only after n was confirmed, so it is at most one ahead, and a
//   request that is not for e or e + 1 is an old one. Requests and confirmations may be lost,
//   doubled and late at will: a request is repeated, and asking twice changes nothing.
// - Any acknowledgement of the epoch asked for confirms it: it was made after the change.
// - Once e is n + 1, no copy sent in epoch n is ever taken. A datagram missing in a confirmation
//   can therefore only arrive by a transmission of the new epoch: round trips and overtaking are
//   measured right even for what was sent many times.
// - Data of an old epoch is dropped even if it is new; it comes again, as the sender has not seen
//   an acknowledgement. Data of a future epoch cannot be, and is dropped.
// - Epochs of 32 bits wrap around, after as many time-outs: weeks of nothing else. It does not
//   matter. A copy from 2^32 epochs ago that passes for a current one is still dropped by its
//   number. A confirmation from then tells less than the sender knows, and is not believed. A
//   request from then at worst moves the receiver one ahead; the sender's next time-out asks for
//   that same epoch, and all goes on.
// - tests/model/udp_epoch.pml has spin check this.
#ifndef AQ_UDP_FLOW_H
#define AQ_UDP_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "../../other/base/status.h"
#include "udp_wire.h"

enum {
    UDP_WINDOW_MAX = 256, // numbers from cumulative on that a receiver tells apart; a power of two
    UDP_OVERTAKEN = 3,    // by so many later transmissions a lost datagram is told (RFC 9002)
    UDP_FIRST_EPOCH = 1,
};

#define UDP_NEVER UINT64_MAX // a deadline when there is none

// ---- sender ----

typedef struct udp_sender_setup {
    uint32_t window;         // slots: a power of two, at most UDP_WINDOW_MAX
    uint32_t datagram_bytes; // of the largest datagram
    // The congestion window at the start. It is never less than this and 8 datagrams, whichever
    // is less.
    uint32_t first_bytes;
    uint32_t credit; // as long as no acknowledgement told another one
    // Retransmission time-out. The least has to be well above what a receiver may hold back an
    // acknowledgement. After a few in a row that brought nothing (an answer to a request, or an
    // epoch that releases something) it doubles each time, up to the most.
    uint64_t rto_first, rto_least, rto_most;
    // Told of each datagram that the sender no longer keeps: acknowledged, or left at the stop.
    // Must not call back into the sender.
    void (*release)(void *context, void *datagram);
    void *context;
} udp_sender_setup_t;

typedef struct udp_slot {
    void *datagram;
    uint64_t sent_at; // the latest transmission
    uint64_t order;   // its number among all transmissions of the flow
    uint64_t proof;   // acknowledged means: this transmission or a later one arrived; 0: none yet
    uint32_t bytes;
    uint8_t state; // of udp_flow.c
} udp_slot_t;

typedef struct udp_sender_counts {
    uint64_t sent;     // datagrams, each once
    uint64_t resent;   // transmissions beyond the first
    uint64_t released; // acknowledged
    uint64_t lost;     // found missing by overtaking
    uint64_t epochs;   // opened
    uint64_t idle;     // epochs that found nothing missing: the peer was slow
    uint64_t requests; // sent for them
    uint64_t bad_acks; // that cannot be true, ignored
} udp_sender_counts_t;

typedef struct udp_sender {
    udp_slot_t *slots; // setup.window of them; number s has the slot s modulo window
    udp_sender_setup_t setup;
    uint64_t base, next; // the oldest datagram that is kept; the number of the next one
    uint32_t epoch;      // confirmed
    bool requesting;     // epoch + 1, and nothing else is sent
    uint32_t kept;       // datagrams in slots
    uint32_t lost;       // of them, to be sent again

    // Transmissions: how many there were, the latest that is known to have arrived, and up to which
    // number of a datagram their order may differ from that of the numbers.
    uint64_t orders, arrived, mixed;

    // Time.
    uint64_t timer; // when time is up; UDP_NEVER: nothing is kept
    uint64_t rtt, rtt_deviation, rto;
    uint32_t fruitless;     // epochs since the last datagram was released
    uint64_t requested_at;  // the first request of this epoch
    uint32_t request_count; // of this epoch

    // Congestion, in bytes.
    uint64_t flight;       // under way
    uint64_t congestion;   // the window: flight stays below
    uint64_t threshold;    // below it the window doubles in a round trip
    uint64_t recovery;     // losses of transmissions up to this one have been answered
    uint64_t credit;       // told by the receiver ...
    uint64_t credit_from;  // ... in an acknowledgement with this cumulative number
    uint64_t round;        // a round trip ends when this transmission has arrived
    uint64_t round_rtt;    // the least of this round
    uint64_t least_rtt;    // the least for a longer time ...
    uint64_t least_rtt_at; // ... found here

    udp_sender_counts_t counts;
} udp_sender_t;

// AQ_ERR_RESOURCE: no memory; logged.
aq_status_t udp_sender_start(udp_sender_t *sender, const udp_sender_setup_t *setup);

// Releases what is left.
void udp_sender_stop(udp_sender_t *sender);

// Whether a datagram of so many bytes may be added now: a slot is free, no epoch is being asked
// for, nothing waits to be sent again, and congestion window and credit allow it. (With nothing
// under way one datagram is always allowed: news of more credit may be lost.)
bool udp_sender_room(const udp_sender_t *sender, uint32_t bytes);

// The datagram was sent just now, stamped with udp_sender_epoch and udp_sender_sequence; there was
// room. If the socket has refused it, the network has lost it, and it comes again. The slot has the
// datagram until it is released; the caller may write only its header, for another transmission.
void udp_sender_add(udp_sender_t *sender, void *datagram, uint32_t bytes, uint64_t now);

// The epoch to stamp on data, and the number of the datagram that is added next.
static inline uint32_t udp_sender_epoch(const udp_sender_t *sender)
{
    return sender->epoch;
}

static inline uint64_t udp_sender_sequence(const udp_sender_t *sender)
{
    return sender->next;
}

// Takes in an acknowledgement of this class from any datagram of the peer, a confirmation of an
// epoch too; returns how many datagrams were released. Copies that udp_sender_next handed out have
// to be with the kernel by then: their memory may be used again.
unsigned udp_sender_ack(udp_sender_t *sender, const udp_ack_t *ack, uint64_t now);

typedef enum udp_todo { UDP_TODO_NOTHING, UDP_TODO_RESEND, UDP_TODO_REQUEST } udp_todo_t;

typedef struct udp_action {
    udp_todo_t todo;
    uint32_t epoch;    // to stamp on it, or to ask for
    uint64_t sequence; // of the datagram to send again ...
    void *datagram;    // ... as it was added
    uint32_t bytes;
} udp_action_t;

// What is to be sent now. Asked again until there is nothing; to be asked after each
// acknowledgement, and at the deadline. What has arrived meanwhile goes in first: it may hold the
// acknowledgements that the sender waits for.
udp_action_t udp_sender_next(udp_sender_t *sender, uint64_t now);

// When udp_sender_next has to be asked again; 0: at once.
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
    uint32_t owed; // datagrams since the last acknowledgement
    uint32_t news; // acknowledgements that still repeat the last news
    uint64_t cumulative;
    uint64_t here[UDP_WINDOW_MAX / 64]; // number s has the bit s modulo UDP_WINDOW_MAX
    uint64_t counts[UDP_VERDICTS];      // of udp_receiver_take
    uint64_t epochs;                    // changes
    uint64_t requests[2];               // for epochs: ignored, confirmed
} udp_receiver_t;

void udp_receiver_start(udp_receiver_t *receiver);

// What udp_receiver_take would say. Changes nothing: a datagram that is new, but cannot be kept
// for want of memory, is dropped after this and comes again.
udp_verdict_t udp_receiver_peek(const udp_receiver_t *receiver, uint32_t epoch, uint64_t sequence);

// UDP_NEW: the caller delivers the datagram, now or later, and it is new no more: the next
// acknowledgement reports it, delivered or not. All else is dropped. New ones and duplicates are
// owed an acknowledgement.
udp_verdict_t udp_receiver_take(udp_receiver_t *receiver, uint32_t epoch, uint64_t sequence);

// A request for an epoch; true: confirm it, with udp_receiver_ack.
bool udp_receiver_request(udp_receiver_t *receiver, uint32_t epoch);

// Writes the acknowledgement to send; nothing is owed after it.
void udp_receiver_ack(udp_receiver_t *receiver, uint32_t credit, udp_ack_t *ack);

// How many datagrams are owed an acknowledgement.
static inline uint32_t udp_receiver_owed(const udp_receiver_t *receiver)
{
    return receiver->owed;
}

// Whether an acknowledgement tells the sender anything that it does not know, as far as can be
// said here: what has come is told a few times, since acknowledgements get lost.
static inline bool udp_receiver_has_news(const udp_receiver_t *receiver)
{
    return receiver->news;
}

// Whether something is missing below what is here: the sooner it is told, the sooner it comes.
bool udp_receiver_gap(const udp_receiver_t *receiver);

#endif
