// SPDX-License-Identifier: BSD-3-Clause
// Where messages of the most common way count: requests over one team, whose ranks are job ranks,
// and replies without a route. One comparison tells a send that its message counts here.
#ifndef AQ_FAST_COUNTS_H
#define AQ_FAST_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

#include "../../other/observe/format/rank_file.h"
#include "../gasnetex_core.h"

enum { AQ_FAST_NO_ROUTE = 0 };
#define AQ_FAST_NEVER UINT32_MAX // the route of no reply

typedef struct aq_fast_counts {
    gex_TM_t team;  // NULL: no request counts here
    uint32_t route; // of replies, as aq_route_word: AQ_FAST_NO_ROUTE or AQ_FAST_NEVER
    _Atomic uint64_t *requests, *replies; // Shorts, by job rank
    aq_peer_record_t *peers;              // Mediums and Longs
} aq_fast_counts_t;

#endif
