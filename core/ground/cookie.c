// SPDX-License-Identifier: BSD-3-Clause
// Grows and frees the table of cookies. aq_cookies_add (cookie.h) grows it when no slot is free.
#include "cookie.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 64, MOST_SLOTS = 1 << 30 };

bool aq_cookies_grow(aq_cookies_t *table)
{
    if (table->count >= MOST_SLOTS)
        return false;
    const uint32_t count = table->count ? 2 * table->count : FIRST_SLOTS;
    aq_cookie_slot_t *slots = realloc(table->slots, count * sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t i = count; i-- > table->count;) {
        slots[i] = (aq_cookie_slot_t){{.rank = UINT32_MAX}, 1, table->free};
        table->free = i + 1;
    }
    table->slots = slots;
    table->count = count;
    return true;
}

void aq_cookies_stop(aq_cookies_t *table)
{
    free(table->slots);
    *table = (aq_cookies_t){0};
}
