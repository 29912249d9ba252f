// What this library asks of an MPI library: one const table, which a module of its own for each MPI
// gives (other/mpi/mpi_module.c, compiled once with each one's headers). So nothing else here is
// linked with MPI, and what stands behind its handles is known to the module only.
//
//   spawner mpi, conduit mpi -> aq_mpilib_table_t of aq_mpi_openmpi.so or aq_mpi_mpich.so -> MPI
//
// What is always true:
// - Calls return 0, or an error number of MPI for explain. Communicators and windows opened here
//   return errors; they do not end the job.
// - Nothing blocks but start, finish, open, split, the opening and closing of a window, and
// flushes:
//   whatever else may take time gives a request. A request that was tested as done is done with,
//   but a persistent receive, which is started again.
// - Threads: one at a time in all of it, unless MPI gave the level AQ_MPILIB_MULTIPLE.
#ifndef AQ_MPILIB_TABLE_H
#define AQ_MPILIB_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AQ_MPILIB_ABI 3

// The levels of MPI's support for threads, in its order.
typedef enum aq_mpilib_level {
    AQ_MPILIB_SINGLE,
    AQ_MPILIB_FUNNELED,
    AQ_MPILIB_SERIALIZED,
    AQ_MPILIB_MULTIPLE
} aq_mpilib_level_t;

typedef struct aq_mpilib_comm aq_mpilib_comm_t;
typedef struct aq_mpilib_window aq_mpilib_window_t;

// Room for a handle of MPI; all zero bits are no legal one.
typedef struct aq_mpilib_request {
    uint64_t handle;
} aq_mpilib_request_t;

typedef struct aq_mpilib_table {
    uint32_t abi;
    const char *name; // as in the file name of the module

    // The library; all of these may be called before start.
    void (*version)(char *text, size_t room); // first line of what it says of itself
    bool (*started)(void);
    bool (*finished)(void);
    void (*explain)(int error, char *text, size_t room);

    int (*start)(aq_mpilib_level_t wanted);
    aq_mpilib_level_t (*level)(void);
    // Has call called when anybody calls MPI_Finalize, before it does anything.
    int (*on_finish)(void (*call)(void));
    int (*finish)(void);
    // Leaves the launcher in good order without finish, which may not return when ranks of several
    // hosts call it; NULL where it does. False: that cannot be done, and nothing was.
    bool (*quit)(void);

    // A communicator of our own, over the processes of MPI_COMM_WORLD. Collective; may block.
    int (*open)(aq_mpilib_comm_t **out, uint32_t *rank, uint32_t *size);

    // Collective.
    int (*barrier)(aq_mpilib_comm_t *comm, aq_mpilib_request_t *out);
    int (*exchange)(aq_mpilib_comm_t *comm, const void *mine, int len, void *all,
                    aq_mpilib_request_t *out);
    int (*broadcast)(aq_mpilib_comm_t *comm, void *buf, int len, uint32_t root,
                     aq_mpilib_request_t *out);
    // A barrier of ranks that leave; some may have given up another collective call before. NULL: a
    // barrier on a communicator that has no other use.
    int (*leave)(aq_mpilib_comm_t *comm, aq_mpilib_request_t *out);

    // Messages. The buffer is MPI's until the request is done.
    int (*send)(aq_mpilib_comm_t *comm, const void *buf, int len, uint32_t to, int tag,
                aq_mpilib_request_t *out);
    // A persistent receive from anybody: begun by restart, withdrawn for good by forget.
    int (*receive)(aq_mpilib_comm_t *comm, void *buf, int room, int tag, aq_mpilib_request_t *out);
    int (*restart)(aq_mpilib_request_t *request);
    void (*forget)(aq_mpilib_request_t *request);

    // bytes and from: of a receive that is done; NULL: not wanted.
    int (*test)(aq_mpilib_request_t *request, bool *done, int *bytes, uint32_t *from);
    // Whether one of them is done, and which.
    int (*test_any)(aq_mpilib_request_t *requests, int count, int *which, int *bytes,
                    uint32_t *from);

    // The processes of comm that can share memory with this one, at most most of them: a
    // communicator of theirs, and in ranks[i] (size of comm; out) which of comm its number i is.
    // Collective; may block.
    int (*split)(aq_mpilib_comm_t *comm, uint32_t most, aq_mpilib_comm_t **out, uint32_t *ranks,
                 uint32_t *size);
    // Memory that all of such a communicator reach by load and store, bytes of it for this process:
    // here[i] is where that of its number i begins, and they follow one another without gaps.
    // Collective; may block.
    int (*share)(aq_mpilib_comm_t *comm, size_t bytes, void **here, aq_mpilib_window_t **out);

    // A window on memory of this process, in an epoch that never ends (lock_all). Collective; may
    // block. Displacements are bytes.
    int (*open_window)(aq_mpilib_comm_t *comm, void *base, size_t bytes, aq_mpilib_window_t **out);
    // Collective; may block.
    void (*close_window)(aq_mpilib_window_t *window);
    // Whether what a put wrote is seen by the loads of its target without a call there.
    bool (*unified)(aq_mpilib_window_t *window);
    // Complete at the target, and here, after flush. Up to INT_MAX bytes.
    int (*put)(aq_mpilib_window_t *window, const void *src, int len, uint32_t to, size_t at);
    int (*get)(aq_mpilib_window_t *window, void *dest, int len, uint32_t from, size_t at);
    int (*flush)(aq_mpilib_window_t *window, uint32_t rank);
    int (*flush_local)(aq_mpilib_window_t *window, uint32_t rank);

    // Launchers that leave more to the ranks than mpirun does; NULL where they do not.
    // A descriptor that hangs up (POLLRDHUP) when the launcher is gone; -1: there is none.
    int (*lifeline)(void);
    // Asks the launcher to end the job, which it may not do of itself when a rank dies. From any
    // thread; may return.
    void (*end_job)(int code, const char *why);
    // The same for a rank that leaves at once with that code, and would else be one that has
    // failed, whatever its code; async-signal-safe, after start.
    void (*end_now)(int code);
} aq_mpilib_table_t;

// Name under which a module exports its table.
#define AQ_MPILIB_MODULE_SYMBOL "aq_mpilib_module"

#endif
