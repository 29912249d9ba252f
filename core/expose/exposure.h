// SPDX-License-Identifier: BSD-3-Clause
// Memory that a peer reads through the network while this process exposes it: expose, conceal and
// get_exposed of conduit.h, by job rank. Any thread, also in a handler.
#pragma once

#include "../conduit.h"

// Whether the conduit between this process and a job rank can expose memory.
bool aq_exposure_possible(uint32_t jobrank);

// Exposes the first bytes of memory. False: that is not possible now, or not at all.
bool aq_exposure_begin(uint32_t jobrank, const void *memory, size_t nbytes, aq_exposure_t *out);

// The job rank reads the memory no longer.
void aq_exposure_end(uint32_t jobrank, const aq_exposure_t *exposure);

// Begins to read memory that a job rank has exposed with this key, as far as there is room. Ends
// the job if the conduit fails.
void aq_exposure_read(uint32_t jobrank, aq_rma_t *get, uint64_t key);
