// SPDX-License-Identifier: BSD-3-Clause
// The counts, changed by atomic operations without a lock. Conduits mpi, ibv and ofi call them
// before each request and at each arrival.
#include "credit.h"
#include "../../other/base/minmax.h"

static unsigned at_least_one(unsigned n)
{
    return n ? n : 1;
}

aq_credit_limits_t aq_credit_fit(aq_credit_limits_t wanted, uint32_t peers)
{
    aq_credit_limits_t fit = {.total = at_least_one(wanted.total)};
    fit.each = at_least_one(wanted.each < fit.total ? wanted.each : fit.total);
    fit.slack = wanted.slack < fit.each - 1 ? wanted.slack : fit.each - 1;
    // All peers may have banked their slack, and still one more request must be able to leave.
    if (peers && fit.slack > (fit.total - 1) / peers)
        fit.slack = (fit.total - 1) / peers;
    return fit;
}

void aq_credit_pool_start(aq_credit_pool_t *pool, unsigned total)
{
    atomic_init(&pool->free, total);
}

void aq_credit_start(aq_credit_t *credit, aq_credit_pool_t *pool, unsigned free, unsigned granted,
                     unsigned slack)
{
    credit->pool = pool;
    atomic_init(&credit->free, free);
    atomic_init(&credit->banked, 0);
    credit->most = free;
    credit->slack = granted && slack > granted - 1 ? granted - 1 : slack;
}

// Takes up to `most` from a count; returns how many.
static unsigned take_some(atomic_uint *count, unsigned most)
{
    unsigned there = atomic_load_explicit(count, memory_order_relaxed), n;
    do
        n = aq_min(there, most);
    while (n && !atomic_compare_exchange_weak_explicit(count, &there, there - n,
                                                       memory_order_acquire, memory_order_relaxed));
    return n;
}

static void add_credits(atomic_uint *count, unsigned n)
{
    atomic_fetch_add_explicit(count, n, memory_order_release);
}

bool aq_credit_take(aq_credit_t *credit)
{
    if (!take_some(&credit->free, 1))
        return false;
    if (take_some(&credit->pool->free, 1))
        return true;
    add_credits(&credit->free, 1);
    return false;
}

void aq_credit_untake(aq_credit_t *credit)
{
    aq_credit_give(credit, 1);
}

bool aq_credit_give(aq_credit_t *credit, unsigned n)
{
    if (!n)
        return true;
    if (n > credit->most - atomic_load_explicit(&credit->free, memory_order_relaxed))
        return false;
    add_credits(&credit->pool->free, n);
    add_credits(&credit->free, n);
    return true;
}

unsigned aq_credit_collect(aq_credit_t *credit, unsigned most)
{
    return take_some(&credit->banked, most);
}

void aq_credit_return(aq_credit_t *credit, unsigned n)
{
    if (n)
        add_credits(&credit->banked, n);
}

bool aq_credit_bank(aq_credit_t *credit)
{
    add_credits(&credit->banked, 1);
    return aq_credit_due(credit);
}
