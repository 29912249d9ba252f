// SPDX-License-Identifier: BSD-3-Clause
// The part of the table of an MPI that spawner pmi needs, over PMIx: the ranks, exchanges and the
// end. So mpirun, prterun or srun start a job without MPI.
#include <pmix.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "mpi_table.h"

enum { KEY_BYTES = 32 };

struct aq_mpilib_comm {
    uint32_t size;
    // Number of this communicator, and of its steps so far: no key is used twice.
    unsigned number, steps;
};

// A step: all ranks publish their data under one key, and then a fence makes it visible.
typedef struct step {
    aq_mpilib_comm_t *comm;
    char key[KEY_BYTES];
    void *all; // NULL: a barrier
    int len;
    uint32_t first, count; // the ranks whose data is needed
    pmix_status_t status;
    atomic_bool fenced;
} step_t;

static pmix_proc_t myself;
static bool was_finished;
static int line[2] = {-1, -1}; // a pipe: the first end hangs up when the server has ended

static void pmix_version(char *text, size_t size)
{
    snprintf(text, size, "%.*s", (int)strcspn(PMIx_Get_version(), "(,"), PMIx_Get_version());
}

static bool pmix_started(void)
{
    return myself.nspace[0] != '\0';
}

static bool pmix_finished(void)
{
    return was_finished;
}

static void pmix_explain(int error, char *text, size_t size)
{
    snprintf(text, size, "%s", PMIx_Error_string(error));
}

// In a thread of PMIx.
static void on_lost(size_t id, pmix_status_t status, const pmix_proc_t *source, pmix_info_t *info,
                    size_t infos, pmix_info_t *results, size_t result_count,
                    pmix_event_notification_cbfunc_fn_t finish, void *data)
{
    (void)id, (void)status, (void)source, (void)info, (void)infos;
    (void)results, (void)result_count;
    (void)shutdown(line[1], SHUT_RDWR);
    if (finish)
        finish(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static int pmix_start(aq_mpilib_level_t wanted)
{
    (void)wanted;
    if (!getenv("PMIX_NAMESPACE")) // some versions would start a job of one process
        return PMIX_ERR_UNREACH;
    int error = PMIx_Init(&myself, NULL, 0);
    if (error)
        return error;
    static pmix_status_t lost = PMIX_ERR_LOST_CONNECTION; // static, because PMIx reads it later
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) != 0)
        return PMIX_ERR_NOMEM;
    PMIx_Register_event_handler(&lost, 1, NULL, 0, on_lost, NULL, NULL);
    return 0;
}

static int pmix_lifeline(void)
{
    return line[0];
}

static int pmix_finish(void)
{
    was_finished = true;
    return PMIx_Finalize(NULL, 0);
}

static int pmix_open(aq_mpilib_comm_t **out, uint32_t *rank, uint32_t *size)
{
    static unsigned opened;
    pmix_proc_t job;
    pmix_value_t *value = NULL;
    PMIX_LOAD_PROCID(&job, myself.nspace, PMIX_RANK_WILDCARD);
    int error = PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value);
    aq_mpilib_comm_t *comm = calloc(1, sizeof *comm);
    if (error || !comm) {
        free(comm);
        return error ? error : PMIX_ERR_NOMEM;
    }
    comm->size = value->data.uint32;
    comm->number = opened++;
    PMIX_VALUE_RELEASE(value);
    *out = comm;
    *rank = myself.rank;
    *size = comm->size;
    return 0;
}

// ---- steps ----

// In a thread of PMIx.
static void on_fence(pmix_status_t status, void *data)
{
    step_t *step = data;
    step->status = status;
    atomic_store(&step->fenced, true);
}

static int step_fence(step_t *step)
{
    pmix_proc_t job;
    pmix_info_t info;
    bool collect = true;
    PMIX_LOAD_PROCID(&job, myself.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    int error = PMIx_Fence_nb(&job, 1, &info, 1, on_fence, step);
    return error == PMIX_OPERATION_SUCCEEDED ? (on_fence(PMIX_SUCCESS, step), 0) : error;
}

static int step_publish(const step_t *step, const void *mine)
{
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT,
                          .data.bo = {.bytes = (char *)(uintptr_t)mine, .size = (size_t)step->len}};
    int error = PMIx_Put(PMIX_GLOBAL, step->key, &value);
    return error ? error : PMIx_Commit();
}

static int step_begin(step_t wanted, const void *mine, aq_mpilib_request_t *out)
{
    step_t *step = malloc(sizeof *step);
    if (!step)
        return PMIX_ERR_NOMEM;
    *step = wanted;
    snprintf(step->key, sizeof step->key, "gasnet.%u.%u", step->comm->number, step->comm->steps++);
    int error = mine ? step_publish(step, mine) : 0;
    if (!error)
        error = step_fence(step);
    if (error)
        free(step);
    out->handle = (uint64_t)(uintptr_t)step;
    return error;
}

static int pmix_barrier(aq_mpilib_comm_t *comm, aq_mpilib_request_t *out)
{
    return step_begin((step_t){.comm = comm}, NULL, out);
}

static int pmix_exchange(aq_mpilib_comm_t *comm, const void *mine, int len, void *all,
                         aq_mpilib_request_t *out)
{
    return step_begin((step_t){.comm = comm, .all = all, .len = len, .count = comm->size}, mine,
                      out);
}

static int pmix_broadcast(aq_mpilib_comm_t *comm, void *buf, int len, uint32_t root,
                          aq_mpilib_request_t *out)
{
    return step_begin((step_t){.comm = comm, .all = buf, .len = len, .first = root, .count = 1},
                      myself.rank == root ? buf : NULL, out);
}

static int step_fetch(const step_t *step, uint32_t rank, char *to)
{
    pmix_proc_t proc;
    pmix_value_t *value = NULL;
    PMIX_LOAD_PROCID(&proc, myself.nspace, rank);
    int error = PMIx_Get(&proc, step->key, NULL, 0, &value);
    if (error)
        return error;
    bool sound = value->type == PMIX_BYTE_OBJECT && value->data.bo.size == (size_t)step->len;
    if (sound)
        memcpy(to, value->data.bo.bytes, (size_t)step->len);
    PMIX_VALUE_RELEASE(value);
    return sound ? 0 : PMIX_ERR_BAD_PARAM;
}

static int pmix_test(aq_mpilib_request_t *request, bool *done, int *bytes, uint32_t *from)
{
    (void)bytes, (void)from;
    step_t *step = (step_t *)(uintptr_t)request->handle;
    *done = atomic_load(&step->fenced);
    if (!*done)
        return 0;
    int error = step->status;
    for (uint32_t i = 0; !error && i < step->count; i++)
        error =
            step_fetch(step, step->first + i, (char *)step->all + (size_t)i * (size_t)step->len);
    free(step);
    return error;
}

extern const aq_mpilib_table_t aq_mpi_module;
__attribute__((visibility("default"))) const aq_mpilib_table_t aq_mpi_module = {
    .abi = AQ_MPILIB_ABI,
    .name = "PMIx",
    .version = pmix_version,
    .started = pmix_started,
    .finished = pmix_finished,
    .explain = pmix_explain,
    .start = pmix_start,
    .finish = pmix_finish,
    .open = pmix_open,
    .barrier = pmix_barrier,
    .exchange = pmix_exchange,
    .broadcast = pmix_broadcast,
    .test = pmix_test,
    .lifeline = pmix_lifeline,
};
