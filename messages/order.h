// Puts what one rank sends to another one in order: active messages come in any order, so the
// sender numbers them, and the receiver keeps those that arrive early. There is no lock inside: the
// caller holds its own lock.
#ifndef AQ_ORDER_H
#define AQ_ORDER_H

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

static inline bool aq_order_is_next(const aq_order_t *order, uint32_t number)
{
    return number == order->expected;
}

// The next one has been dealt with.
static inline void aq_order_pass(aq_order_t *order)
{
    order->expected++;
}

static inline bool aq_order_is_before(const aq_order_entry_t *one, const aq_order_entry_t *other)
{
    return (int32_t)(one->number - other->number) < 0;
}

// Keeps an entry that has overtaken others. Most of those that wait for a lost one are in order.
static inline void aq_order_keep(aq_order_t *order, aq_order_entry_t *entry)
{
    aq_order_entry_t **at = &order->early;
    if (*at && aq_order_is_before(order->last, entry))
        at = &order->last->next;
    while (*at && aq_order_is_before(*at, entry))
        at = &(*at)->next;
    entry->next = *at;
    *at = entry;
    if (!entry->next)
        order->last = entry;
}

// Removes the early entry that is the next one now, and returns it. NULL: it has not arrived.
static inline aq_order_entry_t *aq_order_take(aq_order_t *order)
{
    aq_order_entry_t *entry = order->early;
    if (!entry || !aq_order_is_next(order, entry->number))
        return NULL;
    order->early = entry->next;
    return entry;
}

#endif
