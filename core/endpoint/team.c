// SPDX-License-Identifier: BSD-3-Clause
// Makes and finds teams and pairs, fills their tables of shifts, and answers the client's queries.
// client.c starts the primordial team; extended/ makes the others.
#include "team.h"

#include <stdlib.h>
#include <string.h>

#include "../ground/bounds.h"
#include "../record/counters.h"
#include "../ground/fatal.h"
#include "../state/job.h"
#include "shift_table.h"

_Alignas(64) aq_team_t aq_team;

static aq_team_t *teams; // all but the primordial one
static aq_lock_t list_lock;
static _Atomic uint64_t last_number; // reserved for a team

static intptr_t *shifts_new(gex_Rank_t size)
{
    return aq_allocated(aq_shift_table_new(size), size * sizeof(intptr_t), "the shifts of a team");
}

static intptr_t *unmapped_new(void)
{
    intptr_t *table = shifts_new(aq_job.size);
    for (gex_Rank_t r = 0; r < aq_job.size; r++)
        table[r] = AQ_UNMAPPED;
    return table;
}

const intptr_t *aq_team_unmapped(void)
{
    static intptr_t *table;
    if (!table)
        table = unmapped_new();
    return table;
}

static const intptr_t *job_shifts(void)
{
    return aq_team_calls_always() ? aq_team_unmapped() : aq_job.shift;
}

// Puts and gets from an endpoint with an identity go by messages, which prove the identity. Those
// to further endpoints of other processes call the library, since their mappings come and go. An
// entry that stays the same is not written, because other threads may use it meanwhile, or map the
// segments of ranks that have just joined. The caller holds the lock.
static void fill_shifts(aq_team_t *team)
{
    const intptr_t *from = team->ep->identity ? aq_team_unmapped() : job_shifts();
    for (gex_Rank_t r = 0; r < team->head.size; r++) {
        const gex_Rank_t jobrank = aq_team_jobrank(team, r);
        const bool foreign = aq_team_ep_pair(team, r).to && jobrank != aq_job.rank;
        const intptr_t shift =
            foreign ? AQ_UNMAPPED : __atomic_load_n(&from[jobrank], __ATOMIC_RELAXED);
        if (team->shifts[r] != shift)
            team->shifts[r] = shift;
    }
}

// The team of the ranks that have joined a running job together. Its id has number 1 of its first
// rank, which reserves that number, so that the others know the id without a message.
static void start_joined(uint32_t first)
{
    const gex_Rank_t size = aq_job_present() - first;
    gex_Rank_t *members = aq_allocate(size * sizeof *members, "the members of a team");
    intptr_t *shifts = shifts_new(size);
    for (gex_Rank_t r = 0; r < size; r++)
        members[r] = first + r;
    if (aq_job.rank == first)
        (void)aq_team_reserve_number();
    aq_team.head = (struct gex_tm){aq_job.rank - first, size, shifts};
    aq_team.members = members;
    aq_team.shifts = shifts;
    aq_team.id = aq_team_id(1, first);
    fill_shifts(&aq_team);
}

void aq_team_start(gex_EP_t ep)
{
    aq_team.ep = ep;
    if (aq_job.boot->first)
        start_joined(aq_job.boot->first);
    else
        aq_team.head = (struct gex_tm){aq_job.rank, aq_job_present(), job_shifts()};
    const bool is_fast = !aq_team.members && !aq_tracing.numbers;
    aq_counts_fast_team(is_fast ? &aq_team.head : NULL);
}

static void *array_copy(const void *array, size_t bytes)
{
    return memcpy(aq_allocate(bytes, "the members of a team"), array, bytes);
}

aq_team_t *aq_team_new(gex_EP_t ep, uint64_t id, const aq_team_members_t *members,
                       gex_Flags_t flags)
{
    const gex_Rank_t size = members->size;
    const gex_EP_Index_t *endpoints = members->endpoints;
    aq_team_t *team = aq_allocate(sizeof *team, "a team");
    gex_Rank_t *copy = array_copy(members->jobranks, size * sizeof *copy);
    gex_EP_Index_t *eps = endpoints ? array_copy(endpoints, size * sizeof *eps) : NULL;
    intptr_t *shifts = shifts_new(size);
    *team = (aq_team_t){.head = {members->rank, size, shifts},
                        .ep = ep,
                        .ep_pair.from = ep->index,
                        .flags = flags,
                        .members = copy,
                        .endpoints = eps,
                        .id = id,
                        .shifts = shifts};
    aq_lock_take(&list_lock);
    fill_shifts(team);
    team->next = teams;
    teams = team;
    aq_lock_drop(&list_lock);
    return team;
}

void aq_team_hide(aq_team_t *team)
{
    aq_lock_take(&list_lock);
    aq_team_t **at = &teams;
    while (*at && *at != team)
        at = &(*at)->next;
    if (*at)
        *at = team->next;
    aq_lock_drop(&list_lock);
}

void aq_team_free(aq_team_t *team)
{
    aq_team_hide(team);
    free((void *)(uintptr_t)team->members);
    free((void *)(uintptr_t)team->endpoints);
    aq_shift_table_free(team->shifts);
    free(team);
}

aq_team_t *aq_team_find(uint64_t id)
{
    if (id == aq_team.id)
        return &aq_team;
    aq_lock_take(&list_lock);
    aq_team_t *team = teams;
    while (team && team->id != id)
        team = team->next;
    aq_lock_drop(&list_lock);
    return team;
}

bool aq_team_has_endpoint(gex_EP_Index_t ep)
{
    aq_lock_take(&list_lock);
    const aq_team_t *team = teams;
    while (team && team->ep->index != ep)
        team = team->next;
    aq_lock_drop(&list_lock);
    return team;
}

uint64_t aq_team_reserve_number(void)
{
    return atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
}

uint64_t aq_team_id(uint64_t number, gex_Rank_t jobrank)
{
    return number * aq_job.size + jobrank;
}

void aq_team_map(uint32_t jobrank, intptr_t shift)
{
    aq_lock_take(&list_lock);
    aq_job.shift[jobrank] = shift;
    aq_lock_drop(&list_lock);
}

void aq_team_refresh(void)
{
    aq_lock_take(&list_lock);
    if (aq_team.shifts)
        fill_shifts(&aq_team);
    for (aq_team_t *team = teams; team; team = team->next)
        fill_shifts(team);
    aq_lock_drop(&list_lock);
}

// ---- pairs ----

// The pairs of an endpoint, by the index of the remote endpoint.
typedef struct pairs {
    _Atomic(aq_team_t *) with[GASNET_MAXEPS];
} pairs_t;

// By the index of the local endpoint. Tables and pairs are made on first use, under list_lock, are
// read without a lock, and are never freed: those of an endpoint that ends go to the next endpoint
// with its index.
static _Atomic(pairs_t *) pairs_of[GASNET_MAXEPS];

// The shifts of pairs with a further endpoint. While no neighbour's segment is mapped, all indices
// share a table, in which only the memory of this process is mapped. With the lock held.
static const intptr_t *further_shifts(gex_EP_Index_t remote_ep)
{
    static intptr_t *shifts;
    if (aq_team_calls_always())
        return aq_team_unmapped();
    const intptr_t *own =
        atomic_load_explicit(&aq_segment_map_shifts[remote_ep], memory_order_acquire);
    if (own)
        return own;
    if (!shifts) {
        shifts = unmapped_new();
        shifts[aq_job.rank] = 0;
    }
    return shifts;
}

// The members of pairs whose messages need a header: every rank, in order. With the lock held.
static const gex_Rank_t *all_members(void)
{
    static gex_Rank_t *all;
    if (!all) {
        all = aq_allocate(aq_job.size * sizeof *all, "the members of a pair");
        for (gex_Rank_t r = 0; r < aq_job.size; r++)
            all[r] = r;
    }
    return all;
}

// Puts and gets from an endpoint with an identity go by messages, which prove the identity. With
// the lock held.
static const intptr_t *pair_shifts(gex_EP_t ep, gex_EP_Index_t remote_ep)
{
    if (ep->identity)
        return aq_team_unmapped();
    return remote_ep ? further_shifts(remote_ep) : job_shifts();
}

// With the lock held.
static aq_team_t *pair_new(gex_EP_t ep, gex_EP_Index_t remote_ep)
{
    aq_team_t *pair = aq_allocate_zeroed(1, sizeof *pair, "a pair");
    pair->head = (struct gex_tm){aq_job.rank, aq_job.size, pair_shifts(ep, remote_ep)};
    pair->ep = ep;
    pair->pair = true;
    pair->ep_pair = (aq_ep_pair_t){.from = ep->index, .to = remote_ep};
    pair->members = aq_ep_pair_needs_header(pair->ep_pair) ? all_members() : NULL;
    return pair;
}

// Returns NULL if the endpoint has no such pair yet.
static aq_team_t *pair_find(gex_EP_t ep, gex_EP_Index_t remote_ep)
{
    pairs_t *pairs = atomic_load_explicit(&pairs_of[ep->index], memory_order_acquire);
    aq_team_t *pair =
        pairs ? atomic_load_explicit(&pairs->with[remote_ep], memory_order_acquire) : NULL;
    return pair && __atomic_load_n(&pair->ep, __ATOMIC_ACQUIRE) == ep ? pair : NULL;
}

// Gives the pair of an endpoint that has ended to its successor. Threads look the pair up without
// the lock meanwhile, so that the endpoint is written last. With the lock held.
static void pair_hand_on(aq_team_t *pair, gex_EP_t ep)
{
    __atomic_store_n(&pair->head.peer_shift, pair_shifts(ep, pair->ep_pair.to), __ATOMIC_RELAXED);
    __atomic_store_n(&pair->ep, ep, __ATOMIC_RELEASE);
}

// Makes the pair unless another thread has just made it.
static aq_team_t *pair_add(gex_EP_t ep, gex_EP_Index_t remote_ep)
{
    aq_lock_take(&list_lock);
    if (!atomic_load_explicit(&pairs_of[ep->index], memory_order_relaxed))
        atomic_store_explicit(&pairs_of[ep->index], aq_allocate_zeroed(1, sizeof(pairs_t), "pairs"),
                              memory_order_release);
    _Atomic(aq_team_t *) *place = &pairs_of[ep->index]->with[remote_ep];
    aq_team_t *pair = atomic_load_explicit(place, memory_order_relaxed);
    if (!pair) {
        pair = pair_new(ep, remote_ep);
        atomic_store_explicit(place, pair, memory_order_release);
    } else if (pair->ep != ep) {
        pair_hand_on(pair, ep);
    }
    aq_lock_drop(&list_lock);
    return pair;
}

// Other threads may use these pairs for other ranks meanwhile: both tables are right for those.
void aq_team_refresh_pairs(gex_EP_Index_t remote_ep)
{
    aq_lock_take(&list_lock);
    for (unsigned i = 0; i < GASNET_MAXEPS; i++) {
        pairs_t *pairs = atomic_load_explicit(&pairs_of[i], memory_order_relaxed);
        aq_team_t *pair = pairs ? pairs->with[remote_ep] : NULL;
        if (pair && pair->ep)
            __atomic_store_n(&pair->head.peer_shift, pair_shifts(pair->ep, remote_ep),
                             __ATOMIC_RELEASE);
    }
    aq_lock_drop(&list_lock);
}

void aq_team_forget_pairs(gex_EP_Index_t ep)
{
    aq_lock_take(&list_lock);
    for (unsigned i = 0; pairs_of[ep] && i < GASNET_MAXEPS; i++)
        if (pairs_of[ep]->with[i])
            __atomic_store_n(&pairs_of[ep]->with[i]->ep, NULL, __ATOMIC_RELAXED);
    aq_lock_drop(&list_lock);
}

// The same arguments give the same handle, so that clients can compare handles and need not free
// them. An endpoint that was destroyed may have left pairs for a later one in its place, which may
// have an identity where the earlier one had none.
gex_TM_t gex_TM_Pair(gex_EP_t local_ep, gex_EP_Index_t remote_ep_index)
{
    AQ_CHECK(remote_ep_index < GASNET_MAXEPS,
             "gex_TM_Pair: endpoint index %u is not below GASNET_MAXEPS (%d)", remote_ep_index,
             GASNET_MAXEPS);
    if (remote_ep_index >= GASNET_MAXEPS)
        return GEX_TM_INVALID;
    aq_team_t *pair = pair_find(local_ep, remote_ep_index);
    return pair ? &pair->head : &pair_add(local_ep, remote_ep_index)->head;
}

// ---- queries ----

gex_Client_t gex_TM_QueryClient(gex_TM_t tm)
{
    aq_job_need("gex_TM_QueryClient");
    return aq_team_of(tm)->ep->client;
}

gex_EP_t gex_TM_QueryEP(gex_TM_t tm)
{
    aq_job_need("gex_TM_QueryEP");
    return aq_team_of(tm)->ep;
}

gex_Flags_t gex_TM_QueryFlags(gex_TM_t tm)
{
    aq_job_need("gex_TM_QueryFlags");
    return aq_team_of(tm)->flags;
}

void gex_TM_SetCData(gex_TM_t tm, const void *val)
{
    aq_job_need("gex_TM_SetCData");
    aq_team_of(tm)->cdata = (void *)(uintptr_t)val;
}

void *gex_TM_QueryCData(gex_TM_t tm)
{
    aq_job_need("gex_TM_QueryCData");
    return aq_team_of(tm)->cdata;
}

gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t tm, gex_Rank_t rank)
{
    aq_job_need("gex_TM_TranslateRankToJobrank");
    aq_bounds_rank("gex_TM_TranslateRankToJobrank", "rank", rank, tm->size);
    return aq_tm_jobrank(tm, rank);
}

// A linear search: the call is rare, and an index would double the memory of each team.
gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t tm, gex_Rank_t jobrank)
{
    aq_job_need("gex_TM_TranslateJobrankToRank");
    const aq_team_t *team = aq_team_of(tm);
    if (!team->members || team->pair)
        return jobrank < tm->size ? jobrank : GEX_RANK_INVALID;
    for (gex_Rank_t r = 0; r < tm->size; r++)
        if (team->members[r] == jobrank)
            return r;
    return GEX_RANK_INVALID;
}

gex_EP_Location_t gex_TM_TranslateRankToEP(gex_TM_t tm, gex_Rank_t rank, gex_Flags_t flags)
{
    aq_job_need("gex_TM_TranslateRankToEP");
    (void)flags;
    aq_bounds_rank("gex_TM_TranslateRankToEP", "rank", rank, tm->size);
    return (gex_EP_Location_t){aq_tm_jobrank(tm, rank), aq_team_ep_pair(aq_team_of(tm), rank).to};
}
