// SPDX-License-Identifier: BSD-3-Clause
// The part of the table of an MPI that spawner pmi needs, over PMI-2: for launchers that support
// neither PMIx nor PMI-1.
#include AQ_PMI2_HEADER

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "kvs_steps.h"

enum { NO_SIZE = 2 * AQ_KVS_ERRORS }; // an error of this module, distinct from those of PMI-2

_Static_assert(AQ_KVS_KEY_BYTES <= PMI2_MAX_KEYLEN && AQ_KVS_VALUE_BYTES <= PMI2_MAX_VALLEN,
               "keys and values of the steps fit into those of PMI-2");

static bool was_finished;

static void pmi2_version(char *text, size_t size)
{
    Dl_info info;
    void *call = dlsym(RTLD_DEFAULT, "PMI2_Init");
    if (!call || !dladdr(call, &info))
        info.dli_fname = "the program";
    snprintf(text, size, "PMI-2 of %s", info.dli_fname);
}

static bool pmi2_started(void)
{
    return PMI2_Initialized() != 0;
}

static bool pmi2_finished(void)
{
    return was_finished;
}

static void pmi2_explain(int error, char *text, size_t size)
{
    const char *why = aq_kvs_explain(error);
    if (error == PMI2_ERR_INIT)
        why = "no launcher answers";
    if (error == NO_SIZE)
        why = "the launcher does not report the number of ranks";
    if (why)
        snprintf(text, size, "%s", why);
    else
        snprintf(text, size, "error %d, the launcher may be gone", error);
}

static int store_put(const char *key, const char *value)
{
    return PMI2_KVS_Put(key, value);
}

static int store_get(int rank, const char *key, char *value)
{
    int length = 0;
    return PMI2_KVS_Get(NULL, rank, key, value, AQ_KVS_VALUE_BYTES, &length);
}

static aq_kvs_t store = {
    .part = AQ_KVS_PART_MAX,
    .put = store_put,
    .fence = PMI2_KVS_Fence,
    .get = store_get,
};

static int pmi2_start(aq_mpilib_level_t wanted)
{
    int spawned, program;
    (void)wanted;
    if (!getenv("PMI_FD")) // PMI-2 would start a job of one process
        return PMI2_ERR_INIT;
    int error = PMI2_Init(&spawned, &store.size, &store.rank, &program);
    aq_kvs_use(&store);
    return error || (store.size > 0 && store.rank >= 0) ? error : NO_SIZE;
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
    .open = aq_kvs_open,
    .barrier = aq_kvs_barrier,
    .exchange = aq_kvs_exchange,
    .broadcast = aq_kvs_broadcast,
    .leave = aq_kvs_leave,
    .test = aq_kvs_test,
    .lifeline = pmi2_lifeline,
    .end_job = pmi2_end_job,
};
