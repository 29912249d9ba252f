// A client as the runtimes of PGAS languages are: GASNet-1 and GASNet-EX side by side, a thread
// that polls, tasks that messages start, blocking waits in several threads, and names that are in
// no specification (docs/api.md). What it is told:
//   N         all parts, then gasnet_exit(N)
//   in-hook   rank 1 leaves with gasnet_exit(5) inside its attach hook
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

// What a caller waits for; the acknowledgement carries its address.
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

static void need(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "pgas_client: rank %u: %s\n", (unsigned)me, what);
    gasnet_exit(1);
}

#define HIGH(address) ((gasnet_handlerarg_t)((uint64_t)(uintptr_t)(address) >> 32))
#define LOW(address) ((gasnet_handlerarg_t)(uint32_t)(uintptr_t)(address))

static void *join(gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    return (void *)((uintptr_t)(uint32_t)high << 32 | (uint32_t)low);
}

// ---- handlers ----

static void on_signal(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low)
{
    (void)token;
    ((done_t *)join(high, low))->flag = 1;
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
    need(gasnet_AMRequestShort2(task.caller, SIGNAL, HIGH(task.done), LOW(task.done)) == GASNET_OK,
         "a task cannot tell its end");
    return NULL;
}

static void on_start(gasnet_token_t token, void *data, size_t size)
{
    pthread_t thread;
    task_t *task = malloc(sizeof *task);
    need(task && size == sizeof *task, "a task came without its description");
    memcpy(task, data, size);
    need(gasnet_AMGetMsgSource(token, &task->caller) == GASNET_OK, "a message without a source");
    need(pthread_create(&thread, NULL, run_task, task) == 0, "a handler cannot start a thread");
    pthread_detach(thread);
}

// Memory outside of the segment is written by its owner.
static void on_copy(gasnet_token_t token, void *data, size_t size, gasnet_handlerarg_t high,
                    gasnet_handlerarg_t low, gasnet_handlerarg_t to_high,
                    gasnet_handlerarg_t to_low)
{
    memcpy(join(to_high, to_low), data, size);
    need(gasnet_AMReplyShort2(token, SIGNAL, high, low) == GASNET_OK, "no reply to a copy");
}

static void on_send_back(gasnet_token_t token, void *data, size_t size)
{
    const fetch_t *fetch = data;
    need(size == sizeof *fetch, "a request to send came without its description");
    need(gasnet_AMReplyLong2(token, SIGNAL_LONG, fetch->source, fetch->size, fetch->target,
                             HIGH(fetch->done), LOW(fetch->done)) == GASNET_OK,
         "no long reply");
}

static gex_AM_Entry_t handlers[] = {
    {SIGNAL, (gex_AM_Fn_t)on_signal, GEX_FLAG_AM_REQREP | GEX_FLAG_AM_SHORT, 2, NULL, "signal"},
    {SIGNAL_LONG, (gex_AM_Fn_t)on_signal_long, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_LONG, 2, NULL,
     "signal_long"},
    {START, (gex_AM_Fn_t)on_start, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 0, NULL, "start"},
    {COPY, (gex_AM_Fn_t)on_copy, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 4, NULL, "copy"},
    {SEND_BACK, (gex_AM_Fn_t)on_send_back, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 0, NULL,
     "send_back"}};

// ---- the start ----

typedef struct {
    char *at;
    size_t size;
} part_t;

static void *touch(void *given)
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
        pthread_create(&threads[i], NULL, touch, &parts[i]);
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

static void start(int *argc, char ***argv)
{
    pthread_t thread;
    gasnet_client_attach_hook = touch_in_parallel;
    if (gex_Client_Init(&client, &endpoint, &team, "pgas", argc, argv, GEX_FLAG_USES_GASNET1) !=
        GASNET_OK)
        exit(2);
    me = gasnet_mynode();
    nodes = gasnet_nodes();
    leave_in_hook = *argc > 1 && strcmp((*argv)[1], "in-hook") == 0;
    need(gasneti_mynode == me && gasneti_nodes == nodes, "the variables differ from the calls");
    need(gex_Segment_Attach(&segment, team, SEGMENT) == GASNET_OK, "no segment");
    need(hooks == 1, "the attach hook was not called once");
    need(((char *)gex_Segment_QueryAddr(segment))[0] == 1, "the attach hook had other memory");
    need(gex_EP_RegisterHandlers(endpoint, handlers, 5) == GASNET_OK, "no handlers");
    table = calloc(nodes, sizeof *table);
    need(table && gasnet_getSegmentInfo(table, (int)nodes) == GASNET_OK, "no segment table");
    gasnet_set_waitmode(GASNET_WAIT_BLOCK);
    need(pthread_create(&thread, NULL, poll_always, NULL) == 0, "no thread that polls");
    while (!polling)
        sched_yield();
}

static void barrier(int id)
{
    int result;
    gasnet_barrier_notify(id, 0);
    while ((result = gasnet_barrier_try(id, 0)) == GASNET_ERR_NOT_READY)
        sched_yield();
    need(result == GASNET_OK, "a barrier failed");
}

// ---- the parts ----

static void wait_for(done_t *done)
{
    GASNET_BLOCKUNTIL(done->flag);
}

static void start_on(gasnet_node_t node)
{
    done_t done = {0};
    const task_t task = {0, &done};
    need(gasnet_AMRequestMedium0(node, START, (void *)(uintptr_t)&task, sizeof task) == GASNET_OK,
         "a task cannot be sent");
    wait_for(&done);
}

static void *start_everywhere(void *unused)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        start_on((me + 1 + i) % nodes);
    return unused;
}

static void tasks(void)
{
    pthread_t threads[TASKS];
    for (unsigned i = 0; i < TASKS; i++)
        pthread_create(&threads[i], NULL, start_everywhere, NULL);
    for (unsigned i = 0; i < TASKS; i++)
        pthread_join(threads[i], NULL);
    barrier('t');
    need(started == TASKS * ROUNDS || ROUNDS % nodes, "another number of tasks ran here");
}

// Writes to memory outside of the segment of the next rank, and has the next rank send it back.
static void outside_the_segment(void)
{
    const gasnet_node_t next = (me + 1) % nodes;
    char *mine = table[me].addr, **slots = table[next].addr;
    gasnet_put_val(me, (void *)mine, (gasnet_register_value_t)(uintptr_t)outside, sizeof(char *));
    barrier('p');
    char *theirs = (char *)(uintptr_t)gasnet_get_val(next, slots, sizeof(char *));
    const size_t size = gasnet_AMMaxMedium() < LONG_WAY ? gasnet_AMMaxMedium() : LONG_WAY;
    char *source = mine + GASNET_PAGESIZE, *target = source + LONG_WAY;
    done_t copied = {0}, sent = {0};
    memset(source, (int)('a' + me), size);
    need(gasnet_AMRequestMedium4(next, COPY, source, size, HIGH(&copied), LOW(&copied),
                                 HIGH(theirs), LOW(theirs)) == GASNET_OK,
         "no copy");
    wait_for(&copied);
    fetch_t fetch = {&sent, theirs, target, size};
    need(gasnet_AMRequestMedium0(next, SEND_BACK, &fetch, sizeof fetch) == GASNET_OK, "no fetch");
    wait_for(&sent);
    need(memcmp(source, target, size) == 0, "other bytes came back");
}

static void some_at_once(void)
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
    need(memcmp(from, to, sizeof to) == 0, "a put and a get differ");
}

static void strided(void)
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
        need(to[i] == (i < 128 && i % 16 < 4 ? from[i] : 0), "strided bytes are elsewhere");
}

int main(int argc, char **argv)
{
    static void (*const parts[])(void) = {tasks, outside_the_segment, some_at_once, strided};
    start(&argc, &argv);
    barrier('s'); // all ranks know their handlers
    need(GASNETI_MAX_THREADS > TASKS * 64, "too few threads are allowed");
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        parts[i]();
        barrier((int)i);
    }
    stop_polling = true;
    while (polling)
        sched_yield();
    barrier('e');
    gasnet_exit(argc > 1 ? atoi(argv[1]) : 0);
    return 0;
}
