// SPDX-License-Identifier: BSD-3-Clause
// Buffers: packets to send, and inboxes, in which packets arrive.
//
// What is always true:
// - Each credit has its packet: there are as many packets as credits allow messages under way, and
//   memory for them is taken in slabs when it is needed first. It is never returned.
// - A provider with FI_MULTI_RECV puts one packet after another into a long inbox; for others an
//   inbox takes one packet.
// - An inbox that is full is replaced by another before a handler runs, so what is posted holds all
//   messages for which peers have credits.
//
// Everything here is called under the lock of the conduit.
#pragma once

#include "../fabric/ofi_fabric.h"
#include "../fabric/ofi_limits.h"
#include "../fabric/ofi_wire.h"

enum {
    OFI_INBOX_BYTES = 256 << 10, // of an inbox for several packets
};

struct ofi_link;

typedef enum ofi_op_kind { OFI_OP_SEND, OFI_OP_RECEIVE, OFI_OP_RMA } ofi_op_kind_t;

// An operation under way. libfabric gets a pointer to it as the context of the operation.
typedef struct ofi_op {
    struct fi_context2 context; // first: some providers write here
    struct ofi_link *link;      // the peer; NULL: any
    ofi_op_kind_t kind;
} ofi_op_t;

typedef struct ofi_packet {
    ofi_op_t op; // first
    struct ofi_packet *next;
    char *bytes;
    void *descriptor;
    uint32_t used;  // bytes, with the header
    uint32_t batch; // number of the batch of puts in it; 0: none
} ofi_packet_t;

typedef struct ofi_inbox {
    ofi_op_t op; // first
    struct ofi_inbox *next;
    char *bytes;
    void *descriptor;
    uint32_t uses; // packets in it that are in use, and one more while it is posted
} ofi_inbox_t;

typedef struct ofi_buffers {
    ofi_fabric_t *fabric;
    ofi_packet_t *packets; // free
    ofi_inbox_t *inboxes;  // free
    size_t packet_bytes, inbox_bytes;
    size_t bytes; // of all buffers
} ofi_buffers_t;

// receives: packets that may arrive before any of them was handled, each of at most packet_bytes.
// Posts inboxes for them. Logs faults.
aq_status_t ofi_buffers_open(ofi_buffers_t *buffers, ofi_fabric_t *fabric, size_t packet_bytes,
                             unsigned receives);

// An empty packet, with room for the header. Ends the job if there is no memory.
ofi_packet_t *ofi_packet_take(ofi_buffers_t *buffers);
static inline void ofi_packet_give(ofi_buffers_t *buffers, ofi_packet_t *packet)
{
    packet->next = buffers->packets;
    buffers->packets = packet;
}

// An inbox was filled, and is posted no more: posts another one, and drops the use of the old one.
void ofi_inbox_replace(ofi_buffers_t *buffers, ofi_inbox_t *inbox);

// A packet in an inbox is not used any more.
void ofi_inbox_drop(ofi_buffers_t *buffers, ofi_inbox_t *inbox);
