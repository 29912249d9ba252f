// SPDX-License-Identifier: BSD-3-Clause
// Atomics of the fake provider: integers of 32 and 64 bits.
#include "fake_provider.h"

#include <string.h>

size_t fake_datatype_bytes(unsigned datatype)
{
    if (datatype == FI_UINT64 || datatype == FI_INT64)
        return 8;
    return datatype == FI_UINT32 || datatype == FI_INT32 ? 4 : 0;
}

bool fake_operation_is_known(unsigned kind, unsigned operation)
{
    static const uint64_t plain = 1u << FI_MIN | 1u << FI_MAX | 1u << FI_SUM | 1u << FI_BOR |
                                  1u << FI_BAND | 1u << FI_BXOR | 1u << FI_ATOMIC_WRITE;
    static const uint64_t comparing = 1u << FI_CSWAP | 1u << FI_CSWAP_NE | 1u << FI_MSWAP;
    const uint64_t known = kind == FAKE_COMPARE ? comparing
                           : kind == FAKE_FETCH ? plain | 1u << FI_ATOMIC_READ
                                                : plain;
    return operation < 32 && known >> operation & 1;
}

static bool is_less(unsigned datatype, uint64_t a, uint64_t b)
{
    if (datatype == FI_INT64)
        return (int64_t)a < (int64_t)b;
    return datatype == FI_INT32 ? (int32_t)a < (int32_t)b : a < b;
}

// The new value of an element.
static uint64_t value_of(const fake_head_t *head, uint64_t old, uint64_t operand, uint64_t compare)
{
    switch (head->operation) {
    case FI_MIN:
        return is_less(head->datatype, operand, old) ? operand : old;
    case FI_MAX:
        return is_less(head->datatype, old, operand) ? operand : old;
    case FI_SUM:
        return old + operand;
    case FI_BOR:
        return old | operand;
    case FI_BAND:
        return old & operand;
    case FI_BXOR:
        return old ^ operand;
    case FI_ATOMIC_WRITE:
        return operand;
    case FI_CSWAP:
        return old == compare ? operand : old;
    case FI_CSWAP_NE:
        return old != compare ? operand : old;
    case FI_MSWAP:
        return (operand & compare) | (old & ~compare);
    default:
        return old;
    }
}

static uint64_t element_read(const char *from, size_t bytes)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    memcpy(bytes == 8 ? (void *)&wide : (void *)&narrow, from, bytes);
    return bytes == 8 ? wide : narrow;
}

static void element_write(char *to, size_t bytes, uint64_t value)
{
    const uint32_t narrow = (uint32_t)value;
    memcpy(to, bytes == 8 ? (const void *)&value : (const void *)&narrow, bytes);
}

static uint64_t wide_run(const fake_head_t *head, uint64_t *target, uint64_t operand,
                         uint64_t compare)
{
    uint64_t old = __atomic_load_n(target, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(target, &old, value_of(head, old, operand, compare), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    return old;
}

static uint64_t narrow_run(const fake_head_t *head, uint32_t *target, uint64_t operand,
                           uint64_t compare)
{
    uint32_t old = __atomic_load_n(target, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(target, &old,
                                        (uint32_t)value_of(head, old, operand, compare), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    return old;
}

void fake_atomic_run(const fake_head_t *head, void *target, const char *operands,
                     const char *compare, char *result)
{
    const size_t bytes = fake_datatype_bytes(head->datatype);
    for (size_t at = 0; at < head->length * bytes; at += bytes) {
        const uint64_t operand = element_read(operands + at, bytes);
        const uint64_t other = head->kind == FAKE_COMPARE ? element_read(compare + at, bytes) : 0;
        char *element = (char *)target + at;
        const uint64_t old = bytes == 8 ? wide_run(head, (uint64_t *)element, operand, other)
                                        : narrow_run(head, (uint32_t *)element, operand, other);
        if (result)
            element_write(result + at, bytes, old);
    }
}

// ---- calls ----

enum {
    VECTORS_MAX = 3, // operands, values to compare, results
};

// The vectors of a call as bytes. An atomic has one entry in each.
typedef struct call {
    struct iovec iov[VECTORS_MAX];
    void *desc[VECTORS_MAX];
} call_t;

static struct iovec entry_of(const struct fi_ioc *entry, unsigned datatype)
{
    return (struct iovec){entry->addr, entry->count * fake_datatype_bytes(datatype)};
}

static ssize_t call_start(struct fid_ep *ep, call_t *call, fake_request_t *request)
{
    if (!fake_datatype_bytes(request->datatype) ||
        !fake_operation_is_known(request->kind, request->operation))
        return -FI_EOPNOTSUPP;
    request->source = call->iov;
    request->source_desc = call->desc;
    request->source_count = request->kind == FAKE_COMPARE ? 2 : 1;
    // A read has no operand, but the wire carries one.
    if (request->operation == FI_ATOMIC_READ)
        call->iov[0] = call->iov[2], call->desc[0] = call->desc[2];
    request->result = call->iov + 2;
    request->result_desc = call->desc + 2;
    request->result_count = request->kind == FAKE_ATOMIC ? 0 : 1;
    return fake_operation_start(ep, request);
}

static fake_request_t request_of(const struct fi_msg_atomic *msg, fake_kind_t kind, uint64_t flags)
{
    return (fake_request_t){.kind = kind,
                            .to = msg->addr,
                            .address = msg->rma_iov->addr,
                            .key = msg->rma_iov->key,
                            .length = msg->rma_iov->count,
                            .data = msg->data,
                            .flags = flags,
                            .datatype = (uint8_t)msg->datatype,
                            .operation = (uint8_t)msg->op,
                            .context = msg->context};
}

static bool message_fits(const struct fi_msg_atomic *msg)
{
    return msg->iov_count <= 1 && msg->rma_iov_count == 1;
}

static void *desc_first(void **desc)
{
    return desc ? desc[0] : NULL;
}

static ssize_t atomic_write_msg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
    if (!message_fits(msg) || msg->iov_count != 1)
        return -FI_EINVAL;
    call_t call = {{entry_of(msg->msg_iov, msg->datatype)}, {desc_first(msg->desc)}};
    fake_request_t request = request_of(msg, FAKE_ATOMIC, flags);
    return call_start(ep, &call, &request);
}

static ssize_t atomic_fetch_msg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
                                struct fi_ioc *results, void **result_desc, size_t result_count,
                                uint64_t flags)
{
    if (!message_fits(msg) || result_count != 1)
        return -FI_EINVAL;
    call_t call = {{{0}, {0}, entry_of(results, msg->datatype)}, {0, 0, desc_first(result_desc)}};
    if (msg->iov_count) {
        call.iov[0] = entry_of(msg->msg_iov, msg->datatype);
        call.desc[0] = desc_first(msg->desc);
    }
    fake_request_t request = request_of(msg, FAKE_FETCH, flags);
    return call_start(ep, &call, &request);
}

static ssize_t atomic_compare_msg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
                                  const struct fi_ioc *compares, void **compare_desc,
                                  size_t compare_count, struct fi_ioc *results, void **result_desc,
                                  size_t result_count, uint64_t flags)
{
    if (!message_fits(msg) || msg->iov_count != 1 || compare_count != 1 || result_count != 1)
        return -FI_EINVAL;
    call_t call = {{entry_of(msg->msg_iov, msg->datatype), entry_of(compares, msg->datatype),
                    entry_of(results, msg->datatype)},
                   {desc_first(msg->desc), desc_first(compare_desc), desc_first(result_desc)}};
    fake_request_t request = request_of(msg, FAKE_COMPARE, flags);
    return call_start(ep, &call, &request);
}

static uint64_t default_flags(struct fid_ep *ep)
{
    return ((fake_endpoint_t *)ep)->tx_flags;
}

static ssize_t atomic_write(struct fid_ep *ep, const void *operand, size_t count, void *desc,
                            fi_addr_t to, uint64_t address, uint64_t key, enum fi_datatype datatype,
                            enum fi_op operation, void *context)
{
    const struct fi_ioc entry = {(void *)operand, count};
    const struct fi_rma_ioc remote = {address, count, key};
    const struct fi_msg_atomic msg = {&entry, &desc,    1,         to,      &remote,
                                      1,      datatype, operation, context, 0};
    return atomic_write_msg(ep, &msg, default_flags(ep));
}

static ssize_t atomic_inject(struct fid_ep *ep, const void *operand, size_t count, fi_addr_t to,
                             uint64_t address, uint64_t key, enum fi_datatype datatype,
                             enum fi_op operation)
{
    call_t call = {{{(void *)operand, count * fake_datatype_bytes(datatype)}}, {0}};
    fake_request_t request = {.kind = FAKE_ATOMIC,
                              .to = to,
                              .address = address,
                              .key = key,
                              .length = count,
                              .flags = default_flags(ep) | FI_INJECT,
                              .datatype = (uint8_t)datatype,
                              .operation = (uint8_t)operation,
                              .silent = true};
    return call_start(ep, &call, &request);
}

static ssize_t atomic_fetch(struct fid_ep *ep, const void *operand, size_t count, void *desc,
                            void *result, void *result_desc, fi_addr_t to, uint64_t address,
                            uint64_t key, enum fi_datatype datatype, enum fi_op operation,
                            void *context)
{
    const struct fi_ioc entry = {(void *)operand, count};
    struct fi_ioc result_entry = {result, count};
    const struct fi_rma_ioc remote = {address, count, key};
    const struct fi_msg_atomic msg = {&entry, &desc,    1,         to,      &remote,
                                      1,      datatype, operation, context, 0};
    return atomic_fetch_msg(ep, &msg, &result_entry, &result_desc, 1, default_flags(ep));
}

static ssize_t atomic_compare(struct fid_ep *ep, const void *operand, size_t count, void *desc,
                              const void *compare, void *compare_desc, void *result,
                              void *result_desc, fi_addr_t to, uint64_t address, uint64_t key,
                              enum fi_datatype datatype, enum fi_op operation, void *context)
{
    const struct fi_ioc entry = {(void *)operand, count}, other = {(void *)compare, count};
    struct fi_ioc result_entry = {result, count};
    const struct fi_rma_ioc remote = {address, count, key};
    const struct fi_msg_atomic msg = {&entry, &desc,    1,         to,      &remote,
                                      1,      datatype, operation, context, 0};
    return atomic_compare_msg(ep, &msg, &other, &compare_desc, 1, &result_entry, &result_desc, 1,
                              default_flags(ep));
}

// ---- what is valid ----

static int kind_valid(fake_kind_t kind, enum fi_datatype datatype, enum fi_op operation,
                      size_t *count)
{
    const size_t bytes = fake_datatype_bytes(datatype);
    if (fake_word(WORD_NO_ATOMIC) || !bytes || !fake_operation_is_known(kind, operation))
        return -FI_EOPNOTSUPP;
    *count = 4096 / bytes;
    return 0;
}

static int write_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
    (void)ep;
    return kind_valid(FAKE_ATOMIC, datatype, op, count);
}

static int fetch_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
    (void)ep;
    return kind_valid(FAKE_FETCH, datatype, op, count);
}

static int compare_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
    (void)ep;
    return kind_valid(FAKE_COMPARE, datatype, op, count);
}

struct fi_ops_atomic fake_atomic_ops = {
    .size = sizeof fake_atomic_ops,
    .write = atomic_write,
    .writemsg = atomic_write_msg,
    .inject = atomic_inject,
    .readwrite = atomic_fetch,
    .readwritemsg = atomic_fetch_msg,
    .compwrite = atomic_compare,
    .compwritemsg = atomic_compare_msg,
    .writevalid = write_valid,
    .readwritevalid = fetch_valid,
    .compwritevalid = compare_valid,
};
