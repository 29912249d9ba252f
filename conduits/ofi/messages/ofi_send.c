// SPDX-License-Identifier: BSD-3-Clause
// Sending: frames go into open packets, and packets to the provider.
#include <string.h>

#include "../state/ofi_state.h"

// ---- to the provider ----

static unsigned header_write(const ofi_conduit_t *ofi, ofi_link_t *link, unsigned class,
                             const ofi_packet_t *packet)
{
    const unsigned credits = aq_credit_collect(&link->credit, UINT16_MAX);
    const ofi_header_t header = {.job = ofi->job,
                                 .source = ofi->base.env->rank,
                                 .credits = (uint16_t)credits,
                                 .version = OFI_WIRE_VERSION,
                                 .class = (uint8_t) class,
                                 .batch = packet->batch};
    memcpy(packet->bytes, &header, sizeof header);
    return credits;
}

// A packet that is injected is free again.
static int packet_inject(ofi_conduit_t *ofi, const ofi_link_t *link, ofi_packet_t *packet)
{
    const int error =
        (int)fi_inject(ofi->fabric.endpoint, packet->bytes, packet->used, link->address);
    if (!error)
        ofi_packet_give(&ofi->buffers, packet);
    return error;
}

// Returns what libfabric returns.
static int packet_transmit(ofi_conduit_t *ofi, const ofi_link_t *link, unsigned class,
                           ofi_packet_t *packet)
{
    ofi_fabric_t *fabric = &ofi->fabric;
    int error;
    if (packet->used <= fabric->traits.inject_most) {
        error = packet_inject(ofi, link, packet);
        if (!error || !ofi_fabric_injects_no_more(fabric, error))
            return error;
    }
    if (class == OFI_REQUESTS && ofi->sends >= ofi->sends_most)
        return -FI_EAGAIN; // the rest is for replies
    error = (int)fi_send(fabric->endpoint, packet->bytes, packet->used, packet->descriptor,
                         link->address, packet);
    if (!error)
        ofi->sends += class == OFI_REQUESTS;
    return error;
}

// A packet to a dead peer counts as sent.
static void packet_discard(ofi_conduit_t *ofi, ofi_link_t *link, ofi_packet_t *packet, int error)
{
    if (!link->dead)
        ofi_link_failed(ofi, link, error);
    ofi_packet_give(&ofi->buffers, packet);
}

static void outbox_pop(ofi_outbox_t *out, ofi_packet_t *next)
{
    out->first = next;
    if (!next)
        out->last = NULL;
}

// Sends the first packet of a class; false: the provider does not take it now. A packet that was
// refused is dropped if it is empty by now, because a request took its credits along: the peer does
// not expect an empty one.
static bool packet_send(ofi_conduit_t *ofi, ofi_link_t *link, unsigned class)
{
    ofi_outbox_t *out = &link->out[class];
    ofi_packet_t *packet = out->first, *next = packet->next;
    const unsigned credits = header_write(ofi, link, class, packet);
    if (!credits && packet->used == sizeof(ofi_header_t)) {
        ofi_packet_give(&ofi->buffers, packet);
        outbox_pop(out, next);
        return true;
    }
    const int error = link->dead ? -FI_ENOTCONN : packet_transmit(ofi, link, class, packet);
    if (error == -FI_EAGAIN) {
        aq_credit_return(&link->credit, credits);
        return false;
    }
    link->moved = true;
    if (error)
        packet_discard(ofi, link, packet, -error);
    outbox_pop(out, next);
    link->taken -= credits;
    link->left += class == OFI_REQUESTS;
    ofi->counts.packets++;
    return true;
}

// Sends all packets of a class; false: the provider does not take all of them now.
static bool outbox_send(ofi_conduit_t *ofi, ofi_link_t *link, unsigned class)
{
    while (link->out[class].first)
        if (!packet_send(ofi, link, class))
            return false;
    return true;
}

// ---- open packets ----

static void link_mark(ofi_conduit_t *ofi, ofi_link_t *link)
{
    if (link->dirty)
        return;
    link->dirty = true;
    link->next_dirty = ofi->dirty;
    ofi->dirty = link;
}

// The packets before the new one are full, and leave.
static ofi_packet_t *packet_open(ofi_conduit_t *ofi, ofi_link_t *link, unsigned class)
{
    ofi_outbox_t *out = &link->out[class];
    (void)outbox_send(ofi, link, class);
    ofi_packet_t *packet = ofi_packet_take(&ofi->buffers);
    packet->op.link = link;
    if (out->last)
        out->last->next = packet;
    else
        out->first = packet;
    out->last = packet;
    link->sent += class == OFI_REQUESTS;
    link_mark(ofi, link);
    return packet;
}

// The open packet of a class, if a frame of this length fits; NULL: it does not.
static ofi_packet_t *packet_with_room(const ofi_conduit_t *ofi, const ofi_link_t *link,
                                      unsigned class, size_t bytes)
{
    ofi_packet_t *packet = link->out[class].last;
    return packet && packet->used + bytes <= ofi->packet_bytes ? packet : NULL;
}

// Returns where to write a frame, in the open packet of a class.
static char *frame_reserve(ofi_conduit_t *ofi, ofi_link_t *link, unsigned class,
                           const ofi_frame_t *frame)
{
    const size_t bytes = ofi_frame_bytes(frame->kind, frame->nargs, frame->bytes);
    ofi_packet_t *packet = packet_with_room(ofi, link, class, bytes);
    if (!packet)
        packet = packet_open(ofi, link, class);
    char *at = packet->bytes + packet->used;
    packet->used += (uint32_t)bytes;
    link->taken -= class == OFI_REPLIES; // a reply returns the credit of its request
    return at;
}

// ---- messages ----

aq_status_t ofi_send(aq_conduit_t *conduit, void *pointer, const aq_am_t *am)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    ofi_link_t *link = pointer;
    const uint64_t length = am->category == AQ_AM_SHORT ? 0 : am->nbytes;
    const ofi_frame_t frame = {.kind = am->payload_delivered ? OFI_LONG_PUT : am->category,
                               .handler = am->handler,
                               .nargs = am->nargs,
                               .bytes = am->payload_delivered ? (uint32_t)sizeof length
                                                              : (uint32_t)length};
    if (!am->reply && !aq_credit_take(&link->credit))
        return AQ_AGAIN;
    aq_lock_take(&ofi->lock);
    char *at = frame_reserve(ofi, link, am->reply ? OFI_REPLIES : OFI_REQUESTS, &frame);
    ofi_frame_write(at, &frame, am->args, am->dest, am->payload_delivered ? &length : am->payload);
    ofi->counts.messages++;
    aq_lock_drop(&ofi->lock);
    return AQ_OK;
}

bool ofi_requests_flushed(aq_conduit_t *conduit, void *pointer, uint64_t *mark)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    ofi_link_t *link = pointer;
    aq_lock_take(&ofi->lock);
    if (*mark == 0)
        *mark = link->sent;
    const bool left = link->left >= *mark;
    aq_lock_drop(&ofi->lock);
    return left;
}

void ofi_send_own(ofi_conduit_t *ofi, ofi_link_t *link, unsigned class, const ofi_frame_t *frame,
                  const int32_t *args, const void *payload)
{
    ofi_frame_write(frame_reserve(ofi, link, class, frame), frame, args, NULL, payload);
}

void ofi_owe_credits(ofi_conduit_t *ofi, ofi_link_t *link)
{
    link->credits_due = true;
    link_mark(ofi, link);
}

// ---- puts ----

// There are as many batches as requests may be under way, and each has the credit of one.
static ofi_batch_t *batch_new(ofi_conduit_t *ofi, ofi_link_t *link, uint32_t *number)
{
    ofi_batches_t *batches = &ofi->batches;
    unsigned i = batches->next;
    while (batches->list[i].link)
        i = (i + 1) % OFI_REQUESTS_MAX;
    batches->next = (i + 1) % OFI_REQUESTS_MAX;
    batches->list[i].link = link;
    batches->used++;
    batches->list[i].count = 0;
    *number = i + 1;
    return &batches->list[i];
}

// False: the batch has no place for one more counter.
static bool batch_add(ofi_batch_t *batch, atomic_uint *pending)
{
    const unsigned last = batch->count - 1;
    if (batch->count && batch->counters[last].pending == pending) {
        batch->counters[last].puts++;
    } else {
        if (batch->count == OFI_BATCH_PUTS)
            return false;
        batch->counters[batch->count].pending = pending;
        batch->counters[batch->count++].puts = 1;
    }
    aq_counter_add(pending, 1);
    return true;
}

// Adds a put to the batch of the open packet; false: it has none, or the batch is full.
static bool batch_join(ofi_conduit_t *ofi, const ofi_link_t *link, size_t bytes,
                       atomic_uint *pending)
{
    const ofi_packet_t *packet = packet_with_room(ofi, link, OFI_REQUESTS, bytes);
    return packet && packet->batch && batch_add(&ofi->batches.list[packet->batch - 1], pending);
}

// Begins a batch, in the open packet if that has none, else in a new one. False: no credit.
static bool batch_begin(ofi_conduit_t *ofi, ofi_link_t *link, size_t bytes, atomic_uint *pending)
{
    if (!aq_credit_take(&link->credit))
        return false;
    ofi_packet_t *packet = packet_with_room(ofi, link, OFI_REQUESTS, bytes);
    if (!packet || packet->batch)
        packet = packet_open(ofi, link, OFI_REQUESTS);
    return batch_add(batch_new(ofi, link, &packet->batch), pending);
}

aq_status_t ofi_send_put(ofi_conduit_t *ofi, ofi_link_t *link, aq_rma_t *put)
{
    const ofi_frame_t frame = {.kind = OFI_PUT, .bytes = (uint32_t)put->nbytes};
    const size_t bytes = ofi_frame_bytes(OFI_PUT, 0, put->nbytes);
    aq_lock_take(&ofi->lock);
    const bool begun =
        batch_join(ofi, link, bytes, put->pending) || batch_begin(ofi, link, bytes, put->pending);
    if (begun) {
        ofi_frame_write(frame_reserve(ofi, link, OFI_REQUESTS, &frame), &frame, NULL, put->remote,
                        put->local);
        ofi->counts.puts++;
    }
    aq_lock_drop(&ofi->lock);
    if (begun)
        aq_rma_advance(put, put->nbytes);
    return begun ? AQ_OK : AQ_AGAIN;
}

bool ofi_batch_done(ofi_conduit_t *ofi, const ofi_link_t *link, uint32_t number)
{
    if (number - 1 >= OFI_REQUESTS_MAX || ofi->batches.list[number - 1].link != link)
        return false;
    ofi_batch_t *batch = &ofi->batches.list[number - 1];
    for (unsigned i = 0; i < batch->count; i++)
        aq_counter_add(batch->counters[i].pending, -batch->counters[i].puts);
    batch->link = NULL;
    ofi->batches.used--;
    return true;
}

// ---- flushing ----

// Replies go first. Credits that no packet takes along get an empty one.
static bool link_flush(ofi_conduit_t *ofi, ofi_link_t *link)
{
    if (link->credits_due && aq_credit_due(&link->credit) && !link->out[OFI_REPLIES].first)
        (void)packet_open(ofi, link, OFI_REPLIES);
    link->credits_due = false;
    const bool replied = outbox_send(ofi, link, OFI_REPLIES);
    return outbox_send(ofi, link, OFI_REQUESTS) && replied;
}

unsigned ofi_flush(ofi_conduit_t *ofi)
{
    const uint64_t before = ofi->counts.packets;
    ofi_link_t *link = ofi->dirty, *next;
    ofi->dirty = NULL;
    for (; link; link = next) {
        next = link->next_dirty;
        link->dirty = false;
        if (!link_flush(ofi, link))
            link_mark(ofi, link);
    }
    return (unsigned)(ofi->counts.packets - before);
}

void ofi_sent(ofi_conduit_t *ofi, ofi_packet_t *packet)
{
    ofi_header_t header;
    memcpy(&header, packet->bytes, sizeof header);
    ofi->sends -= header.class == OFI_REQUESTS;
    ofi_packet_give(&ofi->buffers, packet);
}
