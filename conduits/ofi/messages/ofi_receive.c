// SPDX-License-Identifier: BSD-3-Clause
// Receiving: packets wait in the queue of their class until a poll runs the handlers.
#include <stdlib.h>
#include <string.h>

#include "../../../core/aqueduct.h"
#include "../../../core/ground/fatal.h"
#include "../../../other/base/modules/observed.h"
#include "../rma/ofi_ondemand.h"

enum { DELIVER_MAX = 8 }; // packets in a poll

// ---- the queues ----

static ofi_arrived_t *arrived_new(ofi_conduit_t *ofi)
{
    ofi_arrived_t *arrived = ofi->queues.free;
    if (arrived) {
        ofi->queues.free = arrived->next;
        return arrived;
    }
    arrived = malloc(sizeof *arrived);
    if (!arrived)
        aq_fatal("out of memory for a message of conduit ofi (%zu bytes)", sizeof *arrived);
    return arrived;
}

static void queue_push(ofi_conduit_t *ofi, ofi_arrived_t *arrived)
{
    ofi_queue_t *queue = &ofi->queues.of[arrived->class];
    arrived->next = NULL;
    *queue->last = arrived;
    queue->last = &arrived->next;
    atomic_fetch_add_explicit(&ofi->queues.waiting, 1, memory_order_relaxed);
}

// Takes the oldest packet of a class in `what`, replies first; NULL: there is none.
static ofi_arrived_t *queue_pop(ofi_conduit_t *ofi, unsigned what)
{
    ofi_queue_t *queue = &ofi->queues.of[OFI_REPLIES];
    if (!queue->first && (what & AQ_POLL_REQUESTS))
        queue = &ofi->queues.of[OFI_REQUESTS];
    ofi_arrived_t *arrived = queue->first;
    if (!arrived)
        return NULL;
    queue->first = arrived->next;
    if (!queue->first)
        queue->last = &queue->first;
    atomic_fetch_sub_explicit(&ofi->queues.waiting, 1, memory_order_relaxed);
    return arrived;
}

// ---- arrival ----

void ofi_drop_foreign(ofi_conduit_t *ofi)
{
    ofi->counts.foreign++;
    aq_observed(AQ_OBSERVED_DROP, AQ_OBSERVED_NO_PEER, GASNETX_DROP_FOREIGN);
}

// The packet of another job, or of a program that is not ours, has no effect.
static void packet_accept(ofi_conduit_t *ofi, ofi_inbox_t *inbox, char *packet, size_t bytes)
{
    ofi_header_t header;
    if (!ofi_header_read(packet, bytes, ofi->job, ofi->base.env->size, &header)) {
        ofi_drop_foreign(ofi);
        return;
    }
    ofi_link_t *link = ofi_link_get(ofi, header.source);
    if (!link)
        aq_fatal("conduit ofi cannot answer rank %u", header.source);
    if (!aq_credit_give(&link->credit, header.credits))
        aq_fatal("rank %u returns %u credits, more than it holds", link->rank, header.credits);
    link->moved = true;
    ofi_arrived_t *arrived = arrived_new(ofi);
    *arrived = (ofi_arrived_t){.inbox = inbox,
                               .link = link,
                               .bytes = packet,
                               .size = (uint32_t)bytes,
                               .ran = sizeof header,
                               .batch = header.batch,
                               .class = header.class};
    inbox->uses++;
    queue_push(ofi, arrived);
    ofi->counts.received_packets++;
}

void ofi_received(ofi_conduit_t *ofi, ofi_inbox_t *inbox, char *packet, size_t bytes, bool is_full)
{
    if ((uintptr_t)packet % 8)
        aq_fatal("provider %s puts messages at odd addresses; choose another one with "
                 "GASNET_OFI_PROVIDER",
                 ofi->fabric.info->fabric_attr->prov_name);
    if (bytes)
        packet_accept(ofi, inbox, packet, bytes);
    if (is_full)
        ofi_inbox_replace(&ofi->buffers, inbox);
}

// ---- frames ----

static _Noreturn void fail_malformed(const ofi_link_t *link)
{
    aq_fatal("a message from rank %u is not one of conduit ofi; start all ranks with the same "
             "version of the library",
             link->rank);
}

// The frame of a request uses a credit of the peer until it is answered.
static void request_count(const ofi_conduit_t *ofi, ofi_link_t *link)
{
    if (++link->taken > ofi->limits.each)
        aq_fatal("rank %u has %u requests under way, and credits for %u only", link->rank,
                 link->taken, ofi->limits.each);
}

// Verifies a destination before anything is written.
static void place_check(const ofi_conduit_t *ofi, const ofi_link_t *link,
                        const ofi_frame_read_t *read, const char *what)
{
    if (!ofi->base.env->segment_holds((void *)(uintptr_t)read->dest, read->frame.bytes))
        aq_fatal("a %s of rank %u (%u bytes to %p) is not inside a segment of this process", what,
                 link->rank, read->frame.bytes, (void *)(uintptr_t)read->dest);
}

static void payload_place(const ofi_conduit_t *ofi, const ofi_link_t *link, ofi_frame_read_t *read,
                          const char *what)
{
    place_check(ofi, link, read, what);
    if (read->frame.bytes)
        memcpy((void *)(uintptr_t)read->dest, read->payload, read->frame.bytes);
    read->payload = (char *)(uintptr_t)read->dest;
}

// Makes a Long of one whose payload was put before.
static void put_long_read(const ofi_conduit_t *ofi, const ofi_link_t *link, ofi_frame_read_t *read)
{
    uint64_t length;
    if (read->frame.bytes != sizeof length)
        fail_malformed(link);
    memcpy(&length, read->payload, sizeof length);
    if (length > UINT32_MAX)
        fail_malformed(link);
    read->frame.bytes = (uint32_t)length;
    place_check(ofi, link, read, "Long");
    read->frame.kind = AQ_AM_LONG;
    read->payload = (char *)(uintptr_t)read->dest;
}

// Runs the handler of a message. Returns whether credits have to be returned.
static bool message_deliver(ofi_conduit_t *ofi, ofi_arrived_t *arrived, ofi_frame_read_t *read)
{
    ofi_link_t *link = arrived->link;
    const bool reply = arrived->class == OFI_REPLIES;
    const aq_return_path_t path = {.conduit = &ofi->base, .link = link};
    if (read->frame.kind == AQ_AM_LONG)
        payload_place(ofi, link, read, "Long");
    else if (read->frame.kind == OFI_LONG_PUT)
        put_long_read(ofi, link, read);
    const aq_arrival_t arrival = {.args = read->args,
                                  .payload = read->payload,
                                  .nbytes = read->frame.bytes,
                                  .path = &path,
                                  .source = link->rank,
                                  .category = read->frame.kind,
                                  .handler = read->frame.handler,
                                  .nargs = read->frame.nargs,
                                  .reply = reply};
    const bool replied = ofi->base.env->deliver(&arrival);
    return !reply && !replied && aq_credit_bank(&link->credit);
}

// Under the lock.
static void batch_finish(ofi_conduit_t *ofi, const ofi_link_t *link, const ofi_frame_read_t *read)
{
    if (read->frame.nargs != 1 || !ofi_batch_done(ofi, link, (uint32_t)read->args[0]))
        fail_malformed(link);
}

// What has to happen under the lock before a frame is delivered.
static void frame_account(ofi_conduit_t *ofi, ofi_arrived_t *arrived, const ofi_frame_read_t *read)
{
    ofi_link_t *link = arrived->link;
    const bool is_put = read->frame.kind == OFI_PUT;
    if (arrived->class == OFI_REPLIES) {
        if (is_put || !aq_credit_give(&link->credit, 1))
            fail_malformed(link);
        if (read->frame.kind == OFI_PUTS_DONE)
            batch_finish(ofi, link, read);
    } else if (is_put ? !arrived->batch : read->frame.kind == OFI_PUTS_DONE) {
        fail_malformed(link);
    } else if (!is_put) {
        request_count(ofi, link);
    }
    ofi->counts.received_messages++;
}

static void frame_deliver(ofi_conduit_t *ofi, ofi_arrived_t *arrived)
{
    ofi_frame_read_t read;
    const size_t next = ofi_frame_parse(arrived->bytes, arrived->size, arrived->ran, &read);
    if (!next)
        fail_malformed(arrived->link);
    arrived->ran = (uint32_t)next;
    aq_lock_take(&ofi->lock);
    frame_account(ofi, arrived, &read);
    aq_lock_drop(&ofi->lock);
    if (read.frame.kind == OFI_PUT) {
        payload_place(ofi, arrived->link, &read, "put");
    } else if (read.frame.kind == OFI_FIREHOSE || read.frame.kind == OFI_FETCH) {
        if (!ofi_ondemand_arrived(ofi, arrived->link, &read, arrived->class == OFI_REPLIES))
            fail_malformed(arrived->link);
    } else if ((read.frame.kind < AQ_AM_CONTROL || read.frame.kind == OFI_LONG_PUT) &&
               message_deliver(ofi, arrived, &read)) {
        aq_lock_take(&ofi->lock);
        ofi_owe_credits(ofi, arrived->link);
        aq_lock_drop(&ofi->lock);
    }
}

// ---- packets ----

// Under the lock. The puts of a packet are one request.
static void packet_finish(ofi_conduit_t *ofi, ofi_arrived_t *arrived)
{
    const int32_t batch = (int32_t)arrived->batch;
    if (batch) {
        request_count(ofi, arrived->link);
        ofi_send_own(ofi, arrived->link, OFI_REPLIES,
                     &(ofi_frame_t){.kind = OFI_PUTS_DONE, .nargs = 1}, &batch, NULL);
    }
    ofi_inbox_drop(&ofi->buffers, arrived->inbox);
    arrived->next = ofi->queues.free;
    ofi->queues.free = arrived;
}

static unsigned packet_deliver(ofi_conduit_t *ofi, ofi_arrived_t *arrived)
{
    unsigned frames = 1;
    for (; arrived->ran < arrived->size; frames++)
        frame_deliver(ofi, arrived);
    aq_lock_take(&ofi->lock);
    packet_finish(ofi, arrived);
    aq_lock_drop(&ofi->lock);
    return frames;
}

unsigned ofi_deliver(ofi_conduit_t *ofi, unsigned what)
{
    unsigned done = 0;
    for (unsigned i = 0; i < DELIVER_MAX; i++) {
        if (!atomic_load_explicit(&ofi->queues.waiting, memory_order_relaxed))
            break;
        aq_lock_take(&ofi->lock);
        ofi_arrived_t *arrived = queue_pop(ofi, what);
        aq_lock_drop(&ofi->lock);
        if (!arrived)
            break;
        done += packet_deliver(ofi, arrived);
    }
    return done;
}
