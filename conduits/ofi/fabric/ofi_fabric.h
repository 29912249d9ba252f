// SPDX-License-Identifier: BSD-3-Clause
// The objects of libfabric that a process has: fabric, domain, address vector, completion queue and
// one endpoint, which sends and receives everything.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "ofi_choice.h"

enum { OFI_NAME_MAX = 128 }; // bytes of the address of an endpoint

typedef struct ofi_fabric {
    struct fi_info *info;
    ofi_traits_t traits;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *addresses;
    struct fid_cq *queue;
    struct fid_ep *endpoint;
    int queue_fd;      // a descriptor to sleep on; -1: there is none
    uint64_t next_key; // of a region, where the conduit chooses
    size_t name_bytes;
    char name[OFI_NAME_MAX]; // of the endpoint: its address, for peers
} ofi_fabric_t;

// Logs that a call of libfabric failed. error: as the call returned it, negative. Returns
// AQ_ERR_RESOURCE.
aq_status_t ofi_fabric_error(const ofi_fabric_t *fabric, const char *call, int error);

// Opens everything for a choice, which the fabric owns from now on. completions: how many
// operations may be under way. least_receive: see FI_OPT_MIN_MULTI_RECV. descriptor: whether to ask
// for one to sleep on. May block; logs faults.
aq_status_t ofi_fabric_open(ofi_fabric_t *fabric, struct fi_info *info, size_t completions,
                            size_t least_receive, bool descriptor);

// Registers memory of this process for FI_SEND, FI_RECV, FI_READ, FI_WRITE, FI_REMOTE_READ and
// FI_REMOTE_WRITE as `access` says. Returns what libfabric returned: 0, or a negative error.
int ofi_fabric_register(ofi_fabric_t *fabric, const void *memory, size_t bytes, uint64_t access,
                        struct fid_mr **out);

// The descriptor of registered memory for operations; NULL if the provider needs none.
static inline void *ofi_descriptor(struct fid_mr *region)
{
    return region ? fi_mr_desc(region) : NULL;
}

// Whether a provider that offers injections refused one because it does not do them: from then on
// traits.inject_most is 0. error: a negative one of libfabric.
bool ofi_fabric_injects_no_more(ofi_fabric_t *fabric, int error);
