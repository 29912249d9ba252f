// SPDX-License-Identifier: BSD-3-Clause
// A step at a time, in a thread: put, fence, get. pmi1_client.c and pmi2_module.c provide the
// calls; spawner pmi (spawner/join/spawn_mpi.c) starts and tests the steps as if they were requests
// of MPI.
#include "kvs_steps.h"

#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CODE = sodium_base64_VARIANT_URLSAFE_NO_PADDING,
    NO_THREAD = AQ_KVS_ERRORS,
    BAD_VALUE,
    LEFT,
};

// The marks that a rank publishes instead of data; no encoded data looks like them.
#define MARK_HERE "+"
#define MARK_LEAVES "-"

typedef struct step {
    unsigned number;
    bool leaves;
    const char *mine; // NULL: puts only a mark
    char *all;        // NULL: gets only marks
    int len;
    int first, count; // the ranks whose data is needed
} step_t;

#define WAITS (1ull << 32) // flag in a request to leave: waits for the step with its number

static const aq_kvs_t *kvs;
static atomic_uint begun, done; // steps
static atomic_int failure;      // of the last completed step
static atomic_bool left;        // a rank has left in it

void aq_kvs_use(const aq_kvs_t *store)
{
    kvs = store;
}

const char *aq_kvs_explain(int error)
{
    switch (error) {
    case NO_THREAD:
        return "no thread or no memory for it";
    case BAD_VALUE:
        return "the launcher returns another value than was given to it";
    case LEFT:
        return "other ranks leave the job";
    default:
        return NULL;
    }
}

int aq_kvs_open(aq_mpilib_comm_t **out, uint32_t *rank, uint32_t *size)
{
    *out = NULL;
    *rank = (uint32_t)kvs->rank;
    *size = (uint32_t)kvs->size;
    return 0;
}

static void name_key(char key[AQ_KVS_KEY_BYTES], const step_t *step, int rank, int at)
{
    snprintf(key, AQ_KVS_KEY_BYTES, "gasnet-%u-%d-%d", step->number, rank, at / kvs->part);
}

static int bytes_at(const step_t *step, int at)
{
    return step->len - at < kvs->part ? step->len - at : kvs->part;
}

static int step_put(const step_t *step)
{
    char key[AQ_KVS_KEY_BYTES], value[AQ_KVS_VALUE_BYTES];
    int error = 0;
    name_key(key, step, kvs->rank, 0);
    if (!step->mine)
        return kvs->put(key, step->leaves ? MARK_LEAVES : MARK_HERE);
    for (int at = 0; !error && at < step->len; at += kvs->part) {
        name_key(key, step, kvs->rank, at);
        sodium_bin2base64(value, sizeof value, (const unsigned char *)step->mine + at,
                          (size_t)bytes_at(step, at), CODE);
        error = kvs->put(key, value);
    }
    return error;
}

static int take_value(const step_t *step, int rank, int at, char value[AQ_KVS_VALUE_BYTES + 1])
{
    char key[AQ_KVS_KEY_BYTES];
    value[0] = '\0';
    name_key(key, step, rank, at);
    int error = kvs->get(rank, key, value);
    if (!error && strcmp(value, MARK_LEAVES) == 0)
        atomic_store(&left, true);
    return error;
}

static int take_data(const step_t *step, int rank, char *to)
{
    char value[AQ_KVS_VALUE_BYTES + 1];
    int error = 0;
    for (int at = 0; !error && at < step->len && !atomic_load(&left); at += kvs->part) {
        size_t wanted = (size_t)bytes_at(step, at), got = 0;
        error = take_value(step, rank, at, value);
        if (error || atomic_load(&left))
            break;
        if (sodium_base642bin((unsigned char *)to + at, wanted, value, strlen(value), NULL, &got,
                              NULL, CODE) != 0 ||
            got != wanted)
            error = BAD_VALUE;
    }
    return error;
}

static int step_perform(const step_t *step)
{
    char mark[AQ_KVS_VALUE_BYTES + 1];
    int error = step_put(step);
    if (!error)
        error = kvs->fence();
    for (int rank = 0; !error && rank < kvs->size; rank++) {
        int at = rank - step->first;
        if (step->all && at >= 0 && at < step->count)
            error = take_data(step, rank, step->all + (size_t)at * (size_t)step->len);
        else
            error = take_value(step, rank, 0, mark);
    }
    return !error && atomic_load(&left) && !step->leaves ? LEFT : error;
}

static void *step_thread(void *arg)
{
    step_t *step = arg;
    atomic_store(&failure, step_perform(step));
    atomic_store(&done, step->number);
    free(step);
    return NULL;
}

static int step_begin(step_t wanted, aq_mpilib_request_t *out)
{
    pthread_t thread;
    step_t *step = malloc(sizeof *step);
    wanted.number = atomic_load(&begun) + 1;
    out->handle = wanted.number;
    if (step)
        *step = wanted;
    if (!step || pthread_create(&thread, NULL, step_thread, step) != 0) {
        free(step);
        return NO_THREAD;
    }
    atomic_store(&begun, wanted.number);
    return pthread_detach(thread);
}

int aq_kvs_barrier(aq_mpilib_comm_t *comm, aq_mpilib_request_t *out)
{
    (void)comm;
    return step_begin((step_t){.len = 0}, out);
}

int aq_kvs_exchange(aq_mpilib_comm_t *comm, const void *mine, int len, void *all,
                    aq_mpilib_request_t *out)
{
    (void)comm;
    return step_begin((step_t){.mine = mine, .all = all, .len = len, .count = kvs->size}, out);
}

int aq_kvs_broadcast(aq_mpilib_comm_t *comm, void *buf, int len, uint32_t root,
                     aq_mpilib_request_t *out)
{
    (void)comm;
    bool gives = kvs->rank == (int)root;
    return step_begin((step_t){.mine = gives ? buf : NULL,
                               .all = gives ? NULL : buf,
                               .len = len,
                               .first = (int)root,
                               .count = 1},
                      out);
}

// Begins to leave. An abandoned step may still be in progress, so the request first waits for that
// one.
int aq_kvs_leave(aq_mpilib_comm_t *comm, aq_mpilib_request_t *out)
{
    (void)comm;
    out->handle = WAITS | atomic_load(&begun);
    return 0;
}

static int test_leave(aq_mpilib_request_t *request, bool *is_done)
{
    *is_done = atomic_load(&left);
    return *is_done ? 0 : step_begin((step_t){.leaves = true}, request);
}

int aq_kvs_test(aq_mpilib_request_t *request, bool *is_done, int *bytes, uint32_t *from)
{
    (void)bytes, (void)from;
    *is_done = atomic_load(&done) == (unsigned)request->handle;
    if (!*is_done)
        return 0;
    return request->handle & WAITS ? test_leave(request, is_done) : atomic_load(&failure);
}
