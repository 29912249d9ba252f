// Put and get that the header could not do in line: the peer is not mapped, or this is a debug
// build and the arguments are to be checked.
#include "rma.h"

#include <string.h>

#include "../core/fatal.h"
#include "../core/job.h"
#include "../core/progress.h"
#include "../core/segment.h"
#include "../core/team.h"
#include "gasnetex_rma.h"

static void check(const char *call, gex_TM_t tm, gex_Rank_t rank, const void *remote, size_t nbytes)
{
    aq_thread_check_context(call, "");
    AQ_CHECK(rank < tm->size, "%s: rank %u is not below the team's size %u", call, rank, tm->size);
    aq_segment_check(call, "", aq_tm_jobrank(tm, rank), aq_team_of(tm)->remote_ep, remote, nbytes);
}

static const aq_rma_method_t *method(const aq_rma_t *rma)
{
    const aq_conduit_ops_t *ops = aq_link_conduit(aq_job_link(rma->rank))->ops;
    return ops->put && ops->get ? &aq_rma_native : &aq_rma_over_am;
}

int aq_rma_start(const aq_rma_t *rma, gex_Event_t part)
{
    intptr_t shift = aq_team_shift(rma->rank, rma->ep);
    if (shift & 1)
        return rma->is_get ? method(rma)->get(rma, part) : method(rma)->put(rma, part);
    if (rma->is_get)
        aq_api_copy_in(rma->local, rma->remote, rma->nbytes, shift);
    else
        aq_api_copy_out(rma->remote, rma->local, rma->nbytes, shift);
    return 0;
}

// The counter of an event that counts what is of its kind.
static gex_Event_t part_for(const aq_rma_t *rma, aq_event_t *event)
{
    return aq_event_part(event, rma->is_get ? AQ_PART_GET : AQ_PART_PUT);
}

static gex_Event_t start_nb(const aq_rma_t *rma)
{
    aq_event_t *event = aq_event_new();
    if (aq_rma_start(rma, part_for(rma, event))) {
        aq_event_free(event);
        return GEX_EVENT_NO_OP;
    }
    return aq_event_part(event, AQ_PART_ROOT);
}

static int start_blocking(aq_rma_t *rma)
{
    aq_event_t *event = aq_event_new();
    const gex_Event_t part = part_for(rma, event);
    rma->waits = true;
    const int refused = aq_rma_start(rma, part);
    if (!refused)
        gex_Event_Wait(part);
    aq_event_free(event);
    return refused;
}

static int start_nbi(const aq_rma_t *rma)
{
    return aq_rma_start(rma, part_for(rma, aq_thread_nbi()));
}

// Local completion is nobody's business before the operation itself is complete.
static bool is_stable(const gex_Event_t *lc_opt)
{
    return lc_opt == GEX_EVENT_DEFER;
}

static aq_rma_t describe(const char *call, gex_TM_t tm, gex_Rank_t rank, void *remote, void *local,
                         size_t nbytes, gex_Flags_t flags, bool is_get)
{
    if (AQ_CHECKS)
        check(call, tm, rank, remote, nbytes);
    return (aq_rma_t){.rank = aq_tm_jobrank(tm, rank),
                      .ep = aq_team_of(tm)->remote_ep,
                      .flags = flags,
                      .remote = remote,
                      .local = local,
                      .nbytes = nbytes,
                      .is_get = is_get};
}

int aq_api_put(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
               gex_Flags_t flags)
{
    aq_rma_t rma = describe("gex_RMA_PutBlocking", tm, rank, dest, (void *)(uintptr_t)src, nbytes,
                            flags, false);
    rma.stable = true;
    return start_blocking(&rma);
}

// The source of a put may be reused when the call returns, but for GEX_EVENT_DEFER; so local
// completion is never outstanding.
int aq_api_put_nbi(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
                   gex_Event_t *lc_opt, gex_Flags_t flags)
{
    aq_rma_t rma =
        describe("gex_RMA_PutNBI", tm, rank, dest, (void *)(uintptr_t)src, nbytes, flags, false);
    rma.stable = is_stable(lc_opt);
    return start_nbi(&rma);
}

gex_Event_t aq_api_put_nb(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
                          gex_Event_t *lc_opt, gex_Flags_t flags)
{
    aq_rma_t rma =
        describe("gex_RMA_PutNB", tm, rank, dest, (void *)(uintptr_t)src, nbytes, flags, false);
    rma.stable = is_stable(lc_opt);
    gex_Event_t event = start_nb(&rma);
    aq_api_lc_done(lc_opt);
    return event;
}

int aq_api_get(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes,
               gex_Flags_t flags)
{
    aq_rma_t rma = describe("gex_RMA_GetBlocking", tm, rank, src, dest, nbytes, flags, true);
    return start_blocking(&rma);
}

int aq_api_get_nbi(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes,
                   gex_Flags_t flags)
{
    aq_rma_t rma = describe("gex_RMA_GetNBI", tm, rank, src, dest, nbytes, flags, true);
    return start_nbi(&rma);
}

gex_Event_t aq_api_get_nb(gex_TM_t tm, void *dest, gex_Rank_t rank, void *src, size_t nbytes,
                          gex_Flags_t flags)
{
    aq_rma_t rma = describe("gex_RMA_GetNB", tm, rank, src, dest, nbytes, flags, true);
    return start_nb(&rma);
}
