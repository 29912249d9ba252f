// SPDX-License-Identifier: BSD-3-Clause
// The slow paths of am_header.h: adds and checks tags, and refuses or drops messages with a header.
// am.c and the senders of this folder call it.
#include "am_header.h"

#include <stdatomic.h>
#include <string.h>

#include "../ground/arg64.h"
#include "../record/counters.h"
#include "../ground/fatal.h"
#include "../endpoint/identity.h"

enum { LOGGED_MAX = 4 }; // dropped messages that are logged

_Static_assert(GASNET_MAXEPS <= 1 << AQ_HEADER_ENDPOINT_BITS, "an index fits into a header");
_Static_assert((GASNET_MAXEPS & (GASNET_MAXEPS - 1)) == 0, "bits tell an index that is too large");
_Static_assert(AQ_HANDLERS <= 1 << AQ_HEADER_HANDLER_BITS, "a handler fits into a header");

void aq_am_header_add_tagged(aq_ep_pair_t pair, uint32_t jobrank, aq_am_t *am, int32_t *args)
{
    const uint64_t tag = aq_identity_tag(pair, jobrank);
    args[0] = aq_am_header_pack(pair, am->handler);
    args[1] = aq_high(tag);
    args[2] = aq_low(tag);
    aq_am_copy_args(args + AQ_HEADER_TAGGED_ARGS, am->args, am->nargs);
    am->args = args;
    am->nargs += AQ_HEADER_TAGGED_ARGS;
    am->handler = AQ_HANDLER_HEADER_TAGGED;
}

// Counts at the index of an endpoint that was destroyed, which keeps its counters. An endpoint that
// never existed has none, so endpoint 0 counts.
static void count_dropped(gex_EP_t ep, gex_EP_Index_t to)
{
    const bool existed = to < aq_endpoint_count();
    aq_count_event(existed ? to : 0,
                   existed && !ep ? AQ_COUNT_DROP_DESTROYED : AQ_COUNT_DROP_ENDPOINT);
}

static void log_dropped(const aq_arrival_t *inner, aq_ep_pair_t pair, const char *why)
{
    static atomic_uint dropped;
    const unsigned before = atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
    if (before < LOGGED_MAX)
        aq_log_error("a message from endpoint %u of rank %u to handler %u of endpoint %u is "
                     "dropped: %s%s",
                     pair.from, inner->source, inner->handler, pair.to, why,
                     before + 1 < LOGGED_MAX ? "" : " (further ones are not logged)");
}

// A peer may name an endpoint that this process has not created yet, never creates, or has
// destroyed. So neither process ends.
gex_EP_t aq_am_drop(const aq_arrival_t *inner, aq_ep_pair_t pair, gex_EP_t ep)
{
    if (ep && ep->handlers) {
        aq_identity_drop(pair, inner->source);
        return NULL;
    }
    count_dropped(ep, pair.to);
    log_dropped(inner, pair,
                ep ? "that endpoint was created without GEX_EP_CAPABILITY_AM"
                   : "this process has no such endpoint; create it, and synchronize, "
                     "before peers send to it");
    return NULL;
}

gex_EP_t aq_am_endpoint_tagged(const aq_arrival_t *inner, aq_ep_pair_t pair, aq_tag_t tag)
{
    const gex_EP_t ep = aq_endpoint_at(pair.to);
    const bool accepts = ep && ep->handlers && tag == (ep->identity ? AQ_TAG_RIGHT : AQ_TAG_NONE);
    return accepts ? ep : aq_am_drop(inner, pair, ep);
}

void aq_am_header_refuse(const aq_arrival_t *arrival, unsigned head)
{
    if (arrival->nargs < head || arrival->category > AQ_AM_LONG)
        aq_fatal("a message of rank %u to a further endpoint is none: category %u, %u arguments",
                 arrival->source, arrival->category, arrival->nargs);
    const aq_ep_pair_t pair = aq_am_header_unpack((uint32_t)arrival->args[0]);
    if (pair.from >= GASNET_MAXEPS || pair.to >= GASNET_MAXEPS)
        aq_fatal("a message of rank %u goes from endpoint %u to endpoint %u, and indices are below "
                 "%d",
                 arrival->source, pair.from, pair.to, GASNET_MAXEPS);
    aq_fatal("a message from endpoint %u of rank %u has two headers", pair.from, arrival->source);
}

aq_tag_t aq_am_header_read_tagged(const aq_arrival_t *arrival, aq_arrival_t *inner,
                                  aq_ep_pair_t *pair)
{
    aq_am_header_read_behind(arrival, AQ_HEADER_TAGGED_ARGS, inner, pair);
    const uint64_t tag = aq_join(arrival->args[1], arrival->args[2]);
    const gex_EP_t ep = aq_endpoint_at(pair->to);
    const bool proven =
        ep && ep->identity && aq_identity_proven(ep->identity, *pair, arrival->source, tag);
    return proven ? AQ_TAG_RIGHT : AQ_TAG_WRONG;
}
