#include "am.h"

#include <sched.h>

#include "endpoint.h"
#include "fatal.h"
#include "job.h"
#include "progress.h"
#include "segment.h"

static const char *const category_names[] = {"Short", "Medium", "Long"};

// ---- checks of debug builds ----

static void check_message(const char *call, uint32_t jobrank, const aq_am_t *am)
{
    AQ_CHECK(am->nargs <= AQ_AM_MAX_ARGS, "%s%s: %u arguments, at most %d are possible", call,
             category_names[am->category], am->nargs, AQ_AM_MAX_ARGS);
    if (am->category == AQ_AM_MEDIUM)
        AQ_CHECK(am->nbytes <= aq_job.max_medium,
                 "%s%s: a payload of %zu bytes is more than the limit of %zu", call,
                 category_names[am->category], am->nbytes, aq_job.max_medium);
    if (am->category != AQ_AM_LONG)
        return;
    AQ_CHECK(am->nbytes <= aq_job.max_long,
             "%s%s: a payload of %zu bytes is more than the limit of %zu", call,
             category_names[am->category], am->nbytes, aq_job.max_long);
    AQ_CHECK(!am->nbytes || aq_segment_contains(jobrank, am->dest, am->nbytes),
             "%s%s: %zu bytes at %p are not inside the segment of rank %u (%#lx, %lu bytes)", call,
             category_names[am->category], am->nbytes, am->dest, jobrank,
             (unsigned long)aq_job.segment_addr[jobrank],
             (unsigned long)aq_job.segment_size[jobrank]);
}

void aq_am_check_request(const char *call, gex_TM_t tm, gex_Rank_t rank, const aq_am_t *am)
{
    AQ_CHECK(rank < tm->size, "%s%s: rank %u is not below the team's size %u", call,
             category_names[am->category], rank, tm->size);
    AQ_CHECK(!aq_thread_handler_depth, "%s%s is not allowed in a handler", call,
             category_names[am->category]);
    AQ_CHECK(!aq_thread_self()->prepared, "%s%s between a Prepare and its Commit or Cancel", call,
             category_names[am->category]);
    AQ_CHECK(am->handler >= GEX_AM_INDEX_BASE,
             "%s%s: handler index %u is below GEX_AM_INDEX_BASE (%d)", call,
             category_names[am->category], am->handler, GEX_AM_INDEX_BASE);
    check_message(call, gex_TM_TranslateRankToJobrank(tm, rank), am);
}

void aq_am_check_reply(const char *call, gex_Token_t token, const aq_am_t *am)
{
    AQ_CHECK(!token->arrival->reply, "%s%s in the handler of a reply: only a request is replied to",
             call, category_names[am->category]);
    AQ_CHECK(!token->replied, "%s%s: a second reply to one request from rank %u (handler %u)", call,
             category_names[am->category], token->arrival->source, token->arrival->handler);
    check_message(call, token->arrival->source, am);
}

// ---- out ----

void *aq_am_here(uint32_t jobrank, void *dest)
{
    intptr_t shift = jobrank < aq_job.size ? aq_job.shift[jobrank] : AQ_UNMAPPED;
    return shift & 1 ? NULL : (char *)dest + shift;
}

static void __attribute__((noreturn, cold)) send_failed(uint32_t jobrank, aq_status_t status)
{
    aq_fatal("sending to rank %u failed: %s", jobrank, aq_status_name(status));
}

static __attribute__((noinline, cold)) int request_again(uint32_t jobrank, const aq_am_t *am,
                                                         gex_Flags_t flags, aq_status_t status)
{
    uintptr_t link = aq_job_link(jobrank);
    aq_conduit_t *conduit = aq_link_conduit(link);
    aq_api_wait_t wait = {0};
    while (status == AQ_AGAIN) {
        if (flags & GEX_FLAG_IMMEDIATE)
            return 1;
        aq_api_wait_turn(&wait);
        status = conduit->ops->send(conduit, aq_link_pointer(link), am);
    }
    aq_api_wait_end(&wait);
    if (status != AQ_OK)
        send_failed(jobrank, status);
    return 0;
}

int aq_am_request(uint32_t jobrank, const aq_am_t *am, gex_Flags_t flags)
{
    uintptr_t link = aq_job_link(jobrank);
    aq_conduit_t *conduit = aq_link_conduit(link);
    aq_status_t status = conduit->ops->send(conduit, aq_link_pointer(link), am);
    if (__builtin_expect(status != AQ_OK, 0))
        return request_again(jobrank, am, flags, status);
    if (!(flags & GEX_FLAG_IMMEDIATE))
        aq_progress_poll(); // who only sends still serves others
    return 0;
}

// A reply waits without running requests: the handler that sends it may not be entered again.
static __attribute__((noinline, cold)) int reply_again(gex_Token_t token, const aq_am_t *am,
                                                       gex_Flags_t flags, aq_status_t status)
{
    uintptr_t link = aq_job_link(token->arrival->source);
    aq_conduit_t *conduit = aq_link_conduit(link);
    for (unsigned turns = 0; status == AQ_AGAIN; turns++) {
        if (flags & GEX_FLAG_IMMEDIATE)
            return 1;
        aq_progress_poll_replies();
        if (turns >= 16)
            sched_yield();
        status = conduit->ops->send(conduit, aq_link_pointer(link), am);
    }
    if (status != AQ_OK)
        send_failed(token->arrival->source, status);
    token->replied = true;
    return 0;
}

int aq_am_reply(gex_Token_t token, const aq_am_t *am, gex_Flags_t flags)
{
    uintptr_t link = aq_job_link(token->arrival->source);
    aq_conduit_t *conduit = aq_link_conduit(link);
    aq_status_t status = conduit->ops->send(conduit, aq_link_pointer(link), am);
    if (__builtin_expect(status != AQ_OK, 0))
        return reply_again(token, am, flags, status);
    token->replied = true;
    return 0;
}

int aq_api_request_short(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, gex_Flags_t flags,
                         unsigned nargs, const gex_AM_Arg_t *args)
{
    aq_am_t am = {
        .args = args, .category = AQ_AM_SHORT, .handler = handler, .nargs = (uint8_t)nargs};
    if (AQ_CHECKS)
        aq_am_check_request("gex_AM_Request", tm, rank, &am);
    return aq_am_request(gex_TM_TranslateRankToJobrank(tm, rank), &am, flags);
}

int aq_api_request_medium(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, const void *src,
                          size_t nbytes, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned nargs,
                          const gex_AM_Arg_t *args)
{
    aq_am_t am = {args, src, nbytes, NULL, NULL, AQ_AM_MEDIUM, handler, (uint8_t)nargs, false};
    if (AQ_CHECKS)
        aq_am_check_request("gex_AM_Request", tm, rank, &am);
    int no_op = aq_am_request(gex_TM_TranslateRankToJobrank(tm, rank), &am, flags);
    if (lc_opt > GEX_EVENT_GROUP)
        *lc_opt = GEX_EVENT_INVALID;
    return no_op;
}

int aq_api_request_long(gex_TM_t tm, gex_Rank_t rank, gex_AM_Index_t handler, const void *src,
                        size_t nbytes, void *dest, gex_Event_t *lc_opt, gex_Flags_t flags,
                        unsigned nargs, const gex_AM_Arg_t *args)
{
    aq_am_t am = {args,
                  src,
                  nbytes,
                  dest,
                  aq_am_here(gex_TM_TranslateRankToJobrank(tm, rank), dest),
                  AQ_AM_LONG,
                  handler,
                  (uint8_t)nargs,
                  false};
    if (AQ_CHECKS)
        aq_am_check_request("gex_AM_Request", tm, rank, &am);
    int no_op = aq_am_request(gex_TM_TranslateRankToJobrank(tm, rank), &am, flags);
    if (lc_opt > GEX_EVENT_GROUP)
        *lc_opt = GEX_EVENT_INVALID;
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
    return aq_am_reply(token, &am, flags);
}

int aq_api_reply_medium(gex_Token_t token, gex_AM_Index_t handler, const void *src, size_t nbytes,
                        gex_Event_t *lc_opt, gex_Flags_t flags, unsigned nargs,
                        const gex_AM_Arg_t *args)
{
    aq_am_t am = {args, src, nbytes, NULL, NULL, AQ_AM_MEDIUM, handler, (uint8_t)nargs, true};
    if (AQ_CHECKS)
        aq_am_check_reply("gex_AM_Reply", token, &am);
    int no_op = aq_am_reply(token, &am, flags);
    if (lc_opt > GEX_EVENT_GROUP)
        *lc_opt = GEX_EVENT_INVALID;
    return no_op;
}

int aq_api_reply_long(gex_Token_t token, gex_AM_Index_t handler, const void *src, size_t nbytes,
                      void *dest, gex_Event_t *lc_opt, gex_Flags_t flags, unsigned nargs,
                      const gex_AM_Arg_t *args)
{
    aq_am_t am = {
        args,       src,     nbytes,         dest, aq_am_here(token->arrival->source, dest),
        AQ_AM_LONG, handler, (uint8_t)nargs, true};
    if (AQ_CHECKS)
        aq_am_check_reply("gex_AM_Reply", token, &am);
    int no_op = aq_am_reply(token, &am, flags);
    if (lc_opt > GEX_EVENT_GROUP)
        *lc_opt = GEX_EVENT_INVALID;
    return no_op;
}

// ---- in ----

static void check_arrival(const aq_arrival_t *arrival, const gex_AM_Entry_t *entry)
{
    static const gex_Flags_t category_flags[] = {GEX_FLAG_AM_SHORT, GEX_FLAG_AM_MEDIUM,
                                                 GEX_FLAG_AM_LONG};
    const char *name = entry->gex_name ? entry->gex_name : "(no name)";
    AQ_CHECK(entry->gex_nargs == arrival->nargs,
             "handler %u %s takes %u arguments, rank %u sent %u", arrival->handler, name,
             entry->gex_nargs, arrival->source, arrival->nargs);
    AQ_CHECK(entry->gex_flags & category_flags[arrival->category],
             "handler %u %s is not registered for the category %s, in which rank %u called it",
             arrival->handler, name, category_names[arrival->category], arrival->source);
    AQ_CHECK(entry->gex_flags & (arrival->reply ? GEX_FLAG_AM_REPLY : GEX_FLAG_AM_REQUEST),
             "handler %u %s is not registered for a %s, as which rank %u called it",
             arrival->handler, name, arrival->reply ? "reply" : "request", arrival->source);
}

bool aq_am_deliver(const aq_arrival_t *arrival)
{
    struct aq_token token = {arrival, false};
    const gex_AM_Entry_t *entry = &aq_endpoint.handlers[arrival->handler];
    if (__builtin_expect(!entry->gex_fnptr, 0))
        aq_fatal("a message from rank %u calls handler %u, which is not registered here",
                 arrival->source, arrival->handler);
    if (!AQ_CHECKS) {
        aq_am_call(entry->gex_fnptr, &token, arrival);
        return token.replied;
    }
    check_arrival(arrival, entry);
    aq_thread_handler_depth++;
    aq_am_call(entry->gex_fnptr, &token, arrival);
    aq_thread_handler_depth--;
    return token.replied;
}

// ---- queries ----

gex_TI_t gex_Token_Info(gex_Token_t token, gex_Token_Info_t *info, gex_TI_t mask)
{
    (void)mask;
    const aq_arrival_t *arrival = token->arrival;
    *info = (gex_Token_Info_t){.gex_srcrank = arrival->source,
                               .gex_ep = &aq_endpoint,
                               .gex_entry = &aq_endpoint.handlers[arrival->handler],
                               .gex_is_req = !arrival->reply,
                               .gex_is_long = arrival->category == AQ_AM_LONG};
    return GEX_TI_ALL;
}

unsigned int gex_AM_MaxArgs(void)
{
    return AQ_AM_MAX_ARGS;
}
