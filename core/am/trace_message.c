// SPDX-License-Identifier: BSD-3-Clause
// Adds a number to a traced message, reads it at the receiver (am.c), and opens and closes the
// events of messages and handlers. am_recorded.c and am_prepare.c call it for sends.
#include "trace_message.h"

#include "../record/counters.h"
#include "../ground/fatal.h"

_Static_assert((int)AQ_TRACED_REPLY_LONG == (int)AQ_COUNT_REPLY_LONG,
               "messages have the order of their counters");
_Static_assert(16 + AQ_TRACED_ARGS + 1 <= AQ_AM_MAX_ARGS,
               "a message with a header has room for its number");

enum { HANDLER_BITS = 8 };

static void message_number(aq_am_t *am, uint64_t number, int32_t args[AQ_AM_MAX_ARGS])
{
    args[0] = (int32_t)((uint32_t)(number >> 32) << HANDLER_BITS | am->handler);
    args[1] = (int32_t)(uint32_t)number;
    aq_am_copy_args(args + AQ_TRACED_ARGS, am->args, am->nargs);
    am->args = args;
    am->nargs += AQ_TRACED_ARGS;
    am->handler = AQ_HANDLER_TRACED;
}

uint64_t aq_traced_open(uint32_t jobrank, const aq_am_t *am, uint64_t number)
{
    const unsigned first = am->reply ? AQ_TRACED_REPLY_SHORT : AQ_TRACED_REQUEST_SHORT;
    return aq_trace_open(&(aq_trace_event_t){.kind = (aq_traced_t)(first + am->category),
                                             .begin = aq_trace_now(),
                                             .peer = jobrank,
                                             .bytes = am->nbytes,
                                             .detail = am->handler,
                                             .id = number});
}

uint64_t aq_traced_send_begin(aq_ep_pair_t pair, uint32_t jobrank, aq_am_t *am, bool fits,
                              int32_t args[AQ_AM_MAX_ARGS])
{
    const bool wanted = aq_trace_wants(AQ_TRACE_AM);
    const bool numbered = fits && aq_traced_nargs(pair, am->nargs);
    const uint64_t number = wanted && numbered ? aq_trace_next_number() : 0;
    const uint64_t opened = wanted ? aq_traced_open(jobrank, am, number) : UINT64_MAX;
    if (numbered)
        message_number(am, number, args);
    return opened;
}

int aq_traced_send_end(uint64_t opened, int refused)
{
    if (refused)
        aq_trace_cancel(opened);
    else
        aq_trace_close(opened);
    return refused;
}

uint64_t aq_traced_read(const aq_arrival_t *arrival, aq_arrival_t *inner)
{
    if (arrival->nargs < AQ_TRACED_ARGS || arrival->category > AQ_AM_LONG)
        aq_fatal("a traced message of rank %u is none: category %u, %u arguments", arrival->source,
                 arrival->category, arrival->nargs);
    const uint32_t word = (uint32_t)arrival->args[0];
    *inner = *arrival;
    inner->args = arrival->args + AQ_TRACED_ARGS;
    inner->nargs = (uint8_t)(arrival->nargs - AQ_TRACED_ARGS);
    inner->handler = (uint8_t)(word & ((1u << HANDLER_BITS) - 1));
    if (inner->handler < GEX_AM_INDEX_BASE)
        aq_fatal("a traced message of rank %u is for handler %u, which is not the client's",
                 arrival->source, inner->handler);
    return (uint64_t)(word >> HANDLER_BITS) << 32 | (uint32_t)arrival->args[1];
}

uint64_t aq_traced_handler_begin(const aq_arrival_t *arrival, uint64_t number)
{
    const uint64_t begin = aq_trace_begin(AQ_TRACE_AM);
    if (!begin)
        return UINT64_MAX;
    return aq_trace_open(&(aq_trace_event_t){.kind = AQ_TRACED_HANDLER,
                                             .begin = begin,
                                             .peer = arrival->source,
                                             .bytes = arrival->nbytes,
                                             .id = number,
                                             .detail = arrival->handler});
}
