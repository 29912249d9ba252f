// SPDX-License-Identifier: BSD-3-Clause
// Divides a range into blocks: the first free block that is large enough is taken, and free blocks
// that are neighbours become one.
//
//     range:  [ taken | free | taken | taken | free ]     no two free blocks are neighbours
//
// The blocks are nodes outside of the range, which may be memory that other processes write. A call
// passes the blocks before its own, so a range is for few, large blocks. There is no lock inside.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct aq_block {
    size_t offset, bytes;
    bool taken;
    struct aq_block *next; // the next one in the range
} aq_block_t;

typedef struct aq_first_fit {
    aq_block_t *first;
} aq_first_fit_t;

// Makes a range of size bytes, all of them free. False: memory is out.
bool aq_first_fit_start(aq_first_fit_t *range, size_t size);

// Takes a block, at least one byte long. False: no free block is large enough, or memory is out.
bool aq_first_fit_take(aq_first_fit_t *range, size_t bytes, size_t *offset);

// Gives a block back. False, and nothing was done: no taken block begins at this offset.
bool aq_first_fit_give(aq_first_fit_t *range, size_t offset);

// Frees the nodes.
void aq_first_fit_stop(aq_first_fit_t *range);
