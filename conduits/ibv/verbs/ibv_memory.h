// SPDX-License-Identifier: BSD-3-Clause
// Registration: memory that the device may read and write.
//
//      segment   [ piece 0   | piece 1   | piece 2   | p. 3 ]    pieces of 2^shift bytes, the last
//                  ^ key 0     ^ key 1     ^ key 2     ^ key 3   one shorter
//                [ region 0    ]           [ region 2    ]       a region goes on behind its piece,
//                            [ region 1    ]           [ r. 3 ]  by `overlap` bytes
//
// What is always true:
// - A region is no longer than the device allows; a segment that is longer than that, or than
//   GASNET_PIN_MAXSZ, has several.
// - Memory that is only read is registered without the right to write it, so that it may be
//   read-only.
// - Nothing is registered to find out how much can be, unless GASNET_PHYSMEM_PROBE or
//   GASNET_PHYSMEM_NOPROBE=0 asks for it. A refusal names the limit, how much it allows, and the
//   remedy; nothing here logs, so that one process can speak for all.
// - The calls of libibverbs are injected: tests have their own.
//
// Threads: any thread may register and release at any time.
#pragma once

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../firehose/firehose.h"
#include "../../../other/base/log/status.h"

// Calls of libibverbs, which set errno.
typedef struct aq_ibv_calls {
    struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *start, size_t bytes, int access);
    int (*dereg_mr)(struct ibv_mr *region);
    enum ibv_fork_status (*is_fork_initialized)(void);
    int (*fork_init)(void); // returns an errno
} aq_ibv_calls_t;

extern const aq_ibv_calls_t aq_ibv_calls; // the real ones

typedef enum aq_ibv_access {
    AQ_IBV_READ,   // by this device, and by peers
    AQ_IBV_WRITE,  // as READ, and also written; and atomics if the device has them
    AQ_IBV_BUFFER, // as WRITE, and pinned, even if other memory is paged
    // All memory of the process, from NULL on and SIZE_MAX bytes long, without atomics: for reading
    // and writing by this device; and by peers too. Only if it is AQ_IBV_PAGED_WHOLE.
    AQ_IBV_ALL_HERE,
    AQ_IBV_ALL,
} aq_ibv_access_t;

// Whether a device follows the page tables (GASNET_USE_ODP).
typedef enum aq_ibv_paging {
    AQ_IBV_NOT_PAGED,
    AQ_IBV_PAGED,       // in regions of the client's memory; nothing is pinned
    AQ_IBV_PAGED_WHOLE, // also in one region of all memory (implicit ODP)
} aq_ibv_paging_t;

typedef struct aq_ibv_memory {
    // The owner sets these before anything else, and does not change them.
    const aq_ibv_calls_t *calls;
    struct ibv_pd *pd;
    const char *device;    // its name, for messages
    uint64_t region_bytes; // the longest region of the device
    uint64_t piece_bytes;  // the longest piece of a segment; see aq_ibv_memory_piece_bytes
    uint64_t overlap;      // an access of at most this length needs one key, wherever it begins
    uint64_t most;         // bytes that should be registered here; see aq_firehose_pinnable
    bool limited;          // the user set that limit, so it is strict
    bool atomics;          // the device has remote atomics
    aq_ibv_paging_t paged; // whether the client's memory is; buffers are pinned
    // What is registered now.
    _Atomic uint64_t bytes; // as far as it is pinned
    atomic_uint regions;
} aq_ibv_memory_t;

// The longest piece of a segment: the limit of the device, or GASNET_PIN_MAXSZ if that is less.
uint64_t aq_ibv_memory_piece_bytes(uint64_t device);

// How a device can page all memory of the client on demand: that of puts, gets, Longs, and with
// `atomics` of remote atomics. Messages arrive in buffers, which are pinned.
aq_ibv_paging_t aq_ibv_memory_can_page(const struct ibv_odp_caps *caps, bool atomics);

// The same if GASNET_USE_ODP asks for it. Warns (rank 0) if the device cannot.
aq_ibv_paging_t aq_ibv_memory_pages(struct ibv_context *verbs, bool atomics);

// ---- one region ----

// For firehose: registers at least one byte, and says which limit refused it.
aq_firehose_pinned_t aq_ibv_memory_try(aq_ibv_memory_t *memory, const void *start, size_t bytes,
                                       aq_ibv_access_t access, struct ibv_mr **region);

// Memory that is to be registered.
typedef struct aq_ibv_area {
    const char *what; // in messages: "the buffers"
    const void *start;
    size_t bytes;
    aq_ibv_access_t access;
} aq_ibv_area_t;

// Registers memory without which the job cannot go on. AQ_ERR_RESOURCE: a limit refused it;
// AQ_ERR_ARG: there is no such memory. Then errbuf has a message that begins with area->what.
aq_status_t aq_ibv_memory_register(aq_ibv_memory_t *memory, const aq_ibv_area_t *area,
                                   struct ibv_mr **region, char *errbuf, size_t errbuf_size);

// access: whether it was AQ_IBV_BUFFER when the region was registered.
void aq_ibv_memory_release(aq_ibv_memory_t *memory, struct ibv_mr *region, aq_ibv_access_t access);

// ---- as much as possible ----

// Memory of a pool of buffers, which may have fewer of them.
typedef struct aq_ibv_pool_area {
    const char *what; // in messages
    void *start;
    size_t unit;        // bytes of a buffer
    size_t most, least; // buffers; least is 1 or more
} aq_ibv_pool_area_t;

// Registers, for writing, the first buffers of a pool, as many as the limits allow. Returns how
// many. Fewer than the most: errbuf has the message. 0: not even the least; nothing is registered.
size_t aq_ibv_memory_register_pool(aq_ibv_memory_t *memory, const aq_ibv_pool_area_t *pool,
                                   struct ibv_mr **region, char *errbuf, size_t errbuf_size);

// Finds out by trial how much more can be registered, up to memory->most. That may take seconds,
// and needs the memory meanwhile. GASNET_PHYSMEM_PROBE=1 asks for it.
uint64_t aq_ibv_memory_probe(aq_ibv_memory_t *memory);

// Whether the user asks for that probe.
bool aq_ibv_memory_probe_wanted(void);

// ---- a segment ----

// How a segment is cut into pieces: each has 2^shift bytes, and its region extends `overlap` bytes
// beyond it.
typedef struct aq_ibv_cut {
    uint32_t shift, overlap;
} aq_ibv_cut_t;

// How a segment of so many bytes has to be cut for this device; 0 bytes: any cut is right.
aq_ibv_cut_t aq_ibv_segment_cut(const aq_ibv_memory_t *memory, size_t bytes);

static inline uint32_t aq_ibv_segment_pieces(aq_ibv_cut_t cut, size_t bytes)
{
    return bytes ? (uint32_t)((bytes - 1) >> cut.shift) + 1 : 0;
}

typedef struct aq_ibv_segment {
    uintptr_t start;
    size_t bytes;
    aq_ibv_cut_t cut;
    uint32_t count;
    struct ibv_mr **pieces;
} aq_ibv_segment_t;

// Registers the whole segment for writing, or nothing; see aq_ibv_memory_register. The caller has
// set where it is and how it is cut.
aq_status_t aq_ibv_segment_register(aq_ibv_memory_t *memory, aq_ibv_segment_t *segment,
                                    char *errbuf, size_t errbuf_size);
void aq_ibv_segment_release(aq_ibv_memory_t *memory, aq_ibv_segment_t *segment);

// The number of the piece that has the first of `bytes` at an offset in a segment of `length`
// bytes, which has all of them; *left: how many of them are in the region of that piece.
static inline uint32_t aq_ibv_segment_piece(size_t length, aq_ibv_cut_t cut, size_t offset,
                                            size_t bytes, size_t *left)
{
    size_t end = (((offset >> cut.shift) + 1) << cut.shift) + cut.overlap; // end of the region
    if (end > length)
        end = length;
    *left = bytes < end - offset ? bytes : end - offset;
    return (uint32_t)(offset >> cut.shift);
}

// ---- children ----

// Makes registered memory safe from children of fork: the kernel copies it for the child, or if the
// kernel does not, libibverbs keeps registered pages from the child. Call it before anything is
// registered. AQ_ERR_RESOURCE: neither is possible; errbuf has the message.
aq_status_t aq_ibv_memory_fork_safe(const aq_ibv_calls_t *calls, char *errbuf, size_t errbuf_size);
