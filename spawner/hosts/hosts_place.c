// SPDX-License-Identifier: BSD-3-Clause
// Placement of ranks on hosts.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hosts.h"
#include "../boot/boot.h"

typedef struct places {
    const aq_hosts_t *hosts;
    const aq_placement_t *placement;
    uint32_t *row;   // row of each host that gets ranks
    uint32_t *ranks; // number of ranks of that host
    uint32_t count;
    bool any_slots; // at least one host of the list has slots
} places_t;

static uint32_t slots_of(const aq_host_t *host, const aq_placement_t *placement)
{
    if (host->slots > 0 || host->cpus == 0)
        return host->slots;
    uint32_t each = placement->cpus_per_rank > 0 ? placement->cpus_per_rank : 1;
    return host->cpus >= each ? host->cpus / each : 1;
}

static bool choose_hosts(places_t *places, char *fault, size_t capacity)
{
    uint32_t wanted = places->placement->host_count;
    for (size_t i = 0; i < places->hosts->count; i++) {
        if (places->hosts->rows[i].idle || (wanted > 0 && places->count == wanted))
            continue;
        places->row[places->count++] = (uint32_t)i;
        places->any_slots =
            places->any_slots || slots_of(&places->hosts->rows[i], places->placement) > 0;
    }
    if (places->count == 0)
        snprintf(fault, capacity, "no host takes ranks: all have schedule=no; remove it from one");
    else if (wanted > places->count)
        snprintf(fault, capacity,
                 "option -N: %" PRIu32 " hosts, but %" PRIu32
                 " are named that take ranks; name more, or give -N %" PRIu32,
                 wanted, places->count, places->count);
    else if (wanted > places->placement->size)
        snprintf(fault, capacity,
                 "option -N: %" PRIu32 " hosts for %" PRIu32
                 " ranks; give at most one host for each rank",
                 wanted, places->placement->size);
    else
        return true;
    return false;
}

static void share_evenly(places_t *places)
{
    uint32_t size = places->placement->size;
    if (places->count > size)
        places->count = size;
    for (uint32_t i = 0; i < places->count; i++)
        places->ranks[i] = size / places->count + (i < size % places->count);
}

// Fills every slot in each round but the last, in as many rounds as needed.
static bool share_by_slots(places_t *places)
{
    uint32_t left = places->placement->size;
    unsigned rounds = 0;
    for (; left > 0; rounds++)
        for (uint32_t i = 0; i < places->count && left > 0; i++) {
            uint32_t slots = slots_of(&places->hosts->rows[places->row[i]], places->placement);
            uint32_t taken = slots == 0 ? 1 : slots < left ? slots : left;
            places->ranks[i] += taken;
            left -= taken;
        }
    return rounds > 1;
}

// Whether a host has more ranks than slots. A host of unknown slots is never overfull.
static bool is_overfull(const places_t *places)
{
    for (uint32_t i = 0; i < places->count; i++) {
        uint32_t slots = slots_of(&places->hosts->rows[places->row[i]], places->placement);
        if (slots > 0 && places->ranks[i] > slots)
            return true;
    }
    return false;
}

// carried: one zero per row.
static bool check_room(const places_t *places, uint32_t *carried, char *fault, size_t size)
{
    for (uint32_t i = 0; i < places->count; i++) {
        uint32_t first = places->hosts->rows[places->row[i]].first;
        carried[first] += places->ranks[i];
        if (carried[first] > AQ_RANKS_MAX) {
            snprintf(fault, size,
                     "host %s would get %" PRIu32
                     " ranks, but one host carries at most %d; name more hosts",
                     places->hosts->rows[first].name, carried[first], AQ_RANKS_MAX);
            return false;
        }
    }
    return true;
}

static void number_blocks(const places_t *places, uint32_t *row_of_rank)
{
    uint32_t rank = 0;
    for (uint32_t i = 0; i < places->count; i++)
        for (uint32_t k = 0; k < places->ranks[i]; k++)
            row_of_rank[rank++] = places->hosts->rows[places->row[i]].first;
}

static void number_cyclic(const places_t *places, uint32_t *row_of_rank)
{
    uint32_t rank = 0;
    for (uint32_t turn = 0; rank < places->placement->size; turn++)
        for (uint32_t i = 0; i < places->count; i++)
            if (places->ranks[i] > turn)
                row_of_rank[rank++] = places->hosts->rows[places->row[i]].first;
}

bool aq_hosts_place(const aq_hosts_t *hosts, const aq_placement_t *placement, uint32_t *row_of_rank,
                    bool *overfull, char *fault, size_t size)
{
    places_t places = {.hosts = hosts, .placement = placement};
    places.row = calloc(hosts->count + 1, sizeof *places.row);
    places.ranks = calloc(hosts->count + 1, sizeof *places.ranks);
    uint32_t *carried = calloc(hosts->count + 1, sizeof *carried);
    bool ok = places.row != NULL && places.ranks != NULL && carried != NULL;
    *overfull = false;
    if (!ok)
        snprintf(fault, size, "no memory for the list of hosts; name fewer hosts");
    ok = ok && choose_hosts(&places, fault, size);
    if (ok) {
        if (placement->host_count > 0 || !places.any_slots)
            share_evenly(&places);
        else
            *overfull = share_by_slots(&places);
        *overfull = *overfull || is_overfull(&places);
        ok = check_room(&places, carried, fault, size);
    }
    if (ok && placement->cyclic)
        number_cyclic(&places, row_of_rank);
    else if (ok)
        number_blocks(&places, row_of_rank);
    free(places.row);
    free(places.ranks);
    free(carried);
    return ok;
}
