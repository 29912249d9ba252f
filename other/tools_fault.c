// Fatal errors of programs that use the tools, and the calls that end a process.
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "debug_aids.h"
#include "gasnet_tools.h"
#include "log.h"

static void __attribute__((noreturn)) die(void)
{
    aq_debug_on_fault();
    fflush(NULL);
    signal(SIGABRT, SIG_DFL); // its handler would do the same once more
    abort();
}

void aq_api_fatalerror(const char *function, const char *file, int line, const char *msg, ...)
{
    char text[2048];
    va_list args;
    va_start(args, msg);
    vsnprintf(text, sizeof text, msg, args);
    va_end(args);
    aq_log_error("fatal: %s (in %s at %s:%d)", text, function, file, line);
    die();
}

void gasnett_fatalerror_nopos(const char *msg, ...)
{
    char text[2048];
    va_list args;
    va_start(args, msg);
    vsnprintf(text, sizeof text, msg, args);
    va_end(args);
    aq_log_error("fatal: %s", text);
    die();
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
