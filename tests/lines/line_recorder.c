/* SPDX-License-Identifier: BSD-3-Clause */
/* Records the accesses of instrumented code by cache line; see line_recorder.h. */
#include "line_recorder.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE = 64, SLOTS_BITS = 20, SLOTS = 1 << SLOTS_BITS, THREADS = 16, READS_PER_WRITE = 16 };

typedef struct {
    _Atomic uintptr_t line; /* address / LINE; 0: free */
    atomic_uint writes;
    _Atomic uintptr_t caller; /* of an access */
    atomic_uint accesses[THREADS];
} slot_t;

static slot_t slots[SLOTS];
static atomic_bool recording;
static atomic_uint threads;
static _Thread_local unsigned number; /* of this thread, from 1 */

static slot_t *slot_of(uintptr_t line)
{
    uint64_t hash = line * 0x9e3779b97f4a7c15u >> (64 - SLOTS_BITS);

    for (unsigned tries = 0; tries < SLOTS; tries++, hash++) {
        slot_t *slot = &slots[hash % SLOTS];
        uintptr_t found = atomic_load(&slot->line);
        if (!found && atomic_compare_exchange_strong(&slot->line, &found, line))
            return slot;
        if (found == line)
            return slot;
    }
    fprintf(stderr, "line_recorder: more than %d lines\n", (int)SLOTS);
    abort();
}

static void record_line(uintptr_t line, bool write, uintptr_t caller)
{
    slot_t *slot = slot_of(line);

    if (!number)
        number = atomic_fetch_add(&threads, 1) + 1;
    if (write)
        atomic_fetch_add(&slot->writes, 1);
    atomic_store(&slot->caller, caller);
    atomic_fetch_add(&slot->accesses[(number - 1) % THREADS], 1);
}

static void record(uintptr_t address, size_t bytes, bool write, void *caller)
{
    if (!atomic_load_explicit(&recording, memory_order_relaxed) || !bytes)
        return;
    for (uintptr_t line = address / LINE; line <= (address + bytes - 1) / LINE; line++)
        record_line(line, write, (uintptr_t)caller);
}

void lines_record(bool on)
{
    atomic_store(&recording, on);
}

/* ---- the report ---- */

/*
 * Accesses by all threads but the one that has the most; 0 if the line was hardly written, such as
 * when a thread that got no processor slept once.
 */
static unsigned long accesses_by_others(const slot_t *slot, unsigned long limit)
{
    unsigned long all = 0, most = 0;

    for (int i = 0; i < THREADS; i++) {
        unsigned long n = atomic_load(&slot->accesses[i]);
        all += n;
        most = n > most ? n : most;
    }
    return atomic_load(&slot->writes) * READS_PER_WRITE >= limit ? all - most : 0;
}

unsigned lines_report(unsigned long limit, const void *known)
{
    unsigned found = 0;

    for (unsigned i = 0; i < SLOTS; i++) {
        const slot_t *slot = &slots[i];
        const unsigned long others = accesses_by_others(slot, limit);
        if (others < limit || slot->line == (uintptr_t)known / LINE)
            continue;
        found++;
        printf("line %lx: %lu accesses by other threads than the first, such as at %lx\n",
               (unsigned long)(slot->line * LINE), others, (unsigned long)slot->caller);
    }
    return found;
}

bool lines_shared(unsigned long limit, const void *variable)
{
    return accesses_by_others(slot_of((uintptr_t)variable / LINE), limit) >= limit;
}

/* ---- what the compiler calls ---- */

void __tsan_init(void) {}
void __tsan_func_entry(void *caller)
{
    (void)caller;
}
void __tsan_func_exit(void) {}

void __tsan_read_range(void *p, size_t n)
{
    record((uintptr_t)p, n, false, __builtin_return_address(0));
}
void __tsan_write_range(void *p, size_t n)
{
    record((uintptr_t)p, n, true, __builtin_return_address(0));
}

/* A function for each size. */
#define PLAIN(name, size, write)                                                                   \
    void __tsan_##name##size(void *p)                                                              \
    {                                                                                              \
        record((uintptr_t)p, size, write, __builtin_return_address(0));                            \
    }
#define PLAIN_SIZE(size)                                                                           \
    PLAIN(read, size, false)                                                                       \
    PLAIN(write, size, true)                                                                       \
    PLAIN(unaligned_read, size, false)                                                             \
    PLAIN(unaligned_write, size, true)
PLAIN_SIZE(1)
PLAIN_SIZE(2)
PLAIN_SIZE(4)
PLAIN_SIZE(8)
PLAIN_SIZE(16)

void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    atomic_thread_fence(memory_order_seq_cst);
}
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    atomic_signal_fence(memory_order_seq_cst);
}

/* Functions for each size, all sequentially consistent. */
#define CHANGE(bits, name)                                                                         \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t v,      \
                                                int order)                                         \
    {                                                                                              \
        (void)order;                                                                               \
        record((uintptr_t)p, sizeof *p, true, __builtin_return_address(0));                        \
        return __atomic_##name(p, v, __ATOMIC_SEQ_CST);                                            \
    }
#define EXCHANGE_IF(bits, name)                                                                    \
    bool __tsan_atomic##bits##_compare_exchange_##name(volatile uint##bits##_t *p,                 \
                                                       uint##bits##_t *expected, uint##bits##_t v, \
                                                       int order, int failure)                     \
    {                                                                                              \
        (void)order;                                                                               \
        (void)failure;                                                                             \
        record((uintptr_t)p, sizeof *p, true, __builtin_return_address(0));                        \
        return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST,                \
                                           __ATOMIC_SEQ_CST);                                      \
    }
#define ATOMIC_SIZE(bits)                                                                          \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order)         \
    {                                                                                              \
        (void)order;                                                                               \
        record((uintptr_t)p, sizeof *p, false, __builtin_return_address(0));                       \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                               \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order)      \
    {                                                                                              \
        (void)order;                                                                               \
        record((uintptr_t)p, sizeof *p, true, __builtin_return_address(0));                        \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                                  \
    }                                                                                              \
    uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t *p, uint##bits##_t v,    \
                                                  int order)                                       \
    {                                                                                              \
        (void)order;                                                                               \
        record((uintptr_t)p, sizeof *p, true, __builtin_return_address(0));                        \
        return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                        \
    }                                                                                              \
    CHANGE(bits, fetch_add)                                                                        \
    CHANGE(bits, fetch_sub)                                                                        \
    CHANGE(bits, fetch_and)                                                                        \
    CHANGE(bits, fetch_or)                                                                         \
    CHANGE(bits, fetch_xor)                                                                        \
    EXCHANGE_IF(bits, strong)                                                                      \
    EXCHANGE_IF(bits, weak)
ATOMIC_SIZE(8)
ATOMIC_SIZE(16)
ATOMIC_SIZE(32)
ATOMIC_SIZE(64)
