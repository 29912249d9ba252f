// SPDX-License-Identifier: BSD-3-Clause
// Operations of the initiator, from the call until the completion, and the calls of fi_rma(3).
#include "fake_provider.h"

#include <stdlib.h>
#include <string.h>

// ---- the context modes ----

static size_t context_words(void)
{
    if (fake_word(WORD_CONTEXT2))
        return sizeof(struct fi_context2) / sizeof(void *);
    return fake_word(WORD_CONTEXT) ? sizeof(struct fi_context) / sizeof(void *) : 0;
}

static void *context_mark(const void *context, size_t i)
{
    return (void *)((uintptr_t)context ^ (0xc0c0a0a0f0f00000 + i));
}

void fake_context_take(void *context)
{
    void **memory = context;
    if (context_words() && !context)
        fake_die("context: an operation came with NULL as its context");
    for (size_t i = 0; i < context_words(); i++)
        memory[i] = context_mark(context, i);
}

void fake_context_give_back(void *context)
{
    void **memory = context;
    for (size_t i = 0; context && i < context_words(); i++) {
        if (memory[i] != context_mark(context, i))
            fake_die("context: the application wrote into the context at %p, or used it for two "
                     "operations, before the first one was complete",
                     context);
        memory[i] = NULL;
    }
}

// ---- the end of an operation ----

fake_operation_t *fake_operation_find(fake_endpoint_t *endpoint, uint64_t number)
{
    for (fake_operation_t *at = endpoint->operations; at; at = at->next)
        if (at->number == number)
            return at;
    return NULL;
}

static void operation_unlink(fake_endpoint_t *endpoint, fake_operation_t *operation)
{
    for (fake_operation_t **at = &endpoint->operations; *at; at = &(*at)->next)
        if (*at == operation) {
            *at = operation->next;
            endpoint->operation_count--;
            return;
        }
}

void fake_operation_free(fake_operation_t *operation)
{
    while (operation->region_count > 0)
        operation->regions[--operation->region_count]->uses--;
    free(operation->copy);
    free(operation);
}

void fake_operation_end(fake_endpoint_t *endpoint, fake_operation_t *operation, int error)
{
    const fake_completion_t completion = {.context = operation->context,
                                          .flags = operation->flags,
                                          .source = FI_ADDR_NOTAVAIL,
                                          .error = error};
    operation_unlink(endpoint, operation);
    if (operation->wants_completion)
        fake_context_give_back(operation->context);
    if (operation->wants_completion || error)
        fake_cq_add(endpoint->tx_cq, &completion);
    fake_operation_free(operation);
}

void fake_operations_fail(fake_endpoint_t *endpoint, uint32_t target, int error)
{
    fake_operation_t *next;
    for (fake_operation_t *at = endpoint->operations; at; at = next) {
        next = at->next;
        if (at->target == target)
            fake_operation_end(endpoint, at, error);
    }
}

// ---- the start of an operation ----

static size_t iov_bytes(const struct iovec *iov, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += iov[i].iov_len;
    return bytes;
}

static uint64_t caps_needed(fake_kind_t kind)
{
    if (kind == FAKE_SEND)
        return FI_MSG;
    return kind == FAKE_WRITE || kind == FAKE_READ ? FI_RMA : FI_ATOMIC;
}

static uint64_t message_most(void)
{
    const uint64_t given = fake_number(WORD_MESSAGE);
    return given ? given : fake_preset()->message_most;
}

// What a correct application never does.
static int request_check(const fake_endpoint_t *endpoint, const fake_request_t *request)
{
    const size_t bytes = iov_bytes(request->source, request->source_count);
    const bool fetches = request->result_count && request->kind != FAKE_READ;
    if (!endpoint->enabled)
        return -FI_EOPBADSTATE;
    if ((endpoint->caps & caps_needed(request->kind)) == 0)
        return -FI_EOPNOTSUPP;
    if (request->source_count > FAKE_IOV_MAX || request->result_count > FAKE_IOV_MAX)
        return -FI_EINVAL;
    if (bytes > message_most() ||
        iov_bytes(request->result, request->result_count) > message_most())
        return -FI_EMSGSIZE;
    if (request->flags & FI_INJECT &&
        (bytes > fake_number(WORD_INJECT) || fake_word(WORD_LIE_INJECT)))
        return -FI_EINVAL;
    if (request->flags & FI_DELIVERY_COMPLETE &&
        (fake_word(WORD_NO_DELIVERY) || (fetches && fake_word(WORD_NO_FETCH_DELIVERY))))
        return -FI_EOPNOTSUPP;
    return fake_av_find(endpoint->av, request->to) ? 0 : -FI_EINVAL;
}

static bool is_full(const fake_endpoint_t *endpoint)
{
    return endpoint->operation_count >= fake_number(WORD_DEPTH) || fake_again();
}

static void descriptors_check(fake_endpoint_t *endpoint, const fake_request_t *request)
{
    if (!(request->flags & FI_INJECT) && !(request->operation == FI_ATOMIC_READ && request->length))
        fake_descriptors_check(endpoint->domain, request->source, request->source_desc,
                               request->source_count, "the source");
    fake_descriptors_check(endpoint->domain, request->result, request->result_desc,
                           request->result_count, "the result");
}

static uint64_t completion_flags(fake_kind_t kind)
{
    switch (kind) {
    case FAKE_SEND:
        return FI_MSG | FI_SEND;
    case FAKE_WRITE:
        return FI_RMA | FI_WRITE;
    case FAKE_READ:
        return FI_RMA | FI_READ;
    case FAKE_ATOMIC:
        return FI_ATOMIC | FI_WRITE;
    default:
        return FI_ATOMIC | FI_READ;
    }
}

// With mr-local, after the descriptors were checked.
static void operation_use(fake_operation_t *operation, const struct iovec *iov, void *const *desc,
                          size_t count)
{
    for (size_t i = 0; fake_word(WORD_MR_LOCAL) && i < count; i++)
        if (iov[i].iov_len) {
            fake_region_t *region = desc[i];
            region->uses++;
            operation->regions[operation->region_count++] = region;
        }
}

static void operation_copy(fake_operation_t *operation)
{
    char *at = operation->copy = fake_alloc(operation->source_bytes);
    for (size_t i = 0; i < operation->source_count; i++) {
        if (operation->source[i].iov_len)
            memcpy(at, operation->source[i].iov_base, operation->source[i].iov_len);
        at += operation->source[i].iov_len;
    }
    operation->source[0] = (struct iovec){operation->copy, operation->source_bytes};
    operation->source_count = 1;
}

static fake_operation_t *operation_new(fake_endpoint_t *endpoint, const fake_request_t *request)
{
    fake_operation_t *operation = fake_alloc(sizeof *operation);
    operation->kind = request->kind;
    operation->number = ++endpoint->next_number;
    operation->target = fake_av_find(endpoint->av, request->to);
    operation->flags = completion_flags(request->kind);
    operation->delivery = request->flags & FI_DELIVERY_COMPLETE;
    operation->wants_completion =
        !request->silent && (!endpoint->tx_selective || request->flags & FI_COMPLETION);
    operation->context = request->context;
    operation->source_count = request->source_count;
    operation->source_bytes = iov_bytes(request->source, request->source_count);
    for (size_t i = 0; i < request->source_count; i++)
        operation->source[i] = request->source[i];
    operation->has_result = request->result_count;
    operation->result_count = request->result_count;
    operation->result_bytes = iov_bytes(request->result, request->result_count);
    for (size_t i = 0; i < request->result_count; i++)
        operation->result[i] = request->result[i];
    if (request->flags & FI_INJECT || caps_needed(request->kind) == FI_ATOMIC)
        operation_copy(operation);
    else
        operation_use(operation, request->source, request->source_desc, request->source_count);
    operation_use(operation, request->result, request->result_desc, request->result_count);
    if (operation->wants_completion)
        fake_context_take(operation->context);
    return operation;
}

static fake_out_t *operation_out(fake_operation_t *operation, const fake_request_t *request)
{
    fake_out_t *out = fake_alloc(sizeof *out);
    const bool reads = request->kind == FAKE_READ;
    out->operation = operation;
    out->head.kind = request->kind;
    out->head.number = operation->number;
    out->head.total = operation->source_bytes;
    out->head.address = request->address;
    out->head.key = request->key;
    out->head.length = reads ? operation->result_bytes : request->length;
    out->head.has_data = (request->flags & FI_REMOTE_CQ_DATA) != 0;
    out->head.data = request->data;
    out->head.delivery = operation->delivery;
    out->head.datatype = request->datatype;
    out->head.operation = request->operation;
    return out;
}

// The faults that the words ask for. 0: none.
static int fault_of(const fake_peer_t *peer, const fake_operation_t *operation)
{
    if (peer->gone || (fake_word(WORD_LOST) && peer->operations > fake_number(WORD_LOST)))
        return FI_ECONNRESET;
    return operation->kind == FAKE_WRITE && fake_word(WORD_LIE_RMA) ? FI_EOPNOTSUPP : 0;
}

static void operation_begin(fake_endpoint_t *endpoint, const fake_request_t *request)
{
    fake_operation_t *operation = operation_new(endpoint, request);
    fake_peer_t *peer = fake_peer_find(endpoint, operation->target);
    operation->next = endpoint->operations;
    endpoint->operations = operation;
    endpoint->operation_count++;
    peer->operations++;
    const int fault = fault_of(peer, operation);
    if (fault) {
        fake_operation_end(endpoint, operation, fault);
        return;
    }
    fake_out_queue(endpoint, peer, operation_out(operation, request));
    if (!fake_word(WORD_LATE))
        fake_out_flush(endpoint);
}

ssize_t fake_operation_start(struct fid_ep *ep, const fake_request_t *request)
{
    fake_endpoint_t *endpoint = (fake_endpoint_t *)ep;
    pthread_mutex_lock(&fake_lock);
    ssize_t error = request_check(endpoint, request);
    if (!error && is_full(endpoint))
        error = -FI_EAGAIN;
    if (!error) {
        descriptors_check(endpoint, request);
        operation_begin(endpoint, request);
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

// ---- fi_rma ----

static uint64_t default_flags(struct fid_ep *ep)
{
    return ((fake_endpoint_t *)ep)->tx_flags;
}

static ssize_t rma_write_msg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    if (msg->rma_iov_count != 1 || msg->rma_iov->len != iov_bytes(msg->msg_iov, msg->iov_count))
        return -FI_EINVAL;
    const fake_request_t request = {.kind = FAKE_WRITE,
                                    .source = msg->msg_iov,
                                    .source_desc = msg->desc,
                                    .source_count = msg->iov_count,
                                    .to = msg->addr,
                                    .address = msg->rma_iov->addr,
                                    .key = msg->rma_iov->key,
                                    .data = msg->data,
                                    .flags = flags,
                                    .context = msg->context};
    return fake_operation_start(ep, &request);
}

static ssize_t rma_read_msg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
    if (msg->rma_iov_count != 1 || msg->rma_iov->len != iov_bytes(msg->msg_iov, msg->iov_count))
        return -FI_EINVAL;
    const fake_request_t request = {.kind = FAKE_READ,
                                    .result = msg->msg_iov,
                                    .result_desc = msg->desc,
                                    .result_count = msg->iov_count,
                                    .to = msg->addr,
                                    .address = msg->rma_iov->addr,
                                    .key = msg->rma_iov->key,
                                    .flags = flags & ~FI_INJECT,
                                    .context = msg->context};
    return fake_operation_start(ep, &request);
}

static ssize_t rma_write_vector(struct fid_ep *ep, const struct iovec *iov, void **desc,
                                size_t count, fi_addr_t to, uint64_t address, uint64_t key,
                                void *context)
{
    const struct fi_rma_iov remote = {address, iov_bytes(iov, count), key};
    const struct fi_msg_rma msg = {iov, desc, count, to, &remote, 1, context, 0};
    return rma_write_msg(ep, &msg, default_flags(ep));
}

static ssize_t rma_write(struct fid_ep *ep, const void *memory, size_t bytes, void *desc,
                         fi_addr_t to, uint64_t address, uint64_t key, void *context)
{
    const struct iovec iov = {(void *)memory, bytes};
    return rma_write_vector(ep, &iov, &desc, 1, to, address, key, context);
}

static ssize_t rma_read_vector(struct fid_ep *ep, const struct iovec *iov, void **desc,
                               size_t count, fi_addr_t from, uint64_t address, uint64_t key,
                               void *context)
{
    const struct fi_rma_iov remote = {address, iov_bytes(iov, count), key};
    const struct fi_msg_rma msg = {iov, desc, count, from, &remote, 1, context, 0};
    return rma_read_msg(ep, &msg, default_flags(ep));
}

static ssize_t rma_read(struct fid_ep *ep, void *memory, size_t bytes, void *desc, fi_addr_t from,
                        uint64_t address, uint64_t key, void *context)
{
    const struct iovec iov = {memory, bytes};
    return rma_read_vector(ep, &iov, &desc, 1, from, address, key, context);
}

static ssize_t rma_write_data(struct fid_ep *ep, const void *memory, size_t bytes, void *desc,
                              uint64_t data, fi_addr_t to, uint64_t address, uint64_t key,
                              void *context)
{
    const struct iovec iov = {(void *)memory, bytes};
    const struct fi_rma_iov remote = {address, bytes, key};
    const struct fi_msg_rma msg = {&iov, &desc, 1, to, &remote, 1, context, data};
    return rma_write_msg(ep, &msg, default_flags(ep) | FI_REMOTE_CQ_DATA);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *memory, size_t bytes, fi_addr_t to,
                          uint64_t address, uint64_t key)
{
    const struct iovec iov = {(void *)memory, bytes};
    const fake_request_t request = {.kind = FAKE_WRITE,
                                    .source = &iov,
                                    .source_count = 1,
                                    .to = to,
                                    .address = address,
                                    .key = key,
                                    .flags = default_flags(ep) | FI_INJECT,
                                    .silent = true};
    return fake_operation_start(ep, &request);
}

struct fi_ops_rma fake_rma_ops = {
    .size = sizeof fake_rma_ops,
    .read = rma_read,
    .readv = rma_read_vector,
    .readmsg = rma_read_msg,
    .write = rma_write,
    .writev = rma_write_vector,
    .writemsg = rma_write_msg,
    .inject = rma_inject,
    .writedata = rma_write_data,
};
