// SPDX-License-Identifier: BSD-3-Clause
// What travels: packets with frames in them.
//
//      packet   [ header | frame | frame | frame ... ]        its length is a multiple of 8
//      frame    [ head | arguments | destination | payload ]  each part starts at a multiple of 8
//
// A message of a client is one frame. The frames of a packet are of one class, requests or replies.
// A packet without frames returns credits.
//
// Integers have the byte order of the machine: all ranks of a job have the same.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../core/conduit.h"

enum {
    OFI_REQUESTS,
    OFI_REPLIES,
    OFI_CLASSES,

    // Kinds of frames, besides the categories of messages (aq_am_category_t).
    OFI_PUT = AQ_AM_CONTROL, // a put: its data goes to the destination
    OFI_PUTS_DONE,           // a reply: the puts of the packet `batch` are in place
    OFI_FIREHOSE,            // a message of firehose (aq_firehose_message_t), with data of a put
    OFI_FETCH,               // a get that the target performs; the reply has the data
    OFI_LONG_PUT,            // a Long whose payload, of the length in the frame, was put before
    OFI_KINDS,

    OFI_WIRE_VERSION = 1,
};

typedef struct ofi_header {
    uint64_t job;     // a number that the ranks of a job have in common
    uint32_t source;  // rank
    uint16_t credits; // returned, in addition to those that frames return
    uint8_t version;  // OFI_WIRE_VERSION
    uint8_t class;
    uint32_t batch;  // of a packet with puts: its number among those of the sender; else 0
    uint32_t unused; // 0
} ofi_header_t;

_Static_assert(sizeof(ofi_header_t) == 24, "what travels has no gaps");

typedef struct ofi_frame {
    uint8_t kind; // aq_am_category_t, or OFI_PUT ...
    uint8_t handler;
    uint8_t nargs;
    uint8_t unused; // 0
    uint32_t bytes; // of the payload
} ofi_frame_t;

_Static_assert(sizeof(ofi_frame_t) == 8, "what travels has no gaps");

// A frame of a packet that has arrived. The pointers lead into the packet.
typedef struct ofi_frame_read {
    ofi_frame_t frame;
    const int32_t *args;
    uint64_t dest; // of a Long or a put; else 0
    char *payload;
} ofi_frame_read_t;

static inline size_t ofi_round(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static inline bool ofi_has_dest(unsigned kind)
{
    return kind == AQ_AM_LONG || kind == OFI_PUT || kind == OFI_LONG_PUT;
}

// Where the payload is in a frame.
static inline size_t ofi_payload_at(unsigned kind, unsigned nargs)
{
    return sizeof(ofi_frame_t) + ofi_round(4 * (size_t)nargs) + (ofi_has_dest(kind) ? 8 : 0);
}

static inline size_t ofi_frame_bytes(unsigned kind, unsigned nargs, size_t payload)
{
    return ofi_payload_at(kind, nargs) + ofi_round(payload);
}

// The largest payload of a frame with the maximum number of arguments.
size_t ofi_payload_most(size_t packet_bytes, unsigned kind);

// Writes a frame of ofi_frame_bytes at `at`, which is aligned to 8; payload may be NULL if bytes is
// 0. The bytes up to the next multiple of 8 are cleared.
void ofi_frame_write(char *at, const ofi_frame_t *frame, const int32_t *args, const void *dest,
                     const void *payload);

// Checks the header of a packet: false if it is not one of this job's.
bool ofi_header_read(const void *packet, size_t bytes, uint64_t job, uint32_t ranks,
                     ofi_header_t *out);

// Reads the frame at an offset of a packet, and returns the offset behind it. 0: there is no valid
// frame. An offset of `bytes` is the end.
size_t ofi_frame_parse(char *packet, size_t bytes, size_t offset, ofi_frame_read_t *out);
