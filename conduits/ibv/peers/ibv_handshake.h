// SPDX-License-Identifier: BSD-3-Clause
// The handshake of a connection that is made by datagrams (ibv_connect_ud.h), as a state machine
// without input and output: the caller sends the messages, and calls back with those that arrive
// and when a deadline has passed.
//
// Both sides do the same. Each message carries the numbers of the sender's queue pairs, and two
// flags:
//
//      KNOWN   the sender knows the receiver's queue pairs, and has connected its own with them
//      WANT    the sender does not know yet whether the receiver knows the sender's
//
//      caller                                    peer
//      call:            { WANT } ------------->  connects its queue pairs
//      connects         <--- { KNOWN, WANT }
//      READY            --- { KNOWN } -------->  READY
//
// Two hosts may be connected by several pairs of ports, of which some may have failed. Round k of a
// handshake uses the k-th pair, for its messages and for the queue pairs that these name. A side
// that hears nothing in a round begins the next one, with new queue pairs, and the peer joins it:
//
//      caller                                    peer
//      call:            { round 0, WANT } ---x   (the port has failed)
//      begins round 1:  { round 1, WANT } ---->  joins: makes new queue pairs, connects them
//
// With XRC (ibv_connect_xrc.h) KNOWN is said when the sender's queue pair for receiving is
// connected, whose number comes with it; the receiver of KNOWN connects its queue pair for sending
// then, before it is READY.
//
// What is always true:
// - Messages may be lost, duplicated, delayed and reordered without bound, and both sides may call
//   at the same time: in a round, `received` and `known` only ever become true, and what a message
//   says stays true. Rounds only ever become later.
// - Only a side that has received nothing in a round begins the next one. Its queue pairs are then
//   not connected, so its peer is not READY: a side that is READY never has to join.
// - A side that is READY can send at once: the peer's queue pairs receive.
// - Every message that has WANT is answered, and no other one is: so messages stop when both sides
//   are READY. A message of an earlier round is answered with one of the present round. A side
//   without an answer repeats its message, at growing intervals, and gives up after
//   AQ_IBV_HANDSHAKE_TRIES.
// - A refusal ends the handshake of a side that has received nothing else.
//
// tests/model/ibv_handshake.pml is the model.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    AQ_IBV_HANDSHAKE_TRIES = 26,     // about 40 seconds
    AQ_IBV_HANDSHAKE_FIRST_MS = 100, // until the first repetition
    AQ_IBV_HANDSHAKE_LONGEST_MS = 1600,
    AQ_IBV_HANDSHAKE_ROUND_TRIES = 5, // in a round, if there are several; about 3 seconds
    AQ_IBV_HANDSHAKE_ROUNDS = 13,     // that a side begins; about 40 seconds
};

// Flags of a message.
enum {
    AQ_IBV_SAYS_KNOWN = 1,
    AQ_IBV_SAYS_WANT = 2,
    AQ_IBV_SAYS_NO = 4, // a refusal, alone
};

// What the caller has to do, in this order.
enum {
    AQ_IBV_DO_RESTART = 16, // first of all, replace the queue pairs by those of the present round
    AQ_IBV_DO_CONNECT = 1,  // connect the queue pairs with those in the message
    AQ_IBV_DO_SEND = 2,     // send a message with aq_ibv_handshake_flags
    AQ_IBV_DO_READY = 4,    // the link may be used
    AQ_IBV_DO_FAIL = 8,     // the peer does not answer, or refuses
};

#define AQ_IBV_NO_DEADLINE UINT64_MAX

// Zero-initialized: idle, with one round.
typedef struct aq_ibv_handshake {
    bool has_rounds;      // the caller sets it before anything else, as the peer does
    bool begun;           // this side called, or the peer did
    bool received;        // queue pairs here are connected with the peer's, in this round
    bool known;           // the peer's are connected with those here
    bool failed;          // no action follows any more
    uint8_t rounds;       // that this side has begun, after the first
    uint16_t round;       // the present one
    unsigned tries;       // messages since anything was received from the peer, in this round
    uint64_t deadline_ms; // valid if begun
} aq_ibv_handshake_t;

// A thread here needs the link. No effect if the handshake has begun. Times are of any clock that
// does not go back, in milliseconds. Returns what to do, as the next two functions do.
unsigned aq_ibv_handshake_call(aq_ibv_handshake_t *handshake, uint64_t now_ms);

// A message of the peer has arrived, whose proof holds. Joins its round if that is a later one:
// returns AQ_IBV_DO_RESTART, or 0.
unsigned aq_ibv_handshake_join(aq_ibv_handshake_t *handshake, unsigned flags, uint16_t round);

// Then: takes in the message. flags: unknown ones are ignored.
unsigned aq_ibv_handshake_receive(aq_ibv_handshake_t *handshake, unsigned flags, uint16_t round,
                                  uint64_t now_ms);

// No path leads to the peer by the ports of this round: the next tick begins another one, if this
// side has received nothing.
void aq_ibv_handshake_skip(aq_ibv_handshake_t *handshake, uint64_t now_ms);

// Time has passed. No effect before the deadline.
unsigned aq_ibv_handshake_tick(aq_ibv_handshake_t *handshake, uint64_t now_ms);

// The flags of the next message.
static inline unsigned aq_ibv_handshake_flags(const aq_ibv_handshake_t *handshake)
{
    return (handshake->received ? AQ_IBV_SAYS_KNOWN : 0u) |
           (handshake->known ? 0u : AQ_IBV_SAYS_WANT);
}

// When aq_ibv_handshake_tick has something to do; AQ_IBV_NO_DEADLINE: never.
static inline uint64_t aq_ibv_handshake_deadline(const aq_ibv_handshake_t *handshake)
{
    const bool waits = handshake->begun && !handshake->known && !handshake->failed;
    return waits ? handshake->deadline_ms : AQ_IBV_NO_DEADLINE;
}
