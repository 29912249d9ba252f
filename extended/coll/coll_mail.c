// SPDX-License-Identifier: BSD-3-Clause
// The messages of collectives, including early ones, which arrive before their operation has
// started.
//
// The number of early messages is bounded: an operation starts only after its fence (coll_engine.c)
// is complete in this process, and ranks send little without rendezvous between two fences.
#include <stdlib.h>
#include <string.h>

#include "../../core/am/am_args.h"
#include "../../core/am/am_send.h"
#include "../../core/record/counters.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"
#include "../../other/base/minmax.h"
#include "coll_limits.h"
#include "../../core/ground/arg64.h"
#include "coll_mail.h"
#include "../rma/layer_table.h"

enum { PART_ARGS = 5, READY_ARGS = 3 };

aq_lock_t aq_coll_lock;

// Early messages for teams that this process has not created yet.
static aq_coll_mail_t *orphans;

// ---- sending ----

size_t aq_coll_part_limit(void)
{
    return aq_min(aq_job.limits.medium, aq_coll_limits.part_bytes);
}

void aq_coll_divide(aq_coll_op_t *op, size_t bytes)
{
    const size_t limit = aq_coll_part_limit(), unit = op->call.unit;
    // The usual case; a division would cost as much as the rest of this function.
    if (bytes <= limit) {
        op->pieces = (aq_coll_pieces_t){limit, limit, bytes > 0, 1};
        return;
    }
    op->pieces.bytes = unit < limit ? limit / unit * unit : unit;
    op->pieces.part = aq_min(op->pieces.bytes, limit);
    op->pieces.parts = (uint32_t)((op->pieces.bytes + op->pieces.part - 1) / op->pieces.part);
    op->pieces.count = (uint32_t)((bytes + op->pieces.bytes - 1) / op->pieces.bytes);
}

void aq_coll_send_part(const aq_coll_op_t *op, uint32_t rank, uint32_t row, uint32_t part,
                       const void *payload, size_t nbytes)
{
    const aq_team_t *team = op->coll->team;
    int32_t args[PART_ARGS] = {aq_high(team->id), aq_low(team->id), (int32_t)op->number,
                               (int32_t)row, (int32_t)part};
    aq_am_t am = {.args = args,
                  .payload = payload,
                  .nbytes = nbytes,
                  .category = AQ_AM_MEDIUM,
                  .handler = AQ_HANDLER_COLL_PART,
                  .nargs = PART_ARGS};
    const uint32_t jobrank = aq_team_jobrank(team, rank);
    aq_count_bytes_to(jobrank, AQ_COUNT_COLL, AQ_COUNT_COLL_BYTES, nbytes);
    aq_am_request(jobrank, &am, 0);
}

void aq_coll_send_ready(const aq_coll_op_t *op, uint32_t rank)
{
    const aq_team_t *team = op->coll->team;
    int32_t args[READY_ARGS] = {aq_high(team->id), aq_low(team->id), (int32_t)op->number};
    aq_am_request_short(aq_team_jobrank(team, rank), AQ_HANDLER_COLL_READY, READY_ARGS, args, 0);
}

// ---- delivery to an operation ----

// Ends the job: no correct peer that makes the same calls sends this message. A debug build ignores
// the message instead, because coll_check.c will report the calls that differ.
static void refuse_mail(const aq_coll_mail_t *mail, const char *why)
{
    if (AQ_CHECKS)
        return;
    aq_fatal("a message of a collective from rank %u is wrong: %s (team 0x%llx, operation %u, row "
             "%u, part %u, %zu bytes); do all ranks make the same collective calls?",
             mail->source, why, (unsigned long long)mail->team, mail->number, mail->row, mail->part,
             mail->nbytes);
}

static bool awaits_ready(const aq_coll_op_t *op, uint32_t rank)
{
    return op->ready.needed && rank != GEX_RANK_INVALID && op->way->awaits_ready(op, rank);
}

static void count_ready(aq_coll_op_t *op, uint32_t rank)
{
    if (op->ready.askers)
        atomic_store_explicit(&op->ready.askers[rank], AQ_COLL_REQUESTED, memory_order_relaxed);
    atomic_fetch_add_explicit(&op->ready.count, 1, memory_order_release);
}

// A receiver is ready.
static void note_ready(aq_coll_op_t *op, const aq_coll_mail_t *mail)
{
    const gex_Rank_t rank = gex_TM_TranslateJobrankToRank(&op->coll->team->head, mail->source);
    if (!awaits_ready(op, rank))
        refuse_mail(mail, "no operation waits for this rank to be ready");
    else
        count_ready(op, rank);
}

const char *aq_coll_mail_part(const aq_coll_op_t *op, const aq_coll_mail_t *mail,
                              aq_coll_part_t *part)
{
    const uint32_t sender = op->way->sender(op, mail->row);
    if (sender == GEX_RANK_INVALID || aq_team_jobrank(op->coll->team, sender) != mail->source)
        return "the operation awaits nothing from this rank there";
    if (!op->way->part(op, mail->row, mail->part, part) || mail->nbytes != part->nbytes)
        return "the operation has no such part";
    if (!part->slot->unbegun)
        return "the operation has this part";
    return NULL;
}

// Finds the part of a message and counts it as begun. Returns false if there is none. The caller
// holds aq_coll_lock.
static bool begin_part(const aq_coll_op_t *op, const aq_coll_mail_t *mail, aq_coll_part_t *part)
{
    const char *wrong = aq_coll_mail_part(op, mail, part);
    if (wrong)
        refuse_mail(mail, wrong);
    else
        part->slot->unbegun--;
    return !wrong;
}

// Completes a part that has begun. Afterwards the operation may be complete and freed.
static void end_part(const aq_coll_part_t *part, const void *payload)
{
    memcpy(part->to, payload, part->nbytes);
    atomic_fetch_sub_explicit(&part->slot->missing, 1, memory_order_release);
}

// ---- early messages ----

static aq_coll_mail_t **list_of(aq_coll_t *coll, uint32_t number)
{
    return &coll->mail[number % AQ_COLL_MAIL_LISTS];
}

static void keep_mail(aq_coll_t *coll, const aq_coll_mail_t *mail, const void *payload)
{
    aq_coll_mail_t *copy = aq_allocate(sizeof *copy + mail->nbytes, "a message of a collective");
    *copy = *mail;
    if (payload)
        memcpy(copy->payload, payload, mail->nbytes);
    aq_coll_mail_t **list = coll ? list_of(coll, mail->number) : &orphans;
    copy->next = *list;
    *list = copy;
}

void aq_coll_mail_open(aq_coll_op_t *op)
{
    aq_coll_mail_t **at = list_of(op->coll, op->number), *mail;
    aq_coll_part_t part;
    while ((mail = *at) != NULL) {
        if (mail->number != op->number) {
            at = &mail->next;
            continue;
        }
        *at = mail->next;
        if (mail->row == AQ_COLL_READY)
            note_ready(op, mail);
        else if (begin_part(op, mail, &part))
            end_part(&part, mail->payload);
        free(mail);
    }
}

void aq_coll_mail_adopt(aq_coll_t *coll)
{
    aq_coll_mail_t **at = &orphans, *mail;
    while ((mail = *at) != NULL) {
        if (mail->team != coll->team->id) {
            at = &mail->next;
            continue;
        }
        *at = mail->next;
        aq_coll_mail_t **list = list_of(coll, mail->number);
        mail->next = *list;
        *list = mail;
    }
}

void aq_coll_mail_free(aq_coll_t *coll)
{
    for (unsigned i = 0; i < AQ_COLL_MAIL_LISTS; i++)
        while (coll->mail[i]) {
            aq_coll_mail_t *mail = coll->mail[i];
            coll->mail[i] = mail->next;
            free(mail);
        }
}

// ---- receiving ----

// Whether the operation with this number is complete, so that it expects no message. The caller
// holds aq_coll_lock.
static bool is_over(const aq_coll_t *coll, uint32_t number)
{
    const aq_coll_op_t *op = coll->ops;
    while (op && op->number != number)
        op = op->next;
    return !op && (int32_t)(number - coll->numbers) <= 0;
}

static aq_coll_op_t *find_started(const aq_coll_t *coll, uint32_t number)
{
    aq_coll_op_t *op = coll->ops;
    while (op && op->number != number)
        op = op->next;
    return op && op->started ? op : NULL;
}

// Finds the operation of a message; keeps the message if the operation has not started. The caller
// holds aq_coll_lock.
static aq_coll_op_t *find_op(const aq_coll_mail_t *mail, const void *payload)
{
    aq_team_t *team = aq_team_find(mail->team);
    aq_coll_t *coll = team ? team->coll : NULL;
    aq_coll_op_t *op = coll ? find_started(coll, mail->number) : NULL;
    if (!op && coll && is_over(coll, mail->number))
        refuse_mail(mail, "the operation is over");
    else if (!op)
        keep_mail(coll, mail, payload);
    return op;
}

// Copies a part without the lock: the operation cannot complete before the copy.
static void mail_arrive(const aq_coll_mail_t *mail, const void *payload)
{
    aq_coll_part_t part;
    bool begun = false;
    aq_lock_take(&aq_coll_lock);
    aq_coll_op_t *op = find_op(mail, payload);
    if (op && mail->row == AQ_COLL_READY)
        note_ready(op, mail);
    else if (op)
        begun = begin_part(op, mail, &part);
    aq_lock_drop(&aq_coll_lock);
    if (begun)
        end_part(&part, payload);
}

static void on_part(gex_Token_t token)
{
    aq_args_t args = aq_args_of(token);
    aq_coll_mail_t mail = {.source = token->arrival->source, .nbytes = token->arrival->nbytes};
    mail.team = aq_args_64(&args);
    mail.number = (uint32_t)aq_args_32(&args);
    mail.row = (uint32_t)aq_args_32(&args);
    mail.part = (uint32_t)aq_args_32(&args);
    if (mail.row == AQ_COLL_READY)
        refuse_mail(&mail, "no part has this row");
    else
        mail_arrive(&mail, token->arrival->payload);
}

static void on_ready(gex_Token_t token, int32_t team_high, int32_t team_low, int32_t number)
{
    mail_arrive(&(aq_coll_mail_t){.source = token->arrival->source,
                                  .team = aq_join(team_high, team_low),
                                  .number = (uint32_t)number,
                                  .row = AQ_COLL_READY},
                NULL);
}

void aq_coll_mail_register(void)
{
    aq_endpoint_internal_bare(AQ_HANDLER_COLL_PART, on_part,
                              GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, PART_ARGS,
                              "collective part");
    aq_endpoint_internal(AQ_HANDLER_COLL_READY, (gex_AM_Fn_t)on_ready,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, READY_ARGS, "collective ready");
}
