/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of several modes: PROGRAM MODE ARGUMENT ... */
#ifndef CONFORM_MODES_H
#define CONFORM_MODES_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name;
    int arguments;
    int (*run)(char **arg); /* returns the exit code */
} conform_mode_t;

/* Runs the mode that argv names and returns its exit code. Prints a message and returns 64 if the
 * mode is unknown or the number of arguments is wrong. */
static inline int conform_run_mode(const conform_mode_t *modes, size_t count, int argc, char **argv)
{
    for (size_t i = 0; i < count && argc > 1; i++)
        if (strcmp(argv[1], modes[i].name) == 0 && argc - 2 == modes[i].arguments)
            return modes[i].run(argv + 2);
    fprintf(stderr,
            "%s: unknown mode or wrong number of arguments; the source file lists the modes\n",
            argv[0]);
    return 64;
}

#endif
