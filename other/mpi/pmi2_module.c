// SPDX-License-Identifier: BSD-3-Clause
// The part of the table of an MPI that spawner pmi needs, over PMI-2: for launchers that do not
// support PMIx, such as srun --mpi=pmi2 and MPICH's mpirun.
//
// Calls of PMI-2 block, and a rank can publish only short text. So each step runs in a thread of
// its own, which puts, fences and gets, and splits its data into text values.
//
// Always true:
// - All steps have the same form: each rank puts something, if only a mark, and gets something from
//   each rank. A fence alone may be lazy: only a get is sure to wait for the other rank.
// - No rank begins a step while it is in another, because the launcher counts fences. A rank that
//   leaves while others are in a different step meets them in that step: its mark tells them, and
//   that is the last step of all.
#include AQ_PMI2_HEADER

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_table.h"

enum {
    KEY_BYTES = PMI2_MAX_KEYLEN,
    VALUE_BYTES = PMI2_MAX_VALLEN,
    CODE = sodium_base64_VARIANT_URLSAFE_NO_PADDING,
    PART = (VALUE_BYTES - 4) / 4 * 3, // bytes of data that fit into a value
    NO_THREAD = 10000,                // errors of this module, distinct from those of PMI-2
    BAD_VALUE,
    NO_SIZE,
    LEFT,
};

// The marks that a rank publishes instead of data; no encoded data looks like them.
#define MARK_HERE "+"
#define MARK_LEAVES "-"

// There is one communicator: all processes of the job.
struct aq_mpilib_comm {
    int rank, size;
};

typedef struct step {
    unsigned number;
    bool leaves;
    const char *mine; // NULL: puts only a mark
    char *all;        // NULL: gets only marks
    int len;
    int first, count; // the ranks whose data is needed
} step_t;

#define WAITS (1ull << 32) // flag in a request to leave: waits for the step with its number

static struct aq_mpilib_comm world;
static atomic_uint begun, done; // steps
static atomic_int failure;      // of the last completed step
static atomic_bool left;        // a rank has left in it
static bool was_finished;

static void pmi2_version(char *text, size_t room)
{
    Dl_info info;
    void *call = dlsym(RTLD_DEFAULT, "PMI2_Init");
    if (!call || !dladdr(call, &info))
        info.dli_fname = "the program";
    snprintf(text, room, "PMI-2 of %s", info.dli_fname);
}

static bool pmi2_started(void)
{
    return PMI2_Initialized() != 0;
}

static bool pmi2_finished(void)
{
    return was_finished;
}

static void pmi2_explain(int error, char *text, size_t room)
{
    switch (error) {
    case PMI2_ERR_INIT:
        snprintf(text, room, "no launcher answers");
        break;
    case NO_THREAD:
        snprintf(text, room, "no thread or no memory for it");
        break;
    case BAD_VALUE:
        snprintf(text, room, "the launcher returns another value than was given to it");
        break;
    case NO_SIZE:
        snprintf(text, room, "the launcher does not report the number of ranks");
        break;
    case LEFT:
        snprintf(text, room, "other ranks leave the job");
        break;
    default:
        snprintf(text, room, "error %d, the launcher may be gone", error);
    }
}

static int pmi2_start(aq_mpilib_level_t wanted)
{
    int spawned, program;
    (void)wanted;
    if (!getenv("PMI_FD")) // PMI-2 would start a job of one process
        return PMI2_ERR_INIT;
    int error = PMI2_Init(&spawned, &world.size, &world.rank, &program);
    return error || (world.size > 0 && world.rank >= 0) ? error : NO_SIZE;
}

static int pmi2_finish(void)
{
    was_finished = true;
    return PMI2_Finalize();
}

// Duplicates the connection to the launcher, because finalizing closes the original.
static int pmi2_lifeline(void)
{
    return fcntl(atoi(getenv("PMI_FD")), F_DUPFD_CLOEXEC, 0);
}

static void pmi2_end_job(int code, const char *why)
{
    (void)code;
    (void)why; // a semicolon in it would end the message to the launcher
    (void)PMI2_Abort(1, "a rank has ended without leaving the job");
}

static int pmi2_open(aq_mpilib_comm_t **out, uint32_t *rank, uint32_t *size)
{
    *out = &world;
    *rank = (uint32_t)world.rank;
    *size = (uint32_t)world.size;
    return 0;
}

// ---- steps ----

static void name_key(char key[KEY_BYTES], const step_t *step, int rank, int at)
{
    snprintf(key, KEY_BYTES, "gasnet-%u-%d-%d", step->number, rank, at / PART);
}

static int bytes_at(const step_t *step, int at)
{
    return step->len - at < PART ? step->len - at : PART;
}

static int step_put(const step_t *step)
{
    char key[KEY_BYTES], value[VALUE_BYTES];
    int error = 0;
    name_key(key, step, world.rank, 0);
    if (!step->mine)
        return PMI2_KVS_Put(key, step->leaves ? MARK_LEAVES : MARK_HERE);
    for (int at = 0; !error && at < step->len; at += PART) {
        name_key(key, step, world.rank, at);
        sodium_bin2base64(value, sizeof value, (const unsigned char *)step->mine + at,
                          (size_t)bytes_at(step, at), CODE);
        error = PMI2_KVS_Put(key, value);
    }
    return error;
}

static int take_value(const step_t *step, int rank, int at, char value[VALUE_BYTES + 1])
{
    char key[KEY_BYTES];
    int length = 0;
    value[0] = '\0';
    name_key(key, step, rank, at);
    int error = PMI2_KVS_Get(NULL, rank, key, value, VALUE_BYTES, &length);
    if (!error && strcmp(value, MARK_LEAVES) == 0)
        atomic_store(&left, true);
    return error;
}

static int take_data(const step_t *step, int rank, char *to)
{
    char value[VALUE_BYTES + 1];
    int error = 0;
    for (int at = 0; !error && at < step->len && !atomic_load(&left); at += PART) {
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
    char mark[VALUE_BYTES + 1];
    int error = step_put(step);
    if (!error)
        error = PMI2_KVS_Fence();
    for (int rank = 0; !error && rank < world.size; rank++) {
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

static int pmi2_barrier(aq_mpilib_comm_t *comm, aq_mpilib_request_t *out)
{
    (void)comm;
    return step_begin((step_t){.len = 0}, out);
}

static int pmi2_exchange(aq_mpilib_comm_t *comm, const void *mine, int len, void *all,
                         aq_mpilib_request_t *out)
{
    return step_begin((step_t){.mine = mine, .all = all, .len = len, .count = comm->size}, out);
}

static int pmi2_broadcast(aq_mpilib_comm_t *comm, void *buf, int len, uint32_t root,
                          aq_mpilib_request_t *out)
{
    bool gives = comm->rank == (int)root;
    return step_begin((step_t){.mine = gives ? buf : NULL,
                               .all = gives ? NULL : buf,
                               .len = len,
                               .first = (int)root,
                               .count = 1},
                      out);
}

// The caller has abandoned a step that may still be in progress.
static int pmi2_leave(aq_mpilib_comm_t *comm, aq_mpilib_request_t *out)
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

static int pmi2_test(aq_mpilib_request_t *request, bool *is_done, int *bytes, uint32_t *from)
{
    (void)bytes, (void)from;
    *is_done = atomic_load(&done) == (unsigned)request->handle;
    if (!*is_done)
        return 0;
    return request->handle & WAITS ? test_leave(request, is_done) : atomic_load(&failure);
}

extern const aq_mpilib_table_t aq_mpi_module;
__attribute__((visibility("default"))) const aq_mpilib_table_t aq_mpi_module = {
    .abi = AQ_MPILIB_ABI,
    .name = "PMI-2",
    .version = pmi2_version,
    .started = pmi2_started,
    .finished = pmi2_finished,
    .explain = pmi2_explain,
    .start = pmi2_start,
    .finish = pmi2_finish,
    .open = pmi2_open,
    .barrier = pmi2_barrier,
    .exchange = pmi2_exchange,
    .broadcast = pmi2_broadcast,
    .leave = pmi2_leave,
    .test = pmi2_test,
    .lifeline = pmi2_lifeline,
    .end_job = pmi2_end_job,
};
