// SPDX-License-Identifier: BSD-3-Clause
// Takes blocks out of a range and gives them back, by a list of all blocks in the order of their
// offsets. shared_heap.c divides its memory with it.
#include "first_fit.h"

#include <stdlib.h>

static aq_block_t *block_make(size_t offset, size_t bytes, aq_block_t *next)
{
    aq_block_t *block = malloc(sizeof *block);
    if (block)
        *block = (aq_block_t){.offset = offset, .bytes = bytes, .next = next};
    return block;
}

// Cuts a block to so many bytes; the rest becomes a free block. False: memory is out.
static bool block_cut(aq_block_t *block, size_t bytes)
{
    if (block->bytes == bytes)
        return true;
    aq_block_t *rest = block_make(block->offset + bytes, block->bytes - bytes, block->next);
    if (!rest)
        return false;
    block->bytes = bytes;
    block->next = rest;
    return true;
}

// Makes two free neighbours one.
static void block_join_next(aq_block_t *block)
{
    aq_block_t *next = block->next;
    if (!next || block->taken || next->taken)
        return;
    block->bytes += next->bytes;
    block->next = next->next;
    free(next);
}

bool aq_first_fit_start(aq_first_fit_t *range, size_t size)
{
    range->first = block_make(0, size, NULL);
    return range->first;
}

bool aq_first_fit_take(aq_first_fit_t *range, size_t bytes, size_t *offset)
{
    aq_block_t *block = range->first;
    while (block && (block->taken || block->bytes < bytes))
        block = block->next;
    if (!block || !block_cut(block, bytes))
        return false;
    block->taken = true;
    *offset = block->offset;
    return true;
}

bool aq_first_fit_give(aq_first_fit_t *range, size_t offset)
{
    aq_block_t *block = range->first, *before = NULL;
    for (; block && block->offset < offset; block = block->next)
        before = block;
    if (!block || block->offset != offset || !block->taken)
        return false;
    block->taken = false;
    block_join_next(block);
    if (before)
        block_join_next(before);
    return true;
}

void aq_first_fit_stop(aq_first_fit_t *range)
{
    aq_block_t *next;
    for (aq_block_t *block = range->first; block; block = next) {
        next = block->next;
        free(block);
    }
    range->first = NULL;
}
