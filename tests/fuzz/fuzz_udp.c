// Fuzzer of udp's datagrams. Build with clang -fsanitize=fuzzer,address,undefined, run with the
// folder corpus-udp.
//
// An input is a datagram as it comes from the network. What must hold: header and frames are read
// within it; a header that passes is written back as it was, and so are the frames but for
// fillers and padding; sender and receiver bear whatever the header says.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../conduits/udp/udp_flow.h"
#include "../../conduits/udp/udp_wire.h"

enum { WINDOW = 128, SENT = 100, BYTES = 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

// ---- frames ----

static void rewrite(const udp_frame_t *frame, uint8_t class)
{
    const aq_am_t am = {
        .args = frame->args,
        .payload = frame->payload,
        .nbytes = frame->nbytes,
        .dest = (void *)(uintptr_t)frame->dest,
        .category = frame->category,
        .handler = frame->handler,
        .nargs = frame->nargs,
        .reply = class == UDP_REPLIES,
    };
    size_t bytes = udp_frame_bytes(frame->category, frame->nargs, frame->nbytes);
    uint8_t *copy = malloc(bytes);
    udp_frame_t again;
    if (!copy)
        return;
    udp_frame_write(copy, &am);
    udp_frames_t frames = {copy, copy + bytes, class};
    require(udp_frames_next(&frames, &again) == UDP_FRAME && frames.at == frames.end);
    require(again.category == frame->category && again.handler == frame->handler &&
            again.nargs == frame->nargs && again.nbytes == frame->nbytes &&
            again.dest == frame->dest);
    require(memcmp(again.args, frame->args, frame->nargs * sizeof *frame->args) == 0);
    require(memcmp(again.payload, frame->payload, frame->nbytes) == 0);
    free(copy);
}

static void fuzz_frames(uint8_t *datagram, size_t size, uint8_t class)
{
    udp_frames_t frames = udp_frames_of(datagram, size, class);
    bool good = udp_frames_good(frames);
    udp_frame_t frame;
    udp_next_t next;
    while ((next = udp_frames_next(&frames, &frame)) == UDP_FRAME) {
        require(frame.payload >= datagram + UDP_HEADER_BYTES &&
                frame.nbytes <= (size_t)(datagram + size - frame.payload));
        require((frame.payload - datagram) % 8 == 0);
        require(frame.category <= AQ_AM_LONG && frame.nargs <= AQ_AM_MAX_ARGS);
        rewrite(&frame, class);
        memset(frame.payload, 0xaa, frame.nbytes); // as a handler may
    }
    require(good == (next == UDP_NO_FRAME));
    require(udp_frames_next(&frames, &frame) == next);
}

// ---- what the header says ----

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
    udp_verdict_t look = udp_receiver_look(&receiver, header->epoch, header->sequence);
    require(udp_receiver_take(&receiver, header->epoch, header->sequence) == look);
    require(udp_receiver_look(&receiver, header->epoch, header->sequence) != UDP_NEW);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *datagram = calloc(size ? size : 1, 1);
    udp_header_t header;
    if (!datagram)
        return 0;
    if (size > 0)
        memcpy(datagram, data, size);
    if (udp_header_decode(datagram, size, &header) == UDP_FINE) {
        uint8_t again[UDP_HASHED_BYTES];
        require(size >= UDP_HEADER_BYTES && header.bytes == size);
        udp_header_encode(again, &header);
        require(memcmp(again, datagram, sizeof again) == 0);
        fuzz_sender(&header.acks[UDP_REQUESTS]);
        fuzz_sender(&header.acks[UDP_REPLIES]);
        fuzz_receiver(&header);
    }
    if (size >= UDP_HEADER_BYTES) // also behind a header that is refused: few lengths are right
        fuzz_frames(datagram, size, datagram[1] >> 4 & 1);
    free(datagram);
    return 0;
}
