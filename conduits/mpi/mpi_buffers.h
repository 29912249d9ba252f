// SPDX-License-Identifier: BSD-3-Clause
// Send buffers and receives.
#pragma once

#include "mpi_state.h"

// Creates and posts the receives, and creates the send buffers. Logs faults.
aq_status_t mpi_buffers_open(mpi_conduit_t *mpi);
// As mpi_buffers_open, for a window without links. Under the lock.
aq_status_t mpi_window_buffers_open(mpi_conduit_t *window);
// Posts receives of both classes for one more link of a window, as far as there may be more. Logs
// faults. Under the lock.
aq_status_t mpi_window_buffers_add(mpi_conduit_t *window);
// Frees the receive requests before MPI_Finalize.
void mpi_buffers_withdraw(mpi_conduit_t *mpi);

// The functions below require the lock.

// A send buffer for a message of this length; NULL: none is free now.
mpi_slot_t *mpi_slot_take(mpi_conduit_t *mpi, unsigned class, size_t bytes);
// Sends a slot's message to the peer of a link.
aq_status_t mpi_slot_send(mpi_conduit_t *mpi, unsigned class, mpi_slot_t *slot, size_t bytes,
                          const mpi_link_t *link);
// Frees the send buffers that MPI has finished with.
void mpi_slots_reclaim(mpi_conduit_t *mpi);
// Whether MPI still uses any send buffer.
bool mpi_slots_busy(const mpi_conduit_t *mpi);

// Receives the next message of the classes in what (AQ_POLL_*): returns its class, and sets slot,
// length and sender. -1: there is none, or too many handlers run.
int mpi_receive_next(mpi_conduit_t *mpi, unsigned what, mpi_slot_t **slot, size_t *bytes,
                     uint32_t *source);
// Posts the receive again after its handler has returned.
void mpi_receive_done(mpi_conduit_t *mpi, unsigned class, mpi_slot_t *slot);
