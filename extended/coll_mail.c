// The messages of collectives, and those that come before their operation has started.
//
// What bounds the early ones: an operation starts only when the last one that synchronized all
// ranks (its fence, coll_engine.c) is complete here, and between two fences little is sent unasked.
#include <stdlib.h>
#include <string.h>

#include "../core/am.h"
#include "../core/endpoint.h"
#include "../core/fatal.h"
#include "../core/job.h"
#include "../core/layers.h"
#include "../core/words.h"
#include "coll.h"
#include "handlers.h"

enum { ON_PART = AQ_HANDLER_COLL, ON_READY };
enum { PART_ARGS = 5, READY_ARGS = 3 };

// For teams that this process has not made yet.
static aq_coll_mail_t *orphans;

// ---- out ----

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
                  .handler = ON_PART,
                  .nargs = PART_ARGS};
    aq_am_request(aq_team_jobrank(team, rank), &am, 0);
}

void aq_coll_send_ready(const aq_coll_op_t *op, uint32_t rank)
{
    const aq_team_t *team = op->coll->team;
    int32_t args[READY_ARGS] = {aq_high(team->id), aq_low(team->id), (int32_t)op->number};
    aq_am_t am = {.args = args, .category = AQ_AM_SHORT, .handler = ON_READY, .nargs = READY_ARGS};
    aq_am_request(aq_team_jobrank(team, rank), &am, 0);
}

// ---- into an operation ----

// Where a part belongs; NULL when the operation has no such part, since the ranks do not make the
// same call.
static char *place_of(const aq_coll_op_t *op, const aq_coll_mail_t *mail)
{
    uint32_t piece = mail->part / op->parts_of_piece;
    size_t offset = piece * op->piece + mail->part % op->parts_of_piece * op->part;
    char *base = mail->row ? op->boxes + (mail->row - 1) * op->stride : op->call.dst;
    bool fits = mail->row <= op->tree.children && (mail->row || op->awaits_down) &&
                (!mail->row || op->call.kind != AQ_COLL_BROADCAST) && offset < op->bytes &&
                mail->nbytes <= op->bytes - offset;
    return fits || !AQ_CHECKS ? base + offset : NULL;
}

// After this the operation may be completed, and gone.
static void land(aq_coll_op_t *op, const aq_coll_mail_t *mail, const void *payload)
{
    if (mail->row == AQ_COLL_READY) {
        atomic_fetch_add_explicit(&op->ready, 1, memory_order_release);
        return;
    }
    char *to = place_of(op, mail);
    if (!to)
        return; // coll_check.c will say what is wrong
    memcpy(to, payload, mail->nbytes);
    size_t at = (size_t)mail->row * op->pieces + mail->part / op->parts_of_piece;
    atomic_fetch_add_explicit(&op->arrived[at], 1, memory_order_release);
}

// ---- early ----

static aq_coll_mail_t **list_of(aq_coll_t *coll, uint32_t number)
{
    return &coll->mail[number % AQ_COLL_MAIL_LISTS];
}

static void keep(aq_coll_t *coll, const aq_coll_mail_t *mail, const void *payload)
{
    aq_coll_mail_t *copy = malloc(sizeof *copy + mail->nbytes);
    if (!copy)
        aq_fatal("out of memory for a message of a collective (%zu bytes)", mail->nbytes);
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
    while ((mail = *at) != NULL) {
        if (mail->number != op->number) {
            at = &mail->next;
            continue;
        }
        *at = mail->next;
        land(op, mail, mail->payload);
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

// ---- in ----

// A part is copied without the lock: its operation waits for it, and is not complete before.
static void arrive(const aq_coll_mail_t *mail, const void *payload)
{
    aq_coll_op_t *op = NULL;
    aq_lock_take(&aq_coll_lock);
    aq_team_t *team = aq_team_find(mail->team);
    aq_coll_t *coll = team ? team->coll : NULL;
    if (coll)
        op = aq_coll_find_started(coll, mail->number);
    if (!op)
        keep(coll, mail, payload);
    aq_lock_drop(&aq_coll_lock);
    if (op)
        land(op, mail, payload);
}

static void on_part(gex_Token_t token, void *payload, size_t nbytes, int32_t team_high,
                    int32_t team_low, int32_t number, int32_t row, int32_t part)
{
    (void)token;
    arrive(&(aq_coll_mail_t){.team = aq_join(team_high, team_low),
                             .number = (uint32_t)number,
                             .row = (uint32_t)row,
                             .part = (uint32_t)part,
                             .nbytes = nbytes},
           payload);
}

static void on_ready(gex_Token_t token, int32_t team_high, int32_t team_low, int32_t number)
{
    (void)token;
    arrive(&(aq_coll_mail_t){.team = aq_join(team_high, team_low),
                             .number = (uint32_t)number,
                             .row = AQ_COLL_READY},
           NULL);
}

static void start(void)
{
    aq_endpoint_internal(ON_PART, (gex_AM_Fn_t)on_part, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST,
                         PART_ARGS, "collective part");
    aq_endpoint_internal(ON_READY, (gex_AM_Fn_t)on_ready, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST,
                         READY_ARGS, "collective ready");
}

static __attribute__((constructor)) void add_layer(void)
{
    static aq_layer_t layer = {start, NULL};
    aq_layers_add(&layer);
}
