/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages with two sides (aqueduct_msg.h): every rank sends to every rank, and checks what it
 * receives: order, wildcards, sizes, teams, probes, cancellation, persistent requests.
 *
 *     gasnetrun_smp -n 4 messages_work [ROUNDS]
 *     gasnetrun_smp -n 2 messages_work coop_copy [TIMES]  long messages that both sides copy
 */
#include <gasnetex.h>

#include <aqueduct.h>
#include <aqueduct_msg.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    EACH = 60, /* messages to each rank in a round */
    TAGS = 3,
    LONGEST = 300000, /* bytes of a message */
    REVERSE = 1000,   /* unexpected messages that are received in reverse order */
    HUGE_BYTES = 5000001,
    THREAD_MESSAGES = 100, /* of each thread, of which every tenth has so many bytes: */
    LONG_BYTES = 150000,
};

static gex_TM_t team;
static gex_Rank_t me, size;
static uint64_t random_state = 1;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "messages_work: rank %u: %s\n", (unsigned)me, what);
    gasnet_exit(1);
}

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

static void barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

/* ---- what a message has in it ---- */

typedef struct head {
    uint32_t from, to, number, tag;
} head_t;

static unsigned char byte_at(const head_t *head, size_t i)
{
    return (unsigned char)(head->from * 31 + head->number * 7 + head->tag + i * 13 + (i >> 8) +
                           (i >> 16) * 5);
}

static void message_fill(unsigned char *to, const head_t *head, size_t bytes)
{
    memcpy(to, head, sizeof *head);
    for (size_t i = sizeof *head; i < bytes; i++)
        to[i] = byte_at(head, i);
}

static head_t message_check(const unsigned char *from, size_t bytes, size_t received)
{
    head_t head;
    check(received >= sizeof head, "a message is too short");
    memcpy(&head, from, sizeof head);
    check(head.to == me, "a message is not for this rank");
    for (size_t i = sizeof head; i < received; i++)
        check(from[i] == byte_at(&head, i), "a byte of a message is wrong");
    (void)bytes;
    return head;
}

static size_t bytes_choose(void)
{
    const uint32_t kind = random_below(20);
    if (kind == 0)
        return sizeof(head_t) + random_below(LONGEST);
    if (kind < 6)
        return sizeof(head_t) + random_below(20000);
    return sizeof(head_t) + random_below(200);
}

/* ---- all to all ---- */

typedef struct sent {
    unsigned char *bytes;
    gasnetx_Request_t request;
} sent_t;

static void send_all(sent_t *sent)
{
    for (uint32_t number = 0; number < EACH; number++)
        for (gex_Rank_t to = 0; to < size; to++) {
            const head_t head = {me, to, number, random_below(TAGS)};
            const size_t bytes = bytes_choose();
            sent_t *one = &sent[number * size + to];
            one->bytes = malloc(bytes);
            message_fill(one->bytes, &head, bytes);
            check(gasnetx_Msg_SendNB(team, to, head.tag, one->bytes, bytes, &one->request) ==
                      GASNET_OK,
                  "a send is refused");
        }
}

static void sends_end(sent_t *sent)
{
    for (uint32_t i = 0; i < EACH * size; i++) {
        gasnetx_Request_Wait(&sent[i].request, NULL);
        check(sent[i].request == GASNETX_REQUEST_NULL, "a wait leaves its request");
        free(sent[i].bytes);
    }
}

/* Receives of one kind accept the messages of a source in order: the first of the source number
 * `expected`, the next one a later one. */
static void order_check(const head_t *head, const gasnetx_msg_status_t *status, int64_t *last)
{
    check(status->rank == head->from && status->tag == head->tag, "the status is wrong");
    check((int64_t)head->number > last[head->from], "a message has overtaken another one");
    last[head->from] = head->number;
}

static void round_by_any(int late)
{
    const uint32_t count = EACH * size;
    sent_t *sent = calloc(count, sizeof *sent);
    unsigned char **memory = calloc(count, sizeof *memory);
    gasnetx_Request_t *requests = calloc(count, sizeof *requests);
    int64_t *last = malloc(size * sizeof *last);
    for (gex_Rank_t i = 0; i < size; i++)
        last[i] = -1;
    if (late) {
        send_all(sent);
        barrier();
    }
    for (uint32_t i = 0; i < count; i++) {
        memory[i] = malloc(LONGEST + sizeof(head_t));
        gasnetx_Msg_RecvNB(i % 2 ? team : GEX_TM_INVALID, GASNETX_ANY_RANK, GASNETX_ANY_TAG,
                           memory[i], LONGEST + sizeof(head_t), &requests[i]);
    }
    if (!late)
        send_all(sent);
    for (uint32_t i = 0; i < count; i++) {
        gasnetx_msg_status_t status;
        while (gasnetx_Request_Test(&requests[i], &status) == GASNET_ERR_NOT_READY) {
        }
        check(status.flags == 0 && status.received == status.nbytes, "a message is cut");
        const head_t head = message_check(memory[i], status.nbytes, status.received);
        order_check(&head, &status, last);
        free(memory[i]);
    }
    sends_end(sent);
    for (gex_Rank_t i = 0; i < size; i++)
        check(last[i] == EACH - 1, "a message is missing");
    free(sent);
    free(memory);
    free(requests);
    free(last);
    barrier();
}

/* The same with receives that name source and tag, as probes announce them. */
static void round_by_probe(void)
{
    sent_t *sent = calloc(EACH * size, sizeof *sent);
    int64_t *last = malloc(size * sizeof *last);
    unsigned char *memory = malloc(LONGEST + sizeof(head_t));
    for (gex_Rank_t i = 0; i < size; i++)
        last[i] = -1;
    send_all(sent);
    for (uint32_t i = 0; i < EACH * size; i++) {
        gasnetx_msg_status_t seen, got;
        while (gasnetx_Msg_Probe(team, GASNETX_ANY_RANK, GASNETX_ANY_TAG, &seen) != GASNET_OK) {
        }
        check(gasnetx_Msg_Recv(team, seen.rank, seen.tag, memory, seen.nbytes, &got) == GASNET_OK,
              "a receive is refused");
        check(got.rank == seen.rank && got.tag == seen.tag && got.nbytes == seen.nbytes,
              "a receive gets another message than the probe has announced");
        const head_t head = message_check(memory, got.nbytes, got.received);
        order_check(&head, &got, last);
    }
    sends_end(sent);
    free(sent);
    free(last);
    free(memory);
    barrier();
}

/* ---- single rules ---- */

static void test_reverse(void)
{
    const gex_Rank_t to = (me + 1) % size, from = (me + size - 1) % size;
    static uint32_t values[REVERSE];
    static gasnetx_Request_t sends[REVERSE];
    for (uint32_t i = 0; i < REVERSE; i++) {
        values[i] = i;
        check(gasnetx_Msg_SendNB(team, to, i, &values[i], sizeof i, &sends[i]) == GASNET_OK,
              "a send is refused");
    }
    for (uint32_t i = REVERSE; i-- > 0;) {
        uint32_t value = 0;
        gasnetx_msg_status_t status;
        gasnetx_Msg_Recv(team, from, i, &value, sizeof value, &status);
        check(value == i && status.tag == i && status.received == 4, "a tag has another message");
    }
    gasnetx_Request_WaitAll(sends, REVERSE, NULL);
    barrier();
}

static void test_huge(void)
{
    const gex_Rank_t to = (me + 1) % size, from = (me + size - 1) % size;
    const head_t head = {me, to, 1, 2};
    unsigned char *out = malloc(HUGE_BYTES), *in = malloc(HUGE_BYTES);
    gasnetx_Request_t send;
    gasnetx_msg_status_t status;
    message_fill(out, &head, HUGE_BYTES);
    gasnetx_Msg_SendNB(team, to, 2, out, HUGE_BYTES, &send);
    gasnetx_Msg_Recv(team, from, 2, in, HUGE_BYTES, &status);
    check(status.received == HUGE_BYTES, "a long message is cut");
    message_check(in, HUGE_BYTES, HUGE_BYTES);
    gasnetx_Request_Wait(&send, NULL);
    free(out);
    free(in);
    barrier();
}

/* A message that is too long for its receive is cut, and the ones behind it are whole. */
static void test_truncation(size_t bytes, size_t capacity)
{
    const gex_Rank_t to = (me + 1) % size, from = (me + size - 1) % size;
    unsigned char *out = malloc(bytes), *in = malloc(bytes + 1);
    const head_t head = {me, to, 5, 1};
    gasnetx_Request_t sends[2];
    gasnetx_msg_status_t status;
    message_fill(out, &head, bytes);
    for (int i = 0; i < 2; i++)
        gasnetx_Msg_SendNB(team, to, 1, out, bytes, &sends[i]);
    memset(in, 0xee, bytes + 1);
    gasnetx_Msg_Recv(team, from, 1, in, capacity, &status);
    check(status.flags == GASNETX_MSG_TRUNCATED && status.nbytes == bytes &&
              status.received == capacity,
          "a message that is too long is not cut");
    check(in[capacity] == 0xee, "more was stored than the memory holds");
    gasnetx_Msg_Recv(team, from, 1, in, bytes, &status);
    check(status.flags == 0 && status.received == bytes, "the next message is cut, too");
    message_check(in, bytes, bytes);
    gasnetx_Request_WaitAll(sends, 2, NULL);
    free(out);
    free(in);
    barrier();
}

static void test_cancel(void)
{
    gasnetx_Request_t request, taken;
    gasnetx_msg_status_t status;
    uint32_t value = 0;
    gasnetx_Msg_RecvNB(team, me, 77, &value, sizeof value, &request);
    check(gasnetx_Request_Test(&request, &status) == GASNET_ERR_NOT_READY, "nothing was sent");
    check(gasnetx_Request_Cancel(request) == GASNET_OK, "a receive cannot be cancelled");
    check(gasnetx_Request_Cancel(request) == GASNET_ERR_NOT_READY, "it is cancelled twice");
    gasnetx_Request_Wait(&request, &status);
    check(status.flags == GASNETX_MSG_CANCELLED && !request, "it was not cancelled");
    gasnetx_Msg_RecvNB(team, me, 77, &value, sizeof value, &taken);
    const uint32_t twelve = 12;
    gasnetx_Msg_Send(team, me, 77, &twelve, sizeof twelve);
    while (gasnetx_Request_Test(&taken, &status) == GASNET_ERR_NOT_READY) {
    }
    check(value == 12 && status.flags == 0, "the next receive has not got the message");
    check(gasnetx_Request_Cancel(GASNETX_REQUEST_NULL) == GASNET_ERR_NOT_READY, "null");
    barrier();
}

/* Messages of this length are not sent at once. */
enum { ANNOUNCED = 2 << 20, CANCELS = 20 };

/* Each rank sends to the next one, which has no receive for it. */
static void test_cancel_send(void)
{
    const gex_Rank_t to = (me + 1) % size, from = (me + size - 1) % size;
    unsigned char *memory = calloc(1, ANNOUNCED);
    gasnetx_Request_t send;
    gasnetx_msg_status_t status;
    for (int i = 0; i < CANCELS; i++) {
        gasnetx_Msg_SendNB(team, to, 78, memory, ANNOUNCED, &send);
        if (i % 2)
            barrier(); /* else the request may overtake the message */
        check(gasnetx_Request_Cancel(send) == GASNET_OK, "a send cannot be cancelled");
        gasnetx_Request_Wait(&send, &status);
        check(status.flags == GASNETX_MSG_CANCELLED && !send, "the send was not cancelled");
    }
    barrier();
    check(gasnetx_Msg_Probe(team, from, 78, NULL) == GASNET_ERR_NOT_READY, "a message is left");
    barrier();
    gasnetx_Msg_SendNB(team, to, 78, memory, ANNOUNCED, &send);
    gasnetx_Msg_Recv(team, from, 78, memory, ANNOUNCED, NULL);
    gasnetx_Request_Wait(&send, &status);
    check(status.flags == 0, "the next send is cancelled, too");
    free(memory);
    barrier();
}

/* Cancels, while the receiver posts its receive: both agree whether the message was taken. */
static void test_cancel_race(void)
{
    const gex_Rank_t to = (me + 1) % size, from = (me + size - 1) % size;
    unsigned char *out = calloc(1, ANNOUNCED), *in = malloc(ANNOUNCED);
    for (uint32_t i = 0; i < CANCELS; i++) {
        gasnetx_Request_t send, receive, notice;
        gasnetx_msg_status_t status;
        uint32_t cancelled, told;
        out[ANNOUNCED - 1] = (unsigned char)i;
        gasnetx_Msg_SendNB(team, to, 79, out, ANNOUNCED, &send);
        for (uint32_t poll = 0; poll < i / 2; poll++)
            gasnet_AMPoll();
        gasnetx_Msg_RecvNB(team, from, 79, in, ANNOUNCED, &receive);
        (void)gasnetx_Request_Cancel(send);
        gasnetx_Request_Wait(&send, &status);
        cancelled = status.flags == GASNETX_MSG_CANCELLED;
        gasnetx_Msg_SendNB(team, to, 80, &cancelled, sizeof cancelled, &notice);
        gasnetx_Msg_Recv(team, from, 80, &told, sizeof told, NULL);
        gasnetx_Request_Wait(&notice, NULL);
        check((gasnetx_Request_Cancel(receive) == GASNET_OK) == told, "the two sides disagree");
        gasnetx_Request_Wait(&receive, NULL);
        check(told || in[ANNOUNCED - 1] == (unsigned char)i, "a message is not what was sent");
        barrier(); /* the next message is not for this receive */
    }
    free(out);
    free(in);
    barrier();
}

/* A rank that has stopped receiving drops messages that are cancelled, and a persistent send can be
 * started again. */
static void test_cancel_stopped(void)
{
    const gex_Rank_t to = (me + 1) % size, from = (me + size - 1) % size;
    unsigned char *out = calloc(1, ANNOUNCED), *in = malloc(ANNOUNCED);
    gasnetx_Request_t send;
    gasnetx_msg_status_t status;
    gasnetx_Msg_SendInit(team, to, 81, out, ANNOUNCED, &send);
    check(gasnetx_Request_Cancel(send) == GASNET_ERR_NOT_READY, "it has not begun");
    gasnetx_Msg_Mode(GASNETX_MSG_STOPPED);
    barrier();
    if (gasnetx_Request_Start(send) == GASNET_OK) { /* the receiver's stop may not be known */
        check(gasnetx_Request_Cancel(send) == GASNET_OK, "a send cannot be cancelled");
        gasnetx_Request_Wait(&send, &status);
        check(status.flags == GASNETX_MSG_CANCELLED, "the send was not cancelled");
    }
    barrier();
    gasnetx_Msg_Mode(0);
    barrier();
    out[0] = 1;
    while (gasnetx_Request_Start(send) != GASNET_OK)
        gasnet_AMPoll();
    gasnetx_Msg_Recv(team, from, 81, in, ANNOUNCED, NULL);
    check(in[0] == 1, "a cancelled message has come");
    gasnetx_Request_Wait(&send, &status);
    check(status.flags == 0, "the next send is cancelled, too");
    gasnetx_Request_Free(&send);
    free(out);
    free(in);
    barrier();
}

/* A short message is announced, too, when the receiver keeps many others. Started again, it leaves
 * with its bytes, and is not cancelled any more. */
static void test_cancel_short(void)
{
    enum { MOST = 1000000 };
    const gex_Rank_t to = (me + 1) % size, from = (me + size - 1) % size;
    const uint32_t value = 5;
    uint32_t sent = 0, expected, got;
    gasnetx_Request_t send;
    gasnetx_msg_status_t status;
    gasnetx_Msg_SendInit(team, to, 83, &value, sizeof value, &send);
    while (gasnetx_Request_Start(send) == GASNET_OK && sent < MOST &&
           gasnetx_Request_Test(&send, &status) == GASNET_OK)
        sent++;
    check(gasnetx_Request_Cancel(send) == GASNET_OK, "a short send cannot be cancelled");
    gasnetx_Request_Wait(&send, &status);
    check(status.flags == GASNETX_MSG_CANCELLED, "the short send was not cancelled");
    gasnetx_Request_t count;
    gasnetx_Msg_SendNB(team, to, 84, &sent, sizeof sent, &count);
    gasnetx_Msg_Recv(team, from, 84, &expected, sizeof expected, NULL);
    for (uint32_t i = 0; i < expected; i++)
        gasnetx_Msg_Recv(team, from, 83, &got, sizeof got, NULL);
    gasnetx_Request_Wait(&count, NULL);
    barrier();
    while (gasnetx_Request_Start(send) != GASNET_OK)
        gasnet_AMPoll();
    gasnetx_Msg_Recv(team, from, 83, &got, sizeof got, NULL);
    gasnetx_Request_Wait(&send, &status);
    check(got == value && status.flags == 0, "the send after a cancelled one is cancelled, too");
    gasnetx_Request_Free(&send);
    barrier();
}

static void test_persistent(void)
{
    const gex_Rank_t to = (me + 1) % size, from = (me + size - 1) % size;
    static uint32_t out[5000], in[5000];
    gasnetx_Request_t send, receive;
    for (size_t bytes = 4; bytes <= sizeof out; bytes = bytes == 4 ? sizeof out : sizeof out + 1) {
        check(gasnetx_Msg_SendInit(team, to, 3, out, bytes, &send) == GASNET_OK, "refused");
        check(gasnetx_Msg_RecvInit(team, from, 3, in, sizeof in, &receive) == GASNET_OK, "refused");
        check(gasnetx_Request_Test(&receive, NULL) == GASNET_OK, "it has not begun");
        for (uint32_t i = 1; i < 20; i++) {
            gasnetx_msg_status_t status;
            out[0] = out[bytes / 4 - 1] = i;
            gasnetx_Request_Start(receive);
            gasnetx_Request_Start(send);
            check(gasnetx_Request_Start(receive) == GASNET_ERR_BAD_ARG, "it has begun");
            check(gasnetx_Request_Free(&receive) == GASNET_ERR_BAD_ARG, "it has begun");
            gasnetx_Request_Wait(&receive, &status);
            gasnetx_Request_Wait(&send, NULL);
            check(in[0] == i && in[bytes / 4 - 1] == i && status.received == bytes, "wrong data");
        }
        check(gasnetx_Request_Free(&receive) == GASNET_OK && !receive, "not freed");
        check(gasnetx_Request_Free(&send) == GASNET_OK && !send, "not freed");
    }
    barrier();
}

static void test_teams(void)
{
    gex_TM_t half = GEX_TM_INVALID;
    const uint32_t mine = me + 100;
    uint32_t got = 0;
    gasnetx_msg_status_t status;
    gex_TM_Split(&half, team, (int)(me % 2), (int)(size - me), NULL, 0, 0);
    const gex_Rank_t rank = gex_TM_QueryRank(half), members = gex_TM_QuerySize(half);
    const gex_Rank_t to = (rank + 1) % members, from = (rank + members - 1) % members;
    gasnetx_Request_t sends[2];
    gasnetx_Msg_SendNB(team, gex_TM_TranslateRankToJobrank(half, to), 9, &me, sizeof me, &sends[0]);
    gasnetx_Msg_SendNB(half, to, 9, &mine, sizeof mine, &sends[1]);
    gasnetx_Msg_Recv(half, GASNETX_ANY_RANK, 9, &got, sizeof got, &status);
    check(status.rank == from && got == gex_TM_TranslateRankToJobrank(half, from) + 100,
          "a message of another team was received");
    gasnetx_Msg_Recv(GEX_TM_INVALID, GASNETX_ANY_RANK, 9, &got, sizeof got, &status);
    check(status.rank == got && got == gex_TM_TranslateRankToJobrank(half, from),
          "a receive of any team got something else");
    gasnetx_Request_WaitAll(sends, 2, NULL);
    barrier();
}

/* ---- receives of all teams that wait for their message ---- */

typedef void receive_fn_t(gex_Rank_t rank, uint32_t *got, gasnetx_msg_status_t *status);

static gasnetx_Request_t receive_begin(gex_Rank_t rank, uint32_t *got)
{
    gasnetx_Request_t request;
    check(gasnetx_Msg_RecvNB(GEX_TM_INVALID, rank, 11, got, sizeof *got, &request) == GASNET_OK,
          "a receive of all teams is refused");
    return request;
}

static void receive_blocking(gex_Rank_t rank, uint32_t *got, gasnetx_msg_status_t *status)
{
    gasnetx_Msg_Recv(GEX_TM_INVALID, rank, 11, got, sizeof *got, status);
}

static void receive_wait(gex_Rank_t rank, uint32_t *got, gasnetx_msg_status_t *status)
{
    gasnetx_Request_t request = receive_begin(rank, got);
    gasnetx_Request_Wait(&request, status);
}

static void receive_wait_all(gex_Rank_t rank, uint32_t *got, gasnetx_msg_status_t *status)
{
    gasnetx_Request_t request = receive_begin(rank, got);
    gasnetx_Request_WaitAll(&request, 1, status);
}

static void receive_wait_fds(gex_Rank_t rank, uint32_t *got, gasnetx_msg_status_t *status)
{
    gasnetx_Request_t request = receive_begin(rank, got);
    gasnetx_Request_WaitFds(&request, 1, NULL, 0, -1, NULL, NULL);
    gasnetx_Request_Wait(&request, status);
}

static void receive_test(gex_Rank_t rank, uint32_t *got, gasnetx_msg_status_t *status)
{
    gasnetx_Request_t request = receive_begin(rank, got);
    while (gasnetx_Request_Test(&request, status) == GASNET_ERR_NOT_READY) {
    }
}

static void receive_persistent(gex_Rank_t rank, uint32_t *got, gasnetx_msg_status_t *status)
{
    gasnetx_Request_t request;
    gasnetx_Msg_RecvInit(GEX_TM_INVALID, rank, 11, got, sizeof *got, &request);
    gasnetx_Request_Start(request);
    gasnetx_Request_Wait(&request, status);
    gasnetx_Request_Free(&request);
}

static void receive_probed(gex_Rank_t rank, uint32_t *got, gasnetx_msg_status_t *status)
{
    gasnetx_msg_status_t seen;
    while (gasnetx_Msg_Probe(GEX_TM_INVALID, rank, 11, &seen) == GASNET_ERR_NOT_READY) {
    }
    check(seen.rank == size - 1, "a probe of all teams names another rank");
    gasnetx_Msg_Recv(GEX_TM_INVALID, rank, 11, got, sizeof *got, status);
}

/* The last rank sends over a team in which it has another number than in the job, and late, so that
 * rank 0 waits. */
static void test_all_teams(void)
{
    static receive_fn_t *const ways[] = {receive_blocking, receive_wait,       receive_wait_all,
                                         receive_wait_fds, receive_persistent, receive_test,
                                         receive_probed};
    enum { WAYS = sizeof ways / sizeof *ways };
    gex_TM_t reversed = GEX_TM_INVALID;
    gex_TM_Split(&reversed, team, 0, (int)(size - me), NULL, 0, 0);
    for (uint32_t i = 0; size > 1 && i < 2 * WAYS; i++) {
        gasnetx_msg_status_t status = {0};
        uint32_t got = 0;
        barrier();
        if (me == size - 1) {
            usleep(10000);
            gasnetx_Msg_Send(i % 2 ? team : reversed, i % 2 ? 0 : size - 1, 11, &i, sizeof i);
        } else if (me == 0) {
            ways[i / 2](i % 4 < 2 ? size - 1 : GASNETX_ANY_RANK, &got, &status);
            check(got == i && status.received == sizeof got, "a receive of all teams got no data");
            check(status.rank == size - 1 && status.tag == 11, "its source is no job rank");
        }
    }
    gex_TM_Destroy(reversed, NULL, 0);
    barrier();
}

/* Threads with a tag each: what one sends, its partner in the next rank receives in order. */
static void *thread_run(void *argument)
{
    const uint32_t tag = *(const uint32_t *)argument;
    const gex_Rank_t to = (me + 1) % size, from = (me + size - 1) % size;
    unsigned char *out = malloc(LONG_BYTES), *in = malloc(LONG_BYTES);
    for (uint32_t i = 0; i < THREAD_MESSAGES; i++) {
        const head_t head = {me, to, i, tag};
        const size_t bytes = i % 10 ? sizeof head + i : LONG_BYTES;
        gasnetx_Request_t send;
        gasnetx_msg_status_t status;
        message_fill(out, &head, bytes);
        gasnetx_Msg_SendNB(team, to, tag, out, bytes, &send);
        gasnetx_Msg_Recv(team, from, tag, in, LONG_BYTES, &status);
        const head_t got = message_check(in, status.nbytes, status.received);
        check(got.number == i && got.tag == tag && got.from == from && status.received == bytes,
              "a thread has got the message of another one");
        gasnetx_Request_Wait(&send, NULL);
    }
    free(out);
    free(in);
    return NULL;
}

static void test_threads(void)
{
    static const uint32_t tags[] = {20, 21, 22};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        check(pthread_create(&threads[i], NULL, thread_run, (void *)(uintptr_t)&tags[i]) == 0,
              "no thread");
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    barrier();
}

/* ---- requests of the client: a handler completes them ---- */

enum { ASK = GEX_AM_INDEX_BASE, ANSWER, ASKS = 500 };

static gasnetx_Request_t client_request;

static void on_ask(gex_Token_t token)
{
    gex_AM_ReplyShort0(token, ANSWER, 0);
}

static void on_answer(gex_Token_t token)
{
    (void)token;
    check(gasnetx_Request_Complete(client_request) == GASNET_OK, "an answer is one too many");
}

static void handlers_register(gex_EP_t ep)
{
    gex_AM_Entry_t entries[] = {
        {ASK, (gex_AM_Fn_t)on_ask, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "ask"},
        {ANSWER, (gex_AM_Fn_t)on_answer, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL, "answer"}};
    gex_EP_RegisterHandlers(ep, entries, 2);
}

static void test_client_requests(void)
{
    gasnetx_Request_Make(1, &client_request);
    for (uint32_t i = 0; i < ASKS; i++) {
        check(gasnetx_Request_Add(client_request) == GASNET_OK, "an operation cannot be added");
        gex_AM_RequestShort0(team, i % size, ASK, 0);
    }
    check(gasnetx_Request_Test(&client_request, NULL) == GASNET_ERR_NOT_READY, "one is missing");
    check(gasnetx_Request_Cancel(client_request) == GASNET_ERR_NOT_READY, "it is no receive");
    check(gasnetx_Request_Complete(client_request) == GASNET_OK, "one is left");
    gasnetx_Request_Wait(&client_request, NULL);
    gasnetx_Request_Make(0, &client_request);
    check(gasnetx_Request_Add(client_request) == GASNET_ERR_BAD_ARG, "it is complete");
    check(gasnetx_Request_Complete(client_request) == GASNET_ERR_BAD_ARG, "it is complete");
    check(gasnetx_Request_Test(&client_request, NULL) == GASNET_OK && !client_request,
          "it is complete");
    barrier();
}

static void test_refusals(void)
{
    gasnetx_Request_t request = GASNETX_REQUEST_NULL;
    char byte = 0;
    check(gasnetx_Msg_Send(team, size, 0, &byte, 1) == GASNET_ERR_BAD_ARG, "no such rank");
    check(gasnetx_Msg_Send(team, GASNETX_ANY_RANK, 0, &byte, 1) == GASNET_ERR_BAD_ARG, "any rank");
    check(gasnetx_Msg_Send(team, me, GASNETX_ANY_TAG, &byte, 1) == GASNET_ERR_BAD_ARG, "any tag");
    check(gasnetx_Msg_Send(GEX_TM_INVALID, me, 0, &byte, 1) == GASNET_ERR_BAD_ARG, "any team");
    check(gasnetx_Msg_Send(team, me, GASNETX_TAG_MAX + 1, &byte, 1) == GASNET_ERR_BAD_ARG, "tag");
    check(gasnetx_Msg_RecvNB(team, size, 0, &byte, 1, &request) == GASNET_ERR_BAD_ARG, "rank");
    check(gasnetx_Request_Start(request) == GASNET_ERR_BAD_ARG, "there is no request");
    check(gasnetx_Request_Wait(&request, NULL) == GASNET_OK, "null is complete");
}

/* ---- cooperative copies, for two ranks of a host ---- */

enum {
    COOP_COPIES = 40, /* messages, more than both sides may copy at a time */
    COOP_COPY_MIN = 32 << 10,
};

static size_t coop_copy_bytes(int i)
{
    static const size_t sizes[] = {COOP_COPY_MIN - 1, COOP_COPY_MIN, COOP_COPY_MIN + 1, 262145,
                                   1u << 20,          1048579,       3000001,           9u << 19};
    return sizes[(size_t)i % (sizeof sizes / sizeof *sizes)];
}

/* All are under way at the same time. */
static void coop_copy_send(void)
{
    gasnetx_Request_t sends[COOP_COPIES];
    unsigned char *out[COOP_COPIES];
    for (int i = 0; i < COOP_COPIES; i++) {
        const head_t head = {0, 1, (uint32_t)i, 1};
        message_fill(out[i] = malloc(coop_copy_bytes(i)), &head, coop_copy_bytes(i));
        gasnetx_Msg_SendNB(team, 1, 1, out[i], coop_copy_bytes(i), &sends[i]);
    }
    gasnetx_Request_WaitAll(sends, COOP_COPIES, NULL);
    for (int i = 0; i < COOP_COPIES; i++)
        free(out[i]);
}

static void coop_copy_receive(void)
{
    gasnetx_Request_t receives[COOP_COPIES];
    unsigned char *in[COOP_COPIES];
    for (int i = 0; i < COOP_COPIES; i++) {
        in[i] = malloc(coop_copy_bytes(i));
        gasnetx_Msg_RecvNB(team, 0, 1, in[i], coop_copy_bytes(i), &receives[i]);
    }
    gasnetx_Request_WaitAll(receives, COOP_COPIES, NULL);
    for (int i = 0; i < COOP_COPIES; i++) {
        const head_t head = message_check(in[i], coop_copy_bytes(i), coop_copy_bytes(i));
        check(head.number == (uint32_t)i, "a message is another one");
        free(in[i]);
    }
}

/* Each cooperative copy costs its sender one message more than its end. */
static void test_coop_copy(gex_EP_t ep)
{
    const volatile gasnetx_counters_t *counters = gasnetx_Counters(ep);
    barrier();
    gasnetx_Counters_Update();
    const uint64_t before = counters->frames_received;
    if (me == 0)
        coop_copy_send();
    else
        coop_copy_receive();
    gasnetx_Counters_Update();
    if (me == 0)
        check(counters->frames_received - before > COOP_COPIES, "no receiver has asked for help");
    barrier();
}

/* A receiver does not need a sender that does not poll: rank 0 only looks at its memory. */
static void test_sender_away(_Atomic uint32_t *mine)
{
    const head_t head = {0, 1, 7, 3};
    unsigned char *memory = malloc(HUGE_BYTES);
    const uint32_t one = 1;
    gasnetx_Request_t send;
    void *there;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, 0, &there, NULL, NULL, 0));
    if (me == 0) {
        message_fill(memory, &head, HUGE_BYTES);
        gasnetx_Msg_SendNB(team, 1, 3, memory, HUGE_BYTES, &send);
        while (!atomic_load(mine))
            sched_yield();
        gasnetx_Request_Wait(&send, NULL);
    } else {
        gasnetx_Msg_Recv(team, 0, 3, memory, HUGE_BYTES, NULL);
        message_check(memory, HUGE_BYTES, HUGE_BYTES);
        gex_RMA_PutBlocking(team, 0, there, (void *)(uintptr_t)&one, sizeof one, 0);
    }
    free(memory);
    barrier();
}

static void coop_copy_work(gex_EP_t ep, gex_Segment_t segment, int times)
{
    for (int i = 0; i < times; i++)
        test_coop_copy(ep);
    test_sender_away(gex_Segment_QueryAddr(segment));
    if (me == 0)
        printf("messages_work: all messages that both sides copy are right\n");
    gasnet_exit(0);
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    gex_Client_Init(&client, &ep, &team, "messages_work", &argc, &argv, 0);
    gex_Segment_Attach(&segment, team, 65536);
    handlers_register(ep);
    barrier();
    me = gex_TM_QueryRank(team);
    size = gex_TM_QuerySize(team);
    gex_System_SetVerboseErrors(0); /* what is refused is refused on purpose */
    if (argc > 1 && !strcmp(argv[1], "coop_copy"))
        coop_copy_work(ep, segment, argc > 2 ? atoi(argv[2]) : 10);
    const int rounds = argc > 1 ? atoi(argv[1]) : 3;
    for (int i = 0; i < rounds; i++) {
        random_state = (uint64_t)i * 1000 + me + 1;
        round_by_any(i % 2);
        round_by_probe();
    }
    test_reverse();
    test_huge();
    test_truncation(200, 17);
    test_truncation(100000, 70000);
    test_truncation(100000, 0);
    test_cancel();
    test_cancel_send();
    test_cancel_race();
    test_cancel_stopped();
    test_cancel_short();
    test_persistent();
    test_teams();
    test_all_teams();
    test_refusals();
    test_client_requests();
    test_threads();
    barrier();
    if (me == 0)
        printf("messages_work: %d rounds, all messages are right\n", rounds);
    gasnet_exit(0);
}
