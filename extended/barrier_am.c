// The step of a barrier across neighbourhoods: dissemination. In round k, number i tells number i +
// 2^k (around the ring) what it knows; after ceil(log2 N) rounds everybody knows of all.
#include <string.h>

#include "../core/am.h"
#include "../core/endpoint.h"
#include "../core/job.h"
#include "../core/layers.h"
#include "barrier.h"
#include "handlers.h"

enum { BARRIERS = 2 };
static aq_dissemination_t *barriers[BARRIERS];

static void find_targets(aq_dissemination_t *d)
{
    for (uint32_t k = 0; k < d->rounds; k++)
        d->to[k] = aq_job_nbrhd_leader((uint32_t)((d->me + ((uint64_t)1 << k)) % d->groups));
}

void aq_dissemination_start(aq_dissemination_t *d, unsigned number)
{
    memset(d, 0, sizeof *d);
    d->groups = aq_job.nbrhd.groups;
    d->me = aq_job.nbrhd.my_group;
    while ((uint64_t)1 << d->rounds < d->groups)
        d->rounds++;
    barriers[number] = d;
    if (aq_job.nbrhd.my_index == 0 && d->groups > 1)
        find_targets(d);
}

static void on_message(gex_Token_t token, int32_t number, int32_t phase, int32_t round,
                       int32_t high, int32_t low)
{
    (void)token;
    aq_dissemination_t *d = barriers[number];
    unsigned parity = phase & 1;
    d->heard[parity][round] = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
    atomic_store_explicit(&d->arrived[parity][round], (uint32_t)phase, memory_order_release);
}

static int32_t number_of(const aq_dissemination_t *d)
{
    return d == barriers[0] ? 0 : 1;
}

static void send_round(aq_dissemination_t *d)
{
    int32_t args[] = {number_of(d), (int32_t)d->phase, (int32_t)d->round, (int32_t)(d->vote >> 32),
                      (int32_t)(uint32_t)d->vote};
    aq_am_t am = {.args = args, .category = AQ_AM_SHORT, .handler = AQ_HANDLER_BARRIER, .nargs = 5};
    d->sent++;
    aq_am_request(d->to[d->round], &am, 0);
}

void aq_dissemination_enter(aq_dissemination_t *d, uint32_t phase, aq_vote_t vote)
{
    d->phase = phase;
    d->round = 0;
    d->vote = vote;
    if (d->rounds)
        send_round(d);
}

bool aq_dissemination_advance(aq_dissemination_t *d, aq_vote_t *vote)
{
    unsigned parity = d->phase & 1;
    while (d->round < d->rounds) {
        if (atomic_load_explicit(&d->arrived[parity][d->round], memory_order_acquire) != d->phase)
            return false;
        d->vote = aq_vote_join(d->vote, d->heard[parity][d->round]);
        if (++d->round < d->rounds)
            send_round(d);
    }
    *vote = d->vote;
    return true;
}

static void start(void)
{
    aq_endpoint_internal(AQ_HANDLER_BARRIER, (gex_AM_Fn_t)on_message,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 5, "barrier");
}

static __attribute__((constructor)) void add_layer(void)
{
    static aq_layer_t layer = {start, NULL};
    aq_layers_add(&layer);
}
