// SPDX-License-Identifier: BSD-3-Clause
// The client's Prepare, Commit and Cancel. Prepare reserves room in a message of the conduit, or a
// buffer; Commit sends by the conduit's commit, or by am_recorded.c as for other messages.
#include <stdlib.h>

#include "am_path.h"
#include "am_recorded.h"
#include "../ground/fatal.h"
#include "../gasnetex_am.h"
#include "../state/job.h"
#include "../record/am_record.h"
#include "retry.h"
#include "../thread/srcdesc.h"
#include "trace_message.h"
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
    return sd ? sd : aq_allocate_zeroed(1, sizeof *sd, "a source descriptor");
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
        sd->buffer = aq_allocate_aligned(sd->buffer_size, "the payload of a prepared message");
    }
    sd->room = AQ_ROOM_BUFFER;
    sd->payload = sd->buffer;
    sd->size = size;
}

// The message that the conduit sees, whose arguments include the header.
static aq_am_t message_of_conduit(const struct aq_srcdesc *sd)
{
    aq_am_t am = sd->am;
    am.nargs += aq_traced_nargs(sd->to.ep_pair, am.nargs) + aq_am_header_nargs(sd->to.ep_pair);
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
    aq_am_t am = message_of_conduit(sd);
    return sd->path.conduit->ops->am.prepare(sd->path.conduit, sd->path.link, &am, attempt->least,
                                             attempt->most, &sd->reservation);
}

// Reserves room in a message of the conduit. Returns false if there is no room now.
static bool reserve_in_conduit(struct aq_srcdesc *sd, size_t least, size_t most, gex_Flags_t flags)
{
    reserve_attempt_t attempt = {sd, least, most};
    const aq_status_t status = aq_try(reserve_attempt, &attempt, aq_retry_mode(flags, sd->am.reply),
                                      sd->path.conduit->endpoint, sd->to.jobrank);
    if (status != AQ_OK && status != AQ_AGAIN)
        aq_fatal("preparing a message to rank %u failed: %s", sd->to.jobrank,
                 aq_status_name(status));
    sd->room = AQ_ROOM_CONDUIT;
    sd->payload = sd->reservation.payload;
    sd->size = sd->reservation.size;
    return status == AQ_OK;
}

static size_t long_limit(const struct aq_srcdesc *sd)
{
    return sd->am.reply ? aq_job.limits.long_reply : aq_job.limits.long_request;
}

// The largest size in bytes of a buffer of the library.
static size_t own_room(const struct aq_srcdesc *sd)
{
    return sd->am.category == AQ_AM_LONG ? aq_min(AQ_PREPARE_LONG_ROOM, long_limit(sd))
                                         : aq_job.limits.medium;
}

// Finds the path of the message. Returns whether its conduit can reserve room for payloads.
static bool conduit_reserves(struct aq_srcdesc *sd)
{
    sd->path = aq_am_path(sd->to, &sd->am);
    return sd->path.conduit->ops->am.prepare;
}

// What a call of Prepare asks for.
typedef struct prepare {
    uint8_t category;
    unsigned nargs;
    const void *client_buf; // NULL: the library provides the buffer
    size_t least, most;     // bytes
    void *dest;             // of a Long
    gex_Event_t *lc_opt;
    gex_Flags_t flags;
} prepare_t;

// Finds room for the payload. Returns false if IMMEDIATE was given and there is no room now.
static bool find_room(struct aq_srcdesc *sd, const prepare_t *call)
{
    bool is_long = call->category == AQ_AM_LONG;
    if (call->client_buf) {
        sd->room = AQ_ROOM_CLIENT;
        sd->payload = call->client_buf;
        sd->size = aq_min(call->most, is_long ? long_limit(sd) : aq_job.limits.medium);
        return true;
    }
    size_t most_here = aq_min(call->most, own_room(sd));
    if (!is_long && conduit_reserves(sd))
        return reserve_in_conduit(sd, call->least, most_here, call->flags);
    use_buffer(sd, most_here);
    return true;
}

static void check_least(const struct aq_srcdesc *sd, const prepare_t *call)
{
    const size_t limit = call->category == AQ_AM_MEDIUM ? aq_job.limits.medium
                         : call->client_buf             ? long_limit(sd)
                                                        : own_room(sd);
    const bool inverted = call->least > call->most;
    if (__builtin_expect(inverted || call->least > limit, 0))
        aq_fatal("%s%s: least_payload %zu is more than %s %zu", prepare_names[sd->am.reply],
                 category_name(&sd->am), call->least, inverted ? "most_payload" : "the limit of",
                 inverted ? call->most : limit);
}

static aq_am_t message_of(const prepare_t *call, bool reply)
{
    aq_am_t am = {.category = call->category,
                  .handler = GEX_AM_INDEX_BASE,
                  .nargs = (uint8_t)call->nargs,
                  .reply = reply};
    if (__builtin_expect(call->nargs > AQ_HANDLER_MAX_ARGS, 0))
        aq_fatal("%s%s: %u arguments, at most %d are possible", prepare_names[reply],
                 category_name(&am), call->nargs, AQ_HANDLER_MAX_ARGS);
    return am;
}

static gex_AM_SrcDesc_t prepare(aq_am_to_t to, const aq_am_t *am, const prepare_t *call)
{
    struct aq_srcdesc *sd = take_descriptor();
    sd->am = *am;
    sd->to = to;
    sd->lc_opt = call->lc_opt;
    sd->dest = call->dest;
    check_least(sd, call);
    if (!find_room(sd, call)) {
        put_back(sd);
        return GEX_AM_SRCDESC_NO_OP;
    }
    aq_thread_self()->prepared = sd;
    return sd;
}

static gex_AM_SrcDesc_t prepare_request(gex_TM_t tm, gex_Rank_t rank, const prepare_t *call)
{
    aq_bounds_rank(call->category == AQ_AM_LONG ? "gex_AM_PrepareRequestLong"
                                                : "gex_AM_PrepareRequestMedium",
                   "rank", rank, tm->size);
    aq_am_t am = message_of(call, false);
    if (AQ_CHECKS)
        aq_am_check_request(prepare_names[false], tm, rank, &am);
    return prepare(aq_am_to_member(tm, rank), &am, call);
}

static gex_AM_SrcDesc_t prepare_reply(gex_Token_t token, const prepare_t *call)
{
    aq_am_t am = message_of(call, true);
    if (AQ_CHECKS)
        aq_am_check_reply(prepare_names[true], token, &am);
    return prepare(aq_am_to_sender(token), &am, call);
}

gex_AM_SrcDesc_t gex_AM_PrepareRequestMedium(gex_TM_t tm, gex_Rank_t rank, const void *client_buf,
                                             size_t least, size_t most, gex_Event_t *lc_opt,
                                             gex_Flags_t flags, unsigned int nargs)
{
    return prepare_request(
        tm, rank, &(prepare_t){AQ_AM_MEDIUM, nargs, client_buf, least, most, NULL, lc_opt, flags});
}

gex_AM_SrcDesc_t gex_AM_PrepareRequestLong(gex_TM_t tm, gex_Rank_t rank, const void *client_buf,
                                           size_t least, size_t most, void *dest,
                                           gex_Event_t *lc_opt, gex_Flags_t flags,
                                           unsigned int nargs)
{
    return prepare_request(
        tm, rank, &(prepare_t){AQ_AM_LONG, nargs, client_buf, least, most, dest, lc_opt, flags});
}

gex_AM_SrcDesc_t gex_AM_PrepareReplyMedium(gex_Token_t token, const void *client_buf, size_t least,
                                           size_t most, gex_Event_t *lc_opt, gex_Flags_t flags,
                                           unsigned int nargs)
{
    return prepare_reply(
        token, &(prepare_t){AQ_AM_MEDIUM, nargs, client_buf, least, most, NULL, lc_opt, flags});
}

gex_AM_SrcDesc_t gex_AM_PrepareReplyLong(gex_Token_t token, const void *client_buf, size_t least,
                                         size_t most, void *dest, gex_Event_t *lc_opt,
                                         gex_Flags_t flags, unsigned int nargs)
{
    return prepare_reply(
        token, &(prepare_t){AQ_AM_LONG, nargs, client_buf, least, most, dest, lc_opt, flags});
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
    aq_am_check_payload(call, sd->to.jobrank, sd->to.ep_pair.to, am);
}

static int send_committed(gex_AM_SrcDesc_t sd, gex_Flags_t flags)
{
    aq_thread_self()->prepared = NULL; // sending may poll, and handlers may prepare replies
    int no_op = aq_am_send_recorded(sd->to, &sd->am, flags);
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
        sd->am.dest_mapped = aq_am_map_local(sd->to.jobrank, sd->to.ep_pair.to, dest);
}

static void commit_in_conduit(gex_AM_SrcDesc_t sd)
{
    int32_t args[AQ_AM_MAX_ARGS], numbered[AQ_AM_MAX_ARGS];
    aq_am_t am = sd->am;
    uint64_t opened = UINT64_MAX;
    if (__builtin_expect(aq_tracing.numbers, 0))
        opened = aq_traced_send_begin(sd->to.ep_pair, sd->to.jobrank, &am, true, numbered);
    if (aq_ep_pair_needs_header(sd->to.ep_pair))
        aq_am_header_add(sd->to.ep_pair, sd->to.jobrank, &am, args);
    sd->path.conduit->ops->am.commit(sd->path.conduit, sd->path.link, &am, &sd->reservation);
    if (__builtin_expect(opened != UINT64_MAX, 0))
        (void)aq_traced_send_end(opened, 0);
    if (sd->to.token)
        sd->to.token->replied = true;
    aq_thread_self()->prepared = NULL;
    aq_am_record_sent(sd->to.ep_pair.from, sd->to.jobrank, &sd->am);
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
    aq_am_t am = message_of_conduit(sd);
    if (sd->room == AQ_ROOM_CONDUIT)
        sd->path.conduit->ops->am.cancel(sd->path.conduit, sd->path.link, &am, &sd->reservation);
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
