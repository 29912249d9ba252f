// Put and get: frames that go into memory on arrival, without a handler.
//
//     put:  PUT with the bytes --> memory;  complete when its datagram is acknowledged
//     get:  GET --> [poll] --> GOT with the bytes --> memory; complete
#include <string.h>

#include "../../other/clock.h"
#include "udp_conduit.h"
#include "../../other/least.h"

enum {
    ALONE_LEAST = 4096,     // bytes from which on a copy costs more than a datagram of its own
    GETTING_MOST = 1 << 18, // bytes that are asked of one peer
};

// With the link's lock held: the most that one frame carries, whatever it is.
static size_t largest_piece(const udp_link_t *link)
{
    return (link->datagram_bytes - UDP_HEADER_MOST - udp_rma_front(UDP_FRAME_GOT)) & ~(size_t)63;
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
        udp_buffer_note(buffer, pending);
    return true;
}

// On loopback each datagram is long enough to be worth a call of its own, by the door of the link.
static udp_train_t *train_for(const udp_conduit_t *udp, udp_train_t *train)
{
    train->count = 0;
    return udp->socket.loopback ? NULL : train;
}

static void depart(udp_conduit_t *udp, udp_train_t *train)
{
    if (train && train->count)
        udp_train_send(udp, train);
}

// With the link's lock held: sends the first pieces of a put; returns the bytes of them.
static size_t put_pieces(udp_conduit_t *udp, udp_link_t *link, udp_rma_t *rma, udp_alone_t how)
{
    udp_train_t train;
    const size_t most = largest_piece(link);
    const uint64_t now = aq_clock_ns();
    const size_t nbytes = rma->nbytes;
    size_t begun = 0;
    how.train = train_for(udp, &train);
    for (; begun < nbytes; begun += rma->nbytes) {
        rma->nbytes = aq_least(nbytes - begun, most);
        how.wants_ack = begun + rma->nbytes == nbytes;
        if (!udp_send_alone(udp, link, rma, how, now))
            break;
        rma->payload = (const char *)rma->payload + rma->nbytes;
        rma->dest += rma->nbytes;
    }
    depart(udp, how.train);
    return begun;
}

aq_status_t udp_put(aq_conduit_t *conduit, void *pointer, void *dest, const void *src,
                    size_t nbytes, unsigned flags, atomic_uint *pending, size_t *begun)
{
    udp_conduit_t *udp = udp_of(conduit);
    udp_link_t *link = pointer;
    udp_rma_t rma = {
        .type = UDP_FRAME_PUT, .nbytes = nbytes, .payload = src, .dest = (uintptr_t)dest};
    aq_lock_take(&link->lock);
    if (nbytes >= aq_least(ALONE_LEAST, largest_piece(link)))
        *begun = put_pieces(udp, link, &rma,
                            (udp_alone_t){.in_place = flags & AQ_RMA_STABLE, .pending = pending});
    else
        *begun = add_frame(udp, link, &rma, pending) ? nbytes : 0;
    aq_lock_drop(&link->lock);
    return *begun ? AQ_OK : AQ_AGAIN;
}

// So much is asked of a peer at once: what the way to it and back holds. Its memory for requests is
// for others as well. Then the rest waits until half of it is here, so that requests share
// a datagram.
static bool may_get(udp_link_t *link, size_t nbytes)
{
    if (link->getting && link->getting + nbytes > GETTING_MOST)
        link->got_enough = true;
    else if (link->getting <= GETTING_MOST / 2)
        link->got_enough = false;
    return !link->got_enough;
}

aq_status_t udp_get(aq_conduit_t *conduit, void *pointer, void *dest, const void *src,
                    size_t nbytes, unsigned flags, atomic_uint *pending, size_t *begun)
{
    (void)flags;
    udp_conduit_t *udp = udp_of(conduit);
    udp_link_t *link = pointer;
    udp_rma_t rma = {.type = UDP_FRAME_GET,
                     .src = (uintptr_t)src,
                     .dest = (uintptr_t)dest,
                     .cookie = (uintptr_t)pending};
    atomic_fetch_add_explicit(pending, 1, memory_order_release);
    aq_lock_take(&link->lock);
    rma.nbytes = aq_least(nbytes, largest_piece(link));
    *begun = may_get(link, rma.nbytes) && add_frame(udp, link, &rma, NULL) ? rma.nbytes : 0;
    link->getting += *begun;
    aq_lock_drop(&link->lock);
    if (*begun)
        return AQ_OK;
    atomic_fetch_sub_explicit(pending, 1, memory_order_relaxed);
    return AQ_AGAIN;
}

static bool answer_one(udp_conduit_t *udp, udp_link_t *link, const udp_frame_t *get,
                       udp_train_t *train)
{
    const udp_rma_t rma = {.type = UDP_FRAME_GOT,
                           .nbytes = get->nbytes,
                           .payload = (const void *)(uintptr_t)get->src,
                           .dest = get->dest,
                           .cookie = get->cookie};
    const udp_alone_t how = {.train = train, .in_place = udp->in_place};
    if (rma.nbytes >= aq_least(ALONE_LEAST, largest_piece(link)))
        return udp_send_alone(udp, link, &rma, how, aq_clock_ns());
    return add_frame(udp, link, &rma, NULL);
}

bool udp_answer(udp_conduit_t *udp, udp_link_t *link, udp_frames_t *frames, const udp_frame_t *get,
                unsigned *done)
{
    udp_train_t memory, *train = train_for(udp, &memory);
    udp_frame_t frame = *get;
    udp_frames_t next = *frames;
    bool answered = true;
    frames->at -= udp_rma_bytes(UDP_FRAME_GET, 0);
    aq_lock_take(&link->lock);
    do {
        answered = answer_one(udp, link, &frame, train);
        if (!answered)
            break;
        ++*done;
        frames->at = next.at;
    } while (udp_frames_next(&next, &frame) && frame.type == UDP_FRAME_GET);
    depart(udp, train);
    aq_lock_drop(&link->lock);
    return answered;
}

void udp_apply(udp_conduit_t *udp, udp_link_t *link, const udp_frame_t *frame, bool placed)
{
    atomic_uint *pending = (atomic_uint *)(uintptr_t)frame->cookie;
    void *dest = (void *)(uintptr_t)frame->dest;
    if (frame->type == UDP_FRAME_GOT) // see what the thread did that began it
        (void)atomic_load_explicit(pending, memory_order_acquire);
    if (!placed && frame->nbytes)
        memcpy(dest, frame->payload, frame->nbytes);
    if (frame->type == UDP_FRAME_GOT) {
        link->getting -= frame->nbytes < link->getting ? frame->nbytes : link->getting;
        atomic_fetch_sub_explicit(pending, 1, memory_order_release);
    }
    udp->done++;
}
