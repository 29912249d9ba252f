// SPDX-License-Identifier: BSD-3-Clause
// Arrays that grow.
#pragma once

#include <stdlib.h>

// Makes room for one more item of `size` bytes in an array, which realloc may move: *room items
// fit. Returns the array, or NULL if memory is out, and then the old one stays.
static inline void *aq_grow(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    const size_t more = *room ? 2 * *room : 64;
    void *grown = reallocarray(items, more, size);
    if (grown)
        *room = more;
    return grown;
}
