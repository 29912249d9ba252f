// SPDX-License-Identifier: BSD-3-Clause
// Order and rounds of the messages of a stream.
#include "stream_sync.h"

#include <stddef.h>

void aq_items_append(aq_item_list_t *list, aq_item_t *item)
{
    item->next = NULL;
    if (list->first)
        list->last->next = item;
    else
        list->first = item;
    list->last = item;
}

void aq_items_prepend(aq_item_list_t *list, aq_item_t *item)
{
    item->next = list->first;
    if (!list->first)
        list->last = item;
    list->first = item;
}

aq_item_t *aq_items_take(aq_item_list_t *list)
{
    aq_item_t *item = list->first;
    if (item)
        list->first = item->next;
    return item;
}

// ---- rounds ----

static void round_add(aq_round_t *round, aq_item_t *item, uint64_t now)
{
    aq_item_list_t *items = &round->items[item->edge];
    if (!round->present && round->limit_ns != UINT64_MAX)
        round->deadline = now + round->limit_ns;
    round->present += !items->first;
    aq_items_append(items, item);
}

// Releases the edges of a chain of ready items, which were held by the round.
static void chain_release(aq_inbox_t *inbox, const aq_item_t *chain)
{
    for (; chain; chain = chain->with) {
        aq_inbox_edge_t *edge = &inbox->edge[chain->edge];
        edge->held = false;
        if (edge->released || !edge->waiting.first)
            continue;
        edge->released = true;
        edge->next_released = inbox->released;
        inbox->released = edge;
    }
}

// Moves the first item of each edge to `ready`, as one chain. Items that are left begin the next
// round.
static void round_end(aq_inbox_t *inbox, aq_round_t *round, uint64_t now)
{
    aq_item_t *first = NULL, **link = &first;
    round->present = 0;
    for (uint32_t edge = 0; edge < inbox->sources; edge++) {
        aq_item_t *item = aq_items_take(&round->items[edge]);
        if (!item)
            continue;
        *link = item;
        link = &item->with;
        round->present += round->items[edge].first != NULL;
    }
    *link = NULL;
    round->deadline =
        round->present && round->limit_ns != UINT64_MAX ? now + round->limit_ns : AQ_NO_DEADLINE;
    aq_items_append(&inbox->ready[AQ_INBOX_UP], first);
    if (inbox->ordered)
        chain_release(inbox, first);
}

// Passes an item whose turn it is: to `ready`, into a round, or behind a message in a round.
static void item_pass(aq_inbox_t *inbox, aq_item_t *item, uint64_t now)
{
    aq_inbox_edge_t *edge = &inbox->edge[item->edge];
    if (edge->held) {
        aq_items_append(&edge->waiting, item);
        return;
    }
    item->with = NULL;
    if (!item->round) {
        const unsigned direction = item->edge == inbox->sources ? AQ_INBOX_DOWN : AQ_INBOX_UP;
        aq_items_append(&inbox->ready[direction], item);
        return;
    }
    edge->held = inbox->ordered;
    round_add(item->round, item, now);
    if (item->round->present >= item->round->need)
        round_end(inbox, item->round, now);
}

// Passes the items that wait at edges that are no longer held. An item that ends a round may
// release further ones.
static void released_go_on(aq_inbox_t *inbox, uint64_t now)
{
    aq_inbox_edge_t *edge;
    while ((edge = inbox->released) != NULL) {
        inbox->released = edge->next_released;
        edge->released = false;
        for (aq_item_t *item; !edge->held && (item = aq_items_take(&edge->waiting)) != NULL;)
            item_pass(inbox, item, now);
    }
}

// ---- arrivals ----

static int32_t number_compare(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b);
}

static aq_arrival_fate_t early_add(aq_inbox_edge_t *edge, aq_item_t *item)
{
    aq_item_t **at = &edge->early;
    while (*at && number_compare((*at)->number, item->number) < 0)
        at = &(*at)->next;
    if (*at && (*at)->number == item->number)
        return AQ_ARRIVAL_TWICE;
    item->next = *at;
    *at = item;
    return AQ_ARRIVAL_KEPT;
}

static void early_pass(aq_inbox_t *inbox, aq_inbox_edge_t *edge, uint64_t now)
{
    aq_item_t *item;
    while ((item = edge->early) != NULL && item->number == edge->expected) {
        edge->early = item->next;
        edge->expected++;
        item_pass(inbox, item, now);
    }
}

aq_arrival_fate_t aq_inbox_arrive(aq_inbox_t *inbox, aq_item_t *item, uint64_t now)
{
    aq_inbox_edge_t *edge = &inbox->edge[item->edge];
    const int32_t ahead = number_compare(item->number, edge->expected);
    if (inbox->ordered && ahead < 0)
        return inbox->drops ? AQ_ARRIVAL_LATE : AQ_ARRIVAL_TWICE;
    if (inbox->ordered && ahead > 0 && !inbox->drops)
        return early_add(edge, item);
    edge->expected = item->number + 1;
    item_pass(inbox, item, now);
    if (inbox->ordered)
        early_pass(inbox, edge, now);
    released_go_on(inbox, now);
    return AQ_ARRIVAL_KEPT;
}

void aq_inbox_expire(aq_inbox_t *inbox, uint64_t now)
{
    for (aq_round_t *round = inbox->rounds; round; round = round->next)
        if (round->deadline != AQ_NO_DEADLINE && round->deadline <= now)
            round_end(inbox, round, now);
    released_go_on(inbox, now);
}

uint64_t aq_inbox_deadline(const aq_inbox_t *inbox)
{
    uint64_t earliest = AQ_NO_DEADLINE;
    for (const aq_round_t *round = inbox->rounds; round; round = round->next)
        if (round->deadline < earliest)
            earliest = round->deadline;
    return earliest;
}

aq_item_t *aq_inbox_take(aq_inbox_t *inbox, unsigned direction)
{
    return aq_items_take(&inbox->ready[direction]);
}

aq_item_t *aq_inbox_abandon(aq_inbox_t *inbox)
{
    aq_item_t *item = NULL;
    for (aq_round_t *round = inbox->rounds; round; round = round->next)
        for (uint32_t edge = 0; edge < inbox->sources; edge++)
            if ((item = aq_items_take(&round->items[edge])) != NULL)
                return item;
    for (uint32_t edge = 0; edge < inbox->sources; edge++)
        if ((item = aq_items_take(&inbox->edge[edge].waiting)) != NULL)
            return item;
    return NULL;
}
