// SPDX-License-Identifier: BSD-3-Clause
// Firehose: memory that a network device accesses is pinned on first use and stays pinned, so that
// the next use costs nothing. It knows no network: the conduit provides pinning and messages
// (aq_firehose_ops_t).
//
// The algorithm is from C. Bell and D. Bonachea, "A New DMA Registration Strategy for Pinning-Based
// High Performance Networks" (2003).
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
// - A region stays pinned while it is in use, by an operation of this process or by a firehose of a
//   peer.
// - Live regions of a process do not overlap. They grow: a miss absorbs idle neighbours.
// - The main pool holds regions on which a peer has a firehose; the victim pool holds all others. A
//   process has at most per_peer firehoses into each peer, so that moving one never depends on what
//   other processes hold.
// - If a request is longer than a region, or meets another region, the result is a region with the
//   beginning of the request; the caller continues behind its end.
//
// Any thread may call at any time. A hit takes no lock. No function waits for the network; pinning
// is a system call, under the lock of the process's regions.
#pragma once

#include "firehose_map.h"
#include "firehose_params.h"
#include "../other/base/minmax.h"

typedef struct aq_firehose aq_firehose_t;

// ---- what the network does for firehose ----

typedef enum aq_firehose_pinned {
    AQ_FIREHOSE_PINNED,
    AQ_FIREHOSE_NO_ACCESS, // the memory is not mapped, or not with the requested access
    AQ_FIREHOSE_MEMLOCK,   // the process's limit on locked memory is reached
    AQ_FIREHOSE_CGROUP,    // the memory limit of the control group, or of the host, is reached
    AQ_FIREHOSE_DEVICE,    // the device has no room for one more region
    AQ_FIREHOSE_SETTING,   // the user allows no more
    AQ_FIREHOSE_OUTCOMES
} aq_firehose_pinned_t;

typedef enum aq_firehose_kind {
    AQ_FIREHOSE_MOVE, // request: pin this memory, and release the previous memory of the slot
    AQ_FIREHOSE_MOVED,
    AQ_FIREHOSE_REVOKE, // request: the memory under this slot goes away
    AQ_FIREHOSE_GIVEN,  // the slot is released, or (bytes = 0) an operation still uses it
} aq_firehose_kind_t;

// A message, in its layout in memory. Data may follow a MOVE.
typedef struct aq_firehose_message {
    uint32_t kind;           // aq_firehose_kind_t
    uint32_t slot;           // index among the firehoses from one process to the other
    uint32_t generation;     // of the slot: each move increments it
    uint16_t write;          // MOVE: for writing. MOVED: the region is writable
    uint16_t status;         // MOVED: aq_status_t
    uint64_t address, bytes; // MOVE: the requested memory. MOVED: the region with its beginning
    uint64_t key;            // MOVED: for the initiator's operations
} aq_firehose_message_t;

_Static_assert(sizeof(aq_firehose_message_t) == 40, "what travels has no gaps");

typedef struct aq_firehose_ops {
    // Pins whole pages so that the device can read, and if writable also write them, and sets the
    // key. Must not call firehose. Does not log a refusal: firehose does.
    aq_firehose_pinned_t (*pin)(void *context, uintptr_t start, uint64_t bytes, bool writable,
                                aq_firehose_key_t *key);
    void (*unpin)(void *context, uintptr_t start, uint64_t bytes, const aq_firehose_key_t *key);
    // Sends a request; may poll and block. The peer calls aq_firehose_serve with it, and then this
    // process calls aq_firehose_answered with the answer. Several requests may be answered in any
    // order. The caller owns the data again when this returns. May be NULL if the process never
    // accesses memory of peers.
    void (*request)(void *context, uint32_t peer, const aq_firehose_message_t *message,
                    const void *data, uint32_t data_bytes);
} aq_firehose_ops_t;

// ---- start and stop ----

// ranks: peers are numbers below it; 0: only memory of this process is used. AQ_ERR_RESOURCE: no
// memory (logged).
aq_status_t aq_firehose_start(const aq_firehose_params_t *params, const aq_firehose_ops_t *ops,
                              void *context, uint32_t ranks, aq_firehose_t **out);

// Unpins everything. No region of this process may be in use; firehoses of peers are revoked.
void aq_firehose_stop(aq_firehose_t *firehose);

// As aq_firehose_stop at the end of a process, when other threads may still be inside or operations
// may be outstanding: regions in use are unpinned when these operations end, and nothing is freed.
// False: nothing was done, because firehose is busy, or the caller has interrupted it and must not
// call it again.
bool aq_firehose_quit(aq_firehose_t *firehose);

// Declares memory that stays mapped until the end: the segment. A peer that requests a place in it
// gets the whole block around it, because the peer has few firehoses. Other memory may be unmapped
// at any time, so nothing but the requested part is pinned. Call it before any peer sends requests.
void aq_firehose_stays(aq_firehose_t *firehose, const void *memory, size_t bytes);

// Memory for the table of all ranks, used or not.
size_t aq_firehose_table_bytes(const aq_firehose_t *firehose);

// ---- memory of this process ----

// Returns a pinned region with the beginning of the memory (at least one byte), in use until it is
// released. write: the device will write to it; memory that is only read may be read-only.
// AQ_AGAIN: everything that may be pinned is in use: use a copy, or poll and try again without
// holding another region. AQ_ERR_ABSENT: nothing may be pinned (GASNET_USE_FIREHOSE=0, or limits of
// the machine). AQ_ERR_RESOURCE: a limit prevents even one page from being pinned (logged once).
// AQ_ERR_ARG: the memory is not mapped.
aq_status_t aq_firehose_pin(aq_firehose_t *firehose, const void *memory, size_t bytes, bool write,
                            aq_firehose_region_t **region);

// Releases a region of this process or of a peer after the device has finished with it. Takes no
// lock unless the memory was invalidated.
static inline void aq_firehose_release(aq_firehose_region_t *region)
{
    aq_firehose_map_release(region);
}

// How many of the `bytes` from an address on are in the region.
static inline size_t aq_firehose_covered(const aq_firehose_region_t *region, uintptr_t address,
                                         size_t bytes)
{
    uintptr_t left = atomic_load_explicit(&region->end, memory_order_relaxed) - address;
    return aq_min(left, bytes);
}

// Call it before the client unmaps memory or changes its protection: firehose forgets the memory
// and revokes firehoses of peers on it. AQ_AGAIN: part of it is still in use; poll, and call again.
// Sends requests.
aq_status_t aq_firehose_invalidate(aq_firehose_t *firehose, const void *memory, size_t bytes);

// ---- memory of peers ----

// An operation that waits for a firehose. The caller owns it, except between a request and done.
// Callers embed it in the state of their operation.
typedef struct aq_firehose_wait {
    // Called when the answer arrives, by the polling thread, without locks. AQ_OK: the region is in
    // use until it is released; a NULL region means that the data travelled with the move and has
    // arrived. AQ_AGAIN: request again. Any other status: the peer cannot pin the memory, and the
    // operation has to use messages.
    void (*done)(struct aq_firehose_wait *wait, aq_status_t status, aq_firehose_region_t *region);
    uintptr_t address;
    STAILQ_ENTRY(aq_firehose_wait) link;
} aq_firehose_wait_t;

// Returns a firehose that this process already has on memory of a peer, in use until it is
// released; NULL: none. Takes no lock and sends nothing.
aq_firehose_region_t *aq_firehose_look(const aq_firehose_t *firehose, uint32_t peer,
                                       uintptr_t address, bool write);

typedef enum aq_firehose_reached {
    AQ_FIREHOSE_HIT,     // the region is in use until it is released
    AQ_FIREHOSE_PENDING, // wait->done will be called
    AQ_FIREHOSE_FULL,    // all firehoses into the peer are in use: use messages, or poll and retry
} aq_firehose_reached_t;

// Memory of a peer, and what it is for.
typedef struct aq_firehose_target {
    uint32_t peer;
    bool write;
    uintptr_t address; // there
    size_t bytes;      // at least one
    const void *data;  // what a put writes; NULL: nothing goes with a request
} aq_firehose_target_t;

// Requests a firehose on memory of a peer. A miss sends the data with the request if it is at most
// put_in_move bytes long. Sends requests.
aq_firehose_reached_t aq_firehose_reach(aq_firehose_t *firehose, const aq_firehose_target_t *target,
                                        aq_firehose_wait_t *wait, aq_firehose_region_t **region);

// Serves a request of a peer, and sets the answer that the caller sends back. The caller has
// verified that the peer may access the memory. AQ_ERR_PEER: the request is invalid (logged), and
// answer is not set.
aq_status_t aq_firehose_serve(aq_firehose_t *firehose, uint32_t peer,
                              const aq_firehose_message_t *request, const void *data,
                              uint32_t data_bytes, aq_firehose_message_t *answer);

// Processes an answer of a peer. AQ_ERR_PEER: the answer is invalid (logged).
aq_status_t aq_firehose_answered(aq_firehose_t *firehose, uint32_t peer,
                                 const aq_firehose_message_t *answer);

// ---- what it did ----

typedef struct aq_firehose_stats {
    uint64_t misses, pins, unpins, evictions, merged; // regions of this process
    uint64_t moves_sent, moves_served, refused;
    aq_firehose_amount_t main, victim;           // currently pinned
    aq_firehose_amount_t main_most, victim_most; // limits
} aq_firehose_stats_t;

void aq_firehose_stats(aq_firehose_t *firehose, aq_firehose_stats_t *stats);

// ---- limits ----

// Which limit prevented `bytes` more from being pinned, from errno and from the kernel's
// information about the process.
aq_firehose_pinned_t aq_firehose_why(int error, uint64_t bytes);

// Which limit it is and how to raise it, as text to follow a colon.
const char *aq_firehose_remedy(aq_firehose_pinned_t limit);
