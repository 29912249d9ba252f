// SPDX-License-Identifier: BSD-3-Clause
// The rows, the numbering of daemons, and the codec. The coordinator (universe_coordinator.c)
// changes the table; the other daemons and the programs read copies.
#include "universe_table.h"

#include <stdlib.h>
#include <string.h>

#include "../../other/base/grow.h"
#include "../hosts/hosts.h"

#define ROW_BYTES 56u // of the shortest row

// ---- rows ----

static void member_free(aq_row_t *member)
{
    free((void *)(uintptr_t)member->name);
    free((void *)(uintptr_t)member->user);
    free((void *)(uintptr_t)member->prefix);
    free((void *)(uintptr_t)member->addresses);
}

static bool member_copy(aq_row_t *to, const aq_row_t *from)
{
    *to = *from;
    to->name = strdup(from->name);
    to->user = strdup(from->user);
    to->prefix = strdup(from->prefix);
    to->addresses = strdup(from->addresses);
    if (to->name != NULL && to->user != NULL && to->prefix != NULL && to->addresses != NULL)
        return true;
    member_free(to);
    return false;
}

void aq_table_free(aq_table_t *table)
{
    for (uint32_t i = 0; i < table->count; i++)
        member_free(&table->rows[i]);
    free(table->rows);
    free(table->skipped);
    *table = (aq_table_t){0};
}

aq_row_t *aq_table_find(const aq_table_t *table, uint32_t number)
{
    for (uint32_t i = 0; i < table->count; i++)
        if (table->rows[i].number == number)
            return &table->rows[i];
    return NULL;
}

static bool is_named(const aq_row_t *member, const char *name, const char *user)
{
    return strcmp(member->name, name) == 0 && strcmp(member->user, user) == 0;
}

aq_row_t *aq_table_named(const aq_table_t *table, const char *name, const char *user)
{
    for (uint32_t i = 0; i < table->count; i++)
        if (table->rows[i].state != AQ_ROW_LOST && is_named(&table->rows[i], name, user))
            return &table->rows[i];
    return NULL;
}

aq_row_t *aq_table_coordinator(const aq_table_t *table)
{
    for (uint32_t i = 0; i < table->count; i++)
        if (table->rows[i].state != AQ_ROW_LOST)
            return &table->rows[i];
    return NULL;
}

void aq_table_remove(aq_table_t *table, uint32_t number)
{
    aq_row_t *row = aq_table_find(table, number);
    if (row == NULL)
        return;
    member_free(row);
    size_t behind = table->count - 1 - (size_t)(row - table->rows);
    memmove(row, row + 1, behind * sizeof *row);
    table->count--;
}

// ---- numbers ----

// Remembers the numbers from next to below that one. False: no memory, or a number that makes no
// sense.
static bool skip_numbers(aq_table_t *table, uint32_t number)
{
    uint32_t more = number - table->next, all = table->skipped_count + more;
    if (more == 0)
        return true;
    uint32_t *skipped = more <= AQ_HOSTS_MAX && all <= AQ_HOSTS_MAX
                            ? realloc(table->skipped, all * sizeof *skipped)
                            : NULL;
    if (skipped == NULL)
        return false;
    table->skipped = skipped;
    while (table->next < number)
        skipped[table->skipped_count++] = table->next++;
    return true;
}

static bool take_skipped(aq_table_t *table, uint32_t number)
{
    for (uint32_t i = 0; i < table->skipped_count; i++)
        if (table->skipped[i] == number) {
            table->skipped[i] = table->skipped[--table->skipped_count];
            return true;
        }
    return false;
}

static uint32_t give_number(aq_table_t *table, uint32_t preferred)
{
    if (preferred < table->next && take_skipped(table, preferred))
        return preferred;
    if (preferred != AQ_NO_NUMBER && preferred > table->next)
        (void)skip_numbers(table, preferred);
    return table->next++;
}

// NULL: no memory.
static aq_row_t *table_append(aq_table_t *table, const aq_row_t *member)
{
    aq_row_t *rows = aq_grow(table->rows, table->count, &table->room, sizeof *rows);
    if (rows == NULL)
        return NULL;
    table->rows = rows;
    aq_row_t *row = &rows[table->count];
    if (!member_copy(row, member))
        return NULL;
    table->count++;
    return row;
}

static void drop_lost(aq_table_t *table, const aq_row_t *member)
{
    for (uint32_t i = 0; i < table->count; i++)
        if (table->rows[i].state == AQ_ROW_LOST &&
            is_named(&table->rows[i], member->name, member->user)) {
            aq_table_remove(table, table->rows[i].number);
            return;
        }
}

aq_row_t *aq_table_add(aq_table_t *table, const aq_row_t *member)
{
    drop_lost(table, member);
    aq_row_t *row = table_append(table, member);
    if (row == NULL)
        return NULL;
    row->number = give_number(table, member->number);
    for (; row > table->rows && row[-1].number > row->number; row--) {
        const aq_row_t other = row[-1];
        row[-1] = *row;
        *row = other;
    }
    return row;
}

// ---- codec ----

static void put_member(aq_bytes_t *bytes, const aq_row_t *member)
{
    aq_put_u32(bytes, member->number);
    aq_put_u8(bytes, member->state);
    aq_put_text(bytes, member->name);
    aq_put_text(bytes, member->user);
    aq_put_text(bytes, member->prefix);
    aq_put_text(bytes, member->addresses);
    aq_put_u32(bytes, member->port);
    aq_put_u32(bytes, member->slots);
    aq_put_u32(bytes, member->cpus);
    aq_put_u32(bytes, member->processors);
    aq_put_u8(bytes, member->idle);
    aq_put_u32(bytes, member->jobs);
}

// False: a value is not legal, or the view is bad.
static bool get_member(aq_view_t *view, aq_row_t *out)
{
    out->number = aq_get_u32(view);
    unsigned state = aq_get_u8(view);
    out->name = aq_get_text(view);
    out->user = aq_get_text(view);
    out->prefix = aq_get_text(view);
    out->addresses = aq_get_text(view);
    out->port = aq_get_u32(view);
    out->slots = aq_get_u32(view);
    out->cpus = aq_get_u32(view);
    out->processors = aq_get_u32(view);
    out->idle = aq_get_u8(view) != 0;
    out->jobs = aq_get_u32(view);
    out->state = (aq_row_state_t)state;
    return !view->bad && state <= AQ_ROW_LOST && out->port <= UINT16_MAX &&
           aq_hosts_legal_name(out->name) &&
           (out->user[0] == '\0' || aq_hosts_legal_user(out->user));
}

void aq_write_table(aq_bytes_t *bytes, const aq_table_t *table, uint32_t self)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_TABLE);
    aq_put_u32(bytes, self);
    aq_put_u32(bytes, table->next);
    aq_put_u32(bytes, table->count);
    for (uint32_t i = 0; i < table->count; i++)
        put_member(bytes, &table->rows[i]);
    aq_frame_end(bytes, begin);
}

// Each row takes at least ROW_BYTES, so a false count does not cost memory.
static bool get_rows(aq_view_t *view, aq_table_t *table, uint32_t count)
{
    aq_row_t member;
    uint64_t least = 0; // the smallest number that may follow
    if (view->bad || count > view->left / ROW_BYTES)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!get_member(view, &member) || member.number < least || member.number >= table->next ||
            member.port == 0 || table_append(table, &member) == NULL)
            return false;
        least = (uint64_t)member.number + 1;
    }
    return aq_view_done(view);
}

bool aq_read_table(aq_view_t view, aq_table_t *out, uint32_t *self)
{
    aq_table_t table = {0};
    uint32_t number = aq_get_u32(&view);
    table.next = aq_get_u32(&view);
    if (!get_rows(&view, &table, aq_get_u32(&view))) {
        aq_table_free(&table);
        return false;
    }
    aq_table_free(out);
    *out = table;
    *self = number;
    return true;
}

void aq_write_join(aq_bytes_t *bytes, const aq_join_t *join)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_JOIN);
    aq_put_u8(bytes, join->again);
    put_member(bytes, &join->member);
    aq_frame_end(bytes, begin);
}

bool aq_read_join(aq_view_t view, aq_join_t *out)
{
    out->again = aq_get_u8(&view) != 0;
    return get_member(&view, &out->member) && aq_view_done(&view) && out->member.port > 0;
}

void aq_write_join_config(aq_bytes_t *bytes, const aq_join_config_t *config)
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_JOIN_CONFIG);
    aq_put_raw(bytes, config->key, AQ_KEY_BYTES);
    aq_put_text(bytes, config->universe);
    aq_put_text(bytes, config->ports);
    aq_put_text(bytes, config->addresses);
    aq_put_u32(bytes, config->port);
    aq_put_u32(bytes, config->coordinator);
    aq_put_u32(bytes, config->silence_ms);
    put_member(bytes, &config->member);
    aq_frame_end(bytes, begin);
}

bool aq_read_join_config(aq_view_t view, aq_join_config_t *out)
{
    (void)aq_get_bytes(&view, out->key, AQ_KEY_BYTES);
    out->universe = aq_get_text(&view);
    out->ports = aq_get_text(&view);
    out->addresses = aq_get_text(&view);
    out->port = aq_get_u32(&view);
    out->coordinator = aq_get_u32(&view);
    out->silence_ms = aq_get_u32(&view);
    return get_member(&view, &out->member) && aq_view_done(&view) && out->port <= UINT16_MAX &&
           (out->port > 0) == (out->addresses[0] != '\0');
}

void aq_write_key(aq_bytes_t *bytes, const uint8_t key[AQ_KEY_BYTES])
{
    size_t begin = aq_frame_begin(bytes, AQ_MSG_KEY);
    aq_put_raw(bytes, key, AQ_KEY_BYTES);
    aq_frame_end(bytes, begin);
}

bool aq_read_key(aq_view_t view, uint8_t key[AQ_KEY_BYTES])
{
    return aq_get_bytes(&view, key, AQ_KEY_BYTES) && aq_view_done(&view);
}
