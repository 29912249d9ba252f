/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shared_lines THREADS OPERATIONS
 * Each thread is bound to an endpoint of its own, and sends Shorts to that endpoint of this rank,
 * puts and gets. Fails if threads share cache lines that are written. A thread comes by the windows
 * of others now and then, and more often while their threads get no processor; one access in four
 * operations is far more than that.
 */
#include <aqueduct.h>
#include <gasnetex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "line_recorder.h"

enum { PING = 200, PONG = 201, MOST_THREADS = 16, WARM_UP = 100, APART = 4096 };

/* Each message writes it in a build for the thread sanitizer, and in no other: it shows that the
 * recorder sees shared lines. */
extern atomic_uint aq_ring_sent;

typedef struct {
    _Alignas(128) atomic_uint pongs;
    gex_EP_t ep;
    gex_TM_t itself, endpoint0;
    char *target;
    char buffer[64];
} worker_t;

static worker_t workers[MOST_THREADS];
static unsigned thread_count, operations;
static pthread_barrier_t together;

static void on_ping(gex_Token_t token, gex_AM_Arg_t index)
{
    gex_AM_ReplyShort1(token, PONG, 0, index);
}

static void on_pong(gex_Token_t token, gex_AM_Arg_t index)
{
    (void)token;
    atomic_fetch_add_explicit(&workers[index].pongs, 1, memory_order_relaxed);
}

static void round_trips(worker_t *me, gex_AM_Arg_t index, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned before = atomic_load(&me->pongs);
        gex_AM_RequestShort1(me->itself, 0, PING, 0, index);
        GASNET_BLOCKUNTIL(atomic_load(&me->pongs) != before);
    }
}

static void puts_and_gets(worker_t *me, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        gex_RMA_PutBlocking(me->endpoint0, 0, me->target, me->buffer, 8, 0);
        gex_Event_Wait(gex_RMA_GetNB(me->endpoint0, me->buffer, 0, me->target, 8, 0));
    }
}

static void *work(void *argument)
{
    int index = (int)(intptr_t)argument;
    worker_t *me = &workers[index];

    gasnetx_EP_BindThread(me->ep);
    round_trips(me, index, WARM_UP); /* the windows connect */
    puts_and_gets(me, WARM_UP);
    pthread_barrier_wait(&together);
    lines_record(true);
    round_trips(me, index, operations);
    puts_and_gets(me, operations);
    pthread_barrier_wait(&together);
    lines_record(false);
    return NULL;
}

static void open_worker(worker_t *me, gex_Client_t client)
{
    gex_AM_Entry_t handlers[] = {
        {PING, (gex_AM_Fn_t)on_ping, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "ping"},
        {PONG, (gex_AM_Fn_t)on_pong, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, NULL, "pong"}};

    if (gex_EP_Create(&me->ep, client, GEX_EP_CAPABILITY_ALL, 0) != GASNET_OK)
        gasnet_exit(1);
    gex_EP_RegisterHandlers(me->ep, handlers, 2);
    me->itself = gex_TM_Pair(me->ep, gex_EP_QueryIndex(me->ep));
    me->endpoint0 = gex_TM_Pair(me->ep, 0);
}

static void run_threads(void)
{
    pthread_t threads[MOST_THREADS];

    pthread_barrier_init(&together, NULL, thread_count);
    for (unsigned i = 0; i < thread_count; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i))
            gasnet_exit(1);
    for (unsigned i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_TM_t team;
    gex_Segment_t segment;
    unsigned long limit;
    unsigned shared;

    if (gex_Client_Init(&client, &ep, &team, "shared_lines", &argc, &argv, 0) != GASNET_OK ||
        argc != 3)
        return 2;
    thread_count = (unsigned)atoi(argv[1]);
    operations = (unsigned)atoi(argv[2]);
    if (!thread_count || thread_count > MOST_THREADS ||
        gex_Segment_Attach(&segment, team, MOST_THREADS * APART) != GASNET_OK)
        return 2;
    for (unsigned i = 0; i < thread_count; i++) {
        open_worker(&workers[i], client);
        workers[i].target = (char *)gex_Segment_QueryAddr(segment) + i * APART;
    }
    run_threads();
    limit = (unsigned long)thread_count * operations / 4;
    shared = lines_report(limit, &aq_ring_sent);
    printf("%u threads share %u lines that are written\n", thread_count, shared);
    if (!lines_shared(limit, &aq_ring_sent)) {
        printf("the line that each message writes was not seen\n");
        gasnet_exit(1);
    }
    gasnet_exit(shared != 0);
}
