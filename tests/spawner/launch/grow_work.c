/* SPDX-License-Identifier: BSD-3-Clause */
/* A job that grows (gasnetx_Job_Grow): old and new ranks send messages, put, get and run
 * collectives on the teams of old ones, new ones and all.
 *
 *     gasnetrun_smp -n 4 --reserve 12 grow_work [WAYS] [COUNT...]
 *         The job grows by each COUNT. WAYS is a list of words with commas between:
 *         late         old ranks attach their segments after the first growth
 *         traffic      a second thread of each old rank sends messages to all old ones meanwhile
 *         old, new     rank 0, or the last rank, exits with code 7 when all is done
 *         kill         the last rank kills itself when all is done
 *         die, refuse  new ranks end before they have joined: by a signal, with code 3
 *         gasnet1      new ranks want GASNet-1
 *         leave        rank 0 exits with code 7 when the others let the job grow
 *         absent       rank 0 sends a message to a rank that is not there yet
 *     gasnetrun_smp -n 3 --reserve 2 grow_work wrong
 *         What the call refuses.
 *     gasnetrun_smp -n 3 grow_work fixed
 *         The call is refused because this job has no reserve. fixed,nodes: because the client uses
 *         GASNet-1.
 */
#include <gasnetex.h>

#include <aqueduct.h>
#include <aqueduct_msg.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PING = GEX_AM_INDEX_BASE,
    PONG,
    STORE,
    RANKS = 1024,
    SEGMENT = RANKS * 16, /* words, of 8 bytes: one for puts and one for Longs of each rank */
};

static gex_Client_t client;
static gex_TM_t primordial;
static gex_Rank_t me; /* job rank */
static atomic_uint pongs, stores;
static const char *ways = "";

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "grow_work: rank %u: %s\n", (unsigned)me, what);
    gasnet_exit(1);
}

static int goes(const char *way)
{
    const size_t length = strlen(way);
    for (const char *at = ways; (at = strstr(at, way)); at += length)
        if ((at == ways || at[-1] == ',') && (!at[length] || at[length] == ','))
            return 1;
    return 0;
}

/* ---- messages ---- */

static gex_Rank_t source_of(gex_Token_t token)
{
    gex_Token_Info_t info;
    gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    return info.gex_srcrank;
}

static void on_ping(gex_Token_t token, void *text, size_t bytes, gex_AM_Arg_t from)
{
    check(source_of(token) == (gex_Rank_t)from, "a message has the wrong source");
    check(bytes == sizeof from && !memcmp(text, &from, bytes), "a message has the wrong text");
    gex_AM_ReplyShort1(token, PONG, 0, (gex_AM_Arg_t)me);
}

static void on_pong(gex_Token_t token, gex_AM_Arg_t from)
{
    check(source_of(token) == (gex_Rank_t)from, "a reply has the wrong source");
    atomic_fetch_add(&pongs, 1);
}

static void on_store(gex_Token_t token, void *place, size_t bytes, gex_AM_Arg_t from)
{
    (void)token;
    check(bytes == 8 && *(uint64_t *)place == (uint64_t)from + 1, "a Long has the wrong data");
    atomic_fetch_add(&stores, 1);
}

static gex_AM_Entry_t handlers[] = {
    {PING, (gex_AM_Fn_t)on_ping, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, NULL, "ping"},
    {PONG, (gex_AM_Fn_t)on_pong, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, NULL, "pong"},
    {STORE, (gex_AM_Fn_t)on_store, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 1, NULL, "store"},
};

static void ping(gex_TM_t team, gex_Rank_t to)
{
    const gex_AM_Arg_t mine = (gex_AM_Arg_t)me;
    gex_AM_RequestMedium1(team, to, PING, &mine, sizeof mine, GEX_EVENT_NOW, 0, mine);
}

/* ---- what a team can do ---- */

static void barrier(gex_TM_t team)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static gex_Rank_t size_of(gex_TM_t team)
{
    return gex_TM_QuerySize(team);
}

static gex_Rank_t job_rank(gex_TM_t team, gex_Rank_t rank)
{
    return gex_TM_TranslateRankToJobrank(team, rank);
}

static int is_neighbour(gex_Rank_t jobrank)
{
    gex_RankInfo_t *info;
    gex_Rank_t count, i = 0;
    gex_System_QueryNbrhdInfo(&info, &count, NULL);
    while (i < count && info[i].gex_jobrank != jobrank)
        i++;
    return i < count;
}

/* Word i of the segment of a member, as it sees it. */
static uint64_t *word_of(gex_TM_t team, gex_Rank_t rank, unsigned i)
{
    void *owner = NULL, *here = NULL;
    uintptr_t size = 0;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, rank, &owner, &here, &size, 0));
    check(size == SEGMENT, "the segment of a member is not known");
    check(!here == !is_neighbour(job_rank(team, rank)), "not exactly neighbours are mapped");
    return (uint64_t *)owner + i;
}

static void all_send(gex_TM_t team)
{
    atomic_store(&pongs, 0);
    barrier(team);
    for (gex_Rank_t r = 0; r < size_of(team); r++)
        ping(team, r);
    GASNET_BLOCKUNTIL(atomic_load(&pongs) == size_of(team));
}

static void all_put(gex_TM_t team)
{
    const uint64_t mine = me + 100;
    for (gex_Rank_t r = 0; r < size_of(team); r++)
        gex_RMA_PutBlocking(team, r, word_of(team, r, 2 * me), &mine, sizeof mine, 0);
    barrier(team);
    for (gex_Rank_t r = 0; r < size_of(team); r++) {
        uint64_t got = 0;
        const unsigned from = job_rank(team, (r + 1) % size_of(team));
        gex_RMA_GetBlocking(team, &got, r, word_of(team, r, 2 * from), sizeof got, 0);
        check(got == from + 100, "a get reads the wrong word");
    }
    barrier(team);
}

static void all_store(gex_TM_t team)
{
    const uint64_t mine = (uint64_t)me + 1;
    atomic_store(&stores, 0);
    barrier(team);
    for (gex_Rank_t r = 0; r < size_of(team); r++)
        gex_AM_RequestLong1(team, r, STORE, &mine, sizeof mine, word_of(team, r, 2 * me + 1),
                            GEX_EVENT_NOW, 0, (gex_AM_Arg_t)me);
    GASNET_BLOCKUNTIL(atomic_load(&stores) == size_of(team));
    barrier(team);
}

static void all_reduce(gex_TM_t team)
{
    uint64_t sum = 0, wanted = 0;
    const uint64_t mine = me;
    for (gex_Rank_t r = 0; r < size_of(team); r++)
        wanted += job_rank(team, r);
    gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &sum, &mine, GEX_DT_U64, sizeof sum, 1, GEX_OP_ADD,
                                          NULL, NULL, 0));
    check(sum == wanted, "a reduction has the wrong sum");
    for (gex_Rank_t root = 0; root < size_of(team); root += size_of(team) - (size_of(team) > 1)) {
        uint64_t word = me;
        gex_Event_Wait(gex_Coll_BroadcastNB(team, root, &word, &word, sizeof word, 0));
        check(word == job_rank(team, root), "a broadcast has the wrong word");
        if (size_of(team) == 1)
            break;
    }
}

/* All add to a word of each member, which its owner's inline atomics and messages change alike. */
static void all_add(gex_TM_t team)
{
    gex_AD_t domain;
    uint64_t *mine = word_of(team, gex_TM_QueryRank(team), 2 * RANKS - 1);
    __atomic_store_n(mine, 0, __ATOMIC_RELEASE);
    gex_AD_Create(&domain, team, GEX_DT_U64, GEX_OP_ADD, 0);
    barrier(team);
    for (gex_Rank_t r = 0; r < size_of(team); r++)
        gex_Event_Wait(
            gex_AD_OpNB_U64(domain, NULL, r, word_of(team, r, 2 * RANKS - 1), GEX_OP_ADD, 1, 0, 0));
    barrier(team);
    check(__atomic_load_n(mine, __ATOMIC_ACQUIRE) == size_of(team), "an addition is missing");
    gex_AD_Destroy(domain);
}

/* A message with two sides goes around: a short one, then one that the receiver fetches. */
static void all_pass(gex_TM_t team, size_t bytes)
{
    const gex_Rank_t rank = gex_TM_QueryRank(team), next = (rank + 1) % size_of(team);
    const gex_Rank_t previous = (rank + size_of(team) - 1) % size_of(team);
    unsigned char *sent = malloc(bytes), *received = malloc(bytes);
    gasnetx_Request_t request;
    check(sent && received, "no memory");
    memset(sent, (int)(me + 1), bytes);
    check(gasnetx_Msg_SendNB(team, next, 7, sent, bytes, &request) == GASNET_OK, "no message");
    gasnetx_Msg_Recv(team, previous, 7, received, bytes, NULL);
    gasnetx_Request_Wait(&request, NULL);
    check(received[0] == (unsigned char)(job_rank(team, previous) + 1) &&
              memcmp(received, received + 1, bytes - 1) == 0,
          "a message with two sides has the wrong bytes");
    free(sent);
    free(received);
}

static void exercise(gex_TM_t team)
{
    check(job_rank(team, gex_TM_QueryRank(team)) == me, "a team has another rank in my place");
    all_send(team);
    all_put(team);
    all_store(team);
    all_reduce(team);
    all_add(team);
    all_pass(team, 100);
    all_pass(team, 100000);
}

/* A team of old and new ranks, in reverse order. */
static void exercise_half(gex_TM_t all)
{
    gex_TM_t half;
    gex_TM_Split(&half, all, me % 2, (int)(size_of(all) - me), NULL, 0, 0);
    exercise(half);
    gex_TM_Destroy(half, NULL, 0);
}

/* ---- the job as a rank sees it ---- */

/* The ranks of a list are there, in ascending order, and this rank is at its place. */
static void check_list(const gex_RankInfo_t *info, gex_Rank_t count, gex_Rank_t index)
{
    check(index < count && info[index].gex_jobrank == me, "a list does not have this rank");
    for (gex_Rank_t i = 1; i < count; i++)
        check(info[i - 1].gex_jobrank < info[i].gex_jobrank, "a list is not in order");
    check(info[count - 1].gex_jobrank < gex_System_QueryJobSize(), "a list has an absent rank");
}

static void check_job(gex_TM_t all)
{
    const gex_Rank_t size = size_of(all);
    gex_RankInfo_t *info;
    gex_Rank_t count, index, groups, group, hosts;
    check(gex_System_QueryJobSize() == size, "the job does not have the size of the team of all");
    check(gex_TM_QueryRank(all) == me, "the team of all is not in the order of the job");
    gex_System_QueryNbrhdInfo(&info, &count, &index);
    check_list(info, count, index);
    gex_System_QueryMyPosition(&groups, &group, &hosts, NULL);
    check(group < groups && groups <= size, "the neighbourhoods have wrong numbers");
    gex_System_QueryHostInfo(&info, &count, &index);
    check_list(info, count, index);
    check(hosts > 1 || count == size, "ranks are missing on this host");
}

static void attach(void)
{
    gex_Segment_t segment;
    check(gex_Segment_Attach(&segment, primordial, SEGMENT) == GASNET_OK, "no segment");
    memset(gex_Segment_QueryAddr(segment), 0, SEGMENT);
}

/* ---- messages while the job grows ---- */

static atomic_int traffic_ends;
static gex_TM_t traffic_team;

static void *send_on(void *sent)
{
    atomic_uint *count = sent;
    while (!atomic_load(&traffic_ends)) {
        ping(traffic_team, atomic_fetch_add(count, 1) % size_of(traffic_team));
        gasnet_AMPoll();
    }
    return NULL;
}

static gex_TM_t grow_only(unsigned count)
{
    gex_TM_t grown = GEX_TM_INVALID;
    check(gasnetx_Job_Grow(count, &grown, 0) == GASNET_OK, "the job does not grow");
    return grown;
}

static gex_TM_t grow_under_traffic(gex_TM_t all, unsigned count)
{
    pthread_t thread;
    atomic_uint sent = 0;
    const unsigned before = atomic_load(&pongs);
    traffic_team = all;
    atomic_store(&traffic_ends, 0);
    check(pthread_create(&thread, NULL, send_on, &sent) == 0, "no thread");
    GASNET_BLOCKUNTIL(atomic_load(&sent) > 0);
    gex_TM_t grown = grow_only(count);
    atomic_store(&traffic_ends, 1);
    pthread_join(thread, NULL);
    GASNET_BLOCKUNTIL(atomic_load(&pongs) - before == atomic_load(&sent));
    return grown;
}

static gex_TM_t grow(gex_TM_t all, unsigned count)
{
    if (goes("leave") && me == 0)
        gasnet_exit(7);
    if (goes("absent") && me == 0)
        ping(gex_TM_Pair(gex_TM_QueryEP(all), 0), size_of(all));
    gex_TM_t grown = goes("traffic") ? grow_under_traffic(all, count) : grow_only(count);
    check(size_of(grown) == size_of(all) + count, "the new team has the wrong size");
    return grown;
}

/* ---- the course of a rank ---- */

static void end(gex_TM_t all)
{
    barrier(all);
    if (goes("kill") && me == size_of(all) - 1)
        raise(SIGKILL);
    if ((goes("old") && me == 0) || (goes("new") && me == size_of(all) - 1))
        gasnet_exit(7);
    while (goes("kill") || goes("old") || goes("new"))
        gasnet_AMPoll();
    if (me == 0)
        printf("grow_work: %u ranks agree\n", (unsigned)size_of(all));
    gasnet_exit(0);
}

static void run(int growths, char **counts)
{
    gex_TM_t all = primordial;
    const unsigned growth = gasnetx_Job_QueryGrowth(&all);
    check(!growth == (all == GEX_TM_INVALID), "growth and team do not match");
    if (!goes("late") || growth)
        attach();
    if (growth)
        barrier(all);
    else
        all = primordial;
    for (int i = (int)growth;; i++) {
        check_job(all);
        if (i > 0 || !goes("late"))
            exercise(all);
        if (i == growths)
            break;
        all = grow(all, (unsigned)atoi(counts[i]));
        if (goes("late") && i == 0)
            attach();
        barrier(all);
    }
    exercise(primordial);
    exercise_half(all);
    end(all);
}

/* ---- mistakes ---- */

static void refuses(gex_Rank_t count, gex_Flags_t flags, int error)
{
    gex_TM_t team = primordial;
    check(gasnetx_Job_Grow(count, &team, flags) == error, "a call gives another code");
    check(team == primordial, "a call that is refused gives a team");
}

static void try_fixed(void)
{
    gex_System_SetVerboseErrors(me == 0);
    refuses(1, 0, GASNET_ERR_RESOURCE);
    gasnet_exit(0);
}

static void try_mistakes(void)
{
    const gex_Rank_t size = size_of(primordial);
    check(gasnetx_Job_QueryGrowth(NULL) == 0, "a rank of the start has joined");
    gex_System_SetVerboseErrors(me == 0);
    refuses(3, 0, GASNET_ERR_BAD_ARG);
    refuses(0, 0, GASNET_ERR_BAD_ARG);
    refuses(1, GEX_FLAG_IMMEDIATE, GASNET_ERR_BAD_ARG);
    refuses(me == size - 1 ? 2 : 1, 0, GASNET_ERR_BAD_ARG);
    check(gex_System_QueryJobSize() == size, "a call that is refused changes the job");
    gasnet_exit(0);
}

/* ---- ends before a new rank has joined ---- */

/* Old ranks leave a mark before they grow, so that new ones know what they are. */
static void end_early(void)
{
    if (!getenv("GROW_WORK_MARK") || access(getenv("GROW_WORK_MARK"), F_OK) != 0)
        return;
    if (goes("die"))
        raise(SIGKILL);
    if (goes("refuse"))
        _exit(3);
}

static void leave_mark(void)
{
    FILE *mark = getenv("GROW_WORK_MARK") ? fopen(getenv("GROW_WORK_MARK"), "w") : NULL;
    if (mark)
        fclose(mark);
}

static gex_Flags_t init_flags(void)
{
    const char *mark = getenv("GROW_WORK_MARK");
    const int joins = mark && access(mark, F_OK) == 0;
    return goes("nodes") || (goes("gasnet1") && joins) ? GEX_FLAG_USES_GASNET1 : 0;
}

int main(int argc, char **argv)
{
    const int named = argc > 1 && (argv[1][0] < '0' || argv[1][0] > '9');
    gex_EP_t endpoint;
    if (named)
        ways = argv[1];
    end_early();
    if (gex_Client_Init(&client, &endpoint, &primordial, "grow_work", &argc, &argv, init_flags()) !=
        GASNET_OK)
        return 2;
    me = gex_System_QueryJobRank();
    gex_EP_RegisterHandlers(endpoint, handlers, sizeof handlers / sizeof *handlers);
    if (goes("wrong"))
        try_mistakes();
    if (goes("fixed"))
        try_fixed();
    barrier(primordial);
    if (me == 0)
        leave_mark();
    run(argc - 1 - named, argv + 1 + named);
    return 0;
}
