/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which threads access which cache lines. The library is compiled with -fsanitize=thread, which
 * calls a function before each access to memory that other threads may see. line_recorder.c has
 * these functions in place of the sanitizer's own.
 */
#ifndef LINE_RECORDER_H
#define LINE_RECORDER_H

#include <stdbool.h>

/* Starts or stops recording, in all threads. */
void lines_record(bool on);

/*
 * Prints the cache lines that were written at least limit / 16 times, and that threads other than
 * the one with the most accesses have accessed at least `limit` times, with the address of code
 * that accessed them. Leaves out the line of the variable `known`. Returns their number.
 */
unsigned lines_report(unsigned long limit, const void *known);

/* Whether lines_report would count the line of a variable. */
bool lines_shared(unsigned long limit, const void *variable);

#endif
