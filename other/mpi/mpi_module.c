// SPDX-License-Identifier: BSD-3-Clause
// The table of an MPI library. This file is compiled with the headers of each MPI, into a module
// that is linked with it; AQ_MPI_NAME is the name of the module.
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "mpi_table.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(aq_mpilib_request_t),
               "aq_mpilib_request_t has room for a handle of MPI");

struct aq_mpilib_comm {
    MPI_Comm comm;
};

struct aq_mpilib_window {
    MPI_Win win;
};

static MPI_Request *handle_of(aq_mpilib_request_t *request)
{
    return (MPI_Request *)(void *)&request->handle;
}

// ---- the library ----

static void mpi_version(char *text, size_t size)
{
    char whole[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len = 0;
    MPI_Get_library_version(whole, &len);
    whole[strcspn(whole, "\n,")] = '\0';
    for (char *c = whole; *c; c++) // MPICH writes a tab
        *c = *c == '\t' ? ' ' : *c;
    strncpy(text, whole, size - 1);
    text[size - 1] = '\0';
}

static bool mpi_started(void)
{
    int flag = 0;
    MPI_Initialized(&flag);
    return flag;
}

static bool mpi_finished(void)
{
    int flag = 0;
    MPI_Finalized(&flag);
    return flag;
}

static void mpi_explain(int error, char *text, size_t size)
{
    char whole[MPI_MAX_ERROR_STRING] = "";
    int len = 0;
    if (mpi_started() && !mpi_finished())
        MPI_Error_string(error, whole, &len);
    strncpy(text, *whole ? whole : "MPI gives no reason", size - 1);
    text[size - 1] = '\0';
}

static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                             MPI_THREAD_MULTIPLE};

// MPICH, and whichever MPI is behind the standard ABI. Headers of an MPI's own interface define
// MPI_ABI_VERSION as less than 1, if at all.
#if defined MPICH_VERSION || MPI_ABI_VERSION > 0
#define MAY_BE_MPICH 1
#endif

// MPICH with one lock for the whole library, as distributions build it, gains nothing by several
// threads (docs/decisions/windows-mpi.md).
#ifdef MAY_BE_MPICH
#define LEVEL_FOR_THREADS AQ_MPILIB_SERIALIZED
#else
#define LEVEL_FOR_THREADS AQ_MPILIB_MULTIPLE
#endif

static int mpi_start(aq_mpilib_level_t wanted)
{
    int got;
    return MPI_Init_thread(NULL, NULL, levels[wanted], &got);
}

static aq_mpilib_level_t mpi_level(void)
{
    int got = MPI_THREAD_SINGLE;
    MPI_Query_thread(&got);
    aq_mpilib_level_t level = AQ_MPILIB_MULTIPLE;
    while (level > AQ_MPILIB_SINGLE && levels[level] != got)
        level--;
    return level;
}

static int finalize_started(MPI_Comm comm, int key, void *value, void *call)
{
    (void)comm, (void)key, (void)call;
    void (*function)(void);
    memcpy(&function, &value, sizeof function);
    function();
    return MPI_SUCCESS;
}

// MPI_Finalize first deletes the attributes of MPI_COMM_SELF, which runs the callback.
static int mpi_on_finish(void (*call)(void))
{
    int key;
    void *value;
    memcpy(&value, &call, sizeof value);
    int error = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalize_started, &key, NULL);
    return error ? error : MPI_Comm_set_attr(MPI_COMM_SELF, key, value);
}

static int mpi_finish(void)
{
    return MPI_Finalize();
}

// MPICH's mpirun ends the ranks on other hosts if one is killed by a signal, but not always if one
// exits; Open MPI's mpirun does.
#ifdef MAY_BE_MPICH
static void mpi_end_job(int code, const char *why)
{
    (void)why;
    MPI_Abort(MPI_COMM_WORLD, code);
}

static struct stat line; // the connection to the launcher (PMI-1), as it was at the start

static int line_number(void)
{
    const char *text = getenv("PMI_FD");
    return text ? atoi(text) : -1;
}

static void line_remember(void)
{
    if (fstat(line_number(), &line) != 0)
        line.st_ino = 0;
}

// Sends a message on that connection, unless MPI has closed it: its number may be that of another
// file since then.
static bool line_send(const char *message)
{
    struct stat now;
    const size_t length = strlen(message);
    return line.st_ino && fstat(line_number(), &now) == 0 && now.st_dev == line.st_dev &&
           now.st_ino == line.st_ino &&
           send(line_number(), message, length, MSG_NOSIGNAL) == (ssize_t)length;
}

// MPICH's mpirun confuses the exit code of a rank with the signals by which it ends the others. So
// this sends the message of PMI-1 that MPI_Abort would send, but without MPI, which may be
// interrupted.
static void mpi_end_now(int code)
{
    char message[64];
    snprintf(message, sizeof message, "cmd=abort exitcode=%d\n", code);
    (void)line_send(message); // else the launcher has ended, or notices that this process exits
}

// MPI_Finalize of MPICH over UCX closes the connections to other hosts, for which it needs the
// peers. But peers that have closed their connections wait for the launcher and do not help. So a
// job on several hosts may hang there, even if it only calls MPI_Init and MPI_Finalize. The
// launcher is satisfied if a process announces that it leaves. MPI_Finalize itself announces it in
// MPICH 4.0, and a function of atexit does in 4.2.
static bool mpi_quit(void)
{
    static const char agreed[] = "cmd=finalize_ack";
    char answer[64];
    if (!line_send("cmd=finalize\n"))
        return false;
    const ssize_t got = recv(line_number(), answer, sizeof answer, 0);
    return got >= (ssize_t)sizeof agreed && memcmp(answer, agreed, sizeof agreed - 1) == 0;
}
#else
#define mpi_end_job NULL
#define mpi_end_now NULL
#define mpi_quit NULL

static void line_remember(void) {}
#endif

static int mpi_open(aq_mpilib_comm_t **out, uint32_t *rank, uint32_t *size)
{
    int mine = 0, all = 0;
    aq_mpilib_comm_t *comm = malloc(sizeof *comm);
    int error = comm ? MPI_Comm_dup(MPI_COMM_WORLD, &comm->comm) : MPI_ERR_NO_MEM;
    if (error) {
        free(comm);
        return error;
    }
    line_remember();
    MPI_Comm_set_errhandler(comm->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm->comm, &mine);
    MPI_Comm_size(comm->comm, &all);
    *out = comm;
    *rank = (uint32_t)mine;
    *size = (uint32_t)all;
    return 0;
}

// ---- collective ----

static int mpi_barrier(aq_mpilib_comm_t *comm, aq_mpilib_request_t *out)
{
    return MPI_Ibarrier(comm->comm, handle_of(out));
}

static int mpi_exchange(aq_mpilib_comm_t *comm, const void *mine, int len, void *all,
                        aq_mpilib_request_t *out)
{
    return MPI_Iallgather(mine, len, MPI_BYTE, all, len, MPI_BYTE, comm->comm, handle_of(out));
}

static int mpi_broadcast(aq_mpilib_comm_t *comm, void *buf, int len, uint32_t root,
                         aq_mpilib_request_t *out)
{
    return MPI_Ibcast(buf, len, MPI_BYTE, (int)root, comm->comm, handle_of(out));
}

// ---- messages ----

static int mpi_send(aq_mpilib_comm_t *comm, const void *buf, int len, uint32_t to, int tag,
                    aq_mpilib_request_t *out)
{
    return MPI_Isend(buf, len, MPI_BYTE, (int)to, tag, comm->comm, handle_of(out));
}

static int mpi_receive(aq_mpilib_comm_t *comm, void *buf, int room, int tag,
                       aq_mpilib_request_t *out)
{
    return MPI_Recv_init(buf, room, MPI_BYTE, MPI_ANY_SOURCE, tag, comm->comm, handle_of(out));
}

static int mpi_restart(aq_mpilib_request_t *request)
{
    return MPI_Start(handle_of(request));
}

static void mpi_forget(aq_mpilib_request_t *request)
{
    MPI_Cancel(handle_of(request));
    MPI_Request_free(handle_of(request));
}

static int mpi_test(aq_mpilib_request_t *request, bool *done, int *bytes, uint32_t *from)
{
    int flag = 0;
    MPI_Status status;
    int error = MPI_Test(handle_of(request), &flag, bytes ? &status : MPI_STATUS_IGNORE);
    *done = flag;
    if (error || !flag || !bytes)
        return error;
    *from = (uint32_t)status.MPI_SOURCE;
    return MPI_Get_count(&status, MPI_BYTE, bytes);
}

enum { ANY_MAX = 4 };

static int mpi_test_any(aq_mpilib_request_t *requests, int count, int *which, int *bytes,
                        uint32_t *from)
{
    MPI_Request handles[ANY_MAX];
    MPI_Status status;
    int flag = 0, index = MPI_UNDEFINED;
    for (int i = 0; i < count; i++)
        handles[i] = *handle_of(&requests[i]);
    int error = MPI_Testany(count, handles, &index, &flag, &status);
    *which = error || !flag || index == MPI_UNDEFINED ? -1 : index;
    if (*which < 0)
        return error;
    *from = (uint32_t)status.MPI_SOURCE;
    return MPI_Get_count(&status, MPI_BYTE, bytes);
}

// ---- memory that is shared ----

static int begin_epoch(aq_mpilib_window_t *window)
{
    int error = MPI_Win_set_errhandler(window->win, MPI_ERRORS_RETURN);
    return error ? error : MPI_Win_lock_all(MPI_MODE_NOCHECK, window->win);
}

// Sets the size of part, and for each of its ranks the rank in whole.
static int list_members(MPI_Comm part, MPI_Comm whole, uint32_t *ranks, uint32_t *size)
{
    MPI_Group part_group, whole_group;
    int count;
    int error = MPI_Comm_size(part, &count);
    if (!error)
        error = MPI_Comm_group(part, &part_group);
    if (!error)
        error = MPI_Comm_group(whole, &whole_group);
    for (int i = 0, rank; !error && i < count; i++) {
        error = MPI_Group_translate_ranks(part_group, 1, &i, whole_group, &rank);
        ranks[i] = (uint32_t)rank;
    }
    *size = (uint32_t)count;
    return error;
}

static int mpi_split(aq_mpilib_comm_t *comm, uint32_t most, aq_mpilib_comm_t **out, uint32_t *ranks,
                     uint32_t *size)
{
    MPI_Comm host;
    int rank;
    aq_mpilib_comm_t *part = malloc(sizeof *part);
    if (!part)
        return MPI_ERR_NO_MEM;
    int error = MPI_Comm_split_type(comm->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    if (!error)
        error = MPI_Comm_rank(host, &rank);
    if (!error)
        error = MPI_Comm_split(host, (int)((uint32_t)rank / most), rank, &part->comm);
    if (!error)
        error = MPI_Comm_free(&host);
    if (!error)
        error = list_members(part->comm, comm->comm, ranks, size);
    *out = part;
    return error;
}

static int find_parts(const aq_mpilib_comm_t *comm, const aq_mpilib_window_t *window, void **here)
{
    int size;
    int error = MPI_Comm_size(comm->comm, &size);
    for (int i = 0; !error && i < size; i++) {
        MPI_Aint length;
        int unit;
        error = MPI_Win_shared_query(window->win, i, &length, &unit, &here[i]);
    }
    return error;
}

static int mpi_share(aq_mpilib_comm_t *comm, size_t bytes, void **here, aq_mpilib_window_t **out)
{
    void *mine;
    aq_mpilib_window_t *window = malloc(sizeof *window);
    int error = window ? MPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, comm->comm,
                                                 &mine, &window->win)
                       : MPI_ERR_NO_MEM;
    if (!error)
        error = begin_epoch(window); // loads and stores need an epoch, too
    if (!error)
        error = find_parts(comm, window, here);
    *out = window;
    return error;
}

// ---- windows ----

static int mpi_open_window(aq_mpilib_comm_t *comm, void *base, size_t bytes,
                           aq_mpilib_window_t **out)
{
    aq_mpilib_window_t *window = malloc(sizeof *window);
    int error =
        window ? MPI_Win_create(base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, comm->comm, &window->win)
               : MPI_ERR_NO_MEM;
    if (!error)
        error = begin_epoch(window);
    if (error) {
        free(window);
        return error;
    }
    *out = window;
    return 0;
}

static void mpi_close_window(aq_mpilib_window_t *window)
{
    if (!MPI_Win_unlock_all(window->win))
        MPI_Win_free(&window->win);
    free(window);
}

static bool mpi_unified(aq_mpilib_window_t *window)
{
    int *model, flag = 0;
    MPI_Win_get_attr(window->win, MPI_WIN_MODEL, (void *)&model, &flag);
    return flag && *model == MPI_WIN_UNIFIED;
}

static int mpi_put(aq_mpilib_window_t *window, const void *src, int len, uint32_t to, size_t at)
{
    return MPI_Put(src, len, MPI_BYTE, (int)to, (MPI_Aint)at, len, MPI_BYTE, window->win);
}

static int mpi_get(aq_mpilib_window_t *window, void *dest, int len, uint32_t from, size_t at)
{
    return MPI_Get(dest, len, MPI_BYTE, (int)from, (MPI_Aint)at, len, MPI_BYTE, window->win);
}

static int mpi_flush(aq_mpilib_window_t *window, uint32_t rank)
{
    return MPI_Win_flush((int)rank, window->win);
}

static int mpi_flush_local(aq_mpilib_window_t *window, uint32_t rank)
{
    return MPI_Win_flush_local((int)rank, window->win);
}

extern const aq_mpilib_table_t aq_mpi_module;
__attribute__((visibility("default"))) const aq_mpilib_table_t aq_mpi_module = {
    .abi = AQ_MPILIB_ABI,
    .name = AQ_MPILIB_NAME,
    .level_for_threads = LEVEL_FOR_THREADS,
    .version = mpi_version,
    .started = mpi_started,
    .finished = mpi_finished,
    .explain = mpi_explain,
    .start = mpi_start,
    .level = mpi_level,
    .on_finish = mpi_on_finish,
    .finish = mpi_finish,
    .quit = mpi_quit,
    .open = mpi_open,
    .end_job = mpi_end_job,
    .end_now = mpi_end_now,
    .barrier = mpi_barrier,
    .exchange = mpi_exchange,
    .broadcast = mpi_broadcast,
    .send = mpi_send,
    .receive = mpi_receive,
    .restart = mpi_restart,
    .forget = mpi_forget,
    .test = mpi_test,
    .test_any = mpi_test_any,
    .split = mpi_split,
    .share = mpi_share,
    .open_window = mpi_open_window,
    .close_window = mpi_close_window,
    .unified = mpi_unified,
    .put = mpi_put,
    .get = mpi_get,
    .flush = mpi_flush,
    .flush_local = mpi_flush_local,
};
