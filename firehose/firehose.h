// Firehose: memory that a network's device reaches is pinned on first use and stays pinned, so that
// the next use costs nothing. It knows no network: pinning and messages are injected.
//
// The algorithm is that of C. Bell and D. Bonachea, "A New DMA Registration Strategy for
// Pinning-Based High Performance Networks" (2003).
//
//        process A                                        process B
//   -----------------------------                    ------------------------------
//   aq_firehose_pin: own memory                       pinned regions of B
//     hit: nothing to do                                main pool     [===]  [==]
//     miss: pin, keep in the victim                                     ^      ^
//           pool; the oldest idle region                                |      |
//           makes room                                  A's firehoses --+      |
//                                                       C's firehoses ---------+
//   aq_firehose_reach: memory of B                      victim pool   [=] [====] [==]
//     hit: a firehose is there, B does nothing                       idle, or B's own use
//     miss: one is moved, by a message
//
//       A: MOVE slot 7 to address  ------>  B: releases what slot 7 was on, pins the other place,
//          (data of a put with it)             copies the data
//       A: uses the key           <------   B: MOVED start, end, key
//
// What is always true:
// - A region in use by anybody stays pinned: an operation of this process, or a firehose of a peer.
// - Live regions of a process do not overlap. They grow: a miss takes idle neighbours in.
// - The main pool holds regions on which a peer has a firehose, the victim pool all others.
//   A process has at most per_peer firehoses into each peer, so that moving one never has to ask
//   what others hold.
// - A request longer than a region, or in the way of another one, is answered by a region that has
//   its beginning: callers go on behind its end.
//
// Threads: any may call at any time. A hit takes no lock. Nothing here waits for the network;
// pinning is a system call, under the lock of the process's regions.
#ifndef AQ_FIREHOSE_H
#define AQ_FIREHOSE_H

#include "firehose_map.h"
#include "firehose_params.h"
#include "../other/base/minmax.h"

typedef struct aq_firehose aq_firehose_t;

// ---- what the network does for firehose ----

typedef enum aq_firehose_pinned {
    AQ_FIREHOSE_PINNED,
    AQ_FIREHOSE_NO_ACCESS, // no such memory, or not with the access that was asked for
    AQ_FIREHOSE_MEMLOCK,   // the process's limit on locked memory is reached
    AQ_FIREHOSE_CGROUP,    // the memory limit of the control group, or of the host, is reached
    AQ_FIREHOSE_DEVICE,    // the device has no room for one more region
    AQ_FIREHOSE_SETTING,   // the user allows no more
    AQ_FIREHOSE_OUTCOMES
} aq_firehose_pinned_t;

typedef enum aq_firehose_kind {
    AQ_FIREHOSE_MOVE, // request: pin this place, and forget what the slot was on
    AQ_FIREHOSE_MOVED,
    AQ_FIREHOSE_REVOKE, // request: the memory under this slot goes away
    AQ_FIREHOSE_GIVEN,  // done, or (bytes = 0) an operation still uses it
} aq_firehose_kind_t;

// What travels, as it is in memory. MOVE may have data behind it.
typedef struct aq_firehose_message {
    uint32_t kind;           // aq_firehose_kind_t
    uint32_t slot;           // of the firehoses from the one to the other process
    uint32_t generation;     // of the slot: a move counts it up
    uint16_t write;          // MOVE: what for. MOVED: the region is writable
    uint16_t status;         // MOVED: aq_status_t
    uint64_t address, bytes; // MOVE: what is asked for. MOVED: the region that has its beginning
    uint64_t key;            // MOVED: for the initiator's operations
} aq_firehose_message_t;

_Static_assert(sizeof(aq_firehose_message_t) == 40, "what travels has no gaps");

typedef struct aq_firehose_ops {
    // Pins whole pages for the device, for reading by it or also for writing, and fills in the
    // key. May not call firehose. A refusal is not logged: firehose does that.
    aq_firehose_pinned_t (*pin)(void *context, uintptr_t start, uint64_t bytes, bool writable,
                                aq_firehose_key_t *key);
    void (*unpin)(void *context, uintptr_t start, uint64_t bytes, const aq_firehose_key_t *key);
    // Sends a request; may poll and block. The peer calls aq_firehose_serve with it, then this
    // process aq_firehose_answered with the answer; in any order among several. The data is
    // the caller's again when this returns. NULL if nothing is ever reached.
    void (*request)(void *context, uint32_t peer, const aq_firehose_message_t *message,
                    const void *data, uint32_t data_bytes);
} aq_firehose_ops_t;

// ---- start and stop ----

// ranks: peers are numbers below it; 0: nothing but own memory is asked for. AQ_ERR_RESOURCE: no
// memory (logged).
aq_status_t aq_firehose_start(const aq_firehose_params_t *params, const aq_firehose_ops_t *ops,
                              void *context, uint32_t ranks, aq_firehose_t **out);

// Unpins everything. Nothing of this process may be in use; what peers hold is taken from them.
void aq_firehose_stop(aq_firehose_t *firehose);

// The same at the end of a process, when other threads may still be inside, or operations under
// way: what these use is unpinned when they are over, and nothing is freed. False: nothing was
// done, since firehose is busy, or the caller has interrupted it and may not call it again.
bool aq_firehose_quit(aq_firehose_t *firehose);

// Memory that stays where it is until the end, the segment: a peer that asks for a place in it gets
// the whole block around, as it has few firehoses. Elsewhere nothing is pinned that nobody asked
// for, since it may go away any time. Before any peer asks.
void aq_firehose_stays(aq_firehose_t *firehose, const void *memory, size_t bytes);

// Bytes that are kept for all ranks, reached or not.
size_t aq_firehose_table_bytes(const aq_firehose_t *firehose);

// ---- memory of this process ----

// A pinned region that has the memory's beginning, in use until it is released; at least a byte is
// asked for. write: the device will write there; memory that is only read may be read-only.
// AQ_AGAIN: all that may be pinned is in use: use a copy, or poll and try again, holding no other
// region meanwhile. AQ_ERR_ABSENT: nothing may be pinned (GASNET_USE_FIREHOSE=0, or limits of the
// machine). AQ_ERR_RESOURCE: a limit refuses even a page (logged once). AQ_ERR_ARG: no such memory.
aq_status_t aq_firehose_pin(aq_firehose_t *firehose, const void *memory, size_t bytes, bool write,
                            aq_firehose_region_t **region);

// The device has finished with it: regions of this process and of peers alike. Takes no lock unless
// the memory was invalidated.
static inline void aq_firehose_release(aq_firehose_region_t *region)
{
    aq_firehose_map_release(region);
}

// How much of `bytes` from an address on the region has.
static inline size_t aq_firehose_covered(const aq_firehose_region_t *region, uintptr_t address,
                                         size_t bytes)
{
    uintptr_t left = atomic_load_explicit(&region->end, memory_order_relaxed) - address;
    return aq_min(left, bytes);
}

// Before the client gives memory back to the system or changes its protection: firehose forgets
// it, and takes it from peers. AQ_AGAIN: something of it is still in use; poll, call again.
// Sends requests.
aq_status_t aq_firehose_invalidate(aq_firehose_t *firehose, const void *memory, size_t bytes);

// ---- memory of peers ----

// An operation that waits for a firehose: the caller's, until done is called. The rest of the
// operation is best kept around it.
typedef struct aq_firehose_wait {
    // Called when the answer arrives, by who polls, without locks.
    // AQ_OK: the region is in use until it is released; or it is NULL: the data went with the
    // move and has arrived. AQ_AGAIN: ask again. Else the peer cannot pin it: the operation has to
    // go by messages.
    void (*done)(struct aq_firehose_wait *wait, aq_status_t status, aq_firehose_region_t *region);
    uintptr_t address;
    STAILQ_ENTRY(aq_firehose_wait) link;
} aq_firehose_wait_t;

// A firehose that this process has onto memory of a peer, in use until it is released; NULL: none.
// Takes no lock, and asks nobody.
aq_firehose_region_t *aq_firehose_look(const aq_firehose_t *firehose, uint32_t peer,
                                       uintptr_t address, bool write);

typedef enum aq_firehose_reached {
    AQ_FIREHOSE_HIT,   // the region is in use until it is released
    AQ_FIREHOSE_ASKED, // wait->done will be called
    AQ_FIREHOSE_FULL,  // all firehoses into the peer are in use: go by messages, or poll and retry
} aq_firehose_reached_t;

// A firehose onto memory of a peer, a byte at least, which begins at `address` there. data: what a
// put of at most put_in_move bytes writes to it, else NULL; a miss takes it along. Sends requests.
aq_firehose_reached_t aq_firehose_reach(aq_firehose_t *firehose, uint32_t peer, uintptr_t address,
                                        size_t bytes, bool write, const void *data,
                                        aq_firehose_wait_t *wait, aq_firehose_region_t **region);

// A request of a peer, and the answer that the caller sends back. The caller has checked that the
// peer may touch the memory. AQ_ERR_PEER: it is none of ours (logged), answer is not set.
aq_status_t aq_firehose_serve(aq_firehose_t *firehose, uint32_t peer,
                              const aq_firehose_message_t *request, const void *data,
                              uint32_t data_bytes, aq_firehose_message_t *answer);

// An answer of a peer. AQ_ERR_PEER as before.
aq_status_t aq_firehose_answered(aq_firehose_t *firehose, uint32_t peer,
                                 const aq_firehose_message_t *answer);

// ---- what it did ----

typedef struct aq_firehose_stats {
    uint64_t misses, pins, unpins, evictions, merged; // own regions
    uint64_t moves_asked, moves_served, refused;
    aq_firehose_amount_t main, victim;           // pinned now
    aq_firehose_amount_t main_most, victim_most; // may be pinned
} aq_firehose_stats_t;

void aq_firehose_stats(aq_firehose_t *firehose, aq_firehose_stats_t *stats);

// ---- limits, for whoever pins ----

// What it was that refused to pin `bytes` more, from errno and what the kernel says about the
// process.
aq_firehose_pinned_t aq_firehose_why(int error, uint64_t bytes);

// The words about a limit, to stand behind a colon: which one it is and how to raise it.
const char *aq_firehose_remedy(aq_firehose_pinned_t limit);

#endif
