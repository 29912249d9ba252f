// SPDX-License-Identifier: BSD-3-Clause
// The calls of fi_msg(3) of the fake provider.
#include "fake_provider.h"

#include <stdlib.h>

static uint64_t send_flags(struct fid_ep *ep)
{
    return ((fake_endpoint_t *)ep)->tx_flags;
}

// ---- sends ----

static ssize_t message_send(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    const fake_request_t request = {.kind = FAKE_SEND,
                                    .source = msg->msg_iov,
                                    .source_desc = msg->desc,
                                    .source_count = msg->iov_count,
                                    .to = msg->addr,
                                    .data = msg->data,
                                    .flags = flags,
                                    .context = msg->context};
    return fake_operation_start(ep, &request);
}

static ssize_t message_send_vector(struct fid_ep *ep, const struct iovec *iov, void **desc,
                                   size_t count, fi_addr_t to, void *context)
{
    const struct fi_msg msg = {iov, desc, count, to, context, 0};
    return message_send(ep, &msg, send_flags(ep));
}

static ssize_t message_send_one(struct fid_ep *ep, const void *memory, size_t bytes, void *desc,
                                fi_addr_t to, void *context)
{
    const struct iovec iov = {(void *)memory, bytes};
    return message_send_vector(ep, &iov, &desc, 1, to, context);
}

static ssize_t message_send_data(struct fid_ep *ep, const void *memory, size_t bytes, void *desc,
                                 uint64_t data, fi_addr_t to, void *context)
{
    const struct iovec iov = {(void *)memory, bytes};
    const struct fi_msg msg = {&iov, &desc, 1, to, context, data};
    return message_send(ep, &msg, send_flags(ep) | FI_REMOTE_CQ_DATA);
}

static ssize_t message_inject_with(struct fid_ep *ep, const void *memory, size_t bytes,
                                   uint64_t data, fi_addr_t to, uint64_t flags)
{
    const struct iovec iov = {(void *)memory, bytes};
    const fake_request_t request = {.kind = FAKE_SEND,
                                    .source = &iov,
                                    .source_count = 1,
                                    .to = to,
                                    .data = data,
                                    .flags = send_flags(ep) | FI_INJECT | flags,
                                    .silent = true};
    return fake_operation_start(ep, &request);
}

static ssize_t message_inject(struct fid_ep *ep, const void *memory, size_t bytes, fi_addr_t to)
{
    return message_inject_with(ep, memory, bytes, 0, to, 0);
}

static ssize_t message_inject_data(struct fid_ep *ep, const void *memory, size_t bytes,
                                   uint64_t data, fi_addr_t to)
{
    return message_inject_with(ep, memory, bytes, data, to, FI_REMOTE_CQ_DATA);
}

// ---- receives ----

static int receive_check(const fake_endpoint_t *endpoint, const struct fi_msg *msg, uint64_t flags)
{
    if (!endpoint->enabled)
        return -FI_EOPBADSTATE;
    if (msg->iov_count > FAKE_IOV_MAX || (flags & FI_MULTI_RECV && msg->iov_count != 1))
        return -FI_EINVAL;
    if (flags & FI_MULTI_RECV && (fake_word(WORD_NO_MULTI) || fake_word(WORD_LIE_MULTI)))
        return -FI_EOPNOTSUPP;
    return endpoint->receive_count >= fake_number(WORD_POSTS) || fake_again() ? -FI_EAGAIN : 0;
}

static fake_receive_t *receive_new(const fake_endpoint_t *endpoint, const struct fi_msg *msg,
                                   uint64_t flags)
{
    fake_receive_t *receive = fake_alloc(sizeof *receive);
    receive->iov_count = msg->iov_count;
    for (size_t i = 0; i < msg->iov_count; i++) {
        receive->iov[i] = msg->msg_iov[i];
        receive->bytes += msg->msg_iov[i].iov_len;
    }
    receive->multi = flags & FI_MULTI_RECV;
    receive->wants_completion = !endpoint->rx_selective || flags & FI_COMPLETION;
    receive->context = msg->context;
    fake_context_take(msg->context);
    return receive;
}

static void receive_append(fake_endpoint_t *endpoint, fake_receive_t *receive)
{
    fake_receive_t **at = &endpoint->receives;
    while (*at)
        at = &(*at)->next;
    *at = receive;
    endpoint->receive_count++;
}

static ssize_t message_receive(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
    fake_endpoint_t *endpoint = (fake_endpoint_t *)ep;
    pthread_mutex_lock(&fake_lock);
    const int error = receive_check(endpoint, msg, flags);
    if (!error) {
        fake_descriptors_check(endpoint->domain, msg->msg_iov, msg->desc, msg->iov_count,
                               "a receive");
        receive_append(endpoint, receive_new(endpoint, msg, flags));
        fake_unexpected_match(endpoint);
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

static ssize_t message_receive_vector(struct fid_ep *ep, const struct iovec *iov, void **desc,
                                      size_t count, fi_addr_t from, void *context)
{
    const struct fi_msg msg = {iov, desc, count, from, context, 0};
    return message_receive(ep, &msg, ((fake_endpoint_t *)ep)->rx_flags);
}

static ssize_t message_receive_one(struct fid_ep *ep, void *memory, size_t bytes, void *desc,
                                   fi_addr_t from, void *context)
{
    const struct iovec iov = {memory, bytes};
    return message_receive_vector(ep, &iov, &desc, 1, from, context);
}

struct fi_ops_msg fake_msg_ops = {
    .size = sizeof fake_msg_ops,
    .recv = message_receive_one,
    .recvv = message_receive_vector,
    .recvmsg = message_receive,
    .send = message_send_one,
    .sendv = message_send_vector,
    .sendmsg = message_send,
    .inject = message_inject,
    .senddata = message_send_data,
    .injectdata = message_inject_data,
};
