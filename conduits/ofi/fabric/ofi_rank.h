// SPDX-License-Identifier: BSD-3-Clause
// The order of providers: pure functions over lists of fi_info, which unit tests build by hand.
//
// What is always true:
// - Nothing here calls libfabric or reads the environment: equal lists and criteria give equal
//   orders.
// - A provider that moves data by hardware precedes those in software. What reaches this host only
//   is for jobs on one host. Providers for debugging and unknown ones are never chosen before
//   others that can be used.
#pragma once

#include <netinet/in.h>
#include <rdma/fabric.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "../../../other/base/system/sockaddr.h"

enum {
    OFI_WHY_BYTES = 200,
    OFI_MESSAGE_MIN = 1024, // bytes of a message that a provider has to take
    // Modes of registration that the conduit has.
    OFI_MR_MODES =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT,
    // FI_MR_BASIC and FI_MR_SCALABLE, as numbers: libfabric 2 has the compiler warn of the names.
    OFI_MR_OLD_MODES = 3,
};

// Modes that the conduit has.
#define OFI_MODES (FI_CONTEXT | FI_CONTEXT2)

typedef union ofi_sockaddr {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} ofi_sockaddr_t;

// What decides the order, besides the lists. Strings belong to the caller.
typedef struct ofi_criteria {
    const char *provider; // GASNET_OFI_PROVIDER; "": any
    const char *domain;   // GASNET_OFI_DOMAIN; "": any
    bool single_host;     // all ranks are on this host
    // The address of this host on the way to the others; family AF_UNSPEC: not known.
    aq_sockaddr_t route;
    bool peer_known; // the route leads to another host of the job, and is not only the default one
} ofi_criteria_t;

typedef enum ofi_verdict {
    OFI_FIRST,  // is used
    OFI_LATER,  // could be used
    OFI_BARRED, // works, but not in this job, or the user excludes it
    OFI_UNFIT,  // lacks what the conduit needs
} ofi_verdict_t;

typedef struct ofi_entry {
    const struct fi_info *info; // of one of the lists
    uint32_t score;             // a lower one precedes
    ofi_verdict_t verdict;
    char why[OFI_WHY_BYTES]; // completes "used: ..." or "not used: ..."
} ofi_entry_t;

typedef struct ofi_ranking {
    ofi_entry_t *entries; // in order; libfabric's repetitions are left out
    size_t count;
} ofi_ranking_t;

// Ranks what libfabric finds. usable: with the hints of the conduit; all: with wide hints, to say
// why the others cannot be used; both may be NULL, and the ranking refers to them. False: no
// memory. The caller ends the ranking with ofi_ranking_free.
bool ofi_ranking_make(ofi_ranking_t *out, const struct fi_info *usable, const struct fi_info *all,
                      const ofi_criteria_t *criteria);
void ofi_ranking_free(ofi_ranking_t *ranking);

// Whether a provider moves the data by processors: each operation is a system call or a copy.
bool ofi_is_software(const char *provider);

// Whether a provider, or a domain and its address, is the one that the user names. The name of a
// provider may have ':' for ';', and may be its first part only ("tcp" for "tcp;ofi_rxm"). A domain
// may also be named by the fabric or the address that gasnet_info prints.
bool ofi_provider_is(const char *provider, const char *name);
bool ofi_domain_is(const struct fi_info *info, const char *name);

// Whether two entries differ in capabilities and formats at most.
bool ofi_infos_same(const struct fi_info *a, const struct fi_info *b);

// The address of an IP provider as text, or "".
void ofi_address_text(const struct fi_info *info, char text[INET6_ADDRSTRLEN]);
