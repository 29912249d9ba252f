// SPDX-License-Identifier: BSD-3-Clause
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fake_provider_pair.h"

#include <poll.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    NAME_BYTES = 64,
    LEAST_MULTI = 4096,
};

typedef struct pair_card {
    char name[NAME_BYTES];
    uint64_t address, key;
} pair_card_t;

void pair_die(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "fake_provider_check: %s\n", text);
    _exit(1);
}

void pair_must(int64_t result, const char *what)
{
    if (result != 0)
        pair_die("%s: %s", what, fi_strerror((int)-result));
}

// ---- opening ----

static struct fi_info *info_get(uint64_t caps, bool delivery)
{
    struct fi_info *hints = fi_allocinfo(), *info = NULL;
    hints->caps = caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
    hints->tx_attr->op_flags = delivery ? FI_DELIVERY_COMPLETE : 0;
    const char *as = getenv("FAKE_OFI") ? strstr(getenv("FAKE_OFI"), "as=") : NULL;
    char *name = as ? strndup(as + 3, strcspn(as + 3, ",")) : strdup("fake");
    hints->fabric_attr->prov_name = name;
    fi_getinfo(FI_VERSION(1, 11), NULL, NULL, 0, hints, &info);
    fi_freeinfo(hints);
    return info;
}

static void queue_open(pair_t *pair)
{
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD, .size = 1024};
    pair->wait_fd = -1;
    if (fi_cq_open(pair->domain, &attr, &pair->queue, NULL) == 0) {
        pair_must(fi_control(&pair->queue->fid, FI_GETWAIT, &pair->wait_fd), "FI_GETWAIT");
        return;
    }
    attr.wait_obj = FI_WAIT_NONE;
    pair_must(fi_cq_open(pair->domain, &attr, &pair->queue, NULL), "fi_cq_open");
}

static void endpoint_open(pair_t *pair)
{
    const size_t least = LEAST_MULTI;
    struct fi_av_attr attr = {.type = pair->info->domain_attr->av_type};
    pair_must(fi_fabric(pair->info->fabric_attr, &pair->fabric, NULL), "fi_fabric");
    pair_must(fi_domain(pair->fabric, pair->info, &pair->domain, NULL), "fi_domain");
    pair_must(fi_av_open(pair->domain, &attr, &pair->av, NULL), "fi_av_open");
    queue_open(pair);
    pair_must(fi_endpoint(pair->domain, pair->info, &pair->endpoint, NULL), "fi_endpoint");
    pair_must(fi_ep_bind(pair->endpoint, &pair->av->fid, 0), "fi_ep_bind");
    pair_must(fi_ep_bind(pair->endpoint, &pair->queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    pair_must(fi_enable(pair->endpoint), "fi_enable");
    pair->multi = pair->info->caps & FI_MULTI_RECV;
    if (pair->multi)
        pair_must(fi_setopt(&pair->endpoint->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least,
                            sizeof least),
                  "fi_setopt");
}

static struct fid_mr *region_register(pair_t *pair, void *memory, size_t bytes, uint64_t key)
{
    struct fid_mr *region;
    const uint64_t access =
        FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    pair_must(fi_mr_reg(pair->domain, memory, bytes, access, 0, key, 0, &region, NULL),
              "fi_mr_reg");
    if (pair->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
        pair_must(fi_mr_bind(region, &pair->endpoint->fid, 0), "fi_mr_bind");
        pair_must(fi_mr_enable(region), "fi_mr_enable");
    }
    return region;
}

static void memory_open(pair_t *pair)
{
    pair->region = calloc(1, PAIR_REGION_BYTES);
    pair->receives = calloc(PAIR_RECEIVES, PAIR_RECEIVE_BYTES);
    pair->region_mr = region_register(pair, pair->region, PAIR_REGION_BYTES, 7);
    pair->receive_mr =
        region_register(pair, pair->receives, (size_t)PAIR_RECEIVES * PAIR_RECEIVE_BYTES, 8);
}

static void link_exchange(const pair_t *pair, const void *mine, void *other, size_t bytes)
{
    if (send(pair->link, mine, bytes, 0) != (ssize_t)bytes ||
        recv(pair->link, other, bytes, MSG_WAITALL) != (ssize_t)bytes)
        pair_die("the other process has ended");
}

static void cards_exchange(pair_t *pair)
{
    pair_card_t cards[2];
    pair_card_t *mine = &cards[pair->rank];
    size_t bytes = NAME_BYTES;
    const bool virt = pair->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
    memset(cards, 0, sizeof cards);
    pair_must(fi_getname(&pair->endpoint->fid, mine->name, &bytes), "fi_getname");
    mine->address = virt ? (uintptr_t)pair->region : 0;
    mine->key = fi_mr_key(pair->region_mr);
    link_exchange(pair, mine, &cards[!pair->rank], sizeof *mine);
    for (int i = 0; i < 2; i++) {
        if (fi_av_insert(pair->av, cards[i].name, 1, &pair->to[i], 0, NULL) != 1)
            pair_die("fi_av_insert refuses the name of rank %d", i);
        pair->address[i] = cards[i].address;
        pair->key[i] = cards[i].key;
    }
}

bool pair_open(pair_t *pair, int rank, int link, uint64_t caps, bool delivery)
{
    memset(pair, 0, sizeof *pair);
    pair->rank = rank;
    pair->link = link;
    pair->delivery = delivery;
    pair->info = info_get(caps, delivery);
    if (!pair->info)
        return false;
    endpoint_open(pair);
    memory_open(pair);
    cards_exchange(pair);
    return true;
}

void pair_close(pair_t *pair)
{
    pair_must(fi_close(&pair->region_mr->fid), "fi_close of a region");
    pair_must(fi_close(&pair->receive_mr->fid), "fi_close of a region");
    pair_must(fi_close(&pair->endpoint->fid), "fi_close of the endpoint");
    pair_must(fi_close(&pair->queue->fid), "fi_close of the queue");
    pair_must(fi_close(&pair->av->fid), "fi_close of the address vector");
    pair_must(fi_close(&pair->domain->fid), "fi_close of the domain");
    pair_must(fi_close(&pair->fabric->fid), "fi_close of the fabric");
    fi_freeinfo(pair->info);
    free(pair->region);
    free(pair->receives);
}

void *pair_desc(const pair_t *pair)
{
    return fi_mr_desc(pair->region_mr);
}

// ---- receives ----

static char *receive_memory(const pair_t *pair, unsigned i)
{
    return pair->receives + (size_t)i * PAIR_RECEIVE_BYTES;
}

static int receive_post(pair_t *pair, unsigned i)
{
    void *desc = fi_mr_desc(pair->receive_mr);
    const size_t bytes = (size_t)PAIR_RECEIVE_BYTES * (pair->multi ? PAIR_RECEIVES / 2 : 1);
    struct iovec iov = {receive_memory(pair, i * (pair->multi ? PAIR_RECEIVES / 2 : 1)), bytes};
    pair_context_t *context = &pair->contexts[i];
    context->receive = i + 1;
    const struct fi_msg msg = {&iov, &desc, 1, FI_ADDR_UNSPEC, context, 0};
    ssize_t result;
    while ((result = fi_recvmsg(pair->endpoint, &msg, pair->multi ? FI_MULTI_RECV : 0)) ==
           -FI_EAGAIN)
        if (pair->info->rx_attr->size <= i)
            break;
    return (int)result;
}

int pair_post(pair_t *pair)
{
    const unsigned count = pair->multi ? 2 : PAIR_RECEIVES;
    for (unsigned i = 0; i < count && i < pair->info->rx_attr->size; i++) {
        const int result = receive_post(pair, i);
        if (result)
            return result;
    }
    return 0;
}

static void receive_take(pair_t *pair, const struct fi_cq_data_entry *entry)
{
    const pair_context_t *context = entry->op_context;
    const unsigned i = context->receive - 1;
    const char *bytes = pair->multi ? entry->buf : receive_memory(pair, i);
    if (entry->flags & FI_RECV) {
        pair->messages++;
        if (pair->message)
            pair->message(pair, bytes, entry->len);
    }
    if (!pair->multi || entry->flags & FI_MULTI_RECV)
        pair_must(receive_post(pair, i), "a receive posted again");
}

// ---- completions ----

static void error_take(pair_t *pair)
{
    struct fi_cq_err_entry error = {0};
    if (fi_cq_readerr(pair->queue, &error, 0) != 1)
        pair_die("fi_cq_readerr has no entry after -FI_EAVAIL");
    pair_context_t *context = error.op_context;
    if (!context || context->receive)
        pair_die("a completion has an error: %s", fi_strerror(error.err));
    context->done = true;
    context->error = error.err;
}

static void queue_sleep(pair_t *pair)
{
    struct fid *fids[1] = {&pair->queue->fid};
    if (pair->wait_fd < 0 || fi_trywait(pair->fabric, fids, 1) != 0)
        return;
    struct pollfd wait[2] = {{.fd = pair->wait_fd, .events = POLLIN},
                             {.fd = pair->link, .events = POLLIN}};
    poll(wait, 2, 20);
}

bool pair_progress(pair_t *pair)
{
    struct fi_cq_data_entry entries[8];
    const ssize_t got = fi_cq_read(pair->queue, entries, 8);
    for (ssize_t i = 0; i < got; i++) {
        pair_context_t *context = entries[i].op_context;
        if (context->receive)
            receive_take(pair, &entries[i]);
        else
            context->done = true;
    }
    if (got == -FI_EAVAIL)
        error_take(pair);
    else if (got < 0 && got != -FI_EAGAIN)
        pair_must(got, "fi_cq_read");
    return got != -FI_EAGAIN;
}

void pair_poll(pair_t *pair)
{
    if (!pair_progress(pair))
        queue_sleep(pair);
}

void pair_wait(pair_t *pair, const pair_context_t *context)
{
    while (!context->done)
        pair_poll(pair);
}

void pair_barrier(pair_t *pair)
{
    char byte = 0;
    if (send(pair->link, &byte, 1, MSG_NOSIGNAL) != 1)
        pair_die("the other process has ended");
    while (recv(pair->link, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0)
        pair_poll(pair);
    if (recv(pair->link, &byte, 1, 0) != 1)
        pair_die("the other process has ended");
}
