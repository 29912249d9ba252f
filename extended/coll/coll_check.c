// SPDX-License-Identifier: BSD-3-Clause
// Checks in debug builds that all members of a team make the same calls in the same order. Each
// member sends its calls to the next member, around a ring; if calls differ, two neighbours detect
// the difference. These messages are separate from those of the operations, and no operation waits
// for them.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../core/am/am_args.h"
#include "../../core/am/am_send.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/ground/fatal.h"
#include "../../core/ground/arg64.h"
#include "coll_check.h"
#include "coll_limits.h"
#include "../rma/format.h"
#include "../rma/layer_table.h"

enum { WORDS = 11 };

typedef struct note {
    struct note *next;
    uint64_t team; // its id
    uint32_t number;
    aq_coll_words_t words;
} note_t;

// Notes that were not compared yet: calls of this rank, and of the previous rank. One of the lists
// is empty.
struct aq_coll_check {
    uint32_t calls;
    note_t *mine, *theirs;
};

static note_t *orphans; // for teams that this process has not created yet

static const char *const names[] = {
    "gex_Coll_BroadcastNB",  "gex_Coll_ReduceToOneNB",   "gex_Coll_ReduceToAllNB",
    "gasnet_coll_scatter",   "gasnet_coll_gather",       "gasnet_coll_gather_all",
    "gasnet_coll_exchange",  "gasnetx_Coll_ScanNB",      "gasnetx_Coll_ScanExclusiveNB",
    "gex_Coll_BarrierNB",    "gasnet_coll_broadcast",    "gasnetx_Coll_ScatterNB",
    "gasnetx_Coll_GatherNB", "gasnetx_Coll_AllgatherNB", "gasnetx_Coll_AlltoallNB"};
_Static_assert(sizeof names / sizeof names[0] == AQ_COLL_CALLS, "each call has a name");

static bool is_gasnet1(const aq_coll_words_t *w)
{
    return (w->call >= AQ_COLL_SCATTER && w->call <= AQ_COLL_EXCHANGE) ||
           w->call == AQ_COLL_CALL_BROADCAST1;
}

static bool has_elements(const aq_coll_words_t *w)
{
    return w->call == AQ_COLL_TO_ONE || w->call == AQ_COLL_TO_ALL || w->call == AQ_COLL_SCAN ||
           w->call == AQ_COLL_SCAN_EXCLUSIVE;
}

static void describe_call(const aq_coll_words_t *w, char *text, size_t size)
{
    char op[AQ_OP_NAMES_BYTES];
    int n = snprintf(text, size, "%s", names[w->call]);
    if (w->call == AQ_COLL_BROADCAST || w->call >= AQ_COLL_CALL_BLOCKS)
        snprintf(text + n, size - (size_t)n, " (root %u, %" PRIu64 " bytes)", w->root, w->count);
    else if (is_gasnet1(w))
        snprintf(text + n, size - (size_t)n, " (root %u, %" PRIu64 " bytes, flags %#x)", w->root,
                 w->count, w->op);
    else if (w->call == AQ_COLL_TO_ONE)
        n += snprintf(text + n, size - (size_t)n, " (root %u,", w->root);
    else if (has_elements(w))
        n += snprintf(text + n, size - (size_t)n, " (");
    if (has_elements(w))
        snprintf(text + n, size - (size_t)n, "%s%" PRIu64 " elements %s of %" PRIu64 " bytes, %s)",
                 w->call == AQ_COLL_TO_ONE ? " " : "", w->count, aq_dt_name(w->dt), w->unit,
                 aq_op_names(w->op, op));
}

// An arbitrary total order of calls.
static int order_calls(const aq_coll_words_t *a, const aq_coll_words_t *b)
{
    const uint64_t left[] = {(uint64_t)a->call, a->root, a->dt, a->op, a->unit, a->count};
    const uint64_t right[] = {(uint64_t)b->call, b->root, b->dt, b->op, b->unit, b->count};
    for (unsigned i = 0; i < sizeof left / sizeof left[0]; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

// If calls differ, their order rises at one place of the ring and falls at another, so it is enough
// to report one of the two.
static void compare_calls(const aq_coll_t *coll, const aq_coll_words_t *mine,
                          const aq_coll_words_t *theirs)
{
    char my_call[192], their_call[192];
    const struct gex_tm *head = &coll->team->head;
    if (order_calls(mine, theirs) >= 0)
        return;
    describe_call(mine, my_call, sizeof my_call);
    describe_call(theirs, their_call, sizeof their_call);
    aq_fatal("the members of a team have to make the same collective calls in the same order, but "
             "rank %u of the team calls %s where rank %u calls %s",
             head->rank, my_call, (head->rank + head->size - 1) % head->size, their_call);
}

static void keep_note(note_t **list, uint64_t team, uint32_t number, const aq_coll_words_t *words)
{
    note_t *note = aq_allocate(sizeof *note, "the checks of collectives");
    *note = (note_t){*list, team, number, *words};
    *list = note;
}

// Removes the note of a number (0: any number) of a team from a list and returns it, or NULL.
static note_t *take_note(note_t **list, uint64_t team, uint32_t number)
{
    while (*list && ((*list)->team != team || (number && (*list)->number != number)))
        list = &(*list)->next;
    note_t *note = *list;
    if (note)
        *list = note->next;
    return note;
}

// Compares the call of one side with the call of the other side, or keeps it until the other call
// is known. The caller holds aq_coll_lock.
static void meet_note(aq_coll_t *coll, uint32_t number, const aq_coll_words_t *words, bool mine)
{
    struct aq_coll_check *check = coll->check;
    note_t *other = take_note(mine ? &check->theirs : &check->mine, coll->team->id, number);
    if (!other) {
        keep_note(mine ? &check->mine : &check->theirs, coll->team->id, number, words);
        return;
    }
    compare_calls(coll, mine ? words : &other->words, mine ? &other->words : words);
    free(other);
}

static void on_call(gex_Token_t token)
{
    aq_args_t args = aq_args_of(token);
    aq_coll_words_t words;
    const uint64_t team = aq_args_64(&args);
    const uint32_t number = (uint32_t)aq_args_32(&args);
    words.call = aq_args_32(&args);
    words.root = (uint32_t)aq_args_32(&args);
    words.dt = (uint32_t)aq_args_32(&args);
    words.op = (uint32_t)aq_args_32(&args);
    words.unit = aq_args_64(&args);
    words.count = aq_args_64(&args);
    if ((uint32_t)words.call >= AQ_COLL_CALLS)
        aq_fatal("the check of a collective from rank %u names call %d, which does not exist",
                 token->arrival->source, words.call);
    aq_lock_take(&aq_coll_lock);
    aq_team_t *known = aq_team_find(team);
    if (known && known->coll)
        meet_note(known->coll, number, &words, false);
    else
        keep_note(&orphans, team, number, &words);
    aq_lock_drop(&aq_coll_lock);
}

void aq_coll_check_same(aq_coll_t *coll, const aq_coll_words_t *w)
{
    const struct gex_tm *head = &coll->team->head;
    (void)aq_coll_bytes(w->unit, w->count); // a call that is wrong by itself is named as such
    if (head->size == 1)
        return;
    aq_lock_take(&aq_coll_lock);
    uint32_t number = ++coll->check->calls;
    meet_note(coll, number, w, true);
    aq_lock_drop(&aq_coll_lock);
    int32_t args[WORDS] = {
        aq_high(coll->team->id), aq_low(coll->team->id), (int32_t)number, w->call,
        (int32_t)w->root,        (int32_t)w->dt,         (int32_t)w->op,  aq_high(w->unit),
        aq_low(w->unit),         aq_high(w->count),      aq_low(w->count)};
    aq_am_request_short(aq_team_jobrank(coll->team, (head->rank + 1) % head->size),
                        AQ_HANDLER_COLL_CALL, WORDS, args, 0);
}

void aq_coll_check_start(aq_coll_t *coll)
{
    coll->check = aq_allocate_zeroed(1, sizeof *coll->check, "the checks of collectives");
    for (note_t *note; (note = take_note(&orphans, coll->team->id, 0)) != NULL; free(note))
        keep_note(&coll->check->theirs, note->team, note->number, &note->words);
}

void aq_coll_check_end(aq_coll_t *coll)
{
    note_t *note;
    while ((note = take_note(&coll->check->mine, coll->team->id, 0)) != NULL ||
           (note = take_note(&coll->check->theirs, coll->team->id, 0)) != NULL)
        free(note);
    free(coll->check);
}

void aq_coll_check_register(void)
{
    if (AQ_CHECKS)
        aq_endpoint_internal_bare(AQ_HANDLER_COLL_CALL, on_call,
                                  GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, WORDS,
                                  "collective call");
}
