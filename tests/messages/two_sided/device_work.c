/* SPDX-License-Identifier: BSD-3-Clause */
/* Long messages with two sides that the network device reads from the memory of the sender: rank 0
 * sends to rank 1, which counts how the bytes came.
 *
 *     GASNET_MSG_DEVICE=1 device_work all     none in pieces
 *                         device_work some    some in pieces, since not all can be exposed
 *                         device_work none    all in pieces
 *                         device_work exact   as all, with the exposures of the fake conduit
 *
 * away: also memory that is unmapped at once. brief: few messages, for a network that loses many.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#endif
#include <gasnetex.h>

#include <aqueduct.h>
#include <aqueduct_msg.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    MANY = 40, /* messages at a time */
    FEW = 4,
    EAGER = 8192,
    BLOCK = 1 << 17, /* that the library asks for at once; see messages/two_sided/msg_device.c */
    EXPOSED = 70000, /* and that the fake conduit exposes at once */
};

static gex_TM_t team;
static gex_Rank_t me;
static const char *mode;
static uint32_t many = MANY;
static uint64_t bytes_wanted, reads_wanted;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "device_work: rank %u: %s\n", (unsigned)me, what);
    gasnet_exit(1);
}

static void barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

/* ---- messages ---- */

/* A message begins with its address at the sender. */
static unsigned char byte_at(uint32_t number, size_t i)
{
    return (unsigned char)(number * 7 + i * 13 + (i >> 8) + (i >> 16) * 5);
}

static void message_fill(unsigned char *to, uint32_t number, size_t bytes)
{
    const uint64_t address = (uintptr_t)to;
    memcpy(to, &address, sizeof address);
    for (size_t i = sizeof address; i < bytes; i++)
        to[i] = byte_at(number, i);
}

static void reads_expect(uint64_t address, size_t bytes)
{
    bytes_wanted += bytes;
    while (bytes) {
        const size_t left = BLOCK - address % BLOCK, block = bytes < left ? bytes : left;
        reads_wanted += (block + EXPOSED - 1) / EXPOSED;
        address += block;
        bytes -= block;
    }
}

static void message_check(const unsigned char *from, uint32_t number, size_t bytes)
{
    uint64_t address;
    if (!bytes)
        return;
    memcpy(&address, from, sizeof address);
    reads_expect(address, bytes);
    for (size_t i = sizeof address; i < bytes; i++)
        check(from[i] == byte_at(number, i), "a byte of a message is wrong");
}

static size_t size_of(uint32_t number)
{
    static const size_t sizes[] = {EAGER + 1, 65536, BLOCK, BLOCK + 1, 262145, 1048579, 2000001};
    return sizes[number % (sizeof sizes / sizeof *sizes)];
}

/* Some receives have less memory than their messages have bytes, or none. */
static size_t received_of(uint32_t number)
{
    if (number % 5 == 3)
        return size_of(number) - number * 37;
    return number % 11 == 10 ? 0 : size_of(number);
}

/* ---- many at a time, at any address ---- */

static void many_send(void)
{
    gasnetx_Request_t sends[MANY];
    unsigned char *out[MANY];
    for (uint32_t i = 0; i < many; i++) {
        out[i] = malloc(size_of(i) + i);
        message_fill(out[i] + i, i, size_of(i));
        check(gasnetx_Msg_SendNB(team, 1, i, out[i] + i, size_of(i), &sends[i]) == GASNET_OK,
              "a send is refused");
    }
    gasnetx_Request_WaitAll(sends, many, NULL);
    for (uint32_t i = 0; i < many; i++)
        free(out[i]);
}

static void many_receive(void)
{
    gasnetx_Request_t receives[MANY];
    gasnetx_msg_status_t status[MANY];
    unsigned char *in[MANY];
    for (uint32_t i = 0; i < many; i++) {
        in[i] = malloc(received_of(i) + 8);
        memset(in[i] + received_of(i), 0x5a, 8);
        gasnetx_Msg_RecvNB(team, 0, i, in[i], received_of(i), &receives[i]);
    }
    gasnetx_Request_WaitAll(receives, many, status);
    for (uint32_t i = 0; i < many; i++) {
        check(status[i].received == received_of(i), "a message has another length");
        message_check(in[i], i, received_of(i));
        for (unsigned k = 0; k < 8; k++)
            check(in[i][received_of(i) + k] == 0x5a, "a byte behind a message was written");
        free(in[i]);
    }
}

/* ---- memory that goes away, and comes again at the same place with other bytes ---- */

static void away_send(uint32_t number)
{
    const size_t bytes = size_of(number);
    unsigned char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "no memory");
    message_fill(memory, number, bytes);
    gasnetx_Msg_Send(team, 1, 0, memory, bytes);
    munmap(memory, bytes);
}

static void away_receive(uint32_t number)
{
    unsigned char *memory = malloc(size_of(number));
    gasnetx_Msg_Recv(team, 0, 0, memory, size_of(number), NULL);
    message_check(memory, number, size_of(number));
    free(memory);
}

/* ---- the same memory, again and again, with a persistent request ---- */

static void again_send(unsigned char *memory, size_t bytes)
{
    gasnetx_Request_t request;
    gasnetx_Msg_SendInit(team, 1, 0, memory, bytes, &request);
    for (uint32_t i = 0; i < many; i++) {
        message_fill(memory, i, bytes);
        gasnetx_Request_Start(request);
        gasnetx_Request_Wait(&request, NULL);
    }
    gasnetx_Request_Free(&request);
}

static void again_receive(unsigned char *memory, size_t bytes)
{
    for (uint32_t i = 0; i < many; i++) {
        gasnetx_Msg_Recv(team, 0, 0, memory, bytes, NULL);
        message_check(memory, i, bytes);
    }
}

/* ---- how the bytes came ---- */

static void counts_check(const gasnetx_msg_counts_t *before)
{
    gasnetx_msg_counts_t now;
    gasnetx_Msg_Counts(&now);
    const uint64_t pieces = now.pieces - before->pieces, reads = now.device_reads,
                   bytes = now.device_bytes - before->device_bytes;
    if (!strcmp(mode, "none")) {
        check(!reads && pieces, "a device has read a message");
        return;
    }
    check(reads > before->device_reads, "no device has read a message");
    check(!strcmp(mode, "some") == (pieces > 0), "the number of pieces is wrong");
    check(!strcmp(mode, "some") || bytes == bytes_wanted, "the device has read other bytes");
    check(strcmp(mode, "exact") || reads - before->device_reads == reads_wanted,
          "the device has read in another number of parts");
}

static void round_run(unsigned char *segment)
{
    static const size_t again[] = {EAGER + 1, 60000};
    gasnetx_msg_counts_t before;
    gasnetx_Msg_Counts(&before);
    bytes_wanted = reads_wanted = 0;
    barrier();
    if (me == 0)
        many_send();
    else
        many_receive();
    for (unsigned i = 0; i < 2; i++)
        if (me == 0)
            again_send(segment + 1, again[i]);
        else
            again_receive(segment + 2, again[i]);
    if (me == 1)
        counts_check(&before);
    barrier();
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    gex_Client_Init(&client, &ep, &team, "device_work", &argc, &argv, 0);
    gex_Segment_Attach(&segment, team, 65536);
    me = gex_TM_QueryRank(team);
    mode = argc > 1 ? argv[1] : "all";
    check(gex_TM_QuerySize(team) == 2, "this test needs two ranks");
    if (argc > 2 && !strcmp(argv[2], "brief"))
        many = FEW;
    for (int i = 0; i < 2; i++)
        round_run(gex_Segment_QueryAddr(segment));
    /* Memory that is unmapped must not stay pinned: see GASNET_DISABLE_MUNMAP. */
    for (uint32_t i = 0; argc > 2 && !strcmp(argv[2], "away") && i < many; i++)
        if (me == 0)
            away_send(i);
        else
            away_receive(i);
    barrier();
    if (me == 0)
        printf("device_work: all messages are right\n");
    gasnet_exit(0);
}
