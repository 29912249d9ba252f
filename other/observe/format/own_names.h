// SPDX-License-Identifier: BSD-3-Clause
// The names of what a thread counts of itself (rank_file.h), for programs that print it.
#pragma once

#include <stddef.h>

#include "rank_file.h"

// count: an aq_own_count_t. Names that end in _ns are times in nanoseconds. NULL: nothing counts
// there.
static inline const char *aq_own_name(unsigned count)
{
    static const char *const names[AQ_OWN_COUNTS] = {
        [AQ_OWN_POLLS_FOUND] = "polls_found",
        [AQ_OWN_POLLS_EMPTY] = "polls_empty",
        [AQ_OWN_NO_ROOM] = "no_room",
        [AQ_OWN_REFUSED] = "refused",
        [AQ_OWN_RESENT] = "resent",
        [AQ_OWN_SLEEPS] = "sleeps",
        [AQ_OWN_SLEEP_NS] = "sleep_ns",
        [AQ_OWN_WAIT_NS + AQ_WAIT_EVENT] = "wait_event_ns",
        [AQ_OWN_WAIT_NS + AQ_WAIT_ROOM] = "wait_room_ns",
        [AQ_OWN_WAIT_NS + AQ_WAIT_CONDITION] = "wait_condition_ns",
        [AQ_OWN_WAIT_NS + AQ_WAIT_COLLECTIVE] = "wait_collective_ns",
        [AQ_OWN_WAIT_NS + AQ_WAIT_RECEIVE] = "wait_receive_ns",
        [AQ_OWN_WAIT_NS + AQ_WAIT_SEND] = "wait_send_ns",
        [AQ_OWN_WAIT_NS + AQ_WAIT_RANK] = "wait_rank_ns",
        [AQ_OWN_DROPPED] = "dropped_endpoint", // from here on in the order of GASNETX_DROP_*
        "dropped_destroyed",
        "dropped_identity",
        "dropped_foreign",
        "dropped_forged",
        "dropped_corrupted",
        "dropped_malformed",
        "dropped_misdirected",
        "dropped_replayed",
        "dropped_duplicate",
        "dropped_stale",
        "dropped_full",
        "dropped_injected",
    };
    return count < AQ_OWN_COUNTS ? names[count] : NULL;
}
