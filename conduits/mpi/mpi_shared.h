// SPDX-License-Identifier: BSD-3-Clause
// Memory that processes of a host share.
#pragma once

#include "mpi_state.h"

// Finds the ranks that share memory with this process, and opens the mailboxes. Collective.
aq_status_t mpi_shared_open(mpi_conduit_t *mpi);
// Sets the link to the mailbox of a rank, if it has one.
void mpi_shared_link(const mpi_conduit_t *mpi, uint32_t rank, mpi_link_t *link);
aq_status_t mpi_share_segments(aq_conduit_t *conduit, const uintptr_t *sizes, void **here);
