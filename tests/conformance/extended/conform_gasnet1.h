/* SPDX-License-Identifier: BSD-3-Clause */
/* GASNet-1 in the suite: how a job starts, and the subtests of GASNet-1. */
#ifndef CONFORM_GASNET1_H
#define CONFORM_GASNET1_H

#include "../conform.h"

/* Starts by gasnet_init and gasnet_attach instead of the calls of GASNet-EX; fills in `job`. */
void conform_gasnet1_start(int *argc, char ***argv);

/* Adds the handlers of the message tests to a table; returns their number. */
int conform_gasnet1_handlers(gasnet_handlerentry_t *table);
/* Stores the indices that gasnet_attach has chosen for those handlers. */
void conform_gasnet1_chosen(const gasnet_handlerentry_t *table);

extern const conform_test_t conform_gasnet1_tests[], conform_gasnet1_rma_tests[],
    conform_gasnet1_am_tests[];

#endif
