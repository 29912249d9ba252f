// What the client's operations are counted in. counters.c sums it for the client (aqueduct.h).
//
// Each thread counts into cells of its own, which no other thread writes: an operation on endpoint
// 0 costs two instructions, without a lock and without a shared cache line. Cells for other
// endpoints are allocated when the thread first uses the endpoint. Readers add up the cells of all
// threads; the cells of a thread that ends are added to those of ended threads.
#ifndef AQ_COUNTERS_H
#define AQ_COUNTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gasnetex_core.h"

typedef enum aq_count {
    // Operations. A message's count is that of the Short plus its aq_am_category_t.
    AQ_COUNT_REQUEST_SHORT,
    AQ_COUNT_REQUEST_MEDIUM,
    AQ_COUNT_REQUEST_LONG,
    AQ_COUNT_REPLY_SHORT,
    AQ_COUNT_REPLY_MEDIUM,
    AQ_COUNT_REPLY_LONG,
    AQ_COUNT_PUT,
    AQ_COUNT_GET,
    AQ_COUNT_ATOMIC,
    AQ_COUNT_NO_ROOM,        // operations that the conduit had no room for at first
    AQ_COUNT_REFUSED,        // those of them that were refused, with GEX_FLAG_IMMEDIATE
    AQ_COUNT_DROP_ENDPOINT,  // arrived messages to an endpoint that was never there
    AQ_COUNT_DROP_DESTROYED, // arrived messages to an endpoint that was destroyed
    AQ_COUNT_DROP_IDENTITY,  // arrived messages, puts and gets of another identity
    AQ_COUNT_FRAME_SENT,     // messages into a mailbox, also the library's own
    AQ_COUNT_OPERATIONS,
    // Bytes.
    AQ_COUNT_REQUEST_BYTES = AQ_COUNT_OPERATIONS,
    AQ_COUNT_REPLY_BYTES,
    AQ_COUNT_PUT_BYTES,
    AQ_COUNT_GET_BYTES,
    AQ_COUNTS
} aq_count_t;

// The cells of one thread for one endpoint. A cell of an operation starts at -1, so that the first
// increment sets the processor's zero flag and needs no comparison.
typedef struct aq_cells {
    _Atomic uint64_t cell[AQ_COUNTS];
} aq_cells_t;

// The cells of a thread.
typedef struct aq_thread_counts {
    aq_cells_t endpoint0;
    aq_cells_t **further; // by index of the endpoint; NULL: none yet
    struct aq_thread_counts *next;
    bool joined; // in the list of all threads
} aq_thread_counts_t;

extern _Thread_local aq_thread_counts_t aq_thread_counts __attribute__((tls_model("initial-exec")));

// Adds the cells of this thread to the list of all, before they are first used.
void aq_counts_join(void) __attribute__((cold, noinline));

// Makes the cells of this thread for an endpoint other than 0, which exists.
aq_cells_t *aq_counts_make(gex_EP_Index_t endpoint) __attribute__((cold, noinline));

// The cells of this thread for an endpoint other than 0, which exists.
static inline aq_cells_t *aq_counts_further(gex_EP_Index_t endpoint)
{
    aq_cells_t **further = aq_thread_counts.further;
    aq_cells_t *cells = further ? further[endpoint] : NULL;
    return __builtin_expect(cells != NULL, 1) ? cells : aq_counts_make(endpoint);
}

// Increments a cell of this thread; returns whether the result is 0. The thread sanitizer does not
// see what an asm statement does, so its build, as other processors, uses C.
static inline bool aq_cell_increment(_Atomic uint64_t *cell)
{
#if defined __x86_64__ && defined __GCC_ASM_FLAG_OUTPUTS__ && !defined __SANITIZE_THREAD__
    bool zero;
    __asm__("incq %0" : "+m"(*cell), "=@ccz"(zero));
    return zero;
#else
    const uint64_t result = atomic_load_explicit(cell, memory_order_relaxed) + 1;
    atomic_store_explicit(cell, result, memory_order_relaxed);
    return !result;
#endif
}

static inline void aq_cell_add(_Atomic uint64_t *cell, uint64_t n)
{
#if defined __x86_64__ && !defined __SANITIZE_THREAD__
    __asm__("addq %1, %0" : "+m"(*cell) : "r"(n) : "cc");
#else
    atomic_store_explicit(cell, atomic_load_explicit(cell, memory_order_relaxed) + n,
                          memory_order_relaxed);
#endif
}

// Counts an operation of this thread on endpoint 0.
static inline void aq_count(aq_count_t operation)
{
    if (__builtin_expect(aq_cell_increment(&aq_thread_counts.endpoint0.cell[operation]), 0))
        aq_counts_join();
}

// As aq_count, with bytes.
static inline void aq_count_bytes(aq_count_t operation, aq_count_t bytes, size_t nbytes)
{
    aq_count(operation);
    aq_cell_add(&aq_thread_counts.endpoint0.cell[bytes], nbytes);
}

// As aq_count and aq_count_bytes, on any endpoint of this process.
static inline void aq_count_at(gex_EP_Index_t endpoint, aq_count_t operation)
{
    if (endpoint)
        aq_cell_increment(&aq_counts_further(endpoint)->cell[operation]);
    else
        aq_count(operation);
}
static inline void aq_count_bytes_at(gex_EP_Index_t endpoint, aq_count_t operation,
                                     aq_count_t bytes, size_t nbytes)
{
    if (endpoint) {
        aq_cells_t *cells = aq_counts_further(endpoint);
        aq_cell_increment(&cells->cell[operation]);
        aq_cell_add(&cells->cell[bytes], nbytes);
    } else {
        aq_count_bytes(operation, bytes, nbytes);
    }
}

// As aq_count_at for AQ_COUNT_FRAME_SENT; for conduits (conduit.h).
void aq_counts_frame(uint16_t endpoint);

// Adds what all threads have counted for an endpoint to sum.
void aq_counts_sum(gex_EP_Index_t endpoint, uint64_t sum[AQ_COUNTS]);

#endif
