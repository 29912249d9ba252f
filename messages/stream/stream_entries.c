// SPDX-License-Identifier: BSD-3-Clause
// The tables of handlers of a stream.
#include "stream_entries.h"

#include <stdlib.h>

#include "../../core/ground/bounds.h"
#include "../../core/ground/fatal.h"
#include "../../other/base/minmax.h"
#include "stream_group.h"

enum { NS_OF_US = 1000 };

static bool is_group(uint32_t id)
{
    return id >= GASNETX_STREAM_BARRIER && id <= GASNETX_STREAM_SCAN;
}

static unsigned direction_bit(unsigned direction)
{
    return direction == AQ_INBOX_UP ? GASNETX_UP : GASNETX_DOWN;
}

// ---- the check ----

static const char *group_entry_check(const gasnetx_stream_entry_t *entry)
{
    if (!entry->fn || entry->filters[0].fn || entry->children || entry->flags)
        return "a handler of group communication has a function, and nothing else";
    return NULL;
}

static const char *entry_check(const gasnetx_stream_entry_t *entry)
{
    const unsigned directions = GASNETX_UP | GASNETX_DOWN;
    if (is_group(entry->id))
        return group_entry_check(entry);
    if (entry->id > GASNETX_STREAM_ID_MAX)
        return "ids of handlers are 0 to GASNETX_STREAM_ID_MAX, or of group communication";
    if (!entry->directions || (entry->directions & ~directions))
        return "the directions of a handler are GASNETX_UP, GASNETX_DOWN or both";
    if (entry->flags & ~(GASNETX_STREAM_SELF | GASNETX_STREAM_PASS))
        return "flags of a handler are GASNETX_STREAM_SELF and GASNETX_STREAM_PASS";
    if (entry->children && entry->directions != GASNETX_UP)
        return "only messages from children can synchronize, so the direction is GASNETX_UP";
    if ((entry->flags & GASNETX_STREAM_SELF) && !(entry->directions & GASNETX_UP))
        return "a handler with GASNETX_STREAM_SELF has the direction GASNETX_UP";
    if (!entry->fn && !entry->filters[0].fn)
        return "a handler has a function, a filter or both";
    return NULL;
}

static bool entries_collide(const gasnetx_stream_entry_t *a, const gasnetx_stream_entry_t *b)
{
    return a->id == b->id && (is_group(a->id) || (a->directions & b->directions));
}

const char *aq_stream_entries_check(const gasnetx_stream_entry_t *entries, size_t count)
{
    const char *why = NULL;
    if (!aq_bounds_product_fits(count, sizeof *entries))
        return "memory cannot hold a table of so many handlers";
    for (size_t i = 0; i < count && !why; i++) {
        why = entry_check(&entries[i]);
        for (size_t k = 0; k < i && !why; k++)
            if (entries_collide(&entries[k], &entries[i]))
                why = "two handlers have the same id and direction";
    }
    return why;
}

// ---- tables ----

static void round_make(gasnetx_Stream_t stream, aq_stream_handler_t *handler)
{
    const gasnetx_stream_entry_t *entry = &handler->entry;
    const uint32_t all = stream->children + !!(entry->flags & GASNETX_STREAM_SELF);
    const bool limited = entry->limit_us && entry->limit_us <= UINT64_MAX / NS_OF_US / 2;
    handler->synchronizes = true;
    handler->round =
        (aq_round_t){.need = (uint32_t)aq_max(1, aq_min(entry->children, all)),
                     .limit_ns = limited ? entry->limit_us * NS_OF_US : UINT64_MAX,
                     .deadline = AQ_NO_DEADLINE,
                     .items = aq_allocate_zeroed(stream->inbox.sources, sizeof(aq_item_list_t),
                                                 "the rounds of a stream"),
                     .next = stream->inbox.rounds};
    stream->inbox.rounds = &handler->round;
}

static void table_add(gasnetx_Stream_t stream, unsigned direction,
                      const gasnetx_stream_entry_t *entry)
{
    aq_stream_table_t *table = &stream->table[direction];
    if (!(entry->directions & direction_bit(direction)))
        return;
    aq_stream_handler_t *handler = &table->handlers[table->count++];
    handler->entry = *entry;
}

static int handler_compare(const void *a, const void *b)
{
    const uint32_t x = ((const aq_stream_handler_t *)a)->entry.id;
    const uint32_t y = ((const aq_stream_handler_t *)b)->entry.id;
    return (x > y) - (x < y);
}

// Makes the table of a direction. Rounds are parts of its entries, so they are made after the table
// is sorted.
static void table_make(gasnetx_Stream_t stream, unsigned direction)
{
    aq_stream_table_t *table = &stream->table[direction];
    const gasnetx_stream_spec_t *spec = &stream->spec;
    table->handlers = aq_allocate_zeroed(spec->entry_count + AQ_STREAM_GROUPS,
                                         sizeof *table->handlers, "the handlers of a stream");
    for (size_t i = 0; i < spec->entry_count; i++)
        if (!is_group(spec->entries[i].id))
            table_add(stream, direction, &spec->entries[i]);
    for (uint32_t id = GASNETX_STREAM_BARRIER; id <= GASNETX_STREAM_SCAN; id++) {
        gasnetx_stream_entry_t entry[AQ_INBOX_DIRECTIONS];
        aq_stream_group_entries(id, &entry[AQ_INBOX_UP], &entry[AQ_INBOX_DOWN]);
        table_add(stream, direction, &entry[direction]);
    }
    qsort(table->handlers, table->count, sizeof *table->handlers, handler_compare);
    for (size_t i = 0; i < table->count; i++)
        if (table->handlers[i].entry.children)
            round_make(stream, &table->handlers[i]);
}

void aq_stream_entries_make(gasnetx_Stream_t stream)
{
    const gasnetx_stream_spec_t *spec = &stream->spec;
    for (unsigned direction = 0; direction < AQ_INBOX_DIRECTIONS; direction++)
        table_make(stream, direction);
    for (size_t i = 0; i < spec->entry_count; i++)
        if (is_group(spec->entries[i].id))
            stream->groups.entry[spec->entries[i].id - GASNETX_STREAM_BARRIER] = spec->entries[i];
    stream->spec.entries = NULL;
}

void aq_stream_entries_free(gasnetx_Stream_t stream)
{
    for (unsigned direction = 0; direction < AQ_INBOX_DIRECTIONS; direction++) {
        aq_stream_table_t *table = &stream->table[direction];
        for (size_t i = 0; i < table->count; i++)
            free(table->handlers[i].round.items);
        free(table->handlers);
    }
}
