// SPDX-License-Identifier: BSD-3-Clause
// The choice of a provider: which of those that libfabric finds on this host carries the messages,
// and what the conduit may use of it.
//
// What is always true:
// - The order depends on the list of libfabric and on the settings only, so that equal hosts choose
//   alike.
// - Variables FI_* are libfabric's; nothing here reads or sets them.
#pragma once

#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>

#include "../../../other/base/log/status.h"
#include "ofi_rank.h"

// What the chosen provider can do, and what it asks for. Constant after the choice.
typedef struct ofi_traits {
    bool rma;               // writes and reads memory of peers
    bool atomics;           // on 8 bytes: add, fetch-and-add, compare-and-swap
    bool delivery_complete; // a write that is complete is in the memory of the target
    bool multi_receive;     // several messages go into one receive buffer (ofi_query_multi)
    bool in_software;       // processors move the data, a system call or copy for each operation
    bool mr_local;          // buffers have to be registered, and operations name the descriptor
    bool mr_virt_addr;      // remote addresses are those of the target, not offsets
    bool mr_allocated;      // only memory that exists can be registered
    bool mr_prov_key;       // the provider chooses the keys of regions
    bool mr_endpoint;       // a region is bound to the endpoint, and enabled
    size_t inject_most;     // bytes that travel without a buffer of ours
    size_t message_most;    // bytes of one message
    size_t sends_most;      // operations that may be under way
    size_t receives_most;   // receive buffers that may be posted
} ofi_traits_t;

// Where the ranks of a job are.
typedef struct ofi_job {
    bool single_host; // all on this host, which then communicate over its loopback or hardware
    const char *peer; // numeric address of some other host of the job; "": not known
    size_t receives;  // buffers that each process wants to post
} ofi_job_t;

// Finds the provider for a job. On AQ_OK *out is an fi_info that the caller frees with fi_freeinfo.
// AQ_ERR_ABSENT: no provider is fit; errbuf says what was found, and the remedy. May block for a
// moment; logs nothing. One thread at a time.
aq_status_t ofi_choice_make(const ofi_job_t *job, struct fi_info **out, char *errbuf,
                            size_t errbuf_size);

// Usable of aq_conduit_ops_t: whether there is a provider for some job. What libfabric has found is
// kept for ofi_choice_make.
bool ofi_usable(char *errbuf, size_t errbuf_size);

// Print_info of aq_conduit_ops_t (ofi_info.c).
void ofi_info_print(void (*print)(void *arg, const char *label, const char *text), void *arg);

// What the settings and the routes of this host say about a job. The strings live as the settings.
ofi_criteria_t ofi_criteria_of(const ofi_job_t *job);

// What the conduit may use of a provider that it chose. May ask libfabric.
void ofi_traits_read(const struct fi_info *info, ofi_traits_t *out);
