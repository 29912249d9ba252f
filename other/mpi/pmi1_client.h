// SPDX-License-Identifier: BSD-3-Clause
// The part of the table of an MPI that spawner pmi needs, over PMI-1. No library that distributions
// have speaks it with the mpirun of every MPICH, so this is a client of our own.
#pragma once

#include "mpi_table.h"

extern const aq_mpilib_table_t aq_pmi1_table;
