// SPDX-License-Identifier: BSD-3-Clause
// Decides the faults of datagrams, and holds delayed ones. If a fault is requested, udp_socket.c
// passes each outgoing datagram through udp_faults_offer.
#include "udp_faults.h"
#include "../profile/udp_profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../../core/aqueduct.h"
#include "../../../other/base/log/log.h"
#include "../../../other/base/modules/observed.h"
#include "../../../other/base/settings/settings.h"

#define NS_PER_MS 1e6
// A reordered datagram that no other overtakes is sent after this time.
#define REORDER_LIMIT_NS 200000u

// The copy of a delayed datagram.
typedef struct udp_held {
    struct udp_held *next;
    udp_sockaddr_t to;
    uint64_t due;       // the time at which it is sent,
    uint64_t overtaken; // or the number of offered datagrams after which it is sent
    size_t length;
    uint8_t bytes[];
} udp_held_t;

struct udp_faults {
    pthread_mutex_t lock;
    udp_faults_rates_t rates;
    udp_faults_counts_t counts;
    uint64_t random;
    udp_held_t *held; // in order of arrival
};

// ---- decisions ----

// The generator splitmix64.
static uint64_t next_random(uint64_t *random)
{
    uint64_t z = *random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

// Draws one number whatever the rate is, so that one rate does not influence the effect of another.
static bool random_chance(uint64_t *random, double percent)
{
    double at = (double)(next_random(random) >> 11) * 0x1p-53; // in [0, 1)
    return at * 100 < percent;
}

udp_faults_plan_t udp_faults_decide(const udp_faults_rates_t *rates, uint64_t *random,
                                    size_t length)
{
    udp_faults_plan_t plan = {.copies = 1, .length = length, .flip = SIZE_MAX};
    plan.drop = random_chance(random, rates->drop);
    bool duplicate = random_chance(random, rates->duplicate),
         reorder = random_chance(random, rates->reorder);
    bool delay = random_chance(random, rates->delay),
         truncate = random_chance(random, rates->truncate);
    bool flip = random_chance(random, rates->flip);
    uint64_t by = next_random(random), until = next_random(random), cut = next_random(random),
             bit = next_random(random);
    if (duplicate)
        plan.copies = 2;
    if (reorder)
        plan.overtake = 1 + (unsigned)(by % UDP_FAULTS_OVERTAKE);
    if (delay && rates->delay_ns)
        plan.delay_ns = 1 + until % rates->delay_ns;
    if (truncate && length)
        plan.length = cut % length;
    if (flip && plan.length)
        plan.flip = bit % (plan.length * 8);
    return plan;
}

// ---- start and stop ----

aq_status_t udp_faults_make(const udp_faults_rates_t *rates, uint64_t seed, udp_faults_t **out)
{
    udp_faults_t *faults = calloc(1, sizeof *faults);
    if (!faults) {
        aq_log_error("out of memory for the faults of GASNET_UDP_FAULT_... (%zu bytes)",
                     sizeof *faults);
        return AQ_ERR_RESOURCE;
    }
    pthread_mutex_init(&faults->lock, NULL);
    faults->rates = *rates;
    faults->random = seed;
    *out = faults;
    return AQ_OK;
}

aq_status_t udp_faults_start(uint32_t rank, udp_faults_t **out)
{
    udp_faults_rates_t rates = {
        .drop = aq_setting_real(aq_udp_setting(UDP_SET_FAULT_DROP)),
        .duplicate = aq_setting_real(aq_udp_setting(UDP_SET_FAULT_DUPLICATE)),
        .reorder = aq_setting_real(aq_udp_setting(UDP_SET_FAULT_REORDER)),
        .delay = aq_setting_real(aq_udp_setting(UDP_SET_FAULT_DELAY)),
        .truncate = aq_setting_real(aq_udp_setting(UDP_SET_FAULT_TRUNCATE)),
        .flip = aq_setting_real(aq_udp_setting(UDP_SET_FAULT_FLIP)),
        .forge = aq_setting_real(aq_udp_setting(UDP_SET_FAULT_FORGE)),
        .delay_ns = (uint64_t)(aq_setting_real(aq_udp_setting(UDP_SET_FAULT_DELAY_MS)) * NS_PER_MS),
    };
    uint64_t seed = (uint64_t)aq_setting_int(aq_udp_setting(UDP_SET_FAULT_SEED));
    *out = NULL;
    if (rates.drop + rates.duplicate + rates.reorder + rates.delay + rates.truncate + rates.flip +
            rates.forge ==
        0)
        return AQ_OK;
    return udp_faults_make(&rates, (seed << 32 | seed >> 32) + rank, out);
}

void udp_faults_stop(udp_faults_t *faults)
{
    if (!faults)
        return;
    for (udp_held_t *held = faults->held, *next; held; held = next) {
        next = held->next;
        free(held);
    }
    pthread_mutex_destroy(&faults->lock);
    free(faults);
}

// ---- datagrams ----

void udp_faults_forge(udp_faults_t *faults, uint8_t *bytes, size_t length)
{
    pthread_mutex_lock(&faults->lock);
    if (faults->rates.forge > 0 && random_chance(&faults->random, faults->rates.forge) && length) {
        const uint64_t bit = next_random(&faults->random) % (length * 8);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        faults->counts.forged++;
    }
    pthread_mutex_unlock(&faults->lock);
}

// A copy with the changes of the plan; NULL: no memory, so the datagram is lost.
static udp_held_t *copy_of(const udp_outgoing_t *datagram, const udp_faults_plan_t *plan)
{
    udp_held_t *held = malloc(sizeof *held + udp_outgoing_bytes(datagram));
    size_t at = 0;
    if (!held)
        return NULL;
    *held = (udp_held_t){.to = *datagram->to, .length = plan->length};
    for (unsigned i = 0; i < datagram->count; i++) {
        memcpy(held->bytes + at, datagram->pieces[i].iov_base, datagram->pieces[i].iov_len);
        at += datagram->pieces[i].iov_len;
    }
    if (plan->flip != SIZE_MAX)
        held->bytes[plan->flip / 8] ^= (uint8_t)(1u << plan->flip % 8);
    return held;
}

static void count_plan(udp_faults_counts_t *counts, const udp_faults_plan_t *plan, size_t length)
{
    counts->offered++;
    counts->dropped += plan->drop;
    if (plan->drop) {
        aq_observed(AQ_OBSERVED_DROP, AQ_OBSERVED_NO_PEER, GASNETX_DROP_INJECTED);
        return;
    }
    counts->duplicated += plan->copies > 1;
    counts->reordered += plan->overtake > 0;
    counts->delayed += plan->delay_ns > 0;
    counts->truncated += plan->length < length;
    counts->flipped += plan->flip != SIZE_MAX;
}

static void copy_hold(udp_faults_t *faults, udp_held_t *held, const udp_faults_plan_t *plan,
                      uint64_t now)
{
    udp_held_t **end = &faults->held;
    held->due = now + (plan->delay_ns ? plan->delay_ns : REORDER_LIMIT_NS);
    held->overtaken = plan->delay_ns ? UINT64_MAX : faults->counts.offered + plan->overtake;
    while (*end)
        end = &(*end)->next;
    *end = held;
}

static void emit_due(udp_faults_t *faults, uint64_t now, udp_faults_emit_t *emit, void *context)
{
    for (udp_held_t **at = &faults->held; *at;) {
        udp_held_t *held = *at;
        if (held->due > now && held->overtaken > faults->counts.offered) {
            at = &held->next;
            continue;
        }
        *at = held->next;
        emit(context, &held->to, held->bytes, held->length);
        free(held);
    }
}

// Emits one copy now, or holds it.
static void copy_dispatch(udp_faults_t *faults, const udp_outgoing_t *datagram,
                          const udp_faults_plan_t *plan, uint64_t now, udp_faults_emit_t *emit,
                          void *context)
{
    udp_held_t *held = copy_of(datagram, plan);
    if (!held)
        return;
    if (plan->overtake || plan->delay_ns) {
        copy_hold(faults, held, plan, now);
        return;
    }
    emit(context, &held->to, held->bytes, held->length);
    free(held);
}

void udp_faults_offer(udp_faults_t *faults, const udp_outgoing_t *datagram, uint64_t now,
                      udp_faults_emit_t *emit, void *context)
{
    pthread_mutex_lock(&faults->lock);
    size_t length = udp_outgoing_bytes(datagram);
    udp_faults_plan_t plan = udp_faults_decide(&faults->rates, &faults->random, length);
    count_plan(&faults->counts, &plan, length);
    for (unsigned i = 0; !plan.drop && i < plan.copies; i++) {
        copy_dispatch(faults, datagram, &plan, now, emit, context);
        plan.length = length; // the second copy is intact and in order
        plan.flip = SIZE_MAX;
        plan.overtake = 0;
        plan.delay_ns = 0;
    }
    emit_due(faults, now, emit, context);
    pthread_mutex_unlock(&faults->lock);
}

void udp_faults_due(udp_faults_t *faults, uint64_t now, udp_faults_emit_t *emit, void *context)
{
    pthread_mutex_lock(&faults->lock);
    emit_due(faults, now, emit, context);
    pthread_mutex_unlock(&faults->lock);
}

uint64_t udp_faults_deadline(udp_faults_t *faults)
{
    uint64_t soonest = UINT64_MAX;
    pthread_mutex_lock(&faults->lock);
    for (udp_held_t *held = faults->held; held; held = held->next)
        if (held->due < soonest)
            soonest = held->due;
    pthread_mutex_unlock(&faults->lock);
    return soonest;
}

udp_faults_counts_t udp_faults_count(udp_faults_t *faults)
{
    pthread_mutex_lock(&faults->lock);
    udp_faults_counts_t counts = faults->counts;
    pthread_mutex_unlock(&faults->lock);
    return counts;
}
