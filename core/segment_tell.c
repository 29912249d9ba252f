#include "segment_tell.h"

#include <stdlib.h>

#include "am.h"
#include "arg64.h"
#include "endpoint.h"
#include "fatal.h"
#include "job.h"
#include "progress.h"
#include "segment.h"
#include "team.h"

static atomic_bool *told; // of each rank: it has told of its segment
static atomic_uint answers;

static void on_tell(gex_Token_t token, int32_t addr_high, int32_t addr_low, int32_t size_high,
                    int32_t size_low)
{
    const uint32_t rank = token->arrival->source;
    const uintptr_t addr = aq_join(addr_high, addr_low), size = aq_join(size_high, size_low);
    if (!told || rank >= aq_job.size || atomic_load(&told[rank]) || size > UINTPTR_MAX - addr)
        aq_fatal("rank %u tells of a segment of %lu bytes at %p, which it cannot have", rank, size,
                 (void *)addr);
    aq_segment_publish(rank, 0, addr, size, false);
    atomic_store(&told[rank], true);
    aq_am_t answer = {.category = AQ_AM_SHORT, .handler = AQ_HANDLER_SEGMENT_TOLD, .reply = true};
    (void)aq_am_reply(token, &answer, 0);
}

static void on_told(gex_Token_t token)
{
    (void)token;
    atomic_fetch_add(&answers, 1);
}

static bool all_is_known(void *others)
{
    if (atomic_load(&answers) < *(const uint32_t *)others)
        return false;
    for (gex_Rank_t r = 0; r < aq_team.head.size; r++)
        if (!atomic_load(&told[aq_team_jobrank(&aq_team, r)]))
            return false;
    return true;
}

static void segment_tell(uintptr_t addr, uintptr_t size)
{
    const uint32_t present = aq_job_present();
    const int32_t args[] = {aq_high(addr), aq_low(addr), aq_high(size), aq_low(size)};
    const aq_am_t am = {
        .args = args, .category = AQ_AM_SHORT, .handler = AQ_HANDLER_SEGMENT_TELL, .nargs = 4};
    uint32_t others = present - 1;
    atomic_store(&told[aq_job.rank], true);
    for (uint32_t r = 0; r < present; r++)
        if (r != aq_job.rank)
            (void)aq_am_request(r, &am, 0);
    aq_progress_wait_until(all_is_known, &others, GEX_EVENT_INVALID, -1);
}

void aq_segment_tell_start(void)
{
    if (aq_job.grows && !(told = calloc(aq_job.size, sizeof *told)))
        aq_fatal("out of memory for the segments of %u ranks", aq_job.size);
    aq_segment_tell_with(segment_tell);
    aq_endpoint_internal(AQ_HANDLER_SEGMENT_TELL, (gex_AM_Fn_t)on_tell,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 4, "segment");
    aq_endpoint_internal(AQ_HANDLER_SEGMENT_TOLD, (gex_AM_Fn_t)on_told,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, "segment heard");
}
