// SPDX-License-Identifier: BSD-3-Clause
// Completion queues of the fake provider.
#include "fake_provider.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

// ---- entries ----

static void event_raise(const fake_cq_t *queue)
{
    const uint64_t one = 1;
    if (queue->can_wait && write(queue->event_fd, &one, sizeof one) < 0 && errno != EAGAIN)
        fake_die("eventfd: %s", strerror(errno));
}

static void event_clear(const fake_cq_t *queue)
{
    uint64_t count;
    if (queue->can_wait && !queue->head && !queue->error_head &&
        read(queue->event_fd, &count, sizeof count) < 0 && errno != EAGAIN)
        fake_die("eventfd: %s", strerror(errno));
}

void fake_cq_add(fake_cq_t *queue, const fake_completion_t *completion)
{
    fake_completion_t *copy = fake_alloc(sizeof *copy);
    *copy = *completion;
    copy->next = NULL;
    fake_completion_t ***tail = completion->error ? &queue->error_tail : &queue->tail;
    **tail = copy;
    *tail = &copy->next;
    event_raise(queue);
}

static fake_completion_t *queue_take(fake_completion_t **head, fake_completion_t ***tail)
{
    fake_completion_t *first = *head;
    *head = first->next;
    if (!*head)
        *tail = head;
    return first;
}

static size_t entry_bytes(enum fi_cq_format format)
{
    switch (format) {
    case FI_CQ_FORMAT_CONTEXT:
        return sizeof(struct fi_cq_entry);
    case FI_CQ_FORMAT_MSG:
        return sizeof(struct fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA:
        return sizeof(struct fi_cq_data_entry);
    default:
        return sizeof(struct fi_cq_tagged_entry);
    }
}

// Each format is the start of the next one.
static void entry_write(const fake_cq_t *queue, const fake_completion_t *completion, void *out)
{
    const struct fi_cq_tagged_entry entry = {.op_context = completion->context,
                                             .flags = completion->flags,
                                             .len = completion->length,
                                             .buf = completion->buffer,
                                             .data = completion->data};
    memcpy(out, &entry, entry_bytes(queue->format));
}

// ---- reading ----

static void queue_progress(const fake_cq_t *queue)
{
    for (size_t i = 0; i < queue->endpoint_count; i++)
        fake_progress(queue->endpoints[i]);
}

static ssize_t queue_read(fake_cq_t *queue, char *out, size_t count, fi_addr_t *sources)
{
    size_t done = 0;
    queue_progress(queue);
    if (queue->error_head)
        return -FI_EAVAIL;
    for (; done < count && queue->head; done++) {
        fake_completion_t *first = queue_take(&queue->head, &queue->tail);
        entry_write(queue, first, out + done * entry_bytes(queue->format));
        if (sources)
            sources[done] = first->source;
        free(first);
    }
    event_clear(queue);
    return done ? (ssize_t)done : -FI_EAGAIN;
}

static ssize_t cq_read_from(struct fid_cq *fid, void *out, size_t count, fi_addr_t *sources)
{
    pthread_mutex_lock(&fake_lock);
    const ssize_t got = queue_read((fake_cq_t *)fid, out, count, sources);
    pthread_mutex_unlock(&fake_lock);
    return got;
}

static ssize_t cq_read(struct fid_cq *fid, void *out, size_t count)
{
    return cq_read_from(fid, out, count, NULL);
}

static void error_write(const fake_completion_t *completion, struct fi_cq_err_entry *out)
{
    out->op_context = completion->context;
    out->flags = completion->flags;
    out->len = completion->length;
    out->buf = completion->buffer;
    out->data = completion->data;
    out->tag = 0;
    out->olen = completion->lost;
    out->err = completion->error;
    out->prov_errno = completion->error;
    out->err_data_size = 0;
}

static ssize_t cq_read_error(struct fid_cq *fid, struct fi_cq_err_entry *out, uint64_t flags)
{
    fake_cq_t *queue = (fake_cq_t *)fid;
    (void)flags;
    ssize_t got = -FI_EAGAIN;
    pthread_mutex_lock(&fake_lock);
    if (queue->error_head) {
        fake_completion_t *first = queue_take(&queue->error_head, &queue->error_tail);
        error_write(first, out);
        free(first);
        event_clear(queue);
        got = 1;
    }
    pthread_mutex_unlock(&fake_lock);
    return got;
}

static int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static ssize_t cq_wait_from(struct fid_cq *fid, void *out, size_t count, fi_addr_t *sources,
                            const void *condition, int timeout)
{
    const int64_t start = clock_ms();
    ssize_t got;
    (void)condition;
    while ((got = cq_read_from(fid, out, count, sources)) == -FI_EAGAIN) {
        if (timeout >= 0 && clock_ms() - start >= timeout)
            break;
        poll(NULL, 0, 1);
    }
    return got;
}

static ssize_t cq_wait(struct fid_cq *fid, void *out, size_t count, const void *condition,
                       int timeout)
{
    return cq_wait_from(fid, out, count, NULL, condition, timeout);
}

static const char *cq_error_text(struct fid_cq *fid, int error, const void *data, char *text,
                                 size_t bytes)
{
    (void)fid, (void)data;
    if (text && bytes)
        snprintf(text, bytes, "%s (fake)", fi_strerror(error));
    return text && bytes ? text : fi_strerror(error);
}

// ---- waiting ----

static bool queue_can_sleep(const fake_cq_t *queue)
{
    bool pending = queue->head || queue->error_head;
    for (size_t i = 0; i < queue->endpoint_count; i++)
        pending |= fake_out_pending(queue->endpoints[i]) || queue->endpoints[i]->arrived;
    return !pending;
}

int fake_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    int error = 0;
    (void)fabric;
    pthread_mutex_lock(&fake_lock);
    for (int i = 0; i < count && !error; i++)
        if (fids[i]->fclass != FI_CLASS_CQ)
            error = -FI_EINVAL;
        else if (!queue_can_sleep((fake_cq_t *)fids[i]))
            error = -FI_EAGAIN;
    pthread_mutex_unlock(&fake_lock);
    return error;
}

static int cq_control(struct fid *fid, int command, void *argument)
{
    const fake_cq_t *queue = (fake_cq_t *)fid;
    if (command != FI_GETWAIT || !queue->can_wait)
        return -FI_ENOSYS;
    *(int *)argument = queue->wait_fd;
    return 0;
}

static int cq_signal(struct fid_cq *fid)
{
    pthread_mutex_lock(&fake_lock);
    event_raise((fake_cq_t *)fid);
    pthread_mutex_unlock(&fake_lock);
    return 0;
}

// ---- opening and closing ----

static int wait_open(fake_cq_t *queue)
{
    struct epoll_event event = {.events = EPOLLIN};
    queue->wait_fd = epoll_create1(EPOLL_CLOEXEC);
    queue->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (queue->wait_fd < 0 || queue->event_fd < 0)
        return -errno;
    queue->can_wait = true;
    return epoll_ctl(queue->wait_fd, EPOLL_CTL_ADD, queue->event_fd, &event) ? -errno : 0;
}

static void list_free(fake_completion_t *head)
{
    while (head) {
        fake_completion_t *next = head->next;
        free(head);
        head = next;
    }
}

static int cq_close(struct fid *fid)
{
    fake_cq_t *queue = (fake_cq_t *)fid;
    if (queue->endpoint_count)
        return -FI_EBUSY;
    if (queue->can_wait) {
        close(queue->wait_fd);
        close(queue->event_fd);
    }
    list_free(queue->head);
    list_free(queue->error_head);
    pthread_mutex_lock(&fake_lock);
    queue->domain->users--;
    pthread_mutex_unlock(&fake_lock);
    free(queue);
    return 0;
}

static int cq_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
    (void)fid, (void)to, (void)flags;
    return -FI_ENOSYS;
}

static struct fi_ops cq_fid_ops = {
    .size = sizeof cq_fid_ops, .close = cq_close, .bind = cq_bind, .control = cq_control};
static struct fi_ops_cq cq_ops = {
    .size = sizeof cq_ops,
    .read = cq_read,
    .readfrom = cq_read_from,
    .readerr = cq_read_error,
    .sread = cq_wait,
    .sreadfrom = cq_wait_from,
    .signal = cq_signal,
    .strerror = cq_error_text,
};

static bool wait_is_offered(enum fi_wait_obj wait)
{
    if (wait == FI_WAIT_FD)
        return !fake_word(WORD_NO_WAIT_FD);
    return wait == FI_WAIT_NONE || (wait == FI_WAIT_UNSPEC && !fake_word(WORD_NO_WAIT_FD));
}

int fake_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **out,
                 void *context)
{
    if (!wait_is_offered(attr->wait_obj))
        return -FI_ENOSYS;
    fake_cq_t *queue = fake_alloc(sizeof *queue);
    queue->fid.fid = (struct fid){FI_CLASS_CQ, context, &cq_fid_ops};
    queue->fid.ops = &cq_ops;
    queue->format = attr->format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_CONTEXT : attr->format;
    queue->tail = &queue->head;
    queue->error_tail = &queue->error_head;
    queue->domain = (fake_domain_t *)domain;
    const int error = attr->wait_obj == FI_WAIT_NONE ? 0 : wait_open(queue);
    if (error) {
        free(queue);
        return error;
    }
    pthread_mutex_lock(&fake_lock);
    queue->domain->users++;
    pthread_mutex_unlock(&fake_lock);
    *out = &queue->fid;
    return 0;
}
