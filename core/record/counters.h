// SPDX-License-Identifier: BSD-3-Clause
// Counters of the client's operations. counters.c sums them; counters_block.c publishes the sums
// to the client (aqueduct.h).
//
// Each thread counts into cells of its own, which no other thread writes, without a lock and
// without a shared cache line. Operations on a rank count in a record of the rank (peer_records.h),
// which is found by one load; on an endpoint other than 0, they count in cells of the endpoint,
// too. Cells of an endpoint are allocated when the thread first uses it. Readers add up the cells
// of all threads; the cells of a thread that ends are added to those of ended threads.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../state/fast_counts.h"
#include "../gasnetex_core.h"
#include "peer_records.h"

typedef enum aq_count {
    // Operations on a rank. A message's count is that of the Short plus its aq_am_category_t.
    AQ_COUNT_REQUEST_SHORT,
    AQ_COUNT_REQUEST_MEDIUM,
    AQ_COUNT_REQUEST_LONG,
    AQ_COUNT_REPLY_SHORT,
    AQ_COUNT_REPLY_MEDIUM,
    AQ_COUNT_REPLY_LONG,
    AQ_COUNT_PUT,
    AQ_COUNT_GET,
    AQ_COUNT_ATOMIC,
    // Their bytes.
    AQ_COUNT_REQUEST_BYTES,
    AQ_COUNT_REPLY_BYTES,
    AQ_COUNT_PUT_BYTES,
    AQ_COUNT_GET_BYTES,
    // Further operations, and their bytes.
    AQ_COUNT_VIS_PUT,
    AQ_COUNT_VIS_GET,
    AQ_COUNT_SEND,
    AQ_COUNT_STREAM,
    AQ_COUNT_COLL,
    AQ_COUNT_VIS_PUT_BYTES,
    AQ_COUNT_VIS_GET_BYTES,
    AQ_COUNT_SEND_BYTES,
    AQ_COUNT_STREAM_BYTES,
    AQ_COUNT_COLL_BYTES,
    // Events.
    AQ_COUNT_NO_ROOM,        // operations that the conduit had no room for at first
    AQ_COUNT_REFUSED,        // those of them that were refused, with GEX_FLAG_IMMEDIATE
    AQ_COUNT_DROP_ENDPOINT,  // arrived messages to an endpoint that was never there
    AQ_COUNT_DROP_DESTROYED, // arrived messages to an endpoint that was destroyed
    AQ_COUNT_DROP_IDENTITY,  // arrived messages, puts and gets of another identity
    AQ_COUNT_FRAME_SENT,     // messages into a mailbox, also the library's own
    AQ_COUNTS
} aq_count_t;
_Static_assert((int)AQ_COUNT_NO_ROOM == (int)AQ_PEER_COUNTS &&
                   (int)AQ_COUNT_PUT == (int)AQ_PEER_PUT &&
                   (int)AQ_COUNT_GET_BYTES == (int)AQ_PEER_GET_BYTES &&
                   (int)AQ_COUNT_COLL_BYTES == (int)AQ_PEER_COLL_BYTES,
               "records of ranks count what comes before, in this order");

// The cells of one thread for one endpoint.
typedef struct aq_cells {
    _Atomic uint64_t cell[AQ_COUNTS];
} aq_cells_t;

// The cells of a thread.
typedef struct aq_thread_counts {
    aq_fast_counts_t fast;   // if threads may call at once; else aq_job has one for all threads
    aq_peer_record_t *peers; // of all ranks; NULL: none yet
    aq_own_record_t *own;    // never NULL; before the thread joins, one without readers
    aq_cells_t endpoint0;    // events only
    aq_cells_t **further;    // by index of the endpoint; NULL: none yet
    struct aq_thread_counts *next;
    bool joined; // in the list of all threads
} aq_thread_counts_t;

extern _Thread_local aq_thread_counts_t aq_thread_counts __attribute__((tls_model("initial-exec")));

// Sets the team of fast_counts.h; NULL: no message takes the fast way. At init, by its thread.
void aq_counts_fast_team(gex_TM_t team);

// Adds the cells of this thread to the list of all, before they are first used; returns the records
// of all ranks.
aq_peer_record_t *aq_counts_join(void) __attribute__((cold, noinline));

// The thread sanitizer does not see the accesses of an asm statement. So its build uses C, as
// other processors do.
static inline void aq_cell_add(_Atomic uint64_t *cell, uint64_t n)
{
#if defined __x86_64__ && !defined __SANITIZE_THREAD__
    if (__builtin_constant_p(n) && n == 1)
        __asm__("incq %0" : "+m"(*cell) : : "cc");
    else
        __asm__("addq %1, %0" : "+m"(*cell) : "r"(n) : "cc");
#else
    atomic_store_explicit(cell, atomic_load_explicit(cell, memory_order_relaxed) + n,
                          memory_order_relaxed);
#endif
}

// The record of this thread for a rank of the job.
static inline aq_peer_record_t *aq_count_record(uint32_t jobrank)
{
    aq_peer_record_t *peers = aq_thread_counts.peers;
    if (__builtin_expect(!peers, 0))
        peers = aq_counts_join();
    return &peers[jobrank];
}

// Counts an operation of this thread on endpoint 0 and a rank.
static inline void aq_count_to(uint32_t jobrank, aq_count_t operation)
{
    aq_cell_add(&aq_count_record(jobrank)->endpoint0[operation], 1);
}

// As aq_count_to, with bytes.
static inline void aq_count_bytes_to(uint32_t jobrank, aq_count_t operation, aq_count_t bytes,
                                     size_t nbytes)
{
    aq_peer_record_t *record = aq_count_record(jobrank);
    aq_cell_add(&record->endpoint0[operation], 1);
    aq_cell_add(&record->endpoint0[bytes], nbytes);
}

// As aq_count_to and aq_count_bytes_to, on any endpoint of this process.
void aq_count_further(gex_EP_Index_t endpoint, uint32_t jobrank, aq_count_t operation,
                      aq_count_t bytes, size_t nbytes);
static inline void aq_count_to_at(gex_EP_Index_t endpoint, uint32_t jobrank, aq_count_t operation)
{
    if (endpoint)
        aq_count_further(endpoint, jobrank, operation, operation, 0);
    else
        aq_count_to(jobrank, operation);
}
static inline void aq_count_bytes_to_at(gex_EP_Index_t endpoint, uint32_t jobrank,
                                        aq_count_t operation, aq_count_t bytes, size_t nbytes)
{
    if (endpoint)
        aq_count_further(endpoint, jobrank, operation, bytes, nbytes);
    else
        aq_count_bytes_to(jobrank, operation, bytes, nbytes);
}

// Count for this thread itself. aq_count_own is one instruction, for hot paths; before the thread
// has joined, its count is lost.
static inline void aq_count_own(unsigned count)
{
    aq_cell_add(&aq_thread_counts.own->count[count], 1);
}
void aq_count_own_add(unsigned count, uint64_t n) __attribute__((cold, noinline));

// Adds what all threads have counted of themselves to sum.
void aq_counts_own_sum(uint64_t sum[AQ_OWN_COUNTS]);

// Counts an event at an endpoint of this process.
void aq_count_event(gex_EP_Index_t endpoint, aq_count_t event);

// As aq_count_event for AQ_COUNT_FRAME_SENT; for conduits (conduit.h).
void aq_counts_frame(uint16_t endpoint);

// Adds what all threads have counted for an endpoint to sum.
void aq_counts_sum(gex_EP_Index_t endpoint, uint64_t sum[AQ_COUNTS]);

// As aq_peer_each; takes the lock of the counters.
void aq_counts_each_peer(aq_peer_visit_t visit, void *context);
