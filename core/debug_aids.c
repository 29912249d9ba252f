#include "debug_aids.h"

#include <ctype.h>
#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../other/clock.h"
#include "../other/log.h"
#include "../other/settings.h"
#include "job.h"

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof fatal_signals[0], FRAMES = 64 };

static bool backtrace_here;

// A debugger sets this to 0 to let the process go on.
volatile int aq_debug_frozen;

static void freeze(const char *why)
{
    aq_debug_frozen = 1;
    aq_log_error(
        "%s: process %d waits; to look at it: gdb -p %d, to let it go on: set aq_debug_frozen=0",
        why, (int)getpid(), (int)getpid());
    while (aq_debug_frozen)
        aq_clock_sleep_ns(100000000);
}

static void print_backtrace(void)
{
    void *frames[FRAMES];
    aq_log_error("backtrace of process %d:", (int)getpid());
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDERR_FILENO);
}

void aq_debug_on_fault(void)
{
    if (backtrace_here)
        print_backtrace();
    if (aq_settings_bool(AQ_SET_FREEZE_ON_ERROR))
        freeze("GASNET_FREEZE_ON_ERROR");
}

// The default action follows, so that whoever watches us sees the true cause of death.
static void on_fatal_signal(int number)
{
    signal(number, SIG_DFL);
    aq_debug_on_fault();
    raise(number);
}

static void on_backtrace_signal(int number)
{
    (void)number;
    print_backtrace();
}

// Number of a signal as users write it: SIGSEGV, segv or 11; -1 when there is none.
static int signal_number(const char *text, size_t length)
{
    if (length > 3 && strncasecmp(text, "SIG", 3) == 0) {
        text += 3;
        length -= 3;
    }
    for (int number = 1; number < NSIG; number++) {
        const char *name = sigabbrev_np(number);
        char digits[12];
        snprintf(digits, sizeof digits, "%d", number);
        if ((name && strlen(name) == length && strncasecmp(name, text, length) == 0) ||
            (strlen(digits) == length && strncmp(digits, text, length) == 0))
            return number;
    }
    return -1;
}

// Does a list such as "0,2-4" hold this rank? -1 when it does not parse.
static int list_has_rank(const char *list, uint32_t rank)
{
    int found = 0;
    if (!*list || strcmp(list, "*") == 0)
        return 1;
    for (const char *p = list;;) {
        char *end;
        if (!isdigit((unsigned char)*p))
            return -1;
        unsigned long low = strtoul(p, &end, 10), high = low;
        if (*end == '-') {
            if (!isdigit((unsigned char)end[1]))
                return -1;
            high = strtoul(end + 1, &end, 10);
        }
        found |= rank >= low && rank <= high;
        if (*end == '\0')
            return found;
        if (*end != ',')
            return -1;
        p = end + 1;
    }
}

// Calls visit for each signal of a comma-separated list; AQ_ERR_CONFIG with a message at one that
// is none.
static aq_status_t each_signal(const char *variable, const char *list, void (*visit)(int number))
{
    for (const char *p = list; *p;) {
        size_t length = strcspn(p, ",");
        int number = signal_number(p, length);
        if (number < 0) {
            aq_log_error(
                "%s: '%.*s' is no signal; write names such as SIGSEGV or numbers, commas between",
                variable, (int)length, p);
            return AQ_ERR_CONFIG;
        }
        visit(number);
        p += length + (p[length] == ',');
    }
    return AQ_OK;
}

static void catch_for_backtrace(int number)
{
    signal(number, on_backtrace_signal);
}

static void catch_fatal(int number)
{
    signal(number, on_fatal_signal);
}

static void leave_alone(int number)
{
    signal(number, SIG_DFL);
}

static aq_status_t catch_signals(void)
{
    const char *except = aq_settings_text(AQ_SET_NO_CATCH_SIGNAL);
    bool want = backtrace_here || aq_settings_bool(AQ_SET_FREEZE_ON_ERROR);
    for (unsigned i = 0; want && strcmp(except, "*") != 0 && i < FATAL_SIGNALS; i++)
        catch_fatal(fatal_signals[i]);
    if (strcmp(except, "*") != 0 &&
        each_signal("GASNET_NO_CATCH_SIGNAL", except, leave_alone) != AQ_OK)
        return AQ_ERR_CONFIG;
    return each_signal("GASNET_BACKTRACE_SIGNAL", aq_settings_text(AQ_SET_BACKTRACE_SIGNAL),
                       catch_for_backtrace);
}

aq_status_t aq_debug_start(void)
{
    int listed = list_has_rank(aq_settings_text(AQ_SET_BACKTRACE_NODES), aq_job.rank);
    if (listed < 0) {
        aq_log_error("GASNET_BACKTRACE_NODES: '%s' is no list of ranks; write one such as 0,2-4",
                     aq_settings_text(AQ_SET_BACKTRACE_NODES));
        return AQ_ERR_CONFIG;
    }
    backtrace_here = listed && aq_settings_bool(AQ_SET_BACKTRACE);
    aq_status_t status = catch_signals();
    if (status == AQ_OK && aq_settings_bool(AQ_SET_FREEZE))
        freeze("GASNET_FREEZE");
    return status;
}
