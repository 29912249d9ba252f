// SPDX-License-Identifier: BSD-3-Clause
// Put and get: frames whose data is written to memory on arrival, without a handler.
//
//     put:  PUT with the bytes --> memory;  complete when its datagram is acknowledged
//     get:  GET --> [poll] --> GOT with the bytes --> memory; complete
#include <string.h>

#include "../../../core/ground/fatal.h"
#include "../../../other/base/clock.h"
#include "udp_rma.h"
#include "udp_send.h"
#include "udp_buffer.h"
#include "udp_place.h"
#include "../../../other/base/minmax.h"

enum {
    SINGLE_MIN = 4096,     // from this size on data to an idle peer has a datagram of its own
    GETTING_MAX = 1 << 18, // most bytes of outstanding gets from one peer
};

// With the link's lock held: the largest data of one frame of any type.
static size_t largest_piece(const udp_link_t *link)
{
    return (link->datagram_bytes - UDP_HEADER_MAX - udp_rma_front(UDP_FRAME_GOT)) & ~(size_t)63;
}

// With the link's lock held: the most data of an open datagram that waits for more data. While a
// datagram is on its way to the peer, copies cost less than a system call for each frame; to an
// idle peer nothing waits.
static size_t shared_most(const udp_link_t *link, unsigned class)
{
    return udp_sender_keeps(&link->sender[class]) ? largest_piece(link) / 2 : 0;
}

// With the link's lock held: whether the data of a put or of an answer shares a datagram.
static bool is_shared(const udp_link_t *link, unsigned class, size_t nbytes)
{
    return nbytes < aq_min(SINGLE_MIN, largest_piece(link)) || nbytes <= shared_most(link, class);
}

// With the link's lock held: writes a frame into the open datagram.
static bool add_frame(udp_conduit_t *udp, udp_link_t *link, const udp_rma_t *rma,
                      atomic_uint *pending)
{
    const size_t bytes = udp_rma_bytes(rma->type, rma->nbytes);
    const unsigned class = rma->type == UDP_FRAME_GOT ? UDP_REPLIES : UDP_REQUESTS;
    udp_buffer_t *buffer = udp_datagram_for(udp, link, class, bytes, pending);
    if (!buffer)
        return false;
    udp_rma_write(buffer->bytes + buffer->used, rma);
    buffer->used += (uint32_t)bytes;
    buffer->frames++;
    if (pending)
        udp_buffer_add_completion(buffer, pending);
    return true;
}

// The batch to use, or NULL. On loopback each datagram is long enough to justify a system call of
// its own, through the connected socket of the link.
static udp_send_batch_t *batch_for(const udp_conduit_t *udp, udp_send_batch_t *batch)
{
    batch->count = 0;
    batch->room = NULL;
    batch->room_used = 0;
    return udp->socket.loopback ? NULL : batch;
}

static void batch_finish(udp_conduit_t *udp, udp_send_batch_t *batch)
{
    if (batch && batch->count)
        udp_send_batch_flush(udp, batch);
    if (batch && batch->room)
        udp_buffer_put(udp, batch->room);
}

// With the link's lock held: sends as many pieces of a put as there is room for; returns their
// bytes.
static size_t put_pieces(udp_conduit_t *udp, udp_link_t *link, udp_rma_t *rma, udp_single_t how)
{
    udp_send_batch_t batch;
    const size_t most = largest_piece(link);
    const uint64_t now = aq_clock_ns();
    const size_t nbytes = rma->nbytes;
    const size_t shared = shared_most(link, UDP_REQUESTS);
    size_t begun = 0;
    how.batch = batch_for(udp, &batch);
    for (; begun < nbytes; begun += rma->nbytes) {
        rma->nbytes = aq_min(nbytes - begun, most);
        how.wants_ack = begun + rma->nbytes == nbytes;
        if (!(rma->nbytes <= shared ? add_frame(udp, link, rma, how.pending)
                                    : udp_send_single(udp, link, rma, how, now)))
            break;
        rma->payload = (const char *)rma->payload + rma->nbytes;
        rma->place += rma->nbytes;
    }
    batch_finish(udp, how.batch);
    return begun;
}

static size_t put_begin(udp_conduit_t *udp, udp_link_t *link, const aq_rma_t *put)
{
    udp_rma_t rma = {.type = UDP_FRAME_PUT,
                     .nbytes = put->nbytes,
                     .payload = put->local,
                     .place = udp_place_of(udp, link->rank, put->remote)};
    const udp_single_t how = {.in_place = put->flags & AQ_RMA_STABLE, .pending = put->pending};
    size_t begun;
    aq_lock_take(&link->lock);
    if (is_shared(link, UDP_REQUESTS, put->nbytes))
        begun = add_frame(udp, link, &rma, put->pending) ? put->nbytes : 0;
    else
        begun = put_pieces(udp, link, &rma, how);
    aq_lock_drop(&link->lock);
    return begun;
}

// Limits the outstanding gets from a peer to the capacity of the path: its memory for requests
// serves other peers as well. At the limit, further gets wait until half of the bytes have arrived,
// so that requests share a datagram.
static bool may_get(udp_link_t *link, size_t nbytes)
{
    if (link->gets.bytes && link->gets.bytes + nbytes > GETTING_MAX)
        link->gets.enough = true;
    else if (link->gets.bytes <= GETTING_MAX / 2)
        link->gets.enough = false;
    return !link->gets.enough;
}

// With the link's lock held: sends the request, if there is room for it.
static bool get_ask(udp_conduit_t *udp, udp_link_t *link, void *dest, udp_rma_t *rma,
                    atomic_uint *pending)
{
    const aq_pending_op_t op = {
        .context = pending, .dest = dest, .nbytes = rma->nbytes, .rank = link->rank};
    if (!may_get(link, rma->nbytes) ||
        !udp_datagram_for(udp, link, UDP_REQUESTS, udp_rma_bytes(rma->type, 0), NULL))
        return false;
    rma->cookie = aq_cookies_add(&link->gets.outstanding, &op);
    if (!rma->cookie)
        aq_fatal("out of memory for the gets from rank %u that are under way", link->rank);
    link->gets.bytes += rma->nbytes;
    return add_frame(udp, link, rma, NULL);
}

static size_t get_begin(udp_conduit_t *udp, udp_link_t *link, const aq_rma_t *get)
{
    udp_rma_t rma = {.type = UDP_FRAME_GET, .place = udp_place_of(udp, link->rank, get->remote)};
    atomic_fetch_add_explicit(get->pending, 1, memory_order_release);
    aq_lock_take(&link->lock);
    rma.nbytes = aq_min(get->nbytes, largest_piece(link));
    const bool requested = get_ask(udp, link, get->local, &rma, get->pending);
    aq_lock_drop(&link->lock);
    if (requested)
        return rma.nbytes;
    atomic_fetch_sub_explicit(get->pending, 1, memory_order_relaxed);
    return 0;
}

aq_status_t udp_rma(aq_conduit_t *conduit, void *link, aq_rma_t *rma)
{
    udp_conduit_t *udp = udp_of(conduit);
    const size_t begun =
        rma->kind == AQ_RMA_GET ? get_begin(udp, link, rma) : put_begin(udp, link, rma);
    aq_rma_advance(rma, begun);
    return begun ? AQ_OK : AQ_AGAIN;
}

static bool answer_one(udp_conduit_t *udp, udp_link_t *link, const udp_frame_t *get,
                       udp_send_batch_t *batch)
{
    const udp_rma_t rma = {.type = UDP_FRAME_GOT,
                           .nbytes = get->nbytes,
                           .payload = udp_place_memory(udp, link->rank, get->place, get->nbytes),
                           .cookie = get->cookie};
    const udp_single_t how = {.batch = batch, .in_place = udp->answers_there};
    if (is_shared(link, UDP_REPLIES, rma.nbytes))
        return add_frame(udp, link, &rma, NULL);
    return udp_send_single(udp, link, &rma, how, aq_clock_ns());
}

bool udp_answer(udp_conduit_t *udp, udp_link_t *link, udp_frames_t *frames, const udp_frame_t *get,
                unsigned *done)
{
    udp_send_batch_t memory, *batch = batch_for(udp, &memory);
    udp_frame_t frame = *get;
    udp_frames_t next = *frames;
    bool answered = true;
    frames->at -= udp_rma_bytes(UDP_FRAME_GET, 0);
    aq_lock_take(&link->lock);
    do {
        answered = answer_one(udp, link, &frame, batch);
        if (!answered)
            break;
        ++*done;
        frames->at = next.at;
    } while (udp_frames_next(&next, &frame) && frame.type == UDP_FRAME_GET);
    batch_finish(udp, batch);
    aq_lock_drop(&link->lock);
    return answered;
}

static void get_check(const udp_link_t *link, const udp_frame_t *frame, const aq_pending_op_t *get)
{
    if (!get || get->nbytes != frame->nbytes)
        aq_fatal("rank %u answers a get that does not wait for these %zu bytes; see that all ranks "
                 "run the same program with the same library",
                 link->rank, frame->nbytes);
}

void *udp_rma_dest(udp_conduit_t *udp, udp_link_t *link, const udp_frame_t *frame)
{
    if (frame->type == UDP_FRAME_PUT)
        return udp_place_memory(udp, link->rank, frame->place, frame->nbytes);
    const aq_pending_op_t *get =
        aq_cookies_find(&link->gets.outstanding, frame->cookie, link->rank);
    get_check(link, frame, get);
    return get->dest;
}

// With the link's lock held: completes a get.
static void get_apply(udp_link_t *link, const udp_frame_t *frame, bool placed)
{
    aq_pending_op_t get;
    const bool found = aq_cookies_take(&link->gets.outstanding, frame->cookie, link->rank, &get);
    get_check(link, frame, found ? &get : NULL);
    if (!placed && frame->nbytes)
        memcpy(get.dest, frame->payload, frame->nbytes);
    link->gets.bytes -= frame->nbytes;
    atomic_fetch_sub_explicit((atomic_uint *)get.context, 1, memory_order_release);
}

static void put_apply(udp_conduit_t *udp, udp_link_t *link, const udp_frame_t *frame, bool placed)
{
    void *dest = udp_rma_dest(udp, link, frame);
    if (!placed && frame->nbytes)
        memcpy(dest, frame->payload, frame->nbytes);
}

void udp_apply(udp_conduit_t *udp, udp_link_t *link, const udp_frame_t *frame, bool placed)
{
    if (frame->type == UDP_FRAME_GOT)
        get_apply(link, frame, placed);
    else
        put_apply(udp, link, frame, placed);
    udp->receiving.done++;
}
