// SPDX-License-Identifier: BSD-3-Clause
// Cuts slabs of registered memory into packets and inboxes. ofi_send.c takes packets; ofi_receive.c
// replaces the inboxes that are full.
#include "ofi_buffers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../../core/ground/fatal.h"

enum {
    SLAB_PACKETS = 16, // packets, or inboxes for one packet, that are made at a time
    POST_TRIES = 100000,
};

// ---- memory ----

// Memory that operations of the provider may use; NULL: there is none.
static char *slab_new(ofi_buffers_t *buffers, size_t bytes, uint64_t access, void **descriptor)
{
    struct fid_mr *region = NULL;
    char *slab = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slab == MAP_FAILED)
        return NULL;
    if (buffers->fabric->traits.mr_local &&
        ofi_fabric_register(buffers->fabric, slab, bytes, access, &region) != 0) {
        munmap(slab, bytes);
        return NULL;
    }
    *descriptor = ofi_descriptor(region);
    buffers->bytes += bytes;
    return slab;
}

static _Noreturn void fail_no_memory(size_t bytes)
{
    aq_fatal("no memory for message buffers of conduit ofi (%zu bytes that the provider may have "
             "to pin): raise the limits of memory (ulimit -v, ulimit -l), or lower "
             "GASNET_OFI_CREDITS_PP",
             bytes);
}

// ---- packets ----

static void packets_make(ofi_buffers_t *buffers)
{
    const size_t bytes = SLAB_PACKETS * buffers->packet_bytes;
    void *descriptor;
    ofi_packet_t *packets = calloc(SLAB_PACKETS, sizeof *packets);
    char *slab =
        packets ? slab_new(buffers, bytes, FI_SEND | FI_READ | FI_WRITE, &descriptor) : NULL;
    if (!slab)
        fail_no_memory(bytes);
    for (unsigned i = SLAB_PACKETS; i-- > 0;) {
        packets[i].op.kind = OFI_OP_SEND;
        packets[i].bytes = slab + i * buffers->packet_bytes;
        packets[i].descriptor = descriptor;
        ofi_packet_give(buffers, &packets[i]);
    }
}

ofi_packet_t *ofi_packet_take(ofi_buffers_t *buffers)
{
    if (!buffers->packets)
        packets_make(buffers);
    ofi_packet_t *packet = buffers->packets;
    buffers->packets = packet->next;
    packet->next = NULL;
    packet->used = sizeof(ofi_header_t);
    packet->batch = 0;
    return packet;
}

// ---- inboxes ----

static void inbox_give(ofi_buffers_t *buffers, ofi_inbox_t *inbox)
{
    inbox->next = buffers->inboxes;
    buffers->inboxes = inbox;
}

static void inboxes_make(ofi_buffers_t *buffers)
{
    const unsigned count = buffers->fabric->traits.multi_receive ? 1 : SLAB_PACKETS;
    const size_t bytes = count * buffers->inbox_bytes;
    void *descriptor;
    ofi_inbox_t *inboxes = calloc(count, sizeof *inboxes);
    char *slab = inboxes ? slab_new(buffers, bytes, FI_RECV, &descriptor) : NULL;
    if (!slab)
        fail_no_memory(bytes);
    for (unsigned i = count; i-- > 0;) {
        inboxes[i].op.kind = OFI_OP_RECEIVE;
        inboxes[i].bytes = slab + i * buffers->inbox_bytes;
        inboxes[i].descriptor = descriptor;
        inbox_give(buffers, &inboxes[i]);
    }
}

static int inbox_try_post(const ofi_buffers_t *buffers, ofi_inbox_t *inbox)
{
    const ofi_fabric_t *fabric = buffers->fabric;
    const struct iovec place = {inbox->bytes, buffers->inbox_bytes};
    const struct fi_msg message = {.msg_iov = &place,
                                   .desc = &inbox->descriptor,
                                   .iov_count = 1,
                                   .addr = FI_ADDR_UNSPEC,
                                   .context = inbox};
    return (int)fi_recvmsg(fabric->endpoint, &message,
                           FI_COMPLETION | (fabric->traits.multi_receive ? FI_MULTI_RECV : 0));
}

// Tries again after a refusal, which passes soon: the queue for receives is long enough.
static int inbox_post(ofi_buffers_t *buffers)
{
    if (!buffers->inboxes)
        inboxes_make(buffers);
    ofi_inbox_t *inbox = buffers->inboxes;
    int error = -FI_EAGAIN;
    inbox->uses = 1;
    for (unsigned i = 0; error == -FI_EAGAIN && i < POST_TRIES; i++)
        error = inbox_try_post(buffers, inbox);
    if (!error)
        buffers->inboxes = inbox->next;
    return error;
}

void ofi_inbox_drop(ofi_buffers_t *buffers, ofi_inbox_t *inbox)
{
    if (--inbox->uses == 0)
        inbox_give(buffers, inbox);
}

void ofi_inbox_replace(ofi_buffers_t *buffers, ofi_inbox_t *inbox)
{
    const int error = inbox_post(buffers);
    if (error)
        aq_fatal("provider %s takes no further receive buffer: %s",
                 buffers->fabric->info->fabric_attr->prov_name, fi_strerror(-error));
    ofi_inbox_drop(buffers, inbox);
}

// ---- opening ----

// In an inbox for several packets the room for one of the longest may stay empty at the end.
static unsigned inboxes_needed(const ofi_buffers_t *buffers, unsigned receives)
{
    const size_t used = buffers->inbox_bytes - OFI_PACKET_BYTES;
    if (!buffers->fabric->traits.multi_receive)
        return receives;
    return 1 + (unsigned)((receives * buffers->packet_bytes + used - 1) / used);
}

static int inboxes_post(ofi_buffers_t *buffers, unsigned receives)
{
    buffers->inbox_bytes =
        buffers->fabric->traits.multi_receive ? (size_t)OFI_INBOX_BYTES : buffers->packet_bytes;
    int error = 0;
    for (unsigned i = inboxes_needed(buffers, receives); !error && i-- > 0;)
        error = inbox_post(buffers);
    return error;
}

// A provider that claims FI_MULTI_RECV may refuse it. The inbox that it refused, which is too long
// for one packet, is then not used.
aq_status_t ofi_buffers_open(ofi_buffers_t *buffers, ofi_fabric_t *fabric, size_t packet_bytes,
                             unsigned receives)
{
    *buffers = (ofi_buffers_t){.fabric = fabric, .packet_bytes = packet_bytes};
    int error = inboxes_post(buffers, receives);
    if (error && fabric->traits.multi_receive) {
        fabric->traits.multi_receive = false;
        buffers->inboxes = NULL;
        error = inboxes_post(buffers, receives);
    }
    return error ? ofi_fabric_error(fabric, "fi_recvmsg", error) : AQ_OK;
}
