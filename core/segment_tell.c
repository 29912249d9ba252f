#include "segment_tell.h"

#include <stdlib.h>

#include "am.h"
#include "endpoint.h"
#include "fatal.h"
#include "job.h"
#include "progress.h"
#include "segment.h"
#include "team.h"

static atomic_bool *told; // of each rank: it has told of its segment
static atomic_uint answers;

// Where no address space is left, the segment is not mapped: puts and gets are messages then.
static void segment_note(uint32_t rank, const aq_segment_source_t *segment)
{
    aq_segment_publish(rank, 0, segment->addr, segment->size, false);
    (void)aq_segment_map(rank, 0, segment);
    aq_team_refresh();
    atomic_store(&told[rank], true);
}

static void on_tell(gex_Token_t token, const aq_segment_source_t *segment, size_t nbytes)
{
    const uint32_t rank = token->arrival->source;
    aq_am_t answer = {.category = AQ_AM_SHORT, .handler = AQ_HANDLER_SEGMENT_TOLD, .reply = true};
    if (nbytes != sizeof *segment || !told || atomic_load(&told[rank]) ||
        segment->size > UINTPTR_MAX - segment->addr)
        aq_fatal("rank %u tells of a segment that it cannot have", rank);
    segment_note(rank, segment);
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

static void segment_tell(const aq_segment_source_t *segment)
{
    const uint32_t present = aq_job_present();
    const aq_am_t am = {.payload = segment,
                        .nbytes = sizeof *segment,
                        .category = AQ_AM_MEDIUM,
                        .handler = AQ_HANDLER_SEGMENT_TELL};
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
    if (aq_job.grows)
        atomic_store(&aq_segment_map_shifts[0], aq_job.shift);
    aq_segment_tell_with(segment_tell);
    aq_endpoint_internal(AQ_HANDLER_SEGMENT_TELL, (gex_AM_Fn_t)on_tell,
                         GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, "segment");
    aq_endpoint_internal(AQ_HANDLER_SEGMENT_TOLD, (gex_AM_Fn_t)on_told,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, "segment heard");
}
