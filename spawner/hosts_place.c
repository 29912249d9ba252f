// Placement of ranks on hosts.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hosts.h"
#include "boot.h"

typedef struct seats {
    const aq_hosts_t *hosts;
    const aq_placement_t *placement;
    uint32_t *row;   // row of each host that gets ranks
    uint32_t *ranks; // number of ranks of that host
    uint32_t count;
    bool told; // at least one of the hosts has slots
} seats_t;

static uint32_t slots_of(const aq_host_t *host, const aq_placement_t *placement)
{
    if (host->slots > 0 || host->cpus == 0)
        return host->slots;
    uint32_t each = placement->cpus_per_rank > 0 ? placement->cpus_per_rank : 1;
    return host->cpus >= each ? host->cpus / each : 1;
}

static bool choose_hosts(seats_t *seats, char *fault, size_t room)
{
    uint32_t wanted = seats->placement->host_count;
    for (size_t i = 0; i < seats->hosts->count; i++) {
        if (seats->hosts->rows[i].idle || (wanted > 0 && seats->count == wanted))
            continue;
        seats->row[seats->count++] = (uint32_t)i;
        seats->told = seats->told || slots_of(&seats->hosts->rows[i], seats->placement) > 0;
    }
    if (seats->count == 0)
        snprintf(fault, room, "no host takes ranks: all have schedule=no; remove it from one");
    else if (wanted > seats->count)
        snprintf(fault, room,
                 "option -N: %" PRIu32 " hosts, but %" PRIu32
                 " are named that take ranks; name more, or give -N %" PRIu32,
                 wanted, seats->count, seats->count);
    else if (wanted > seats->placement->size)
        snprintf(fault, room,
                 "option -N: %" PRIu32 " hosts for %" PRIu32
                 " ranks; give at most one host for each rank",
                 wanted, seats->placement->size);
    else
        return true;
    return false;
}

static void share_evenly(seats_t *seats)
{
    uint32_t size = seats->placement->size;
    if (seats->count > size)
        seats->count = size;
    for (uint32_t i = 0; i < seats->count; i++)
        seats->ranks[i] = size / seats->count + (i < size % seats->count);
}

// Fills every slot in each round but the last, in as many rounds as needed.
static bool share_by_slots(seats_t *seats)
{
    uint32_t left = seats->placement->size;
    unsigned rounds = 0;
    for (; left > 0; rounds++)
        for (uint32_t i = 0; i < seats->count && left > 0; i++) {
            uint32_t slots = slots_of(&seats->hosts->rows[seats->row[i]], seats->placement);
            uint32_t taken = slots == 0 ? 1 : slots < left ? slots : left;
            seats->ranks[i] += taken;
            left -= taken;
        }
    return rounds > 1;
}

// Whether a host has more ranks than slots. A host of unknown slots is never overfull.
static bool is_overfull(const seats_t *seats)
{
    for (uint32_t i = 0; i < seats->count; i++) {
        uint32_t slots = slots_of(&seats->hosts->rows[seats->row[i]], seats->placement);
        if (slots > 0 && seats->ranks[i] > slots)
            return true;
    }
    return false;
}

// carried: one zero per row.
static bool check_room(const seats_t *seats, uint32_t *carried, char *fault, size_t room)
{
    for (uint32_t i = 0; i < seats->count; i++) {
        uint32_t first = seats->hosts->rows[seats->row[i]].first;
        carried[first] += seats->ranks[i];
        if (carried[first] > AQ_RANKS_MAX) {
            snprintf(fault, room,
                     "host %s would get %" PRIu32
                     " ranks, but one host carries at most %d; name more hosts",
                     seats->hosts->rows[first].name, carried[first], AQ_RANKS_MAX);
            return false;
        }
    }
    return true;
}

static void number_blocks(const seats_t *seats, uint32_t *row_of_rank)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < seats->count; i++)
        for (uint32_t k = 0; k < seats->ranks[i]; k++)
            row_of_rank[rank++] = seats->hosts->rows[seats->row[i]].first;
}

static void number_cyclic(const seats_t *seats, uint32_t *row_of_rank)
{
    uint32_t rank = 0;
    for (uint32_t turn = 0; rank < seats->placement->size; turn++)
        for (uint32_t i = 0; i < seats->count; i++)
            if (seats->ranks[i] > turn)
                row_of_rank[rank++] = seats->hosts->rows[seats->row[i]].first;
}

bool aq_hosts_place(const aq_hosts_t *hosts, const aq_placement_t *placement, uint32_t *row_of_rank,
                    bool *overfull, char *fault, size_t room)
{
    seats_t seats = {.hosts = hosts, .placement = placement};
    seats.row = calloc(hosts->count + 1, sizeof *seats.row);
    seats.ranks = calloc(hosts->count + 1, sizeof *seats.ranks);
    uint32_t *carried = calloc(hosts->count + 1, sizeof *carried);
    bool ok = seats.row != NULL && seats.ranks != NULL && carried != NULL;
    *overfull = false;
    if (!ok)
        snprintf(fault, room, "no memory for the list of hosts; name fewer hosts");
    ok = ok && choose_hosts(&seats, fault, room);
    if (ok) {
        if (placement->host_count > 0 || !seats.told)
            share_evenly(&seats);
        else
            *overfull = share_by_slots(&seats);
        *overfull = *overfull || is_overfull(&seats);
        ok = check_room(&seats, carried, fault, room);
    }
    if (ok && placement->cyclic)
        number_cyclic(&seats, row_of_rank);
    else if (ok)
        number_blocks(&seats, row_of_rank);
    free(seats.row);
    free(seats.ranks);
    free(carried);
    return ok;
}
