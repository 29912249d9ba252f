// How much firehose may pin: the settings GASNET_FIREHOSE_... and what the machine allows.
#ifndef AQ_FIREHOSE_PARAMS_H
#define AQ_FIREHOSE_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../other/base/status.h"

typedef struct aq_firehose_amount {
    uint32_t regions; // at most 2^23
    uint64_t bytes;
} aq_firehose_amount_t;

// What a conduit knows.
typedef struct aq_firehose_limits {
    uint64_t bytes;      // that this process may pin; see aq_firehose_pinnable
    uint64_t regions;    // that the device can keep for this process
    uint32_t peers;      // processes that reach this one through the network
    bool segment_pinned; // segment FAST: the conduit pinned the segment as a whole
} aq_firehose_limits_t;

typedef struct aq_firehose_params {
    aq_firehose_amount_t main;   // pinned for peers
    aq_firehose_amount_t victim; // pinned for this process: in use by it, or kept for later
    uint32_t per_peer;           // firehoses that a process may hold into another one
    uint64_t region_bytes;       // the longest region; whole pages
    uint64_t page_bytes;
    uint32_t put_in_move; // bytes of data that may travel with a move
    double table_scale;
    bool verbose;
} aq_firehose_params_t;

// Fills params in from the settings. With GASNET_USE_FIREHOSE=0 the pools have nothing.
void aq_firehose_params_read(const aq_firehose_limits_t *limits, aq_firehose_params_t *params);

// Bytes that each of `processes` on this host may pin, whole pages: its share of
// GASNET_PHYSMEM_MAX, and no more than its limit on locked memory, which is raised as far as it
// goes first unless GASNET_MAXIMIZE_MEMLOCK=0. Nothing is pinned to find out.
uint64_t aq_firehose_pinnable(uint32_t processes);

// Regions that each of `processes` on this host may have of those that the device can keep: its
// share of GASNET_PINNED_REGIONS_MAX.
uint64_t aq_firehose_regions(uint64_t device, uint32_t processes);

#endif
