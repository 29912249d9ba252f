#include "udp_wire.h"

#include <endian.h>
#include <string.h>

// Places of the fields in the header.
enum { CREDIT_UNIT = 1024, HELD_UNIT = 16 };

enum {
    AT_VERSION = 0,
    AT_KIND = 1, // and the class, in the upper 4 bits
    AT_BYTES = 2,
    AT_JOB = 4,
    AT_SOURCE = 8,
    AT_DEST = 12,
    AT_EPOCH = 16,
    AT_CHECKSUM = 20,
    AT_SEQUENCE = 24,
    AT_ACKS = 32, // one for each class
    ACK_BYTES = 24,
};

_Static_assert(AT_ACKS + UDP_CLASSES * ACK_BYTES == UDP_HASHED_BYTES, "the hash follows the acks");
_Static_assert(UDP_HEADER_BYTES % 16 == 0, "frames begin where a payload may");

// ---- numbers ----

static inline void put16(uint8_t *at, uint16_t value)
{
    value = htole16(value);
    memcpy(at, &value, sizeof value);
}

static inline void put32(uint8_t *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof value);
}

static inline void put64(uint8_t *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof value);
}

static inline uint16_t get16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return le16toh(value);
}

static inline uint32_t get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static inline uint64_t get64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

// ---- the header ----

static uint16_t in_units(uint32_t value, uint32_t unit)
{
    return value / unit < UINT16_MAX ? (uint16_t)(value / unit) : UINT16_MAX;
}

static void encode_ack(uint8_t *at, const udp_ack_t *ack)
{
    put32(at, ack->epoch);
    put16(at + 4, in_units(ack->credit, CREDIT_UNIT));
    put16(at + 6, in_units(ack->held_us, HELD_UNIT));
    put64(at + 8, ack->cumulative);
    put64(at + 16, ack->selective);
}

static void decode_ack(const uint8_t *at, udp_ack_t *ack)
{
    ack->epoch = get32(at);
    ack->credit = get16(at + 4) * (uint32_t)CREDIT_UNIT;
    ack->held_us = get16(at + 6) * (uint32_t)HELD_UNIT;
    ack->cumulative = get64(at + 8);
    ack->selective = get64(at + 16);
}

void udp_header_encode(uint8_t *at, const udp_header_t *header)
{
    at[AT_VERSION] = UDP_VERSION;
    at[AT_KIND] = (uint8_t)(header->kind | header->class << 4);
    put16(at + AT_BYTES, header->bytes);
    put32(at + AT_JOB, header->job);
    put32(at + AT_SOURCE, header->source);
    put32(at + AT_DEST, header->dest);
    put32(at + AT_EPOCH, header->epoch);
    put32(at + AT_CHECKSUM, header->checksum);
    put64(at + AT_SEQUENCE, header->sequence);
    for (unsigned class = 0; class < UDP_CLASSES; class ++)
        encode_ack(at + AT_ACKS + class * ACK_BYTES, &header->acks[class]);
}

// Only data has something behind its header.
static bool right_bytes(const udp_header_t *header, size_t bytes)
{
    return header->bytes == bytes && bytes % 8 == 0 &&
           (header->kind == UDP_DATA) == (bytes > UDP_HEADER_BYTES);
}

udp_fault_t udp_header_decode(const uint8_t *datagram, size_t bytes, udp_header_t *header)
{
    if (bytes < UDP_HEADER_BYTES)
        return UDP_TOO_SHORT;
    if (datagram[AT_VERSION] != UDP_VERSION)
        return UDP_WRONG_VERSION;
    header->kind = datagram[AT_KIND] & 15;
    header->class = datagram[AT_KIND] >> 4;
    if (header->kind >= UDP_KINDS || header->class >= UDP_CLASSES)
        return UDP_WRONG_KIND;
    header->bytes = get16(datagram + AT_BYTES);
    if (!right_bytes(header, bytes))
        return UDP_WRONG_BYTES;
    header->job = get32(datagram + AT_JOB);
    header->source = get32(datagram + AT_SOURCE);
    header->dest = get32(datagram + AT_DEST);
    header->epoch = get32(datagram + AT_EPOCH);
    header->checksum = get32(datagram + AT_CHECKSUM);
    header->sequence = get64(datagram + AT_SEQUENCE);
    for (unsigned class = 0; class < UDP_CLASSES; class ++)
        decode_ack(datagram + AT_ACKS + class * ACK_BYTES, &header->acks[class]);
    return UDP_FINE;
}

// ---- frames ----

// Places of the fields in the header of a frame.
enum {
    AT_TYPE = 0,
    AT_HANDLER = 1,
    AT_NARGS = 2,
    AT_CLASS = 3,
    AT_NBYTES = 4,
};

enum { FIRST_CATEGORY = 1 }; // a type is a category and this; 0 is a filler

void udp_frame_fill(uint8_t *at)
{
    memset(at, 0, UDP_FRAME_BYTES);
}

static void write_args(uint8_t *at, const int32_t *args, unsigned nargs)
{
    for (unsigned i = 0; i < nargs; i++)
        put32(at + i * sizeof *args, (uint32_t)args[i]);
    if (nargs % 2)
        put32(at + nargs * sizeof *args, 0);
}

static void write_payload(uint8_t *at, const void *payload, size_t nbytes)
{
    if (payload && nbytes)
        memcpy(at, payload, nbytes);
    memset(at + nbytes, 0, udp_round_up(nbytes) - nbytes);
}

uint8_t *udp_frame_write(uint8_t *at, const aq_am_t *am)
{
    uint8_t *payload = at + udp_frame_payload_at(am->category, am->nargs);
    at[AT_TYPE] = (uint8_t)(FIRST_CATEGORY + am->category);
    at[AT_HANDLER] = am->handler;
    at[AT_NARGS] = am->nargs;
    at[AT_CLASS] = am->reply ? UDP_REPLIES : UDP_REQUESTS;
    put32(at + AT_NBYTES, (uint32_t)am->nbytes);
    write_args(at + UDP_FRAME_BYTES, am->args, am->nargs);
    if (am->category == AQ_AM_LONG)
        put64(payload - sizeof(uint64_t), (uintptr_t)am->dest);
    write_payload(payload, am->payload, am->nbytes);
    return payload;
}

// Reads the 8 bytes at the front of a frame; false unless all of it lies within the datagram.
static bool read_front(const udp_frames_t *frames, udp_frame_t *frame)
{
    const uint8_t *at = frames->at;
    size_t left = (size_t)(frames->end - at);
    unsigned type = at[AT_TYPE];
    if (type < FIRST_CATEGORY || type > FIRST_CATEGORY + AQ_AM_LONG ||
        at[AT_NARGS] > AQ_AM_MAX_ARGS || at[AT_CLASS] != frames->class)
        return false;
    frame->category = (uint8_t)(type - FIRST_CATEGORY);
    frame->handler = at[AT_HANDLER];
    frame->nargs = at[AT_NARGS];
    frame->nbytes = get32(at + AT_NBYTES);
    if (frame->nbytes > (frame->category == AQ_AM_SHORT ? 0 : left))
        return false;
    return udp_frame_bytes(frame->category, frame->nargs, frame->nbytes) <= left;
}

// With the frame known to lie within the datagram.
static void read_rest(uint8_t *at, udp_frame_t *frame)
{
    frame->payload = at + udp_frame_payload_at(frame->category, frame->nargs);
    frame->dest =
        frame->category == AQ_AM_LONG ? get64(frame->payload - sizeof(uint64_t)) : (uint64_t)0;
    for (unsigned i = 0; i < frame->nargs; i++)
        frame->args[i] = (int32_t)get32(at + UDP_FRAME_BYTES + i * sizeof(int32_t));
}

udp_next_t udp_frames_next(udp_frames_t *frames, udp_frame_t *frame)
{
    size_t left = (size_t)(frames->end - frames->at);
    while (left >= UDP_FRAME_BYTES && get64(frames->at) == 0) {
        frames->at += UDP_FRAME_BYTES;
        left -= UDP_FRAME_BYTES;
    }
    if (left == 0)
        return UDP_NO_FRAME;
    if (left < UDP_FRAME_BYTES || !read_front(frames, frame))
        return UDP_BAD_FRAME;
    read_rest(frames->at, frame);
    frames->at += udp_frame_bytes(frame->category, frame->nargs, frame->nbytes);
    return UDP_FRAME;
}

bool udp_frames_good(udp_frames_t frames)
{
    udp_frame_t frame;
    udp_next_t next;
    do {
        next = udp_frames_next(&frames, &frame);
    } while (next == UDP_FRAME);
    return next == UDP_NO_FRAME;
}
