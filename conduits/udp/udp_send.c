// The way out: frames into open datagrams, and datagrams into the network.
#include <string.h>

#include "../../other/clock.h"
#include "udp_conduit.h"

// Both acknowledgements ride on each datagram; after it nothing is owed.
static void write_acks(udp_conduit_t *udp, udp_link_t *link, udp_header_t *header, uint64_t now)
{
    const uint32_t credit = atomic_load_explicit(&udp->credit, memory_order_relaxed);
    for (unsigned c = 0; c < UDP_CLASSES; c++) {
        udp_receiver_ack(&link->receiver[c], credit, &header->acks[c]);
        header->acks[c].held_us = (uint32_t)((now - link->came[c]) / 1000);
    }
    link->owed_since = 0;
    link->owed_bytes = 0;
}

static void transmit(udp_conduit_t *udp, udp_link_t *link, uint8_t *datagram, udp_header_t *header,
                     uint64_t now)
{
    const unsigned frames = header->bytes - UDP_HEADER_BYTES;
    struct iovec payload = {datagram + UDP_HEADER_BYTES, frames};
    header->job = udp->auth.job_tag;
    header->source = udp->base.env->rank;
    header->dest = link->rank;
    write_acks(udp, link, header, now);
    header->checksum = udp_auth_checksum(&udp->auth, &payload, frames != 0);
    udp_header_encode(datagram, header);
    udp_auth_sign(&udp->auth, datagram, UDP_HASHED_BYTES, &payload, frames != 0,
                  udp_header_hash(datagram));
    aq_lock_take(&udp->send_lock);
    udp_socket_send_one(&udp->socket, link->door, &link->to, datagram, header->bytes);
    aq_lock_drop(&udp->send_lock);
    link->stats.bytes_out += header->bytes;
}

void udp_send_plain(udp_conduit_t *udp, udp_link_t *link, udp_kind_t kind, unsigned class,
                    uint32_t epoch, uint64_t now)
{
    uint8_t datagram[UDP_HEADER_BYTES];
    udp_header_t header = {
        .kind = (uint8_t)kind, .class = (uint8_t) class, .bytes = UDP_HEADER_BYTES, .epoch = epoch};
    transmit(udp, link, datagram, &header, now);
    link->stats.acks_out++;
}

static void transmit_data(udp_conduit_t *udp, udp_link_t *link, const udp_buffer_t *buffer,
                          uint32_t epoch, uint64_t sequence, uint64_t now)
{
    udp_header_t header = {.kind = UDP_DATA,
                           .class = buffer->class,
                           .bytes = (uint16_t)buffer->used,
                           .epoch = epoch,
                           .sequence = sequence};
    transmit(udp, link, buffer->bytes, &header, now);
    link->stats.datagrams_out++;
}

void udp_send_again(udp_conduit_t *udp, udp_link_t *link, const udp_action_t *action, uint64_t now)
{
    transmit_data(udp, link, action->datagram, action->epoch, action->sequence, now);
    link->stats.resent++;
}

// ---- open datagrams ----

static void add_dirty(udp_conduit_t *udp, udp_link_t *link)
{
    link->dirty = true;
    aq_lock_take(&udp->dirty_lock);
    link->next_dirty = udp->dirty;
    udp->dirty = link;
    atomic_store_explicit(&udp->any_dirty, true, memory_order_release);
    aq_lock_drop(&udp->dirty_lock);
}

// Sends the open datagram of a class, if the flow has room.
static bool close_datagram(udp_conduit_t *udp, udp_link_t *link, unsigned class, uint64_t now)
{
    udp_buffer_t *buffer = link->open[class];
    udp_sender_t *sender = &link->sender[class];
    if (!buffer)
        return true;
    if (!udp_sender_room(sender, buffer->used))
        return false;
    link->open[class] = NULL;
    link->stats.frames_out += buffer->frames;
    uint64_t sequence = udp_sender_add(sender, buffer, buffer->used, now);
    transmit_data(udp, link, buffer, udp_sender_epoch(sender), sequence, now);
    udp_links_due(udp, udp_sender_deadline(sender));
    return true;
}

static udp_buffer_t *open_datagram(udp_conduit_t *udp, udp_link_t *link, unsigned class)
{
    udp_buffer_t *buffer = udp_buffer_take(udp);
    if (!buffer)
        return NULL;
    buffer->class = (uint8_t) class;
    buffer->used = UDP_HEADER_BYTES;
    buffer->frames = 0;
    link->open[class] = buffer;
    if (!link->dirty)
        add_dirty(udp, link);
    return buffer;
}

// The open datagram of a class with room for a frame, a new one if the last is full. NULL: the flow
// has no room for that one, or memory is out.
static udp_buffer_t *datagram_for(udp_conduit_t *udp, udp_link_t *link, unsigned class,
                                  size_t bytes)
{
    udp_buffer_t *buffer = link->open[class];
    if (buffer && buffer->used + bytes <= link->datagram_bytes)
        return buffer;
    if (buffer && !close_datagram(udp, link, class, aq_clock_ns()))
        return NULL;
    return open_datagram(udp, link, class);
}

aq_status_t udp_send(aq_conduit_t *conduit, void *pointer, const aq_am_t *am)
{
    udp_conduit_t *udp = udp_of(conduit);
    udp_link_t *link = pointer;
    const unsigned class = am->reply ? UDP_REPLIES : UDP_REQUESTS;
    const size_t bytes = udp_frame_bytes(am->category, am->nargs, am->nbytes);
    aq_lock_take(&link->lock);
    udp_buffer_t *buffer = datagram_for(udp, link, class, bytes);
    if (buffer) {
        udp_frame_write(buffer->bytes + buffer->used, am);
        buffer->used += (uint32_t)bytes;
        buffer->frames++;
    }
    aq_lock_drop(&link->lock);
    return buffer ? AQ_OK : AQ_AGAIN;
}

static udp_link_t *take_dirty(udp_conduit_t *udp)
{
    aq_lock_take(&udp->dirty_lock);
    udp_link_t *links = udp->dirty;
    udp->dirty = NULL;
    atomic_store_explicit(&udp->any_dirty, false, memory_order_relaxed);
    aq_lock_drop(&udp->dirty_lock);
    return links;
}

// Links whose flows have no room stay in the list.
void udp_flush(udp_conduit_t *udp)
{
    if (!atomic_load_explicit(&udp->any_dirty, memory_order_acquire))
        return;
    const uint64_t now = aq_clock_ns();
    for (udp_link_t *link = take_dirty(udp), *next; link; link = next) {
        aq_lock_take(&link->lock);
        next = link->next_dirty;
        link->dirty = false;
        bool all = close_datagram(udp, link, UDP_REPLIES, now);
        if (!close_datagram(udp, link, UDP_REQUESTS, now) || !all)
            add_dirty(udp, link);
        aq_lock_drop(&link->lock);
    }
}
