// Put, get and atomics: by the provider itself where it reaches memory of peers, else in messages.
#ifndef AQ_OFI_RMA_H
#define AQ_OFI_RMA_H

#include "ofi_state.h"

// Attach and rma of aq_conduit_ops_t.
aq_status_t ofi_attach(aq_conduit_t *conduit, void *segment, size_t size);
aq_status_t ofi_rma(aq_conduit_t *conduit, void *link, aq_rma_t *rma);

// An operation is complete. Under the lock.
void ofi_rma_completed(ofi_conduit_t *ofi, ofi_op_t *op);

#endif
