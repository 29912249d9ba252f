/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ring.c - a message travels round a ring of nodes, written against GASNet-1 (<gasnet.h>).
 *
 * Each node that the message passes adds its number to the sum in it and writes a line into its own
 * segment: when the message came by, and with what sum. At the end node 0 reads the segments of all
 * nodes and checks every line.
 */
#include <gasnet.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    uint32_t hop; /* nodes that the message had passed, this one included */
    uint32_t sum; /* of their numbers */
} line_t;

static gasnet_handlerentry_t handlers[1]; /* index 0: chosen by gasnet_attach */
static gasnet_seginfo_t *segments;
static uint32_t rounds = 100, passed; /* times round; times that the message came by here */
static volatile int waiting;          /* the message is here */
static uint32_t hop, sum;

/* Handlers may not send requests: the main program sends the message on. */
static void on_message(gasnet_token_t token, gasnet_handlerarg_t from_hop,
                       gasnet_handlerarg_t from_sum)
{
    (void)token;
    hop = (uint32_t)from_hop;
    sum = (uint32_t)from_sum;
    waiting = 1;
}

static void send_on(void)
{
    gasnet_node_t next = (gasnet_mynode() + 1) % gasnet_nodes();
    line_t *lines = segments[gasnet_mynode()].addr;

    sum += gasnet_mynode();
    lines[passed++] = (line_t){++hop, sum};
    if (hop < rounds * gasnet_nodes())
        gasnet_AMRequestShort2(next, handlers[0].index, (gasnet_handlerarg_t)hop,
                               (gasnet_handlerarg_t)sum);
}

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

/* What the lines of a node must say follows from its number. Returns how many are wrong. */
static uint32_t check(gasnet_node_t node)
{
    const uint32_t nodes = gasnet_nodes(), turn = nodes * (nodes - 1) / 2;
    line_t *lines = malloc(rounds * sizeof(*lines));
    uint32_t wrong = 0;

    gasnet_get_bulk(lines, node, segments[node].addr, rounds * sizeof(*lines));
    for (uint32_t i = 0; i < rounds; i++)
        wrong += lines[i].hop != i * nodes + node + 1 ||
                 lines[i].sum != i * turn + node * (node + 1) / 2;
    free(lines);
    return wrong;
}

int main(int argc, char **argv)
{
    uint32_t wrong = 0;

    handlers[0].fnptr = (void (*)())on_message;
    if (gasnet_init(&argc, &argv) != GASNET_OK)
        return 1;
    if (argc > 1)
        rounds = (uint32_t)strtoul(argv[1], NULL, 10);
    if (argc > 2 || rounds < 1 || rounds > 10000) {
        if (gasnet_mynode() == 0)
            fprintf(stderr, "usage: ring [ROUNDS]   (1 to 10000; default 100)\n");
        gasnet_exit(2);
    }
    const uintptr_t bytes = rounds * sizeof(line_t);
    if (gasnet_attach(handlers, 1, (bytes / GASNET_PAGESIZE + 1) * GASNET_PAGESIZE, 0) != GASNET_OK)
        gasnet_exit(1);
    segments = malloc(gasnet_nodes() * sizeof(*segments));
    gasnet_getSegmentInfo(segments, (int)gasnet_nodes());

    waiting = gasnet_mynode() == 0; /* where it begins */
    while (passed < rounds) {
        GASNET_BLOCKUNTIL(waiting);
        waiting = 0;
        send_on();
    }
    barrier();
    for (gasnet_node_t n = 0; gasnet_mynode() == 0 && n < gasnet_nodes(); n++)
        wrong += check(n);
    if (gasnet_mynode() == 0)
        printf("%u nodes, %u times round: %s\n", (unsigned)gasnet_nodes(), (unsigned)rounds,
               wrong ? "wrong" : "all sums are right");
    fflush(stdout);
    free(segments);
    barrier();
    gasnet_exit(wrong != 0);
}
