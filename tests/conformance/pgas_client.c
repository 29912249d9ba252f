// SPDX-License-Identifier: BSD-3-Clause
// A client like the runtimes of PGAS languages: it uses GASNet-1 and GASNet-EX side by side, a
// thread that polls, tasks that messages start, blocking waits in several threads, and names that
// are in no specification (docs/api.md). Its argument is one of:
//   N         runs all parts, then calls gasnet_exit(N)
//   in-hook   rank 1 calls gasnet_exit(5) in its attach hook
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_tools.h>
#include <gasnet_vis.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 3, ROUNDS = 20, TOUCHERS = 2, LONG_WAY = 100000, SEGMENT = 8 << 20 };
enum { SIGNAL = 128, SIGNAL_LONG, START, COPY, SEND_BACK };

// A caller waits for `flag`; the acknowledgement carries the address of this object.
typedef struct {
    volatile int flag;
} done_t;

typedef struct {
    void *done;
    char *source, *target;
    size_t size;
} fetch_t;

static gex_Client_t client;
static gex_EP_t endpoint;
static gex_TM_t team;
static gex_Segment_t segment;
static gasnet_seginfo_t *table;
static gasnet_node_t me, nodes;
static char outside[LONG_WAY];
static atomic_int started, hooks, polling, leave_in_hook;
static atomic_bool stop_polling;

static void check_or_exit(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "pgas_client: rank %u: %s\n", (unsigned)me, what);
    gasnet_exit(1);
}

#define HIGH(address) ((gasnet_handlerarg_t)((uint64_t)(uintptr_t)(address) >> 32))
#define LOW(address) ((gasnet_handlerarg_t)(uint32_t)(uintptr_t)(address))

static void *address_of(gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    return (void *)((uintptr_t)(uint32_t)high << 32 | (uint32_t)low);
}

// ---- handlers ----

static void on_signal(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    (void)token;
    ((done_t *)address_of(high, low))->flag = 1;
}

static void on_signal_long(gasnet_token_t token, void *data, size_t size, gasnet_handlerarg_t high,
                           gasnet_handlerarg_t low)
{
    (void)data, (void)size;
    on_signal(token, high, low);
}

typedef struct {
    gasnet_node_t caller;
    done_t *done;
} task_t;

static void *run_task(void *given)
{
    const task_t task = *(task_t *)given;
    free(given);
    atomic_fetch_add(&started, 1);
    check_or_exit(gasnet_AMRequestShort2(task.caller, SIGNAL, HIGH(task.done), LOW(task.done)) ==
                      GASNET_OK,
                  "a task cannot acknowledge its caller");
    return NULL;
}

static void on_start(gasnet_token_t token, void *data, size_t size)
{
    pthread_t thread;
    task_t *task = malloc(sizeof *task);
    check_or_exit(task && size == sizeof *task, "a task has no memory or the wrong size");
    memcpy(task, data, size);
    check_or_exit(gasnet_AMGetMsgSource(token, &task->caller) == GASNET_OK,
                  "gasnet_AMGetMsgSource failed");
    check_or_exit(pthread_create(&thread, NULL, run_task, task) == 0,
                  "a handler cannot start a thread");
    pthread_detach(thread);
}

// Peers cannot put to memory outside of the segment, so its owner copies the data there.
static void on_copy(gasnet_token_t token, void *data, size_t size, gasnet_handlerarg_t high,
                    gasnet_handlerarg_t low, gasnet_handlerarg_t to_high,
                    gasnet_handlerarg_t to_low)
{
    memcpy(address_of(to_high, to_low), data, size);
    check_or_exit(gasnet_AMReplyShort2(token, SIGNAL, high, low) == GASNET_OK,
                  "the reply to a copy failed");
}

static void on_send_back(gasnet_token_t token, void *data, size_t size)
{
    const fetch_t *fetch = data;
    check_or_exit(size == sizeof *fetch, "a request to send back has the wrong size");
    check_or_exit(gasnet_AMReplyLong2(token, SIGNAL_LONG, fetch->source, fetch->size, fetch->target,
                                      HIGH(fetch->done), LOW(fetch->done)) == GASNET_OK,
                  "the Long reply failed");
}

static gex_AM_Entry_t handlers[] = {
    {SIGNAL, (gex_AM_Fn_t)on_signal, GEX_FLAG_AM_REQREP | GEX_FLAG_AM_SHORT, 2, NULL, "signal"},
    {SIGNAL_LONG, (gex_AM_Fn_t)on_signal_long, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_LONG, 2, NULL,
     "signal_long"},
    {START, (gex_AM_Fn_t)on_start, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 0, NULL, "start"},
    {COPY, (gex_AM_Fn_t)on_copy, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 4, NULL, "copy"},
    {SEND_BACK, (gex_AM_Fn_t)on_send_back, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 0, NULL,
     "send_back"}};

// ---- start ----

typedef struct {
    char *at;
    size_t size;
} part_t;

static void *touch_part(void *given)
{
    const part_t *part = given;
    for (size_t i = 0; i < part->size; i += GASNET_PAGESIZE)
        part->at[i] = 1;
    return NULL;
}

static void touch_in_parallel(void *addr, uintptr_t size)
{
    pthread_t threads[TOUCHERS];
    part_t parts[TOUCHERS];
    atomic_fetch_add(&hooks, 1);
    if (leave_in_hook && gasnet_mynode() == 1)
        gasnet_exit(5);
    for (unsigned i = 0; i < TOUCHERS; i++) {
        parts[i] = (part_t){(char *)addr + size / TOUCHERS * i, size / TOUCHERS};
        pthread_create(&threads[i], NULL, touch_part, &parts[i]);
    }
    for (unsigned i = 0; i < TOUCHERS; i++)
        pthread_join(threads[i], NULL);
}

static void *poll_always(void *unused)
{
    for (polling = 1; !stop_polling; sched_yield())
        gasnet_AMPoll();
    polling = 0;
    return unused;
}

static void client_start(int *argc, char ***argv)
{
    pthread_t thread;
    gasnet_client_attach_hook = touch_in_parallel;
    if (gex_Client_Init(&client, &endpoint, &team, "pgas", argc, argv, GEX_FLAG_USES_GASNET1) !=
        GASNET_OK)
        exit(2);
    me = gasnet_mynode();
    nodes = gasnet_nodes();
    leave_in_hook = *argc > 1 && strcmp((*argv)[1], "in-hook") == 0;
    check_or_exit(gasneti_mynode == me && gasneti_nodes == nodes,
                  "gasneti_mynode or gasneti_nodes is wrong");
    check_or_exit(gex_Segment_Attach(&segment, team, SEGMENT) == GASNET_OK,
                  "gex_Segment_Attach failed");
    check_or_exit(hooks == 1, "the attach hook was not called once");
    check_or_exit(((char *)gex_Segment_QueryAddr(segment))[0] == 1,
                  "the attach hook got other memory");
    check_or_exit(gex_EP_RegisterHandlers(endpoint, handlers, 5) == GASNET_OK,
                  "gex_EP_RegisterHandlers failed");
    table = calloc(nodes, sizeof *table);
    check_or_exit(table && gasnet_getSegmentInfo(table, (int)nodes) == GASNET_OK,
                  "gasnet_getSegmentInfo failed");
    gasnet_set_waitmode(GASNET_WAIT_BLOCK);
    check_or_exit(pthread_create(&thread, NULL, poll_always, NULL) == 0,
                  "the polling thread cannot start");
    while (!polling)
        sched_yield();
}

static void wait_barrier(int id)
{
    int result;
    gasnet_barrier_notify(id, 0);
    while ((result = gasnet_barrier_try(id, 0)) == GASNET_ERR_NOT_READY)
        sched_yield();
    check_or_exit(result == GASNET_OK, "a barrier failed");
}

// ---- parts ----

static void wait_for(done_t *done)
{
    GASNET_BLOCKUNTIL(done->flag);
}

static void start_on(gasnet_node_t node)
{
    done_t done = {0};
    const task_t task = {0, &done};
    check_or_exit(gasnet_AMRequestMedium0(node, START, (void *)(uintptr_t)&task, sizeof task) ==
                      GASNET_OK,
                  "the request that starts a task failed");
    wait_for(&done);
}

static void *start_everywhere(void *unused)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        start_on((me + 1 + i) % nodes);
    return unused;
}

static void run_tasks(void)
{
    pthread_t threads[TASKS];
    for (unsigned i = 0; i < TASKS; i++)
        pthread_create(&threads[i], NULL, start_everywhere, NULL);
    for (unsigned i = 0; i < TASKS; i++)
        pthread_join(threads[i], NULL);
    wait_barrier('t');
    check_or_exit(started == TASKS * ROUNDS || ROUNDS % nodes,
                  "the wrong number of tasks ran on this rank");
}

// Writes to memory of the next rank outside of its segment, and lets that rank send the data back.
static void copy_outside(void)
{
    const gasnet_node_t next = (me + 1) % nodes;
    char *mine = table[me].addr, **slots = table[next].addr;
    gasnet_put_val(me, (void *)mine, (gasnet_register_value_t)(uintptr_t)outside, sizeof(char *));
    wait_barrier('p');
    char *theirs = (char *)(uintptr_t)gasnet_get_val(next, slots, sizeof(char *));
    const size_t medium = gasnet_AMMaxMedium(), longest = gasnet_AMMaxLongReply();
    const size_t most = medium < longest ? medium : longest,
                 size = most < LONG_WAY ? most : LONG_WAY;
    char *source = mine + GASNET_PAGESIZE, *target = source + LONG_WAY;
    done_t copied = {0}, sent = {0};
    memset(source, (int)('a' + me), size);
    check_or_exit(gasnet_AMRequestMedium4(next, COPY, source, size, HIGH(&copied), LOW(&copied),
                                          HIGH(theirs), LOW(theirs)) == GASNET_OK,
                  "the request to copy failed");
    wait_for(&copied);
    fetch_t fetch = {&sent, theirs, target, size};
    check_or_exit(gasnet_AMRequestMedium0(next, SEND_BACK, &fetch, sizeof fetch) == GASNET_OK,
                  "the request to send back failed");
    wait_for(&sent);
    check_or_exit(memcmp(source, target, size) == 0, "the bytes that came back differ");
}

static void use_some(void)
{
    const gasnet_node_t next = (me + 1) % nodes;
    char *there = (char *)table[next].addr + (4 << 20), from[64], to[64] = {0};
    memset(from, (int)me + 1, sizeof from);
    gasnet_handle_t puts[2] = {gasnet_put_nb_bulk(next, there, from, sizeof from),
                               GASNET_INVALID_HANDLE};
    while (gasnet_try_syncnb_some(puts, 2) != GASNET_OK)
        sched_yield();
    gex_Event_t gets[2] = {GEX_EVENT_INVALID, gex_RMA_GetNB(team, to, next, there, sizeof to, 0)};
    gex_Event_WaitSome(gets, 2, 0);
    check_or_exit(memcmp(from, to, sizeof to) == 0, "the get did not give the bytes of the put");
}

static void use_strided(void)
{
    const gasnet_node_t next = (me + 1) % nodes;
    char *there = (char *)table[next].addr + (5 << 20), from[256], to[256] = {0};
    const ptrdiff_t near_strides[] = {16}, far_strides[] = {64};
    const size_t counts[] = {8};
    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = (char)(i + me);
    gex_VIS_StridedPutBlocking(team, next, there, far_strides, from, near_strides, 4, counts, 1, 0);
    gex_VIS_StridedGetBlocking(team, to, near_strides, next, there, far_strides, 4, counts, 1, 0);
    for (unsigned i = 0; i < sizeof to; i++)
        check_or_exit(to[i] == (i < 128 && i % 16 < 4 ? from[i] : 0),
                      "strided bytes are at wrong places");
}

int main(int argc, char **argv)
{
    static void (*const parts[])(void) = {run_tasks, copy_outside, use_some, use_strided};
    client_start(&argc, &argv);
    wait_barrier('s'); // all ranks have registered their handlers
    check_or_exit(GASNETI_MAX_THREADS > TASKS * 64, "GASNETI_MAX_THREADS is too small");
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        parts[i]();
        wait_barrier((int)i);
    }
    stop_polling = true;
    while (polling)
        sched_yield();
    wait_barrier('e');
    gasnet_exit(argc > 1 ? atoi(argv[1]) : 0);
    return 0;
}
