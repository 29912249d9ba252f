#include "debug_aids.h"

#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../other/clock.h"
#include "../other/log.h"
#include "../other/settings.h"
#include "../other/settings_lists.h"
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

// Calls visit for each signal of a list that was checked when the settings were loaded.
static void each_signal(const char *list, void (*visit)(int number))
{
    for (int number; (number = aq_settings_next_signal(&list)) > 0;)
        visit(number);
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

static void catch_signals(void)
{
    const char *except = aq_settings_text(AQ_SET_NO_CATCH_SIGNAL);
    bool want = backtrace_here || aq_settings_bool(AQ_SET_FREEZE_ON_ERROR);
    for (unsigned i = 0; want && strcmp(except, "*") != 0 && i < FATAL_SIGNALS; i++)
        catch_fatal(fatal_signals[i]);
    each_signal(except, leave_alone); // none when it is *
    each_signal(aq_settings_text(AQ_SET_BACKTRACE_SIGNAL), catch_for_backtrace);
}

void aq_debug_start(void)
{
    backtrace_here =
        aq_settings_bool(AQ_SET_BACKTRACE) &&
        aq_settings_has_rank(aq_settings_text(AQ_SET_BACKTRACE_NODES), aq_job.rank) == 1;
    catch_signals();
    if (aq_settings_bool(AQ_SET_FREEZE))
        freeze("GASNET_FREEZE");
}
