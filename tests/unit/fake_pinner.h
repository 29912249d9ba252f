// A device that pins pages of a fake memory, and knows when it is used wrongly.
//
// Pages have an access of their own; what is pinned is counted and limited. Code that uses a
// region says so (fake_use), and the test fails when it is not pinned. Nothing is touched but
// tables, so that any address will do.
#ifndef FAKE_PINNER_H
#define FAKE_PINNER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../firehose/firehose.h"

enum { FAKE_PAGE = 4096 };

typedef enum fake_access { FAKE_NONE, FAKE_READ, FAKE_WRITE } fake_access_t;

typedef struct fake_registration {
    uintptr_t start, end;
    bool writable;
    atomic_bool live;
} fake_registration_t;

typedef struct fake_memory {
    uintptr_t base;
    uint32_t pages;
    fake_access_t *access;
    uint32_t *pins;  // of each page
    uint32_t *owner; // of each page: the registration that was made last, 0 when it is gone
    aq_firehose_amount_t now, most;
    aq_firehose_pinned_t limit;         // what is said past most
    fake_registration_t *registrations; // key.remote is the index; 0 is none
    uint32_t registered, room;
} fake_memory_t;

// `room` registrations at most, over the time.
void fake_start(fake_memory_t *memory, uintptr_t base, uint32_t pages, uint32_t room);
void fake_stop(fake_memory_t *memory); // fails if anything is still pinned

static inline uintptr_t fake_page(const fake_memory_t *memory, uint32_t page)
{
    return memory->base + (uintptr_t)page * FAKE_PAGE;
}

// For aq_firehose_ops_t; context is a fake_memory_t.
aq_firehose_pinned_t fake_pin(void *context, uintptr_t start, uint64_t bytes, bool writable,
                              aq_firehose_key_t *key);
void fake_unpin(void *context, uintptr_t start, uint64_t bytes, const aq_firehose_key_t *key);

// The device reads or writes memory through a key.
void fake_use(const fake_memory_t *memory, uint64_t key, uintptr_t address, size_t bytes,
              bool write);

// Numbers from a seed (xorshift).
uint32_t fake_random(uint64_t *state, uint32_t below);

#endif
