// Memory that the device may read and write: registered with it, piece by piece.
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
//   GASNET_PHYSMEM_NOPROBE=0 asks for it. Who is refused is told which limit it was, how much it
//   allows, and what to do; nobody here logs, so that one process can speak for all.
// - The calls of libibverbs are injected: tests have their own.
//
// Threads: any may register and give back at any time.
#ifndef AQ_IBV_MEMORY_H
#define AQ_IBV_MEMORY_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../firehose/firehose.h"
#include "../../other/base/status.h"

// What is called, with errno as libibverbs sets it.
typedef struct aq_ibv_calls {
    struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *start, size_t bytes, int access);
    int (*dereg_mr)(struct ibv_mr *region);
    enum ibv_fork_status (*is_fork_initialized)(void);
    int (*fork_init)(void); // returns an errno
} aq_ibv_calls_t;

extern const aq_ibv_calls_t aq_ibv_calls; // those of libibverbs

typedef enum aq_ibv_access {
    AQ_IBV_READ,  // by this device, and by peers
    AQ_IBV_WRITE, // the same, and written; and atomics where the device has them
} aq_ibv_access_t;

typedef struct aq_ibv_memory {
    // Set by the owner before anything else, and left alone.
    const aq_ibv_calls_t *calls;
    struct ibv_pd *pd;
    const char *device;    // its name, for messages
    uint64_t region_bytes; // the longest region of the device
    uint64_t piece_bytes;  // the longest piece of a segment; see aq_ibv_memory_piece_bytes
    uint64_t overlap;      // what is no longer than this needs one key, wherever it begins
    uint64_t most;         // bytes that should be registered here; see aq_firehose_pinnable
    bool limited;          // the user set that limit: not a byte more
    bool atomics;          // the device has remote atomics
    // What is registered at the moment.
    _Atomic uint64_t bytes;
    atomic_uint regions;
} aq_ibv_memory_t;

// The longest piece of a segment: what the device allows, and no more than GASNET_PIN_MAXSZ.
uint64_t aq_ibv_memory_piece_bytes(uint64_t device);

// ---- one region ----

// Registers at least a byte, without a word: for firehose. The outcome is what refused.
aq_firehose_pinned_t aq_ibv_memory_try(aq_ibv_memory_t *memory, const void *start, size_t bytes,
                                       aq_ibv_access_t access, struct ibv_mr **region);

// The same for what is needed anyway. AQ_ERR_RESOURCE: a limit refused it; AQ_ERR_ARG: there is no
// such memory. Then why has a sentence that begins with `what` ("the message buffers").
aq_status_t aq_ibv_memory_register(aq_ibv_memory_t *memory, const char *what, const void *start,
                                   size_t bytes, aq_ibv_access_t access, struct ibv_mr **region,
                                   char *why, size_t why_size);

void aq_ibv_memory_release(aq_ibv_memory_t *memory, struct ibv_mr *region);

// ---- as much as there can be ----

// Registers, for writing, the first of `most` units of some bytes each, as many as the limits
// allow and at least `least` (1 or more): a pool of buffers that may be smaller. Returns how many.
// Fewer than most: why has the sentence. 0: not even `least`, nothing is registered.
size_t aq_ibv_memory_register_pool(aq_ibv_memory_t *memory, const char *what, void *start,
                                   size_t unit, size_t most, size_t least, struct ibv_mr **region,
                                   char *why, size_t why_size);

// How much can be registered beside what is already, by trying it, up to memory->most: takes
// seconds where that is much, and the memory meanwhile. What GASNET_PHYSMEM_PROBE=1 asks for.
uint64_t aq_ibv_memory_probe(aq_ibv_memory_t *memory);

// Whether the user asks for that.
bool aq_ibv_memory_probe_wanted(void);

// ---- a segment ----

// How a segment is cut into pieces: each of 2^shift bytes, and its region goes on for `overlap`
// bytes behind it.
typedef struct aq_ibv_cut {
    uint32_t shift, overlap;
} aq_ibv_cut_t;

// How one of so many bytes has to be cut for this device; 0 bytes: anyhow.
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

// Registers all of it for writing, or nothing. As aq_ibv_memory_register.
aq_status_t aq_ibv_segment_register(aq_ibv_memory_t *memory, void *start, size_t bytes,
                                    aq_ibv_cut_t cut, aq_ibv_segment_t *segment, char *why,
                                    size_t why_size);
void aq_ibv_segment_release(aq_ibv_memory_t *memory, aq_ibv_segment_t *segment);

// The number of the piece that has the first of some bytes; *left is how many of them its region
// has. The segment, of so many bytes, has them all; offset is where they begin in it.
static inline uint32_t aq_ibv_segment_piece(size_t length, aq_ibv_cut_t cut, size_t offset,
                                            size_t bytes, size_t *left)
{
    size_t end = (((offset >> cut.shift) + 1) << cut.shift) + cut.overlap; // behind the region
    if (end > length)
        end = length;
    *left = bytes < end - offset ? bytes : end - offset;
    return (uint32_t)(offset >> cut.shift);
}

// ---- memory of the client ----

// Whether memory outside of the segment may stay registered after its use: when firehose is wanted,
// and malloc gives nothing back to the system (GASNET_DISABLE_MUNMAP).
bool aq_ibv_memory_stays(void);

// Tells malloc so, if that is wanted. As early as can be: what was mapped before may still go.
void aq_ibv_memory_keep(void);

// ---- children ----

// Makes it harmless that a child of fork touches memory that is registered: by the kernel, which
// copies it for the child, or where it does not, by libibverbs, which then keeps registered pages
// from the child. Before anything is registered. AQ_ERR_RESOURCE: neither can be; why has the
// sentence.
aq_status_t aq_ibv_memory_fork_safe(const aq_ibv_calls_t *calls, char *why, size_t why_size);

#endif
