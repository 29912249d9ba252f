// Back ends mpi and pmi: the side of a rank that mpirun started. MPI is used in init, attach and
// exit only.
#ifndef AQ_SPAWN_MPI_H
#define AQ_SPAWN_MPI_H

#include "boot.h"

// Joins the job of the mpirun that started this process; initializes MPI if nobody has. pmi: back
// end pmi, which does the same by PMIx, without MPI. Collective, blocks. Logs a fault.
aq_status_t aq_boot_mpi_join(bool pmi, aq_boot_t **out);

#endif
