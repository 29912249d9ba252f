/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow control of messages with two sides and large messages: limits, stop, start and drop. Every
 * rank sends to the next one.
 *
 *     GASNET_MSG_MEMORY=1 gasnetrun_smp -n 4 flow_work     64 KiB of credits, the least there is
 */
#include <gasnetex.h>

#include <gasnet_coll.h>

#include <aqueduct.h>
#include <aqueduct_msg.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CREDITS = 64 << 10,
    ENVELOPE = 256, /* what GASNET_MSG_MEMORY counts for a message beside its bytes */
    LARGE_ENVELOPE = 1024,
    FLOOD = 3000, /* messages, more than there are credits for */
    SHORT = 8000, /* bytes that are sent at once if there are credits */
    SHORTS = 60,
    LONG = 50000,
    WAITING = 9, /* messages while the receiver has stopped, of each kind */
    LARGE_ID = 7,
};

static gex_TM_t team;
static gex_Rank_t me, size, to, from;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "flow_work: rank %u: %s\n", (unsigned)me, what);
    gasnet_exit(1);
}

static void barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static gasnetx_msg_counts_t counts_now(void)
{
    gasnetx_msg_counts_t counts;
    check(gasnetx_Msg_Counts(&counts) == GASNET_OK, "no counts");
    return counts;
}

/* Polls until this rank has kept or dropped so many messages. A message may be slower than a
 * barrier. */
static void kept_await(uint64_t messages)
{
    while (counts_now().kept_messages < messages)
        gasnet_AMPoll();
    check(counts_now().kept_messages == messages, "too many messages are kept");
}

static void dropped_await(uint64_t messages)
{
    while (counts_now().dropped_messages < messages)
        gasnet_AMPoll();
    check(counts_now().dropped_messages == messages, "too many messages are dropped");
}

/* All messages have ended or will soon: nothing is kept. */
static void end_check(void)
{
    while (counts_now().kept_messages)
        gasnet_AMPoll();
    check(counts_now().kept_memory == 0, "memory is lost");
    barrier();
}

/* ---- limits ---- */

static void receive_check(uint32_t number, unsigned char *memory, size_t bytes)
{
    gasnetx_msg_status_t status;
    uint32_t got;
    check(gasnetx_Msg_Recv(team, from, 1, memory, bytes, &status) == GASNET_OK, "a receive");
    memcpy(&got, memory, sizeof got);
    check(got == number && status.nbytes == bytes, "a message is another one");
}

/* Each rank gives a value, and gets that of the rank before it. */
static uint32_t value_of_source(uint32_t mine)
{
    uint32_t values[64] = {0};
    check(size <= 64, "at most 64 ranks");
    values[me] = mine;
    gex_Event_Wait(gex_Coll_ReduceToAllNB(team, values, values, GEX_DT_U32, 4, size, GEX_OP_ADD,
                                          NULL, NULL, 0));
    return values[from];
}

/* Sends until credits are used up; those at the end keep their bytes, and have requests. Up to
 * half of the credits may be given back meanwhile. */
typedef struct flood {
    uint32_t sent, stay, arrive; /* arrive: of this rank's source */
    gasnetx_Request_t requests[FLOOD];
} flood_t;
static flood_t flood;
static unsigned floods;

static void flood_send(void)
{
    static uint32_t numbers[FLOOD];
    const uint64_t refused = counts_now().refused;
    int error = GASNET_OK;
    flood.sent = flood.stay = 0;
    while (flood.sent < FLOOD) {
        gasnetx_Request_t request;
        numbers[flood.sent] = flood.sent;
        error = gasnetx_Msg_SendNB(team, to, 1, &numbers[flood.sent], 4, &request);
        if (error != GASNET_OK)
            break;
        flood.sent++;
        if (request)
            flood.requests[flood.stay++] = request;
    }
    check(error == GASNET_ERR_RESOURCE, "the receiver has more room than its limit");
    check(flood.sent <= CREDITS / ENVELOPE * 3 / 2, "the limit is another");
    check(floods++ > 0 || flood.sent > CREDITS / (ENVELOPE + 4),
          "the first messages have less room than the limit");
    check(counts_now().refused == refused + 1, "a refused send is not counted");
    flood.arrive = value_of_source(flood.sent);
    kept_await(flood.arrive);
    check(counts_now().kept_memory ==
              flood.arrive * ENVELOPE + (flood.arrive - value_of_source(flood.stay)) * 4,
          "other memory is counted");
    check(counts_now().most_memory <= CREDITS, "more was kept than the limit");
    barrier();
}

static void flood_receive(void)
{
    for (uint32_t i = 0; i < flood.arrive; i++)
        receive_check(i, (unsigned char[4]){0}, 4);
    gasnetx_Request_WaitAll(flood.requests, flood.stay, NULL);
}

static void test_refused(void)
{
    flood_send();
    flood_receive();
    end_check();
}

/* Of short messages beyond the credits the bytes stay here: each send has a request then. */
static void test_bytes_stay(void)
{
    static gasnetx_Request_t sends[SHORTS];
    static unsigned char out[SHORTS][SHORT], in[SHORT];
    uint32_t stayed = 0;
    for (uint32_t i = 0; i < SHORTS; i++) {
        memset(out[i], (int)i, SHORT);
        memcpy(out[i], &i, sizeof i);
        check(gasnetx_Msg_SendNB(team, to, 1, out[i], SHORT, &sends[i]) == GASNET_OK, "a send");
        stayed += sends[i] != GASNETX_REQUEST_NULL;
    }
    check(stayed >= SHORTS - CREDITS / 4 * 3 / SHORT, "a receiver keeps more than its limit");
    barrier();
    kept_await(SHORTS);
    check(counts_now().most_memory <= CREDITS, "more was kept than the limit");
    for (uint32_t i = 0; i < SHORTS; i++) {
        receive_check(i, in, SHORT);
        check(in[SHORT - 1] == (unsigned char)i, "the bytes are wrong");
    }
    gasnetx_Request_WaitAll(sends, SHORTS, NULL);
    end_check();
}

/* A blocking send waits for credits. Rank 0 is slower than its sender. */
static void test_blocking(void)
{
    if (me == size - 1 && size > 1)
        for (uint32_t i = 0; i < FLOOD; i++)
            check(gasnetx_Msg_Send(team, to, 1, &i, sizeof i) == GASNET_OK, "a blocking send");
    if (me == 0 && size > 1)
        for (uint32_t i = 0; i < FLOOD; i++) {
            gasnet_AMPoll();
            receive_check(i, (unsigned char[4]){0}, 4);
        }
    check(counts_now().most_memory <= CREDITS, "more was kept than the limit");
    end_check();
}

/* Persistent sends are refused, too, and can be started later. Credits that the receiver has
 * given back may be told late, so that some are sent. */
static void test_persistent(void)
{
    static gasnetx_Request_t sends[FLOOD];
    static const uint32_t number = 5;
    uint32_t started = 0;
    int error;
    flood_send();
    for (; started < FLOOD; started++) {
        gasnetx_Msg_SendInit(team, to, 1, &number, sizeof number, &sends[started]);
        if ((error = gasnetx_Request_Start(sends[started])) != GASNET_OK)
            break;
    }
    check(error == GASNET_ERR_RESOURCE, "a start is not refused");
    check(gasnetx_Request_Test(&sends[started], NULL) == GASNET_OK, "a refused start has begun");
    flood_receive();
    for (uint32_t i = value_of_source(started); i > 0; i--)
        receive_check(number, (unsigned char[4]){0}, 4);
    while (gasnetx_Request_Start(sends[started]) == GASNET_ERR_RESOURCE)
        gasnet_AMPoll();
    receive_check(number, (unsigned char[4]){0}, 4);
    gasnetx_Request_WaitAll(sends, started + 1, NULL);
    for (uint32_t i = 0; i <= started; i++)
        check(gasnetx_Request_Free(&sends[i]) == GASNET_OK, "it cannot be freed");
    end_check();
}

/* ---- stop and start ---- */

static unsigned stops_told, starts_told, larges, larges_received;
static unsigned char large_memory[WAITING][LONG];

static void on_stop(gex_Rank_t rank, int stopped, void *context)
{
    check(rank == to && context == &stops_told, "another rank has stopped");
    *(stopped ? &stops_told : &starts_told) += 1;
}

static void on_received(void *arg, size_t nbytes, size_t stored)
{
    (void)arg;
    check(nbytes == LONG && stored == LONG, "a large message is cut");
    larges_received++;
}

static void on_large(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    check(info->rank == from && info->nbytes == LONG, "a large message is another one");
    gasnetx_Large_Receive(message, large_memory[larges++], LONG, on_received, NULL);
}

/* The two kinds, short and long in turn; the requests of those that are not complete at once. */
static void kinds_send(gasnetx_Request_t *requests, const unsigned char *out)
{
    for (uint32_t i = 0; i < WAITING; i++) {
        const size_t bytes = i % 2 ? LONG : 10;
        check(gasnetx_Msg_SendNB(team, to, i, out, bytes, &requests[2 * i]) == GASNET_OK, "send");
        check(gasnetx_Large_SendNB(team, to, LARGE_ID, out, LONG, NULL, NULL, NULL,
                                   &requests[2 * i + 1]) == GASNET_OK,
              "a large message is refused");
    }
}

static void test_stop(void)
{
    static unsigned char out[LONG], in[LONG];
    gasnetx_Request_t sends[2 * WAITING], receive;
    gasnetx_msg_status_t status;
    check(gasnetx_Msg_Mode(4) == GASNET_ERR_BAD_ARG, "there is no such mode");
    check(gasnetx_Msg_OnStop(on_stop, &stops_told) == GASNET_OK, "no function");
    check(gasnetx_Msg_Mode(GASNETX_MSG_STOPPED) == GASNET_OK, "it does not stop");
    barrier();
    memset(out, 0x5a, LONG);
    kinds_send(sends, out);
    kept_await(2 * WAITING);
    while (stops_told == 0)
        gasnet_AMPoll();
    gasnetx_Msg_RecvNB(team, from, GASNETX_ANY_TAG, in, LONG, &receive);
    barrier();
    check(gasnetx_Request_Test(&receive, NULL) == GASNET_ERR_NOT_READY && larges == 0,
          "something was received although this rank has stopped");
    check(gasnetx_Msg_Probe(team, from, 0, NULL) == GASNET_ERR_NOT_READY, "a probe finds it");
    check(gasnetx_Msg_Mode(0) == GASNET_OK, "it does not start");
    gasnetx_Request_Wait(&receive, &status);
    check(status.tag == 0 && status.nbytes == 10, "the first one is not the first one");
    for (uint32_t i = 1; i < WAITING; i++) {
        gasnetx_Msg_Recv(team, from, GASNETX_ANY_TAG, in, LONG, &status);
        check(status.tag == i, "the order is another one");
    }
    gasnetx_Request_WaitAll(sends, 2 * WAITING, NULL);
    while (starts_told == 0 || larges_received < WAITING)
        gasnet_AMPoll();
    check(stops_told == 1 && starts_told == 1, "a stop or start is told twice");
    check(large_memory[WAITING - 1][LONG - 1] == 0x5a, "a large message has other data");
    end_check();
}

/* ---- drop ---- */

/* What no receive waits for is dropped, and for its sender complete. */
static void test_drop(void)
{
    static unsigned char out[LONG], in[LONG];
    const gasnetx_msg_counts_t before = counts_now();
    gasnetx_Request_t sends[3], receive;
    gasnetx_Msg_RecvNB(team, from, 1, in, LONG, &receive);
    check(gasnetx_Msg_Mode(GASNETX_MSG_DROPS) == GASNET_OK, "it does not drop");
    barrier();
    out[0] = 1;
    gasnetx_Msg_SendNB(team, to, 0, out, 10, &sends[0]);
    gasnetx_Msg_SendNB(team, to, 0, out, LONG, &sends[1]);
    gasnetx_Msg_SendNB(team, to, 1, out, LONG, &sends[2]);
    gasnetx_Request_WaitAll(sends, 3, NULL);
    gasnetx_Request_Wait(&receive, NULL);
    check(in[0] == 1, "a message that a receive waits for is dropped");
    dropped_await(before.dropped_messages + 2);
    check(counts_now().dropped_bytes == before.dropped_bytes + 10 + LONG, "other bytes");
    barrier();
    end_check();
}

/* While this rank has stopped, everything is dropped, and so is what has waited. */
static void test_stop_drop(void)
{
    static unsigned char out[LONG], in[1];
    const gasnetx_msg_counts_t before = counts_now();
    const unsigned handled = larges;
    gasnetx_Request_t sends[2 * WAITING], receive;
    check(gasnetx_Msg_Mode(GASNETX_MSG_STOPPED) == GASNET_OK, "it does not stop");
    gasnetx_Msg_RecvNB(team, from, GASNETX_ANY_TAG, in, 1, &receive);
    barrier();
    kinds_send(sends, out);
    kept_await(2 * WAITING);
    check(gasnetx_Msg_Mode(GASNETX_MSG_STOPPED | GASNETX_MSG_DROPS) == GASNET_OK, "it stops");
    gasnetx_Request_WaitAll(sends, 2 * WAITING, NULL);
    dropped_await(before.dropped_messages + 2 * WAITING);
    barrier();
    kinds_send(sends, out);
    gasnetx_Request_WaitAll(sends, 2 * WAITING, NULL);
    dropped_await(before.dropped_messages + 4 * WAITING);
    check(larges == handled, "a handler has run");
    barrier();
    check(gasnetx_Request_Test(&receive, NULL) == GASNET_ERR_NOT_READY, "a receive has something");
    check(gasnetx_Msg_Mode(0) == GASNET_OK, "it does not start");
    barrier();
    out[0] = 9;
    gasnetx_Msg_Send(team, to, 3, out, 1);
    gasnetx_Request_Wait(&receive, NULL);
    check(in[0] == 9, "the first message after the start is another one");
    end_check();
}

/* ---- large messages ---- */

/* Headers have limits, too. */
static void test_large_refused(void)
{
    static unsigned char out[LONG];
    gasnetx_Request_t sends[CREDITS / LARGE_ENVELOPE + 1];
    uint32_t sent = 0;
    int error = GASNET_OK;
    larges = 0;
    gasnetx_Msg_Mode(GASNETX_MSG_STOPPED);
    barrier();
    while (sent <= CREDITS / LARGE_ENVELOPE && error == GASNET_OK) {
        error =
            gasnetx_Large_SendNB(team, to, LARGE_ID + 1, out, 10, NULL, NULL, NULL, &sends[sent]);
        sent += error == GASNET_OK;
    }
    check(error == GASNET_ERR_RESOURCE, "the receiver has room for more headers than its limit");
    check(sent >= CREDITS / LARGE_ENVELOPE / 2, "there is less room than the limit");
    const uint32_t arrive = value_of_source(sent);
    kept_await(arrive);
    check(counts_now().most_memory <= CREDITS, "more was kept than the limit");
    barrier();
    gasnetx_Msg_Mode(0);
    gasnetx_Request_WaitAll(sends, sent, NULL);
    while (gasnetx_Large_SendNB(team, to, LARGE_ID + 1, out, 10, NULL, NULL, NULL, sends) ==
           GASNET_ERR_RESOURCE)
        gasnet_AMPoll();
    gasnetx_Request_Wait(sends, NULL);
    barrier();
    while (larges != arrive + 1)
        gasnet_AMPoll();
    end_check();
}

static void on_small(gasnetx_Large_t message, const gasnetx_large_info_t *info)
{
    (void)message;
    check(info->nbytes == 10, "a large message is another one");
    larges++;
}

int main(int argc, char **argv)
{
    const gasnetx_large_entry_t larges_table[] = {{LARGE_ID, on_large, NULL},
                                                  {LARGE_ID + 1, on_small, NULL}};
    gex_Client_t client;
    gex_EP_t ep;
    gex_Client_Init(&client, &ep, &team, "flow_work", &argc, &argv, 0);
    me = gex_TM_QueryRank(team);
    size = gex_TM_QuerySize(team);
    to = (me + 1) % size;
    from = (me + size - 1) % size;
    gex_System_SetVerboseErrors(0); /* what is refused is refused on purpose */
    check(gasnetx_Large_Register(larges_table, 2) == GASNET_OK, "no handlers");
    barrier();
    for (int i = 0; i < 3; i++) {
        test_refused();
        test_bytes_stay();
        test_blocking();
        test_persistent();
    }
    test_stop();
    test_drop();
    test_stop_drop();
    gasnetx_Msg_OnStop(NULL, NULL);
    test_large_refused();
    if (me == 0)
        printf("flow_work: all limits hold\n");
    gasnet_exit(0);
}
