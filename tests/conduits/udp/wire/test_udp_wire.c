// SPDX-License-Identifier: BSD-3-Clause
// Header and frames of udp's datagrams: decoding restores what was encoded, and refuses everything
// else.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/udp/wire/udp_wire.h"

static uint64_t state = 1;

// A pseudo-random number below `limit` (xorshift64*); `limit` is not 0.
static uint64_t random_below(uint64_t limit)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return ((state * 0x2545f4914f6cdd1du) >> 16) % limit;
}

static const udp_header_t example = {
    .kind = UDP_EPOCH_CONFIRM,
    .class = UDP_REPLIES,
    .wants_ack = true,
    .has_ack = {true, true},
    .selective = true,
    .bytes = UDP_HEADER_MAX,
    .job = 0x03020100,
    .source = 0x13121110,
    .dest = 0x23222120,
    .epoch = 0x33323130,
    .checksum = 0x43424140,
    .packet = 0x4f4e4d4c4b4a4948,
    .sequence = 0x5756555453525150,
    .acks = {{0x63626160, 0x7170 * 1024, 0x7372 * 16, 0x8786858483828180, 0x9796959493929190},
             {0xa3a2a1a0, 0xb1b0 * 1024, 0xb3b2 * 16, 0xc7c6c5c4c3c2c1c0, 0xd7d6d5d4d3d2d1d0}},
};

// ---- the header ----

static const uint8_t places[] = {
    0,    0,    0,    0,    0,    0,    0,    0,    // proof, written by udp_auth.c
    0,    0,    0,    0,    0,    0,    0,    0,    //
    4,    0xfb, 104,  0,                            // version; kind, class and flags; bytes
    0x00, 0x01, 0x02, 0x03,                         // job
    0x10, 0x11, 0x12, 0x13, 0x20, 0x21, 0x22, 0x23, // source, dest
    0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, // packet
    0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, // sequence
    0x30, 0x31, 0x32, 0x33, 0x40, 0x41, 0x42, 0x43, // epoch, checksum
    0x60, 0x61, 0x62, 0x63, 0x70, 0x71, 0x72, 0x73, // requests: epoch, credit, held
    0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, // cumulative
    0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, // selective
    0xa0, 0xa1, 0xa2, 0xa3, 0xb0, 0xb1, 0xb2, 0xb3, // replies
    0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, //
    0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, //
};

static void the_header_has_its_bytes_in_their_places(void **unused)
{
    (void)unused;
    uint8_t bytes[UDP_HEADER_MAX];
    assert_int_equal(sizeof places, UDP_HEADER_MAX);
    assert_int_equal(udp_header_bytes(&example), UDP_HEADER_MAX);
    memset(bytes, 0xee, sizeof bytes);
    udp_header_encode(bytes, &example);
    assert_memory_equal(bytes, places, sizeof places);
}

// The datagrams of endpoint 0 are those of jobs without further endpoints.
static void an_ep_id_is_a_rank_and_an_endpoint(void **unused)
{
    (void)unused;
    uint8_t bytes[UDP_HEADER_MAX];
    udp_header_t header = example;
    assert_int_equal(udp_ep_id(AQ_JOB_RANKS_MAX - 1, 0), AQ_JOB_RANKS_MAX - 1);
    header.source = udp_ep_id(0xf1110, 0x0302);
    header.dest = udp_ep_id(0x2120, 0);
    assert_int_equal(udp_ep_id_rank(header.source), 0xf1110);
    assert_int_equal(udp_ep_id_endpoint(header.source), 0x0302);
    udp_header_encode(bytes, &header);
    assert_memory_equal(bytes + 24, ((uint8_t[]){0x10, 0x11, 0x2f, 0x30, 0x20, 0x21, 0, 0}), 8);
}

static void an_absent_acknowledgement_takes_no_bytes(void **unused)
{
    (void)unused;
    const uint8_t *const acks = places + UDP_HEADER_MIN;
    for (unsigned there = 0; there < 3; there++) { // none, requests, replies
        uint8_t bytes[UDP_HEADER_MAX];
        udp_header_t header = example;
        const size_t ack = UDP_ACK_BYTES + UDP_SELECTIVE_BYTES;
        const size_t length = UDP_HEADER_MIN + (there ? ack : 0);
        for (unsigned class = 0; class < UDP_CLASSES; class ++)
            header.has_ack[class] = there == 1 + class;
        memset(bytes, 0xee, sizeof bytes);
        udp_header_encode(bytes, &header);
        assert_int_equal(udp_header_bytes(&header), length);
        assert_int_equal(bytes[17], 0x9b | there << 5);
        assert_memory_equal(bytes + 18, places + 18, UDP_HEADER_MIN - 18);
        if (there)
            assert_memory_equal(bytes + UDP_HEADER_MIN, acks + (there - 1) * ack, ack);
        for (size_t i = length; i < sizeof bytes; i++)
            assert_int_equal(bytes[i], 0xee);
    }
}

static void without_gaps_an_acknowledgement_is_shorter(void **unused)
{
    (void)unused;
    const uint8_t *const acks = places + UDP_HEADER_MIN;
    const size_t length = UDP_HEADER_MIN + 2 * UDP_ACK_BYTES;
    uint8_t bytes[UDP_HEADER_MAX];
    udp_header_t header = example, got;
    header.selective = false;
    header.bytes = (uint16_t)length;
    memset(bytes, 0xee, sizeof bytes);
    udp_header_encode(bytes, &header);
    assert_int_equal(udp_header_bytes(&header), length);
    assert_int_equal(bytes[17], 0xf3);
    assert_memory_equal(bytes + UDP_HEADER_MIN, acks, UDP_ACK_BYTES);
    assert_memory_equal(bytes + UDP_HEADER_MIN + UDP_ACK_BYTES,
                        acks + UDP_ACK_BYTES + UDP_SELECTIVE_BYTES, UDP_ACK_BYTES);
    for (size_t i = length; i < sizeof bytes; i++)
        assert_int_equal(bytes[i], 0xee);
    memset(&got, 0xff, sizeof got);
    assert_int_equal(udp_header_decode(bytes, length, &got), UDP_FINE);
    assert_true(got.acks[0].cumulative == example.acks[0].cumulative);
    assert_true(got.acks[0].selective == 0 && got.acks[1].selective == 0);
}

static void check_reading(unsigned kind, unsigned class, unsigned there)
{
    uint8_t datagram[UDP_HEADER_MAX + 16] = {0}, again[UDP_HEADER_MAX] = {0};
    udp_header_t header = example, got;
    memset(&got, 0, sizeof got);
    header.kind = (uint8_t)kind;
    header.class = (uint8_t) class;
    header.wants_ack = kind % 2;
    header.has_ack[UDP_REQUESTS] = there & 1;
    header.has_ack[UDP_REPLIES] = there & 2;
    const size_t head = udp_header_bytes(&header), bytes = head + (kind == UDP_DATA ? 16 : 0);
    header.bytes = (uint16_t)bytes;
    udp_header_encode(datagram, &header);
    assert_int_equal(udp_header_decode(datagram, bytes, &got), UDP_FINE);
    assert_int_equal(udp_header_bytes(&got), head);
    udp_header_encode(again, &got);
    assert_memory_equal(again, datagram, head);
    assert_true(got.kind == kind && got.class == class && got.wants_ack == header.wants_ack);
    if (there & 2) {
        assert_int_equal(got.acks[1].held_us, header.acks[1].held_us);
        assert_true(got.acks[1].selective == header.acks[1].selective);
    }
}

static void a_header_is_read_as_it_was_written(void **unused)
{
    (void)unused;
    for (unsigned kind = 0; kind < UDP_KINDS; kind++)
        for (unsigned class = 0; class < UDP_CLASSES; class ++)
            for (unsigned there = 0; there < 4; there++)
                check_reading(kind, class, there);
}

// Decodes the first bytes of a datagram in memory of exactly that size, so that a sanitizer detects
// any read behind it.
static udp_fault_t decode_exact(const uint8_t *datagram, size_t bytes)
{
    udp_header_t header;
    uint8_t *exact = malloc(bytes);
    assert_true(exact || bytes == 0);
    if (bytes)
        memcpy(exact, datagram, bytes);
    udp_fault_t fault = udp_header_decode(exact, bytes, &header);
    free(exact);
    return fault;
}

static void bad_headers_are_refused_with_the_fault(void **unused)
{
    (void)unused;
    uint8_t datagram[UDP_HEADER_MAX + 16] = {0}, wrong[sizeof datagram];
    udp_header_t header = example;
    header.kind = UDP_DATA;
    header.bytes = sizeof datagram;
    udp_header_encode(datagram, &header);
    for (size_t bytes = 0; bytes < UDP_HEADER_MIN; bytes++)
        assert_int_equal(decode_exact(datagram, bytes), UDP_TOO_SHORT);
    for (size_t bytes = UDP_HEADER_MIN; bytes < sizeof datagram; bytes++)
        assert_int_equal(decode_exact(datagram, bytes), UDP_WRONG_BYTES);
    assert_int_equal(decode_exact(datagram, sizeof datagram), UDP_FINE);
    for (unsigned value = 0; value < 256; value++) {
        memcpy(wrong, datagram, sizeof wrong);
        wrong[16] = (uint8_t)value;
        assert_int_equal(decode_exact(wrong, sizeof wrong),
                         value == UDP_VERSION ? UDP_FINE : UDP_WRONG_VERSION);
        wrong[16] = datagram[16];
        wrong[17] = (uint8_t)value;
        bool data = value % 8 == UDP_DATA;
        udp_fault_t legal = data ? UDP_FINE : UDP_WRONG_BYTES; // only data has frames
        assert_int_equal(decode_exact(wrong, sizeof wrong),
                         value % 8 < UDP_KINDS ? legal : UDP_WRONG_KIND);
    }
}

static void data_needs_frames_and_lengths_of_eight(void **unused)
{
    (void)unused;
    uint8_t datagram[UDP_HEADER_MAX + 16] = {0};
    udp_header_t header = example;
    header.kind = UDP_DATA;
    for (size_t bytes = UDP_HEADER_MAX; bytes <= sizeof datagram; bytes++) {
        header.bytes = (uint16_t)bytes;
        udp_header_encode(datagram, &header);
        assert_int_equal(decode_exact(datagram, bytes),
                         bytes % 8 == 0 && bytes > UDP_HEADER_MAX ? UDP_FINE : UDP_WRONG_BYTES);
    }
}

// ---- frames ----

enum { ROOM = 8192, MESSAGES = 64 };

// The messages of a test, and a datagram that contains them.
static struct {
    aq_am_t am[MESSAGES];
    int32_t args[MESSAGES][AQ_AM_MAX_ARGS];
    uint8_t payload[MESSAGES][256];
    unsigned count;
    _Alignas(16) uint8_t datagram[ROOM];
    size_t bytes;
} sent;

static int clear_box(void **unused)
{
    (void)unused;
    memset(&sent, 0, sizeof sent);
    memset(sent.datagram, 0xee, sizeof sent.datagram);
    sent.bytes = UDP_HEADER_MAX;
    return 0;
}

static aq_am_t *new_message(unsigned category, unsigned nargs, size_t nbytes, bool reply)
{
    unsigned i = sent.count++;
    for (unsigned k = 0; k < nargs; k++)
        sent.args[i][k] = (int32_t)random_below(UINT32_MAX);
    for (size_t k = 0; k < nbytes; k++)
        sent.payload[i][k] = (uint8_t)(1 + random_below(255));
    sent.am[i] = (aq_am_t){
        .args = sent.args[i],
        .payload = sent.payload[i],
        .nbytes = nbytes,
        .dest = category == AQ_AM_LONG ? (void *)(uintptr_t)(random_below(UINT32_MAX) << 16) : NULL,
        .category = (uint8_t)category,
        .handler = (uint8_t)random_below(256),
        .nargs = (uint8_t)nargs,
        .reply = reply,
    };
    return &sent.am[i];
}

static udp_header_t header_of(size_t bytes, unsigned class)
{
    return (udp_header_t){.class = (uint8_t) class,
                          .bytes = (uint16_t)bytes,
                          .has_ack = {true, true},
                          .selective = true};
}

static udp_frames_t frames_of(uint8_t *datagram, size_t bytes, unsigned class)
{
    const udp_header_t header = header_of(bytes, class);
    return udp_frames_of(datagram, &header);
}

// Returns whether the datagram of this length that starts with `head` has exactly one frame.
static bool is_single(const uint8_t *head, size_t bytes, unsigned class, udp_frame_t *frame)
{
    const udp_header_t header = header_of(bytes, class);
    return udp_frame_single(head, &header, frame);
}

static uint8_t *add_message(const aq_am_t *am)
{
    uint8_t *at = sent.datagram + sent.bytes;
    uint8_t *payload = udp_frame_write(at, am, (uintptr_t)am->dest);
    assert_ptr_equal(payload, at + udp_frame_payload_at(am->category, am->nargs));
    sent.bytes += udp_frame_bytes(am->category, am->nargs, am->nbytes);
    assert_int_equal(sent.datagram[sent.bytes], 0xee);
    return payload;
}

static aq_am_t *add_any(bool reply)
{
    unsigned category = (unsigned)random_below(3),
             nargs = (unsigned)random_below(AQ_AM_MAX_ARGS + 1);
    aq_am_t *am =
        new_message(category, nargs, category == AQ_AM_SHORT ? 0 : random_below(256), reply);
    add_message(am);
    return am;
}

static void check_frame(const udp_frame_t *frame, const aq_am_t *am)
{
    assert_int_equal(frame->type, UDP_FRAME_SHORT + am->category);
    assert_int_equal(frame->handler, am->handler);
    assert_int_equal(frame->nargs, am->nargs);
    assert_int_equal(frame->nbytes, am->nbytes);
    assert_int_equal(frame->place, (uintptr_t)am->dest);
    assert_memory_equal(frame->args, am->args, am->nargs * sizeof *am->args);
    assert_memory_equal(frame->payload, am->payload, am->nbytes);
    assert_int_equal((uintptr_t)frame->payload % 8, 0);
}

static void check_all(bool reply)
{
    udp_frame_t frame;
    udp_frames_t frames = frames_of(sent.datagram, sent.bytes, reply);
    udp_contents_t contents = udp_frames_scan(frames);
    assert_true(contents.good && contents.count == sent.count && !contents.bytes);
    assert_int_equal(contents.calls, sent.count > 0);
    for (unsigned i = 0; i < sent.count; i++) {
        assert_true(udp_frames_next(&frames, &frame));
        check_frame(&frame, &sent.am[i]);
    }
    assert_false(udp_frames_next(&frames, &frame));
    assert_false(udp_frames_next(&frames, &frame));
}

static void frames_are_read_as_they_were_written(void **unused)
{
    for (unsigned round = 0; round < 200; round++) {
        clear_box(unused);
        bool reply = round % 2;
        for (unsigned i = (unsigned)random_below(20); i > 0; i--)
            add_any(reply);
        check_all(reply);
    }
}

static void a_frame_has_its_bytes_in_their_places(void **unused)
{
    (void)unused;
    static const int32_t args[] = {0x03020100, -2, 0x23222120};
    static const uint8_t places[] = {
        3,    200,  3,    1,    5,    0,    0,    0,    // type, handler, arguments, class, nbytes
        0x00, 0x01, 0x02, 0x03, 0xfe, 0xff, 0xff, 0xff, //
        0x20, 0x21, 0x22, 0x23, 0,    0,    0,    0,    //
        0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, // place
        'h',  'e',  'l',  'l',  'o',  0,    0,    0,    //
    };
    const aq_am_t am = {.args = args,
                        .payload = "hello",
                        .nbytes = 5,
                        .dest = (void *)(uintptr_t)0x3736353433323130,
                        .category = AQ_AM_LONG,
                        .handler = 200,
                        .nargs = 3,
                        .reply = true};
    assert_int_equal(udp_frame_bytes(AQ_AM_LONG, 3, 5), sizeof places);
    add_message(&am);
    assert_memory_equal(sent.datagram + UDP_HEADER_MAX, places, sizeof places);
}

static void a_payload_may_be_written_before_or_after(void **unused)
{
    (void)unused;
    aq_am_t *before = new_message(AQ_AM_MEDIUM, 3, 13, false);
    size_t at = sent.bytes + udp_frame_payload_at(AQ_AM_MEDIUM, 3);
    const void *payload = before->payload;
    memcpy(sent.datagram + at, payload, 13);
    before->payload = NULL;
    add_message(before);
    before->payload = payload;
    for (unsigned i = 13; i < 16; i++)
        assert_int_equal(sent.datagram[at + i], 0);
    aq_am_t *after = new_message(AQ_AM_LONG, 0, 21, false);
    payload = after->payload;
    after->payload = NULL;
    memcpy(add_message(after), payload, 21);
    after->payload = payload;
    check_all(false);
}

// Returns whether the frames are good with one byte replaced by `value`.
static bool good_with_byte(size_t at, uint8_t value)
{
    uint8_t *byte = sent.datagram + UDP_HEADER_MAX + at, kept = *byte;
    *byte = value;
    udp_frames_t frames = frames_of(sent.datagram, sent.bytes, UDP_REQUESTS);
    bool good = udp_frames_scan(frames).good;
    *byte = kept;
    return good;
}

static void a_bad_frame_ends_the_datagram(void **unused)
{
    (void)unused;
    add_message(new_message(AQ_AM_MEDIUM, 16, 24, false));
    for (unsigned value = 0; value < 256; value++) {
        uint8_t byte = (uint8_t)value;
        assert_int_equal(good_with_byte(0, byte),
                         value == 2); // a Short has no payload, a Long is longer
        assert_true(good_with_byte(1, byte));
        assert_int_equal(good_with_byte(3, byte), value == UDP_REQUESTS);
        if (value > AQ_AM_MAX_ARGS)
            assert_false(good_with_byte(2, byte));
        if (value > 24)
            assert_false(good_with_byte(4, byte));
        for (unsigned high = 5; value && high < 8; high++)
            assert_false(good_with_byte(high, byte));
    }
}

static void frames_of_the_other_class_are_refused(void **unused)
{
    (void)unused;
    add_any(true);
    assert_true(udp_frames_scan(frames_of(sent.datagram, sent.bytes, UDP_REPLIES)).good);
    assert_false(udp_frames_scan(frames_of(sent.datagram, sent.bytes, UDP_REQUESTS)).good);
}

// ---- puts and gets ----

static udp_rma_t new_rma(udp_frame_type_t type, size_t nbytes)
{
    uint8_t *payload = sent.payload[0];
    for (size_t i = 0; i < nbytes; i++)
        payload[i] = (uint8_t)(1 + random_below(255));
    return (udp_rma_t){.type = type,
                       .nbytes = nbytes,
                       .payload = type == UDP_FRAME_GET ? NULL : payload,
                       .place = 0x1716151413121110,
                       .cookie = 0x2726252423222120};
}

static void add_rma(const udp_rma_t *rma)
{
    udp_rma_write(sent.datagram + sent.bytes, rma);
    sent.bytes += udp_rma_bytes(rma->type, rma->nbytes);
    assert_int_equal(sent.datagram[sent.bytes], 0xee);
}

static void puts_and_gets_have_their_bytes_in_their_places(void **unused)
{
    static const uint8_t front[] = {0, 0, 0, 0, 5, 0, 0, 0};
    static const uint8_t place[] = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17};
    static const uint8_t cookie[] = {0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27};
    const uint8_t *const words[UDP_FRAME_TYPES][4] = {
        [UDP_FRAME_PUT] = {place},
        [UDP_FRAME_GET] = {place, cookie},
        [UDP_FRAME_GOT] = {cookie},
    };
    for (udp_frame_type_t type = UDP_FRAME_PUT; type < UDP_FRAME_TYPES; type++) {
        clear_box(unused);
        const udp_rma_t rma = new_rma(type, 5);
        const uint8_t *at = sent.datagram + UDP_HEADER_MAX;
        add_rma(&rma);
        assert_int_equal(at[0], type);
        assert_int_equal(at[3], type == UDP_FRAME_GOT ? UDP_REPLIES : UDP_REQUESTS);
        assert_memory_equal(at + 4, front + 4, 4);
        at += 8;
        for (unsigned w = 0; words[type][w]; w++, at += 8)
            assert_memory_equal(at, words[type][w], 8);
        assert_ptr_equal(at, sent.datagram + UDP_HEADER_MAX + udp_rma_front(type));
        if (type != UDP_FRAME_GET) {
            assert_memory_equal(at, rma.payload, 5);
            assert_memory_equal(at + 5, front, 3);
        }
    }
}

static void puts_and_gets_are_read_as_they_were_written(void **unused)
{
    for (udp_frame_type_t type = UDP_FRAME_PUT; type < UDP_FRAME_TYPES; type++)
        for (size_t nbytes = 1; nbytes < 40; nbytes++) {
            clear_box(unused);
            const udp_rma_t rma = new_rma(type, nbytes);
            const uint8_t class = type == UDP_FRAME_GOT ? UDP_REPLIES : UDP_REQUESTS;
            udp_frame_t frame;
            add_rma(&rma);
            udp_frames_t frames = frames_of(sent.datagram, sent.bytes, class);
            udp_contents_t contents = udp_frames_scan(frames);
            assert_true(contents.good && contents.count == 1);
            assert_int_equal(contents.calls, type == UDP_FRAME_GET);
            assert_int_equal(contents.bytes, type != UDP_FRAME_GET);
            assert_true(udp_frames_next(&frames, &frame));
            assert_true(frame.type == type && frame.nbytes == nbytes);
            if (type != UDP_FRAME_GOT)
                assert_true(frame.place == rma.place);
            if (type != UDP_FRAME_PUT)
                assert_true(frame.cookie == rma.cookie);
            if (type != UDP_FRAME_GET)
                assert_memory_equal(frame.payload, rma.payload, nbytes);
            assert_false(udp_frames_next(&frames, &frame));
            assert_false(udp_frames_scan(frames_of(sent.datagram, sent.bytes, !class)).good);
        }
}

static void a_single_put_or_reply_is_recognized_by_its_front(void **unused)
{
    for (udp_frame_type_t type = UDP_FRAME_PUT; type < UDP_FRAME_TYPES; type++) {
        const uint8_t class = type == UDP_FRAME_GOT ? UDP_REPLIES : UDP_REQUESTS;
        const bool bytes = type != UDP_FRAME_GET;
        const udp_rma_t rma = new_rma(type, 200);
        udp_frame_t frame;
        clear_box(unused);
        add_rma(&rma);
        uint8_t *head = malloc(UDP_SINGLE_BYTES); // a sanitizer detects any read behind it
        assert_non_null(head);
        memcpy(head, sent.datagram, UDP_SINGLE_BYTES);
        assert_int_equal(is_single(head, sent.bytes, class, &frame), bytes);
        if (bytes)
            assert_true(
                frame.nbytes == 200 && frame.type == type &&
                (type == UDP_FRAME_PUT ? frame.place == rma.place : frame.cookie == rma.cookie));
        assert_false(is_single(head, sent.bytes, !class, &frame));
        assert_false(is_single(head, sent.bytes - 8, class, &frame));
        assert_false(is_single(head, sent.bytes + 8, class, &frame));
        assert_false(is_single(head, UDP_SINGLE_BYTES - 8, class, &frame));
        head[UDP_HEADER_MAX] = UDP_FRAME_LONG;
        assert_false(is_single(head, sent.bytes, class, &frame));
        free(head);
    }
}

static void a_front_is_all_of_a_frame_but_its_payload(void **unused)
{
    (void)unused;
    udp_extent_t extent;
    add_message(new_message(AQ_AM_LONG, 3, 100, false));
    const uint8_t *at = sent.datagram + UDP_HEADER_MAX;
    const size_t left = sent.bytes - UDP_HEADER_MAX;
    for (size_t at_hand = 0; at_hand < 32; at_hand++) {
        uint8_t *exact = malloc(at_hand); // a sanitizer detects any read behind it
        assert_true(exact || !at_hand);
        if (at_hand)
            memcpy(exact, at, at_hand);
        assert_false(udp_frame_measure(exact, at_hand, left, UDP_REQUESTS, &extent));
        free(exact);
    }
    assert_true(udp_frame_measure(at, 32, left, UDP_REQUESTS, &extent));
    assert_int_equal(extent.front, 8 + 16 + 8);
    assert_int_equal(extent.whole, left);
    assert_false(udp_frame_measure(at, left, left - 8, UDP_REQUESTS, &extent));
    assert_false(udp_frame_measure(at, left, left, UDP_REPLIES, &extent));
}

static void a_place_has_a_key_and_an_offset(void **unused)
{
    (void)unused;
    const uint64_t most = (UINT64_C(1) << UDP_PLACE_OFFSET_BITS) - 1;
    const uint64_t place = udp_place_make(UDP_KEY_SEGMENT, most);
    assert_int_equal(udp_place_key(place), UDP_KEY_SEGMENT);
    assert_true(udp_place_offset(place) == most);
    assert_true(udp_place_make(UDP_KEY_MEMORY, 0x7fff12345678) == 0x7fff12345678);
    assert_int_equal(udp_place_key(UINT64_MAX), 255);
}

// Reads the good frames of a copy in memory of exactly that size, and accesses all bytes that they
// claim. Returns whether all frames are good.
static bool read_copy(const uint8_t *datagram, size_t bytes, unsigned *count)
{
    uint8_t *exact = malloc(bytes);
    assert_non_null(exact);
    memcpy(exact, datagram, bytes);
    udp_frames_t frames = frames_of(exact, bytes, UDP_REQUESTS);
    udp_frame_t frame;
    const udp_contents_t contents = udp_frames_scan(frames);
    for (*count = 0; *count < contents.count; ++*count) {
        assert_true(udp_frames_next(&frames, &frame));
        assert_true(frame.payload + frame.nbytes <= exact + bytes);
        memset(frame.payload, 0xaa, frame.nbytes);
    }
    assert_true(!contents.good || frames.at == frames.end);
    free(exact);
    return contents.good;
}

static void a_cut_datagram_has_complete_frames_only(void **unused)
{
    (void)unused;
    size_t ends[11] = {UDP_HEADER_MAX};
    for (unsigned i = 1; i < 11; i++) {
        add_any(false);
        ends[i] = sent.bytes;
    }
    unsigned whole = 0, count;
    for (size_t bytes = UDP_HEADER_MAX; bytes <= sent.bytes; bytes++) {
        if (whole < 10 && bytes == ends[whole + 1])
            whole++;
        bool good = read_copy(sent.datagram, bytes, &count);
        assert_int_equal(count, whole);
        assert_int_equal(good, bytes == ends[whole]);
    }
}

static void any_bytes_are_read_without_harm(void **unused)
{
    unsigned bad = 0, count;
    for (unsigned round = 0; round < 20000; round++) {
        clear_box(unused);
        while (sent.count < 4)
            add_any(false);
        for (unsigned i = 0; i < 3; i++)
            sent.datagram[UDP_HEADER_MAX + random_below(sent.bytes - UDP_HEADER_MAX)] =
                (uint8_t)random_below(256);
        bad += !read_copy(sent.datagram, sent.bytes, &count);
    }
    assert_true(bad > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_has_its_bytes_in_their_places),
        cmocka_unit_test(an_ep_id_is_a_rank_and_an_endpoint),
        cmocka_unit_test(an_absent_acknowledgement_takes_no_bytes),
        cmocka_unit_test(without_gaps_an_acknowledgement_is_shorter),
        cmocka_unit_test(a_header_is_read_as_it_was_written),
        cmocka_unit_test(bad_headers_are_refused_with_the_fault),
        cmocka_unit_test(data_needs_frames_and_lengths_of_eight),
        cmocka_unit_test_setup(frames_are_read_as_they_were_written, clear_box),
        cmocka_unit_test_setup(a_frame_has_its_bytes_in_their_places, clear_box),
        cmocka_unit_test_setup(a_payload_may_be_written_before_or_after, clear_box),
        cmocka_unit_test_setup(a_bad_frame_ends_the_datagram, clear_box),
        cmocka_unit_test_setup(frames_of_the_other_class_are_refused, clear_box),
        cmocka_unit_test_setup(puts_and_gets_have_their_bytes_in_their_places, clear_box),
        cmocka_unit_test_setup(puts_and_gets_are_read_as_they_were_written, clear_box),
        cmocka_unit_test_setup(a_single_put_or_reply_is_recognized_by_its_front, clear_box),
        cmocka_unit_test_setup(a_front_is_all_of_a_frame_but_its_payload, clear_box),
        cmocka_unit_test(a_place_has_a_key_and_an_offset),
        cmocka_unit_test_setup(a_cut_datagram_has_complete_frames_only, clear_box),
        cmocka_unit_test_setup(any_bytes_are_read_without_harm, clear_box),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
