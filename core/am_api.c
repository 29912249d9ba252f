// The calls of the client that send active messages of fixed payload.
#include "am_send.h"
#include "fatal.h"
#include "long_push.h"
#include "team.h"

// Sends a client's request in a team that has a list of members or a route.
static __attribute__((noinline)) int request_in_team(const aq_team_t *team, uint32_t jobrank,
                                                     aq_am_t *am, gex_Flags_t flags)
{
    int32_t args[AQ_AM_MAX_ARGS];
    if (aq_long_push_needed(jobrank, team->route, am)) {
        aq_long_push_request(jobrank, team->route, am);
        return 0;
    }
    if (aq_route_needed(team->route))
        aq_route_wrap(team->route, am, args);
    return am->category == AQ_AM_LONG ? aq_am_request_long(jobrank, am, flags)
                                      : aq_am_request(jobrank, am, flags);
}

static __attribute__((noinline)) int reply_routed(gex_Token_t token, aq_am_t *am, gex_Flags_t flags)
{
    int32_t args[AQ_AM_MAX_ARGS];
    if (aq_long_push_needed(token->arrival->source, aq_token_reply_route(token), am)) {
        aq_long_push_reply(token, am);
        return 0;
    }
    aq_route_wrap(aq_token_reply_route(token), am, args);
    return aq_am_reply(token, am, flags);
}

static inline int reply_by_route(gex_Token_t token, aq_am_t *am, gex_Flags_t flags)
{
    if (__builtin_expect(aq_route_needed(token->route), 0))
        return reply_routed(token, am, flags);
    return aq_am_send_reply(token, am, flags);
}

static inline int request_by_route(gex_TM_t tm, gex_Rank_t rank, aq_am_t *am, gex_Flags_t flags)
{
    const aq_team_t *team = aq_team_of(tm);
    if (team->members)
        return request_in_team(team, team->members[rank], am, flags);
    return aq_am_send_request(rank, am, flags);
}

int aq_api_request_short(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, gex_Flags_t flags,
                         unsigned nargs, const gex_AM_Arg_t *args)
{
    aq_am_t am = {
        .args = args, .category = AQ_AM_SHORT, .handler = handler, .nargs = (uint8_t)nargs};
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
    if (AQ_CHECKS)
        aq_am_check_request("gex_AM_Request", tm, rank, &am);
    const aq_team_t *team = aq_team_of(tm);
    const uint32_t jobrank = aq_team_jobrank(team, rank);
    am.dest_mapped = aq_am_map_local(jobrank, team->route.to, dest);
    int no_op = request_in_team(team, jobrank, &am, flags);
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
    if (AQ_CHECKS)
        aq_am_check_reply("gex_AM_Reply", token, &am);
    int no_op = reply_by_route(token, &am, flags);
    aq_api_lc_done(lc_opt);
    return no_op;
}
