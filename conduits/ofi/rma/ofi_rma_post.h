// SPDX-License-Identifier: BSD-3-Clause
// One put, get or atomic, and the call of libfabric that gives it to the provider.
#pragma once

#include <rdma/fi_rma.h>

#include "../../../firehose/firehose_map.h"
#include "../state/ofi_state.h"

typedef enum ofi_rma_op_kind {
    OFI_RMA_PUT,
    OFI_RMA_PUT_INJECTED, // the source is free when the provider has taken it
    OFI_RMA_GET,
    OFI_RMA_ADD, // from here on atomics
    OFI_RMA_CAS,
} ofi_rma_op_kind_t;

typedef struct ofi_rma_op {
    ofi_op_t op; // first
    struct ofi_rma_op *next;
    atomic_uint *pending;
    ofi_rma_op_kind_t kind;
    void *local; // memory of this process, of which `bytes`
    size_t bytes;
    void *descriptor; // of it
    struct fi_rma_iov there;
    ofi_packet_t *copy;                   // which local is in; NULL: it is the client's memory
    void *into;                           // where the copy goes at the end; NULL: nowhere
    aq_firehose_region_t *here, *at_peer; // of firehose, in use by the operation; NULL: none
} ofi_rma_op_t;

// What is in the copy of an atomic.
typedef struct ofi_words {
    uint64_t operand; // added, or stored
    uint64_t compared;
    uint64_t result;
} ofi_words_t;

// The operands and the result of an atomic, in the operation's copy.
static inline ofi_words_t *ofi_rma_op_words(ofi_rma_op_t *op)
{
    return (ofi_words_t *)(void *)op->copy->bytes;
}

// Gives a described operation to the provider, which then owns it, unless the call fails. Returns
// 0, or what libfabric returns: -FI_EAGAIN or another negative error. Does not block.
int ofi_rma_post(const ofi_fabric_t *fabric, ofi_rma_op_t *op);
