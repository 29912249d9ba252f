// SPDX-License-Identifier: BSD-3-Clause
// Encodes and decodes headers and frames. udp_send.c and udp_rma.c write with it, udp_receive.c
// validates and reads.
#include "udp_wire.h"

#include <endian.h>
#include <string.h>

// Units of the fields of an acknowledgement.
enum { CREDIT_UNIT = 1024, HELD_UNIT = 16 };

// The byte at AT_KIND has the kind in its lower 3 bits, and these flags.
enum {
    SELECTIVE = 0x08,
    REPLIES = 0x10,
    HAS_ACK = 0x20 /* of requests; the next bit: of replies */,
    WANTS_ACK = 0x80
};

enum {
    AT_VERSION = UDP_PROOF_BYTES,
    AT_KIND = AT_VERSION + 1,
    AT_BYTES = AT_KIND + 1,
    AT_JOB = AT_BYTES + 2,
    AT_SOURCE = AT_JOB + 4,
    AT_DEST = AT_SOURCE + 4,
    AT_PACKET = AT_DEST + 4,
    AT_SEQUENCE = AT_PACKET + 8,
    AT_EPOCH = AT_SEQUENCE + 8,
    AT_CHECKSUM = AT_EPOCH + 4,
    AT_ACKS = AT_CHECKSUM + 4, // those that are present
};

_Static_assert((int)AT_ACKS == (int)UDP_HEADER_MIN, "acknowledgements end the header");
_Static_assert(UDP_HEADER_MIN % 8 == 0 && UDP_ACK_BYTES % 8 == 0,
               "frames begin where a payload may");

// ---- numbers ----

static inline void put_le16(uint8_t *at, uint16_t value)
{
    value = htole16(value);
    memcpy(at, &value, sizeof value);
}

static inline void put_le32(uint8_t *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof value);
}

static inline void put_le64(uint8_t *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof value);
}

static inline uint16_t get_le16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return le16toh(value);
}

static inline uint32_t get_le32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static inline uint64_t get_le64(const uint8_t *at)
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

// Returns where the next acknowledgement goes.
static uint8_t *encode_ack(uint8_t *at, const udp_ack_t *ack, bool selective)
{
    put_le32(at, ack->epoch);
    put_le16(at + 4, in_units(ack->credit, CREDIT_UNIT));
    put_le16(at + 6, in_units(ack->held_us, HELD_UNIT));
    put_le64(at + 8, ack->cumulative);
    at += UDP_ACK_BYTES;
    if (!selective)
        return at;
    put_le64(at, ack->selective);
    return at + UDP_SELECTIVE_BYTES;
}

static const uint8_t *decode_ack(const uint8_t *at, udp_ack_t *ack, bool selective)
{
    ack->epoch = get_le32(at);
    ack->credit = get_le16(at + 4) * (uint32_t)CREDIT_UNIT;
    ack->held_us = get_le16(at + 6) * (uint32_t)HELD_UNIT;
    ack->cumulative = get_le64(at + 8);
    ack->selective = 0;
    at += UDP_ACK_BYTES;
    if (!selective)
        return at;
    ack->selective = get_le64(at);
    return at + UDP_SELECTIVE_BYTES;
}

static uint8_t kind_byte(const udp_header_t *header)
{
    unsigned byte = header->kind;
    byte |= header->class == UDP_REPLIES ? REPLIES : 0;
    byte |= header->selective ? SELECTIVE : 0;
    byte |= (unsigned)header->has_ack[UDP_REQUESTS] * HAS_ACK;
    byte |= (unsigned)header->has_ack[UDP_REPLIES] * 2 * HAS_ACK;
    return (uint8_t)(byte | (header->wants_ack ? WANTS_ACK : 0));
}

static void read_kind(uint8_t byte, udp_header_t *header)
{
    header->kind = byte & 7;
    header->selective = byte & SELECTIVE;
    header->class = byte & REPLIES ? UDP_REPLIES : UDP_REQUESTS;
    header->has_ack[UDP_REQUESTS] = byte & HAS_ACK;
    header->has_ack[UDP_REPLIES] = byte & 2 * HAS_ACK;
    header->wants_ack = byte & WANTS_ACK;
}

void udp_header_encode(uint8_t *at, const udp_header_t *header)
{
    memset(at, 0, UDP_PROOF_BYTES);
    at[AT_VERSION] = UDP_VERSION;
    at[AT_KIND] = kind_byte(header);
    put_le16(at + AT_BYTES, header->bytes);
    put_le32(at + AT_JOB, header->job);
    put_le32(at + AT_SOURCE, header->source);
    put_le32(at + AT_DEST, header->dest);
    put_le64(at + AT_PACKET, header->packet);
    put_le64(at + AT_SEQUENCE, header->sequence);
    put_le32(at + AT_EPOCH, header->epoch);
    put_le32(at + AT_CHECKSUM, header->checksum);
    at += AT_ACKS;
    for (unsigned class = 0; class < UDP_CLASSES; class ++)
        if (header->has_ack[class])
            at = encode_ack(at, &header->acks[class], header->selective);
}

// Only a datagram with data is longer than its header.
static bool right_bytes(const udp_header_t *header, size_t bytes)
{
    const size_t head = udp_header_bytes(header);
    return header->bytes == bytes && bytes % 8 == 0 &&
           (header->kind == UDP_DATA ? bytes > head : bytes == head);
}

udp_fault_t udp_header_decode(const uint8_t *datagram, size_t bytes, udp_header_t *header)
{
    if (bytes < UDP_HEADER_MIN)
        return UDP_TOO_SHORT;
    if (datagram[AT_VERSION] != UDP_VERSION)
        return UDP_WRONG_VERSION;
    read_kind(datagram[AT_KIND], header);
    if (header->kind >= UDP_KINDS)
        return UDP_WRONG_KIND;
    header->bytes = get_le16(datagram + AT_BYTES);
    if (!right_bytes(header, bytes))
        return UDP_WRONG_BYTES;
    header->job = get_le32(datagram + AT_JOB);
    header->source = get_le32(datagram + AT_SOURCE);
    header->dest = get_le32(datagram + AT_DEST);
    header->packet = get_le64(datagram + AT_PACKET);
    header->sequence = get_le64(datagram + AT_SEQUENCE);
    header->epoch = get_le32(datagram + AT_EPOCH);
    header->checksum = get_le32(datagram + AT_CHECKSUM);
    datagram += AT_ACKS;
    for (unsigned class = 0; class < UDP_CLASSES; class ++)
        if (header->has_ack[class])
            datagram = decode_ack(datagram, &header->acks[class], header->selective);
    return UDP_FINE;
}

void udp_header_set_checksum(uint8_t *datagram, uint32_t checksum)
{
    put_le32(datagram + AT_CHECKSUM, checksum);
}

// ---- frames ----

// Offsets of the fields in the header of a frame.
enum {
    AT_TYPE = 0,
    AT_HANDLER = 1,
    AT_NARGS = 2,
    AT_CLASS = 3,
    AT_NBYTES = 4,
};

// 64-bit numbers behind the arguments, by type of frame.
static const uint8_t words[UDP_FRAME_TYPES] = {
    [UDP_FRAME_LONG] = 1, // place
    [UDP_FRAME_PUT] = 1,  // place
    [UDP_FRAME_GET] = 2,  // place, cookie
    [UDP_FRAME_GOT] = 1,  // cookie
};

static void write_args(uint8_t *at, const int32_t *args, unsigned nargs)
{
    for (unsigned i = 0; i < nargs; i++)
        put_le32(at + i * sizeof *args, (uint32_t)args[i]);
    if (nargs % 2)
        put_le32(at + nargs * sizeof *args, 0);
}

static void write_padding(uint8_t *at, size_t nbytes)
{
    memset(at + nbytes, 0, udp_round_up(nbytes) - nbytes);
}

static void write_payload(uint8_t *at, const void *payload, size_t nbytes)
{
    if (payload && nbytes)
        memcpy(at, payload, nbytes);
    write_padding(at, nbytes);
}

static void write_gathered(uint8_t *at, aq_am_gather_t *gather, size_t nbytes)
{
    gather->write(gather, at);
    write_padding(at, nbytes);
}

uint8_t *udp_frame_write(uint8_t *at, const aq_am_t *am, uint64_t place)
{
    uint8_t *payload = at + udp_frame_payload_at(am->category, am->nargs);
    at[AT_TYPE] = (uint8_t)(UDP_FRAME_SHORT + am->category);
    at[AT_HANDLER] = am->handler;
    at[AT_NARGS] = am->nargs;
    at[AT_CLASS] = am->reply ? UDP_REPLIES : UDP_REQUESTS;
    put_le32(at + AT_NBYTES, (uint32_t)am->nbytes);
    write_args(at + UDP_FRAME_BYTES, am->args, am->nargs);
    if (am->category == AQ_AM_LONG)
        put_le64(payload - sizeof place, place);
    if (am->category == AQ_AM_MEDIUM && am->gather)
        write_gathered(payload, am->gather, am->nbytes);
    else
        write_payload(payload, am->payload, am->nbytes);
    return payload;
}

size_t udp_rma_front(udp_frame_type_t type)
{
    return UDP_FRAME_BYTES + words[type] * sizeof(uint64_t);
}

void udp_rma_write(uint8_t *at, const udp_rma_t *rma)
{
    uint8_t *word = at + UDP_FRAME_BYTES;
    at[AT_TYPE] = (uint8_t)rma->type;
    at[AT_HANDLER] = at[AT_NARGS] = 0;
    at[AT_CLASS] = rma->type == UDP_FRAME_GOT ? UDP_REPLIES : UDP_REQUESTS;
    put_le32(at + AT_NBYTES, (uint32_t)rma->nbytes);
    if (rma->type != UDP_FRAME_GOT) {
        put_le64(word, rma->place);
        word += sizeof rma->place;
    }
    if (rma->type != UDP_FRAME_PUT) {
        put_le64(word, rma->cookie);
        word += sizeof rma->cookie;
    }
    if (rma->type != UDP_FRAME_GET && rma->payload)
        write_payload(word, rma->payload, rma->nbytes);
}

// Offset of the payload of a frame.
static size_t payload_at(const udp_frame_t *frame)
{
    return UDP_FRAME_BYTES + udp_round_up(frame->nargs * sizeof(int32_t)) +
           words[frame->type] * sizeof(uint64_t);
}

static size_t frame_bytes(const udp_frame_t *frame)
{
    return payload_at(frame) + (frame->type == UDP_FRAME_GET ? 0 : udp_round_up(frame->nbytes));
}

// Whether the front of a frame is legal: puts and gets are requests and have neither handler nor
// arguments.
static bool front_is_valid(const uint8_t *at, unsigned class)
{
    unsigned type = at[AT_TYPE];
    bool message = type <= UDP_FRAME_LONG, reply = type == UDP_FRAME_GOT;
    if (type < UDP_FRAME_SHORT || type >= UDP_FRAME_TYPES || at[AT_CLASS] != class)
        return false;
    if (message)
        return at[AT_NARGS] <= AQ_AM_MAX_ARGS;
    return !at[AT_HANDLER] && !at[AT_NARGS] && reply == (class == UDP_REPLIES);
}

static void read_fields(const uint8_t *at, udp_frame_t *frame)
{
    frame->type = at[AT_TYPE];
    frame->handler = at[AT_HANDLER];
    frame->nargs = at[AT_NARGS];
    frame->nbytes = get_le32(at + AT_NBYTES);
}

// Reads the 8 bytes at the front of a frame; false unless all of the frame is within the `left`
// bytes of the datagram.
static bool read_front(const uint8_t *at, size_t left, unsigned class, udp_frame_t *frame)
{
    if (!front_is_valid(at, class))
        return false;
    read_fields(at, frame);
    size_t most = frame->type == UDP_FRAME_SHORT ? 0
                  : frame->type == UDP_FRAME_GET ? (size_t)UDP_LONGEST_DATAGRAM
                                                 : left;
    return frame->nbytes <= most && frame_bytes(frame) <= left;
}

static void read_words(const uint8_t *at, udp_frame_t *frame)
{
    const bool got = frame->type == UDP_FRAME_GOT;
    frame->place = words[frame->type] && !got ? get_le64(at) : (uint64_t)0;
    if (got)
        frame->cookie = get_le64(at);
    else if (frame->type == UDP_FRAME_GET)
        frame->cookie = get_le64(at + sizeof frame->place);
}

// Reads the rest of a frame that is known to be within the datagram.
static void read_rest(uint8_t *at, udp_frame_t *frame)
{
    frame->payload = at + payload_at(frame);
    read_words(frame->payload - words[frame->type] * sizeof(uint64_t), frame);
    for (unsigned i = 0; i < frame->nargs; i++)
        frame->args[i] = (int32_t)get_le32(at + UDP_FRAME_BYTES + i * sizeof(int32_t));
}

bool udp_frames_next(udp_frames_t *frames, udp_frame_t *frame)
{
    if (frames->at == frames->end)
        return false;
    read_fields(frames->at, frame);
    read_rest(frames->at, frame);
    frames->at += frame_bytes(frame);
    return true;
}

// Reads the front of a frame that was not validated yet.
static bool examine_next(const udp_frames_t *frames, udp_frame_t *frame)
{
    size_t left = (size_t)(frames->end - frames->at);
    return left >= UDP_FRAME_BYTES && read_front(frames->at, left, frames->class, frame);
}

udp_contents_t udp_frames_scan(udp_frames_t frames)
{
    udp_contents_t contents = {0};
    udp_frame_t frame;
    while (examine_next(&frames, &frame)) {
        frames.at += frame_bytes(&frame);
        bool bytes = frame.type == UDP_FRAME_PUT || frame.type == UDP_FRAME_GOT;
        contents.bytes |= bytes;
        contents.calls |= !bytes;
        contents.count++;
    }
    contents.good = frames.at == frames.end;
    return contents;
}

bool udp_frame_measure(const uint8_t *at, size_t at_hand, size_t left, unsigned class,
                       udp_extent_t *extent)
{
    udp_frame_t frame;
    if (at_hand < UDP_FRAME_BYTES || left < UDP_FRAME_BYTES || !read_front(at, left, class, &frame))
        return false;
    *extent = (udp_extent_t){payload_at(&frame), frame_bytes(&frame)};
    return extent->front <= at_hand;
}

bool udp_frame_single(const uint8_t *head, const udp_header_t *header, udp_frame_t *frame)
{
    const size_t front = udp_header_bytes(header), rest = header->bytes - front;
    const uint8_t *at = head + front;
    if (header->bytes < UDP_SINGLE_BYTES || !read_front(at, rest, header->class, frame) ||
        (frame->type != UDP_FRAME_PUT && frame->type != UDP_FRAME_GOT))
        return false;
    frame->payload = NULL;
    read_words(at + UDP_FRAME_BYTES, frame);
    return frame_bytes(frame) == rest;
}
