// SPDX-License-Identifier: BSD-3-Clause
// Wrong calls on teams. Where the name has "both" in it, both ranks make the call.
#include "bad_calls.h"

static gex_TM_t made;

static void split_color(void)
{
    gex_TM_Split(&made, bad_tm, -3, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
}

static void split_pair(void)
{
    gex_TM_Split(&made, gex_TM_Pair(bad_ep, 0), 0, 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
}

// Rank 0 asks for a team of these members, rank 1 for none.
static void create(gex_EP_Location_t *members, size_t count)
{
    gex_TM_Create(&made, !bad_me, bad_tm, members, bad_me ? 0 : count, NULL, 0,
                  GEX_FLAG_TM_NO_SCRATCH);
}

static void create_rank(void)
{
    create((gex_EP_Location_t[]){{0, 0}, {2, 0}}, 2);
}

// Both ranks ask for a team, which they do not get.
static void create_none(gex_EP_Location_t *members, size_t count, size_t own)
{
    gex_TM_t teams[2] = {bad_tm, bad_tm};
    gex_TM_Create(teams, own, bad_tm, members, count, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    const int none = teams[0] == GEX_TM_INVALID && (own < 2 || teams[1] == GEX_TM_INVALID);
    bad_returned(none ? GASNET_ERR_BAD_ARG : GASNET_OK, GASNET_ERR_BAD_ARG);
    gex_Event_Wait(gex_Coll_BarrierNB(bad_tm, 0));
}

static void create_endpoint(void)
{
    create_none((gex_EP_Location_t[]){{0, 0}, {1, 1}}, 2, 1);
}

static void create_beyond(void)
{
    create_none((gex_EP_Location_t[]){{0, 0}, {1, 5000}}, 2, 1);
}

static void create_two(void)
{
    gex_EP_t ep;
    (void)gex_EP_Create(&ep, gex_TM_QueryClient(bad_tm), GEX_EP_CAPABILITY_ALL, 0);
    create_none((gex_EP_Location_t[]){{0, 0}, {1, 0}, {1, 1}}, 3, 1 + bad_me);
}

static void create_other(void)
{
    gex_EP_t ep;
    (void)gex_EP_Create(&ep, gex_TM_QueryClient(bad_tm), GEX_EP_CAPABILITY_ALL, 0);
    create_none(bad_me ? (gex_EP_Location_t[]){{0, 1}, {1, 1}}
                       : (gex_EP_Location_t[]){{0, 0}, {1, 0}},
                2, 1);
}

static void create_absent(void)
{
    create((gex_EP_Location_t[]){{1, 0}}, 1);
}

static void create_twice(void)
{
    create((gex_EP_Location_t[]){{0, 0}, {1, 0}, {0, 0}}, 3);
}

static void create_pair(void)
{
    gex_EP_Location_t member = {0, 0};
    gex_TM_Create(&made, 1, gex_TM_Pair(bad_ep, 0), &member, 1, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
}

static void destroy_primordial(void)
{
    gex_TM_Destroy(bad_tm, NULL, 0);
}

static void destroy_pair(void)
{
    gex_TM_Destroy(gex_TM_Pair(bad_ep, 0), NULL, 0);
}

#define PAIR "the team is a pair of gex_TM_Pair, which is for point-to-point calls only"

const bad_call_t bad_team_calls[] = {
    {"team-split-color", BAD_FATAL_ALWAYS, 0,
     "gex_TM_Split: color -3 of rank 0 is negative: colors are 0 or more", split_color, NULL, NULL},
    {"team-split-pair", BAD_FATAL, 0, "gex_TM_Split: " PAIR, split_pair, NULL, NULL},
    {"team-both-create-rank", BAD_FATAL_ALWAYS, 0,
     "gex_TM_Create: rank 2 is not a member of the parent team of 2 ranks", create_rank, NULL,
     NULL},
    {"team-both-create-endpoint", BAD_RETURNS, 0,
     "gex_TM_Create: endpoint 1 of rank 1 of the parent team: this rank has no such endpoint; "
     "create it first \\(gex_EP_Create\\); this team is not made \\(GEX_TM_INVALID\\)",
     create_endpoint, NULL, NULL},
    {"team-both-create-beyond", BAD_RETURNS, 0,
     "gex_TM_Create: endpoint 5000 of rank 1 of the parent team: this rank has no such endpoint",
     create_beyond, NULL, NULL},
    {"team-both-create-two", BAD_RETURNS, 0,
     "gex_TM_Create: endpoint 1 of rank 1 of the parent team: a second endpoint of this rank is in "
     "the list, and a team has one of each",
     create_two, NULL, NULL},
    {"team-both-create-other", BAD_RETURNS, 0,
     "gex_TM_Create: endpoint [01] of rank [01] of the parent team: this rank gives another "
     "endpoint of its own in its list",
     create_other, NULL, NULL},
    {"team-both-create-absent", BAD_FATAL_ALWAYS, 0,
     "gex_TM_Create: the list of 1 members does not have the caller, rank 0 of the parent team",
     create_absent, NULL, NULL},
    {"team-both-create-twice", BAD_FATAL_ALWAYS, 0,
     "gex_TM_Create: endpoint 0 of rank 0 of the parent team is in the list of 3 members twice",
     create_twice, NULL, NULL},
    {"team-create-pair", BAD_FATAL, 0, "gex_TM_Create: " PAIR, create_pair, NULL, NULL},
    {"team-destroy-primordial", BAD_FATAL_ALWAYS, 0,
     "gex_TM_Destroy: the primordial team lives as long as the job", destroy_primordial, NULL,
     NULL},
    {"team-destroy-pair", BAD_FATAL, 0, "gex_TM_Destroy: " PAIR, destroy_pair, NULL, NULL},
    {0},
};
