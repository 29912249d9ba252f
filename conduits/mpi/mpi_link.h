// SPDX-License-Identifier: BSD-3-Clause
// Links: their creation, and the tables of them.
#pragma once

#include "mpi_state.h"

// The link of a rank, created on first use; NULL: no memory (logged). Under the lock.
mpi_link_t *mpi_link_of(mpi_conduit_t *mpi, uint32_t rank);
// A link to an endpoint of a rank, which is in no table yet, with the credits of this conduit;
// NULL: no memory (logged).
mpi_link_t *mpi_link_new(mpi_conduit_t *mpi, uint32_t rank, uint16_t endpoint);

// The place in the table of a window at which the links to an endpoint of a rank begin.
mpi_link_t **mpi_window_place(const mpi_conduit_t *window, uint32_t rank, uint16_t endpoint);

// The link of a window to an endpoint of a rank; NULL: there is none. Under the lock.
mpi_link_t *mpi_window_find(const mpi_conduit_t *window, uint32_t rank, uint16_t endpoint);
