// SPDX-License-Identifier: BSD-3-Clause
// Puts that notify their target: a counter there grows, or a handler of the client runs.
//
//     mapped:  copy --> add to the counter --> Short request: run handler h
//     small:   Long request with data and notice --> [target: add, run h] --> Short reply: done
//     else:    (also between endpoints with an identity)
//              put --> complete --> Short request with the notice --> [target] --> reply: done
#include <stdlib.h>
#include <string.h>

#include "../../core/memory/access.h"
#include "../../core/am/am_encapsulated.h"
#include "../../core/am/am_recorded.h"
#include "../../core/aqueduct.h"
#include "../../core/ground/arg64.h"
#include "../../core/record/counters.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/thread/event.h"
#include "../../core/ground/errors.h"
#include "../../core/ground/fatal.h"
#include "../../core/endpoint/identity.h"
#include "../../core/state/job.h"
#include "../../core/progress/deferred.h"
#include "../../core/memory/segment_table.h"
#include "../../core/endpoint/team.h"
#include "../../core/thread/thread.h"
#include "../../core/record/trace.h"
#include "../../core/record/traffic.h"
#include "../../other/base/minmax.h"
#include "../gasnetex_rma.h"
#include "layer_table.h"
#include "pending.h"
#include "rma.h"
#include "rma_tagged.h"
#include "../../core/am/am_answer.h"

// Arguments of a message, of which those from HANDLER on are sent only if a handler is to run.
enum {
    COOKIE_HIGH, // of the answer; 0: there is none
    COOKIE_LOW,
    COUNTER_HIGH, // 0: none
    COUNTER_LOW,
    ADD_HIGH,
    ADD_LOW,
    COUNT_ARGS,
    HANDLER = COUNT_ARGS, // [upper bits of NUMBER][number of its arguments, 4][handler, 8]
    NUMBER,               // of the message for the trace; 0: none
    CLIENT_ARGS,
    RUN_ARGS = CLIENT_ARGS + GASNETX_NOTICE_MAX_ARGS
};

_Static_assert(RUN_ARGS <= AQ_HANDLER_MAX_ARGS, "a message has room for the arguments");

typedef struct notice {
    uint32_t jobrank;
    aq_ep_pair_t ep_pair;
    uint8_t nargs;
    int32_t args[RUN_ARGS];
} notice_t;

enum { HANDLER_BITS = 8, NARGS_BITS = 4 };
_Static_assert(GASNETX_NOTICE_MAX_ARGS < 1 << NARGS_BITS &&
                   AQ_ENCAPSULATED_NUMBER_BITS + HANDLER_BITS + NARGS_BITS == 64,
               "two arguments have the handler, how many arguments it has, and the number");

// A put with a notice.
typedef struct put {
    aq_rma_op_t op;
    gex_TM_t tm;
    gex_Rank_t rank; // in tm
    const gasnetx_notice_t *notice;
} put_t;

// ---- checks of the client's arguments ----

static int put_refuse(const char *what, const put_t *put, unsigned long value)
{
    return aq_refuse(GASNET_ERR_BAD_ARG, "%s to rank %u: %s (%lu)", put->op.call, put->op.rank,
                     what, value);
}

static int put_refuse_place(const char *what, const put_t *put, const void *at, size_t nbytes)
{
    uintptr_t start = 0, size = 0;
    (void)aq_segment_bounds(put->op.rank, put->op.ep_pair.to, &start, &size);
    return aq_refuse(GASNET_ERR_BAD_ARG,
                     "%s to endpoint %u of rank %u: %s, %zu bytes at %p, is not inside the segment "
                     "that it has published (%p to %p)",
                     put->op.call, put->op.ep_pair.to, put->op.rank, what, nbytes, at,
                     (void *)start, (void *)(start + size));
}

static int put_check_notice(const put_t *put)
{
    const gasnetx_notice_t *notice = put->notice;
    if (!notice->counter && !notice->handler)
        return put_refuse("the notice has neither a counter nor a handler", put, 0);
    if ((uintptr_t)notice->counter % sizeof *notice->counter)
        return put_refuse("the counter is not aligned to 8 bytes", put, (uintptr_t)notice->counter);
    if (notice->handler && notice->handler < GEX_AM_INDEX_BASE)
        return put_refuse("the handler is below GEX_AM_INDEX_BASE, 64", put, notice->handler);
    if (notice->nargs > GASNETX_NOTICE_MAX_ARGS)
        return put_refuse("the handler has more than GASNETX_NOTICE_MAX_ARGS arguments, 8", put,
                          notice->nargs);
    return GASNET_OK;
}

static bool put_reaches(const put_t *put, const void *at, size_t nbytes)
{
    return aq_segment_contains(put->op.rank, put->op.ep_pair.to, at, nbytes);
}

static int put_check(const put_t *put)
{
    const aq_rma_t *access = &put->op.access;
    const uint64_t *counter = put->notice->counter;
    if (put->rank >= put->tm->size)
        return put_refuse("the rank is not below the size of the team", put, put->tm->size);
    if (!aq_ep_pair_tagged(put->op.ep_pair) && aq_segment_guarded(put->op.rank, put->op.ep_pair.to))
        return put_refuse("the endpoint of the target has an identity, and that of the caller has "
                          "none (gasnetx_EP_Create)",
                          put, put->op.ep_pair.to);
    if (!put_reaches(put, access->remote, access->nbytes))
        return put_refuse_place("the destination", put, access->remote, access->nbytes);
    if (counter && !put_reaches(put, counter, sizeof *counter))
        return put_refuse_place("the counter", put, counter, sizeof *counter);
    return put_check_notice(put);
}

// ---- messages ----

static uint8_t notice_handler(const notice_t *notice, bool with_data)
{
    if (notice->nargs == COUNT_ARGS)
        return with_data ? AQ_HANDLER_NOTICE_COUNT_PUT : AQ_HANDLER_NOTICE_COUNT;
    return with_data ? AQ_HANDLER_NOTICE_RUN_PUT : AQ_HANDLER_NOTICE_RUN;
}

static void notice_fill(notice_t *notice, const put_t *put, const uint64_t *counter)
{
    const gasnetx_notice_t *wanted = put->notice;
    *notice = (notice_t){
        .jobrank = put->op.rank,
        .ep_pair = put->op.ep_pair,
        .nargs = wanted->handler ? RUN_ARGS : COUNT_ARGS,
        .args = {[COUNTER_HIGH] = aq_high((uintptr_t)counter),
                 [COUNTER_LOW] = aq_low((uintptr_t)counter),
                 [ADD_HIGH] = aq_high(wanted->add),
                 [ADD_LOW] = aq_low(wanted->add),
                 [HANDLER] = (int32_t)(wanted->nargs << HANDLER_BITS | wanted->handler)}};
    memcpy(notice->args + CLIENT_ARGS, wanted->args, wanted->nargs * sizeof *wanted->args);
}

static void notice_number(notice_t *notice, uint64_t number)
{
    const uint32_t upper = (uint32_t)(number >> 32) << (HANDLER_BITS + NARGS_BITS);
    notice->args[HANDLER] |= (int32_t)upper;
    notice->args[NUMBER] = aq_low(number);
}

// Sends the message of a notice. cookie: of the answer; 0: there is none.
static int notice_request(const notice_t *notice, aq_am_t *am, gex_Flags_t flags,
                          aq_cookie_t cookie, gex_Event_t part)
{
    if (cookie)
        return aq_pending_request(notice->ep_pair, notice->jobrank, am, flags, cookie, part);
    return aq_am_send_recorded((aq_am_to_t){.jobrank = notice->jobrank, .ep_pair = notice->ep_pair},
                               am, flags & GEX_FLAG_IMMEDIATE);
}

// As notice_request, for a notice that runs a handler: counted and traced as a Short reply to it.
static int notice_request_run(notice_t *notice, aq_am_t *am, gex_Flags_t flags, aq_cookie_t cookie,
                              gex_Event_t part)
{
    aq_am_t run = {
        .category = AQ_AM_SHORT, .handler = (uint8_t)notice->args[HANDLER], .reply = true};
    const aq_encapsulated_t encapsulated =
        aq_encapsulated_begin(notice->ep_pair.from, notice->jobrank, &run);
    notice_number(notice, encapsulated.number);
    return aq_encapsulated_end(&encapsulated, notice_request(notice, am, flags, cookie, part));
}

// Sends a notice that the target answers; `part` counts the notice until the answer. data: NULL, or
// a put that travels in the message.
static int notice_send(notice_t *notice, const aq_rma_t *data, gex_Event_t part, gex_Flags_t flags)
{
    const aq_cookie_t cookie = aq_pending_add(AQ_PENDING_PUT, notice->jobrank, part, NULL, 0);
    aq_am_t am = {.args = notice->args,
                  .nargs = notice->nargs,
                  .category = data ? AQ_AM_LONG : AQ_AM_SHORT,
                  .handler = notice_handler(notice, data != NULL)};
    if (data) {
        am.payload = data->local;
        am.nbytes = data->nbytes;
        am.dest = data->remote;
    }
    notice->args[COOKIE_HIGH] = aq_high(cookie);
    notice->args[COOKIE_LOW] = aq_low(cookie);
    return notice->nargs == RUN_ARGS ? notice_request_run(notice, &am, flags, cookie, part)
                                     : notice_request(notice, &am, flags, cookie, part);
}

// ---- notices that wait for their put ----

typedef struct waiting {
    aq_deferred_t deferred;
    aq_event_t *pieces;
    gex_Event_t part;
    notice_t notice;
} waiting_t;

static bool waiting_is_ready(aq_deferred_t *deferred)
{
    return aq_event_finished(((waiting_t *)deferred)->pieces, ~0u);
}

// Sends the notice once its put is complete. A failed put sends none; its error goes to the event
// of the client.
static bool waiting_end(aq_deferred_t *deferred)
{
    waiting_t *w = (waiting_t *)deferred;
    const bool failed = aq_access_pass_on(aq_event_part(w->pieces, AQ_PART_PUT), w->part);
    aq_event_free(w->pieces);
    if (!failed)
        (void)notice_send(&w->notice, NULL, w->part, 0);
    aq_event_end(w->part);
    free(w);
    return true;
}

static int put_large(const put_t *put, gex_Event_t part)
{
    aq_event_t *pieces = aq_event_new();
    if (aq_rma_start(&put->op, aq_event_part(pieces, AQ_PART_PUT))) {
        aq_event_free(pieces);
        return 1;
    }
    waiting_t *w = aq_allocate(sizeof *w, "a notice");
    *w = (waiting_t){.deferred = {.ready = waiting_is_ready, .run = waiting_end},
                     .pieces = pieces,
                     .part = part};
    notice_fill(&w->notice, put, put->notice->counter);
    aq_event_begin(part);
    aq_deferred_add(&w->deferred);
    return 0;
}

// ---- the counters and the trace of a put ----

static void put_count(const put_t *put)
{
    aq_count_bytes_to_at(put->op.ep_pair.from, put->op.rank, AQ_COUNT_PUT, AQ_COUNT_PUT_BYTES,
                         put->op.access.nbytes);
}

// Counts puts to mapped memory only if a traffic matrix is recorded, like puts without a notice.
static void put_count_copied(const put_t *put)
{
    if (__builtin_expect(aq_traffic_on, 0))
        put_count(put);
}

// Traces a put that began at `begin`, unless that is 0. event: the record that counts the put;
// NULL: the put is complete.
static void put_trace(const put_t *put, uint64_t begin, const aq_event_t *event)
{
    if (__builtin_expect(begin != 0, 0))
        aq_trace_operation(AQ_TRACED_PUT, begin, put->op.rank, put->op.access.nbytes, event,
                           AQ_PART_PUT);
}

// ---- the three ways ----

static bool fits_into_message(size_t nbytes)
{
    return nbytes <= aq_min(aq_job.limits.medium, aq_job.limits.long_unmapped);
}

// A put with an identity is never sent as one Long, whose payload would be written before the
// target has checked the identity.
static int put_away(const put_t *put, gex_Event_t part)
{
    notice_t notice;
    if (!fits_into_message(put->op.access.nbytes) || aq_ep_pair_tagged(put->op.ep_pair))
        return put_large(put, part);
    notice_fill(&notice, put, put->notice->counter);
    if (notice_send(&notice, &put->op.access, part, put->op.flags))
        return 1;
    put_count(put);
    return 0;
}

// Wakes processes that sleep in GASNET_BLOCKUNTIL: a store to shared memory alone does not.
static void wake_neighbourhood(void)
{
    for (unsigned i = 0; i < aq_job.conduit_count; i++)
        aq_conduit_wake(aq_job.conduits[i], true);
}

static int send_run(const put_t *put)
{
    notice_t notice;
    notice_fill(&notice, put, NULL);
    aq_am_t am = {.args = notice.args,
                  .nargs = notice.nargs,
                  .category = AQ_AM_SHORT,
                  .handler = AQ_HANDLER_NOTICE_RUN};
    return notice_request_run(&notice, &am, put->op.flags, 0, NULL);
}

static void counter_add(uint64_t *counter, uint64_t add)
{
    (void)__atomic_fetch_add(counter, add, __ATOMIC_RELEASE);
}

// The parts of an event that a local fence awaits: a stable put uses the client's memory until the
// put is complete.
static unsigned put_local_parts(const put_t *put)
{
    return put->op.access.flags & AQ_RMA_STABLE ? 1u << AQ_PART_PUT : 0;
}

// The number to add to addresses of the target; odd: its memory is not mapped, or the target has to
// check the identity.
static intptr_t put_shift(const put_t *put)
{
    if (aq_ep_pair_tagged(put->op.ep_pair))
        return AQ_UNMAPPED;
    return aq_team_shift(put->op.rank, put->op.ep_pair.to);
}

// Whether the calling thread copies and counts itself, and only a handler needs a message. With
// both a counter and a handler one message does both, so that they happen in order, or not at all.
static bool put_is_direct(const put_t *put, intptr_t shift)
{
    return !(shift & 1) && !(put->notice->counter && put->notice->handler);
}

static void put_copy(const put_t *put, intptr_t shift)
{
    const aq_rma_t *access = &put->op.access;
    aq_api_copy_out(access->remote, access->local, access->nbytes, shift);
}

static int put_direct(const put_t *put, intptr_t shift)
{
    const uint64_t begin = aq_trace_begin(AQ_TRACE_PUT);
    uint64_t *counter = put->notice->counter;
    put_copy(put, shift);
    if (!counter && send_run(put))
        return 1;
    if (counter) {
        counter_add((uint64_t *)(void *)aq_api_shifted(counter, shift), put->notice->add);
        wake_neighbourhood();
    }
    put_count_copied(put);
    put_trace(put, begin, NULL);
    return 0;
}

static int put_near(const put_t *put, intptr_t shift, gex_Event_t part)
{
    notice_t notice;
    put_copy(put, shift);
    notice_fill(&notice, put, put->notice->counter);
    if (notice_send(&notice, NULL, part, put->op.flags))
        return 1;
    put_count_copied(put);
    return 0;
}

static int put_start(const put_t *put, intptr_t shift, aq_event_t *event)
{
    const uint64_t begin = aq_trace_begin(AQ_TRACE_PUT);
    const gex_Event_t part = aq_event_part(event, AQ_PART_PUT);
    const int refused = shift & 1 ? put_away(put, part) : put_near(put, shift, part);
    if (!refused)
        put_trace(put, begin, event);
    return refused;
}

// ---- the calls ----

static put_t put_describe(const char *call, gex_TM_t tm, gex_Rank_t rank,
                          const gasnetx_notice_t *notice, const gex_Event_t *lc_opt,
                          gex_Flags_t flags)
{
    return (put_t){.op = {.call = call,
                          .access = {.kind = AQ_RMA_PUT,
                                     .flags = lc_opt == GEX_EVENT_DEFER ? AQ_RMA_STABLE : 0},
                          .rank = rank < tm->size ? aq_tm_jobrank(tm, rank) : rank,
                          .ep_pair = aq_team_ep_pair(aq_team_of(tm), rank < tm->size ? rank : 0),
                          .flags = flags},
                   .tm = tm,
                   .rank = rank,
                   .notice = notice};
}

static void put_set_memory(put_t *put, void *dest, const void *src, size_t nbytes)
{
    put->op.access.remote = dest;
    put->op.access.local = (void *)(uintptr_t)src;
    put->op.access.nbytes = nbytes;
}

static int put_begin_checks(const put_t *put)
{
    aq_job_admit(put->op.call);
    return put_check(put);
}

static int put_nb(const put_t *put, gex_Event_t *event)
{
    const int wrong = put_begin_checks(put);
    if (wrong)
        return wrong;
    const intptr_t shift = put_shift(put);
    if (put_is_direct(put, shift)) {
        if (put_direct(put, shift))
            return GASNET_ERR_NOT_READY;
        *event = GEX_EVENT_INVALID;
        return GASNET_OK;
    }
    aq_event_t *record = aq_event_new();
    if (put_start(put, shift, record)) {
        aq_event_free(record);
        return GASNET_ERR_NOT_READY;
    }
    aq_outstanding_add(aq_thread_self()->outstanding, record, put->op.ep_pair.from,
                       put_local_parts(put));
    *event = aq_event_part(record, AQ_PART_ROOT);
    return GASNET_OK;
}

int gasnetx_RMA_PutNotifyNB(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                            size_t nbytes, const gasnetx_notice_t *notice, gex_Event_t *lc_opt,
                            gex_Event_t *event, gex_Flags_t flags)
{
    put_t put = put_describe("gasnetx_RMA_PutNotifyNB", tm, rank, notice, lc_opt, flags);
    put_set_memory(&put, dest, src, nbytes);
    const int result = put_nb(&put, event);
    if (result == GASNET_OK)
        aq_api_lc_done(lc_opt);
    return result;
}

int gasnetx_RMA_PutNotifyBlocking(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                                  size_t nbytes, const gasnetx_notice_t *notice, gex_Flags_t flags)
{
    put_t put =
        put_describe("gasnetx_RMA_PutNotifyBlocking", tm, rank, notice, GEX_EVENT_DEFER, flags);
    put_set_memory(&put, dest, src, nbytes);
    gex_Event_t event;
    const int result = put_nb(&put, &event);
    if (result == GASNET_OK)
        gex_Event_Wait(event);
    return result;
}

int gasnetx_RMA_PutNotifyNBI(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                             size_t nbytes, const gasnetx_notice_t *notice, gex_Event_t *lc_opt,
                             gex_Flags_t flags)
{
    put_t put = put_describe("gasnetx_RMA_PutNotifyNBI", tm, rank, notice, lc_opt, flags);
    put_set_memory(&put, dest, src, nbytes);
    const int wrong = put_begin_checks(&put);
    if (wrong)
        return wrong;
    const intptr_t shift = put_shift(&put);
    if (put_is_direct(&put, shift))
        return put_direct(&put, shift) ? GASNET_ERR_NOT_READY : GASNET_OK;
    aq_outstanding_implicit(aq_thread_self()->outstanding, put.op.ep_pair.from,
                            put_local_parts(&put));
    return put_start(&put, shift, aq_thread_nbi()) ? GASNET_ERR_NOT_READY : GASNET_OK;
}

// ---- at the target ----

static void notice_check_counter(gex_Token_t token, const uint64_t *counter)
{
    const uint32_t source = token->arrival->source;
    if (__builtin_expect((uintptr_t)counter % sizeof *counter != 0, 0))
        aq_fatal("a notice of rank %u has a counter at %p, which is not aligned to 8 bytes", source,
                 (const void *)counter);
    if (token->tag == AQ_TAG_NONE &&
        __builtin_expect(!aq_segment_holds(counter, sizeof *counter), 0))
        aq_fatal("a notice of rank %u has a counter at %p, which is not inside a segment of this "
                 "process",
                 source, (const void *)counter);
}

// Whether a notice is accepted: a notice with a tag needs the identity of the endpoint, and a
// counter in its segment. Otherwise its sender gets a refusal.
static bool notice_admits(gex_Token_t token, const int32_t *args)
{
    const uint64_t *counter = aq_join_pointer(args[COUNTER_HIGH], args[COUNTER_LOW]);
    return __builtin_expect(token->tag == AQ_TAG_NONE, 1) ||
           aq_tagged_admits(token, AQ_PENDING_PUT, counter, counter ? sizeof *counter : 0,
                            args[COOKIE_HIGH], args[COOKIE_LOW]);
}

static void notice_count(gex_Token_t token, const int32_t *args)
{
    uint64_t *counter = aq_join_pointer(args[COUNTER_HIGH], args[COUNTER_LOW]);
    if (!counter)
        return;
    notice_check_counter(token, counter);
    counter_add(counter, aq_join(args[ADD_HIGH], args[ADD_LOW]));
}

static void notice_run(gex_Token_t token, const int32_t *args)
{
    const uint32_t what = (uint32_t)args[HANDLER];
    const uint32_t handler = what & UINT8_MAX;
    const uint32_t nargs = what >> HANDLER_BITS & ((1u << NARGS_BITS) - 1);
    const uint64_t number = (uint64_t)(what >> (HANDLER_BITS + NARGS_BITS)) << 32;
    const aq_arrival_t inner = {.args = args + CLIENT_ARGS,
                                .source = token->arrival->source,
                                .category = AQ_AM_SHORT,
                                .handler = (uint8_t)handler,
                                .nargs = (uint8_t)nargs,
                                .reply = true};
    if (handler < GEX_AM_INDEX_BASE || nargs > GASNETX_NOTICE_MAX_ARGS)
        aq_fatal("a notice of rank %u names handler %u with %u arguments, which is not a handler "
                 "of the client",
                 token->arrival->source, handler, nargs);
    aq_encapsulated_deliver(&inner, token->ep_pair, token->tag, number | (uint32_t)args[NUMBER]);
}

static void notice_answer(gex_Token_t token, const int32_t *args)
{
    if (aq_join(args[COOKIE_HIGH], args[COOKIE_LOW]))
        aq_am_answer(token, AQ_HANDLER_PUT_DONE, 2,
                     (const int32_t[]){args[COOKIE_HIGH], args[COOKIE_LOW]});
}

// Of a Long, too: the conduit has checked that the payload goes into a segment before it wrote the
// payload.
static void on_count(gex_Token_t token)
{
    const int32_t *args = token->arrival->args;
    if (!notice_admits(token, args))
        return;
    notice_count(token, args);
    notice_answer(token, args);
}

static void on_run(gex_Token_t token)
{
    const int32_t *args = token->arrival->args;
    if (!notice_admits(token, args))
        return;
    notice_count(token, args);
    notice_run(token, args);
    notice_answer(token, args);
}

void aq_notice_register(void)
{
    const gex_Flags_t small = GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST;
    const gex_Flags_t with_data = GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST;
    aq_endpoint_internal_bare(AQ_HANDLER_NOTICE_COUNT, on_count, small, COUNT_ARGS,
                              "notice: count");
    aq_endpoint_internal_bare(AQ_HANDLER_NOTICE_COUNT_PUT, on_count, with_data, COUNT_ARGS,
                              "notice: put and count");
    aq_endpoint_internal_bare(AQ_HANDLER_NOTICE_RUN, on_run, small, RUN_ARGS, "notice: run");
    aq_endpoint_internal_bare(AQ_HANDLER_NOTICE_RUN_PUT, on_run, with_data, RUN_ARGS,
                              "notice: put and run");
}
