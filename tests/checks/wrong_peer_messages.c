/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wrong_peer: messages of streams and large messages that no correct library sends.
 */
#include "wrong_peer.h"

#include <aqueduct_stream.h>

// ---- streams ----

static gasnetx_Stream_t stream;

// Rank 0 keeps two messages of rank 1, its child.
static void stream_create(gex_Rank_t parent_of_0, gex_Rank_t parent_of_1)
{
    const gasnetx_stream_spec_t spec = {.parent = me ? parent_of_1 : parent_of_0,
                                        .flags = GASNETX_STREAM_ORDERED,
                                        .keep_messages = 2};
    if (gasnetx_Stream_Create(tm, &spec, &stream) != GASNET_OK)
        wrong_peer_stop("the stream is refused");
}

static void stream_of_0(void)
{
    stream_create(GASNETX_STREAM_ROOT, 0);
}

static void stream_of_1(void)
{
    stream_create(1, GASNETX_STREAM_ROOT);
}

static void stream_without_1(void)
{
    stream_create(GASNETX_STREAM_ROOT, GASNETX_STREAM_ABSENT);
}

// Rank 0 has chosen the id of the stream: 1, 1.
static void stream_message(int number, int source, int handler, int params_bytes)
{
    gex_AM_RequestMedium7(tm, 0, H_STREAM_MESSAGE, bytes, 8, GEX_EVENT_NOW, 0, 1, 1, number, source,
                          handler, params_bytes, 0);
}

static void stream_control(int kind, int count)
{
    gex_AM_RequestShort7(tm, 0, H_STREAM_CONTROL, 0, 1, 1, kind, 0, count, 0, 0);
}

static void stream_right(void)
{
    stream_message(0, 1, 7, 0);
}

static void stream_source(void)
{
    stream_message(0, 2, 7, 0);
}

static void stream_handler(void)
{
    stream_message(0, 1, 0x8007, 0);
}

static void stream_parameters(void)
{
    stream_message(0, 1, 7, 9);
}

// The library sends message 0 first, because rank 0 may return its credit, which the library takes
// only for what it has sent.
static void stream_twice(void)
{
    if (gasnetx_Stream_Send(stream, GASNETX_UP, 7, bytes, 8, NULL, 0, 0) != GASNET_OK)
        wrong_peer_stop("the stream does not send");
    stream_right();
}

// What is ahead of its turn waits, so the first two stay.
static void stream_too_many(void)
{
    stream_message(5, 1, 7, 0);
    stream_message(6, 1, 7, 0);
    stream_message(7, 1, 7, 0);
}

static void stream_credit(void)
{
    stream_control(0, 1);
}

static void stream_kind(void)
{
    stream_control(9, 0);
}

static void stream_after_end(void)
{
    stream_control(2, 0);
    stream_right();
}

static void stream_result(void)
{
    stream_message(0, 1, GASNETX_STREAM_BARRIER, 0);
}

// ---- large messages ----

// messages/large/large_header.c
typedef struct header {
    uint64_t team;
    uint32_t source, id, number;
    uint64_t nbytes, cookie, address, proof_address, proof;
    int32_t process;
    uint64_t types_bytes;
    char types[8];
} header_t;

enum { LARGE_RECEIVED = 1, LARGE_FORWARDED }; // ids, registered by both ranks

static void send_header(header_t header, size_t nbytes)
{
    gex_AM_RequestMedium0(tm, 0, H_LARGE_HEADER, &header, nbytes, GEX_EVENT_NOW, 0);
}

#define HEADER_BYTES offsetof(header_t, types)

static void large_cut_off(void)
{
    send_header((header_t){.id = LARGE_RECEIVED}, 8);
}

static void large_types_long(void)
{
    send_header((header_t){.id = LARGE_RECEIVED, .types_bytes = 1 << 20}, HEADER_BYTES);
}

static void large_types_none(void)
{
    send_header((header_t){.id = LARGE_RECEIVED, .types_bytes = 1, .types = "z"}, HEADER_BYTES + 1);
}

static void large_params(void)
{
    send_header((header_t){.id = LARGE_RECEIVED, .types_bytes = 1, .types = "d"}, HEADER_BYTES + 1);
}

static void large_data(void)
{
    send_header((header_t){.id = LARGE_RECEIVED, .nbytes = 100}, HEADER_BYTES + 8);
}

static void large_id(void)
{
    send_header((header_t){.id = 77}, HEADER_BYTES);
}

static void large_passed(void)
{
    send_header((header_t){.id = LARGE_FORWARDED, .number = 0x80000001}, HEADER_BYTES);
}

static void large_early_twice(void)
{
    send_header((header_t){.id = LARGE_FORWARDED, .number = 5}, HEADER_BYTES);
    send_header((header_t){.id = LARGE_FORWARDED, .number = 5}, HEADER_BYTES);
}

static void large_piece(void)
{
    gex_AM_RequestMedium4(tm, 0, H_LARGE_PIECE, bytes, 64, GEX_EVENT_NOW, 0, BOTH(FIRST), BOTH(0));
}

// Rank 1 does not poll, so it asks in a handler before the library does. The pieces are for the
// first operation of rank 1.
static void large_get(uint64_t cookie, uint64_t offset, int32_t size, uint64_t want)
{
    gex_AM_RequestShort11(tm, 0, H_MSG_RNDV_GET, GEX_FLAG_IMMEDIATE, BOTH(cookie), BOTH(offset),
                          size, BOTH(want), BOTH(FIRST), BOTH(0));
}

static void large_get_none(void)
{
    large_get(FIRST, 0, 64, 64);
}

// Rank 0 sends a message, whose handler at rank 1 acts and receives it.
static void large_send(void)
{
    static gasnetx_Request_t request;
    gasnetx_Large_SendNB(tm, 1, LARGE_RECEIVED, bytes, sizeof bytes, NULL, NULL, NULL, &request);
}

// The same, through rank 0.
static void large_forward(void)
{
    static gasnetx_Request_t request;
    gasnetx_Large_SendNB(tm, 0, LARGE_FORWARDED, bytes, sizeof bytes, NULL, NULL, NULL, &request);
}

static void large_get_beyond(void)
{
    large_get(FIRST, sizeof bytes, 64, sizeof bytes);
}

static void large_get_huge(void)
{
    large_get(FIRST, UINT64_MAX - 8, 64, UINT64_MAX);
}

// Rank 0 gives the first cookie to itself. The library asks for all bytes then, so 64 are asked for
// twice.
static void large_get_twice(void)
{
    large_get(FIRST + 1, 0, 64, sizeof bytes);
}

static void large_get_other(void)
{
    large_get(FIRST + 1, 0, 64, 200);
}

static void large_expose(uint64_t cookie, uint64_t offset, int32_t size, int32_t part)
{
    gex_AM_RequestShort8(tm, 0, H_MSG_EXPOSE, 0, BOTH(cookie), BOTH(offset), size, part, BOTH(1));
}

static void large_expose_none(void)
{
    large_expose(FIRST, 0, 64, 0);
}

static void large_expose_beyond(void)
{
    large_expose(FIRST, sizeof bytes - 63, 64, 0);
}

static void large_expose_part(void)
{
    large_expose(FIRST, 0, 64, 4);
}

static void large_exposed(gex_Token_t to)
{
    gex_AM_ReplyShort6(to, H_MSG_EXPOSED, 0, BOTH(FIRST), 0, 64, BOTH(1));
}

static void on_large_received(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    (void)info;
    mode->handler();
    gasnetx_Large_Receive(message, bytes, sizeof bytes, NULL, NULL);
}

static void on_large_forwarded(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    (void)info;
    gasnetx_Large_Forward(message, tm, 1, LARGE_RECEIVED, NULL);
}

#define STREAM "a message of rank 1 on a stream is wrong"

const wrong_mode_t wrong_message_modes[] = {
    {"stream-unknown", "rank 1 has sent a message of a stream that this rank does not have",
     .request = stream_right},
    {"stream-unknown-control", "rank 1 has sent a message of a stream that this rank does not have",
     .request = stream_credit},
    {"stream-stranger", "rank 1 has sent a message of a stream in which it is no neighbour",
     .both = stream_without_1, .request = stream_right},
    {"stream-source", STREAM, .both = stream_of_0, .request = stream_source},
    {"stream-handler", STREAM, .both = stream_of_0, .request = stream_handler},
    {"stream-parameters", STREAM, .both = stream_of_0, .request = stream_parameters},
    {"stream-twice", "rank 1 has sent message 0 of a stream twice", .both = stream_of_0,
     .request = stream_twice},
    {"stream-too-many", "rank 1 sends more messages on a stream than there is room for",
     .both = stream_of_0, .request = stream_too_many},
    {"stream-credit", "a control message of rank 1 on a stream is wrong .kind 0",
     .both = stream_of_0, .request = stream_credit},
    {"stream-kind", "a control message of rank 1 on a stream is wrong .kind 9", .both = stream_of_0,
     .request = stream_kind},
    {"stream-after-end", "rank 1 sends more messages on a stream than it has announced",
     .both = stream_of_0, .request = stream_after_end},
    {"stream-result", "rank 1 of a stream has sent the result of group communication",
     .both = stream_of_1, .request = stream_result},
    {"large-cut-off", "a large message of rank 1 is wrong: it is shorter than a header",
     .request = large_cut_off},
    {"large-types-long", "a large message of rank 1 is wrong: it is shorter than it says",
     .request = large_types_long},
    {"large-types-none", "a large message of rank 1 is wrong: the types of its parameters are no",
     .request = large_types_none},
    {"large-params", "a large message of rank 1 is wrong: it is shorter than its parameters",
     .request = large_params},
    {"large-data", "a large message of rank 1 is wrong: it has not the data that it says",
     .request = large_data},
    {"large-id", "rank 1 has sent a large message to id 77, which this rank has not registered",
     .request = large_id},
    {"large-passed", "a large message of rank 1 is wrong: its number was here before",
     .request = large_passed},
    {"large-early-twice", "a large message of rank 1 is wrong: its number was here before",
     .request = large_early_twice},
    {"large-piece", "rank 1 has sent a piece of a message for which no receive waits",
     .request = large_piece},
    {"large-get-none", "rank 1 asks for a message that it was not offered",
     .request = large_get_none},
    {"large-get-beyond", "rank 1 asks for bytes that a message to it does not have",
     .before = large_send, .handler = large_get_beyond},
    {"large-get-huge", "rank 1 asks for bytes that a message to it does not have",
     .before = large_send, .handler = large_get_huge},
    {"large-expose-none", "rank 1 asks to read bytes that were not offered to it",
     .request = large_expose_none},
    {"large-expose-beyond", "rank 1 asks to read bytes that were not offered to it",
     .before = large_send, .handler = large_expose_beyond},
    {"large-expose-part", "rank 1 asks to read bytes that were not offered to it",
     .before = large_send, .handler = large_expose_part},
    {"large-exposed", "rank 1 exposes a part of a message for which no receive waits",
     .reply = large_exposed},
    {"large-get-twice", "rank 1 asks for bytes of a large message twice", .before = large_forward,
     .handler = large_get_twice},
    {"large-get-other", "rank 1 asks for bytes of a large message twice, or for others",
     .before = large_forward, .handler = large_get_other},
};
const size_t wrong_message_mode_count = sizeof wrong_message_modes / sizeof *wrong_message_modes;

int wrong_message_register(void)
{
    static const gasnetx_large_entry_t large[] = {{LARGE_RECEIVED, on_large_received, NULL},
                                                  {LARGE_FORWARDED, on_large_forwarded, NULL}};
    return gasnetx_Large_Register(large, sizeof large / sizeof large[0]) == GASNET_OK;
}
