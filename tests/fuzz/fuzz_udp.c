// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of udp's datagrams.
//
// An input is a datagram as it comes from the network. Invariants: no byte outside of the datagram
// is read; encoding an accepted header gives the same bytes, and so do frames except for padding;
// sender and receiver withstand any values of the header; a mode of authentication accepts exactly
// the datagrams that it signed.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../conduits/udp/wire/udp_auth.h"
#include "../../conduits/udp/wire/udp_flow.h"
#include "../../conduits/udp/wire/udp_wire.h"
#include "fuzz_check.h"

enum { WINDOW = 128, SENT = 100, BYTES = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// ---- frames ----

static void rewrite_message(uint8_t *at, const udp_frame_t *frame, uint8_t class)
{
    const aq_am_t am = {
        .args = frame->args,
        .payload = frame->payload,
        .nbytes = frame->nbytes,
        .category = frame->type - UDP_FRAME_SHORT,
        .handler = frame->handler,
        .nargs = frame->nargs,
        .reply = class == UDP_REPLIES,
    };
    udp_frame_write(at, &am, frame->place);
}

static void rewrite_rma(uint8_t *at, const udp_frame_t *frame)
{
    const udp_rma_t rma = {.type = frame->type,
                           .nbytes = frame->nbytes,
                           .payload = frame->payload,
                           .place = frame->place,
                           .cookie = frame->cookie};
    udp_rma_write(at, &rma);
}

static size_t bytes_of(const udp_frame_t *frame)
{
    if (frame->type > UDP_FRAME_LONG)
        return udp_rma_bytes(frame->type, frame->nbytes);
    return udp_frame_bytes(frame->type - UDP_FRAME_SHORT, frame->nargs, frame->nbytes);
}

static size_t payload_of(const udp_frame_t *frame)
{
    return frame->type == UDP_FRAME_GET ? 0 : frame->nbytes;
}

static void check_rewritten(const udp_frame_t *frame, uint8_t class)
{
    size_t bytes = bytes_of(frame);
    uint8_t *copy = malloc(bytes);
    udp_frame_t again;
    if (!copy)
        return;
    if (frame->type <= UDP_FRAME_LONG)
        rewrite_message(copy, frame, class);
    else
        rewrite_rma(copy, frame);
    udp_frames_t frames = {copy, copy + bytes, class};
    require(udp_frames_scan(frames).good);
    require(udp_frames_next(&frames, &again) && frames.at == frames.end);
    require(again.type == frame->type && again.handler == frame->handler &&
            again.nargs == frame->nargs && again.nbytes == frame->nbytes &&
            again.place == frame->place);
    require(frame->type < UDP_FRAME_GET || again.cookie == frame->cookie);
    require(memcmp(again.args, frame->args, frame->nargs * sizeof *frame->args) == 0);
    require(memcmp(again.payload, frame->payload, payload_of(frame)) == 0);
    free(copy);
}

// The first bytes of a datagram with one frame give the same description as the whole datagram.
static void fuzz_single(uint8_t *datagram, size_t size, const udp_header_t *header)
{
    udp_frames_t frames = udp_frames_of(datagram, header);
    udp_frame_t single, first;
    if (size < UDP_SINGLE_BYTES || !udp_frame_single(datagram, header, &single))
        return;
    require(udp_frames_scan(frames).good);
    require(udp_frames_next(&frames, &first) && frames.at == frames.end);
    require(first.type == single.type && first.place == single.place &&
            first.nbytes == single.nbytes);
}

static void fuzz_frames(uint8_t *datagram, size_t size, const udp_header_t *header)
{
    udp_frames_t frames = udp_frames_of(datagram, header);
    udp_contents_t contents = udp_frames_scan(frames);
    udp_frame_t frame;
    for (unsigned i = 0; i < contents.count; i++) {
        require(udp_frames_next(&frames, &frame));
        require(frame.payload >= datagram + udp_header_bytes(header) &&
                payload_of(&frame) <= (size_t)(datagram + size - frame.payload));
        require((frame.payload - datagram) % 8 == 0);
        require(frame.type < UDP_FRAME_TYPES && frame.nargs <= AQ_AM_MAX_ARGS);
        check_rewritten(&frame, header->class);
        memset(frame.payload, 0xaa, payload_of(&frame)); // a handler may write there
    }
    require(contents.good == (frames.at == frames.end));
    require(!contents.good || !udp_frames_next(&frames, &frame));
}

// ---- authentication ----

static const udp_auth_t *auth_of(udp_auth_mode_t mode)
{
    static const uint8_t key[AQ_KEY_BYTES] = {'0', '1', '2', '3', '4', '5', '6', '7',
                                              '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
    static udp_auth_t auths[UDP_AUTH_ENCRYPT];
    if (!auths[mode].job_tag)
        require(udp_auth_derive(&auths[mode], key, mode, false) == AQ_OK);
    return &auths[mode];
}

// Authenticates the whole datagram, and its beginning only.
static void fuzz_auth(uint8_t *datagram, size_t size, const udp_header_t *header)
{
    const size_t head = udp_header_bytes(header);
    const struct iovec frames = {datagram + head, size - head};
    const bool good = udp_frames_scan(udp_frames_of(datagram, header)).good;
    for (udp_auth_mode_t mode = UDP_AUTH_TOKEN; mode < UDP_AUTH_ENCRYPT; mode++) {
        const udp_auth_t *auth = auth_of(mode);
        memset(datagram, 0, UDP_PROOF_BYTES);
        require(!udp_auth_genuine(auth, header, datagram, size, 1));
        require(!udp_auth_genuine(auth, header, datagram, head + (size - head) / 2, 1));
        if (mode == UDP_AUTH_HEADER && !good)
            continue; // this mode signs frames only
        udp_auth_sign(auth, datagram, header, &frames, size > head, 1);
        require(udp_auth_genuine(auth, header, datagram, size, 1));
        datagram[0] ^= 1;
        require(!udp_auth_genuine(auth, header, datagram, size, 1));
    }
}

// ---- fields of the header ----

static unsigned released;

static void count_release(void *context, void *datagram)
{
    require(context == NULL && datagram != NULL);
    released++;
}

static void fuzz_sender(const udp_ack_t *ack)
{
    static char datagrams[SENT];
    const udp_sender_setup_t setup = {.window = WINDOW,
                                      .datagram_bytes = BYTES,
                                      .first_bytes = SENT * BYTES,
                                      .credit = SENT * BYTES,
                                      .rto_first = 1000,
                                      .rto_least = 1000,
                                      .rto_most = 1000000,
                                      .release = count_release};
    udp_sender_t sender;
    if (udp_sender_start(&sender, &setup) != AQ_OK)
        return;
    released = 0;
    for (unsigned i = 0; i < SENT; i++)
        udp_sender_add(&sender, &datagrams[i], BYTES, 1);
    require(udp_sender_next(&sender, 5000).todo == UDP_TODO_REQUEST);
    unsigned done = udp_sender_ack(&sender, ack, 6000);
    require(done == released && sender.kept == SENT - released);
    require(udp_sender_ack(&sender, ack, 6000) == 0); // nothing is released twice
    for (unsigned i = 0; udp_sender_next(&sender, 6000).todo == UDP_TODO_RESEND; i++)
        require(i < SENT);
    udp_sender_stop(&sender);
    require(released == SENT);
}

static void fuzz_receiver(const udp_header_t *header)
{
    udp_receiver_t receiver;
    udp_receiver_start(&receiver);
    bool confirmed = udp_receiver_request(&receiver, header->acks[0].epoch);
    require(confirmed == (header->acks[0].epoch - UDP_FIRST_EPOCH < 2));
    udp_verdict_t look = udp_receiver_peek(&receiver, header->epoch, header->sequence);
    require(udp_receiver_take(&receiver, header->epoch, header->sequence) == look);
    require(udp_receiver_peek(&receiver, header->epoch, header->sequence) != UDP_NEW);
}

static void fuzz_header(const uint8_t *datagram, size_t size, const udp_header_t *header)
{
    uint8_t again[UDP_HEADER_MAX];
    const size_t head = udp_header_bytes(header);
    require(size >= head && header->bytes == size);
    udp_header_encode(again, header);
    require(memcmp(again + UDP_PROOF_BYTES, datagram + UDP_PROOF_BYTES, head - UDP_PROOF_BYTES) ==
            0);
    require(udp_ep_id(udp_ep_id_rank(header->source), udp_ep_id_endpoint(header->source)) ==
            header->source);
    for (unsigned class = 0; class < UDP_CLASSES; class ++)
        if (header->has_ack[class])
            fuzz_sender(&header->acks[class]);
    fuzz_receiver(header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *datagram = calloc(size ? size : 1, 1);
    udp_header_t header = {.kind = UDP_DATA};
    if (!datagram)
        return 0;
    if (size > 0)
        memcpy(datagram, data, size);
    if (udp_header_decode(datagram, size, &header) == UDP_FINE)
        fuzz_header(datagram, size, &header);
    // Few lengths are right, so the frames are fuzzed behind a refused header too.
    header.bytes = (uint16_t)size;
    if (size <= UDP_LONGEST_DATAGRAM && size >= udp_header_bytes(&header)) {
        fuzz_single(datagram, size, &header);
        fuzz_auth(datagram, size, &header);
        fuzz_frames(datagram, size, &header);
    }
    free(datagram);
    return 0;
}
