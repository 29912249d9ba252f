// Back end mpi: the side of a rank that mpirun started. MPI is used in init, attach and exit only.
#ifndef AQ_SPAWN_MPI_H
#define AQ_SPAWN_MPI_H

#include "spawner.h"

// Joins the job of the mpirun that started this process; initializes MPI if nobody has. Collective,
// blocks. Logs a fault.
aq_status_t aq_mpi_join(aq_boot_t **out);

#endif
