// SPDX-License-Identifier: BSD-3-Clause
// Logs a fault and ends the job: the library's side of aq_fatal (modules have module_fatal.c).
// job_start.c sets the function that ends the other ranks.
#include "fatal.h"

#include <execinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../other/tools/debug_aids.h"

static void (*end_job)(int code);

void aq_fatal_end_job_with(void (*end)(int code))
{
    end_job = end;
}

void aq_fatal(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    aq_fatal_message(fmt, args);
}

void aq_fatal_message(const char *fmt, va_list args)
{
    char text[2048];
    vsnprintf(text, sizeof text, fmt, args);
    aq_log_error("fatal: %s", text);
    aq_debug_on_fault();
    fflush(NULL);
    if (end_job)
        end_job(1);
    _exit(1);
}
