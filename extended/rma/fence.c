// SPDX-License-Identifier: BSD-3-Clause
// Fences: wait for the operations that core/thread/outstanding.c has noted. Every operation is
// acknowledged by its target in any case, so a fence sends nothing: it looks at the counters of
// what is outstanding.
//
// In which order other threads see a put and what follows it (tests/model/weak_put.pml):
// - Mapped memory: the put ends with a release fence, so that its bytes are visible before
//   everything that its thread stores or sends later, such as a flag by another put. The thread
//   that reads the flag needs a fence before it reads the bytes: a get includes the fence, and a
//   client that polls its own memory calls gasnett_local_rmb. No fence precedes a put: only
//   gasnett_local_mb orders the client's own reads and writes before a put.
// - Other memory: the answer of the target completes the put. Release and acquire at each step
//   order the put before each message that the thread then sends, up to its handler or the counter
//   of a notice (notice.c). C11 guarantees no such order for a flag that is itself put, since its
//   bytes are stored plainly. Processors do: on arm64 and riscv64 all others see a store at the
//   same time, and the release of the answer is cumulative on ppc64el.
#include <stdatomic.h>
#include <stdlib.h>

#include "../../core/aqueduct.h"
#include "../../core/thread/outstanding.h"
#include "../../core/thread/event.h"
#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"
#include "../../core/progress/deferred.h"
#include "../../core/progress/progress.h"
#include "../../core/endpoint/team.h"
#include "../../core/thread/thread.h"

// Lists what is outstanding. Operations on mapped memory are complete except that stores of this
// processor may not be visible yet.
static void fence_list(const char *call, gex_TM_t tm, bool local, aq_outstanding_list_t *list)
{
    aq_job_admit(call);
    atomic_thread_fence(memory_order_seq_cst);
    if (tm == GEX_TM_INVALID)
        aq_outstanding_of_thread(aq_thread_self()->outstanding, local, list);
    else
        aq_outstanding_of_endpoint(aq_team_of(tm)->ep_pair.from, local, list);
}

static bool list_is_done(void *list)
{
    return aq_outstanding_list_done(list);
}

static void fence_wait(const char *call, gex_TM_t tm, bool local)
{
    aq_outstanding_list_t list = {0};
    fence_list(call, tm, local, &list);
    if (!list.count)
        return;
    aq_progress_wait_until(list_is_done, &list, aq_wait_word(AQ_WAIT_EVENT, 0),
                           aq_event_part(list.ops[0].event, AQ_PART_ROOT));
    aq_outstanding_list_free(&list);
}

void gasnetx_Fence_Local(gex_TM_t tm, gex_Flags_t flags)
{
    (void)flags;
    fence_wait("gasnetx_Fence_Local", tm, true);
}

void gasnetx_Fence_Global(gex_TM_t tm, gex_Flags_t flags)
{
    (void)flags;
    fence_wait("gasnetx_Fence_Global", tm, false);
}

// ---- fences with an event ----

typedef struct fence {
    aq_deferred_t deferred;
    aq_outstanding_list_t list;
    gex_Event_t part; // counts the fence
} fence_t;

static bool fence_ready(aq_deferred_t *deferred)
{
    return aq_outstanding_list_done(&((fence_t *)deferred)->list);
}

static bool fence_end(aq_deferred_t *deferred)
{
    fence_t *fence = (fence_t *)deferred;
    aq_event_end(fence->part);
    aq_outstanding_list_free(&fence->list);
    free(fence);
    return true;
}

static gex_Event_t fence_start(const char *call, gex_TM_t tm, bool local)
{
    aq_outstanding_list_t list = {0};
    fence_list(call, tm, local, &list);
    if (!list.count)
        return GEX_EVENT_INVALID;
    fence_t *fence = aq_allocate(sizeof *fence, "a fence");
    aq_event_t *event = aq_event_new();
    aq_event_note(event, 0, 0);
    *fence = (fence_t){.deferred = {.ready = fence_ready, .run = fence_end},
                       .list = list,
                       .part = aq_event_part(event, AQ_PART_OTHER)};
    aq_event_begin(fence->part);
    aq_deferred_add(&fence->deferred);
    return aq_event_part(event, AQ_PART_ROOT);
}

gex_Event_t gasnetx_Fence_LocalNB(gex_TM_t tm, gex_Flags_t flags)
{
    (void)flags;
    return fence_start("gasnetx_Fence_LocalNB", tm, true);
}

gex_Event_t gasnetx_Fence_GlobalNB(gex_TM_t tm, gex_Flags_t flags)
{
    (void)flags;
    return fence_start("gasnetx_Fence_GlobalNB", tm, false);
}
