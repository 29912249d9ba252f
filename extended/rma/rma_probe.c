// SPDX-License-Identifier: BSD-3-Clause
// Probes of memory.
//
//     Short request: address, length --> [target looks] --> Short reply: 0, or a reason
#include "rma_probe.h"

#include <stdatomic.h>

#include "../../core/am/am_args.h"
#include "../../core/am/am_send.h"
#include "../../core/ground/arg64.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/memory/mapped.h"
#include "../../core/progress/progress.h"
#include "../gasnetex.h"
#include "layer_table.h"
#include "pending.h"
#include "../../core/am/am_answer.h"

// At the target: the reason why an operation cannot access this memory; 0: it can.
static int reason_here(gex_EP_Index_t ep, const void *addr, size_t nbytes, bool writes)
{
    uintptr_t start, size;
    if (!aq_segment_own_bounds(ep, &start, &size))
        return GASNETX_ERROR_NO_SEGMENT;
    const uintptr_t offset = (uintptr_t)addr - start;
    if (offset > size || nbytes > size - offset)
        return GASNETX_ERROR_OUTSIDE;
    return aq_reserved_allows(addr, nbytes) && aq_mapped(addr, nbytes, writes)
               ? 0
               : GASNETX_ERROR_UNMAPPED;
}

static void on_probe(gex_Token_t token)
{
    aq_args_t args = aq_args_of(token);
    const gex_EP_Index_t ep = (gex_EP_Index_t)aq_args_32(&args);
    const bool writes = aq_args_32(&args) != 0;
    const void *addr = (const void *)(uintptr_t)aq_args_64(&args);
    const int reason = reason_here(ep, addr, aq_args_64(&args), writes);
    aq_am_answer(token, AQ_HANDLER_PROBED, 3,
                 (const int32_t[]){reason, args.next[0], args.next[1]});
}

enum { NO_ANSWER = -1 };

static void on_probed(gex_Token_t token, int32_t reason, int32_t cookie_high, int32_t cookie_low)
{
    atomic_int *answer =
        aq_pending_end(AQ_PENDING_PROBE, token, aq_join(cookie_high, cookie_low)).context;
    atomic_store_explicit(answer, reason & 0xff, memory_order_release);
}

static bool is_answered(void *answer)
{
    return atomic_load_explicit((atomic_int *)answer, memory_order_acquire) != NO_ANSWER;
}

static int ask(const aq_access_t *access, bool writes)
{
    atomic_int answer = NO_ANSWER;
    const aq_cookie_t cookie = aq_pending_add(AQ_PENDING_PROBE, access->rank, &answer, NULL, 0);
    const uint64_t addr = (uintptr_t)access->addr, size = access->nbytes;
    const int32_t args[] = {access->ep,    writes,       aq_high(addr),   aq_low(addr),
                            aq_high(size), aq_low(size), aq_high(cookie), aq_low(cookie)};
    (void)aq_am_request_short(access->rank, AQ_HANDLER_PROBE, 8, args, 0);
    aq_progress_wait_until(is_answered, &answer, aq_wait_word(AQ_WAIT_RANK, access->rank), NULL);
    return atomic_load_explicit(&answer, memory_order_relaxed);
}

bool aq_probe(aq_access_t *access, bool writes)
{
    if (access->nbytes)
        access->reason = access->rank == aq_job.rank
                             ? reason_here(access->ep, access->addr, access->nbytes, writes)
                             : ask(access, writes);
    return !access->reason;
}

void aq_rma_probe_register(void)
{
    aq_endpoint_internal_bare(AQ_HANDLER_PROBE, on_probe, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST,
                              8, "probe");
    aq_endpoint_internal(AQ_HANDLER_PROBED, (gex_AM_Fn_t)on_probed,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 3, "probed");
}
