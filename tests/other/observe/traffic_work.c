/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends a known number of everything between all pairs of ranks, from each of its threads, and
 * prints what the lines of the traffic matrix must be:
 *
 *     GASNET_TRAFFIC=FILE gasnetrun_smp -n 4 traffic_work 2     two threads a rank
 *
 * With the further word "hang", a last Short of rank 0 hangs in its handler at rank 1. With the
 * word "notes" each rank also says something to the trace and the statistics, and changes their
 * masks; with the word "lasts" it first sends a Short in each of 400 ms.
 */
#include <gasnetex.h>

#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

#include <aqueduct.h>
#include <aqueduct_large.h>
#include <aqueduct_msg.h>
#include <aqueduct_stream.h>
#include <gasnet_tools.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGS = 2, PUTS = 3, GETS = 2, ATOMICS = 4, LONG_BYTES = 64, PUT_BYTES = 8, GET_BYTES = 16 };
enum {
    H_SHORT = GEX_AM_INDEX_BASE,
    H_MEDIUM,
    H_LONG,
    H_SHORT_BACK,
    H_MEDIUM_BACK,
    H_NOTICE,
    H_HANG,
    H_PING,
    H_FAR,
    H_FAR_BACK
};
enum { SEGMENT = 1 << 18, MOST_THREADS = 8 };

/* In each vectors put 2 pieces and strides put 4, and an indexed get has 3; messages with two sides
 * are SENDS short ones and one long one; rank i sends i + 1 messages up a stream, to rank 0. */
enum { PIECE = 8, VECTORS = 2, ROWS = 4, INDICES = 3, VIS_PUTS = 2, VIS_GETS = 1 };
enum { VIS_PUT_BYTES = (VECTORS + ROWS) * PIECE, VIS_GET_BYTES = INDICES * PIECE };
enum {
    SENDS = 3,
    SEND_BYTES = 24,
    LONG_SEND = 70000,
    ITEM_BYTES = 40,
    ITEM = 5,
    ROOT_BYTES = 1000
};
/* Thread 0 of a rank also puts a large piece and a small one to the next rank. */
enum { LARGE = 100000 };
/* Each rank sends two large messages to the next one, of which one goes with its header. */
enum { LARGES = 2, SMALL_LARGE = 100, LARGES_BYTES = SMALL_LARGE + LARGE, LARGE_ID = 7 };
/* NOTICES puts have a notice, and RUNS of them run a handler, as a put of vectors does with a peer
 * completion. Thread 0 puts a large piece with a notice to the next rank, and to FAR of its further
 * endpoints. */
enum { NOTICES = 3, RUNS = 2, NOTE_BYTES = 32, FAR = 2, FAR_NOTICES = FAR * NOTICES };
enum { ONCE_RUNS = 1 + FAR * RUNS };
/* A Long to the endpoint with an identity travels in pieces, and so does the reply to it. Those of
 * the other one do where they are longer than a message: its segment is not mapped. */
enum { FAR_LONG_MAX = 200000, FAR_AT = 2 * PIECE, FAR_BACK_AT = FAR_AT + FAR_LONG_MAX };
enum { FAR_BYTES = 1 << 19 };

/* Each thread of each rank has a slot of its own in all segments, in whose first half slots are,
 * and each operation its own bytes there. */
enum { SLOT = 512, PUTS_AT = LONGS * LONG_BYTES, GETS_AT = PUTS_AT + PUTS * PUT_BYTES };
enum { VIS_AT = 256, NOTES_AT = 384, COUNTER_AT = SEGMENT / 4, LARGE_AT = SEGMENT / 2 };

static gex_TM_t team;
static gex_Rank_t me, size;
static unsigned threads;
static int hangs;
static gex_AD_t domain;
static gex_EP_t far[FAR];
static size_t far_long, far_back; /* bytes of each Long to them, and of its reply */
static atomic_uint_least64_t longs_arrived, replies_arrived;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "traffic_work: rank %u: %s\n", (unsigned)me, what);
    gasnet_exit(1);
}

/* ---- numbers: what one thread of rank i sends to rank j ---- */

static uint64_t shorts(gex_Rank_t i, gex_Rank_t j)
{
    return i + 2 * j + 1;
}

static uint64_t mediums(gex_Rank_t j)
{
    return j + 1;
}

static size_t medium_bytes(gex_Rank_t j)
{
    return 100 + j;
}

static uint64_t request_bytes(gex_Rank_t j)
{
    return mediums(j) * medium_bytes(j) + LONGS * LONG_BYTES;
}

/* ---- handlers ---- */

static void on_short(gex_Token_t token)
{
    gex_AM_ReplyShort0(token, H_SHORT_BACK, 0);
}

static void on_medium(gex_Token_t token, void *payload, size_t nbytes)
{
    gex_AM_ReplyMedium0(token, H_MEDIUM_BACK, payload, nbytes, GEX_EVENT_NOW, 0);
}

static void on_long(gex_Token_t token, void *payload, size_t nbytes)
{
    (void)token, (void)payload, (void)nbytes;
    longs_arrived++;
}

/* The arguments are where the reply goes. */
static void on_far(gex_Token_t token, void *payload, size_t nbytes, gex_AM_Arg_t high,
                   gex_AM_Arg_t low)
{
    void *back = (void *)((uintptr_t)(uint32_t)high << 32 | (uint32_t)low);
    longs_arrived++;
    check(nbytes == far_long, "a far Long has another size");
    gex_AM_ReplyLong0(token, H_FAR_BACK, payload, far_back, back, GEX_EVENT_NOW, 0);
}

static void on_far_back(gex_Token_t token, void *payload, size_t nbytes)
{
    (void)token, (void)payload;
    check(nbytes == far_back, "the reply of a far Long has another size");
    replies_arrived++;
}

static void on_short_back(gex_Token_t token)
{
    (void)token;
    replies_arrived++;
}

static void on_medium_back(gex_Token_t token, void *payload, size_t nbytes)
{
    (void)token, (void)payload, (void)nbytes;
    replies_arrived++;
}

static void on_notice(gex_Token_t token, gex_AM_Arg_t a0, gex_AM_Arg_t a1, gex_AM_Arg_t a2,
                      gex_AM_Arg_t a3, gex_AM_Arg_t a4, gex_AM_Arg_t a5, gex_AM_Arg_t a6,
                      gex_AM_Arg_t a7)
{
    (void)token;
    check(a0 == 1 && a1 == 2 && a2 == 3 && a3 == 4 && a4 == 5 && a5 == 6 && a6 == 7 && a7 == 8,
          "the arguments of a notice are wrong");
    replies_arrived++;
}

static void on_hang(gex_Token_t token)
{
    (void)token;
    printf("hangs\n");
    fflush(stdout);
    for (;;)
        pause();
}

/* ---- work ---- */

static void send_to(gex_Rank_t to, char *slot)
{
    static char bytes[256];
    for (uint64_t i = 0; i < shorts(me, to); i++)
        gex_AM_RequestShort0(team, to, H_SHORT, 0);
    for (uint64_t i = 0; i < mediums(to); i++)
        gex_AM_RequestMedium0(team, to, H_MEDIUM, bytes, medium_bytes(to), GEX_EVENT_NOW, 0);
    for (int i = 0; i < LONGS; i++)
        gex_AM_RequestLong0(team, to, H_LONG, bytes, LONG_BYTES, slot + i * LONG_BYTES,
                            GEX_EVENT_NOW, 0);
}

static void access_at(gex_Rank_t to, char *slot, char *counter)
{
    char bytes[GET_BYTES] = {0};
    for (int i = 0; i < PUTS; i++)
        gex_RMA_PutBlocking(team, to, slot + PUTS_AT + i * PUT_BYTES, bytes, PUT_BYTES, 0);
    for (int i = 0; i < GETS; i++)
        gex_RMA_GetNBI(team, bytes, to, slot + GETS_AT, GET_BYTES, 0);
    gex_NBI_Wait(GEX_EC_ALL, 0);
    for (int i = 0; i < ATOMICS; i++)
        gex_Event_Wait(gex_AD_OpNB_U64(domain, NULL, to, counter, GEX_OP_ADD, 1, 0, 0));
}

static gasnetx_notice_t notice_of(void *counter, int runs)
{
    return (gasnetx_notice_t){.counter = counter,
                              .add = 1,
                              .handler = runs ? H_NOTICE : 0,
                              .nargs = runs ? 8 : 0,
                              .args = {1, 2, 3, 4, 5, 6, 7, 8}};
}

static void notify_at(gex_TM_t tm, gex_Rank_t to, char *at, char *counter)
{
    const uint64_t word = 1;
    const gasnetx_notice_t run = notice_of(NULL, 1), both = notice_of(counter, 1),
                           count = notice_of(counter, 0);
    gex_Event_t event = GEX_EVENT_INVALID;
    check(gasnetx_RMA_PutNotifyBlocking(tm, to, at, &word, sizeof word, &run, 0) == GASNET_OK &&
              gasnetx_RMA_PutNotifyNB(tm, to, at, &word, sizeof word, &both, GEX_EVENT_NOW, &event,
                                      0) == GASNET_OK &&
              gasnetx_RMA_PutNotifyNBI(tm, to, at, &word, sizeof word, &count, GEX_EVENT_NOW, 0) ==
                  GASNET_OK,
          "a put with a notice failed");
    gex_Event_Wait(event);
    gex_NBI_Wait(GEX_EC_ALL, 0);
}

static void notify_large(gex_Rank_t to, char *at)
{
    static const char bytes[LARGE];
    const gasnetx_notice_t run = notice_of(NULL, 1);
    check(gasnetx_RMA_PutNotifyBlocking(team, to, at, bytes, LARGE, &run, 0) == GASNET_OK,
          "a large put with a notice failed");
}

/* Between further endpoints, with an identity and without. */
static void send_far(gex_Rank_t to)
{
    static char bytes[FAR_LONG_MAX];
    for (int i = 0; i < FAR; i++) {
        const gex_TM_t pair = gex_TM_Pair(far[i], gex_EP_QueryIndex(far[i]));
        void *address;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(pair, to, &address, NULL, NULL, 0));
        notify_at(pair, to, (char *)address + PIECE, address);
        const uint64_t back =
            (uintptr_t)gex_Segment_QueryAddr(gex_EP_QuerySegment(far[i])) + FAR_BACK_AT;
        gex_AM_RequestLong2(pair, to, H_FAR, bytes, far_long, (char *)address + FAR_AT,
                            GEX_EVENT_NOW, 0, (gex_AM_Arg_t)(back >> 32), (gex_AM_Arg_t)back);
    }
}

static void vis_at(gex_Rank_t to, char *at)
{
    char bytes[ROWS * 2 * PIECE] = {0};
    gex_Memvec_t here[] = {{bytes, VECTORS * PIECE}};
    gex_Memvec_t there[] = {{at, PIECE}, {at + 2 * PIECE, PIECE}};
    void *from[] = {at, at + PIECE, at + 3 * PIECE};
    void *into[] = {bytes};
    const ptrdiff_t strides[] = {2 * PIECE};
    const size_t rows[] = {ROWS};
    gex_VIS_SetPeerCompletionHandler(H_MEDIUM_BACK, bytes, NOTE_BYTES, 0);
    gex_VIS_VectorPutBlocking(team, to, VECTORS, there, 1, here, 0);
    gex_Event_Wait(
        gex_VIS_StridedPutNB(team, to, at + 4 * PIECE, strides, bytes, strides, PIECE, rows, 1, 0));
    gex_VIS_IndexedGetNBI(team, 1, into, VIS_GET_BYTES, to, INDICES, from, PIECE, 0);
    gex_NBI_Wait(GEX_EC_ALL, 0);
}

static void vis_large(gex_Rank_t to, char *at)
{
    static char bytes[LARGE + PIECE];
    gex_Memvec_t here[] = {{bytes, LARGE}, {bytes + LARGE, PIECE}};
    gex_Memvec_t there[] = {{at, LARGE}, {at + LARGE + PIECE, PIECE}};
    gex_VIS_VectorPutBlocking(team, to, 2, there, 2, here, 0);
}

static size_t send_bytes(int i)
{
    return i < SENDS ? SEND_BYTES : LONG_SEND;
}

/* With the same thread of each rank. */
static void exchange(unsigned thread)
{
    static const char bytes[LONG_SEND];
    char *into = malloc((size_t)size * (SENDS + 1) * LONG_SEND);
    gasnetx_Request_t *requests = malloc(2 * (size_t)size * (SENDS + 1) * sizeof *requests);
    size_t count = 0;
    check(into && requests, "no memory");
    for (gex_Rank_t rank = 0; rank < size; rank++)
        for (int i = 0; i <= SENDS; i++, count++)
            check(gasnetx_Msg_RecvNB(team, rank, thread, into + count * LONG_SEND, send_bytes(i),
                                     &requests[count]) == GASNET_OK,
                  "a receive failed");
    for (gex_Rank_t rank = 0; rank < size; rank++)
        for (int i = 0; i <= SENDS; i++)
            check(gasnetx_Msg_SendNB(team, rank, thread, bytes, send_bytes(i),
                                     &requests[count++]) == GASNET_OK,
                  "a send failed");
    check(gasnetx_Request_WaitAll(requests, count, NULL) == GASNET_OK, "a wait failed");
    free(into);
    free(requests);
}

static gex_Rank_t next_rank(void)
{
    return (me + 1) % size;
}

static void *work(void *number)
{
    const size_t slot = (me * threads + *(unsigned *)number) * SLOT;
    for (gex_Rank_t to = 0; to < size; to++) {
        void *address;
        gex_Segment_QueryBound(team, to, &address, NULL, NULL);
        send_to(to, (char *)address + slot);
        access_at(to, (char *)address + slot, (char *)address + COUNTER_AT);
        vis_at(to, (char *)address + slot + VIS_AT);
        notify_at(team, to, (char *)address + slot + NOTES_AT,
                  (char *)address + COUNTER_AT + PIECE);
        if (*(unsigned *)number == 0 && to == next_rank()) {
            vis_large(to, (char *)address + LARGE_AT);
            notify_large(to, (char *)address + LARGE_AT);
            send_far(to);
        }
    }
    exchange(*(unsigned *)number);
    return NULL;
}

/* All that is sent to this rank has arrived, and so have the replies. */
static void await_all(void)
{
    uint64_t replies = ONCE_RUNS + FAR;
    for (gex_Rank_t to = 0; to < size; to++)
        replies += threads * (shorts(me, to) + mediums(to) + RUNS + 1);
    GASNET_BLOCKUNTIL(replies_arrived == replies &&
                      longs_arrived == (uint64_t)threads * LONGS * size + FAR);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static void on_item(gasnetx_Stream_t stream, const gasnetx_stream_message_t *messages, size_t count,
                    void *context)
{
    (void)stream, (void)messages, (void)count, (void)context;
}

static void send_on_stream(void)
{
    static const char bytes[ITEM_BYTES];
    const gasnetx_stream_entry_t entry = {
        .id = ITEM, .directions = GASNETX_UP, .limit_us = GASNETX_NO_LIMIT, .fn = on_item};
    const gasnetx_stream_spec_t spec = {.parent = me ? 0 : GASNETX_STREAM_ROOT,
                                        .flags = GASNETX_STREAM_ORDERED,
                                        .entries = &entry,
                                        .entry_count = 1};
    gasnetx_Stream_t stream;
    check(gasnetx_Stream_Create(team, &spec, &stream) == GASNET_OK, "no stream");
    for (gex_Rank_t i = 0; me && i <= me; i++)
        check(gasnetx_Stream_Send(stream, GASNETX_UP, ITEM, bytes, ITEM_BYTES, NULL, 0, 0) ==
                  GASNET_OK,
              "a send on a stream failed");
    check(gasnetx_Stream_Free(&stream) == GASNET_OK, "the stream cannot be freed");
}

static unsigned larges_arrived;

static void on_large_stored(void *arg, size_t nbytes, size_t stored)
{
    (void)arg;
    check(nbytes == stored, "a large message was cut");
    larges_arrived++;
}

static void on_large(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    static char into[LARGE];
    check(info->id == LARGE_ID &&
              gasnetx_Large_Receive(message, into, LARGE, on_large_stored, NULL) == GASNET_OK,
          "a large message is refused");
}

static void register_larges(void)
{
    const gasnetx_large_entry_t entry = {LARGE_ID, on_large, NULL};
    check(gasnetx_Large_Register(&entry, 1) == GASNET_OK, "no function for large messages");
}

static void send_larges(void)
{
    static const char bytes[LARGE];
    check(gasnetx_Large_Send(team, next_rank(), LARGE_ID, bytes, SMALL_LARGE, NULL) == GASNET_OK &&
              gasnetx_Large_Send(team, next_rank(), LARGE_ID, bytes, LARGE, NULL) == GASNET_OK,
          "a large message is not sent");
    GASNET_BLOCKUNTIL(larges_arrived == LARGES);
}

static void work_together(void)
{
    char bytes[ROOT_BYTES] = {0};
    uint64_t one = 1, sum;
    gex_Event_Wait(gex_Coll_BroadcastNB(team, size - 1, bytes, bytes, ROOT_BYTES, 0));
    gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &sum, &one, GEX_DT_U64, sizeof one, 1, GEX_OP_ADD,
                                          NULL, NULL, 0));
    check(sum == size, "the sum is wrong");
    send_larges();
    send_on_stream();
}

static void on_ping(gex_Token_t token)
{
    (void)token;
}

static void send_for_a_while(void)
{
    for (int i = 0; i < 400; i++) {
        gex_AM_RequestShort0(team, (me + 1) % size, H_PING, 0);
        const uint64_t until = gasnett_ticks_to_ns(gasnett_ticks_now()) + 1000000;
        while (gasnett_ticks_to_ns(gasnett_ticks_now()) < until)
            gasnet_AMPoll();
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static void write_notes(void)
{
    char before[32];
    snprintf(before, sizeof before, "%s", GASNETT_TRACE_GETMASK());
    GASNETT_TRACE_PRINTF("rank %u \"works\"", (unsigned)me);
    GASNETT_TRACE_SETMASK("A");
    check(!GASNETT_TRACE_ENABLED, "the trace is on without the letter H");
    GASNETT_TRACE_PRINTF("not this");
    GASNETT_TRACE_PRINTF_FORCE("forced");
    GASNETT_TRACE_SETMASK(before);
    check(strcmp(before, GASNETT_TRACE_GETMASK()) == 0, "the mask is not the old one");
    GASNETT_STATS_SETMASK("^H");
    GASNETT_STATS_PRINTF("not this");
    GASNETT_STATS_PRINTF_FORCE("forced");
    GASNETT_STATS_SETMASK("AH");
    GASNETT_STATS_PRINTF("counted %d", 7);
    GASNETT_STATS_DUMP(1);
}

static void work_in_threads(void)
{
    pthread_t thread[MOST_THREADS];
    unsigned number[MOST_THREADS] = {0};
    for (unsigned i = 1; i < threads; i++) {
        number[i] = i;
        check(pthread_create(&thread[i], NULL, work, &number[i]) == 0, "no thread");
    }
    work(&number[0]);
    for (unsigned i = 1; i < threads; i++)
        pthread_join(thread[i], NULL);
}

/* ---- what is expected ---- */

/* The last Short, as sent and as arrived, by the place in the line. */
static unsigned is_last(gex_Rank_t to, size_t place)
{
    return hangs && ((me == 0 && to == 1 && place == 0) || (me == 1 && to == 0 && place == 21));
}

/* What only one thread does, by the place in the line. */
static uint64_t is_once(gex_Rank_t to, size_t place)
{
    const uint64_t sent = me && to == 0 ? me + 1 : 0, arrived = to && me == 0 ? to + 1 : 0;
    const unsigned is_next = to == next_rank(), is_previous = (to + 1) % size == me;
    switch (place) {
    case 2:
        return is_next * FAR;
    case 3:
        return is_next * FAR * far_long;
    case 4:
        return is_next * ONCE_RUNS;
    case 6:
        return is_previous * FAR;
    case 7:
        return is_previous * FAR * far_back;
    case 8:
        return is_next * (1 + FAR_NOTICES);
    case 9:
        return is_next * (LARGE + FAR_NOTICES * PUT_BYTES);
    case 13:
        return is_next;
    case 14:
        return is_next * (LARGE + PIECE);
    case 17:
        return is_next * LARGES;
    case 18:
        return is_next * LARGES_BYTES;
    case 19:
        return sent;
    case 20:
        return sent * ITEM_BYTES;
    case 21:
        return is_previous * FAR + is_last(to, place);
    case 22:
        return is_previous * FAR * far_long;
    case 23:
        return is_previous * ONCE_RUNS + is_next * FAR;
    case 24:
        return is_next * FAR * far_back;
    case 25:
        return is_previous * LARGES;
    case 26:
        return is_previous * LARGES_BYTES;
    case 27:
        return arrived;
    case 28:
        return arrived * ITEM_BYTES;
    default:
        return is_last(to, place);
    }
}

static void print_pair(gex_Rank_t to)
{
    const uint64_t sends = SENDS + 1, bytes = SENDS * SEND_BYTES + LONG_SEND;
    const uint64_t number[] = {shorts(me, to),
                               mediums(to),
                               LONGS,
                               request_bytes(to),
                               shorts(to, me) + RUNS,
                               mediums(me) + 1,
                               0,
                               mediums(me) * medium_bytes(me) + NOTE_BYTES,
                               PUTS + NOTICES,
                               (PUTS + NOTICES) * PUT_BYTES,
                               GETS,
                               GETS * GET_BYTES,
                               ATOMICS,
                               VIS_PUTS,
                               VIS_PUT_BYTES,
                               VIS_GETS,
                               VIS_GET_BYTES,
                               sends,
                               bytes,
                               0,
                               0,
                               shorts(to, me) + mediums(me) + LONGS,
                               request_bytes(me),
                               shorts(me, to) + mediums(to) + RUNS + 1,
                               mediums(to) * medium_bytes(to) + NOTE_BYTES,
                               sends,
                               bytes,
                               0,
                               0};
    char line[1024];
    int length = snprintf(line, sizeof line, "%u,%u", (unsigned)me, (unsigned)to);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, ",%" PRIu64,
                           threads * number[i] + is_once(to, i));
    printf("%s\n", line);
}

/* The counters of the process are the sums of its lines. */
static void check_counters(void)
{
    const volatile gasnetx_counters_t *counters = gasnetx_Counters(GEX_EP_INVALID);
    uint64_t requests = 0, bytes = FAR * far_long;
    for (gex_Rank_t to = 0; to < size; to++) {
        requests += threads * shorts(me, to);
        bytes += threads * request_bytes(to);
    }
    check(counters && counters->request_shorts == requests, "the counter of Shorts is wrong");
    check(counters->request_bytes == bytes, "the counter of bytes is wrong");
    check(counters->puts == (uint64_t)threads * (PUTS + NOTICES) * size + 1 + FAR_NOTICES,
          "the counter of puts is wrong");
    check(counters->atomics == (uint64_t)threads * ATOMICS * size,
          "the counter of atomics is wrong");
    check(counters->vis_puts == (uint64_t)threads * VIS_PUTS * size + 1,
          "the counter of vectors is wrong");
    check(counters->sends == (uint64_t)threads * (SENDS + 1) * size + LARGES,
          "the counter of messages with two sides is wrong");
    check(counters->stream_messages == (me ? me + 1 : 0), "the counter of streams is wrong");
}

/* At most what this job allows. */
static size_t far_bytes(size_t limit)
{
    return limit < FAR_LONG_MAX ? limit : FAR_LONG_MAX;
}

static void make_far(gex_Client_t client)
{
    const gasnetx_identity_t secret = {{1, 2, 3}};
    gex_AM_Entry_t table[] = {
        {H_NOTICE, (gex_AM_Fn_t)on_notice, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 8, NULL, NULL},
        {H_FAR, (gex_AM_Fn_t)on_far, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 2, NULL, NULL},
        {H_FAR_BACK, (gex_AM_Fn_t)on_far_back, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REPLY, 0, NULL,
         NULL}};
    gex_Segment_t segment;
    far_long = far_bytes(gex_AM_LUBRequestLong());
    far_back = far_bytes(gex_AM_LUBReplyLong());
    for (int i = 0; i < FAR; i++)
        check(gasnetx_EP_Create(&far[i], client, GEX_EP_CAPABILITY_ALL, 0, i ? &secret : NULL) ==
                      GASNET_OK &&
                  gex_EP_RegisterHandlers(far[i], table, 3) == GASNET_OK &&
                  gex_Segment_Create(&segment, client, NULL, FAR_BYTES, GEX_MK_HOST, 0) ==
                      GASNET_OK &&
                  gex_EP_BindSegment(far[i], segment, 0) == GASNET_OK &&
                  gex_EP_PublishBoundSegment(team, &far[i], 1, 0) == GASNET_OK,
              "no further endpoint");
}

int main(int argc, char **argv)
{
    gex_AM_Entry_t table[] = {
        {H_SHORT, (gex_AM_Fn_t)on_short, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, NULL},
        {H_MEDIUM, (gex_AM_Fn_t)on_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL, NULL},
        {H_LONG, (gex_AM_Fn_t)on_long, GEX_FLAG_AM_LONG | GEX_FLAG_AM_REQUEST, 0, NULL, NULL},
        {H_SHORT_BACK, (gex_AM_Fn_t)on_short_back, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL,
         NULL},
        {H_MEDIUM_BACK, (gex_AM_Fn_t)on_medium_back, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 0,
         NULL, NULL},
        {H_NOTICE, (gex_AM_Fn_t)on_notice, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 8, NULL, NULL},
        {H_HANG, (gex_AM_Fn_t)on_hang, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, NULL},
        {H_PING, (gex_AM_Fn_t)on_ping, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, NULL}};
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;

    gex_Client_Init(&client, &ep, &team, "TRAFFIC", &argc, &argv, 0);
    me = gex_TM_QueryRank(team);
    size = gex_TM_QuerySize(team);
    threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    hangs = argc > 2 && strcmp(argv[2], "hang") == 0;
    check(threads >= 1 && threads <= MOST_THREADS, "usage: traffic_work [THREADS, 1 to 8] [hang]");
    check(size * threads <= COUNTER_AT / SLOT, "too many threads in all");
    gex_EP_RegisterHandlers(ep, table, sizeof table / sizeof *table);
    check(gex_Segment_Attach(&segment, team, SEGMENT) == GASNET_OK, "no segment");
    gex_AD_Create(&domain, team, GEX_DT_U64, GEX_OP_ADD, 0);
    make_far(client);
    register_larges();
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (argc > 2 && strcmp(argv[2], "lasts") == 0)
        send_for_a_while();
    work_in_threads();
    await_all();
    work_together();
    if (argc > 2 && strcmp(argv[2], "notes") == 0)
        write_notes();
    for (gex_Rank_t to = 0; to < size; to++)
        print_pair(to);
    if (getenv("GASNET_TRAFFIC"))
        check_counters();
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0)); /* the first exit ends the others */
    if (hangs && me == 0)
        gex_AM_RequestShort0(team, 1, H_HANG, 0);
    if (hangs)
        GASNET_BLOCKUNTIL(0);
    gex_AD_Destroy(domain);
    gasnet_exit(0);
}
