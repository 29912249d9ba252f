// SPDX-License-Identifier: BSD-3-Clause
// Windows: the receive sides of further endpoints.
#pragma once

#include "mpi_state.h"

// Makes the communicators of the windows. Collective. Logs faults.
aq_status_t mpi_windows_prepare(mpi_conduit_t *main);

// Open_window of aq_conduit_ops_t.
aq_status_t mpi_window_open(aq_conduit_t *conduit, uint16_t endpoint, aq_conduit_t **out);
