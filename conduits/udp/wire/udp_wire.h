// SPDX-License-Identifier: BSD-3-Clause
// The wire format of the udp conduit: the header of a datagram, and the frames behind it.
//
// What is always true:
// - All numbers are little-endian; no struct is cast onto bytes. docs/wire-udp.md has the tables.
// - Header and frames are multiples of 8 bytes long. In a datagram that begins at a multiple of 16,
//   every payload begins at a multiple of 8.
// - Decoding reads only the bytes it is given, whatever they contain. Decoding does not
//   authenticate: udp_auth.h does.
// - A datagram and all its frames belong to one class, requests or replies. Its header acknowledges
//   none, one or both of the classes of the opposite direction: those with news.
// - No frame carries a pointer. Memory of the receiver is a place (key of a segment, offset), and
//   the state of a get at its initiator is a cookie (core/ground/cookie.h).
//
//      | header, 56 to 104 bytes                           | frame | frame | frame ... |
//      | proof | fields | up to 2 acknowledgements         | front, arguments, payload
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../core/conduit.h"

#define UDP_VERSION 4

// The id of one receive side of the job, that is, of one endpoint of one rank. The rank is in the
// lower 20 bits, so that the endpoint id of an endpoint 0 is its rank. Keys, tokens and packet
// numbers belong to a pair of endpoints and a direction.
enum { UDP_EP_ID_RANK_BITS = 20 };
_Static_assert(AQ_JOB_RANKS_MAX <= 1 << UDP_EP_ID_RANK_BITS,
               "an endpoint id has room for each rank");

static inline uint32_t udp_ep_id(uint32_t rank, uint16_t endpoint)
{
    return (uint32_t)endpoint << UDP_EP_ID_RANK_BITS | rank;
}

static inline uint32_t udp_ep_id_rank(uint32_t ep_id)
{
    return ep_id & ((1u << UDP_EP_ID_RANK_BITS) - 1);
}

static inline uint16_t udp_ep_id_endpoint(uint32_t ep_id)
{
    return (uint16_t)(ep_id >> UDP_EP_ID_RANK_BITS);
}

enum {
    UDP_PROOF_BYTES = 16, // at the front of the header; written by udp_auth.h
    UDP_ACK_BYTES = 16,
    UDP_SELECTIVE_BYTES = 8, // additional bytes of each acknowledgement, if a datagram is missing
    UDP_HEADER_MIN = 56,     // without acknowledgements
    UDP_HEADER_MAX = UDP_HEADER_MIN + 2 * (UDP_ACK_BYTES + UDP_SELECTIVE_BYTES),
    UDP_FRAME_BYTES = 8,          // the front of a frame
    UDP_LONGEST_DATAGRAM = 65504, // the IPv4 limit (65,507), rounded down to a multiple of 8
};

typedef enum udp_kind {
    UDP_DATA,
    UDP_ACK, // acknowledgements only
    UDP_EPOCH_REQUEST,
    UDP_EPOCH_CONFIRM,
    UDP_PING,
    UDP_PONG,
    UDP_KINDS
} udp_kind_t;

enum { UDP_REQUESTS, UDP_REPLIES, UDP_CLASSES }; // the classes

// What a receiver has received of one class.
typedef struct udp_ack {
    uint32_t epoch;
    uint32_t credit;  // bytes that the sender may have in flight; encoded in units of 1 KiB
    uint32_t held_us; // microseconds since the last new datagram arrived; encoded in units of 16 us
    uint64_t cumulative; // all datagrams below this number were received; this one was not
    uint64_t selective;  // bit i: number cumulative + 1 + i was received
} udp_ack_t;

enum { UDP_SELECTIVE = 64 }; // numbers above cumulative that an acknowledgement covers

typedef struct udp_header {
    uint8_t kind;   // udp_kind_t
    uint8_t class;  // of the frames, or of the flow of an epoch request or confirmation
    bool wants_ack; // immediately: the sender waits for it
    bool has_ack[UDP_CLASSES];
    bool selective;        // acknowledgements cover numbers above cumulative
    uint16_t bytes;        // of the whole datagram
    uint32_t job;          // a tag derived from the job's key
    uint32_t source, dest; // endpoint ids
    uint64_t packet;       // counts all transmissions from source to dest; never repeats
    uint64_t sequence;     // of data; otherwise 0
    uint32_t epoch;
    uint32_t checksum;           // of the fields and of everything behind the header, or 0
    udp_ack_t acks[UDP_CLASSES]; // valid if has_ack
} udp_header_t;

static inline size_t udp_header_bytes(const udp_header_t *header)
{
    const size_t acks = (size_t)header->has_ack[UDP_REQUESTS] + header->has_ack[UDP_REPLIES];
    return UDP_HEADER_MIN +
           acks * (UDP_ACK_BYTES + (header->selective ? (size_t)UDP_SELECTIVE_BYTES : 0));
}

// Faults of a header; UDP_FINE: none.
typedef enum udp_fault {
    UDP_FINE,
    UDP_TOO_SHORT,     // shorter than a header
    UDP_WRONG_VERSION, // of the protocol
    UDP_WRONG_KIND,    // or class
    UDP_WRONG_BYTES,   // the header has another length, or an impossible one
    UDP_FAULTS
} udp_fault_t;

// Writes the first udp_header_bytes of a datagram; the proof is left zero.
void udp_header_encode(uint8_t *at, const udp_header_t *header);

// Reads the header of a datagram of the given size. *header is complete only with UDP_FINE; fields
// of acknowledgements that are not present are left alone.
udp_fault_t udp_header_decode(const uint8_t *datagram, size_t bytes, udp_header_t *header);

// Writes the checksum into an encoded header.
void udp_header_set_checksum(uint8_t *datagram, uint32_t checksum);

// ---- frames ----

typedef enum udp_frame_type {
    UDP_FRAME_SHORT = 1, // messages: 1 + aq_am_category_t
    UDP_FRAME_MEDIUM,
    UDP_FRAME_LONG,
    UDP_FRAME_PUT, // a request: data for the memory at place
    UDP_FRAME_GET, // a request for nbytes of the memory at place
    UDP_FRAME_GOT, // the reply to a get: the data, and the cookie of the request
    UDP_FRAME_TYPES
} udp_frame_type_t;

static inline size_t udp_round_up(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

// Memory of the receiver in a frame: the key of a segment in the upper 8 bits, an offset into that
// segment in the others. The receiver validates both before it accesses memory.
typedef enum udp_segment_key {
    UDP_KEY_MEMORY, // the offset is an address
    UDP_KEY_SEGMENT // the attached segment of the primordial endpoint
} udp_segment_key_t;

enum { UDP_PLACE_OFFSET_BITS = 56 };

static inline uint64_t udp_place_make(udp_segment_key_t key, uint64_t offset)
{
    return (uint64_t)key << UDP_PLACE_OFFSET_BITS | offset;
}

static inline unsigned udp_place_key(uint64_t place)
{
    return (unsigned)(place >> UDP_PLACE_OFFSET_BITS);
}

static inline uint64_t udp_place_offset(uint64_t place)
{
    return place & ((UINT64_C(1) << UDP_PLACE_OFFSET_BITS) - 1);
}

// Offset of the payload from the first byte of the frame.
static inline size_t udp_frame_payload_at(unsigned category, unsigned nargs)
{
    return UDP_FRAME_BYTES + udp_round_up(nargs * sizeof(int32_t)) +
           (category == AQ_AM_LONG ? sizeof(uint64_t) : 0);
}

// Size of a frame.
static inline size_t udp_frame_bytes(unsigned category, unsigned nargs, size_t nbytes)
{
    return udp_frame_payload_at(category, nargs) + udp_round_up(nbytes);
}

// Writes the frame of a message, udp_frame_bytes long, and returns where its payload is. place: the
// destination of a Long. With a payload of NULL the caller writes the payload; the padding behind
// it becomes zero.
uint8_t *udp_frame_write(uint8_t *at, const aq_am_t *am, uint64_t place);

// A put, a get, or the reply to a get. Fields that the type does not have are ignored.
typedef struct udp_rma {
    udp_frame_type_t type;
    size_t nbytes;
    const void *payload; // NULL: the caller provides it, and the padding to a multiple of 8
    uint64_t place;      // of a put and a get
    uint64_t cookie;     // of a get and its reply
} udp_rma_t;

// Size of such a frame without its payload; all of it, for a get.
size_t udp_rma_front(udp_frame_type_t type);

// Size of such a frame.
static inline size_t udp_rma_bytes(udp_frame_type_t type, size_t nbytes)
{
    return udp_rma_front(type) + (type == UDP_FRAME_GET ? 0 : udp_round_up(nbytes));
}

// Writes such a frame, udp_rma_bytes long, or only its front if the payload is NULL.
void udp_rma_write(uint8_t *at, const udp_rma_t *rma);

// A received frame. The payload is in the datagram.
typedef struct udp_frame {
    uint8_t *payload;
    size_t nbytes;   // of the payload; of a get, the number of requested bytes
    uint64_t place;  // of a Long, a put and a get
    uint64_t cookie; // of a get and its reply
    uint8_t type;    // udp_frame_type_t
    uint8_t handler, nargs;
    int32_t args[AQ_AM_MAX_ARGS];
} udp_frame_t;

// The frames of a datagram that are still to be read, from at to end.
typedef struct udp_frames {
    uint8_t *at, *end;
    uint8_t class;
} udp_frames_t;

// The frames of a datagram that has this header.
static inline udp_frames_t udp_frames_of(uint8_t *datagram, const udp_header_t *header)
{
    return (udp_frames_t){datagram + udp_header_bytes(header), datagram + header->bytes,
                          header->class};
}

// The content of a datagram. It is determined before the datagram is accepted, so that all of it is
// processed or nothing.
typedef struct udp_contents {
    // All frames are valid; otherwise the other members cover those in front of the first bad one.
    bool good;
    bool calls;     // messages and gets, which need a handler or a reply
    bool bytes;     // puts and get replies, whose data only has to be written to memory
    unsigned count; // number of frames
} udp_contents_t;

// Validates all frames of a datagram. No other function does.
udp_contents_t udp_frames_scan(udp_frames_t frames);

// Reads the next frame, after a scan found all of them good; false: there is none.
bool udp_frames_next(udp_frames_t *frames, udp_frame_t *frame);

// The size of a frame: its front (all but payload and padding), and all of it.
typedef struct udp_extent {
    size_t front, whole;
} udp_extent_t;

// Measures the frame at `at`, of which at_hand bytes can be read and which has to end within `left`
// bytes. False: no frame of that class can begin like this, or its front is not readable
// completely.
bool udp_frame_measure(const uint8_t *at, size_t at_hand, size_t left, unsigned class,
                       udp_extent_t *extent);

// Enough to recognize the single frame of a datagram.
enum { UDP_SINGLE_BYTES = UDP_HEADER_MAX + 2 * 8 };

// Whether a datagram with this header, of which only the first UDP_SINGLE_BYTES are readable, holds
// one put or get reply and nothing else. If so, *frame is complete except for the payload.
bool udp_frame_single(const uint8_t *head, const udp_header_t *header, udp_frame_t *frame);
