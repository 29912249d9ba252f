// SPDX-License-Identifier: BSD-3-Clause
// Where the segments of all ranks are; and with segment FAST, which registers each as a whole,
// their keys.
//
//      starts, lengths   [ rank 0 ] [ rank 1 ] [ rank 2 ]     the core's tables
//      keys              [ rank 0 ] [ rank 1 ] [ rank 2 ]     one each; or if some rank has several
//                                                             pieces, as many each as the most
//      more_keys         the same, once for each further port  what memory of a rank is called at
//                                                             its second port, its third ...
//
// What is always true:
// - All segments are cut into pieces in the same way; only their lengths differ.
// - Nothing changes after the exchange, so readers take no lock.
#pragma once

#include "../../../spawner/boot/boot.h"
#include "../verbs/ibv_memory.h"

typedef struct aq_ibv_segments {
    const uintptr_t *starts, *lengths; // NULL: nothing was attached
    uint32_t *keys;                    // NULL: nothing is registered
    uint32_t *more_keys;               // NULL: no rank has a second port
    uint32_t ranks, ports;             // of the job; ports of the rank that has most
    uint32_t stride;                   // keys of a rank
    aq_ibv_cut_t cut;
} aq_ibv_segments_t;

// Collective over the job, before segments are registered: agrees on the finest cut that any rank
// needs, and on the largest number of ports of any rank; before, *ports is that of this rank. Logs
// faults.
aq_status_t aq_ibv_segments_agree(aq_boot_t *boot, aq_ibv_cut_t *cut, uint32_t *ports);

// Collective over the job: exchanges keys. mine: the segment of this rank as each of its ports has
// it (count of them, at most segments->ports), of length 0 if it has none. The caller has set what
// all know: starts, lengths, ports and cut. Logs faults.
aq_status_t aq_ibv_segments_exchange(aq_boot_t *boot, const aq_ibv_segment_t *mine, uint32_t count,
                                     aq_ibv_segments_t *segments);
void aq_ibv_segments_free(aq_ibv_segments_t *segments);

// Bytes of the keys of the segments of so many ranks.
static inline size_t aq_ibv_segments_table_bytes(const aq_ibv_segments_t *segments, uint32_t ranks)
{
    const uint32_t ports = segments->more_keys ? segments->ports : 1;
    return segments->keys ? (size_t)ranks * ports * segments->stride * sizeof *segments->keys : 0;
}

// Whether memory of a rank is in its segment.
static inline bool aq_ibv_segments_has(const aq_ibv_segments_t *segments, uint32_t rank,
                                       uintptr_t address, size_t bytes)
{
    if (segments->lengths == NULL)
        return false;
    const size_t offset = address - segments->starts[rank], length = segments->lengths[rank];
    return offset < length && bytes <= length - offset;
}

// The key for memory of a rank; *left: for how many of the bytes, from the first on. False: not all
// bytes are in the segment of the rank.
static inline bool aq_ibv_segments_key(const aq_ibv_segments_t *segments, uint32_t rank,
                                       uintptr_t address, size_t bytes, uint32_t *key, size_t *left)
{
    if (!aq_ibv_segments_has(segments, rank, address, bytes))
        return false;
    const size_t offset = address - segments->starts[rank];
    const uint32_t piece =
        aq_ibv_segment_piece(segments->lengths[rank], segments->cut, offset, bytes, left);
    *key = segments->keys[(size_t)rank * segments->stride + piece];
    return true;
}

// The key that memory in the segment of a rank has at one of its further ports, from 1; 0: none.
static inline uint32_t aq_ibv_segments_key_at(const aq_ibv_segments_t *segments, uint32_t port,
                                              uint32_t rank, uintptr_t address)
{
    if (!segments->more_keys || port >= segments->ports)
        return 0;
    const size_t piece = (address - segments->starts[rank]) >> segments->cut.shift;
    return segments
        ->more_keys[((port - 1) * (size_t)segments->ranks + rank) * segments->stride + piece];
}
