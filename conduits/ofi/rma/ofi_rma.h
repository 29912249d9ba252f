// SPDX-License-Identifier: BSD-3-Clause
// Put, get and atomics: by the provider itself where it reaches memory of peers, else in messages.
#pragma once

#include "../state/ofi_state.h"

// Collective, after the links are open: finds out what the provider can do, and with EVERYTHING
// makes all memory known to the peers. Logs faults.
aq_status_t ofi_rma_open(ofi_conduit_t *ofi);

// Attach and rma of aq_conduit_ops_t.
aq_status_t ofi_attach(aq_conduit_t *conduit, void *segment, size_t size);
aq_status_t ofi_rma(aq_conduit_t *conduit, void *link, aq_rma_t *rma);
