// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the order and the rounds of messages of streams, whose numbers and times of arrival
// peers choose.
//
// An input is a byte for the kind of the inbox, and then pairs of bytes: an arrival and its number,
// a time that passes, or a look at what is ready. Invariants: a message that is kept comes out
// once, and no other one does; on an ordered inbox those of an edge come out in the order of their
// numbers; a message is there twice if one with its number was there before; a chain is of one
// round.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../messages/stream/stream_sync.h"
#include "fuzz_check.h"

enum { SOURCES = 3, EDGES = SOURCES + 1, NUMBERS = 256, LIMIT = 50 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct message {
    aq_item_t item;
    bool inside;
} message_t;

static struct {
    aq_inbox_t inbox;
    aq_inbox_edge_t edge[EDGES];
    aq_round_t round;
    aq_item_list_t items[SOURCES];
    bool seen[EDGES][NUMBERS];
    int last[EDGES]; // number of the last message that came out
    size_t inside;   // messages
    uint64_t now;
} t;

// kind: bits for ordered, drops, need (2) and a limit.
static void inbox_make(uint8_t kind)
{
    memset(&t, 0, sizeof t);
    t.round.need = 1 + (kind >> 2) % SOURCES;
    t.round.limit_ns = kind & 16 ? LIMIT : UINT64_MAX;
    t.round.deadline = AQ_NO_DEADLINE;
    t.round.items = t.items;
    t.inbox.ordered = kind & 1;
    t.inbox.drops = kind & 2;
    t.inbox.sources = SOURCES;
    t.inbox.edge = t.edge;
    t.inbox.rounds = &t.round;
    for (unsigned i = 0; i < EDGES; i++)
        t.last[i] = -1;
}

static void fate_check(aq_arrival_fate_t fate, bool seen)
{
    if (t.inbox.ordered && !t.inbox.drops)
        require(fate == (seen ? AQ_ARRIVAL_TWICE : AQ_ARRIVAL_KEPT));
    else if (t.inbox.ordered)
        require(fate == AQ_ARRIVAL_LATE || (fate == AQ_ARRIVAL_KEPT && !seen));
    else
        require(fate == AQ_ARRIVAL_KEPT);
}

// synchronizes: only messages of children do.
static void message_arrive(message_t *message, unsigned edge, bool synchronizes, uint8_t number)
{
    message->item.edge = edge;
    message->item.number = number;
    message->item.round = synchronizes && edge < SOURCES ? &t.round : NULL;
    const aq_arrival_fate_t fate = aq_inbox_arrive(&t.inbox, &message->item, t.now);
    fate_check(fate, t.seen[edge][number]);
    t.seen[edge][number] = true;
    message->inside = fate == AQ_ARRIVAL_KEPT;
    t.inside += message->inside;
}

static void item_leave(aq_item_t *item)
{
    message_t *message = (message_t *)(void *)item;
    require(message->inside);
    message->inside = false;
    t.inside--;
}

static void chain_leave(aq_item_t *item)
{
    for (aq_item_t *with = item->with; item; item = with) {
        with = item->with;
        require(!with || (with->round == item->round && with->edge > item->edge));
        require(!t.inbox.ordered || (int)item->number > t.last[item->edge]);
        t.last[item->edge] = (int)item->number;
        item_leave(item);
    }
}

static void ready_leave(unsigned direction)
{
    for (aq_item_t *item; (item = aq_inbox_take(&t.inbox, direction)) != NULL;) {
        require((item->edge == SOURCES) == (direction == AQ_INBOX_DOWN));
        chain_leave(item);
    }
}

// Nothing waits that could go on.
static void inbox_check(void)
{
    unsigned present = 0;
    require(!t.inbox.released);
    for (unsigned i = 0; i < EDGES; i++) {
        require(t.edge[i].held || !t.edge[i].waiting.first);
        require(!t.edge[i].early || t.edge[i].early->number != t.edge[i].expected);
    }
    for (unsigned i = 0; i < SOURCES; i++)
        present += t.items[i].first != NULL;
    require(present == t.round.present && present < t.round.need);
}

static void step(message_t *message, uint8_t what, uint8_t number)
{
    if (what < 192)
        message_arrive(message, what % EDGES, what & 4, number);
    else if (what < 224)
        ready_leave(what % AQ_INBOX_DIRECTIONS);
    else
        aq_inbox_expire(&t.inbox, t.now += number);
    inbox_check();
}

// What is left: ready, in a round or behind it, and early.
static void inbox_empty(void)
{
    ready_leave(AQ_INBOX_UP);
    ready_leave(AQ_INBOX_DOWN);
    for (aq_item_t *item; (item = aq_inbox_abandon(&t.inbox)) != NULL;)
        item_leave(item);
    for (unsigned i = 0; i < EDGES; i++)
        for (aq_item_t *item = t.edge[i].early; item; item = item->next)
            item_leave(item);
    require(t.inside == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    message_t *messages = calloc(size / 2 + 1, sizeof *messages);
    if (!messages)
        return 0;
    inbox_make(size ? data[0] : 0);
    for (size_t i = 1; i + 1 < size; i += 2)
        step(&messages[i / 2], data[i], data[i + 1]);
    inbox_empty();
    free(messages);
    return 0;
}
