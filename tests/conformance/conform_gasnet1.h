/* GASNet-1 in the suite: the start, and the rooms of its own. */
#ifndef CONFORM_GASNET1_H
#define CONFORM_GASNET1_H

#include "conform.h"

/* gasnet_init and gasnet_attach in place of the start of GASNet-EX; fills in job. */
void conform_gasnet1_start(int *argc, char ***argv);

/* Adds the handlers of the message tests to a table; returns their number. */
int conform_gasnet1_handlers(gasnet_handlerentry_t *table);
/* Keeps what gasnet_attach has chosen. */
void conform_gasnet1_chosen(const gasnet_handlerentry_t *table);

extern const conform_test_t conform_gasnet1_tests[], conform_gasnet1_rma_tests[],
    conform_gasnet1_am_tests[];

#endif
