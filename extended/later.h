// Work that a poll does as soon as something else is complete: a notice behind its put, the end of
// a fence that does not block.
#ifndef AQ_LATER_H
#define AQ_LATER_H

#include <stdbool.h>

// Part of an object of the caller.
typedef struct aq_later {
    struct aq_later *next;
    // Whether the time has come. Called under a lock; does not block and sends nothing.
    bool (*ready)(struct aq_later *later);
    // Called once, without locks, after ready has returned true; may send and free the object.
    void (*run)(struct aq_later *later);
} aq_later_t;

// The object belongs to the library until run. Any thread; does not block.
void aq_later_add(aq_later_t *later);

#endif
