// SPDX-License-Identifier: BSD-3-Clause
// How much firehose may pin: the settings GASNET_FIREHOSE_... and what the machine allows.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../other/base/log/status.h"

typedef struct aq_firehose_amount {
    uint32_t regions; // at most 2^23
    uint64_t bytes;
} aq_firehose_amount_t;

// What the conduit knows about its limits.
typedef struct aq_firehose_limits {
    uint64_t bytes;        // bytes that this process may pin; see aq_firehose_pinnable
    uint64_t regions;      // regions that the device can hold for this process
    uint32_t peers;        // processes that access this one through the network
    bool segment_pinned;   // segment FAST: the conduit has pinned the whole segment
    uint64_t buffer_bytes; // of the conduit's own pinned buffers, through which it copies puts
} aq_firehose_limits_t;

typedef struct aq_firehose_params {
    aq_firehose_amount_t main;   // memory pinned for peers
    aq_firehose_amount_t victim; // memory pinned for this process: in use, or cached
    uint32_t per_peer;           // most firehoses that a process may have into another one
    uint64_t region_bytes;       // the longest region; a multiple of the page size
    uint64_t page_bytes;
    uint32_t put_in_move; // most bytes of data in a move
    double table_scale;
    bool verbose;
} aq_firehose_params_t;

// Sets params from the settings. With GASNET_USE_FIREHOSE=0 both pools are empty.
void aq_firehose_params_read(const aq_firehose_limits_t *limits, aq_firehose_params_t *params);

// Bytes that each of `processes` on this host may pin, a multiple of the page size: its share of
// GASNET_PHYSMEM_MAX, limited by its limit on locked memory, which is first raised to the hard
// limit unless GASNET_MAXIMIZE_MEMLOCK=0. Pins nothing.
uint64_t aq_firehose_pinnable(uint32_t processes);

// Regions of the device's capacity that each of `processes` on this host may use: its share of
// GASNET_PINNED_REGIONS_MAX.
uint64_t aq_firehose_regions(uint64_t device, uint32_t processes);

// Whether memory that malloc gave to the client may stay pinned after its use: if the settings want
// firehose, and malloc gives no memory back to the system (GASNET_DISABLE_MUNMAP).
bool aq_firehose_memory_stays(void);

// If aq_firehose_memory_stays, tells malloc to keep its memory. Call it as early as possible:
// malloc may still give back what was mapped before.
void aq_firehose_memory_keep(void);
