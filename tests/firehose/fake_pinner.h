// SPDX-License-Identifier: BSD-3-Clause
// A fake device that pins pages of a fake memory and detects wrong use.
//
// Each page has its own access rights. The device counts what is pinned and enforces a limit. Code
// under test reports each access with fake_memory_use, and the test fails if the memory is not
// pinned. The device touches only its own tables, never the memory, so tests may use any address.
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
    uint32_t *pins;  // number of live registrations, per page
    uint32_t *owner; // newest registration, per page; 0 once that registration is gone
    aq_firehose_amount_t now, most;     // pinned now, and the limit
    aq_firehose_pinned_t limit;         // result of fake_memory_pin beyond the limit
    fake_registration_t *registrations; // indexed by key.remote; 0 is unused
    uint32_t registered, room;          // registrations so far, and at most
} fake_memory_t;

// Allows `room` registrations in total, including those that are released again.
void fake_memory_start(fake_memory_t *memory, uintptr_t base, uint32_t pages, uint32_t room);
void fake_memory_stop(fake_memory_t *memory); // fails if anything is still pinned

static inline uintptr_t fake_memory_page(const fake_memory_t *memory, uint32_t page)
{
    return memory->base + (uintptr_t)page * FAKE_PAGE;
}

// Operations for aq_firehose_ops_t; context is a fake_memory_t.
aq_firehose_pinned_t fake_memory_pin(void *context, uintptr_t start, uint64_t bytes, bool writable,
                                     aq_firehose_key_t *key);
void fake_memory_unpin(void *context, uintptr_t start, uint64_t bytes,
                       const aq_firehose_key_t *key);

// Reads, or with `write` writes, memory through a key, as a device would. Fails the test if the key
// does not cover that access.
void fake_memory_use(const fake_memory_t *memory, uint64_t key, uintptr_t address, size_t bytes,
                     bool write);

// Returns a pseudo-random number below `below` and advances the state, a nonzero seed (xorshift).
uint32_t fake_random(uint64_t *state, uint32_t below);

#endif
