// SPDX-License-Identifier: BSD-3-Clause
// The calls of the client that send active messages of fixed payload.
#include "am_recorded.h"
#include "am_send.h"
#include "../record/am_record.h"

// Separate functions, so that the callers keep nothing for them in registers during a send.
static __attribute__((cold, noinline)) int refused(uint32_t jobrank, const aq_am_t *am)
{
    aq_am_record_cancel(jobrank, am);
    return 1;
}

static __attribute__((cold, noinline)) int refused_reply(gex_Token_t token, const aq_am_t *am)
{
    return refused(token->arrival->source, am);
}

static inline int reply_fast(const aq_fast_counts_t *fast, gex_Token_t token, aq_am_t *am,
                             gex_Flags_t flags)
{
    const aq_arrival_t *request = token->arrival;
    const uint32_t source = request->source;
    aq_am_record_begin(fast, source, am);
    const int no_op = aq_am_reply_plain(token, request, source, am, flags);
    return __builtin_expect(no_op, 0) ? refused_reply(token, am) : 0;
}

static inline int request_fast(const aq_fast_counts_t *fast, uint32_t jobrank, aq_am_t *am,
                               gex_Flags_t flags)
{
    aq_am_record_begin(fast, jobrank, am);
    return __builtin_expect(aq_am_request_plain(jobrank, am, flags), 0) ? refused(jobrank, am) : 0;
}

// Functions of their own, so that the fast path stays short enough to be inlined.
static __attribute__((noinline)) int reply_recorded(gex_Token_t token, aq_am_t *am,
                                                    gex_Flags_t flags)
{
    return aq_am_send_recorded(aq_am_to_sender(token), am, flags);
}

static __attribute__((noinline)) int request_recorded(gex_TM_t tm, gex_Rank_t rank, aq_am_t *am,
                                                      gex_Flags_t flags)
{
    return aq_am_send_recorded(aq_am_to_member(tm, rank), am, flags);
}

static inline __attribute__((always_inline)) int send_reply(gex_Token_t token, aq_am_t *am,
                                                            gex_Flags_t flags)
{
    const uint32_t pair = aq_ep_pair_word(token->ep_pair);
    if (__builtin_expect(pair == aq_job.fast.ep_pair, 1))
        return reply_fast(&aq_job.fast, token, am, flags);
    if (__builtin_expect(pair == aq_thread_counts.fast.ep_pair, 1))
        return reply_fast(&aq_thread_counts.fast, token, am, flags);
    return reply_recorded(token, am, flags);
}

static inline __attribute__((always_inline)) int send_request(gex_TM_t tm, gex_Rank_t rank,
                                                              aq_am_t *am, gex_Flags_t flags)
{
    if (__builtin_expect(tm == aq_job.fast.team, 1))
        return request_fast(&aq_job.fast, rank, am, flags);
    if (__builtin_expect(tm == aq_thread_counts.fast.team, 1))
        return request_fast(&aq_thread_counts.fast, rank, am, flags);
    return request_recorded(tm, rank, am, flags);
}

int aq_api_request_short(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, gex_Flags_t flags,
                         unsigned nargs, const gex_AM_Arg_t *args)
{
    aq_am_t am = {
        .args = args, .category = AQ_AM_SHORT, .handler = handler, .nargs = (uint8_t)nargs};
    aq_bounds_rank("gex_AM_RequestShort", "rank", rank, tm->size);
    if (AQ_CHECKS)
        aq_am_check_request("gex_AM_Request", tm, rank, &am);
    return send_request(tm, rank, &am, flags);
}

int aq_api_request_medium(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, const void *src,
                          size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned nargs,
                          const gex_AM_Arg_t *args)
{
    aq_am_t am = {.args = args,
                  .payload = src,
                  .nbytes = nbytes,
                  .category = AQ_AM_MEDIUM,
                  .handler = handler,
                  .nargs = (uint8_t)nargs};
    aq_bounds_rank("gex_AM_RequestMedium", "rank", rank, tm->size);
    aq_am_bound("gex_AM_RequestMedium", &am);
    if (AQ_CHECKS)
        aq_am_check_request("gex_AM_Request", tm, rank, &am);
    int no_op = send_request(tm, rank, &am, flags);
    aq_api_lc_done(lc_opt);
    return no_op;
}

int aq_api_request_long(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, const void *src,
                        size_t nbytes, void *dest, gex_Event_t *lc_opt, gex_Flags_t flags,
                        unsigned nargs, const gex_AM_Arg_t *args)
{
    aq_am_t am = {.args = args,
                  .payload = src,
                  .nbytes = nbytes,
                  .dest = dest,
                  .category = AQ_AM_LONG,
                  .handler = handler,
                  .nargs = (uint8_t)nargs};
    aq_bounds_rank("gex_AM_RequestLong", "rank", rank, tm->size);
    aq_am_bound("gex_AM_RequestLong", &am);
    if (AQ_CHECKS)
        aq_am_check_request("gex_AM_Request", tm, rank, &am);
    const aq_am_to_t to = aq_am_to_member(tm, rank);
    am.dest_mapped = aq_am_map_local(to.jobrank, to.ep_pair.to, dest);
    int no_op = aq_am_send_recorded(to, &am, flags);
    aq_api_lc_done(lc_opt);
    return no_op;
}

int aq_api_reply_short(gex_Token_t token, gex_AM_Index_t handler, gex_Flags_t flags, unsigned nargs,
                       const gex_AM_Arg_t *args)
{
    aq_am_t am = {.args = args,
                  .category = AQ_AM_SHORT,
                  .handler = handler,
                  .nargs = (uint8_t)nargs,
                  .reply = true};
    if (AQ_CHECKS)
        aq_am_check_reply("gex_AM_Reply", token, &am);
    return send_reply(token, &am, flags);
}

int aq_api_reply_medium(gex_Token_t token, gex_AM_Index_t handler, const void *src, size_t nbytes,
                        gex_Event_t *lc_opt, gex_Flags_t flags, unsigned nargs,
                        const gex_AM_Arg_t *args)
{
    aq_am_t am = {.args = args,
                  .payload = src,
                  .nbytes = nbytes,
                  .category = AQ_AM_MEDIUM,
                  .handler = handler,
                  .nargs = (uint8_t)nargs,
                  .reply = true};
    aq_am_bound("gex_AM_ReplyMedium", &am);
    if (AQ_CHECKS)
        aq_am_check_reply("gex_AM_Reply", token, &am);
    int no_op = send_reply(token, &am, flags);
    aq_api_lc_done(lc_opt);
    return no_op;
}

int aq_api_reply_long(gex_Token_t token, gex_AM_Index_t handler, const void *src, size_t nbytes,
                      void *dest, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned nargs,
                      const gex_AM_Arg_t *args)
{
    aq_am_t am = {.args = args,
                  .payload = src,
                  .nbytes = nbytes,
                  .dest = dest,
                  .dest_mapped = aq_am_map_local(token->arrival->source, token->ep_pair.from, dest),
                  .category = AQ_AM_LONG,
                  .handler = handler,
                  .nargs = (uint8_t)nargs,
                  .reply = true};
    aq_am_bound("gex_AM_ReplyLong", &am);
    if (AQ_CHECKS)
        aq_am_check_reply("gex_AM_Reply", token, &am);
    int no_op = send_reply(token, &am, flags);
    aq_api_lc_done(lc_opt);
    return no_op;
}
