// SPDX-License-Identifier: BSD-3-Clause
// Receiving: datagrams are validated, accepted by their flow, queued, and delivered frame by frame.
#include <string.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/minmax.h"
#include "udp_receive.h"
#include "udp_link.h"
#include "udp_send.h"
#include "udp_rma.h"
#include "udp_window.h"
#include "udp_buffer.h"
#include "udp_place.h"
#include "udp_watch.h"

enum {
    SENDING_TURNS = 32,    // polls of a busy sender for each receive from the socket
    LOOK_PAUSE_NS = 10000, // the longest interval between receives in a run of polls
    DELIVER_MAX = 16,      // most datagrams that one poll delivers
    IN_PLACE_MAX = 8,      // most datagrams that one poll receives in place
    LARGE = 4096,          // fewest bytes of a datagram that is received in place
    NAMES = 64, // datagrams for which the source address is requested, to name an unknown sender
};

// ---- queues ----

// Changes a counter that is written under a lock and read without it.
static void counter_add(atomic_uint *counter, int by)
{
    unsigned value = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, value + (unsigned)by, memory_order_release);
}

static void queue_push(udp_conduit_t *udp, udp_buffer_t *buffer)
{
    udp_queue_t *queue = &udp->queues.of[buffer->class];
    buffer->next = NULL;
    aq_lock_take(&udp->queues.lock);
    *queue->last = buffer;
    queue->last = &buffer->next;
    counter_add(&queue->count, 1);
    counter_add(&udp->queues.count, 1);
    if (udp->queues.count > udp->queues.peak)
        udp->queues.peak = udp->queues.count;
    aq_lock_drop(&udp->queues.lock);
}

static bool may_run(unsigned what, unsigned class)
{
    return what & (class == UDP_REPLIES ? AQ_POLL_REPLIES : AQ_POLL_REQUESTS);
}

// Takes a datagram that this poll may run out of a queue, replies first. NULL: there is none.
static udp_buffer_t *queue_pop(udp_conduit_t *udp, unsigned what)
{
    udp_buffer_t *buffer = NULL;
    if (!atomic_load_explicit(&udp->queues.count, memory_order_acquire))
        return NULL;
    aq_lock_take(&udp->queues.lock);
    for (unsigned c = UDP_CLASSES; c-- > 0 && !buffer;) {
        udp_queue_t *queue = &udp->queues.of[c];
        if (!queue->first || !may_run(what, c))
            continue;
        buffer = queue->first;
        queue->first = buffer->next;
        if (!queue->first)
            queue->last = &queue->first;
        counter_add(&queue->count, -1);
        counter_add(&udp->queues.count, -1);
    }
    aq_lock_drop(&udp->queues.lock);
    return buffer;
}

// ---- arrival ----

static void drop_stranger(udp_conduit_t *udp, udp_drop_t kind, const udp_incoming_t *in)
{
    if (udp_unauthenticated_drop(&udp->unauthenticated, kind, in->from))
        udp->socket.names = NAMES;
}

// Finds the link to the endpoint that a datagram names as its source, which is not authenticated
// yet. The main receive side may have none (*link is NULL). UDP_DROPS: the datagram is not dropped.
static udp_drop_t link_find(const udp_conduit_t *udp, const udp_header_t *header, udp_link_t **link)
{
    if (header->dest != udp->ep_id)
        return UDP_DROP_MISDIRECTED;
    if (!udp->links.by_rank) {
        *link = udp_window_find(udp, header->source);
        return *link ? UDP_DROPS : UDP_DROP_UNCONNECTED;
    }
    if (header->source >= udp_known(udp) || header->source == udp->ep_id)
        return UDP_DROP_MISDIRECTED;
    *link = atomic_load_explicit(&udp->links.by_rank[header->source], memory_order_acquire);
    return UDP_DROPS;
}

// Whether a datagram is authentic, as far as the mode of authentication can tell. In mode encrypt
// the frames are decrypted in place. A link is created only after a peer was authenticated, so that
// strangers cannot make this process allocate memory.
static bool datagram_authenticate(udp_conduit_t *udp, const udp_incoming_t *in,
                                  const udp_header_t *header, udp_link_t *link)
{
    const udp_auth_t *auth = &udp->auth;
    if (auth->mode != UDP_AUTH_ENCRYPT) {
        uint64_t token = 0;
        if (auth->mode == UDP_AUTH_TOKEN)
            token = link ? link->token_in : udp_auth_token(auth, header->source, header->dest);
        return udp_auth_genuine(auth, header, in->bytes, in->at_hand, token);
    }
    udp_seal_t first;
    udp_seal_start(&first, auth, udp->cipher, header->source, header->dest);
    const bool genuine = udp_seal_open(link ? &link->opening : &first, header->packet, in->bytes,
                                       udp_header_bytes(header), in->length);
    udp_seal_stop(&first);
    return genuine;
}

// The reason to drop a datagram before its sender is known to be a peer; UDP_DROPS: there is none,
// and *link is the link to its sender. NULL: the main receive side has none yet.
static udp_drop_t datagram_examine(udp_conduit_t *udp, const udp_incoming_t *in,
                                   udp_header_t *header, udp_link_t **link)
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
    if (header->job != udp->auth.job_tag)
        return UDP_DROP_FOREIGN;
    const udp_drop_t drop = link_find(udp, header, link);
    if (drop != UDP_DROPS)
        return drop;
    if (!datagram_authenticate(udp, in, header, *link))
        return UDP_DROP_FORGED;
    return udp_auth_intact(&udp->auth, header, in->bytes) ? UDP_DROPS : UDP_DROP_CORRUPTED;
}

// An authenticated datagram.
typedef struct arrival {
    const udp_header_t *header;
    uint8_t *bytes; // NULL: the payload of its only frame was received in place
    size_t length;
    const udp_frame_t *frame; // that frame; otherwise NULL
    uint64_t now;
    udp_contents_t contents; // of accepted data
    bool more; // further datagrams were received with it: one acknowledgement covers all
} arrival_t;

static void apply_all(udp_conduit_t *udp, udp_link_t *link, const arrival_t *in)
{
    udp_frames_t frames = udp_frames_of(in->bytes, in->header);
    udp_frame_t frame;
    while (udp_frames_next(&frames, &frame))
        if (frame.type == UDP_FRAME_PUT || frame.type == UDP_FRAME_GOT)
            udp_apply(udp, link, &frame, false);
}

// With the link's lock held: UDP_DROPS if the flow accepted the datagram.
static udp_drop_t datagram_take(udp_conduit_t *udp, udp_link_t *link, arrival_t *in)
{
    static const udp_drop_t drops[UDP_VERDICTS] = {
        [UDP_NEW] = UDP_DROPS,
        [UDP_DUPLICATE] = UDP_DROP_DUPLICATE,
        [UDP_OLD_EPOCH] = UDP_DROP_OLD_EPOCH,
        [UDP_FUTURE_EPOCH] = UDP_DROP_FUTURE_EPOCH,
        [UDP_BEYOND] = UDP_DROP_BEYOND,
    };
    const udp_header_t *header = in->header;
    udp_receiver_t *receiver = &link->receiver[header->class];
    if (udp_receiver_peek(receiver, header->epoch, header->sequence) == UDP_NEW && in->bytes) {
        in->contents = udp_frames_scan(udp_frames_of(in->bytes, header));
        if (!in->contents.good)
            return UDP_DROP_MALFORMED;
        if (in->contents.calls && udp->queues.of[header->class].count >= udp->queues.most)
            return UDP_DROP_NO_MEMORY;
    }
    return drops[udp_receiver_take(receiver, header->epoch, header->sequence)];
}

// Records that an acknowledgement is due. One that the peer waits for is sent at once, unless a
// reply may carry it.
static void owe_ack(udp_link_t *link, const arrival_t *in)
{
    if (!link->owed.since)
        link->owed.since = in->now;
    link->owed.bytes += in->length;
    link->owed.wanted |= in->header->wants_ack;
    link->owed.can_ride = in->contents.calls;
}

static void take_data(udp_conduit_t *udp, udp_link_t *link, arrival_t *in)
{
    udp_drop_t drop = datagram_take(udp, link, in);
    link->stats.datagrams_in++;
    if (drop == UDP_DROPS) {
        link->owed.last_data[in->header->class] = in->now;
        link->stats.frames_in += in->contents.count;
        if (!in->bytes)
            udp_apply(udp, link, in->frame, true);
        else if (in->contents.bytes)
            apply_all(udp, link, in);
    } else {
        udp_stats_drop(&link->stats, drop);
        in->contents = (udp_contents_t){0};
    }
    if (drop == UDP_DROPS || drop == UDP_DROP_DUPLICATE)
        owe_ack(link, in);
}

static void take_plain(udp_conduit_t *udp, udp_link_t *link, const arrival_t *in)
{
    const udp_header_t *header = in->header;
    link->stats.acks_in++;
    if (header->kind == UDP_EPOCH_REQUEST &&
        udp_receiver_request(&link->receiver[header->class], header->epoch))
        udp_send_epoch(udp, link, UDP_EPOCH_CONFIRM, header->class, header->epoch, in->now);
    if (header->kind == UDP_PING)
        udp_send_plain(udp, link, UDP_PONG, header->class, 0, in->now);
}

static void take_acks(udp_link_t *link, const udp_header_t *header, uint64_t now)
{
    for (unsigned c = 0; c < UDP_CLASSES; c++)
        if (header->has_ack[c] && (link->sender[c].kept || link->sender[c].requesting))
            udp_sender_ack(&link->sender[c], &header->acks[c], now);
}

// With the link's lock held: processes the acknowledgements of a datagram, and serves the link.
static void process_acks(udp_conduit_t *udp, udp_link_t *link, const udp_header_t *header,
                         uint64_t now)
{
    take_acks(link, header, now);
    udp_links_due(udp, udp_link_serve(udp, link, now));
}

static void process_deferred_acks(udp_conduit_t *udp)
{
    udp_deferred_acks_t *deferred = &udp->receiving.deferred;
    udp_link_t *link = deferred->link;
    if (!link)
        return;
    deferred->link = NULL;
    aq_lock_take(&link->lock);
    process_acks(udp, link, &deferred->header, deferred->now);
    aq_lock_drop(&link->lock);
}

// With the link's lock held: whether a packet number was replayed. In mode off the number proves
// nothing, and a forged one would lock out the genuine ones.
static bool is_replayed(const udp_conduit_t *udp, const udp_link_t *link, uint64_t packet)
{
    return udp->auth.mode != UDP_AUTH_OFF && !udp_replay_is_new(&link->replay, packet);
}

// With the link's lock held: processes an authenticated datagram.
static void datagram_arrive(udp_conduit_t *udp, udp_link_t *link, arrival_t *in)
{
    link->stats.bytes_in += in->length;
    if (is_replayed(udp, link, in->header->packet)) {
        udp_stats_drop(&link->stats, UDP_DROP_REPLAYED);
        return;
    }
    udp_replay_accept(&link->replay, in->header->packet);
    udp_link_received(udp, link);
    if (in->header->kind == UDP_DATA)
        take_data(udp, link, in);
    else
        take_plain(udp, link, in);
    if (in->more) {
        take_acks(link, in->header, in->now);
        udp_links_due(udp, in->now);
    } else if (in->contents.calls && !in->header->wants_ack) {
        udp->receiving.deferred.link = link; // the header is in deferred already
        udp->receiving.deferred.now = in->now;
    } else {
        process_acks(udp, link, in->header, in->now);
    }
}

// Processes a received datagram. Returns it if it has frames that wait for a poll that may run
// their handlers.
static udp_buffer_t *datagram_handle(udp_conduit_t *udp, const udp_incoming_t *in, bool more,
                                     uint64_t now)
{
    udp_header_t *header =
        &udp->receiving.deferred.header; // no acknowledgements are deferred at this point
    udp_link_t *link;
    udp_drop_t drop = datagram_examine(udp, in, header, &link);
    if (drop != UDP_DROPS) {
        drop_stranger(udp, drop, in);
        return NULL;
    }
    if (!link)
        link = udp_link_get(udp, header->source);
    udp_buffer_t *buffer = udp_buffer_take(udp);
    if (link) {
        arrival_t arrival = {
            .header = header, .bytes = in->bytes, .length = in->length, .now = now, .more = more};
        aq_lock_take(&link->lock);
        datagram_arrive(udp, link, &arrival);
        aq_lock_drop(&link->lock);
        udp->receiving.large = udp->receives_there && in->length >= LARGE &&
                               arrival.contents.count == 1 && arrival.contents.bytes;
        if (arrival.contents.calls) {
            buffer->bytes = udp_socket_keep(&udp->socket, in, buffer->bytes);
            buffer->link = link;
            buffer->class = header->class;
            buffer->used = (uint32_t)in->length;
            buffer->ran = (uint32_t)udp_header_bytes(header);
            return buffer;
        }
    }
    udp_buffer_put(udp, buffer);
    return NULL;
}

// ---- from the kernel into memory ----

// With the link's lock held: receives the peeked datagram, if it is new, into its destination.
static bool datagram_place(udp_conduit_t *udp, udp_link_t *link, arrival_t *in)
{
    uint8_t head[UDP_SINGLE_BYTES], padding[8];
    const udp_header_t *header = in->header;
    const size_t front = udp_header_bytes(header) + udp_rma_front(in->frame->type);
    struct iovec pieces[] = {{head, front}, {NULL, in->frame->nbytes}, {padding, sizeof padding}};
    if (is_replayed(udp, link, header->packet) ||
        udp_receiver_peek(&link->receiver[header->class], header->epoch, header->sequence) !=
            UDP_NEW)
        return false;
    pieces[1].iov_base = udp_rma_dest(udp, link, in->frame);
    if (!udp_socket_take(&udp->socket, pieces, 3))
        return false;
    in->contents = (udp_contents_t){.good = true, .bytes = true, .count = 1};
    datagram_arrive(udp, link, in);
    return true;
}

typedef enum next { NEXT_NONE, NEXT_PLACED, NEXT_OTHER } next_t;

// Receives one large datagram from the kernel's buffer into the client's memory, if the next one is
// of that kind.
static next_t receive_in_place(udp_conduit_t *udp)
{
    uint8_t head[UDP_SINGLE_BYTES];
    udp_header_t header;
    udp_frame_t frame;
    udp_link_t *link;
    arrival_t arrival = {.header = &header, .frame = &frame};
    ssize_t length = udp_socket_peek(&udp->socket, head, sizeof head);
    if (length < 0)
        return NEXT_NONE;
    arrival.length = (size_t)length;
    const udp_incoming_t in = {
        .bytes = head, .length = arrival.length, .at_hand = aq_min(arrival.length, sizeof head)};
    if (arrival.length < LARGE || datagram_examine(udp, &in, &header, &link) != UDP_DROPS ||
        header.kind != UDP_DATA || !udp_frame_single(head, &header, &frame) || !link)
        return NEXT_OTHER;
    arrival.now = aq_clock_ns();
    atomic_store_explicit(&udp->receiving.arrived_at, arrival.now, memory_order_relaxed);
    aq_lock_take(&link->lock);
    bool placed = datagram_place(udp, link, &arrival);
    aq_lock_drop(&link->lock);
    return placed ? NEXT_PLACED : NEXT_OTHER;
}

// Receives large datagrams in place as long as they arrive.
static next_t receive_large(udp_conduit_t *udp)
{
    next_t next = NEXT_PLACED;
    for (unsigned i = 0; next == NEXT_PLACED && i < IN_PLACE_MAX; i++)
        next = receive_in_place(udp);
    return next;
}

// The number of datagrams for which there is room; the others stay in the kernel. If this poll
// cannot run requests, a full queue of requests does not stop it: the reply that it needs may
// follow requests that do not fit, and these are dropped.
static unsigned receive_most(const udp_conduit_t *udp, unsigned what)
{
    unsigned most = aq_min(udp->queues.most, UDP_SLOTS);
    if (!atomic_load_explicit(&udp->queues.count, memory_order_relaxed))
        return most;
    for (unsigned c = 0; c < UDP_CLASSES; c++) {
        unsigned count = atomic_load_explicit(&udp->queues.of[c].count, memory_order_relaxed);
        unsigned room = count < udp->queues.most ? udp->queues.most - count : 0;
        bool runs = what & AQ_POLL_REQUESTS &&
                    !atomic_load_explicit(&udp->receiving.stuck, memory_order_relaxed);
        if (room < most && (c == UDP_REPLIES || runs))
            most = room;
    }
    return most;
}

// Processes the received datagrams; returns the last one that has calls, and queues the others.
static udp_buffer_t *handle_all(udp_conduit_t *udp, const udp_incoming_t *in, unsigned count,
                                uint64_t now)
{
    udp_buffer_t *last = NULL;
    for (unsigned i = 0; i < count; i++) {
        if (last)
            queue_push(udp, last);
        last = datagram_handle(udp, &in[i], i + 1 < count, now);
    }
    return last;
}

// A spinning process that has only the network to poll tries a few times in each poll.
static unsigned peeks_of(const udp_conduit_t *udp, unsigned what)
{
    return what & AQ_POLL_AGAIN && udp->base.env->nbrhd_size == 1 ? UDP_PEEKS : 1;
}

// Receives. Returns the last datagram that this poll can deliver if the queue is empty; queues the
// others.
static udp_buffer_t *datagrams_receive(udp_conduit_t *udp, unsigned what, uint64_t *now)
{
    udp_incoming_t in[UDP_SLOTS];
    unsigned count = 0, most = receive_most(udp, what), looks = peeks_of(udp, what);
    if (!most)
        return NULL;
    next_t next = NEXT_OTHER;
    if (udp->receiving.large && !atomic_load_explicit(&udp->socket.left, memory_order_relaxed))
        next = receive_large(udp);
    if (next == NEXT_PLACED)
        return NULL;
    udp->receiving.large = next == NEXT_NONE;
    if (next == NEXT_OTHER)
        (void)udp_socket_receive(&udp->socket, in, most, looks, &count);
    if (!count) {
        udp_check_socket(udp);
        if (looks > 1)
            *now = 0; // the receives took time
        udp_watch_drained(&udp->watch);
        return NULL;
    }
    atomic_store_explicit(&udp->receiving.arrived_at, udp_time(now), memory_order_relaxed);
    udp_buffer_t *last = handle_all(udp, in, count, *now);
    if (!last || (may_run(what, last->class) &&
                  !atomic_load_explicit(&udp->queues.count, memory_order_relaxed)))
        return last;
    queue_push(udp, last);
    return NULL;
}

// ---- delivery ----

static void message_deliver(udp_conduit_t *udp, const udp_buffer_t *buffer,
                            const udp_frame_t *frame)
{
    const bool is_long = frame->type == UDP_FRAME_LONG;
    const aq_return_path_t path = {.conduit = &udp->base, .link = buffer->link};
    const aq_arrival_t arrival = {
        .args = frame->args,
        .payload = is_long ? udp_place_long(udp, buffer->link->rank, frame->place, frame->nbytes)
                           : frame->payload,
        .nbytes = frame->nbytes,
        .path = &path,
        .source = buffer->link->rank,
        .category = frame->type - UDP_FRAME_SHORT,
        .handler = frame->handler,
        .nargs = frame->nargs,
        .reply = buffer->class == UDP_REPLIES};
    if (is_long && frame->nbytes)
        memcpy(arrival.payload, frame->payload, frame->nbytes);
    udp->base.env->deliver(&arrival);
}

// Runs handlers and answers gets; the data of puts and get replies is in memory already. *done
// grows by the number of frames. False: there is no room for the reply to a get, and the rest of
// the datagram waits in the queue.
static bool datagram_deliver(udp_conduit_t *udp, udp_buffer_t *buffer, unsigned *done)
{
    udp_frames_t frames = {buffer->bytes + buffer->ran, buffer->bytes + buffer->used,
                           buffer->class};
    udp_frame_t frame;
    bool room = true;
    while (room && udp_frames_next(&frames, &frame)) {
        if (frame.type == UDP_FRAME_GET) {
            room = udp_answer(udp, buffer->link, &frames, &frame, done);
            continue;
        }
        if (frame.type <= UDP_FRAME_LONG)
            message_deliver(udp, buffer, &frame);
        ++*done;
    }
    atomic_store_explicit(&udp->receiving.stuck, !room, memory_order_relaxed);
    if (room) {
        udp_buffer_put(udp, buffer);
    } else {
        buffer->ran = (uint32_t)(frames.at - buffer->bytes);
        queue_push(udp, buffer);
    }
    return room;
}

// Whether a poll by a busy sender skips the receive. Concurrent threads may lose counts.
static bool skip_sender_poll(udp_conduit_t *udp)
{
    unsigned polls = atomic_load_explicit(&udp->receiving.sender_polls, memory_order_relaxed);
    atomic_store_explicit(&udp->receiving.sender_polls, polls + 1, memory_order_relaxed);
    return polls % SENDING_TURNS;
}

static unsigned run_queue(udp_conduit_t *udp, unsigned what)
{
    udp_buffer_t *buffer;
    unsigned done = 0;
    for (unsigned i = 0; i < DELIVER_MAX && (buffer = queue_pop(udp, what)); i++)
        if (!datagram_deliver(udp, buffer, &done))
            break;
    return done;
}

// A receive costs far more than a poll of shared memory, and in a process with neighbours most
// receives would find nothing. So a receive is skipped until a sixteenth of the time since the last
// arrival has passed, but not longer than LOOK_PAUSE_NS. A process that polls rarely receives in
// each poll.
static bool time_to_peek(udp_conduit_t *udp, uint64_t *time)
{
    if (udp->base.env->nbrhd_size == 1)
        return true;
    const uint64_t now = udp_time(time);
    uint64_t pause =
        (now - atomic_load_explicit(&udp->receiving.arrived_at, memory_order_relaxed)) / 16;
    if (pause > LOOK_PAUSE_NS)
        pause = LOOK_PAUSE_NS;
    if (now - atomic_load_explicit(&udp->receiving.looked_at, memory_order_relaxed) < pause)
        return false;
    atomic_store_explicit(&udp->receiving.looked_at, now, memory_order_relaxed);
    return true;
}

// Datagrams at the end of a poll carry the time of its beginning, if that is known: peers wait for
// the time of handlers anyway. A spinning process uses the time of its previous poll, so that it
// reads the clock while no peer waits for it.
unsigned udp_poll(aq_conduit_t *conduit, unsigned what)
{
    udp_conduit_t *udp = udp_of(conduit);
    udp_buffer_t *first = NULL;
    unsigned done = 0;
    uint64_t now = 0;
    bool sending = what & AQ_POLL_SENDING;
    if (sending && skip_sender_poll(udp))
        return 0;
    if (what & AQ_POLL_AGAIN)
        now = atomic_load_explicit(&udp->receiving.polled_at, memory_order_relaxed);
    if (!sending)
        udp_flush(udp, &now);
    if (time_to_peek(udp, &now) && aq_lock_try(&udp->receiving.lock)) {
        process_deferred_acks(udp);
        first = datagrams_receive(udp, what, &now);
        done += udp->receiving.done;
        udp->receiving.done = 0;
        aq_lock_drop(&udp->receiving.lock);
    }
    if (!first || datagram_deliver(udp, first, &done))
        done += run_queue(udp, what);
    if (!sending)
        udp_flush(udp, &now);
    udp_links_serve(udp, &now);
    atomic_store_explicit(&udp->receiving.polled_at, now, memory_order_relaxed);
    return done;
}
