// SPDX-License-Identifier: BSD-3-Clause
// Sends, counts and traces the messages that do not take the fast path of am_api.c: Longs, those
// with a header, and all while there is a trace or the thread has no records of ranks. Commit
// (am_prepare.c) and puts and gets by messages (extended/rma) come here, too.
#include "am_recorded.h"

#include "am_encapsulated.h"
#include "am_long.h"
#include "am_send.h"
#include "../record/am_record.h"
#include "trace_message.h"

// A Long is a function of its own, so that a message without payload saves no registers for it.
static __attribute__((noinline)) int send_long(aq_am_to_t to, const aq_am_t *am, gex_Flags_t flags)
{
    return aq_am_send_long(to, am, flags, aq_long_way(to, am), 0);
}

static inline int send_untraced(aq_am_to_t to, aq_am_t *am, gex_Flags_t flags)
{
    if (am->category == AQ_AM_LONG)
        return send_long(to, am, flags);
    return aq_am_send(to, am, flags);
}

// A Long in fragments carries its number behind them. A refused one has none: its target drops it.
static __attribute__((noinline, cold)) int send_traced(aq_am_to_t to, const aq_am_t *am,
                                                       gex_Flags_t flags)
{
    int32_t args[AQ_AM_MAX_ARGS];
    aq_am_t traced = *am;
    const bool is_long = am->category == AQ_AM_LONG;
    const aq_long_way_t way = is_long ? aq_long_way(to, am) : AQ_LONG_WHOLE;
    if (way == AQ_LONG_FRAGMENTS) {
        const aq_encapsulated_t encapsulated =
            aq_encapsulated_begin(to.ep_pair.from, to.jobrank, am);
        return aq_traced_send_end(encapsulated.opened,
                                  aq_am_send_long(to, am, flags, way, encapsulated.number));
    }
    const uint64_t opened =
        aq_traced_send_begin(to.ep_pair, to.jobrank, &traced, way == AQ_LONG_WHOLE, args);
    return aq_traced_send_end(opened, is_long ? aq_am_send_long(to, &traced, flags, way, 0)
                                              : aq_am_send(to, &traced, flags));
}

int aq_am_send_recorded(aq_am_to_t to, aq_am_t *am, gex_Flags_t flags)
{
    if (am->handler < GEX_AM_INDEX_BASE)
        return send_untraced(to, am, flags);
    const int refused = __builtin_expect(aq_tracing.numbers, 0) ? send_traced(to, am, flags)
                                                                : send_untraced(to, am, flags);
    if (!refused)
        aq_am_record_sent(to.ep_pair.from, to.jobrank, am);
    return refused;
}
