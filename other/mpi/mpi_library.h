// Which MPI library this process uses, if any: the one that it is linked with, else the one whose
// mpirun started it. Its module (mpi_table.h) is loaded on first use.
#ifndef AQ_MPILIB_LIBRARY_H
#define AQ_MPILIB_LIBRARY_H

#include "mpi_table.h"

// A launcher that started this process, as the environment tells.
typedef struct aq_mpilib_launch {
    const char *by;     // "mpirun of Open MPI"; NULL: none
    const char *module; // that speaks with it best: "openmpi" or "mpich"
    bool own;           // the mpirun of that MPI; else something that starts other programs as well
    uint32_t size;      // ranks that it started; 0: it does not tell
} aq_mpilib_launch_t;

aq_mpilib_launch_t aq_mpilib_launched(void);

// Whether this installation has a module for any MPI. Loads none. Settings must be loaded.
bool aq_mpilib_has_mpi(void);

// The table of the MPI library of this process; NULL with one sentence, without a full stop, in
// why. Settings must be loaded; one thread.
const aq_mpilib_table_t *aq_mpilib_find_mpi(char *why, size_t room);

// Whether the program brought an MPI, known here or not. Loads none.
bool aq_mpilib_in_process(void);

// The same for PMIx and PMI-2, whichever the launcher speaks. Their tables have what a start needs:
// neither messages nor windows.
bool aq_mpilib_has_pmi(void);
const aq_mpilib_table_t *aq_mpilib_find_pmi(char *why, size_t room);

// Set before init where no thread but one will ever be in this process, as far as its client and
// its conduit can tell: an MPI that is initialized for that does without locks.
extern bool aq_mpilib_one_thread;

// Set while this thread is inside of MPI, where a handler of a signal may interrupt it.
extern _Thread_local volatile bool aq_mpilib_inside __attribute__((tls_model("initial-exec")));

// The next of what is known (MPIs, PMIx, PMI-2), from *at = 0 on, with its version (loads it, for
// gasnet_info); false: no more. usable is false when there is no module for it, or it cannot be
// loaded; text says why.
bool aq_mpilib_each(unsigned *at, const char **name, bool *usable, char *text, size_t room);

#endif
