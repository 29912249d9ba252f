// SPDX-License-Identifier: BSD-3-Clause
// What a process has for put, get and atomics by the provider.
#pragma once

#include "../../../core/ground/cookie.h"
#include "../../../firehose/firehose.h"
#include "../fabric/ofi_keys.h"
#include "ofi_rma_post.h"

// See ofi_pins.h. Constant after attach.
typedef struct ofi_pins {
    aq_firehose_t *firehose; // NULL: there is none
    uint64_t region_bytes;   // the longest region
    bool local;              // memory of this process is pinned
    bool reaches;            // memory of peers is
} ofi_pins_t;

// Request of aq_firehose_ops_t.
typedef void ofi_pins_request_t(void *context, uint32_t peer, const aq_firehose_message_t *message,
                                const void *data, uint32_t data_bytes);

// See ofi_ondemand.h. All fields but the atomic ones are guarded by the lock of the conduit.
typedef struct ofi_ondemand {
    struct ofi_transfer *kept; // transfers that found no room
    atomic_bool any;           // there are some
    atomic_uint begun;         // transfers that are not complete
    aq_cookies_t fetches;      // transfers that wait for the data of an OFI_FETCH
    unsigned long by_provider; // puts and gets in memory that firehose has
    atomic_ulong by_peer;      // pieces that the peer has copied
} ofi_ondemand_t;

typedef struct ofi_rma_state {
    ofi_keys_t keys;
    ofi_pins_t pins;
    ofi_ondemand_t ondemand;
    ofi_rma_op_t *free;
    ofi_rma_op_t *ended;      // operations that are complete, and still use regions of firehose
    unsigned long in_place;   // operations with memory here that firehose has
    unsigned under_way, most; // operations that the provider has, and may have
    bool wanted;              // GASNET_OFI_RMA and the provider allow it
    bool puts;                // the provider tells when a put is in place
    bool atomics;             // all ranks use those of the provider
} ofi_rma_state_t;
