// SPDX-License-Identifier: BSD-3-Clause
// Errors of MPI, and what all ranks agree on.
#pragma once

#include "mpi_state.h"

// Logs MPI's text for an error of one of its calls. Returns AQ_ERR_RESOURCE.
aq_status_t mpi_conduit_error(const mpi_conduit_t *mpi, const char *call, int error);
// Logs, once, why the job cannot run. Collective, with the same arguments at all ranks. Returns
// AQ_ERR_CONFIG.
aq_status_t mpi_refuse(const mpi_conduit_t *mpi, const char *why);
// Ends the job after such an error, or because MPI was finalized; for callers that cannot return
// the error.
void mpi_conduit_fail(mpi_conduit_t *mpi, const char *call, int error) __attribute__((noreturn));

// Whether all ranks pass true. Collective.
aq_status_t mpi_agree(const mpi_conduit_t *mpi, bool yes, bool *all);
