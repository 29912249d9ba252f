// SPDX-License-Identifier: BSD-3-Clause
// Endpoints of the fake provider: their set-up, options and end.
#include "fake_provider.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

// ---- automatic progress ----

// FAKE_OFI=auto: progress without a call of the application.
static void *progress_thread(void *argument)
{
    fake_endpoint_t *endpoint = argument;
    bool ends = false;
    while (!ends) {
        struct pollfd wait = {.fd = endpoint->socket, .events = POLLIN};
        poll(&wait, 1, 1);
        pthread_mutex_lock(&fake_lock);
        fake_progress(endpoint);
        ends = endpoint->thread_ends;
        pthread_mutex_unlock(&fake_lock);
    }
    return NULL;
}

static void thread_stop(fake_endpoint_t *endpoint)
{
    pthread_mutex_lock(&fake_lock);
    endpoint->thread_ends = true;
    pthread_mutex_unlock(&fake_lock);
    if (endpoint->thread_runs)
        pthread_join(endpoint->thread, NULL);
}

// ---- set-up ----

static int queue_bind(fake_endpoint_t *endpoint, fake_cq_t *queue, uint64_t flags)
{
    if (flags & FI_SELECTIVE_COMPLETION && fake_word(WORD_NO_SELECTIVE))
        return -FI_EOPNOTSUPP;
    if (flags & FI_TRANSMIT) {
        endpoint->tx_cq = queue;
        endpoint->tx_selective = flags & FI_SELECTIVE_COMPLETION;
    }
    if (flags & FI_RECV) {
        endpoint->rx_cq = queue;
        endpoint->rx_selective = flags & FI_SELECTIVE_COMPLETION;
    }
    for (size_t i = 0; i < queue->endpoint_count; i++)
        if (queue->endpoints[i] == endpoint)
            return 0;
    if (queue->endpoint_count == FAKE_ENDPOINTS_MAX)
        return -FI_ENOSPC;
    queue->endpoints[queue->endpoint_count++] = endpoint;
    struct epoll_event event = {.events = EPOLLIN};
    if (queue->can_wait)
        epoll_ctl(queue->wait_fd, EPOLL_CTL_ADD, endpoint->socket, &event);
    return 0;
}

static int endpoint_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
    fake_endpoint_t *endpoint = (fake_endpoint_t *)fid;
    int error = 0;
    pthread_mutex_lock(&fake_lock);
    if (endpoint->enabled)
        error = -FI_EOPBADSTATE;
    else if (to->fclass == FI_CLASS_AV)
        endpoint->av = (fake_av_t *)to;
    else if (to->fclass == FI_CLASS_CQ)
        error = queue_bind(endpoint, (fake_cq_t *)to, flags);
    else
        error = -FI_EINVAL;
    pthread_mutex_unlock(&fake_lock);
    return error;
}

static int endpoint_enable(fake_endpoint_t *endpoint)
{
    if (!endpoint->av)
        return -FI_ENOAV;
    if (!endpoint->tx_cq || !endpoint->rx_cq)
        return -FI_ENOCQ;
    endpoint->enabled = true;
    if (fake_word(WORD_AUTO) && !endpoint->thread_runs)
        endpoint->thread_runs =
            pthread_create(&endpoint->thread, NULL, progress_thread, endpoint) == 0;
    return 0;
}

static int flags_control(fake_endpoint_t *endpoint, int command, uint64_t *flags)
{
    uint64_t *mine = *flags & FI_RECV ? &endpoint->rx_flags : &endpoint->tx_flags;
    if (command == FI_GETOPSFLAG)
        *flags = *mine;
    else
        *mine = *flags & ~(FI_TRANSMIT | FI_RECV);
    return 0;
}

static int endpoint_control(struct fid *fid, int command, void *argument)
{
    fake_endpoint_t *endpoint = (fake_endpoint_t *)fid;
    int error = -FI_ENOSYS;
    pthread_mutex_lock(&fake_lock);
    if (command == FI_ENABLE)
        error = endpoint_enable(endpoint);
    else if (command == FI_GETOPSFLAG || command == FI_SETOPSFLAG)
        error = flags_control(endpoint, command, argument);
    pthread_mutex_unlock(&fake_lock);
    return error;
}

// ---- the end ----

static void queue_forget(fake_cq_t *queue, const fake_endpoint_t *endpoint)
{
    for (size_t i = 0; queue && i < queue->endpoint_count; i++)
        if (queue->endpoints[i] == endpoint) {
            queue->endpoints[i] = queue->endpoints[--queue->endpoint_count];
            if (queue->can_wait)
                epoll_ctl(queue->wait_fd, EPOLL_CTL_DEL, endpoint->socket, NULL);
        }
}

static void lists_free(fake_endpoint_t *endpoint)
{
    while (endpoint->operations) {
        fake_operation_t *operation = endpoint->operations;
        endpoint->operations = operation->next;
        fake_operation_free(operation);
    }
    while (endpoint->receives) {
        fake_receive_t *receive = endpoint->receives;
        endpoint->receives = receive->next;
        free(receive);
    }
}

static int endpoint_close(struct fid *fid)
{
    fake_endpoint_t *endpoint = (fake_endpoint_t *)fid;
    thread_stop(endpoint);
    pthread_mutex_lock(&fake_lock);
    fake_out_flush(endpoint);
    queue_forget(endpoint->tx_cq, endpoint);
    queue_forget(endpoint->rx_cq, endpoint);
    fake_wire_close(endpoint);
    lists_free(endpoint);
    endpoint->domain->users--;
    pthread_mutex_unlock(&fake_lock);
    free(endpoint);
    return 0;
}

// ---- options ----

static ssize_t endpoint_cancel(struct fid *fid, void *context)
{
    fake_endpoint_t *endpoint = (fake_endpoint_t *)fid;
    ssize_t error = -FI_ENOENT;
    pthread_mutex_lock(&fake_lock);
    for (fake_receive_t **at = &endpoint->receives; *at; at = &(*at)->next) {
        fake_receive_t *receive = *at;
        if (receive->context != context)
            continue;
        const fake_completion_t completion = {
            .context = context, .flags = FI_MSG | FI_RECV, .error = FI_ECANCELED};
        *at = receive->next;
        endpoint->receive_count--;
        fake_context_give_back(context);
        fake_cq_add(endpoint->rx_cq, &completion);
        free(receive);
        error = 0;
        break;
    }
    pthread_mutex_unlock(&fake_lock);
    return error;
}

static int endpoint_get_option(struct fid *fid, int level, int option, void *value, size_t *bytes)
{
    const fake_endpoint_t *endpoint = (fake_endpoint_t *)fid;
    if (level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV)
        return -FI_ENOPROTOOPT;
    if (*bytes < sizeof endpoint->least_multi)
        return -FI_ETOOSMALL;
    pthread_mutex_lock(&fake_lock);
    memcpy(value, &endpoint->least_multi, sizeof endpoint->least_multi);
    pthread_mutex_unlock(&fake_lock);
    *bytes = sizeof endpoint->least_multi;
    return 0;
}

static int endpoint_set_option(struct fid *fid, int level, int option, const void *value,
                               size_t bytes)
{
    fake_endpoint_t *endpoint = (fake_endpoint_t *)fid;
    if (level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV || fake_word(WORD_NO_MULTI))
        return -FI_ENOPROTOOPT;
    if (bytes != sizeof endpoint->least_multi)
        return -FI_EINVAL;
    pthread_mutex_lock(&fake_lock);
    memcpy(&endpoint->least_multi, value, bytes);
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

// An endpoint of the real providers has its name when it is enabled.
static int endpoint_get_name(struct fid *fid, void *name, size_t *bytes)
{
    const fake_endpoint_t *endpoint = (fake_endpoint_t *)fid;
    const size_t have = *bytes, need = fake_preset()->address_bytes;
    char full[FAKE_ADDRESS_BYTES];
    if (!endpoint->enabled)
        return -FI_EOPBADSTATE;
    fake_name_write(endpoint->id, full);
    memcpy(name, full, have < need ? have : need);
    *bytes = need;
    return have < need ? -FI_ETOOSMALL : 0;
}

static int endpoint_set_name(struct fid *fid, void *name, size_t bytes)
{
    (void)fid, (void)name, (void)bytes;
    return -FI_ENOSYS;
}

static struct fi_ops endpoint_fid_ops = {
    .size = sizeof endpoint_fid_ops,
    .close = endpoint_close,
    .bind = endpoint_bind,
    .control = endpoint_control,
};
static struct fi_ops_ep endpoint_ops = {
    .size = sizeof endpoint_ops,
    .cancel = endpoint_cancel,
    .getopt = endpoint_get_option,
    .setopt = endpoint_set_option,
};
static struct fi_ops_cm name_ops = {
    .size = sizeof name_ops,
    .setname = endpoint_set_name,
    .getname = endpoint_get_name,
};

static void endpoint_ops_set(struct fid_ep *fid, void *context)
{
    fid->fid = (struct fid){FI_CLASS_EP, context, &endpoint_fid_ops};
    fid->ops = &endpoint_ops;
    fid->cm = &name_ops;
    fid->msg = &fake_msg_ops;
    fid->rma = &fake_rma_ops;
    fid->atomic = &fake_atomic_ops;
}

int fake_endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
                       void *context)
{
    fake_endpoint_t *endpoint = fake_alloc(sizeof *endpoint);
    endpoint_ops_set(&endpoint->fid, context);
    endpoint->domain = (fake_domain_t *)domain;
    endpoint->caps = info->caps;
    endpoint->tx_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
    endpoint->rx_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
    const int error = fake_socket_open(endpoint);
    if (error) {
        free(endpoint);
        return error;
    }
    pthread_mutex_lock(&fake_lock);
    endpoint->domain->users++;
    pthread_mutex_unlock(&fake_lock);
    *out = &endpoint->fid;
    return 0;
}
