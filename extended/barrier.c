#include "barrier.h"

#include "../core/fatal.h"
#include "../core/job.h"
#include "../core/layers.h"
#include "gasnetex_rma.h"

static aq_barrier_t team_barrier;  // gex_Coll_BarrierNB over the primordial team
static aq_barrier_t named_barrier; // gasnet_barrier_notify and its kin

static bool enter_next(aq_barrier_t *b)
{
    if (b->entered != atomic_load_explicit(&b->completed, memory_order_relaxed) ||
        b->entered == b->initiated)
        return false;
    b->entered++;
    aq_shared_arrive(&b->shared, b->entered, b->vote);
    b->vote = AQ_VOTE_NONE;
    return true;
}

// The part of a neighbourhood's first process when there are several neighbourhoods.
static void speak_for_nbrhd(aq_barrier_t *b)
{
    aq_vote_t vote;
    if (!b->disseminating) {
        if (!aq_shared_gathered(&b->shared, b->entered, &vote))
            return;
        b->disseminating = true;
        aq_dissemination_enter(&b->across, b->entered, vote);
    }
    if (!aq_dissemination_advance(&b->across, &vote))
        return;
    b->disseminating = false;
    aq_shared_release(&b->shared, b->entered, vote);
}

static void complete_phase(aq_barrier_t *b, aq_vote_t result)
{
    aq_event_t *event = b->first;
    b->result = result;
    atomic_store_explicit(&b->completed, b->entered, memory_order_release);
    aq_progress_busy(-1);
    if (event) {
        b->first = event->next;
        aq_event_end(aq_event_part(event, AQ_PART_OTHER));
    }
}

// With busy held: goes as far as possible; true when a phase was completed.
static bool advance(aq_barrier_t *b)
{
    bool any = false;
    for (;;) {
        aq_vote_t vote;
        enter_next(b);
        if (b->entered == atomic_load_explicit(&b->completed, memory_order_relaxed))
            return any;
        if (!b->shared.last_releases && b->shared.index == 0)
            speak_for_nbrhd(b);
        if (!aq_shared_released(&b->shared, b->entered, &vote))
            return any;
        complete_phase(b, vote);
        any = true;
    }
}

static bool try_busy(aq_barrier_t *b)
{
    return !atomic_load_explicit(&b->busy, memory_order_relaxed) &&
           !atomic_exchange_explicit(&b->busy, 1, memory_order_acquire);
}

static void drop_busy(aq_barrier_t *b)
{
    atomic_store_explicit(&b->busy, 0, memory_order_release);
}

// Not entered again from a poll inside of it: busy.
static bool turn(aq_task_t *task)
{
    aq_barrier_t *b = (aq_barrier_t *)(void *)task;
    if (!try_busy(b))
        return false;
    bool any = advance(b);
    drop_busy(b);
    return any;
}

// Initiates one phase. Returns its event, or GEX_EVENT_INVALID when it is complete already.
static gex_Event_t initiate(aq_barrier_t *b, aq_vote_t vote)
{
    while (!try_busy(b))
        gasnet_AMPoll(); // another thread advances it
    b->initiated++;
    b->vote = vote;
    aq_progress_busy(1);
    aq_event_t *event = NULL;
    if (b->initiated - atomic_load_explicit(&b->completed, memory_order_relaxed) > 1 ||
        !advance(b)) {
        event = aq_event_new();
        aq_event_begin(aq_event_part(event, AQ_PART_OTHER));
        if (b->first)
            b->last->next = event;
        else
            b->first = event;
        b->last = event;
    }
    drop_busy(b);
    return event ? aq_event_part(event, AQ_PART_ROOT) : GEX_EVENT_INVALID;
}

gex_Event_t gex_Coll_BarrierNB(gex_TM_t tm, gex_Flags_t flags)
{
    (void)tm, (void)flags;
    if (AQ_CHECKS)
        aq_thread_check_context("gex_Coll_BarrierNB", "");
    return initiate(&team_barrier, AQ_VOTE_NONE);
}

// ---- the split-phase barrier of GASNet-1 ----

static struct {
    gex_Event_t event;
    int id, flags;
    bool notified;
} pending;

static void notify(const char *call, int id, int flags)
{
    if (AQ_CHECKS)
        aq_thread_check_context(call, "");
    AQ_CHECK(!pending.notified, "%s: the barrier notified before (id %d) was not waited for", call,
             pending.id);
    aq_vote_t vote = flags & GASNET_BARRIERFLAG_MISMATCH    ? AQ_VOTE_MISMATCH
                     : flags & GASNET_BARRIERFLAG_ANONYMOUS ? AQ_VOTE_NONE
                                                            : AQ_VOTE_NAME(id);
    pending.notified = true;
    pending.id = id;
    pending.flags = flags;
    pending.event = initiate(&named_barrier, vote);
}

void gasnet_barrier_notify(int id, int flags)
{
    notify("gasnet_barrier_notify", id, flags);
}

static void check_pair(const char *call, int id, int flags)
{
    aq_thread_check_context(call, "");
    AQ_CHECK(pending.notified, "%s without a gasnet_barrier_notify before it", call);
    AQ_CHECK(pending.flags == flags && (pending.id == id || flags),
             "%s: id %d and flags %d are not those of the notify, %d and %d", call, id, flags,
             pending.id, pending.flags);
}

static int result_of_pair(void)
{
    pending.notified = false;
    return named_barrier.result == AQ_VOTE_MISMATCH ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK;
}

int gasnet_barrier_wait(int id, int flags)
{
    if (AQ_CHECKS)
        check_pair("gasnet_barrier_wait", id, flags);
    gex_Event_Wait(pending.event);
    return result_of_pair();
}

int gasnet_barrier_try(int id, int flags)
{
    if (AQ_CHECKS)
        check_pair("gasnet_barrier_try", id, flags);
    gasnet_AMPoll();
    if (gex_Event_Test(pending.event) != GASNET_OK)
        return GASNET_ERR_NOT_READY;
    return result_of_pair();
}

int gasnet_barrier(int id, int flags)
{
    notify("gasnet_barrier", id, flags);
    return gasnet_barrier_wait(id, flags);
}

// ---- start ----

static void start_one(aq_barrier_t *b, unsigned number)
{
    aq_conduit_t *conduit = aq_job.conduits[0];
    char *scratch = (char *)conduit->ops->scratch(conduit) + number * AQ_SHARED_BARRIER_BYTES;
    aq_shared_start(&b->shared, scratch, aq_job.nbrhd.size, aq_job.nbrhd.my_index,
                    aq_job.nbrhd.groups == 1);
    aq_dissemination_start(&b->across, number);
    b->task.turn = turn;
    aq_progress_add(&b->task);
}

static void start(void)
{
    start_one(&team_barrier, 0);
    start_one(&named_barrier, 1);
}

static __attribute__((constructor)) void add_layer(void)
{
    static aq_layer_t layer = {start, NULL};
    aq_layers_add(&layer);
}
