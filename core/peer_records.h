// What this process counts for each rank that it has to do with.
//
//     file in memory:  head (a page) | slot 0 | slot 1 | ...
//     slot:            a record for each rank of the job
//
// - A thread has a slot of its own, so it counts without a lock. When the thread ends, a later
//   thread goes on counting in its slot.
// - The file is sparse: the page of a rank is there from the first count on, and sums look only at
//   pages that are there. A job whose system has no memfd_create uses memory without a file.
// - Another process of the same user may map the file and read it at any time: all words are
//   written whole, and only grow.
#ifndef AQ_PEER_RECORDS_H
#define AQ_PEER_RECORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// What a record counts, in the order of the first values of aq_count_t (counters.h).
enum { AQ_PEER_COUNTS = 13 };

// Messages from a rank, which are counted only if somebody has asked for them (traffic.h).
typedef enum aq_arrived {
    AQ_ARRIVED_REQUESTS,
    AQ_ARRIVED_REPLIES,
    AQ_ARRIVED_REQUEST_BYTES,
    AQ_ARRIVED_REPLY_BYTES,
    AQ_ARRIVED
} aq_arrived_t;

// What held messages to a rank up.
typedef enum aq_trouble {
    AQ_TROUBLE_NO_ROOM, // operations that found no room at first: credits, ring or queue used up
    AQ_TROUBLE_RESENT,  // packets that were sent again
    AQ_TROUBLES
} aq_trouble_t;

typedef struct aq_peer_record {
    _Atomic uint64_t endpoint0[AQ_PEER_COUNTS]; // of operations on endpoint 0 of this process
    _Atomic uint64_t further[AQ_PEER_COUNTS];   // on its other endpoints
    _Atomic uint64_t arrived[AQ_ARRIVED];
    _Atomic uint64_t trouble[AQ_TROUBLES];
} aq_peer_record_t;
_Static_assert(sizeof(aq_peer_record_t) == 256, "records do not share lines of the cache");

// At the begin of the file.
#define AQ_PEER_MAGIC "AQPEERS"
enum { AQ_PEER_VERSION = 1 };
typedef struct aq_peer_head {
    char magic[8];
    uint32_t version, record_bytes;
    uint32_t rank, ranks;       // of the job; ranks: with its reserve
    uint64_t first, slot_bytes; // where slot 0 begins, and the bytes of each slot
    _Atomic uint64_t slots;     // that have been used
} aq_peer_head_t;

// Returns a slot for the calling thread: the records of all ranks. Ends the job if memory is out.
// The caller holds the lock of the counters.
aq_peer_record_t *aq_peer_slot_take(void);
// Gives a slot back, with what is counted there.
void aq_peer_slot_drop(aq_peer_record_t *slot);

// Calls visit for records in all slots that may have counted something; a rank may have several.
// The caller holds the lock of the counters.
typedef void (*aq_peer_visit_t)(uint32_t rank, const aq_peer_record_t *record, void *context);
void aq_peer_each(aq_peer_visit_t visit, void *context);

// Adds up what all threads have counted for `count` ranks, at most AQ_PEER_READ, from `first` on.
// Takes no lock, so a handler of a signal may call it. False: the counters are in no file.
enum { AQ_PEER_READ = 16 };
bool aq_peer_read(uint32_t first, uint32_t count, aq_peer_record_t *sums);

#endif
