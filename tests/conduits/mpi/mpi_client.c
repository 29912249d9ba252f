// SPDX-License-Identifier: BSD-3-Clause
// A client that calls MPI itself, between calls of GASNet. Its argument is one of:
//   ours      the library initializes MPI, and gasnet_exit finalizes it
//   theirs    the client initializes MPI, and gasnet_exit finalizes it
//   both      the client initializes and finalizes MPI, and returns from main
//   before    the client finalizes MPI before gex_Client_Init, which must fail
//   meanwhile the client finalizes MPI and continues to use GASNet, which must fail
//   puts      rank 0 puts to rank 1, and both print how many packets they sent meanwhile
//   share     rank 0 prints with how many ranks MPI says it shares memory
//   stuck     MPI_Finalize, which gasnet_exit(3) calls, does not return
//   single, funneled   the client initializes MPI with that level of thread support: too low
#include <gasnetex.h>
#include <aqueduct.h>
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 200, SEGMENT = 1 << 24, REPLY = GEX_AM_INDEX_BASE, REQUEST };

static volatile int replies;
static gex_Rank_t me, size;

static void on_reply(gex_Token_t token)
{
    (void)token;
    replies++;
}

static void on_request(gex_Token_t token)
{
    gex_AM_ReplyShort0(token, REPLY, 0);
}

static void check_or_exit(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "mpi_client: rank %u: %s\n", (unsigned)me, what);
    gasnet_exit(1);
}

static int mode_is(const char *mode, const char *name)
{
    return strcmp(mode, name) == 0;
}

static gex_TM_t client_start(void)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t team;
    gex_AM_Entry_t table[] = {
        {REPLY, (gex_AM_Fn_t)on_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL, "reply"},
        {REQUEST, (gex_AM_Fn_t)on_request, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
         "request"}};
    if (gex_Client_Init(&client, &ep, &team, "mpi_client", NULL, NULL, 0) != GASNET_OK)
        exit(2);
    me = gex_TM_QueryRank(team);
    size = gex_TM_QuerySize(team);
    gex_EP_RegisterHandlers(ep, table, 2);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    return team;
}

// A rank that blocks in MPI serves no requests of GASNet, so this polls both.
static void wait_for(MPI_Request *request)
{
    int done = 0;
    while (!done) {
        gasnet_AMPoll();
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
}

// Sends messages of MPI and of GASNet at the same time. The tags are among those that the library
// uses.
static void exchange_with_mpi(gex_TM_t team)
{
    const int right = (int)((me + 1) % size), left = (int)((me + size - 1) % size);
    for (int i = 0; i < ROUNDS; i++) {
        int sent = i * 1000 + (int)me, received = -1, sum = 0;
        MPI_Request requests[2];
        MPI_Irecv(&received, 1, MPI_INT, left, i % 2, MPI_COMM_WORLD, &requests[0]);
        gex_AM_RequestShort0(team, (gex_Rank_t)right, REQUEST, 0);
        MPI_Isend(&sent, 1, MPI_INT, right, i % 2, MPI_COMM_WORLD, &requests[1]);
        GASNET_BLOCKUNTIL(replies == i + 1);
        wait_for(&requests[0]);
        wait_for(&requests[1]);
        check_or_exit(received == i * 1000 + left, "a message of MPI is wrong");
        if (i % 20)
            continue;
        gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
        MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        check_or_exit(sum == i * (int)size, "a sum of MPI is wrong");
        gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static uint64_t packets_sent(void)
{
    const volatile gasnetx_counters_t *counters = gasnetx_Counters(GEX_EP_INVALID);
    if (!counters)
        exit(2);
    gasnetx_Counters_Update();
    return gasnetx_counter(&counters->packets_sent);
}

// The number of packets shows how the library puts: with active messages each put is acknowledged,
// with one-sided calls none is, and with stores and mailboxes no packets are sent.
static void puts_of_rank_0(gex_TM_t team)
{
    gex_Segment_t segment;
    uint64_t before, after;
    if (gex_Segment_Attach(&segment, team, SEGMENT) != GASNET_OK)
        exit(2);
    volatile uint64_t *mine = gex_Segment_QueryAddr(segment);
    void *there;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, 1, &there, NULL, NULL, 0));
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    before = packets_sent();
    for (uint64_t i = 1; me == 0 && i <= ROUNDS; i++)
        gex_RMA_PutBlocking(team, 1, (uint64_t *)there + i % 64, &i, sizeof i, 0);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    after = packets_sent();
    for (uint64_t i = ROUNDS - 63; me == 1 && i <= ROUNDS; i++)
        check_or_exit(mine[i % 64] == i, "a value that was put has not arrived");
    printf("mpi_client: %d puts, rank %u sent %u packets\n", (int)ROUNDS, (unsigned)me,
           (unsigned)(after - before));
    fflush(stdout);
}

static void tell_shared(void)
{
    MPI_Comm host;
    int ranks;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &ranks);
    MPI_Comm_free(&host);
    if (me == 0)
        printf("mpi_client: %d ranks share memory\n", ranks);
}

// MPI_Finalize calls this when it deletes the attributes of MPI_COMM_SELF.
static int never_return(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    while (pause() == -1)
        ;
    return MPI_SUCCESS;
}

static void get_stuck(void)
{
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, never_return, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    gasnet_exit(3);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "ours";
    int started, level,
        wanted = mode_is(mode, "single")     ? MPI_THREAD_SINGLE
                 : mode_is(mode, "funneled") ? MPI_THREAD_FUNNELED
                                             : MPI_THREAD_SERIALIZED;
    if (!mode_is(mode, "ours") && !mode_is(mode, "puts"))
        MPI_Init_thread(NULL, NULL, wanted, &level);
    if (mode_is(mode, "before"))
        MPI_Finalize();
    gex_TM_t team = client_start();
    MPI_Initialized(&started);
    check_or_exit(started, "MPI is not initialized");
    exchange_with_mpi(team);
    if (mode_is(mode, "puts"))
        puts_of_rank_0(team);
    if (mode_is(mode, "share"))
        tell_shared();
    if (me == 0)
        printf("mpi_client: %u ranks are done\n", (unsigned)size);
    fflush(stdout);
    if (mode_is(mode, "meanwhile") || mode_is(mode, "both"))
        MPI_Finalize();
    if (mode_is(mode, "both"))
        return 0;
    if (mode_is(mode, "stuck"))
        get_stuck();
    if (mode_is(mode, "meanwhile"))
        for (;;)
            gasnet_AMPoll();
    gasnet_exit(0);
    return 1;
}
