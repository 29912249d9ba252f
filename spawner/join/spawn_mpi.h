// SPDX-License-Identifier: BSD-3-Clause
// The back end of spawners mpi and pmi, for a rank that mpirun started. MPI is used in init, attach
// and exit only.
#pragma once

#include "../boot/boot.h"

// Joins the job of the mpirun that started this process, and initializes MPI unless that is done.
// pmi: use PMIx or PMI-2 instead of MPI. Collective. Blocks. Logs a fault.
aq_status_t aq_boot_mpi_join(bool pmi, aq_boot_t **out);
