// SPDX-License-Identifier: BSD-3-Clause
// Pieces of a transfer packed into messages.
#pragma once

#include "vis_transfer.h"

// A message names the remote pieces as runs, in front of the data if it has any:
//
//     [ run 0 | run 1 | ... ] [ data of run 0 | data of run 1 | ... ]
//
// A run is `count` pieces of `nbytes`, each `stride` bytes behind the one before.

typedef struct aq_vis_run {
    uint64_t addr;
    int64_t stride;
    uint32_t nbytes, count;
} aq_vis_run_t;

typedef struct aq_vis_pack {
    char *out;     // where runs are written; room for `limit` bytes
    size_t limit;  // of runs, and of data; or of both together:
    bool together; // runs and data travel in the same message
    uint32_t runs; // so far, including the last one, which is not written yet
    size_t nbytes; // of data, so far
    aq_vis_run_t last;
} aq_vis_pack_t;

// Adds the beginning of a piece; returns the number of its bytes that fit.
size_t aq_vis_pack_add(aq_vis_pack_t *pack, const char *addr, size_t nbytes);
// Adds a run of as many rows as fit, each of nbytes; returns how many: at least 2, or 0.
size_t aq_vis_pack_add_rows(aq_vis_pack_t *pack, const char *at, size_t nbytes, ptrdiff_t stride,
                            size_t rows);
void aq_vis_pack_end(aq_vis_pack_t *pack);

// A message of a peer, which says how many runs it has.
typedef struct aq_vis_message {
    const char *bytes;
    size_t size;
    uint32_t runs;
} aq_vis_message_t;

// Checks a message of a peer: the runs have to be complete, lie in the memory from `start`, and
// name *nbytes bytes, at most `limit`. Returns NULL, or the reason why the message is wrong.
const char *aq_vis_pack_check(const aq_vis_message_t *message, uintptr_t start, uintptr_t memory,
                              size_t limit, size_t *nbytes);

// Moves the data of a checked message from or to the places that its runs name.
void aq_vis_unpack(const char *runs, uint32_t count, const char *data);
void aq_vis_repack(const char *runs, uint32_t count, char *data);
