// SPDX-License-Identifier: BSD-3-Clause
// ofi_stranger PROVIDER HOST PORT BYTES COUNT: a program without the key of a job sends messages of
// so many bytes to the endpoint of a rank. Prints how many the provider has sent; ends with 0 if
// all.
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct stranger {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *addresses;
    struct fid_cq *queue;
    struct fid_ep *endpoint;
    fi_addr_t rank;
} stranger_t;

static void need(int error, const char *what)
{
    if (error == 0)
        return;
    printf("%s: %s\n", what, fi_strerror(abs(error)));
    exit(1);
}

static void find(stranger_t *self, const char *provider, const char *host, const char *port)
{
    struct fi_info *hints = fi_allocinfo();
    if (hints == NULL)
        exit(1);
    hints->caps = FI_MSG;
    hints->mode = FI_CONTEXT;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = strdup(provider);
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    need(fi_getinfo(FI_VERSION(1, 14), host, port, 0, hints, &self->info), "fi_getinfo");
    fi_freeinfo(hints);
}

static void open_endpoint(stranger_t *self)
{
    struct fi_av_attr addresses = {.type = FI_AV_TABLE};
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_CONTEXT, .size = 256};
    need(fi_fabric(self->info->fabric_attr, &self->fabric, NULL), "fi_fabric");
    need(fi_domain(self->fabric, self->info, &self->domain, NULL), "fi_domain");
    need(fi_av_open(self->domain, &addresses, &self->addresses, NULL), "fi_av_open");
    need(fi_cq_open(self->domain, &queue, &self->queue, NULL), "fi_cq_open");
    need(fi_endpoint(self->domain, self->info, &self->endpoint, NULL), "fi_endpoint");
    need(fi_ep_bind(self->endpoint, &self->addresses->fid, 0), "fi_ep_bind");
    need(fi_ep_bind(self->endpoint, &self->queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    need(fi_enable(self->endpoint), "fi_enable");
    need(fi_av_insert(self->addresses, self->info->dest_addr, 1, &self->rank, 0, NULL) != 1,
         "fi_av_insert");
}

// Sends, and waits until the provider is done with the message. Returns whether it was sent.
static int send_one(stranger_t *self, const char *message, size_t bytes)
{
    struct fi_context context;
    struct fi_cq_entry entry;
    struct fi_cq_err_entry failed = {0};
    ssize_t result;
    while ((result = fi_send(self->endpoint, message, bytes, NULL, self->rank, &context)) ==
           -FI_EAGAIN)
        (void)fi_cq_read(self->queue, NULL, 0);
    need((int)result, "fi_send");
    while ((result = fi_cq_read(self->queue, &entry, 1)) == -FI_EAGAIN)
        continue;
    if (result == -FI_EAVAIL)
        (void)fi_cq_readerr(self->queue, &failed, 0);
    return result == 1;
}

int main(int argc, char **argv)
{
    stranger_t self = {0};
    if (argc != 6)
        return 2;
    const size_t bytes = strtoull(argv[4], NULL, 10);
    const int count = atoi(argv[5]);
    char *message = calloc(1, bytes + 1);
    int sent = 0;
    if (message == NULL)
        return 1;
    find(&self, argv[1], argv[2], argv[3]);
    open_endpoint(&self);
    for (int i = 0; i < count; i++)
        sent += send_one(&self, message, bytes);
    printf("%d of %d messages of %zu bytes were sent\n", sent, count, bytes);
    return sent != count;
}
