// SPDX-License-Identifier: BSD-3-Clause
// Put and get.
#pragma once

#include "mpi_state.h"

aq_status_t mpi_rma_attach(aq_conduit_t *conduit, void *segment, size_t size);
aq_status_t mpi_rma(aq_conduit_t *conduit, void *link, aq_rma_t *rma);
// Closes the windows. Collective.
void mpi_rma_end(mpi_conduit_t *mpi);
// Completes outstanding puts and gets; returns their number. Under the lock.
unsigned mpi_rma_complete(mpi_conduit_t *mpi);
