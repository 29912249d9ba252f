// SPDX-License-Identifier: BSD-3-Clause
#include "fake_provider_die.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void fake_die(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "fake provider: %s\n", text);
    fflush(stderr);
    signal(SIGABRT, SIG_DFL); // a library that libfabric loads may have a handler that exits
    abort();
}

void *fake_alloc(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory)
        fake_die("no memory for %zu bytes", bytes);
    return memory;
}
