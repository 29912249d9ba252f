// SPDX-License-Identifier: BSD-3-Clause
// Fatal errors of programs that use the tools, and the functions that end a process.
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug_aids.h"
#include "gasnet_tools.h"
#include "../base/log/log.h"

static void __attribute__((noreturn)) program_abort(void)
{
    aq_debug_on_fault();
    fflush(NULL);
    signal(SIGABRT, SIG_DFL); // its handler would do the same again
    abort();
}

enum { TEXT_BYTES = 8192 };

static void strip_newlines(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
}

// The log prints one line for each message, so each line of a client's text becomes a message.
// `where` is appended to the first line, usually the only one.
static void log_lines(char *text, const char *where)
{
    strip_newlines(text);
    const char *line = strsep(&text, "\n");
    aq_log_error("fatal: %s%s", line, where);
    while ((line = strsep(&text, "\n")) != NULL)
        aq_log_error("%s", line);
}

void aq_api_fatalerror(const char *function, const char *file, int line, const char *msg, ...)
{
    char text[TEXT_BYTES], where[1024];
    va_list args;
    va_start(args, msg);
    vsnprintf(text, sizeof text, msg, args);
    va_end(args);
    snprintf(where, sizeof where, " (in %s at %s:%d)", function, file, line);
    log_lines(text, where);
    program_abort();
}

void gasnett_fatalerror_nopos(const char *msg, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, msg);
    vsnprintf(text, sizeof text, msg, args);
    va_end(args);
    log_lines(text, "");
    program_abort();
}

char *aq_api_current_loc(const char *function, const char *file, int line)
{
    char *text;
    if (asprintf(&text, "%s at %s:%d", function, file, line) < 0)
        gasnett_fatalerror("out of memory for a few words");
    return text;
}

gasnett_sighandlerfn_t gasnett_reghandler(int sigtocatch, gasnett_sighandlerfn_t fp)
{
    return signal(sigtocatch, fp);
}

void gasnett_killmyprocess(int exitcode)
{
    _exit(exitcode);
}
