// SPDX-License-Identifier: BSD-3-Clause
// What this process counts for each rank that it communicates with.
//
//     memory file of the rank:  head (other/observe/format/rank_file.h) | slot 0 | slot 1 | ...
//     slot:                     a record for each rank | one of the thread | tables of Shorts
//
// - A thread has a slot of its own, so it counts without a lock. When the thread ends, a later
//   thread goes on counting in its slot.
// - The file is sparse: the page of a rank exists from the first count on, and sums read only pages
//   that exist. A job whose system has no memfd_create uses memory without a file.
// - Another process of the same user may map the file and read it at any time: all words are
//   written whole, and only grow.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../other/observe/format/rank_file.h"

// Returns a slot for the calling thread: the records of all ranks. Ends the job if memory is out.
// The caller holds the lock of the counters.
aq_peer_record_t *aq_peer_slot_take(void);
// Gives a slot back, with what is counted there.
void aq_peer_slot_drop(aq_peer_record_t *slot);

// The record of the thread itself in its slot.
aq_own_record_t *aq_peer_own(aq_peer_record_t *slot);
// Adds up these records of all slots. The caller holds the lock of the counters.
void aq_peer_own_sum(uint64_t sum[AQ_OWN_COUNTS]);

// A table of Shorts in a slot (AQ_SHORT_*), by rank.
_Atomic uint64_t *aq_peer_shorts(aq_peer_record_t *slot, unsigned table);

// Calls visit for records in all slots that may have counted something; a rank may have several.
// The caller holds the lock of the counters.
typedef void (*aq_peer_visit_t)(uint32_t rank, const aq_peer_record_t *record, void *context);
void aq_peer_each(aq_peer_visit_t visit, void *context);

// Adds up what all threads have counted for `count` ranks, at most AQ_PEER_READ, from `first` on.
// Takes no lock, so a handler of a signal may call it. False: the counters are in no file.
enum { AQ_PEER_READ = 16 };
bool aq_peer_read(uint32_t first, uint32_t count, aq_peer_record_t *sums);
