// SPDX-License-Identifier: BSD-3-Clause
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "fake_pinner.h"
#include "../unit/assert_between.h"

void fake_memory_start(fake_memory_t *memory, uintptr_t base, uint32_t pages, uint32_t room)
{
    *memory = (fake_memory_t){.base = base, .pages = pages, .room = room};
    memory->access = calloc(pages, sizeof *memory->access);
    memory->pins = calloc(pages, sizeof *memory->pins);
    memory->owner = calloc(pages, sizeof *memory->owner);
    memory->registrations = calloc(room + 1, sizeof *memory->registrations);
    assert_non_null(memory->registrations);
    memory->most = (aq_firehose_amount_t){UINT32_MAX, UINT64_MAX};
    for (uint32_t i = 0; i < pages; i++)
        memory->access[i] = FAKE_WRITE;
}

void fake_memory_stop(fake_memory_t *memory)
{
    assert_int_equal(memory->now.regions, 0);
    assert_int_equal(memory->now.bytes, 0);
    for (uint32_t i = 0; i < memory->pages; i++)
        assert_int_equal(memory->pins[i], 0);
    free(memory->access);
    free(memory->pins);
    free(memory->owner);
    free(memory->registrations);
}

static uint32_t page_at(const fake_memory_t *memory, uintptr_t address)
{
    return (uint32_t)((address - memory->base) / FAKE_PAGE);
}

static bool all_pages_allow(const fake_memory_t *memory, uint32_t first, uint32_t last,
                            fake_access_t access)
{
    for (uint32_t page = first; page < last; page++)
        if (page >= memory->pages || memory->access[page] < access)
            return false;
    return true;
}

aq_firehose_pinned_t fake_memory_pin(void *context, uintptr_t start, uint64_t bytes, bool writable,
                                     aq_firehose_key_t *key)
{
    fake_memory_t *memory = context;
    assert_int_equal(start % FAKE_PAGE, 0);
    assert_int_equal(bytes % FAKE_PAGE, 0);
    assert_true(bytes > 0);
    if (start < memory->base)
        return AQ_FIREHOSE_NO_ACCESS;
    uint32_t first = page_at(memory, start), last = page_at(memory, start + bytes);
    if (!all_pages_allow(memory, first, last, writable ? FAKE_WRITE : FAKE_READ))
        return AQ_FIREHOSE_NO_ACCESS;
    if (memory->now.regions >= memory->most.regions ||
        memory->now.bytes + bytes > memory->most.bytes)
        return memory->limit;
    uint32_t id = ++memory->registered;
    assert_true(id <= memory->room);
    fake_registration_t *registration = &memory->registrations[id];
    registration->start = start;
    registration->end = start + bytes;
    registration->writable = writable;
    registration->live = true;
    for (uint32_t page = first; page < last; page++) {
        memory->pins[page]++;
        memory->owner[page] = id;
    }
    memory->now.regions++;
    memory->now.bytes += bytes;
    *key = (aq_firehose_key_t){registration, id};
    return AQ_FIREHOSE_PINNED;
}

void fake_memory_unpin(void *context, uintptr_t start, uint64_t bytes, const aq_firehose_key_t *key)
{
    fake_memory_t *memory = context;
    fake_registration_t *registration = &memory->registrations[key->remote];
    assert_ptr_equal(key->handle, registration);
    assert_true(registration->live);
    assert_true(registration->start == start && registration->end == start + bytes);
    registration->live = false;
    for (uint32_t page = page_at(memory, start); page < page_at(memory, start + bytes); page++) {
        memory->pins[page]--;
        if (memory->owner[page] == key->remote)
            memory->owner[page] = 0;
    }
    memory->now.regions--;
    memory->now.bytes -= bytes;
}

void fake_memory_use(const fake_memory_t *memory, uint64_t key, uintptr_t address, size_t bytes,
                     bool write)
{
    assert_between(key, 1, memory->room);
    const fake_registration_t *registration = &memory->registrations[key];
    assert_true(registration->live);
    assert_true(registration->start <= address && address + bytes <= registration->end);
    assert_true(bytes > 0 && (registration->writable || !write));
}

uint32_t fake_random(uint64_t *state, uint32_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)((*state >> 20) % below);
}
