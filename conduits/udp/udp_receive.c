// The way in: what arrives is checked, taken by its flow, queued, and delivered frame by frame.
#include <string.h>

#include "../../other/clock.h"
#include "../../other/log.h"
#include "udp_conduit.h"

enum {
    PUT_OFF = 32,      // one in so many polls of senders looks at the socket
    DELIVER_MOST = 16, // datagrams that one poll delivers
};

// ---- queues ----

static void enqueue(udp_conduit_t *udp, udp_buffer_t *buffer)
{
    udp_queue_t *queue = &udp->queue[buffer->class];
    buffer->next = NULL;
    aq_lock_take(&udp->queue_lock);
    *queue->last = buffer;
    queue->last = &buffer->next;
    queue->count++;
    unsigned queued = atomic_fetch_add_explicit(&udp->queued, 1, memory_order_release) + 1;
    if (queued > udp->queued_peak)
        udp->queued_peak = queued;
    aq_lock_drop(&udp->queue_lock);
}

// Replies first.
static udp_buffer_t *dequeue(udp_conduit_t *udp, unsigned what)
{
    udp_buffer_t *buffer = NULL;
    if (!atomic_load_explicit(&udp->queued, memory_order_acquire))
        return NULL;
    aq_lock_take(&udp->queue_lock);
    for (unsigned c = UDP_CLASSES; c-- > 0 && !buffer;) {
        udp_queue_t *queue = &udp->queue[c];
        if (!queue->first || !(what & (c == UDP_REPLIES ? AQ_POLL_REPLIES : AQ_POLL_REQUESTS)))
            continue;
        buffer = queue->first;
        queue->first = buffer->next;
        if (!queue->first)
            queue->last = &queue->first;
        queue->count--;
        atomic_fetch_sub_explicit(&udp->queued, 1, memory_order_relaxed);
    }
    aq_lock_drop(&udp->queue_lock);
    return buffer;
}

// ---- arrival ----

static void drop_stranger(udp_conduit_t *udp, udp_drop_t kind, const udp_incoming_t *in)
{
    udp_strangers_drop(&udp->strangers, kind, in->from);
}

// What is wrong with a datagram before it is known to come from a peer; UDP_DROPS: nothing.
static udp_drop_t examine(const udp_conduit_t *udp, const udp_incoming_t *in, udp_header_t *header)
{
    static const udp_drop_t faults[UDP_FAULTS] = {
        [UDP_FINE] = UDP_DROPS,
        [UDP_TOO_SHORT] = UDP_DROP_TRUNCATED,
        [UDP_WRONG_VERSION] = UDP_DROP_VERSION,
        [UDP_WRONG_KIND] = UDP_DROP_MALFORMED,
        [UDP_WRONG_BYTES] = UDP_DROP_TRUNCATED,
    };
    udp_fault_t fault = udp_header_decode(in->bytes, in->length, header);
    if (fault != UDP_FINE)
        return faults[fault];
    const uint8_t *frames = in->bytes + UDP_HEADER_BYTES;
    const size_t bytes = in->length - UDP_HEADER_BYTES;
    const aq_conduit_env_t *env = udp->base.env;
    if (header->job != udp->auth.job_tag)
        return UDP_DROP_FOREIGN;
    if (!udp_auth_genuine(&udp->auth, in->bytes, UDP_HASHED_BYTES, frames, bytes,
                          udp_header_hash(in->bytes)))
        return UDP_DROP_FORGED;
    if (header->dest != env->rank || header->source >= env->size || header->source == env->rank)
        return UDP_DROP_MISDIRECTED;
    return udp_auth_intact(&udp->auth, header->checksum, frames, bytes) ? UDP_DROPS
                                                                        : UDP_DROP_CORRUPTED;
}

// With the link's lock held: may the frames be delivered? Then the flow has taken them.
static udp_drop_t take(udp_conduit_t *udp, udp_link_t *link, const udp_incoming_t *in,
                       const udp_header_t *header)
{
    static const udp_drop_t drops[UDP_VERDICTS] = {
        [UDP_NEW] = UDP_DROPS,
        [UDP_DUPLICATE] = UDP_DROP_DUPLICATE,
        [UDP_OLD_EPOCH] = UDP_DROP_OLD_EPOCH,
        [UDP_FUTURE_EPOCH] = UDP_DROP_FUTURE_EPOCH,
        [UDP_BEYOND] = UDP_DROP_BEYOND,
    };
    udp_receiver_t *receiver = &link->receiver[header->class];
    bool is_new = udp_receiver_look(receiver, header->epoch, header->sequence) == UDP_NEW;
    if (is_new && !udp_frames_good(udp_frames_of(in->bytes, in->length, header->class)))
        return UDP_DROP_MALFORMED;
    if (is_new && udp->queue[header->class].count >= udp->queue_most)
        return UDP_DROP_NO_MEMORY;
    return drops[udp_receiver_take(receiver, header->epoch, header->sequence)];
}

static void owe_ack(udp_link_t *link, size_t bytes, uint64_t now)
{
    if (!link->owed_since)
        link->owed_since = now;
    link->owed_bytes += bytes;
}

// Returns true when the datagram's frames are to be delivered.
static bool arrive(udp_conduit_t *udp, udp_link_t *link, const udp_incoming_t *in,
                   const udp_header_t *header, uint64_t now)
{
    udp_drop_t drop = UDP_DROPS;
    aq_lock_take(&link->lock);
    for (unsigned c = 0; c < UDP_CLASSES; c++)
        udp_sender_ack(&link->sender[c], &header->acks[c], now);
    link->stats.bytes_in += in->length;
    udp_link_heard(udp, link);
    if (header->kind == UDP_DATA) {
        drop = take(udp, link, in, header);
        link->stats.datagrams_in++;
        if (drop == UDP_DROPS)
            link->came[header->class] = now;
        if (drop == UDP_DROPS || drop == UDP_DROP_DUPLICATE)
            owe_ack(link, in->length, now);
    } else {
        link->stats.acks_in++;
    }
    if (header->kind == UDP_EPOCH_REQUEST &&
        udp_receiver_request(&link->receiver[header->class], header->epoch))
        udp_send_plain(udp, link, UDP_EPOCH_CONFIRM, header->class, header->epoch, now);
    if (header->kind == UDP_PING)
        udp_send_plain(udp, link, UDP_PONG, header->class, 0, now);
    if (drop != UDP_DROPS)
        link->stats.drops[drop]++;
    udp_links_due(udp, udp_link_serve(udp, link, now));
    aq_lock_drop(&link->lock);
    return header->kind == UDP_DATA && drop == UDP_DROPS;
}

static void handle(udp_conduit_t *udp, const udp_incoming_t *in, uint64_t now, udp_buffer_t **spare)
{
    udp_header_t header;
    udp_drop_t drop = examine(udp, in, &header);
    if (drop != UDP_DROPS) {
        drop_stranger(udp, drop, in);
        return;
    }
    udp_link_t *link = udp_link_get(udp, header.source);
    if (!*spare)
        *spare = udp_buffer_take(udp);
    if (!link || !*spare || !arrive(udp, link, in, &header, now))
        return;
    udp_buffer_t *buffer = *spare;
    *spare = NULL;
    buffer->bytes = udp_socket_keep(&udp->socket, in, buffer->bytes);
    buffer->link = link;
    buffer->class = header.class;
    buffer->used = (uint32_t)in->length;
    enqueue(udp, buffer);
}

// Leaves in the kernel what there is no room for. If this poll must not run requests, a full queue
// of them is no reason to wait: replies may be behind them.
static unsigned receive_most(udp_conduit_t *udp, unsigned what)
{
    unsigned most = UDP_SLOTS;
    for (unsigned c = 0; c < UDP_CLASSES; c++) {
        unsigned count = atomic_load_explicit(&udp->queue[c].count, memory_order_relaxed);
        unsigned room = count < udp->queue_most ? udp->queue_most - count : 0;
        if (room < most && (c == UDP_REPLIES || what & AQ_POLL_REQUESTS))
            most = room;
    }
    return most;
}

static void receive(udp_conduit_t *udp, unsigned most)
{
    udp_incoming_t in[UDP_SLOTS];
    unsigned count;
    udp_buffer_t *spare = NULL;
    if (!most || udp_socket_receive(&udp->socket, in, most, &count) != AQ_OK)
        return;
    if (!count) {
        udp_links_listened(udp);
        return;
    }
    uint64_t now = aq_clock_ns();
    atomic_store_explicit(&udp->came_at, now, memory_order_relaxed);
    for (unsigned i = 0; i < count; i++)
        handle(udp, &in[i], now, &spare);
    if (spare)
        udp_buffer_put(udp, spare);
}

// ---- delivery ----

static unsigned deliver(udp_conduit_t *udp, udp_buffer_t *buffer)
{
    const aq_conduit_env_t *env = udp->base.env;
    udp_frames_t frames = udp_frames_of(buffer->bytes, buffer->used, buffer->class);
    udp_frame_t frame;
    unsigned done = 0;
    while (udp_frames_next(&frames, &frame) == UDP_FRAME) {
        const aq_arrival_t arrival = {
            .args = frame.args,
            .payload = frame.category == AQ_AM_LONG ? (void *)(uintptr_t)frame.dest : frame.payload,
            .nbytes = frame.nbytes,
            .source = buffer->link->rank,
            .category = frame.category,
            .handler = frame.handler,
            .nargs = frame.nargs,
            .reply = buffer->class == UDP_REPLIES};
        if (frame.category == AQ_AM_LONG && frame.nbytes)
            memcpy(arrival.payload, frame.payload, frame.nbytes);
        env->deliver(&arrival);
        done++;
    }
    aq_lock_take(&buffer->link->lock);
    buffer->link->stats.frames_in += done;
    aq_lock_drop(&buffer->link->lock);
    udp_buffer_put(udp, buffer);
    return done;
}

unsigned udp_poll(aq_conduit_t *conduit, unsigned what)
{
    udp_conduit_t *udp = udp_of(conduit);
    unsigned done = 0;
    bool sending = what & AQ_POLL_SENDING;
    if (sending && atomic_fetch_add_explicit(&udp->put_off, 1, memory_order_relaxed) % PUT_OFF)
        return 0;
    if (!sending)
        udp_flush(udp);
    if (udp_time_to_look(udp) &&
        !atomic_flag_test_and_set_explicit(&udp->receiving, memory_order_acquire)) {
        receive(udp, receive_most(udp, what));
        atomic_flag_clear_explicit(&udp->receiving, memory_order_release);
    }
    for (unsigned i = 0; i < DELIVER_MOST; i++) {
        udp_buffer_t *buffer = dequeue(udp, what);
        if (!buffer)
            break;
        done += deliver(udp, buffer);
    }
    if (!sending)
        udp_flush(udp);
    udp_links_serve(udp);
    return done;
}
