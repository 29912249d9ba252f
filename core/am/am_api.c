// SPDX-License-Identifier: BSD-3-Clause
// The calls of the client that send active messages of fixed payload.
#include "am_routed.h"
#include "am_send.h"
#include "../ground/fatal.h"
#include "../endpoint/team.h"

// Subtracts a message that was refused from the counts.
static int uncount(uint32_t jobrank, const aq_am_t *am)
{
    const aq_fast_counts_t *fast = aq_threads ? &aq_thread_counts.fast : &aq_job.fast;
    aq_cell_add(aq_am_fast_cell(fast, jobrank, am), (uint64_t)-1);
    aq_cell_add(&fast->peers[jobrank].endpoint0[aq_am_bytes_of(am)], -am->nbytes);
    return 1;
}

// Separate functions, so that the callers keep nothing for them in registers during a send.
static __attribute__((cold, noinline)) int refused_reply(gex_Token_t token, const aq_am_t *am)
{
    return uncount(token->arrival->source, am);
}

static __attribute__((cold, noinline)) int refused_request(uint32_t jobrank, const aq_am_t *am)
{
    return uncount(jobrank, am);
}

// Messages of the fast way count before they are sent, which is cheaper than afterwards.
static inline int reply_counted(const aq_fast_counts_t *fast, gex_Token_t token, aq_am_t *am,
                                gex_Flags_t flags)
{
    const aq_arrival_t *request = token->arrival;
    const uint32_t source = request->source;
    aq_am_count_fast(fast, source, am);
    const int refused = aq_am_send_reply_to(request, source, token, am, flags);
    return __builtin_expect(refused, 0) ? refused_reply(token, am) : 0;
}

static inline int request_counted(const aq_fast_counts_t *fast, uint32_t jobrank, const aq_am_t *am,
                                  gex_Flags_t flags)
{
    aq_am_count_fast(fast, jobrank, am);
    const int refused = aq_am_send_request(jobrank, am, flags);
    return __builtin_expect(refused, 0) ? refused_request(jobrank, am) : 0;
}

static inline int reply_by_route(gex_Token_t token, aq_am_t *am, gex_Flags_t flags)
{
    const uint32_t route = aq_route_word(token->route);
    if (__builtin_expect(route == aq_job.fast.route, 1))
        return reply_counted(&aq_job.fast, token, am, flags);
    if (__builtin_expect(route == aq_thread_counts.fast.route, 1))
        return reply_counted(&aq_thread_counts.fast, token, am, flags);
    return aq_am_reply_routed(token, am, flags);
}

static inline int request_by_route(gex_TM_t tm, gex_Rank_t rank, aq_am_t *am, gex_Flags_t flags)
{
    if (__builtin_expect(tm == aq_job.fast.team, 1))
        return request_counted(&aq_job.fast, rank, am, flags);
    if (__builtin_expect(tm == aq_thread_counts.fast.team, 1))
        return request_counted(&aq_thread_counts.fast, rank, am, flags);
    const aq_team_t *team = aq_team_of(tm);
    return aq_am_request_routed(aq_team_route(team, rank), aq_team_jobrank(team, rank), am, flags);
}

int aq_api_request_short(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, gex_Flags_t flags,
                         unsigned nargs, const gex_AM_Arg_t *args)
{
    aq_am_t am = {
        .args = args, .category = AQ_AM_SHORT, .handler = handler, .nargs = (uint8_t)nargs};
    aq_bounds_rank("gex_AM_RequestShort", "rank", rank, tm->size);
    if (AQ_CHECKS)
        aq_am_check_request("gex_AM_Request", tm, rank, &am);
    return request_by_route(tm, rank, &am, flags);
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
    int no_op = request_by_route(tm, rank, &am, flags);
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
    const aq_team_t *team = aq_team_of(tm);
    const uint32_t jobrank = aq_team_jobrank(team, rank);
    const aq_route_t route = aq_team_route(team, rank);
    am.dest_mapped = aq_am_map_local(jobrank, route.to, dest);
    int no_op = aq_am_request_routed(route, jobrank, &am, flags);
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
    return reply_by_route(token, &am, flags);
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
    int no_op = reply_by_route(token, &am, flags);
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
                  .dest_mapped = aq_am_map_local(token->arrival->source, token->route.from, dest),
                  .category = AQ_AM_LONG,
                  .handler = handler,
                  .nargs = (uint8_t)nargs,
                  .reply = true};
    aq_am_bound("gex_AM_ReplyLong", &am);
    if (AQ_CHECKS)
        aq_am_check_reply("gex_AM_Reply", token, &am);
    int no_op = reply_by_route(token, &am, flags);
    aq_api_lc_done(lc_opt);
    return no_op;
}
