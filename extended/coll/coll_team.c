// SPDX-License-Identifier: BSD-3-Clause
// The collectives of a team: start and end, and the all-gather for creating further teams.
#include <stdlib.h>
#include <string.h>

#include "../../core/ground/fatal.h"
#include "../../core/state/job.h"
#include "../../core/state/job_groups.h"
#include "../../core/memory/scratch.h"
#include "coll_team.h"
#include "coll_tree.h"
#include "coll_operators.h"
#include "coll_engine.h"
#include "coll_shm.h"
#include "coll_mail.h"
#include "coll_check.h"
#include "../rma/layer_table.h"

// Slots of this process's scratch, each for the barrier and the area (coll_shm.h) of one team.
// Other members may still access the slot after the team has ended in this process; the slot is
// reused after the last member has left.
enum {
    SLOT_TEAM = 0,  // of the primordial team
    SLOT_NAMED = 1, // of the split-phase barrier of GASNet-1
    SLOT_FIRST = 2, // for further teams
    SLOT_BYTES = AQ_SHARED_BARRIER_BYTES + AQ_SHM_AREA_BYTES, // in this order
    SLOTS = AQ_SCRATCH_TEAMS / SLOT_BYTES,
};

static bool slot_taken[SLOTS];
static aq_lock_t slot_lock;

static void *slot_at(uint32_t nbrhd_index, uint32_t slot)
{
    return aq_scratch_of(nbrhd_index) + (size_t)slot * SLOT_BYTES;
}

static void *shm_area_of(uint32_t nbrhd_index, uint32_t slot)
{
    return (char *)slot_at(nbrhd_index, slot) + AQ_SHARED_BARRIER_BYTES;
}

static bool slot_reset(uint32_t slot)
{
    const uint32_t me = aq_job.nbrhd.my_index;
    return aq_shared_reset(slot_at(me, slot)) && aq_shm_reset(shm_area_of(me, slot));
}

uint32_t aq_coll_slot_take(void)
{
    uint32_t slot = SLOT_FIRST;
    aq_lock_take(&slot_lock);
    while (slot < SLOTS && (slot_taken[slot] || !slot_reset(slot)))
        slot++;
    if (slot < SLOTS)
        slot_taken[slot] = true;
    aq_lock_drop(&slot_lock);
    return slot < SLOTS ? slot : AQ_COLL_NO_SLOT;
}

void aq_coll_slot_drop(uint32_t slot)
{
    if (slot == AQ_COLL_NO_SLOT)
        return;
    aq_lock_take(&slot_lock);
    slot_taken[slot] = false;
    aq_lock_drop(&slot_lock);
}

// ---- start ----

static void *allocate_coll(size_t count, size_t size)
{
    return aq_allocate_zeroed(count, size, "the collectives of a team");
}

static void find_map(aq_coll_t *coll)
{
    uint32_t size = coll->team->head.size;
    aq_group_numbers_t *of_job = aq_job_group_numbers();
    if (!of_job)
        aq_fatal("out of memory for the collectives of a team of %u ranks", size);
    uint32_t *of_team = allocate_coll(size, sizeof *of_team);
    for (uint32_t r = 0; r < size; r++)
        of_team[r] = of_job[aq_team_jobrank(coll->team, r)].nbrhd;
    aq_coll_map_make(&coll->map, size, of_team, aq_job.nbrhd.groups);
    free(of_job);
    free(of_team);
}

static bool everybody_has_slot(const uint32_t *slots, uint32_t size)
{
    uint32_t r = 0;
    while (r < size && slots[r] != AQ_COLL_NO_SLOT)
        r++;
    return r == size;
}

static uint32_t slot_check(const aq_team_t *team, const uint32_t *slots, uint32_t rank)
{
    if (slots[rank] >= SLOTS)
        aq_fatal("rank %u offers slot %u for the collectives of a team, and there are %u",
                 aq_team_jobrank(team, rank), slots[rank], (unsigned)SLOTS);
    return slots[rank];
}

// Finds the shared memory for the barriers of a team. Without slots each member counts as a
// neighbourhood.
static void start_barrier(aq_coll_t *coll, aq_barrier_t *barrier, uint64_t id,
                          const uint32_t *slots, uint32_t slot)
{
    const aq_team_t *team = coll->team;
    uint32_t size = team->head.size, me = team->head.rank;
    const aq_coll_map_t plain = {.size = size, .groups = size, .largest = 1};
    bool shared = !slots || everybody_has_slot(slots, size);
    const aq_coll_map_t *map = shared ? &coll->map : &plain;
    uint32_t *leaders = allocate_coll(map->groups, sizeof *leaders);
    uint32_t group = aq_coll_map_group(map, me), first = aq_coll_map_start(map, group);
    for (uint32_t g = 0; g < map->groups; g++)
        leaders[g] = aq_team_jobrank(team, aq_coll_map_leader(map, g));
    aq_barrier_place_t place = {.id = id,
                                .groups = map->groups,
                                .my_group = group,
                                .leaders = leaders,
                                .size = aq_coll_map_members(map, group)};
    while (aq_coll_map_rank(map, first + place.index) != me)
        place.index++;
    for (uint32_t i = 0; shared && i < place.size && i < AQ_SHARED_SMALL; i++) {
        uint32_t rank = aq_coll_map_rank(map, first + i);
        place.areas[i] = slot_at(aq_index_in_nbrhd(&aq_job.env, aq_team_jobrank(team, rank)),
                                 slots ? slot_check(team, slots, rank) : slot);
    }
    aq_barrier_start(barrier, &place);
    free(leaders);
}

// Finds the areas of a team whose members all share memory. slots: NULL for the primordial team.
static void start_shm(aq_coll_t *coll, const uint32_t *slots)
{
    const aq_team_t *team = coll->team;
    const uint32_t size = team->head.size;
    if (size == 1 || coll->map.groups > 1 || (slots && !everybody_has_slot(slots, size)))
        return;
    void **areas = allocate_coll(size, sizeof *areas);
    for (uint32_t r = 0; r < size; r++)
        areas[r] = shm_area_of(aq_index_in_nbrhd(&aq_job.env, aq_team_jobrank(team, r)),
                               slots ? slot_check(team, slots, r) : SLOT_TEAM);
    coll->shm = aq_shm_new(team, areas);
    free(areas);
}

static aq_coll_t *new_coll(aq_team_t *team)
{
    aq_coll_t *coll = allocate_coll(1, sizeof *coll);
    coll->team = team;
    find_map(coll);
    return coll;
}

static void publish_coll(aq_coll_t *coll)
{
    aq_coll_engine_add(coll);
    aq_lock_take(&aq_coll_lock);
    coll->team->coll = coll;
    if (AQ_CHECKS)
        aq_coll_check_start(coll);
    aq_coll_mail_adopt(coll);
    aq_lock_drop(&aq_coll_lock);
}

static aq_coll_t *open_coll(aq_team_t *team, const uint32_t *slots, bool share_memory)
{
    aq_coll_t *coll = new_coll(team);
    coll->slot = AQ_COLL_NO_SLOT;
    if (share_memory)
        start_shm(coll, slots);
    publish_coll(coll);
    return coll;
}

static void close_coll(aq_coll_t *coll)
{
    aq_coll_engine_remove(coll);
    aq_shm_free(coll->shm);
    aq_lock_take(&aq_coll_lock);
    coll->team->coll = NULL;
    aq_coll_mail_free(coll);
    aq_lock_drop(&aq_coll_lock);
    if (AQ_CHECKS)
        aq_coll_check_end(coll);
    aq_coll_map_free(&coll->map);
    free(coll);
}

// ---- parts of a team of several hosts ----

// Bits of the ids of the parts, which otherwise have the id of the team: a rank is in at most one
// part of each kind.
#define LOCAL_ID ((uint64_t)1 << 63)
#define ACROSS_ID ((uint64_t)1 << 62)

// A part of a team: the members at `count` places.
typedef struct part {
    uint64_t id;
    uint32_t count, rank; // of this process
    gex_Rank_t *members;  // job ranks
    uint32_t *slots;
} part_t;

static part_t part_new(uint64_t id, uint32_t count)
{
    part_t part = {.id = id, .count = count};
    part.members = allocate_coll(count, sizeof *part.members);
    part.slots = allocate_coll(count, sizeof *part.slots);
    return part;
}

static void part_member(part_t *part, uint32_t i, const aq_coll_t *coll, uint32_t place,
                        const uint32_t *slots)
{
    const uint32_t rank = aq_coll_map_rank(&coll->map, place);
    part->members[i] = aq_team_jobrank(coll->team, rank);
    part->slots[i] = slots ? slots[rank] : AQ_COLL_NO_SLOT;
    if (rank == coll->team->head.rank)
        part->rank = i;
}

// Makes the team of a part and its collectives; frees the part.
static aq_coll_t *part_open(part_t *part, const uint32_t *slots, bool is_local)
{
    aq_team_t *team =
        aq_team_new(&aq_endpoint, part->id,
                    &(aq_team_members_t){part->rank, part->count, part->members, NULL}, 0);
    aq_coll_t *coll = open_coll(team, slots ? part->slots : NULL, is_local);
    free(part->members);
    free(part->slots);
    return coll;
}

static aq_coll_t *open_local(const aq_coll_t *coll, const uint32_t *slots, uint32_t group)
{
    const uint32_t first = aq_coll_map_start(&coll->map, group);
    part_t part = part_new(coll->team->id | LOCAL_ID, aq_coll_map_members(&coll->map, group));
    for (uint32_t i = 0; i < part.count; i++)
        part_member(&part, i, coll, first + i, slots);
    return part_open(&part, slots, true);
}

static aq_coll_t *open_across(const aq_coll_t *coll, const uint32_t *slots)
{
    part_t part = part_new(coll->team->id | ACROSS_ID, coll->map.groups);
    for (uint32_t g = 0; g < part.count; g++)
        part_member(&part, g, coll, aq_coll_map_start(&coll->map, g), slots);
    return part_open(&part, slots, false);
}

static void hosts_start(aq_coll_t *coll, const uint32_t *slots)
{
    const uint32_t me = coll->team->head.rank, group = aq_coll_map_group(&coll->map, me);
    coll->has_hosts = coll->map.groups > 1 && coll->map.groups < coll->map.size;
    if (coll->has_hosts && aq_coll_map_members(&coll->map, group) > 1)
        coll->local = open_local(coll, slots, group);
    if (coll->has_hosts && aq_coll_map_leader(&coll->map, group) == me)
        coll->across = open_across(coll, slots);
}

static void part_end(aq_coll_t *coll)
{
    aq_team_t *team = coll ? coll->team : NULL;
    if (coll)
        close_coll(coll);
    if (team)
        aq_team_free(team);
}

static void hosts_end(aq_coll_t *coll)
{
    part_end(coll->local);
    part_end(coll->across);
}

// ---- start and end ----

void aq_coll_team_start(aq_team_t *team, const uint32_t *slots)
{
    aq_coll_t *coll = new_coll(team);
    coll->slot = slots[team->head.rank];
    coll->barrier.shown = aq_rank_show_team(team->id, team->head.rank, team->head.size);
    start_barrier(coll, &coll->barrier, team->id, slots, 0);
    start_shm(coll, slots);
    if (everybody_has_slot(slots, team->head.size))
        hosts_start(coll, slots);
    publish_coll(coll);
}

void aq_coll_team_end(aq_team_t *team)
{
    aq_coll_t *coll = aq_coll_of(team);
    const uint32_t slot = coll->slot;
    aq_rank_hide_team(coll->barrier.shown);
    aq_barrier_end(&coll->barrier);
    hosts_end(coll);
    close_coll(coll);
    aq_coll_slot_drop(slot);
}

// ---- all-gather ----

// Combines the parts of all members, each at its place between zeros, by a reduction, which needs
// few messages. That matters more than the number of bytes while a team is being created.
void aq_coll_allgather(aq_team_t *team, const void *mine, size_t bytes, void *all)
{
    size_t total = bytes * team->head.size;
    if (!total)
        return;
    memset(all, 0, total);
    memcpy((char *)all + bytes * team->head.rank, mine, bytes);
    const aq_coll_call_t call = {.kind = AQ_COLL_TO_ALL,
                                 .dst = all,
                                 .src = all,
                                 .unit = 1,
                                 .count = total,
                                 .fn = aq_coll_or_bytes};
    gex_Event_Wait(aq_coll_begin(aq_coll_of(team), &call, 0));
    memcpy((char *)all + bytes * team->head.rank, mine,
           bytes); // other ranks may have sent other bytes
}

// ---- the primordial team ----

void aq_coll_team_start_job(void)
{
    aq_coll_t *coll = new_coll(&aq_team);
    coll->barrier.shown = aq_rank_show_team(aq_team.id, aq_team.head.rank, aq_team.head.size);
    aq_barrier_named.shown = coll->barrier.shown;
    start_barrier(coll, &coll->barrier, aq_team.id, NULL, SLOT_TEAM);
    start_barrier(coll, &aq_barrier_named, AQ_BARRIER_NAMED_ID, NULL, SLOT_NAMED);
    start_shm(coll, NULL);
    coll->slot = AQ_COLL_NO_SLOT;
    hosts_start(coll, NULL);
    publish_coll(coll);
}
