// SPDX-License-Identifier: BSD-3-Clause
// Parses the type, makes the names of variables, and selects ports for processes: arithmetic for
// ibv_affinity.c.
#include "ibv_select.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../../other/base/settings/settings.h"

// ---- the type ----

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

static void type_set_kind(aq_ibv_select_type_t *type, const char *text, size_t length)
{
    if (is_word(text, length, "None"))
        type->kind = AQ_IBV_SELECT_NONE;
    else if (length >= 4 && strncasecmp(text, "Auto", 4) == 0)
        type->kind = AQ_IBV_SELECT_AUTO;
    else if (is_word(text, length, "JRank"))
        type->kind = AQ_IBV_SELECT_JRANK;
    else if (is_word(text, length, "HRank"))
        type->kind = AQ_IBV_SELECT_HRANK;
    else if (is_word(text, length, "NRank"))
        type->kind = AQ_IBV_SELECT_NRANK;
    else
        type->kind = AQ_IBV_SELECT_OBJECT;
    snprintf(type->object, sizeof type->object, "%.*s", (int)length, text);
}

// Reads "/ 8" or "% 0x4", with the blanks around; an empty text is no operation.
static bool type_read_operation(aq_ibv_select_type_t *type, const char *text)
{
    char *end;
    text += strspn(text, " \t");
    if (*text == '\0')
        return true;
    type->operation = *text++;
    text += strspn(text, " \t");
    if (!strchr("/%", type->operation) || !isdigit((unsigned char)*text))
        return false;
    errno = 0;
    const unsigned long operand = strtoul(text, &end, 0);
    type->operand = (uint32_t)operand;
    return errno == 0 && operand > 0 && operand <= UINT32_MAX && end[strspn(end, " \t")] == '\0';
}

bool aq_ibv_select_type_read(const char *text, aq_ibv_select_type_t *type, char *err,
                             size_t err_size)
{
    const char *start = text + strspn(text, " \t");
    size_t length = 0;
    *type = (aq_ibv_select_type_t){0};
    while (isalnum((unsigned char)start[length]))
        length++;
    bool ok = length > 0 && length < sizeof type->object;
    if (ok)
        type_set_kind(type, start, length);
    // "characters after auto are reserved"
    if (ok && type->kind != AQ_IBV_SELECT_AUTO)
        ok = type_read_operation(type, start + length) &&
             !(type->kind == AQ_IBV_SELECT_NONE && type->operation);
    if (!ok) {
        char shown[80];
        aq_settings_quote(text, shown, sizeof shown);
        snprintf(err, err_size,
                 "GASNET_IBV_PORTS_TYPE: '%s' is none of None, Auto, JRank, HRank, NRank or a kind "
                 "of object of hwloc (Socket, NUMANode, Core), which / or %% and a number may "
                 "follow; unset it or give one, for example GASNET_IBV_PORTS_TYPE=Socket",
                 shown);
    }
    return ok;
}

// ---- names of variables ----

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

bool aq_ibv_select_suffix(const aq_ibv_select_type_t *type, uint32_t *numbers, size_t count,
                          char *text, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < count && type->operation; i++)
        numbers[i] =
            type->operation == '/' ? numbers[i] / type->operand : numbers[i] % type->operand;
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    for (size_t i = 0; i < count && at < size; i++)
        if (i == 0 || numbers[i] != numbers[i - 1])
            at += (size_t)snprintf(text + at, size - at, "%s%u", i > 0 ? "_" : "", numbers[i]);
    return at > 0 && at < size;
}

// ---- sharing ----

static uint8_t least_distance(const aq_ibv_select_row_t *row, size_t ports)
{
    uint8_t least = AQ_IBV_SELECT_FAR;
    for (size_t p = 0; p < ports; p++)
        if (row->distance[p] < least)
            least = row->distance[p];
    return least;
}

size_t aq_ibv_select_nearest(const aq_ibv_select_row_t *row, size_t ports)
{
    const uint8_t least = least_distance(row, ports);
    size_t count = 0;
    for (size_t p = 0; p < ports; p++)
        count += least != AQ_IBV_SELECT_FAR && row->distance[p] == least;
    return count;
}

// Picks the port with the fewest processes among the nearest ones; the first of several.
static uint8_t port_pick(const aq_ibv_select_row_t *row, size_t ports, const size_t *users)
{
    const uint8_t least = least_distance(row, ports);
    uint8_t best = AQ_IBV_SELECT_FAR;
    for (size_t p = 0; p < ports && least != AQ_IBV_SELECT_FAR; p++)
        if (row->distance[p] == least && (best == AQ_IBV_SELECT_FAR || users[p] < users[best]))
            best = (uint8_t)p;
    return best;
}

void aq_ibv_select_ports(const aq_ibv_select_row_t *rows, size_t processes, size_t ports,
                         uint8_t *taken)
{
    size_t users[AQ_IBV_SELECT_PORTS] = {0};
    memset(taken, AQ_IBV_SELECT_FAR, processes);
    for (size_t choices = 1; choices <= ports; choices++)
        for (size_t i = 0; i < processes; i++) {
            if (aq_ibv_select_nearest(&rows[i], ports) != choices)
                continue;
            taken[i] = port_pick(&rows[i], ports, users);
            users[taken[i]]++;
        }
}
