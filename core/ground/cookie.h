// SPDX-License-Identifier: BSD-3-Clause
// A cookie identifies, in messages, an operation that waits for the answer of a peer. A process
// would have to trust a pointer that a peer sends back; a cookie is looked up and checked.
//
//     cookie:  [ generation, 32 bits, never 0 | index of the slot, 32 bits ]
//
// A slot is reused with the next generation, so that an old cookie finds nothing. A cookie is valid
// only for the peer that it was made for. There is no lock inside: the caller holds its own lock,
// or is the only thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t aq_cookie_t; // 0: none

// An operation that waits. The caller defines the meaning of all fields but rank.
typedef struct aq_pending_op {
    void *context;
    void *dest;
    size_t nbytes;
    uint64_t extra;
    uint32_t rank; // the peer that answers; not UINT32_MAX
} aq_pending_op_t;

typedef struct aq_cookie_slot {
    aq_pending_op_t op;  // rank UINT32_MAX: the slot is free
    uint32_t generation; // of the cookie that the slot has, or will have next
    uint32_t next_free;  // of a free slot: one more than the index of the next one; 0: none
} aq_cookie_slot_t;

// A table of all zeros is empty and needs no initialization. A table grows and never shrinks: 48
// bytes for each operation of the largest number that ever waited at the same time.
typedef struct aq_cookies {
    aq_cookie_slot_t *slots;
    uint32_t count;
    uint32_t free; // one more than the index of a free slot; 0: none
} aq_cookies_t;

// Adds free slots. Returns false, with the table unchanged, if memory is out.
bool aq_cookies_grow(aq_cookies_t *table);

// Frees the memory. The table is empty and may be used again; it may then repeat old cookies.
void aq_cookies_stop(aq_cookies_t *table);

// The index of the slot with this cookie of this peer; UINT32_MAX if there is none.
static inline uint32_t aq_cookies_index(const aq_cookies_t *table, aq_cookie_t cookie,
                                        uint32_t rank)
{
    const uint32_t index = (uint32_t)cookie;
    if (index >= table->count || rank == UINT32_MAX)
        return UINT32_MAX;
    const aq_cookie_slot_t *slot = &table->slots[index];
    return slot->generation == cookie >> 32 && slot->op.rank == rank ? index : UINT32_MAX;
}

// Keeps a copy of *op. Returns its cookie, or 0 if memory is out.
static inline aq_cookie_t aq_cookies_add(aq_cookies_t *table, const aq_pending_op_t *op)
{
    if (__builtin_expect(!table->free, 0) && !aq_cookies_grow(table))
        return 0;
    const uint32_t index = table->free - 1;
    aq_cookie_slot_t *slot = &table->slots[index];
    table->free = slot->next_free;
    slot->op = *op;
    return (aq_cookie_t)slot->generation << 32 | index;
}

// Returns the operation with this cookie of this peer, or NULL. The operation stays in the table;
// the pointer is valid until the next call that changes the table.
static inline const aq_pending_op_t *aq_cookies_find(const aq_cookies_t *table, aq_cookie_t cookie,
                                                     uint32_t rank)
{
    const uint32_t index = aq_cookies_index(table, cookie, rank);
    return index == UINT32_MAX ? NULL : &table->slots[index].op;
}

// Moves the operation with this cookie of this peer from the table to *op. Returns false and leaves
// *op unchanged if there is none.
static inline bool aq_cookies_take(aq_cookies_t *table, aq_cookie_t cookie, uint32_t rank,
                                   aq_pending_op_t *op)
{
    const uint32_t index = aq_cookies_index(table, cookie, rank);
    if (__builtin_expect(index == UINT32_MAX, 0))
        return false;
    aq_cookie_slot_t *slot = &table->slots[index];
    *op = slot->op;
    slot->op.rank = UINT32_MAX;
    if (__builtin_expect(++slot->generation == 0, 0))
        slot->generation = 1;
    slot->next_free = table->free;
    table->free = index + 1;
    return true;
}
