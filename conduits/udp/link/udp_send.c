// SPDX-License-Identifier: BSD-3-Clause
// Sending: frames go into open datagrams, and datagrams to the network.
#include <string.h>

#include "../../../other/base/clock.h"
#include "../../../other/base/modules/observed.h"
#include "udp_send.h"
#include "udp_buffer.h"
#include "udp_place.h"
#include "udp_warn.h"

// Writes acknowledgements of everything that was received; afterwards none is due.
static void write_acks(udp_conduit_t *udp, udp_link_t *link, udp_header_t *header, uint64_t now)
{
    const uint32_t credit = atomic_load_explicit(&udp->links.credit, memory_order_relaxed);
    for (unsigned c = 0; c < UDP_CLASSES; c++) {
        header->has_ack[c] = udp_receiver_has_news(&link->receiver[c]);
        if (!header->has_ack[c])
            continue;
        udp_receiver_ack(&link->receiver[c], credit, &header->acks[c]);
        header->acks[c].held_us = (uint32_t)((now - link->owed.last_data[c]) / 1000);
        header->selective |= header->acks[c].selective;
    }
    link->owed.since = 0;
    link->owed.bytes = 0;
    link->owed.wanted = false;
}

// An outgoing datagram.
typedef struct datagram {
    udp_header_t *header;
    uint8_t *bytes;         // the encoded header, in memory directly in front of the first piece
    struct iovec pieces[3]; // of memory behind the header: frames, tail, padding
    size_t length;          // of all pieces
    unsigned count;         // of pieces
    unsigned covered;       // pieces that its proof covers: all or none
} datagram_t;

static unsigned pieces_of(struct iovec frames, const struct iovec *tail, struct iovec pieces[3])
{
    static uint8_t zeros[8];
    unsigned count = 0;
    pieces[count++] = frames;
    if (tail->iov_len)
        pieces[count++] = *tail;
    if (tail->iov_len % 8)
        pieces[count++] = (struct iovec){zeros, 8 - tail->iov_len % 8};
    return count;
}

// Reads memory that the kernel could not read, because the target of a get does not exist: this
// ends the job with the same signal as any such access.
static void memory_touch(const struct iovec *memory)
{
    for (size_t i = 0; i < memory->iov_len; i++)
        (void)((const volatile char *)memory->iov_base)[i];
}

void udp_send_batch_flush(udp_conduit_t *udp, udp_send_batch_t *batch)
{
    unsigned taken = 0;
    batch->room_used = 0;
    aq_lock_take(&udp->sending.batch_lock);
    if (udp_socket_send(&udp->socket, batch->out, batch->count, &taken) == AQ_ERR_ARG)
        memory_touch(&batch->pieces[taken][1]);
    aq_lock_drop(&udp->sending.batch_lock);
    batch->count = 0;
}

static void batch_add(udp_conduit_t *udp, const udp_link_t *link, udp_send_batch_t *batch,
                      const struct iovec *pieces, unsigned count)
{
    memcpy(batch->pieces[batch->count], pieces, count * sizeof *pieces);
    batch->out[batch->count] = (udp_outgoing_t){&link->to, batch->pieces[batch->count], count};
    if (++batch->count == UDP_SEND_BATCH)
        udp_send_batch_flush(udp, batch);
}

static aq_status_t link_send(udp_conduit_t *udp, const udp_link_t *link,
                             const udp_outgoing_t *datagram)
{
    if (__builtin_expect(link->cuts, 0))
        return udp_socket_send_cut(&udp->socket, datagram);
    return udp_socket_send_one(&udp->socket, link->connected_fd, datagram);
}

// ---- encryption ----

enum { SMALL_DATAGRAM = 1024 }; // datagrams up to this size are encrypted on the stack

// Memory for an encrypted datagram of the batch, which is valid until the batch is sent.
static uint8_t *batch_room(udp_conduit_t *udp, udp_send_batch_t *batch, size_t bytes)
{
    if (!batch->room)
        batch->room = udp_buffer_take(udp);
    if (batch->room_used + bytes > UDP_SLOT_BYTES)
        udp_send_batch_flush(udp, batch);
    uint8_t *room = batch->room->bytes + batch->room_used;
    batch->room_used += bytes;
    return room;
}

// Encrypts a datagram into `out` and sends it, or adds it to a batch. Without memory for a key the
// datagram is lost, as in the network: the flow retransmits it.
static aq_status_t sealed_send(udp_conduit_t *udp, udp_link_t *link, udp_send_batch_t *batch,
                               const datagram_t *datagram, uint8_t *out)
{
    const udp_header_t *header = datagram->header;
    const size_t head = udp_header_bytes(header);
    const struct iovec whole = {out, header->bytes};
    memcpy(out, datagram->bytes, head);
    if (!udp_seal_close(&link->sealing, header->packet, out, head, datagram->pieces,
                        datagram->covered))
        return AQ_OK;
    if (!batch)
        return link_send(udp, link, &(udp_outgoing_t){&link->to, &whole, 1});
    batch_add(udp, link, batch, &whole, 1);
    return AQ_OK;
}

static aq_status_t transmit_sealed(udp_conduit_t *udp, udp_link_t *link, udp_send_batch_t *batch,
                                   const datagram_t *datagram)
{
    uint8_t small[SMALL_DATAGRAM];
    const size_t bytes = datagram->header->bytes;
    if (batch)
        return sealed_send(udp, link, batch, datagram, batch_room(udp, batch, bytes));
    if (bytes <= sizeof small)
        return sealed_send(udp, link, NULL, datagram, small);
    udp_buffer_t *buffer = udp_buffer_take(udp);
    aq_status_t status = sealed_send(udp, link, NULL, datagram, buffer->bytes);
    udp_buffer_put(udp, buffer);
    return status;
}

// ---- headers ----

// Completes the header and writes it in front of the frames, where there is room for the longest
// one.
static void datagram_encode(udp_conduit_t *udp, udp_link_t *link, datagram_t *datagram,
                            uint64_t now)
{
    udp_header_t *header = datagram->header;
    const struct iovec *frames = &datagram->pieces[0];
    write_acks(udp, link, header, now);
    const size_t head = udp_header_bytes(header);
    datagram->bytes = (uint8_t *)frames->iov_base - head;
    header->bytes = (uint16_t)(head + datagram->length);
    header->job = udp->auth.job_tag;
    header->source = udp->ep_id;
    header->dest = link->ep_id;
    header->packet = link->packets++;
    header->checksum = 0;
    udp_header_encode(datagram->bytes, header);
    if (udp->faults)
        udp_faults_forge(udp->faults, datagram->bytes + UDP_PROOF_BYTES,
                         head - UDP_PROOF_BYTES + frames->iov_len);
    link->stats.bytes_out += header->bytes;
}

static aq_status_t datagram_transmit(udp_conduit_t *udp, udp_link_t *link, udp_send_batch_t *batch,
                                     datagram_t *datagram)
{
    struct iovec *pieces = datagram->pieces;
    if (udp->auth.mode == UDP_AUTH_ENCRYPT)
        return transmit_sealed(udp, link, batch, datagram);
    udp_auth_sign(&udp->auth, datagram->bytes, datagram->header, pieces, datagram->covered,
                  link->token_out);
    pieces[0].iov_len += (size_t)((uint8_t *)pieces[0].iov_base - datagram->bytes);
    pieces[0].iov_base = datagram->bytes;
    if (batch) {
        batch_add(udp, link, batch, pieces, datagram->count);
        return AQ_OK;
    }
    return link_send(udp, link, &(udp_outgoing_t){&link->to, pieces, datagram->count});
}

void udp_send_plain(udp_conduit_t *udp, udp_link_t *link, udp_kind_t kind, unsigned class,
                    uint32_t epoch, uint64_t now)
{
    _Alignas(8) uint8_t bytes[UDP_HEADER_MAX];
    udp_header_t header = {.kind = (uint8_t)kind, .class = (uint8_t) class, .epoch = epoch};
    datagram_t datagram = {.header = &header, .pieces = {{bytes + sizeof bytes, 0}}, .count = 1};
    datagram_encode(udp, link, &datagram, now);
    (void)datagram_transmit(udp, link, NULL, &datagram);
    link->stats.acks_out++;
}

void udp_send_epoch(udp_conduit_t *udp, udp_link_t *link, udp_kind_t kind, unsigned class,
                    uint32_t epoch, uint64_t now)
{
    for (unsigned copies = 2; copies; copies--)
        udp_send_plain(udp, link, kind, class, epoch, now);
}

static udp_header_t data_header(const udp_buffer_t *buffer, uint32_t epoch, uint64_t sequence)
{
    return (udp_header_t){.kind = UDP_DATA,
                          .class = buffer->class,
                          .wants_ack = buffer->wants_ack,
                          .epoch = epoch,
                          .sequence = sequence};
}

static aq_status_t transmit_data(udp_conduit_t *udp, udp_link_t *link, udp_send_batch_t *batch,
                                 udp_buffer_t *buffer, udp_header_t *header, uint64_t now)
{
    const struct iovec frames = {buffer->bytes + UDP_HEADER_MAX, buffer->used - UDP_HEADER_MAX};
    datagram_t datagram;
    datagram.header = header;
    datagram.length = frames.iov_len + udp_round_up(buffer->tail.iov_len);
    datagram.count = datagram.covered = pieces_of(frames, &buffer->tail, datagram.pieces);
    link->stats.datagrams_out++;
    link->cuts = udp_path_cuts(&link->path, udp_buffer_bytes(buffer), buffer->sends);
    buffer->sends += buffer->sends < UINT8_MAX;
    datagram_encode(udp, link, &datagram, now);
    const aq_status_t status = datagram_transmit(udp, link, link->cuts ? NULL : batch, &datagram);
    link->cuts = false;
    return status;
}

void udp_send_again(udp_conduit_t *udp, udp_link_t *link, const udp_action_t *action, uint64_t now)
{
    udp_buffer_t *buffer = action->datagram;
    udp_header_t header = data_header(buffer, action->epoch, action->sequence);
    (void)transmit_data(udp, link, NULL, buffer, &header, now);
    if (udp_path_is_blocked(&link->path, udp_buffer_bytes(buffer), buffer->sends))
        udp_watch_warn_of_block(udp, link, udp_buffer_bytes(buffer));
    link->stats.resent++;
    aq_observed(AQ_OBSERVED_RETRANSMISSION, link->rank, action->bytes);
}

// ---- open datagrams ----

static void add_dirty(udp_conduit_t *udp, udp_link_t *link)
{
    link->open.dirty = true;
    aq_lock_take(&udp->sending.dirty_lock);
    link->open.next_dirty = udp->sending.dirty;
    udp->sending.dirty = link;
    atomic_store_explicit(&udp->sending.any_dirty, true, memory_order_release);
    aq_lock_drop(&udp->sending.dirty_lock);
}

// Sends a datagram for which the flow has room, and registers it with the flow after that: a peer
// waits for the datagram, but not for the registration.
static aq_status_t send_first(udp_conduit_t *udp, udp_link_t *link, udp_send_batch_t *batch,
                              udp_buffer_t *buffer, uint64_t now)
{
    udp_sender_t *sender = &link->sender[buffer->class];
    const uint32_t bytes = (uint32_t)udp_buffer_bytes(buffer);
    udp_header_t header =
        data_header(buffer, udp_sender_epoch(sender), udp_sender_sequence(sender));
    aq_status_t status = transmit_data(udp, link, batch, buffer, &header, now);
    udp_sender_add(sender, buffer, bytes, now);
    udp_links_due(udp, udp_sender_deadline(sender));
    link->stats.frames_out += buffer->frames;
    return status;
}

// Sends the open datagram of a class; false: the flow has no room.
static bool close_datagram(udp_conduit_t *udp, udp_link_t *link, unsigned class, uint64_t now)
{
    udp_buffer_t *buffer = link->open.datagram[class];
    if (!buffer)
        return true;
    if (!udp_sender_room(&link->sender[class], buffer->used))
        return false;
    link->open.datagram[class] = NULL;
    link->open.closed += class == UDP_REQUESTS;
    (void)send_first(udp, link, NULL, buffer, now);
    return true;
}

// A flow without room, or one that requests its next epoch, keeps the open datagram for now.
bool udp_requests_flushed(aq_conduit_t *conduit, void *pointer, uint64_t *mark)
{
    (void)conduit;
    udp_link_t *link = pointer;
    aq_lock_take(&link->lock);
    if (*mark == 0)
        *mark = link->open.closed + (link->open.datagram[UDP_REQUESTS] != NULL);
    bool left = link->open.closed >= *mark;
    aq_lock_drop(&link->lock);
    return left;
}

static udp_buffer_t *new_datagram(udp_conduit_t *udp, udp_link_t *link, unsigned class)
{
    udp_buffer_t *buffer = udp_buffer_take(udp);
    buffer->class = (uint8_t) class;
    buffer->used = UDP_HEADER_MAX;
    buffer->frames = buffer->completion_count = 0;
    buffer->wants_ack = false;
    buffer->sends = 0;
    buffer->link = link;
    buffer->tail.iov_len = 0;
    return buffer;
}

static udp_buffer_t *open_datagram(udp_conduit_t *udp, udp_link_t *link, unsigned class)
{
    udp_buffer_t *buffer = new_datagram(udp, link, class);
    link->open.datagram[class] = buffer;
    if (!link->open.dirty)
        add_dirty(udp, link);
    return buffer;
}

static bool has_room_for_completion(const udp_buffer_t *buffer, const atomic_uint *pending)
{
    return !pending || buffer->completion_count < UDP_PUT_COMPLETIONS ||
           buffer->completions[buffer->completion_count - 1].pending == pending;
}

void udp_buffer_add_completion(udp_buffer_t *buffer, atomic_uint *pending)
{
    atomic_fetch_add_explicit(pending, 1, memory_order_release);
    if (buffer->completion_count &&
        buffer->completions[buffer->completion_count - 1].pending == pending)
        buffer->completions[buffer->completion_count - 1].count++;
    else
        buffer->completions[buffer->completion_count++] = (udp_put_completion_t){pending, 1};
}

udp_buffer_t *udp_datagram_for(udp_conduit_t *udp, udp_link_t *link, unsigned class, size_t bytes,
                               atomic_uint *pending)
{
    udp_buffer_t *buffer = link->open.datagram[class];
    if (buffer && buffer->used + bytes <= link->datagram_bytes &&
        has_room_for_completion(buffer, pending))
        return buffer;
    if (buffer && !close_datagram(udp, link, class, aq_clock_ns()))
        return NULL;
    return open_datagram(udp, link, class);
}

bool udp_send_single(udp_conduit_t *udp, udp_link_t *link, const udp_rma_t *rma, udp_single_t how,
                     uint64_t now)
{
    const unsigned class = rma->type == UDP_FRAME_GOT ? UDP_REPLIES : UDP_REQUESTS;
    const size_t front = udp_rma_front(rma->type), bytes = udp_rma_bytes(rma->type, rma->nbytes);
    if (!udp_sender_room(&link->sender[class], (uint32_t)(UDP_HEADER_MAX + bytes)))
        return false;
    udp_buffer_t *buffer = new_datagram(udp, link, class);
    udp_rma_t written = *rma;
    if (how.in_place) {
        buffer->tail = (struct iovec){(void *)(uintptr_t)rma->payload, rma->nbytes};
        written.payload = NULL;
    }
    udp_rma_write(buffer->bytes + UDP_HEADER_MAX, &written);
    buffer->used += (uint32_t)(how.in_place ? front : bytes);
    buffer->frames = 1;
    buffer->wants_ack = how.wants_ack;
    if (how.pending)
        udp_buffer_add_completion(buffer, how.pending);
    if (send_first(udp, link, how.batch, buffer, now) == AQ_ERR_ARG)
        memory_touch(&buffer->tail);
    return true;
}

aq_status_t udp_send(aq_conduit_t *conduit, void *pointer, const aq_am_t *am)
{
    udp_conduit_t *udp = udp_of(conduit);
    udp_link_t *link = pointer;
    const unsigned class = am->reply ? UDP_REPLIES : UDP_REQUESTS;
    const size_t bytes = udp_frame_bytes(am->category, am->nargs, am->nbytes);
    aq_lock_take(&link->lock);
    udp_buffer_t *buffer = udp_datagram_for(udp, link, class, bytes, NULL);
    if (buffer) {
        uint64_t place =
            am->category == AQ_AM_LONG ? udp_place_of_long(udp, link->rank, am) : (uint64_t)0;
        udp_frame_write(buffer->bytes + buffer->used, am, place);
        buffer->used += (uint32_t)bytes;
        buffer->frames++;
    }
    aq_lock_drop(&link->lock);
    return buffer ? AQ_OK : AQ_AGAIN;
}

static udp_link_t *take_dirty(udp_conduit_t *udp)
{
    aq_lock_take(&udp->sending.dirty_lock);
    udp_link_t *links = udp->sending.dirty;
    udp->sending.dirty = NULL;
    atomic_store_explicit(&udp->sending.any_dirty, false, memory_order_relaxed);
    aq_lock_drop(&udp->sending.dirty_lock);
    return links;
}

// Links whose flows have no room stay in the list.
void udp_flush_dirty(udp_conduit_t *udp, uint64_t *time)
{
    const uint64_t now = udp_time(time);
    for (udp_link_t *link = take_dirty(udp), *next; link; link = next) {
        aq_lock_take(&link->lock);
        next = link->open.next_dirty;
        link->open.dirty = false;
        if (link->open.datagram[UDP_REQUESTS]) // the polling thread may wait for the puts in it
            link->open.datagram[UDP_REQUESTS]->wants_ack =
                link->open.datagram[UDP_REQUESTS]->completion_count;
        bool all = close_datagram(udp, link, UDP_REPLIES, now);
        if (!close_datagram(udp, link, UDP_REQUESTS, now) || !all)
            add_dirty(udp, link);
        aq_lock_drop(&link->lock);
    }
}
