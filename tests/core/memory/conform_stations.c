// SPDX-License-Identifier: BSD-3-Clause
#include "conform_stations.h"

#include "conform_standalone.h"

#include <aqueduct.h>
#include <stdlib.h>

gex_Client_t client;
gex_EP_t primordial;
gex_TM_t team;
gex_Rank_t me, ranks;
char *is_near;

static void find_neighbours(void)
{
    gex_RankInfo_t *near;
    gex_Rank_t count;
    is_near = calloc(ranks, 1);
    gex_System_QueryNbrhdInfo(&near, &count, NULL);
    for (gex_Rank_t i = 0; i < count; i++)
        is_near[near[i].gex_jobrank] = 1;
}

int stations_init(const char *name, int *argc, char ***argv)
{
    if (gex_Client_Init(&client, &primordial, &team, name, argc, argv, 0) != GASNET_OK)
        return 1;
    me = gex_TM_QueryRank(team);
    ranks = gex_TM_QuerySize(team);
    find_neighbours();
    return 0;
}

void make_endpoint(station_t *station)
{
    int result = gex_EP_Create(&station->ep, client, GEX_EP_CAPABILITY_ALL, 0);
    CHECK(result == GASNET_OK, "gex_EP_Create returned", (unsigned long)result);
}

void bind_segment(station_t *station, void *memory, size_t size)
{
    int result = gex_Segment_Create(&station->segment, client, memory, size, GEX_MK_HOST, 0);
    CHECK(result == GASNET_OK, "gex_Segment_Create returned", (unsigned long)result);
    result = gex_EP_BindSegment(station->ep, station->segment, 0);
    CHECK(result == GASNET_OK, "gex_EP_BindSegment returned", (unsigned long)result);
    station->words = gex_Segment_QueryAddr(station->segment);
}

void publish(const station_t *station)
{
    gex_EP_t ep = station->ep;
    int result = gex_EP_PublishBoundSegment(team, &ep, 1, 0);
    CHECK(result == GASNET_OK, "gex_EP_PublishBoundSegment returned", (unsigned long)result);
}

station_t make_station(void *memory, size_t size)
{
    station_t station;
    make_endpoint(&station);
    bind_segment(&station, memory, size);
    publish(&station);
    return station;
}

gex_TM_t pair_of(const station_t *from, gex_EP_t like)
{
    return gex_TM_Pair(from ? from->ep : primordial, gex_EP_QueryIndex(like));
}

uint64_t *find_segment(gex_TM_t pair, gex_Rank_t rank, uint64_t **here, uintptr_t *size)
{
    void *owner = NULL, *local = NULL;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, rank, &owner, &local, size, 0));
    *here = local;
    return owner;
}

void end_station(station_t *station)
{
    gex_Segment_Destroy(station->segment, 0);
    CHECK(gasnetx_EP_Destroy(station->ep) == GASNET_OK, "gasnetx_EP_Destroy at rank", me);
}
