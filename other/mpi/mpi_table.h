// SPDX-License-Identifier: BSD-3-Clause
// The functions that this library needs from an MPI library: one const table, which a separate
// module for each MPI exports (other/mpi/mpi_module.c, compiled with the headers of each MPI). So
// nothing else in the library is linked with MPI, and only the module knows the types behind MPI's
// handles.
//
//   spawner mpi, conduit mpi -> aq_mpilib_table_t of aq_mpi_openmpi.so or aq_mpi_mpich.so -> MPI
//
// What is always true:
// - Calls return 0, or an error number of MPI for explain. Communicators and windows opened here
//   return errors; they do not end the job.
// - Only start, finish, open, split, opening and closing a window, and flushes may block.
//   Everything else that takes time returns a request. A request that was tested as done is
//   complete, except that a persistent receive can be started again.
// - One thread at a time may call, unless MPI granted the level AQ_MPI_MULTIPLE.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AQ_MPILIB_ABI 4

// The levels of MPI's thread support, in MPI's order.
typedef enum aq_mpilib_level {
    AQ_MPILIB_SINGLE,
    AQ_MPILIB_FUNNELED,
    AQ_MPILIB_SERIALIZED,
    AQ_MPILIB_MULTIPLE
} aq_mpilib_level_t;

typedef struct aq_mpilib_comm aq_mpilib_comm_t;
typedef struct aq_mpilib_window aq_mpilib_window_t;

// Memory for a handle of MPI; a handle of zero bits only is never valid.
typedef struct aq_mpilib_request {
    uint64_t handle;
} aq_mpilib_request_t;

typedef struct aq_mpilib_table {
    uint32_t abi;
    const char *name; // as in the file name of the module
    // The level to ask for if several threads will call: AQ_MPILIB_MULTIPLE if this library lets
    // them run at the same time and one thread alone pays almost nothing for it.
    aq_mpilib_level_t level_for_threads;

    // The library. All of these may be called before start.
    void (*version)(char *text, size_t size); // first line of its version text
    bool (*started)(void);
    bool (*finished)(void);
    void (*explain)(int error, char *text, size_t size);

    int (*start)(aq_mpilib_level_t wanted);
    aq_mpilib_level_t (*level)(void);
    // Registers a function that runs when MPI_Finalize is called, by the library or by the client,
    // before it does anything.
    int (*on_finish)(void (*call)(void));
    int (*finish)(void);
    // Tells the launcher that this process leaves: instead of finish, which may hang if ranks of
    // several hosts call it, or after finish, which may leave that to a function of atexit that a
    // process does not reach by _exit. False: finish told the launcher, or this is not possible.
    // NULL: finish always tells the launcher, and does not hang.
    bool (*quit)(void);

    // Creates a communicator of our own over the processes of MPI_COMM_WORLD. Collective; may
    // block.
    int (*open)(aq_mpilib_comm_t **out, uint32_t *rank, uint32_t *size);

    // Collective.
    int (*barrier)(aq_mpilib_comm_t *comm, aq_mpilib_request_t *out);
    int (*exchange)(aq_mpilib_comm_t *comm, const void *mine, int len, void *all,
                    aq_mpilib_request_t *out);
    int (*broadcast)(aq_mpilib_comm_t *comm, void *buf, int len, uint32_t root,
                     aq_mpilib_request_t *out);
    // A barrier of leaving ranks, some of which may have abandoned another collective call before.
    // NULL: use barrier on a communicator that has no other use.
    int (*leave)(aq_mpilib_comm_t *comm, aq_mpilib_request_t *out);

    // Messages. MPI owns the buffer until the request is done.
    int (*send)(aq_mpilib_comm_t *comm, const void *buf, int len, uint32_t to, int tag,
                aq_mpilib_request_t *out);
    // A persistent receive from any rank: started by restart, freed by forget.
    int (*receive)(aq_mpilib_comm_t *comm, void *buf, int room, int tag, aq_mpilib_request_t *out);
    int (*restart)(aq_mpilib_request_t *request);
    void (*forget)(aq_mpilib_request_t *request);

    // bytes and from: of a completed receive; NULL: not needed.
    int (*test)(aq_mpilib_request_t *request, bool *done, int *bytes, uint32_t *from);
    // Whether one of the requests is done, and which; *which < 0: none.
    int (*test_any)(aq_mpilib_request_t *requests, int count, int *which, int *bytes,
                    uint32_t *from);

    // Splits off the processes of comm that can share memory with this one, at most `most` of them.
    // ranks (out; size of comm) has the rank in comm of each rank of the new communicator.
    // Collective; may block.
    int (*split)(aq_mpilib_comm_t *comm, uint32_t most, aq_mpilib_comm_t **out, uint32_t *ranks,
                 uint32_t *size);
    // Allocates memory that all ranks of such a communicator access by load and store, `bytes` for
    // this process: here[i] is the beginning of rank i's part, and the parts are adjacent.
    // Collective; may block.
    int (*share)(aq_mpilib_comm_t *comm, size_t bytes, void **here, aq_mpilib_window_t **out);

    // Opens a window on memory of this process, in an epoch that never ends (lock_all).
    // Displacements are in bytes. Collective; may block.
    int (*open_window)(aq_mpilib_comm_t *comm, void *base, size_t bytes, aq_mpilib_window_t **out);
    // Collective; may block.
    void (*close_window)(aq_mpilib_window_t *window);
    // Whether loads of the target see the data of a put without a call of MPI there.
    bool (*unified)(aq_mpilib_window_t *window);
    // Put and get are complete at the target, and here, after flush. At most INT_MAX bytes.
    int (*put)(aq_mpilib_window_t *window, const void *src, int len, uint32_t to, size_t at);
    int (*get)(aq_mpilib_window_t *window, void *dest, int len, uint32_t from, size_t at);
    int (*flush)(aq_mpilib_window_t *window, uint32_t rank);
    int (*flush_local)(aq_mpilib_window_t *window, uint32_t rank);

    // The members below are for launchers that leave more to the ranks than mpirun does; otherwise
    // they are NULL.

    // A descriptor that hangs up (POLLRDHUP) when the launcher has ended; -1: there is none.
    int (*lifeline)(void);
    // Asks the launcher to end the job, which it may not do by itself when a rank dies. Any thread;
    // may return.
    void (*end_job)(int code, const char *why);
    // As end_job, for a rank that exits immediately with that code, which the launcher would
    // otherwise report as a failure, whatever its code. Async-signal-safe, after start.
    void (*end_now)(int code);
} aq_mpilib_table_t;

// Name under which a module (aq_mpi_*.so) exports its table.
#define AQ_MPILIB_MODULE_SYMBOL "aq_mpi_module"
