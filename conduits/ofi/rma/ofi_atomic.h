// SPDX-License-Identifier: BSD-3-Clause
// Atomics by the provider, if the user asks for them.
//
// libfabric does not say whether the atomics of a provider are atomic with respect to those of the
// processor, by which a rank and its neighbours access their own segments. So the target performs
// atomics, unless the user promises with GASNET_OFI_ATOMICS=1 that nothing else accesses the
// memory.
#pragma once

#include "ofi_rma_op.h"

// Collective, after the keys were shared: finds out whether all ranks want atomics of the provider,
// and whether it has those that are needed.
void ofi_atomics_open(ofi_conduit_t *ofi);

// Atomic of aq_conduit_ops_t.
aq_status_t ofi_atomic(aq_conduit_t *conduit, void *link, const aq_atomic_t *atomic,
                       atomic_uint *pending);
