// SPDX-License-Identifier: BSD-3-Clause
// Longs of any length between any endpoints: whole, with the payload put ahead, in fragments, or
// without a payload that the target would drop. am_recorded.c calls it.
#include "am_long.h"

#include "../ground/fatal.h"
#include "../memory/segment_table.h"
#include "../progress/progress.h"
#include "am_send.h"
#include "long_fragment.h"
#include "retry.h"

// A Long from an endpoint without an identity to one with an identity is dropped there. It travels
// without its payload, because a payload for memory that is not open to all ends the job. One that
// has no payload stays a Long: the endpoint may be a new one without an identity, which has
// published no segment since. A reply goes to the endpoint that asked, whose identity is that of
// the handler's.
static bool is_unwanted(aq_am_to_t to, const aq_am_t *am)
{
    return am->nbytes && !to.token && aq_segment_guarded(to.jobrank, to.ep_pair.to) &&
           !aq_ep_pair_tagged(to.ep_pair);
}

aq_long_way_t aq_long_way(aq_am_to_t to, const aq_am_t *am)
{
    if (is_unwanted(to, am))
        return AQ_LONG_REFUSED;
    return aq_long_fragment_needed(to, am) ? AQ_LONG_FRAGMENTS : AQ_LONG_WHOLE;
}

static bool is_zero(void *pending)
{
    return atomic_load_explicit((atomic_uint *)pending, memory_order_acquire) == 0;
}

// Puts the payload of a Long that the conduit's send is not to take. AQ_OK: the put is complete.
// AQ_AGAIN: flags has GEX_FLAG_IMMEDIATE, and there is no room. AQ_ERR_ABSENT: the put does not
// reach this memory, but send takes the whole Long.
static __attribute__((noinline, cold)) aq_status_t put_ahead(uint32_t jobrank, const aq_am_t *am,
                                                             gex_Flags_t flags)
{
    atomic_uint pending = 0;
    aq_rma_t put = {.remote = am->dest,
                    .local = (void *)(uintptr_t)am->payload,
                    .nbytes = am->nbytes,
                    .pending = &pending,
                    .kind = AQ_RMA_PUT,
                    .flags = AQ_RMA_STABLE};
    const aq_path_t path = aq_path_to(jobrank);
    const aq_status_t status = aq_native_rma(
        path, jobrank, &put, flags & GEX_FLAG_IMMEDIATE ? AQ_RETRY_NEVER : AQ_RETRY_POLL);
    if (status == AQ_ERR_ABSENT && am->nbytes > path.conduit->max_long_unmapped)
        aq_fatal("a Long of %zu bytes to %p of rank %u is not in its attached segment, where "
                 "%zu are the most",
                 am->nbytes, am->dest, jobrank, path.conduit->max_long_unmapped);
    if (status == AQ_OK)
        aq_progress_wait_until(is_zero, &pending, aq_wait_word(AQ_WAIT_RANK, jobrank), NULL);
    return status;
}

// Whether the payload of a request has to be put before the message.
static bool is_put_ahead(aq_am_to_t to, const aq_am_t *am)
{
    if (to.token || to.ep_pair.to || am->dest_mapped)
        return false;
    const aq_conduit_t *conduit = aq_path_to(to.jobrank).conduit;
    return conduit->max_long_ahead && am->nbytes >= conduit->long_ahead_from;
}

static int send_whole(aq_am_to_t to, const aq_am_t *am, gex_Flags_t flags)
{
    aq_am_t whole = *am;
    const aq_status_t status = __builtin_expect(is_put_ahead(to, am), 0)
                                   ? put_ahead(to.jobrank, am, flags)
                                   : AQ_ERR_ABSENT;
    if (status == AQ_AGAIN)
        return 1;
    if (status == AQ_OK) {
        whole.payload_delivered = true;
        flags &= ~GEX_FLAG_IMMEDIATE; // the payload has been sent
    }
    return aq_am_send(to, &whole, flags);
}

static int send_without_payload(aq_am_to_t to, const aq_am_t *am, gex_Flags_t flags)
{
    aq_am_t bare = *am;
    bare.category = AQ_AM_SHORT;
    bare.nbytes = 0;
    return aq_am_send(to, &bare, flags);
}

int aq_am_send_long(aq_am_to_t to, const aq_am_t *am, gex_Flags_t flags, aq_long_way_t way,
                    uint64_t number)
{
    if (way == AQ_LONG_REFUSED)
        return send_without_payload(to, am, flags);
    if (way == AQ_LONG_WHOLE)
        return send_whole(to, am, flags);
    aq_long_fragment_send(to, am, number);
    return 0;
}
