// SPDX-License-Identifier: BSD-3-Clause
// The order in which the messages of a stream reach its handlers: numbers, rounds, and what waits
// behind them. It allocates nothing, sends nothing, reads no clock and holds no lock; callers make
// each call atomic with a lock of their own.
//
//      arrival of edge e --> early      ordered: until the messages before it are there
//                        --> waiting    ordered: behind a message that is in a round
//                        --> a round    one list for each edge and synchronizing handler
//                        --> ready      two lists: from children (up), from the parent (down)
//
// - On an ordered inbox, the items of an edge enter `ready` in the order of their numbers, alone or
//   with their round.
// - An ordered edge has at most one item in all rounds, and is `held` meanwhile. When the round
//   ends, the items that wait at the edge go on.
// - A round has one item of each of its edges. It ends when `need` edges have one, or when its
//   deadline has passed; deadline UINT64_MAX: no item is there, or there is no limit.
// - An inbox that drops does not wait for a missing number: an item that arrives after its
//   successor is late.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define AQ_NO_DEADLINE UINT64_MAX

enum { AQ_INBOX_UP, AQ_INBOX_DOWN, AQ_INBOX_DIRECTIONS };

struct aq_round;

// An item: part of a message of the caller.
typedef struct aq_item {
    struct aq_item *next; // in a list
    struct aq_item *with; // the next one of the same round, in the order of edges; in `ready` only
    struct aq_round *round; // of its synchronizing handler; NULL: the item is handled alone
    uint32_t edge, number;
} aq_item_t;

typedef struct aq_item_list {
    aq_item_t *first, *last;
} aq_item_list_t;

void aq_items_append(aq_item_list_t *list, aq_item_t *item);
void aq_items_prepend(aq_item_list_t *list, aq_item_t *item);
aq_item_t *aq_items_take(aq_item_list_t *list); // the first one; NULL: the list is empty

// A synchronizing handler. All zero but need, limit_ns, deadline and items at first.
typedef struct aq_round {
    uint32_t need;         // edges; at least 1
    uint32_t present;      // edges with an item
    uint64_t limit_ns;     // UINT64_MAX: none
    uint64_t deadline;     // of the round that has begun
    aq_item_list_t *items; // of each edge that can synchronize
    struct aq_round *next;
} aq_round_t;

typedef struct aq_inbox_edge {
    uint32_t expected;   // number of the next item
    bool held, released; // released: in the list of that name
    struct aq_inbox_edge *next_released;
    aq_item_t *early; // ascending by number
    aq_item_list_t waiting;
} aq_inbox_edge_t;

// edge[0 .. sources - 1] can synchronize; edge[sources] is the parent.
typedef struct aq_inbox {
    bool ordered, drops;
    uint32_t sources;
    aq_inbox_edge_t *edge;
    aq_round_t *rounds;
    aq_inbox_edge_t *released; // no longer held, with items that wait; empty between calls
    aq_item_list_t ready[AQ_INBOX_DIRECTIONS];
} aq_inbox_t;

typedef enum aq_arrival_fate {
    AQ_ARRIVAL_KEPT,
    AQ_ARRIVAL_LATE, // dropped: it belongs to the caller again
    AQ_ARRIVAL_TWICE // wrong: an item with this number was here before
} aq_arrival_fate_t;

// Takes an item that has arrived, with edge, number and round set. now: in nanoseconds; used only
// if the item has a round with a limit.
aq_arrival_fate_t aq_inbox_arrive(aq_inbox_t *inbox, aq_item_t *item, uint64_t now);

// Ends the rounds whose deadline has passed.
void aq_inbox_expire(aq_inbox_t *inbox, uint64_t now);

// The earliest deadline.
uint64_t aq_inbox_deadline(const aq_inbox_t *inbox);

// The next item of a direction that is ready, with those of its round behind it (`with`); NULL:
// there is none.
aq_item_t *aq_inbox_take(aq_inbox_t *inbox, unsigned direction);

// Removes an item that is in a round or waits behind one, when no more items are to come; NULL:
// there is none any more.
aq_item_t *aq_inbox_abandon(aq_inbox_t *inbox);
