/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of the programs that run alone, without the table of conformance tests.
 */
#ifndef CONFORM_STANDALONE_H
#define CONFORM_STANDALONE_H

#include <gasnet_coll.h>
#include <gasnetex.h>

#include <stdio.h>

/* Ends the job unless the condition holds; prints what differs and a number. */
#define CHECK(condition, what, number)                                                             \
    do {                                                                                           \
        if (!(condition))                                                                          \
            end_wrong(__FILE__, __LINE__, #condition, what, (unsigned long)(number));              \
    } while (0)

static inline void end_wrong(const char *file, int line, const char *condition, const char *what,
                             unsigned long number)
{
    fprintf(stderr, "%s:%d: rank %u: %s is false: %s %lu\n", file, line,
            (unsigned)gex_System_QueryJobRank(), condition, what, number);
    gasnet_exit(1);
}

static inline void wait_barrier(gex_TM_t team)
{
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

#endif
