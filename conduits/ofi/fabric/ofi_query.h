// SPDX-License-Identifier: BSD-3-Clause
// Questions to libfabric: which providers there are, and what one of them can do.
//
// What is always true: variables FI_* are libfabric's; nothing here reads or sets them.
#pragma once

#include <rdma/fabric.h>
#include <stdbool.h>

// Everything that the conduit can use. Returns 0, or a negative error of libfabric; *out is then
// NULL. The first call in a process loads providers and takes about 0.1 s. The caller frees *out.
int ofi_query_usable(struct fi_info **out);

// Everything that there is, to say why the rest cannot be used. NULL: nothing, or no memory. The
// caller frees it.
struct fi_info *ofi_query_all(void);

// Whether the conduit gives the provider receive buffers for several messages each. Not if it is
// software: such ones of libfabric 1.17 release a buffer while a long message of another peer still
// arrives in it.
bool ofi_query_multi(const struct fi_info *info);

// The same provider, domain and address with as many of the optional capabilities FI_RMA, FI_ATOMIC
// and FI_MULTI_RECV as it has, and for `receives` buffers that are posted, if it takes so many; at
// least a copy of `chosen`. NULL: no memory. The caller frees it.
struct fi_info *ofi_query_capable(const struct fi_info *chosen, size_t receives);

// Whether the provider accepts FI_DELIVERY_COMPLETE for operations.
bool ofi_query_delivers(const struct fi_info *chosen);
