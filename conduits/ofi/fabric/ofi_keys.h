// SPDX-License-Identifier: BSD-3-Clause
// Keys: with which key and address the provider reaches memory of a peer.
//
//      FAST         the segment of each rank is registered, and all ranks know its key
//      LARGE        the same, if registration neither pins memory nor needs that it exists
//      EVERYTHING   all addresses are registered at once, under the same condition
//
// In all other cases firehose registers parts (ofi_pins.h), or messages carry the data.
//
// What is always true:
// - Either all ranks have registered their memory, or none has.
// - With FAST and LARGE, operations reach nothing outside of the segments.
// - Where all ranks have the same key, there is no table of keys.
#pragma once

#include <rdma/fi_rma.h>

#include "../../../core/conduit.h"
#include "ofi_fabric.h"

typedef struct ofi_keys {
    const aq_conduit_env_t *env;
    ofi_fabric_t *fabric;
    bool reached;          // the memory of all ranks
    bool whole;            // all addresses, not the segment
    struct fid_mr *region; // of this process; NULL: none
    uintptr_t start;       // of what is registered
    size_t bytes;
    uint64_t key;        // of all ranks, unless there is a table
    const uint64_t *all; // by rank; NULL: there is no table
} ofi_keys_t;

// Collective: registers memory of this process, unless `wanted` is false or there is none, and
// learns the keys of all ranks. keys->reached says whether that worked at all ranks; if it did not,
// one rank says why. May block. An error is one of the exchange (logged).
aq_status_t ofi_keys_share(ofi_keys_t *keys, void *memory, size_t bytes, bool wanted);

// Whether memory of this process is in what is registered. *descriptor: of it.
bool ofi_keys_own(const ofi_keys_t *keys, const void *memory, size_t bytes, void **descriptor);

// The name that memory of a rank has for the provider. False: it has none.
bool ofi_keys_remote(const ofi_keys_t *keys, uint32_t rank, const void *memory, size_t bytes,
                     struct fi_rma_iov *out);
