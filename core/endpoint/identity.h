// SPDX-License-Identifier: BSD-3-Clause
// Identities: secrets that a subset of the job's endpoints shares (gasnetx_EP_Create).
//
//     sender, identity K                                receiver, identity K
//     tag = SipHash-2-4(K, both ranks and endpoints)    computes the same tag, and compares
//     message [header, tag, ...] ---------------------> right: handler runs; else dropped, counted
//
// - The identity itself never travels. A tag is valid from one endpoint to one other, in one
//   direction: an attacker without the identity can only repeat a tag that it has seen, between the
//   same two endpoints. The conduits authenticate messages (GASNET_UDP_AUTH ...); tags do not
//   replace that, since they do not cover the message.
// - A tag is computed once for each pair of endpoints, then read from a table.
// - An endpoint without an identity sends no tag and accepts no message with one.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../aqueduct.h"
#include "../ground/ep_pair.h"

// Whether a message that has arrived proves an identity.
typedef enum aq_tag {
    AQ_TAG_NONE,  // it has no tag
    AQ_TAG_WRONG, // its tag is not that of the endpoint, which may have no identity
    AQ_TAG_RIGHT
} aq_tag_t;

typedef struct aq_identity aq_identity_t;

// Whether an endpoint of this process has, or once had, an identity: spares other processes the
// search for one.
extern atomic_bool aq_identity_any;

// Gives an endpoint of this process an identity from now on, and forgets the tags of an earlier
// one; secret NULL: it has none. *out is the identity, or NULL, and lives as long as the process: a
// later endpoint with this index uses it again. Returns false if memory is out.
bool aq_identity_set(gex_EP_Index_t ep, const gasnetx_identity_t *secret, aq_identity_t **out);

// Whether messages between these endpoints carry a tag: the endpoint of this process that sends
// them has an identity.
bool aq_identity_sends(aq_ep_pair_t pair);

// Returns the tag of messages from an endpoint of this process, which has an identity, to an
// endpoint of a job rank. Any thread; does not block.
uint64_t aq_identity_tag(aq_ep_pair_t pair, uint32_t jobrank);

// Whether the tag proves that the sender, endpoint pair.from of a job rank, has the identity of
// endpoint pair.to of this process. Any thread; does not block.
bool aq_identity_proven(aq_identity_t *identity, aq_ep_pair_t pair, uint32_t jobrank, uint64_t tag);

// Returns a number that only an owner of the identity can compute, and all of them can: the proof
// that endpoint ep of a job rank has it. Any thread; does not block.
uint64_t aq_identity_proof(const aq_identity_t *identity, gex_EP_Index_t ep, uint32_t jobrank);

// Counts a dropped message or refused operation for endpoint pair.to of this process. One line on
// standard error tells when there have been 1,000 in this process.
void aq_identity_drop(aq_ep_pair_t pair, uint32_t jobrank) __attribute__((cold));
