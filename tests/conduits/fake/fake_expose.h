// SPDX-License-Identifier: BSD-3-Clause
// Exposed memory for the fake conduit, which reads it through the system (process_vm_readv) as a
// device would do: in later polls, and only while it is exposed.
//
// A key names the process, its list of exposures (a file without a name) and the place in it. A
// read looks there, and ends the job if the memory is not exposed.
#ifndef FAKE_EXPOSE_H
#define FAKE_EXPOSE_H

#include "../../../core/conduit.h"

// Reads AQ_FAKE_EXPOSE: so many parts may be exposed at a time (0 to 256; 0: the conduit cannot).
// False: it cannot, or the system does not allow it (logged).
bool fake_expose_start(void);

aq_status_t fake_expose(aq_conduit_t *conduit, const void *memory, size_t nbytes,
                        aq_exposure_t *out);
void fake_conceal(aq_conduit_t *conduit, const aq_exposure_t *exposure);
aq_status_t fake_get_exposed(aq_conduit_t *conduit, void *link, aq_rma_t *rma, uint64_t key);

// Makes one of the reads that have begun.
void fake_expose_poll(aq_conduit_t *conduit);

#endif
