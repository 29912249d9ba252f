/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of streams_work share. */
#ifndef STREAMS_WORK_H
#define STREAMS_WORK_H

#include <gasnetex.h>

#include <aqueduct_stream.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 1, REPLY, SUM, FILTERED, WORDS, LATE, FLOOD, SELF_SUM }; /* ids */

enum {
    EACH = 300, /* messages of each rank */
    ROUNDS = 50,
    TURNS = 200, /* of a ball between a rank and its parent */
    KEEP = 5,    /* messages, in tests of limits */
    THREADS = 3,
};

extern gex_TM_t team;
extern gex_Rank_t me, size;

/* Ends the job unless `holds`. */
void check(int holds, const char *what);
uint32_t random_below(uint32_t limit);
void barrier(void);
uint64_t sum_of_all(uint64_t value);

typedef struct tree {
    const char *name;
    gex_Rank_t arity; /* 0: a star */
    int root_is_last;
} tree_t;

enum { TREES = 4 };
extern const tree_t trees[TREES];

/* keep: messages of each neighbour; 0: the library's default. */
gasnetx_Stream_t stream_make(const tree_t *tree, unsigned flags,
                             const gasnetx_stream_entry_t *entries, size_t count, uint32_t keep);
gasnetx_stream_info_t info_of(gasnetx_Stream_t stream);
int is_root(gasnetx_Stream_t stream);
gasnetx_stream_counts_t counts_of(gasnetx_Stream_t stream);

/* All that was sent was received or dropped. Collective, when nothing is under way. */
void counts_check(gasnetx_Stream_t stream);

/* The subtests of the other files. */
void test_rounds(void);
void test_limits(void);
void test_abandon(void);
void test_filters(void);
void test_groups(void);
void test_absent(void);
void test_refusals(void);

#endif
