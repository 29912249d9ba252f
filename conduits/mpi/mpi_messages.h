// SPDX-License-Identifier: BSD-3-Clause
// Messages: sending, receiving, and credits.
#pragma once

#include "mpi_state.h"

// As in aq_conduit_ops_t, for endpoint 0 and for windows.
size_t mpi_memory_bytes(aq_conduit_t *conduit);
void mpi_counters(aq_conduit_t *conduit, struct gasnetx_counters *sum);

aq_status_t mpi_conduit_send(aq_conduit_t *conduit, void *link, const aq_am_t *am);
unsigned mpi_conduit_poll(aq_conduit_t *conduit, unsigned what);
// Polls MPI, unless another thread does.
unsigned mpi_poll_messages(mpi_conduit_t *mpi, unsigned what);
// Ends the job if other code than this library has finalized MPI.
void mpi_check_lost(mpi_conduit_t *mpi);
// Messages of MPI do not wake a sleeping process: if some may arrive, sleeps are short.
void mpi_conduit_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns);
