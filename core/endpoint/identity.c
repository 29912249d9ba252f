// SPDX-License-Identifier: BSD-3-Clause
// Computes the tags of endpoints with an identity, and keeps them. am_header.c adds a tag to each
// message that such an endpoint sends, and checks the tag of each arrival.
#include "identity.h"

#include <endian.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "../record/counters.h"
#include "../ground/fatal.h"
#include "../state/job.h"

enum { NOBODY = UINT16_MAX }; // no endpoint has this index
enum { DROPPED_TOLD = 1000 }; // dropped messages after which one line is logged

_Static_assert(sizeof(gasnetx_identity_t) == crypto_shorthash_siphash24_KEYBYTES,
               "an identity is the key of its tags");
_Static_assert(sizeof(uint64_t) == crypto_shorthash_siphash24_BYTES, "a tag is one number");

// The tags from or to one endpoint of each rank; 0: not computed yet.
typedef _Atomic uint64_t tag_row_t;

// A tag is written into a row with the lock held, and so is the secret: what other threads read
// there belongs to the current secret.
struct aq_identity {
    gasnetx_identity_t secret;
    _Atomic(tag_row_t *) sent[GASNET_MAXEPS], received[GASNET_MAXEPS]; // by the peer's endpoint
};

atomic_bool aq_identity_any;
static _Atomic(aq_identity_t *) identities[GASNET_MAXEPS]; // of the endpoints of this process
static aq_lock_t identity_lock;

// What a tag proves, as it is hashed.
typedef struct tagged_pair {
    uint32_t from_rank, to_rank;
    uint16_t from, to; // endpoints
} tagged_pair_t;

static uint64_t tag_compute(const aq_identity_t *identity, aq_ep_pair_t pair, uint32_t from_rank,
                            uint32_t to_rank)
{
    const tagged_pair_t both = {.from_rank = htole32(from_rank),
                                .to_rank = htole32(to_rank),
                                .from = htole16(pair.from),
                                .to = htole16(pair.to)};
    uint64_t tag;
    crypto_shorthash_siphash24((uint8_t *)&tag, (const uint8_t *)&both, sizeof both,
                               identity->secret.bytes);
    return le64toh(tag);
}

static void rows_clear(_Atomic(tag_row_t *) rows[GASNET_MAXEPS])
{
    for (unsigned i = 0; i < GASNET_MAXEPS; i++)
        for (uint32_t r = 0; rows[i] && r < aq_job.size; r++)
            atomic_store_explicit(&rows[i][r], 0, memory_order_relaxed);
}

static void identity_renew(aq_identity_t *identity, const gasnetx_identity_t *secret)
{
    aq_lock_take(&identity_lock);
    identity->secret = *secret;
    rows_clear(identity->sent);
    rows_clear(identity->received);
    aq_lock_drop(&identity_lock);
}

bool aq_identity_set(gex_EP_Index_t ep, const gasnetx_identity_t *secret, aq_identity_t **out)
{
    static aq_identity_t *all[GASNET_MAXEPS]; // a late message may still read the earlier one
    *out = NULL;
    if (secret) {
        if (sodium_init() < 0 || (!all[ep] && !(all[ep] = calloc(1, sizeof *all[ep]))))
            return false;
        identity_renew(all[ep], secret);
        *out = all[ep];
    }
    atomic_store_explicit(&identities[ep], *out, memory_order_release);
    if (secret)
        atomic_store_explicit(&aq_identity_any, true, memory_order_release);
    return true;
}

static aq_identity_t *identity_of(gex_EP_Index_t ep)
{
    return atomic_load_explicit(&identities[ep], memory_order_acquire);
}

bool aq_identity_sends(aq_ep_pair_t pair)
{
    return identity_of(pair.from);
}

// Returns 0 if the tag is not in the table.
static uint64_t tag_find(_Atomic(tag_row_t *) *row, uint32_t jobrank)
{
    tag_row_t *tags = atomic_load_explicit(row, memory_order_acquire);
    return tags ? atomic_load_explicit(&tags[jobrank], memory_order_relaxed) : 0;
}

// With the lock held. Without memory for the row, the next message computes the tag again.
static void tag_keep(_Atomic(tag_row_t *) *row, uint32_t jobrank, uint64_t tag)
{
    tag_row_t *tags = atomic_load_explicit(row, memory_order_relaxed);
    if (!tags && !(tags = calloc(aq_job.size, sizeof *tags)))
        return;
    atomic_store_explicit(&tags[jobrank], tag, memory_order_relaxed);
    atomic_store_explicit(row, tags, memory_order_release);
}

uint64_t aq_identity_tag(aq_ep_pair_t pair, uint32_t jobrank)
{
    aq_identity_t *identity = identity_of(pair.from);
    uint64_t tag = tag_find(&identity->sent[pair.to], jobrank);
    if (tag)
        return tag;
    aq_lock_take(&identity_lock);
    tag = tag_compute(identity, pair, aq_job.rank, jobrank);
    tag_keep(&identity->sent[pair.to], jobrank, tag);
    aq_lock_drop(&identity_lock);
    return tag;
}

// Peers without the identity cost no memory: only tags that have come are kept.
bool aq_identity_proven(aq_identity_t *identity, aq_ep_pair_t pair, uint32_t jobrank, uint64_t tag)
{
    const uint64_t known = tag_find(&identity->received[pair.from], jobrank);
    if (known)
        return tag == known; // one instruction, whose duration leaks nothing
    aq_lock_take(&identity_lock);
    const bool proven = tag == tag_compute(identity, pair, jobrank, aq_job.rank);
    if (proven)
        tag_keep(&identity->received[pair.from], jobrank, tag);
    aq_lock_drop(&identity_lock);
    return proven;
}

// No message has the endpoint NOBODY, so a proof is no tag.
uint64_t aq_identity_proof(const aq_identity_t *identity, gex_EP_Index_t ep, uint32_t jobrank)
{
    const aq_ep_pair_t pair = {.from = ep, .to = NOBODY};
    aq_lock_take(&identity_lock);
    const uint64_t proof = tag_compute(identity, pair, jobrank, jobrank);
    aq_lock_drop(&identity_lock);
    return proof;
}

void aq_identity_drop(aq_ep_pair_t pair, uint32_t jobrank)
{
    static atomic_ullong dropped;
    aq_count_event(pair.to, AQ_COUNT_DROP_IDENTITY);
    if (atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed) + 1 != DROPPED_TOLD)
        return;
    aq_log_warn("%d messages and operations were dropped, because their senders do not have the "
                "identity of the endpoint that they name; the last one went from endpoint %u of "
                "rank %u to endpoint %u of this process: see why that rank sends them",
                DROPPED_TOLD, pair.from, jobrank, pair.to);
}
