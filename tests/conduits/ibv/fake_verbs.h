// SPDX-License-Identifier: BSD-3-Clause
// A fake device for tests of conduit ibv. It registers memory in a table, enforces limits, and
// fails the test when code uses an invalid key. It touches no memory. Registration is thread-safe;
// fake_verbs_use must not run at the same time as registration.
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../conduits/ibv/verbs/ibv_memory.h"

enum { FAKE_VERBS_REGIONS = 1024, FAKE_VERBS_FOR_PEERS = 1 << 20 };

typedef struct fake_verbs {
    uint64_t bytes, most_bytes; // registered now, and the limit
    unsigned regions, most_regions;
    unsigned registrations;    // calls of reg_mr so far
    int access;                // access flags of the last call
    int error;                 // errno of a call that exceeds a limit
    uintptr_t read_only, none; // addresses from which memory is read-only; is not mapped
    bool whole;                // all memory can be one region, which counts no bytes (implicit ODP)
    enum ibv_fork_status fork;
    int fork_error;
    unsigned fork_inits;
    struct ibv_mr *table[FAKE_VERBS_REGIONS]; // indexed by local key - 1; the key for peers is
                                              // local key + FAKE_VERBS_FOR_PEERS
    int rights[FAKE_VERBS_REGIONS];           // access flags, with the same index
} fake_verbs_t;

extern fake_verbs_t fake_verbs;
extern const aq_ibv_calls_t fake_verbs_calls;

// Resets the device: no limits, nothing registered.
void fake_verbs_start(void);

// Reads, or with `write` writes, memory as a device would, with a local key or with a key for
// peers. Fails the test if the key does not cover that access.
void fake_verbs_use(uint32_t key, uintptr_t address, size_t bytes, bool write, bool local);

#endif
