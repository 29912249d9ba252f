// Creation and destruction of teams: gex_TM_Split, gex_TM_Create, gex_TM_Destroy; and
// gex_EP_PublishBoundSegment, which is also collective.
//
// The members of the parent exchange their requests by an all-gather, so each member can compute
// the members of its new team. Each member also sends a number that it has reserved (core/team.h):
// the id of the new team contains the number of the member that becomes rank 0.
#include <stdlib.h>
#include <string.h>

#include "../core/fatal.h"
#include "../core/job.h"
#include "../core/segment.h"
#include "../core/team.h"
#include "coll.h"
#include "gasnet_coll.h"
#include "gasnetex.h"
#include "../other/base/minmax.h"

#define SIZE_QUERY (GEX_FLAG_TM_SCRATCH_SIZE_MIN | GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED)
#define SCRATCH_BYTES GASNET_PAGESIZE // what the queries recommend; not used by the library

// The request of a member of the parent.
typedef struct wish {
    uint64_t number; // reserved for the new team
    uint32_t slot;   // for the collectives of the new team
    int32_t color;   // -1: not in a new team
    int32_t key;
    gex_Rank_t parent_rank; // filled in by the receiver
} wish_t;

static void *allocate_split(const char *call, size_t count, size_t bytes)
{
    void *memory = malloc((count ? count : 1) * bytes);
    if (!memory)
        aq_fatal("%s: out of memory for a team of %zu ranks", call, count);
    return memory;
}

// All-gathers the wishes. The caller frees the result. Reserves number and slot before the
// exchange, because another thread may make the same call with another parent.
static wish_t *gather_wishes(const char *call, aq_team_t *parent, int color, int key)
{
    wish_t mine = {.color = color, .key = key};
    if (color >= 0) {
        mine.number = aq_team_reserve_number();
        mine.slot = aq_coll_slot_take();
    }
    wish_t *all = allocate_split(call, parent->head.size, sizeof *all);
    aq_coll_allgather(parent, &mine, sizeof mine, all);
    for (gex_Rank_t r = 0; r < parent->head.size; r++)
        all[r].parent_rank = r;
    return all;
}

static int by_key(const void *a, const void *b)
{
    const wish_t *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->parent_rank < y->parent_rank ? -1 : x->parent_rank > y->parent_rank;
}

// Moves the wishes for a color to the front, in the order of the new ranks; returns their number.
static gex_Rank_t select_color(wish_t *all, gex_Rank_t size, int color)
{
    gex_Rank_t count = 0;
    for (gex_Rank_t r = 0; r < size; r++)
        if (all[r].color == color)
            all[count++] = all[r];
    qsort(all, count, sizeof *all, by_key);
    return count;
}

// Creates the team of the wishes [0, count), which are in the order of the new ranks.
static gex_TM_t make_team(const char *call, aq_team_t *parent, const wish_t *wishes,
                          gex_Rank_t count, gex_Flags_t flags)
{
    gex_Rank_t *members = allocate_split(call, count, sizeof *members);
    uint32_t *slots = allocate_split(call, count, sizeof *slots);
    gex_Rank_t me = 0;
    for (gex_Rank_t r = 0; r < count; r++) {
        members[r] = aq_team_jobrank(parent, wishes[r].parent_rank);
        slots[r] = wishes[r].slot;
        if (members[r] == aq_job.rank)
            me = r;
    }
    uint64_t id = aq_team_id(wishes[0].number, members[0]);
    aq_team_t *team = aq_team_new(parent->ep, id, me, count, members, flags);
    if (!team)
        aq_fatal("%s: no memory for a team of %u ranks", call, count);
    aq_coll_team_start(team, slots);
    free(members);
    free(slots);
    return &team->head;
}

static void check_parent(const char *call, gex_TM_t tm)
{
    aq_thread_check_context(call, "");
    AQ_CHECK(!aq_team_of(tm)->pair,
             "%s: the team is a pair of gex_TM_Pair, which is for point-to-point calls only", call);
}

size_t gex_TM_Split(gex_TM_t *new_tm_p, gex_TM_t parent_tm, int color, int key, void *scratch_addr,
                    size_t scratch_size, gex_Flags_t flags)
{
    aq_job_need("gex_TM_Split");
    aq_team_t *parent = aq_team_of(parent_tm);
    if (AQ_CHECKS)
        check_parent("gex_TM_Split", parent_tm);
    if (flags & SIZE_QUERY)
        return new_tm_p ? SCRATCH_BYTES : 0;
    if (new_tm_p && color < 0)
        aq_fatal("gex_TM_Split: color %d of rank %u is negative: colors are 0 or more, and a rank "
                 "that wants no team passes NULL for new_tm_p",
                 color, parent_tm->rank);
    wish_t *all = gather_wishes("gex_TM_Split", parent, new_tm_p ? color : -1, key);
    if (new_tm_p) {
        gex_Rank_t count = select_color(all, parent_tm->size, color);
        *new_tm_p = make_team("gex_TM_Split", parent, all, count, flags);
        if (!(flags & GEX_FLAG_TM_NO_SCRATCH))
            aq_team_of(*new_tm_p)->scratch = (gex_Memvec_t){scratch_addr, scratch_size};
    }
    free(all);
    return 0;
}

// ---- teams by a list of endpoints ----

// Returns the rank in the parent of the member that a location names.
static gex_Rank_t parent_rank(gex_TM_t parent_tm, const gex_EP_Location_t *place, gex_Flags_t flags)
{
    gex_Rank_t rank = flags & GEX_FLAG_RANK_IS_JOBRANK
                          ? gex_TM_TranslateJobrankToRank(parent_tm, place->gex_rank)
                          : place->gex_rank;
    if (rank >= parent_tm->size)
        aq_fatal("gex_TM_Create: rank %u is not a member of the parent team of %u ranks",
                 place->gex_rank, parent_tm->size);
    if (place->gex_ep_index)
        aq_fatal("gex_TM_Create: endpoint %u of rank %u is not a primordial one, and only those, "
                 "with index 0, can be members of teams",
                 place->gex_ep_index, place->gex_rank);
    return rank;
}

enum { CHOSEN = -2 };

// Returns the rank in the parent of the next member of the list, and marks the wish of that member.
static gex_Rank_t choose_member(gex_TM_t parent_tm, const gex_EP_Location_t *place,
                                gex_Flags_t flags, wish_t *all, size_t members)
{
    gex_Rank_t rank = parent_rank(parent_tm, place, flags);
    if (all[rank].color == CHOSEN)
        aq_fatal("gex_TM_Create: rank %u of the parent team is in the list of %zu members twice",
                 rank, members);
    all[rank].color = CHOSEN;
    return rank;
}

// The address that the client gave for the scratch space of this member.
static gex_Memvec_t given_scratch(gex_TM_t tm, gex_Addr_t *addrs, size_t size, gex_Flags_t flags)
{
    if ((flags & GEX_FLAG_TM_NO_SCRATCH) || !addrs)
        return (gex_Memvec_t){NULL, 0};
    char *addr = addrs[flags & GEX_FLAG_TM_GLOBAL_SCRATCH ? tm->rank : 0];
    gex_Segment_t segment = gex_EP_QuerySegment(gex_TM_QueryEP(tm));
    if ((flags & GEX_FLAG_SCRATCH_SEG_OFFSET) && segment)
        addr = (char *)gex_Segment_QueryAddr(segment) + (uintptr_t)addr;
    return (gex_Memvec_t){addr, size};
}

size_t gex_TM_Create(gex_TM_t *new_tms, size_t num_new_tms, gex_TM_t parent_tm,
                     gex_EP_Location_t *args, size_t numargs, gex_Addr_t *scratch_addrs,
                     size_t scratch_size, gex_Flags_t flags)
{
    aq_job_need("gex_TM_Create");
    aq_team_t *parent = aq_team_of(parent_tm);
    if (AQ_CHECKS)
        check_parent("gex_TM_Create", parent_tm);
    if (flags & SIZE_QUERY)
        return numargs ? SCRATCH_BYTES : 0;
    bool member = numargs && num_new_tms;
    wish_t *all = gather_wishes("gex_TM_Create", parent, member ? 0 : -1, 0);
    if (member) {
        wish_t *chosen = allocate_split("gex_TM_Create", numargs, sizeof *chosen);
        for (size_t i = 0; i < numargs; i++)
            chosen[i] = all[choose_member(parent_tm, &args[i], flags, all, numargs)];
        if (all[parent_tm->rank].color != CHOSEN)
            aq_fatal("gex_TM_Create: the list of %zu members does not have the caller, rank %u of "
                     "the parent team",
                     numargs, parent_tm->rank);
        new_tms[0] = make_team("gex_TM_Create", parent, chosen, (gex_Rank_t)numargs, flags);
        aq_team_of(new_tms[0])->scratch =
            given_scratch(new_tms[0], scratch_addrs, scratch_size, flags);
        free(chosen);
    }
    free(all);
    return 0;
}

// Other members may still be in a collective that this member has finished, so all members
// synchronize first.
int gex_TM_Destroy(gex_TM_t tm, gex_Memvec_t *scratch_p, gex_Flags_t flags)
{
    aq_job_need("gex_TM_Destroy");
    aq_team_t *team = aq_team_of(tm);
    if (AQ_CHECKS)
        check_parent("gex_TM_Destroy", tm);
    if (team == &aq_team)
        aq_fatal("gex_TM_Destroy: the primordial team lives as long as the job");
    if (!(flags & GEX_FLAG_GLOBALLY_QUIESCED))
        gex_Event_Wait(gex_Coll_BarrierNB(tm, 0));
    bool given = team->scratch.gex_len != 0;
    if (given && scratch_p)
        *scratch_p = team->scratch;
    // Before the collectives of the team end: a debug build may still receive the note of a call.
    aq_team_hide(team);
    aq_coll_team_end(team);
    aq_team_free(team);
    return given && scratch_p;
}

// ---- segments of further endpoints ----

typedef struct notice {
    aq_segment_source_t source;
    uint32_t ep;
    uint32_t guarded; // the endpoint has an identity
} notice_t;

// Neighbours do not map a guarded segment: messages prove the identity.
static notice_t notice_of(gex_EP_t ep)
{
    const struct gex_segment *segment = ep->segment;
    notice_t notice = {.ep = ep->index, .guarded = ep->identity != NULL};
    if (!segment)
        return notice;
    notice.source.addr = (uintptr_t)segment->addr;
    notice.source.size = segment->size;
    notice.source.serial = ep->bound_serial;
    if (segment->allocated && segment->memory.fd >= 0 && !notice.guarded &&
        aq_memfile_ticket(segment->memory.fd, &notice.source.file) != AQ_OK)
        notice.source.file = (aq_memfile_ticket_t){0};
    ep->published = true;
    return notice;
}

static size_t most_endpoints(const uint64_t *counts, gex_TM_t tm)
{
    uint64_t max = 0;
    for (gex_Rank_t r = 0; r < tm->size; r++) {
        if (counts[r] > GASNET_MAXEPS)
            aq_fatal("gex_EP_PublishBoundSegment: rank %u publishes %llu endpoints, and a process "
                     "has %u at most",
                     r, (unsigned long long)counts[r], (unsigned)GASNET_MAXEPS);
        max = aq_max(counts[r], max);
    }
    return max;
}

static void take_notice(gex_Rank_t jobrank, const notice_t *notice)
{
    if (notice->ep >= GASNET_MAXEPS)
        aq_fatal("gex_EP_PublishBoundSegment: rank %u publishes endpoint %u, and indices are below "
                 "%u",
                 jobrank, notice->ep, (unsigned)GASNET_MAXEPS);
    const gex_EP_Index_t ep = (gex_EP_Index_t)notice->ep;
    const aq_segment_source_t *source = &notice->source;
    if (!source->size)
        return;
    aq_segment_publish(jobrank, ep, source->addr, source->size, notice->guarded);
    if (ep && aq_segment_map(jobrank, ep, source))
        aq_team_refresh_pairs(ep);
}

// Two rounds: the number of notices, then that many from each member. A notice of size 0 is empty.
int gex_EP_PublishBoundSegment(gex_TM_t tm, gex_EP_t *eps, size_t num_eps, gex_Flags_t flags)
{
    aq_job_need("gex_EP_PublishBoundSegment");
    const char *call = "gex_EP_PublishBoundSegment";
    aq_team_t *team = aq_team_of(tm);
    (void)flags;
    if (AQ_CHECKS)
        check_parent(call, tm);
    uint64_t mine = num_eps, *counts = allocate_split(call, tm->size, sizeof *counts);
    aq_coll_allgather(team, &mine, sizeof mine, counts);
    size_t each = most_endpoints(counts, tm);
    free(counts);
    notice_t *own = allocate_split(call, each, sizeof *own);
    notice_t *all = allocate_split(call, each * tm->size, sizeof *all);
    memset(own, 0, each * sizeof *own);
    for (size_t i = 0; i < num_eps; i++)
        own[i] = notice_of(eps[i]);
    if (each)
        aq_coll_allgather(team, own, each * sizeof *own, all);
    for (size_t i = 0; i < each * tm->size; i++)
        take_notice(aq_team_jobrank(team, (gex_Rank_t)(i / each)), &all[i]);
    free(own);
    free(all);
    return GASNET_OK;
}
