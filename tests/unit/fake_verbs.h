// A fake device that registers memory in a table, for tests of conduit ibv: it has limits, and
// fails the test when it is used with an invalid key. It touches no memory. One thread at a time,
// or under a lock.
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../conduits/ibv/ibv_memory.h"

enum { FAKE_VERBS_REGIONS = 1024, FAKE_VERBS_FOR_PEERS = 1 << 20 };

typedef struct fake_verbs {
    uint64_t bytes, most_bytes; // registered now, and the limit
    unsigned regions, most_regions;
    unsigned asked;            // calls so far
    int access;                // of the last call
    int error;                 // errno of a call that is over a limit
    uintptr_t read_only, none; // memory from here on is read-only; does not exist
    enum ibv_fork_status fork;
    int fork_error;
    unsigned fork_inits;
    struct ibv_mr *table[FAKE_VERBS_REGIONS]; // by local key - 1; the key for peers is greater by
                                              // FAKE_VERBS_FOR_PEERS
    int rights[FAKE_VERBS_REGIONS];
} fake_verbs_t;

extern fake_verbs_t fake_verbs;
extern const aq_ibv_calls_t fake_verbs_calls;

// Without limits, and with nothing registered.
void fake_verbs_start(void);

// The device reads, or with write writes memory, with the key of this process (local) or of a peer.
// Fails the test if the key is not valid for it.
void fake_verbs_use(uint32_t key, uintptr_t address, size_t bytes, bool write, bool local);

#endif
