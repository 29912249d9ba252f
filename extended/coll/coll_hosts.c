// SPDX-License-Identifier: BSD-3-Clause
// Teams of several hosts with several members on some of them: an operation is a chain of up to
// three operations, over the members of a host, who share memory, and over the leaders, the first
// members of all hosts.
//
//                  at the members of a host              at leaders   at the members of a host
//     broadcast    root of this host -> all              broadcast    leader -> all, other hosts
//     to one       to the leader                         to one       -
//     to all       to the leader                         to all       leader -> all
//
// - Each rank initiates its steps when the client makes the call, and the engine holds a step until
//   the one before is complete. So all members of a part have the same order of operations.
// - These reductions are not divided, but go along a tree of the whole team: to a root that is no
//   leader; and with an operator that does not commute, if the ranks of a host are not consecutive.
// - The part of a host uses the areas in the slots of the team, which the whole team does not use.

#include "../../core/ground/fatal.h"
#include "coll_hosts.h"
#include "coll_tree.h"
#include "coll_limits.h"

// ---- steps ----

// The steps of this rank so far.
typedef struct chain {
    aq_coll_step_t *step;
    uint32_t count;
} chain_t;

// Adds a step over a part if this rank is a member of the part. The step waits for the one before.
static void chain_add(chain_t *chain, aq_coll_t *part, const aq_coll_call_t *call)
{
    if (!part)
        return;
    chain->step[chain->count] =
        (aq_coll_step_t){.coll = part, .call = *call, .waits = chain->count > 0};
    chain->count++;
}

static uint32_t my_group(const aq_coll_t *coll)
{
    return aq_coll_map_group(&coll->map, coll->team->head.rank);
}

// The number of a rank among the members of its host.
static uint32_t rank_inside(const aq_coll_t *coll, uint32_t rank)
{
    const uint32_t place = coll->map.where ? coll->map.where[rank] : rank;
    return place - aq_coll_map_start(&coll->map, aq_coll_map_group(&coll->map, rank));
}

// Divides a broadcast on the host of the root. The root, if it is the leader, sends to the other
// hosts first.
static void divide_at_root(chain_t *chain, const aq_coll_t *coll, aq_coll_call_t call)
{
    aq_coll_call_t across = call;
    const bool is_root = call.root == coll->team->head.rank;
    across.root = my_group(coll);
    call.root = rank_inside(coll, call.root);
    if (is_root)
        chain_add(chain, coll->across, &across);
    chain_add(chain, coll->local, &call);
    chain->step[chain->count - 1].waits = false;
    across.src = call.dst;
    if (!is_root)
        chain_add(chain, coll->across, &across);
}

static void divide_broadcast(chain_t *chain, const aq_coll_t *coll, aq_coll_call_t call)
{
    const uint32_t group = aq_coll_map_group(&coll->map, call.root);
    if (group == my_group(coll)) {
        divide_at_root(chain, coll, call);
        return;
    }
    call.root = group;
    chain_add(chain, coll->across, &call);
    call.root = 0;
    call.src = call.dst;
    chain_add(chain, coll->local, &call);
}

// The buffer for what the members of a host have combined at their leader. *own: memory to be freed
// with the step, or NULL.
static void *combined_at(const aq_coll_t *coll, const aq_coll_call_t *call, bool is_result,
                         void **own)
{
    *own = NULL;
    if (!coll->across || is_result)
        return call->dst;
    *own = aq_allocate(call->unit * call->count, "a collective");
    return *own;
}

static void divide_to_one(chain_t *chain, const aq_coll_t *coll, aq_coll_call_t call)
{
    const bool is_root = call.root == coll->team->head.rank;
    const uint32_t group = aq_coll_map_group(&coll->map, call.root);
    void *own = NULL, *dst = call.dst;
    if (coll->local) {
        call.dst = combined_at(coll, &call, is_root, &own);
        call.root = 0;
        chain_add(chain, coll->local, &call);
        call.src = call.dst;
    }
    call.dst = dst;
    call.root = group;
    chain_add(chain, coll->across, &call);
    chain->step[chain->count - 1].own = own;
}

static void divide_to_all(chain_t *chain, const aq_coll_t *coll, aq_coll_call_t call)
{
    aq_coll_call_t up = call;
    up.kind = AQ_COLL_TO_ONE;
    up.root = 0;
    chain_add(chain, coll->local, &up);
    if (coll->local)
        call.src = call.dst;
    chain_add(chain, coll->across, &call);
    call.kind = AQ_COLL_BROADCAST;
    call.root = 0;
    call.src = call.dst;
    chain_add(chain, coll->local, &call);
}

// Whether a broadcast is divided. With small payloads the wait between two steps costs more than
// messages inside a host, unless these are many.
static bool divides_broadcast(const aq_coll_t *coll, size_t bytes)
{
    return bytes >= aq_coll_limits.host.spread ||
           coll->map.size >= (uint64_t)aq_coll_limits.host.ranks * coll->map.groups;
}

static bool divides_to_one(const aq_coll_t *coll, const aq_coll_call_t *call, size_t bytes)
{
    return bytes >= aq_coll_limits.host.one &&
           aq_coll_map_leader(&coll->map, aq_coll_map_group(&coll->map, call->root)) == call->root;
}

static bool divides(const aq_coll_t *coll, const aq_coll_call_t *call)
{
    const size_t bytes = call->unit * call->count;
    if (!call->count || (call->in_order && coll->map.order))
        return false;
    switch (call->kind) {
    case AQ_COLL_BROADCAST:
        return divides_broadcast(coll, bytes);
    case AQ_COLL_TO_ONE:
        return divides_to_one(coll, call, bytes);
    case AQ_COLL_TO_ALL:
        return bytes >= aq_coll_limits.host.all;
    default:
        return false;
    }
}

uint32_t aq_coll_hosts_divide(const aq_coll_t *coll, const aq_coll_call_t *call,
                              aq_coll_step_t steps[AQ_COLL_STEPS])
{
    chain_t chain = {.step = steps};
    if (!divides(coll, call))
        return 0;
    if (call->kind == AQ_COLL_BROADCAST)
        divide_broadcast(&chain, coll, *call);
    else if (call->kind == AQ_COLL_TO_ONE)
        divide_to_one(&chain, coll, *call);
    else
        divide_to_all(&chain, coll, *call);
    return chain.count;
}
