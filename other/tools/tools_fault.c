// Fatal errors of programs that use the tools, and the calls that end a process.
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug_aids.h"
#include "gasnet_tools.h"
#include "../base/log.h"

static void __attribute__((noreturn)) die(void)
{
    aq_debug_on_fault();
    fflush(NULL);
    signal(SIGABRT, SIG_DFL); // its handler would do the same once more
    abort();
}

enum { TEXT_BYTES = 8192 };

static void drop_last_newlines(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
}

// The log makes one line of a message. A text of the client keeps its lines: each is a message.
// where stands at the end of the first, which is the only one as a rule.
static void say_lines(char *text, const char *where)
{
    drop_last_newlines(text);
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
    say_lines(text, where);
    die();
}

void gasnett_fatalerror_nopos(const char *msg, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, msg);
    vsnprintf(text, sizeof text, msg, args);
    va_end(args);
    say_lines(text, "");
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
