// Where the segments of all ranks are, and with segment FAST, where each is registered as a whole,
// in one piece or several, the keys to them.
//
//      rows   [ rank 0: start, length, shift, key ] [ rank 1 ] [ rank 2 ]
//      keys     [ 1: pieces of rank 0 | pieces of rank 1 | ... ]      only if anybody has several
//
// What is always true: a row does not change once it is there, so that it is read without a lock.
#ifndef AQ_IBV_SEGMENTS_H
#define AQ_IBV_SEGMENTS_H

#include "../../spawner/spawner.h"
#include "ibv_memory.h"

// What travels, as it is in memory.
typedef struct aq_ibv_segment_row {
    uint64_t start, bytes; // bytes 0: there is none
    uint32_t key;          // of the first piece
    uint16_t shift;        // log2 of the length of a piece
    uint16_t zero;
    uint32_t count;   // registered pieces
    uint32_t overlap; // of their regions
} aq_ibv_segment_row_t;

_Static_assert(sizeof(aq_ibv_segment_row_t) == 32, "what travels has no gaps");

typedef struct aq_ibv_segments {
    aq_ibv_segment_row_t *rows; // NULL: not exchanged
    uint32_t *keys;             // NULL: nobody has more than one piece
    uint64_t stride;            // keys of a rank
} aq_ibv_segments_t;

// Collective over the job. mine: of this rank, with a length of 0 if it has none. Logs faults.
aq_status_t aq_ibv_segments_exchange(aq_boot_t *boot, const aq_ibv_segment_t *mine,
                                     aq_ibv_segments_t *out);
void aq_ibv_segments_free(aq_ibv_segments_t *segments);

// Collective over the job: whether all ranks are well. Of those that are not, the first logs why,
// if there is a sentence; all return its status.
aq_status_t aq_ibv_agree(aq_boot_t *boot, aq_status_t status, const char *why);

// Whether memory of a rank is in its segment.
static inline bool aq_ibv_segments_has(const aq_ibv_segments_t *segments, uint32_t rank,
                                       uintptr_t address, size_t bytes)
{
    if (segments->rows == NULL)
        return false;
    const aq_ibv_segment_row_t *row = &segments->rows[rank];
    uint64_t offset = address - row->start;
    return offset < row->bytes && bytes <= row->bytes - offset;
}

// The key for memory of a rank; *left: how many of the bytes it is for, from the first on. False:
// the bytes are not all in what the rank has registered.
static inline bool aq_ibv_segments_key(const aq_ibv_segments_t *segments, uint32_t rank,
                                       uintptr_t address, size_t bytes, uint32_t *key, size_t *left)
{
    if (!aq_ibv_segments_has(segments, rank, address, bytes))
        return false;
    const aq_ibv_segment_row_t *row = &segments->rows[rank];
    const uint64_t offset = address - row->start;
    uint32_t piece = aq_ibv_segment_piece((size_t)row->bytes, row->shift, row->overlap,
                                          (size_t)offset, bytes, left);
    *key = piece == 0 ? row->key : segments->keys[rank * segments->stride + piece];
    return true;
}

#endif
