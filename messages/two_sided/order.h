// SPDX-License-Identifier: BSD-3-Clause
// Puts what one rank sends to another one in order: active messages come in any order, so the
// sender numbers them, and the receiver keeps those that arrive early. There is no lock inside: the
// caller holds its own lock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Part of an object of the caller.
typedef struct aq_order_entry {
    uint32_t number;
    struct aq_order_entry *next;
} aq_order_entry_t;

// What a receiver keeps for one source; all zero at first.
typedef struct aq_order {
    uint32_t expected;              // the next number
    aq_order_entry_t *early, *last; // in the order of their numbers; last: if there are any
} aq_order_t;

// Whether a number that arrives is the next one. An early entry may have it already.
static inline bool aq_order_is_next(const aq_order_t *order, uint32_t number)
{
    return number == order->expected && !(order->early && order->early->number == number);
}

// Whether a number has had its turn.
static inline bool aq_order_has_passed(const aq_order_t *order, uint32_t number)
{
    return (int32_t)(number - order->expected) < 0;
}

// Counts the next number, which has arrived and needs no place among the early ones.
static inline void aq_order_pass(aq_order_t *order)
{
    order->expected++;
}

static inline bool aq_order_is_before(const aq_order_entry_t *one, const aq_order_entry_t *other)
{
    return (int32_t)(one->number - other->number) < 0;
}

// Where to insert an early entry. Checks the end first: entries that wait for a lost one mostly
// arrive in order.
static inline aq_order_entry_t **aq_order_place(aq_order_t *order, const aq_order_entry_t *entry)
{
    aq_order_entry_t **at = &order->early;
    if (*at && aq_order_is_before(order->last, entry))
        at = &order->last->next;
    while (*at && aq_order_is_before(*at, entry))
        at = &(*at)->next;
    return at;
}

// Keeps an entry that has overtaken others, or that the caller wants to take later. False: the
// number has been used before, and the entry still belongs to the caller.
static inline bool aq_order_keep(aq_order_t *order, aq_order_entry_t *entry)
{
    aq_order_entry_t **at = aq_order_place(order, entry);
    if (aq_order_has_passed(order, entry->number) || (*at && (*at)->number == entry->number))
        return false;
    entry->next = *at;
    *at = entry;
    if (!entry->next)
        order->last = entry;
    return true;
}

// Removes the early entry that is the next one now, and returns it. NULL: it has not arrived.
static inline aq_order_entry_t *aq_order_take(aq_order_t *order)
{
    aq_order_entry_t *entry = order->early;
    if (!entry || entry->number != order->expected)
        return NULL;
    order->early = entry->next;
    return entry;
}
