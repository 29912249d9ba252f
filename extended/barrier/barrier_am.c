// SPDX-License-Identifier: BSD-3-Clause
// The step of a barrier across neighbourhoods: dissemination. In round k, neighbourhood i tells
// neighbourhood i + 2^k (modulo N) which neighbourhoods have arrived; after ceil(log2 N) rounds
// each neighbourhood knows that all have arrived.
#include <stdlib.h>

#include "../../core/am/am_args.h"
#include "../../core/am/am_send.h"
#include "../../core/record/counters.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/ground/fatal.h"
#include "../../core/ground/arg64.h"
#include "barrier_am.h"
#include "../rma/layer_table.h"

enum { ARGS = 6 };

// The content of a message.
typedef struct word {
    uint32_t source; // job rank
    uint64_t id;
    uint32_t phase, round;
    aq_vote_t vote;
} word_t;

// A message for a team that this process has not created yet. The members of that team cannot
// complete their first phase without this process, so there are at most ceil(log2 N) such messages
// for each team.
typedef struct early {
    word_t word;
    struct early *next;
} early_t;

static aq_dissemination_t *barriers;
static early_t *early;
static aq_lock_t list_lock;

// Phases are consecutive, so phases of the same parity differ by two.
static bool is_next(const aq_dissemination_t *d, const word_t *word)
{
    const uint32_t last =
        atomic_load_explicit(&d->arrived[word->phase & 1][word->round], memory_order_relaxed);
    return word->phase == last + 2 || (last == 0 && word->phase == 1);
}

static void hear_message(aq_dissemination_t *d, const word_t *word)
{
    unsigned parity = word->phase & 1;
    if (word->round >= d->rounds || word->source != d->from[word->round] || !is_next(d, word))
        aq_fatal("a message of a barrier from rank %u is wrong: phase %u, round %u of %u (barrier "
                 "0x%llx)",
                 word->source, word->phase, word->round, d->rounds, (unsigned long long)d->id);
    d->votes[parity][word->round] = word->vote;
    atomic_store_explicit(&d->arrived[parity][word->round], word->phase, memory_order_release);
}

static void hear_early(aq_dissemination_t *d)
{
    for (early_t **at = &early, *e; (e = *at) != NULL;) {
        if (e->word.id != d->id) {
            at = &e->next;
            continue;
        }
        hear_message(d, &e->word);
        *at = e->next;
        free(e);
    }
}

void aq_dissemination_start(aq_dissemination_t *d, uint64_t id, uint32_t groups, uint32_t me,
                            const uint32_t *leaders)
{
    *d = (aq_dissemination_t){.id = id, .groups = groups, .me = me};
    while ((uint64_t)1 << d->rounds < groups) {
        d->to[d->rounds] = leaders[(me + ((uint64_t)1 << d->rounds)) % groups];
        d->from[d->rounds] = leaders[(me + groups - ((uint64_t)1 << d->rounds)) % groups];
        d->rounds++;
    }
    aq_lock_take(&list_lock);
    d->next = barriers;
    barriers = d;
    hear_early(d);
    aq_lock_drop(&list_lock);
}

void aq_dissemination_end(aq_dissemination_t *d)
{
    aq_lock_take(&list_lock);
    aq_dissemination_t **at = &barriers;
    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    aq_lock_drop(&list_lock);
}

static void keep_early(const word_t *word)
{
    early_t *e = aq_allocate(sizeof *e, "a message of a barrier");
    *e = (early_t){*word, early};
    early = e;
}

static void on_message(gex_Token_t token)
{
    aq_args_t args = aq_args_of(token);
    word_t word = {.source = token->arrival->source, .id = aq_args_64(&args)};
    word.phase = (uint32_t)aq_args_32(&args);
    word.round = (uint32_t)aq_args_32(&args);
    word.vote = aq_args_64(&args);
    aq_lock_take(&list_lock);
    aq_dissemination_t *d = barriers;
    while (d && d->id != word.id)
        d = d->next;
    if (d)
        hear_message(d, &word);
    else
        keep_early(&word);
    aq_lock_drop(&list_lock);
}

static void send_round(aq_dissemination_t *d)
{
    int32_t args[ARGS] = {aq_high(d->id),    aq_low(d->id),    (int32_t)d->phase,
                          (int32_t)d->round, aq_high(d->vote), aq_low(d->vote)};
    aq_am_t am = {
        .args = args, .category = AQ_AM_SHORT, .handler = AQ_HANDLER_BARRIER, .nargs = ARGS};
    d->sent++;
    aq_count_to(d->to[d->round], AQ_COUNT_COLL);
    // IMMEDIATE, since a poll would take away the cache line that the peer is about to write.
    if (aq_am_request(d->to[d->round], &am, GEX_FLAG_IMMEDIATE))
        aq_am_request(d->to[d->round], &am, 0);
}

void aq_dissemination_enter(aq_dissemination_t *d, uint32_t phase, aq_vote_t vote)
{
    d->phase = phase;
    d->round = d->left = 0;
    d->mark = 0;
    d->vote = vote;
    if (d->rounds)
        send_round(d);
}

// The client may not poll for long after a barrier, so the barrier completes only after the
// messages of this process have left.
static bool all_have_left(aq_dissemination_t *d)
{
    for (; d->left < d->rounds; d->left++) {
        if (!aq_am_requests_flushed(d->to[d->left], &d->mark))
            return false;
        d->mark = 0;
    }
    return true;
}

bool aq_dissemination_advance(aq_dissemination_t *d, aq_vote_t *vote)
{
    unsigned parity = d->phase & 1;
    while (d->round < d->rounds) {
        if (atomic_load_explicit(&d->arrived[parity][d->round], memory_order_acquire) != d->phase)
            return false;
        d->vote = aq_vote_join(d->vote, d->votes[parity][d->round]);
        if (++d->round < d->rounds)
            send_round(d);
    }
    *vote = d->vote;
    return all_have_left(d);
}

void aq_barrier_am_register(void)
{
    aq_endpoint_internal_bare(AQ_HANDLER_BARRIER, on_message,
                              GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, ARGS, "barrier");
}
