// SPDX-License-Identifier: BSD-3-Clause
// Counters of the fast path of sends: of requests over one team, whose ranks are job ranks, and of
// replies without a header. One comparison, of the team or of the endpoints, tells a send that it
// may take that path.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "../../other/observe/format/rank_file.h"
#include "../gasnetex_core.h"

enum { AQ_FAST_NO_HEADER = 0 };
#define AQ_FAST_NEVER UINT32_MAX // no reply has these endpoints

typedef struct aq_fast_counts {
    gex_TM_t team;    // NULL: no request counts here
    uint32_t ep_pair; // of replies, as aq_ep_pair_word: AQ_FAST_NO_HEADER or AQ_FAST_NEVER
    _Atomic uint64_t *requests, *replies; // Shorts, by job rank
    aq_peer_record_t *peers;              // Mediums and Longs
} aq_fast_counts_t;
