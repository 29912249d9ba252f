// SPDX-License-Identifier: BSD-3-Clause
// The calls of libfabric that put, get and atomics end in, as ofi_rma_op.c begins them.
#include "ofi_rma_post.h"

#include <rdma/fi_atomic.h>

static int op_post_access(const ofi_fabric_t *fabric, ofi_rma_op_t *op)
{
    const struct iovec local = {op->local, op->bytes};
    const struct fi_msg_rma message = {.msg_iov = &local,
                                       .desc = &op->descriptor,
                                       .iov_count = 1,
                                       .addr = op->op.link->address,
                                       .rma_iov = &op->there,
                                       .rma_iov_count = 1,
                                       .context = op};
    if (op->kind == OFI_RMA_GET)
        return (int)fi_readmsg(fabric->endpoint, &message, FI_COMPLETION);
    return (int)fi_writemsg(fabric->endpoint, &message,
                            FI_COMPLETION | FI_DELIVERY_COMPLETE |
                                (op->kind == OFI_RMA_PUT_INJECTED ? FI_INJECT : 0));
}

static int op_post_atomic(const ofi_fabric_t *fabric, ofi_rma_op_t *op)
{
    ofi_words_t *words = ofi_rma_op_words(op);
    void *descriptor = op->descriptor;
    const fi_addr_t peer = op->op.link->address;
    if (op->kind == OFI_RMA_CAS)
        return (int)fi_compare_atomic(fabric->endpoint, &words->operand, 1, descriptor,
                                      &words->compared, descriptor, &words->result, descriptor,
                                      peer, op->there.addr, op->there.key, FI_UINT64, FI_CSWAP, op);
    return (int)fi_fetch_atomic(fabric->endpoint, &words->operand, 1, descriptor, &words->result,
                                descriptor, peer, op->there.addr, op->there.key, FI_UINT64, FI_SUM,
                                op);
}

int ofi_rma_post(const ofi_fabric_t *fabric, ofi_rma_op_t *op)
{
    return op->kind >= OFI_RMA_ADD ? op_post_atomic(fabric, op) : op_post_access(fabric, op);
}
