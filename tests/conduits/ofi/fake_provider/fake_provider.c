// SPDX-License-Identifier: BSD-3-Clause
// The fake provider of libfabric: a provider for tests, between processes of one host. libfabric
// loads it when FI_PROVIDER_PATH names the folder with libfake-fi.so. Its endpoints are FI_EP_RDM,
// and it makes progress when the application reads a completion queue.
//
// What it can do, and how it fails, is said by FAKE_OFI, a list of words with commas:
//
//     no-rma no-atomic no-multi no-source   without this capability
//     no-delivery         refuses FI_DELIVERY_COMPLETE
//     no-fetch-delivery   refuses it for atomics with a result
//     no-wait-fd          a completion queue has no descriptor to wait for
//     no-selective        refuses FI_SELECTIVE_COMPLETION
//     mr-local            demands FI_MR_LOCAL, and a descriptor that covers each buffer
//     mr-virt             demands FI_MR_VIRT_ADDR; without it, remote addresses are offsets
//     mr-allocated mr-prov-key mr-endpoint  demand these modes
//     mr-once             a region that overlaps another one ends the process
//     mr-most=N           so do regions for peers of more than N bytes together (1 MiB)
//     mr-full=N           refuses such regions above N bytes together with -FI_ENOMEM (0)
//     context context2    demand FI_CONTEXT, FI_CONTEXT2, and write into the contexts in use
//     av-map av-table     only this type of address vector
//     auto                a thread makes progress
//     inject=N            injects N bytes (default 128)
//     depth=N posts=N     operations in flight, receives posted: above, -FI_EAGAIN (256, 1024)
//     message=N           bytes of the longest message or RMA
//     again=P             refuses P percent of all calls with -FI_EAGAIN (bare word: 30)
//     seed=N              another sequence of random decisions (default 1)
//     reorder             operations of one initiator may overtake each other at the target; a
//                         write without FI_DELIVERY_COMPLETE may be complete before it is visible
//     late                moves bytes only when a completion queue is read
//     strict              a message for which no receive is posted ends the process
//     apart               FI_MULTI_RECV comes in a completion of its own
//     lie-rma             offers FI_RMA, and all writes complete with FI_EOPNOTSUPP
//     lie-inject          offers injects, which fail with -FI_EINVAL
//     lie-multi           offers FI_MULTI_RECV, and such receives fail with -FI_EOPNOTSUPP
//     lost=K              after K operations to a peer, each one completes with FI_ECONNRESET
//     as=NAME             the attributes of efa, cxi, psm2 or opx, and their name; other words of
//                         the list change these attributes
//
// What the application may not do ends the process with a sentence: a descriptor that does not
// cover the buffer, a region that it closes while an operation uses the descriptor, a context that
// it changed, an unknown word.
#include "fake_provider.h"

#include <rdma/providers/fi_prov.h>
#include <stdlib.h>

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

// ---- domains ----

static int domain_close(struct fid *fid)
{
    fake_domain_t *domain = (fake_domain_t *)fid;
    pthread_mutex_lock(&fake_lock);
    const size_t users = domain->users;
    pthread_mutex_unlock(&fake_lock);
    if (users)
        return -FI_EBUSY;
    free(domain);
    return 0;
}

static int object_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
    (void)fid, (void)to, (void)flags;
    return -FI_ENOSYS;
}

static int domain_query_atomic(struct fid_domain *domain, enum fi_datatype datatype,
                               enum fi_op operation, struct fi_atomic_attr *attr, uint64_t flags)
{
    (void)domain;
    const fake_kind_t kind = flags & FI_COMPARE_ATOMIC ? FAKE_COMPARE
                             : flags & FI_FETCH_ATOMIC ? FAKE_FETCH
                                                       : FAKE_ATOMIC;
    const size_t bytes = fake_datatype_bytes(datatype);
    if (fake_word(WORD_NO_ATOMIC) || !bytes || !fake_operation_is_known(kind, operation))
        return -FI_EOPNOTSUPP;
    attr->size = bytes;
    attr->count = 4096 / bytes;
    return 0;
}

static int counter_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
                        struct fid_cntr **counter, void *context)
{
    (void)domain, (void)attr, (void)counter, (void)context;
    return -FI_ENOSYS;
}

static struct fi_ops domain_fid_ops = {
    .size = sizeof domain_fid_ops, .close = domain_close, .bind = object_bind};
static struct fi_ops_domain domain_ops = {
    .size = sizeof domain_ops,
    .av_open = fake_av_open,
    .cq_open = fake_cq_open,
    .endpoint = fake_endpoint_open,
    .cntr_open = counter_open,
    .query_atomic = domain_query_atomic,
};

static int domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **out,
                       void *context)
{
    (void)fabric, (void)info;
    fake_domain_t *domain = fake_alloc(sizeof *domain);
    domain->fid.fid = (struct fid){FI_CLASS_DOMAIN, context, &domain_fid_ops};
    domain->fid.ops = &domain_ops;
    domain->fid.mr = &fake_mr_ops;
    *out = &domain->fid;
    return 0;
}

// ---- fabrics ----

static int fabric_close(struct fid *fid)
{
    free(fid);
    return 0;
}

static int event_queue_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
                            void *context)
{
    (void)fabric, (void)attr, (void)eq, (void)context;
    return -FI_ENOSYS;
}

static struct fi_ops fabric_fid_ops = {
    .size = sizeof fabric_fid_ops, .close = fabric_close, .bind = object_bind};
static struct fi_ops_fabric fabric_ops = {
    .size = sizeof fabric_ops,
    .domain = domain_open,
    .eq_open = event_queue_open,
    .trywait = fake_trywait,
};

static int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
    struct fid_fabric *fabric = fake_alloc(sizeof *fabric);
    fabric->fid = (struct fid){FI_CLASS_FABRIC, context, &fabric_fid_ops};
    fabric->ops = &fabric_ops;
    fabric->api_version = attr->api_version;
    *out = fabric;
    return 0;
}

// ---- the provider ----

static void provider_cleanup(void) {}

// Of two providers with one name libfabric takes the newer one, so that as=psm2 replaces the psm2
// that libfabric has itself.
static struct fi_provider provider = {
    .version = FI_VERSION(999, 0),
    .fi_version = FI_VERSION(1, 17),
    .getinfo = fake_getinfo,
    .fabric = fabric_open,
    .cleanup = provider_cleanup,
};

__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void);

struct fi_provider *fi_prov_ini(void)
{
    fake_words_read();
    provider.name = fake_preset()->name;
    return &provider;
}
