// SPDX-License-Identifier: BSD-3-Clause
// Collective steps over a PMI whose ranks publish only short text under keys and have one blocking
// fence (PMI-1, PMI-2): the part of the table of an MPI that spawner pmi needs (mpi_table.h).
//
// Such calls block, so each step runs in a thread of its own, which puts, fences and gets, and
// splits its data into text values.
//
// Always true:
// - All steps have the same form: each rank puts something, if only a mark, and gets something from
//   each rank. A fence alone may be lazy: only a get is sure to wait for the other rank.
// - No rank begins a step while it is in another, because the launcher counts fences. A rank that
//   leaves while others are in a different step meets them in that step: its mark tells them, and
//   that is the last step of all.
#pragma once

#include "mpi_table.h"

enum {
    AQ_KVS_KEY_BYTES = 64, // of a key and of a value, with the final zero
    AQ_KVS_VALUE_BYTES = 1024,
    AQ_KVS_PART_MAX = (AQ_KVS_VALUE_BYTES - 4) / 4 * 3, // bytes of data that fit into a value
    AQ_KVS_ERRORS = 10000, // errors of the steps, and of the caller of aq_kvs_use, begin here
};

// What the PMI offers. The calls block, one thread at a time, and return 0 or an error.
typedef struct aq_kvs {
    int rank, size;
    int part; // bytes of data for one value, at most AQ_KVS_PART_MAX
    int (*put)(const char *key, const char *value);
    int (*fence)(void);
    // value has room for AQ_KVS_VALUE_BYTES and one byte more.
    int (*get)(int rank, const char *key, char *value);
} aq_kvs_t;

// Sets what the steps use, before the first one; the caller keeps it.
void aq_kvs_use(const aq_kvs_t *store);

// Returns what an error of the steps means; NULL: it is another one.
const char *aq_kvs_explain(int error);

// As in the table of an MPI. There is one communicator: all processes of the job.
int aq_kvs_open(aq_mpilib_comm_t **out, uint32_t *rank, uint32_t *size);
int aq_kvs_barrier(aq_mpilib_comm_t *comm, aq_mpilib_request_t *out);
int aq_kvs_exchange(aq_mpilib_comm_t *comm, const void *mine, int len, void *all,
                    aq_mpilib_request_t *out);
int aq_kvs_broadcast(aq_mpilib_comm_t *comm, void *buf, int len, uint32_t root,
                     aq_mpilib_request_t *out);
int aq_kvs_leave(aq_mpilib_comm_t *comm, aq_mpilib_request_t *out);
int aq_kvs_test(aq_mpilib_request_t *request, bool *is_done, int *bytes, uint32_t *from);
