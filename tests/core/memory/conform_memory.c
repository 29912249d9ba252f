/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conform_memory: puts and gets of two ranks, for the tests of the memory that a network keeps
 * registered.
 *   places N R  each rank puts a block from N places of its own memory to N places of the other
 *               rank's segment, R times each, and gets it back
 *   constant    rank 0 puts a constant
 *   fork N      each rank puts, gets and sends N times, and forks children, which write to
 *               their copy of all that memory and keep running
 * If data is wrong, the program prints a message and exits with 1.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnetex.h>

#include "../../conformance/conform_modes.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACE ((size_t)64 << 10)
#define BLOCK ((size_t)20000)
#define MEDIUM ((size_t)2000)

enum { HANDLER = GEX_AM_INDEX_BASE, EVERY = 8 };

static gex_TM_t team;
static gex_Rank_t me;
static char *there; /* the first place in the other rank's segment */
static char *here;  /* the first place in this rank's segment */
static unsigned long received;

static void wait_barrier(void)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static void exit_wrong(const char *what, size_t number)
{
    fprintf(stderr, "conform_memory: rank %u: %s %zu is wrong\n", (unsigned)me, what, number);
    gasnet_exit(1);
}

static char byte_of(gex_Rank_t rank, size_t number, size_t i)
{
    return (char)(rank * 97 + number * 31 + i * 7 + i / 251);
}

static void fill_bytes(char *at, size_t bytes, gex_Rank_t rank, size_t number)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = byte_of(rank, number, i);
}

static void check_bytes(const char *at, size_t bytes, gex_Rank_t rank, size_t number,
                        const char *what)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != byte_of(rank, number, i))
            exit_wrong(what, number);
}

static void on_medium(gex_Token_t token, void *bytes, size_t length, gex_AM_Arg_t number)
{
    (void)token;
    if (length != MEDIUM)
        exit_wrong("the length of message", (size_t)number);
    check_bytes(bytes, length, 1 - me, (size_t)number, "message");
    received++;
}

/* ---- places ---- */

static int do_places(char **arg)
{
    const size_t count = strtoul(arg[0], NULL, 10), rounds = strtoul(arg[1], NULL, 10);
    char *mine = aligned_alloc(PLACE, count * PLACE);

    for (size_t i = 0; i < count; i++) {
        char *at = mine + i * PLACE;

        fill_bytes(at, BLOCK, me, i);
        for (size_t round = 0; round < rounds; round++)
            gex_RMA_PutBlocking(team, 1 - me, there + i * PLACE, at, BLOCK, 0);
        memset(at, 0, BLOCK);
        gex_RMA_GetBlocking(team, at, 1 - me, there + i * PLACE, BLOCK, 0);
        check_bytes(at, BLOCK, me, i, "the block that came back from place");
    }
    wait_barrier();
    for (size_t i = 0; i < count; i++)
        check_bytes(here + i * PLACE, BLOCK, 1 - me, i, "place");
    free(mine);
    return 0;
}

/* ---- constant ---- */

static const char constant[PLACE] = {1, 2, 3, [BLOCK - 1] = 4};

static int do_constant(char **arg)
{
    (void)arg;
    if (me == 0)
        gex_RMA_PutBlocking(team, 1, there, constant, BLOCK, 0);
    wait_barrier();
    if (me == 1 && memcmp(here, constant, BLOCK) != 0)
        exit_wrong("constant", 0);
    return 0;
}

/* ---- fork ---- */

static char *source, *target;

typedef struct {
    pid_t pid;
    int end; /* of a pipe; closing it ends the child */
} child_t;

/* The child calls async-signal-safe functions only: the process has threads. */
static child_t start_child(void)
{
    int ends[2];
    char none;

    if (pipe(ends) != 0)
        exit_wrong("a pipe", 0);
    child_t child = {fork(), ends[1]};
    if (child.pid == 0) {
        close(ends[1]);
        memset(source, 0x55, PLACE);
        memset(target, 0x55, PLACE);
        while (read(ends[0], &none, 1) > 0)
            ;
        memset(source, 0x66, PLACE);
        _exit(0);
    }
    close(ends[0]);
    return child;
}

static void end_child(child_t *child)
{
    int status = -1;

    if (child->pid <= 0)
        return;
    close(child->end);
    if (waitpid(child->pid, &status, 0) != child->pid || status != 0)
        exit_wrong("the exit code of child", (size_t)child->pid);
    child->pid = 0;
}

static void exchange_round(size_t number, child_t *child)
{
    char message[MEDIUM];

    fill_bytes(source, BLOCK, me, number);
    fill_bytes(message, MEDIUM, me, number);
    gex_Event_t put = gex_RMA_PutNB(team, 1 - me, there, source, BLOCK, GEX_EVENT_DEFER, 0);
    gex_AM_RequestMedium1(team, 1 - me, HANDLER, message, MEDIUM, GEX_EVENT_NOW, 0,
                          (gex_AM_Arg_t)number);
    if (number % EVERY == 1) {
        end_child(child);
        *child = start_child();
    }
    gex_Event_Wait(put);
    memset(target, 0, BLOCK);
    gex_RMA_GetBlocking(team, target, 1 - me, there, BLOCK, 0);
    check_bytes(target, BLOCK, me, number, "the block that came back in round");
}

static int do_fork(char **arg)
{
    const size_t count = strtoul(arg[0], NULL, 10);
    child_t child = {0, 0};

    source = aligned_alloc(PLACE, PLACE);
    target = aligned_alloc(PLACE, PLACE);
    for (size_t number = 0; number < count; number++)
        exchange_round(number, &child);
    end_child(&child);
    GASNET_BLOCKUNTIL(received == count);
    wait_barrier();
    check_bytes(here, BLOCK, 1 - me, count - 1, "the segment after round");
    return 0;
}

/* ---- start ---- */

static const conform_mode_t modes[] = {
    {"places", 2, do_places}, {"constant", 0, do_constant}, {"fork", 1, do_fork}};

/* Places are aligned to their length, so that counts do not depend on addresses. */
static char *first_place(gex_Rank_t rank)
{
    void *owner = NULL;

    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, rank, &owner, NULL, NULL, 0));
    return (char *)(((uintptr_t)owner + PLACE - 1) & ~(uintptr_t)(PLACE - 1));
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    gex_AM_Entry_t table[] = {{HANDLER, (gex_AM_Fn_t)on_medium,
                               GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, NULL, "medium"}};

    if (gex_Client_Init(&client, &ep, &team, "CONFORM_MEMORY", &argc, &argv, 0) != GASNET_OK ||
        gex_EP_RegisterHandlers(ep, table, 1) != GASNET_OK ||
        gex_Segment_Attach(&segment, team, 64 * PLACE) != GASNET_OK)
        return 65;
    if (gex_TM_QuerySize(team) != 2)
        return 66;
    me = gex_TM_QueryRank(team);
    there = first_place(1 - me);
    here = first_place(me);
    wait_barrier();
    int code = conform_run_mode(modes, sizeof(modes) / sizeof(modes[0]), argc, argv);
    wait_barrier();
    gasnet_exit(code);
    return code;
}
