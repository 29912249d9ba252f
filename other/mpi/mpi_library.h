// SPDX-License-Identifier: BSD-3-Clause
// Finds the MPI library of this process, if any: the one that the program is linked with, otherwise
// the one whose mpirun started it. Its module (mpi_table.h) is loaded on first use.
#pragma once

#include "mpi_table.h"

// The launcher that started this process, according to the environment.
typedef struct aq_mpilib_launch {
    const char *by;     // "mpirun of Open MPI"; NULL: none
    const char *module; // the module that supports it best: "openmpi" or "mpich"
    bool own; // the mpirun of that MPI; otherwise a launcher that starts other programs as well
    uint32_t size; // number of ranks that it started; 0: unknown
} aq_mpilib_launch_t;

aq_mpilib_launch_t aq_mpilib_launched(void);

// Whether this installation has a module for any MPI. Loads none. Settings must be loaded.
bool aq_mpilib_has_mpi(void);

// The table of the MPI library of this process; NULL: errbuf has one sentence, without a full stop.
// Settings must be loaded; one thread at a time.
const aq_mpilib_table_t *aq_mpilib_find_mpi(char *errbuf, size_t errbuf_size);

// Whether the program is linked with an MPI, supported or not. Loads none.
bool aq_mpilib_in_process(void);

// Starts PMIx, PMI-1 or PMI-2, the first that the launcher answers, and returns its table, which
// has only what the start of a job needs: neither messages nor windows. NULL: errbuf has the reason
// of each. Settings must be loaded; one thread at a time; may block.
const aq_mpilib_table_t *aq_mpilib_start_pmi(char *errbuf, size_t errbuf_size);

// Set before init if only one thread will ever use MPI in this process, as far as client and
// conduit can tell: MPI then works without locks.
extern bool aq_mpilib_one_thread;

// Set while this thread is inside of MPI, where a signal handler may interrupt it.
extern _Thread_local volatile bool aq_mpilib_inside __attribute__((tls_model("initial-exec")));

// How threads take turns in calls of MPI, which may allow one at a time (MPI_THREAD_SERIALIZED):
// set by the conduit that calls MPI, when it opens. NULL: no thread but the client's calls MPI.
typedef struct aq_mpilib_turns {
    void (*enter)(void); // blocks while another thread has its turn
    void (*leave)(void);
} aq_mpilib_turns_t;
extern const aq_mpilib_turns_t *aq_mpilib_turns;

// Iterates over the supported libraries (MPIs and PMIs), starting with *at = 0, and loads each
// to get its version, for gasnet_info; false: no more. If there is no module, or it cannot be
// loaded, usable is false and text says why.
bool aq_mpilib_each(unsigned *at, const char **name, bool *usable, char *text, size_t size);
