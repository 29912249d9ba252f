#include "ofi_rma.h"

aq_status_t ofi_attach(aq_conduit_t *conduit, void *segment, size_t size)
{
    (void)conduit, (void)segment, (void)size;
    return AQ_OK;
}

aq_status_t ofi_rma(aq_conduit_t *conduit, void *pointer, aq_rma_t *rma)
{
    ofi_conduit_t *ofi = ofi_of(conduit);
    if (rma->kind == AQ_RMA_PUT && rma->nbytes <= ofi->coalesce)
        return ofi_send_put(ofi, pointer, rma);
    return AQ_ERR_ABSENT;
}

void ofi_rma_completed(ofi_conduit_t *ofi, ofi_op_t *op)
{
    (void)ofi, (void)op;
}
