// SPDX-License-Identifier: BSD-3-Clause
// The client's Prepare, Commit and Cancel. Prepare reserves room in a message of the conduit, or a
// buffer; Commit sends by the conduit's commit, or by am_routed.c as for other messages.
#include <stdlib.h>

#include "am_routed.h"
#include "../ground/fatal.h"
#include "../gasnetex_am.h"
#include "../state/job.h"
#include "retry.h"
#include "../thread/srcdesc.h"
#include "../endpoint/team.h"
#include "trace_message.h"
#include "window_connect.h"
#include "../../other/base/minmax.h"

// The names of the calls without their category, indexed by `reply`.
static const char *const prepare_names[] = {"gex_AM_PrepareRequest", "gex_AM_PrepareReply"};
static const char *const commit_names[] = {"gex_AM_CommitRequest", "gex_AM_CommitReply"};
static const char *const cancel_names[] = {"gex_AM_CancelRequest", "gex_AM_CancelReply"};

static const char *category_name(const aq_am_t *am)
{
    return am->category == AQ_AM_LONG ? "Long" : "Medium";
}

static struct aq_srcdesc *take_descriptor(void)
{
    aq_thread_t *thread = aq_thread_self();
    struct aq_srcdesc *sd = thread->descriptor;
    thread->descriptor = NULL; // a wait for room may run handlers, which prepare replies
    if (!sd)
        sd = calloc(1, sizeof *sd);
    if (!sd)
        aq_fatal("out of memory for a source descriptor");
    return sd;
}

// Makes the descriptor available to the thread's next Prepare.
static void put_back(struct aq_srcdesc *sd)
{
    aq_thread_t *thread = aq_thread_self();
    aq_srcdesc_free(thread->descriptor);
    thread->descriptor = sd;
}

static void use_buffer(struct aq_srcdesc *sd, size_t size)
{
    if (sd->buffer_size < size) {
        free(sd->buffer);
        sd->buffer_size = (size + 63) & ~(size_t)63;
        sd->buffer = aligned_alloc(64, sd->buffer_size);
        if (!sd->buffer)
            aq_fatal("out of memory for the payload of a prepared message (%zu bytes)", size);
    }
    sd->room = AQ_ROOM_BUFFER;
    sd->payload = sd->buffer;
    sd->size = size;
}

// The message that the conduit sees, whose arguments include the route.
static aq_am_t message_of_conduit(const struct aq_srcdesc *sd)
{
    aq_am_t am = sd->am;
    am.nargs += aq_traced_nargs(sd->route, am.nargs) + aq_route_nargs(sd->route);
    return am;
}

typedef struct reserve_attempt {
    struct aq_srcdesc *sd;
    size_t least, most;
} reserve_attempt_t;

static aq_status_t reserve_attempt(void *context)
{
    const reserve_attempt_t *attempt = context;
    struct aq_srcdesc *sd = attempt->sd;
    const aq_am_t am = message_of_conduit(sd);
    return sd->conduit->ops->am.prepare(sd->conduit, sd->link, &am, attempt->least, attempt->most,
                                        &sd->reservation);
}

// Reserves room in a message of the conduit. Returns false if there is no room now.
static bool reserve_in_conduit(struct aq_srcdesc *sd, size_t least, size_t most, gex_Flags_t flags)
{
    reserve_attempt_t attempt = {sd, least, most};
    const aq_status_t status = aq_try(reserve_attempt, &attempt, aq_retry_mode(flags, sd->am.reply),
                                      sd->conduit->endpoint, sd->jobrank);
    if (status != AQ_OK && status != AQ_AGAIN)
        aq_fatal("preparing a message to rank %u failed: %s", sd->jobrank, aq_status_name(status));
    sd->room = AQ_ROOM_CONDUIT;
    sd->payload = sd->reservation.payload;
    sd->size = sd->reservation.size;
    return status == AQ_OK;
}

static size_t long_limit(const struct aq_srcdesc *sd)
{
    return sd->am.reply ? aq_job.max_long : aq_job.max_long_request;
}

// The largest size in bytes of a buffer of the library.
static size_t own_room(const struct aq_srcdesc *sd)
{
    return sd->am.category == AQ_AM_LONG ? aq_min(AQ_PREPARE_LONG_ROOM, long_limit(sd))
                                         : aq_job.max_medium;
}

// Finds the route of the message. Returns whether its conduit can reserve room for payloads.
static bool conduit_reserves(struct aq_srcdesc *sd)
{
    const aq_am_route_t route = sd->token
                                    ? aq_window_reply_route(sd->route, sd->token->arrival, &sd->am)
                                    : aq_window_request_route(sd->route, sd->jobrank);
    sd->conduit = route.conduit;
    sd->link = route.link;
    return route.conduit->ops->am.prepare;
}

// Finds room for the payload. Returns false if IMMEDIATE was given and there is no room now.
static bool find_room(struct aq_srcdesc *sd, const void *client_buf, size_t least, size_t most,
                      gex_Flags_t flags)
{
    bool is_long = sd->am.category == AQ_AM_LONG;
    if (client_buf) {
        sd->room = AQ_ROOM_CLIENT;
        sd->payload = client_buf;
        sd->size = aq_min(most, is_long ? long_limit(sd) : aq_job.max_medium);
        return true;
    }
    size_t most_here = aq_min(most, own_room(sd));
    if (!is_long && conduit_reserves(sd))
        return reserve_in_conduit(sd, least, most_here, flags);
    use_buffer(sd, most_here);
    return true;
}

static gex_AM_SrcDesc_t prepare_payload(struct aq_srcdesc *sd, const void *client_buf, size_t least,
                                        size_t most, gex_Flags_t flags)
{
    size_t limit = sd->am.category == AQ_AM_MEDIUM ? aq_job.max_medium
                   : client_buf                    ? long_limit(sd)
                                                   : own_room(sd);
    if (__builtin_expect(least > most || least > limit, 0))
        aq_fatal("%s%s: least_payload %zu is more than %s %zu", prepare_names[sd->am.reply],
                 category_name(&sd->am), least, least > most ? "most_payload" : "the limit of",
                 least > most ? most : limit);
    if (!find_room(sd, client_buf, least, most, flags)) {
        put_back(sd);
        return GEX_AM_SRCDESC_NO_OP;
    }
    aq_thread_self()->prepared = sd;
    return sd;
}

static void check_nargs(const aq_am_t *am, unsigned nargs)
{
    if (__builtin_expect(nargs > AQ_HANDLER_MAX_ARGS, 0))
        aq_fatal("%s%s: %u arguments, at most %d are possible", prepare_names[am->reply],
                 category_name(am), nargs, AQ_HANDLER_MAX_ARGS);
}

static gex_AM_SrcDesc_t prepare_request(gex_TM_t tm, gex_Rank_t rank, uint8_t category,
                                        const void *client_buf, size_t least, size_t most,
                                        void *dest, gex_Event_t *lc_opt, gex_Flags_t flags,
                                        unsigned nargs)
{
    aq_am_t am = {.category = category, .handler = GEX_AM_INDEX_BASE, .nargs = (uint8_t)nargs};
    aq_bounds_rank(category == AQ_AM_LONG ? "gex_AM_PrepareRequestLong"
                                          : "gex_AM_PrepareRequestMedium",
                   "rank", rank, tm->size);
    check_nargs(&am, nargs);
    if (AQ_CHECKS)
        aq_am_check_request(prepare_names[false], tm, rank, &am);
    struct aq_srcdesc *sd = take_descriptor();
    sd->am = am;
    sd->jobrank = aq_tm_jobrank(tm, rank);
    sd->route = aq_team_route(aq_team_of(tm), rank);
    sd->token = NULL;
    sd->lc_opt = lc_opt;
    sd->dest = dest;
    return prepare_payload(sd, client_buf, least, most, flags);
}

static gex_AM_SrcDesc_t prepare_reply(gex_Token_t token, uint8_t category, const void *client_buf,
                                      size_t least, size_t most, void *dest, gex_Event_t *lc_opt,
                                      gex_Flags_t flags, unsigned nargs)
{
    aq_am_t am = {
        .category = category, .handler = GEX_AM_INDEX_BASE, .nargs = (uint8_t)nargs, .reply = true};
    check_nargs(&am, nargs);
    if (AQ_CHECKS)
        aq_am_check_reply(prepare_names[true], token, &am);
    struct aq_srcdesc *sd = take_descriptor();
    sd->am = am;
    sd->jobrank = token->arrival->source;
    sd->route = aq_token_reply_route(token);
    sd->token = token;
    sd->lc_opt = lc_opt;
    sd->dest = dest;
    return prepare_payload(sd, client_buf, least, most, flags);
}

gex_AM_SrcDesc_t gex_AM_PrepareRequestMedium(gex_TM_t tm, gex_Rank_t rank, const void *client_buf,
                                             size_t least, size_t most, gex_Event_t *lc_opt,
                                             gex_Flags_t flags, unsigned int nargs)
{
    return prepare_request(tm, rank, AQ_AM_MEDIUM, client_buf, least, most, NULL, lc_opt, flags,
                           nargs);
}

gex_AM_SrcDesc_t gex_AM_PrepareRequestLong(gex_TM_t tm, gex_Rank_t rank, const void *client_buf,
                                           size_t least, size_t most, void *dest,
                                           gex_Event_t *lc_opt, gex_Flags_t flags,
                                           unsigned int nargs)
{
    return prepare_request(tm, rank, AQ_AM_LONG, client_buf, least, most, dest, lc_opt, flags,
                           nargs);
}

gex_AM_SrcDesc_t gex_AM_PrepareReplyMedium(gex_Token_t token, const void *client_buf, size_t least,
                                           size_t most, gex_Event_t *lc_opt, gex_Flags_t flags,
                                           unsigned int nargs)
{
    return prepare_reply(token, AQ_AM_MEDIUM, client_buf, least, most, NULL, lc_opt, flags, nargs);
}

gex_AM_SrcDesc_t gex_AM_PrepareReplyLong(gex_Token_t token, const void *client_buf, size_t least,
                                         size_t most, void *dest, gex_Event_t *lc_opt,
                                         gex_Flags_t flags, unsigned int nargs)
{
    return prepare_reply(token, AQ_AM_LONG, client_buf, least, most, dest, lc_opt, flags, nargs);
}

void *gex_AM_SrcDescAddr(gex_AM_SrcDesc_t sd)
{
    return (void *)(uintptr_t)sd->payload;
}

size_t gex_AM_SrcDescSize(gex_AM_SrcDesc_t sd)
{
    return sd->size;
}

// ---- Commit and Cancel ----

static void check_descriptor(const char *const *names, gex_AM_SrcDesc_t sd, unsigned kind)
{
    const char *call = names[!!(kind & AQ_API_SD_REPLY)];
    const char *category = kind & AQ_API_SD_LONG ? "Long" : "Medium";
    gex_AM_SrcDesc_t prepared = aq_thread_self()->prepared;
    AQ_CHECK(prepared, "%s%s: this thread has no Prepare open for the source descriptor %p", call,
             category, (void *)sd);
    AQ_CHECK(prepared == sd,
             "%s%s: the source descriptor %p is not the one that this thread prepared, %p", call,
             category, (void *)sd, (void *)prepared);
    AQ_CHECK(sd->am.reply == !!(kind & AQ_API_SD_REPLY) &&
                 (sd->am.category == AQ_AM_LONG) == !!(kind & AQ_API_SD_LONG),
             "%s%s: the source descriptor comes from %s%s", call, category,
             prepare_names[sd->am.reply], category_name(&sd->am));
}

static void check_numbers(gex_AM_SrcDesc_t sd, size_t nbytes, unsigned nargs)
{
    const char *call = commit_names[sd->am.reply], *category = category_name(&sd->am);
    if (__builtin_expect(nbytes > sd->size, 0))
        aq_fatal("%s%s: %zu bytes are more than the %zu prepared", call, category, nbytes,
                 sd->size);
    if (__builtin_expect(nargs != sd->am.nargs, 0))
        aq_fatal("%s%s: %u arguments, but %u were prepared", call, category, nargs, sd->am.nargs);
}

static void check_commit(gex_AM_SrcDesc_t sd, const aq_am_t *am)
{
    const char *call = commit_names[sd->am.reply], *category = category_name(&sd->am);
    AQ_CHECK(!sd->dest || sd->dest == am->dest,
             "%s%s: dest_addr %p is not the one given to Prepare, %p", call, category, am->dest,
             sd->dest);
    aq_am_check_handler(call, am);
    aq_am_check_payload(call, sd->jobrank, sd->route.to, am);
}

static int send_committed(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
    aq_thread_self()->prepared = NULL; // sending may poll, and handlers may prepare replies
    int no_op = sd->am.reply ? aq_am_reply_routed(sd->token, &sd->am, flags)
                             : aq_am_request_routed(sd->route, sd->jobrank, &sd->am, flags);
    if (no_op)
        aq_thread_self()->prepared = sd;
    return no_op;
}

// Adds what Commit knows to the message.
static void complete_message(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler, size_t nbytes, void *dest,
                             const gex_AM_Arg_t *args)
{
    sd->am.handler = handler;
    sd->am.args = args;
    sd->am.payload = sd->payload;
    sd->am.nbytes = nbytes;
    sd->am.dest = dest;
    if (sd->am.category == AQ_AM_LONG)
        sd->am.dest_mapped = aq_am_map_local(sd->jobrank, sd->route.to, dest);
}

static void commit_in_conduit(gex_AM_SrcDesc_t sd)
{
    int32_t args[AQ_AM_MAX_ARGS], numbered[AQ_AM_MAX_ARGS];
    aq_am_t am = sd->am;
    uint64_t opened = UINT64_MAX;
    if (__builtin_expect(aq_tracing.numbers, 0))
        opened = aq_traced_send_begin(sd->route, sd->jobrank, &am, true, numbered);
    if (aq_route_needed(sd->route))
        aq_route_wrap(sd->route, sd->jobrank, &am, args);
    sd->conduit->ops->am.commit(sd->conduit, sd->link, &am, &sd->reservation);
    if (__builtin_expect(opened != UINT64_MAX, 0))
        (void)aq_traced_send_end(opened, 0);
    if (sd->token)
        sd->token->replied = true;
    aq_thread_self()->prepared = NULL;
    aq_am_count_sent(sd->route.from, sd->jobrank, &sd->am);
}

int aq_api_commit(gex_AM_SrcDesc_t sd, gex_AM_Index_t handler, size_t nbytes, void *dest,
                  gex_Flags_t flags, unsigned nargs, const gex_AM_Arg_t *args, unsigned kind)
{
    if (AQ_CHECKS)
        check_descriptor(commit_names, sd, kind);
    check_numbers(sd, nbytes, nargs);
    if (AQ_CHECKS)
        check_commit(sd, &(aq_am_t){.nbytes = nbytes,
                                    .dest = dest,
                                    .handler = handler,
                                    .reply = kind & AQ_API_SD_REPLY,
                                    .category = kind & AQ_API_SD_LONG ? AQ_AM_LONG : AQ_AM_MEDIUM});
    complete_message(sd, handler, nbytes, dest, args);
    if (sd->room == AQ_ROOM_CONDUIT) {
        commit_in_conduit(sd);
    } else if (send_committed(sd, flags)) {
        return 1;
    }
    if (sd->room == AQ_ROOM_CLIENT)
        aq_api_lc_done(sd->lc_opt);
    put_back(sd);
    return 0;
}

static int cancel_prepared(gex_AM_SrcDesc_t sd, unsigned kind)
{
    if (AQ_CHECKS)
        check_descriptor(cancel_names, sd, kind);
    const aq_am_t am = message_of_conduit(sd);
    if (sd->room == AQ_ROOM_CONDUIT)
        sd->conduit->ops->am.cancel(sd->conduit, sd->link, &am, &sd->reservation);
    aq_thread_self()->prepared = NULL;
    put_back(sd);
    return GASNET_OK;
}

int gex_AM_CancelRequestMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
    (void)flags;
    return cancel_prepared(sd, 0);
}

int gex_AM_CancelReplyMedium(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
    (void)flags;
    return cancel_prepared(sd, AQ_API_SD_REPLY);
}

int gex_AM_CancelRequestLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
    (void)flags;
    return cancel_prepared(sd, AQ_API_SD_LONG);
}

int gex_AM_CancelReplyLong(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
    (void)flags;
    return cancel_prepared(sd, AQ_API_SD_REPLY | AQ_API_SD_LONG);
}
