// SPDX-License-Identifier: BSD-3-Clause
// Segments that gex_Segment_Attach attaches after the job has grown: the bootstrap waits for all
// ranks then, and only those of one team attach.
//
//     member of a primordial team, in attach      rank of none of its members
//     all-gather over the team: address, size, file
//     TELL the same  --------------------------->  records the segment; neighbours map it
//     counts the answers  <----------------------  TOLD
//
// A barrier of the team follows, so that all ranks that are there know all these segments when a
// member returns.
#include <stdlib.h>

#include "../../core/am/am_answer.h"
#include "../../core/am/am_send.h"
#include "../../core/endpoint/endpoint.h"
#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"
#include "../../core/progress/progress.h"
#include "../../core/memory/segment_table.h"
#include "../../core/expose/segment.h"
#include "../../core/endpoint/team.h"
#include "../coll/coll_team.h"
#include "../rma/layer_table.h"

static atomic_uint answers;

// Records the segment of a rank, and maps it if address space is left; otherwise puts and gets use
// messages.
static void segment_note(uint32_t rank, const aq_segment_source_t *segment)
{
    if (segment->size > UINTPTR_MAX - segment->addr)
        aq_fatal("rank %u tells of a segment of %lu bytes at %p, which it cannot have", rank,
                 segment->size, (void *)segment->addr);
    aq_segment_publish(rank, 0, segment->addr, segment->size, false);
    (void)aq_segment_map(rank, 0, segment);
}

static void on_tell(gex_Token_t token, const aq_segment_source_t *segment, size_t nbytes)
{
    const uint32_t rank = token->arrival->source;
    if (nbytes != sizeof *segment || !aq_job.grows)
        aq_fatal("rank %u tells of a segment in %zu bytes in place of %zu", rank, nbytes,
                 sizeof *segment);
    segment_note(rank, segment);
    aq_team_refresh();
    aq_am_answer(token, AQ_HANDLER_SEGMENT_TOLD, 0, NULL);
}

static void on_told(gex_Token_t token)
{
    (void)token;
    atomic_fetch_add(&answers, 1);
}

static void note_members(const aq_segment_source_t *mine)
{
    aq_segment_source_t *all =
        aq_allocate(aq_team.head.size * sizeof *all, "the segments of a team");
    aq_coll_allgather(&aq_team, mine, sizeof *mine, all);
    for (gex_Rank_t r = 0; r < aq_team.head.size; r++)
        if (r != aq_team.head.rank)
            segment_note(aq_team_jobrank(&aq_team, r), &all[r]);
    aq_team_refresh();
    free(all);
}

static bool all_have_answered(void *others)
{
    return atomic_load(&answers) == *(const uint32_t *)others;
}

// The members of a primordial team have consecutive numbers.
static void tell_others(const aq_segment_source_t *mine)
{
    const uint32_t present = aq_job_present(), first = aq_team_jobrank(&aq_team, 0);
    aq_am_t am = {.payload = mine,
                  .nbytes = sizeof *mine,
                  .category = AQ_AM_MEDIUM,
                  .handler = AQ_HANDLER_SEGMENT_TELL};
    uint32_t others = present - aq_team.head.size;
    for (uint32_t r = 0; r < present; r++)
        if (r - first >= aq_team.head.size)
            (void)aq_am_request(r, &am, 0);
    aq_progress_wait_until(all_have_answered, &others, aq_wait_word(AQ_WAIT_RANK, AQ_WAIT_NO_RANK),
                           NULL);
}

static void segment_tell(const aq_segment_source_t *mine)
{
    note_members(mine);
    tell_others(mine);
    gex_Event_Wait(gex_Coll_BarrierNB(&aq_team.head, 0));
}

void aq_grow_segment_register(void)
{
    if (aq_job.grows)
        atomic_store(&aq_segment_map_shifts[0], aq_job.shift);
    aq_segment_tell_with(segment_tell);
    aq_endpoint_internal(AQ_HANDLER_SEGMENT_TELL, (gex_AM_Fn_t)on_tell,
                         GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, "segment");
    aq_endpoint_internal(AQ_HANDLER_SEGMENT_TOLD, (gex_AM_Fn_t)on_told,
                         GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, "segment reply");
}
