// SPDX-License-Identifier: BSD-3-Clause
// Work that a poll does as soon as something else is complete: a notice behind its put, the end of
// a fence that does not block, a Long reply in pieces.
#pragma once

#include <stdbool.h>

// Part of an object of the caller.
typedef struct aq_deferred {
    struct aq_deferred *next;
    // Whether the time has come. Called under a lock; does not block and sends nothing.
    bool (*ready)(struct aq_deferred *deferred);
    // Called without locks after ready has returned true; may send, and so poll. Returns true if
    // the work is done, and may have freed the object then; false to be called again by a later
    // poll.
    bool (*run)(struct aq_deferred *deferred);
} aq_deferred_t;

// The object belongs to the library until run returns true. Any thread; does not block.
void aq_deferred_add(aq_deferred_t *deferred);
