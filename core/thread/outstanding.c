// SPDX-License-Identifier: BSD-3-Clause
// The lists of outstanding operations, one for each thread, and the lists of what a fence waits
// for. The starts of operations in extended/ add to the former; extended/rma/fence.c asks for the
// latter.
#include "outstanding.h"

#include <stdlib.h>

#include "../ground/fatal.h"
#include "../gasnetex_core.h"
#include "../ground/lock.h"

enum { ROOM_FIRST = 64, SCOPE_BITS = 8, NO_EP = AQ_OUTSTANDING_ANY_EP - 1 };

_Static_assert(GASNET_MAXEPS < NO_EP, "no endpoint has the index NO_EP");

struct aq_outstanding {
    aq_outstanding_t *next;
    aq_lock_t lock;             // guards what follows but `scope`
    aq_outstanding_list_t list; // explicit operations
    aq_event_t *implicit;       // NULL after the thread has ended
    atomic_uint scope;          // of implicit operations: endpoint << SCOPE_BITS | local parts
};

static _Atomic(aq_outstanding_t *) all_outstanding;
static aq_lock_t all_lock; // held to add to the list, and to take the state of an ended thread

// ---- lists ----

static void list_grow(aq_outstanding_list_t *list)
{
    const uint32_t room = list->room ? 2 * list->room : ROOM_FIRST;
    list->ops =
        aq_reallocate(list->ops, room * sizeof *list->ops, "the list of outstanding operations");
    list->room = room;
}

static void list_append(aq_outstanding_list_t *list, aq_outstanding_op_t op)
{
    if (list->count == list->room)
        list_grow(list);
    list->ops[list->count++] = op;
}

void aq_outstanding_list_free(aq_outstanding_list_t *list)
{
    free(list->ops);
    *list = (aq_outstanding_list_t){NULL, 0, 0};
}

static bool op_is_freed(const aq_outstanding_op_t *op)
{
    return aq_event_uses(op->event) != op->uses;
}

static bool op_is_outstanding(const aq_outstanding_op_t *op, unsigned parts)
{
    return parts && !op_is_freed(op) && !aq_event_finished(op->event, parts);
}

// Drops each part on its own: implicit operations of one kind may begin without end while those of
// another kind complete.
static bool op_advance(aq_outstanding_op_t *op)
{
    for (unsigned p = 0; p < AQ_PART_COUNT; p++)
        if (op->parts & (1u << p) && !op_is_outstanding(op, 1u << p))
            op->parts &= (uint8_t) ~(1u << p);
    return !op->parts;
}

bool aq_outstanding_list_done(aq_outstanding_list_t *list)
{
    for (uint32_t i = 0; i < list->count;) {
        if (op_advance(&list->ops[i]))
            list->ops[i] = list->ops[--list->count];
        else
            i++;
    }
    return !list->count;
}

// ---- the state of a thread ----

static aq_outstanding_op_t op_of(aq_event_t *event, gex_EP_Index_t ep, unsigned local)
{
    return (aq_outstanding_op_t){.event = event,
                                 .uses = aq_event_uses(event),
                                 .ep = ep,
                                 .parts = AQ_OUTSTANDING_PARTS,
                                 .local = (uint8_t)(local & AQ_OUTSTANDING_PARTS)};
}

static aq_outstanding_t *outstanding_of_ended_thread(void)
{
    aq_outstanding_t *outstanding = atomic_load_explicit(&all_outstanding, memory_order_relaxed);
    while (outstanding && outstanding->implicit)
        outstanding = outstanding->next;
    return outstanding;
}

static aq_outstanding_t *outstanding_new(void)
{
    aq_outstanding_t *outstanding =
        aq_allocate_zeroed(1, sizeof *outstanding, "the outstanding operations of a thread");
    outstanding->next = atomic_load_explicit(&all_outstanding, memory_order_relaxed);
    return outstanding;
}

aq_outstanding_t *aq_outstanding_take(aq_event_t *implicit)
{
    aq_lock_take(&all_lock);
    aq_outstanding_t *outstanding = outstanding_of_ended_thread();
    const bool fresh = !outstanding;
    if (fresh)
        outstanding = outstanding_new();
    aq_lock_take(&outstanding->lock);
    outstanding->implicit = implicit;
    atomic_store_explicit(&outstanding->scope, (unsigned)NO_EP << SCOPE_BITS, memory_order_relaxed);
    aq_lock_drop(&outstanding->lock);
    if (fresh)
        atomic_store_explicit(&all_outstanding, outstanding, memory_order_release);
    aq_lock_drop(&all_lock);
    return outstanding;
}

void aq_outstanding_leave(aq_outstanding_t *outstanding)
{
    const unsigned scope = atomic_load_explicit(&outstanding->scope, memory_order_relaxed);
    aq_lock_take(&all_lock);
    aq_lock_take(&outstanding->lock);
    if (!aq_event_finished(outstanding->implicit, AQ_OUTSTANDING_PARTS))
        list_append(&outstanding->list,
                    op_of(outstanding->implicit, (gex_EP_Index_t)(scope >> SCOPE_BITS), scope));
    outstanding->implicit = NULL;
    aq_lock_drop(&outstanding->lock);
    aq_lock_drop(&all_lock);
}

// ---- what a thread begins ----

// Drops the operations that are over, and keeps regions that are not synchronized: operations may
// be added to them.
static void outstanding_sweep(aq_outstanding_list_t *list)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const aq_outstanding_op_t *op = &list->ops[i];
        if (op->region ? !op_is_freed(op) : op_is_outstanding(op, op->parts))
            list->ops[kept++] = *op;
    }
    list->count = kept;
}

static void outstanding_append(aq_outstanding_t *outstanding, aq_outstanding_op_t op)
{
    aq_outstanding_list_t *list = &outstanding->list;
    aq_lock_take(&outstanding->lock);
    if (__builtin_expect(list->count == list->room, 0)) {
        outstanding_sweep(list);
        if (list->count > list->room / 2) // so that sweeps cost a constant time per operation
            list_grow(list);
    }
    list_append(list, op);
    aq_lock_drop(&outstanding->lock);
}

static unsigned pending_in(aq_event_t *event, aq_part_t part)
{
    return atomic_load_explicit(&event->part[part].pending, memory_order_acquire);
}

// As aq_event_finished for AQ_OUTSTANDING_PARTS, without a loop, since each explicit operation
// calls this.
static bool is_complete(aq_event_t *event)
{
    return !((pending_in(event, AQ_PART_GET) | pending_in(event, AQ_PART_PUT) |
              pending_in(event, AQ_PART_RMW)) &
             ~AQ_EVENT_FAILED);
}

void aq_outstanding_add(aq_outstanding_t *outstanding, aq_event_t *event, gex_EP_Index_t ep,
                        unsigned local)
{
    if (!is_complete(event))
        outstanding_append(outstanding, op_of(event, ep, local));
}

void aq_outstanding_add_region(aq_outstanding_t *outstanding, aq_event_t *region)
{
    aq_outstanding_op_t op = op_of(region, AQ_OUTSTANDING_ANY_EP, AQ_OUTSTANDING_PARTS);
    op.region = true;
    outstanding_append(outstanding, op);
}

// Adds an endpoint and parts to the scope of the implicit operations. If none of these is
// outstanding, the scope starts anew.
static void outstanding_widen(aq_outstanding_t *outstanding, gex_EP_Index_t ep, unsigned local)
{
    const unsigned scope = atomic_load_explicit(&outstanding->scope, memory_order_relaxed);
    unsigned wide = ep;
    if (!aq_event_finished(outstanding->implicit, AQ_OUTSTANDING_PARTS)) {
        wide = scope >> SCOPE_BITS == ep ? ep : AQ_OUTSTANDING_ANY_EP;
        local |= scope & ((1u << SCOPE_BITS) - 1);
    }
    atomic_store_explicit(&outstanding->scope, wide << SCOPE_BITS | local, memory_order_relaxed);
}

void aq_outstanding_implicit(aq_outstanding_t *outstanding, gex_EP_Index_t ep, unsigned local)
{
    const unsigned scope = atomic_load_explicit(&outstanding->scope, memory_order_relaxed);
    if (__builtin_expect(scope >> SCOPE_BITS != ep || local & ~scope, 0))
        outstanding_widen(outstanding, ep, local);
}

uint32_t aq_outstanding_room(const aq_outstanding_t *outstanding)
{
    return outstanding->list.room;
}

// ---- what a fence waits for ----

static void list_watch(aq_outstanding_list_t *list, aq_outstanding_op_t op, bool local)
{
    if (local)
        op.parts = op.local;
    if (op_is_outstanding(&op, op.parts))
        list_append(list, op);
}

static bool is_wanted(unsigned ep, unsigned wanted)
{
    return ep == wanted || ep == AQ_OUTSTANDING_ANY_EP || wanted == AQ_OUTSTANDING_ANY_EP;
}

static void outstanding_watch(aq_outstanding_t *outstanding, gex_EP_Index_t ep, bool local,
                              aq_outstanding_list_t *list)
{
    const unsigned scope = atomic_load_explicit(&outstanding->scope, memory_order_relaxed);
    aq_lock_take(&outstanding->lock);
    for (uint32_t i = 0; i < outstanding->list.count; i++)
        if (is_wanted(outstanding->list.ops[i].ep, ep))
            list_watch(list, outstanding->list.ops[i], local);
    if (outstanding->implicit && is_wanted(scope >> SCOPE_BITS, ep))
        list_watch(list, op_of(outstanding->implicit, ep, scope), local);
    aq_lock_drop(&outstanding->lock);
}

void aq_outstanding_of_thread(aq_outstanding_t *outstanding, bool local,
                              aq_outstanding_list_t *list)
{
    outstanding_watch(outstanding, AQ_OUTSTANDING_ANY_EP, local, list);
    aq_lock_take(&outstanding->lock);
    outstanding_sweep(&outstanding->list);
    aq_lock_drop(&outstanding->lock);
    if (aq_event_finished(outstanding->implicit, AQ_OUTSTANDING_PARTS))
        atomic_store_explicit(&outstanding->scope, (unsigned)NO_EP << SCOPE_BITS,
                              memory_order_relaxed);
}

void aq_outstanding_of_endpoint(gex_EP_Index_t ep, bool local, aq_outstanding_list_t *list)
{
    aq_outstanding_t *outstanding = atomic_load_explicit(&all_outstanding, memory_order_acquire);
    for (; outstanding; outstanding = outstanding->next)
        outstanding_watch(outstanding, ep, local, list);
}
