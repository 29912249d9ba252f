// SPDX-License-Identifier: BSD-3-Clause
// The settings as actions: handlers for the signals they name, backtraces by glibc, gdb or the
// client, and the freeze. core/job/client.c starts them; core/ground/fatal.c calls them at a fault.
#include "debug_aids.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/clock.h"
#include "gasnet_tools.h"
#include "../base/log/log.h"
#include "../base/settings/settings.h"
#include "../base/settings/settings_lists.h"

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof fatal_signals[0], FRAMES = 64 };

static bool started;                  // a job runs, or has run
static bool backtrace_of_rank = true; // GASNET_BACKTRACE_NODES includes this rank

// The client may define it; otherwise its address is NULL.
extern gasnett_backtrace_type_t gasnett_backtrace_user __attribute__((weak));

// ---- waiting for a debugger ----

// A debugger sets this to 0 to continue the process.
volatile int aq_debug_frozen;

static volatile sig_atomic_t continued; // SIGCONT was received

static void on_continue(int number)
{
    (void)number;
    continued = 1;
}

// Catches SIGCONT, which may be blocked. Saves the previous state in *action and *mask.
static void catch_continue(struct sigaction *action, sigset_t *mask)
{
    const struct sigaction mine = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCONT);
    continued = 0;
    sigaction(SIGCONT, &mine, action);
    pthread_sigmask(SIG_UNBLOCK, &set, mask);
}

// Waits until *flag changes or SIGCONT arrives; how: what to type in the debugger.
static void process_freeze(const char *why, volatile int *flag, const char *how)
{
    const int before = *flag, pid = (int)getpid();
    struct sigaction action;
    sigset_t mask;
    catch_continue(&action, &mask);
    aq_log_notice("%s: process %d waits for a debugger: attach with gdb -p %d; to continue, set %s "
                  "there, or kill -CONT %d",
                  why, pid, pid, how, pid);
    while (*flag == before && !continued)
        aq_clock_sleep_ns(100000000);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGCONT, &action, NULL);
}

static void freeze_here(const char *why)
{
    aq_debug_frozen = 1;
    process_freeze(why, &aq_debug_frozen, "aq_debug_frozen=0");
}

void gasnett_freezeForDebuggerNow(volatile int *flag, const char *flagsymname)
{
    char how[256];
    snprintf(how, sizeof how, "%s=%d", flagsymname, !*flag);
    process_freeze("gasnett_freezeForDebuggerNow", flag, how);
}

void gasnett_freezeForDebuggerErr(void)
{
    if (aq_settings_bool_now(AQ_SET_FREEZE_ON_ERROR))
        freeze_here("GASNET_FREEZE_ON_ERROR");
}

static void on_freeze_signal(int number)
{
    const int saved = errno;
    (void)number;
    freeze_here("GASNET_FREEZE_SIGNAL");
    errno = saved;
}

// ---- stacks ----

static int print_by_library(int fd)
{
    void *frames[FRAMES];
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), fd);
    return 0;
}

// Called in the child: executes the debugger, without its error messages.
static void become_gdb(int fd)
{
    char pid[16];
    const bool all = aq_settings_bool_now(AQ_SET_BACKTRACE_MT);
    const int nothing = open("/dev/null", O_RDWR);
    snprintf(pid, sizeof pid, "%d", (int)getppid());
    // The exit code is that of the last command, which fails if gdb could not attach.
    if (dup2(nothing, STDIN_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0 &&
        dup2(nothing, STDERR_FILENO) >= 0)
        execlp("gdb", "gdb", "-nx", "-batch", "-p", pid, "-ex",
               all ? "thread apply all backtrace" : "backtrace", "-ex", "detach", (char *)NULL);
    _exit(127);
}

static int print_by_gdb(int fd)
{
    int status;
    pid_t ended;
    // Some systems allow only parents to attach to a process.
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    const pid_t child = fork();
    if (child == 0)
        become_gdb(fd);
    do
        ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    return child < 0 || ended != child || status != 0;
}

// Tries the way with this name; non-zero if there is none, or if it failed.
static int print_by_name(const char *name, size_t length, int fd)
{
    if (&gasnett_backtrace_user && gasnett_backtrace_user.name &&
        strlen(gasnett_backtrace_user.name) == length &&
        strncmp(gasnett_backtrace_user.name, name, length) == 0)
        return gasnett_backtrace_user.fnp(fd);
    if (length == strlen("EXECINFO") && strncmp("EXECINFO", name, length) == 0)
        return print_by_library(fd);
    if (length == strlen("GDB") && strncmp("GDB", name, length) == 0)
        return print_by_gdb(fd);
    return 1;
}

int gasnett_print_backtrace(int fd)
{
    const char *types = getenv(aq_settings[AQ_SET_BACKTRACE_TYPE].name);
    if (!types || !*types) {
        bool user = &gasnett_backtrace_user && gasnett_backtrace_user.fnp;
        return user && gasnett_backtrace_user.fnp(fd) == 0 ? 0 : print_by_library(fd);
    }
    while (*types) {
        types += strspn(types, ", ");
        size_t length = strcspn(types, ", ");
        if (length && print_by_name(types, length, fd) == 0)
            return 0;
        types += length;
    }
    return 1;
}

static int print_announced(int fd)
{
    aq_log_notice("backtrace of process %d:", (int)getpid());
    return gasnett_print_backtrace(fd);
}

static int print_if_enabled(int fd)
{
    bool wanted = backtrace_of_rank && aq_settings_bool_now(AQ_SET_BACKTRACE);
    return wanted ? print_announced(fd) : 1;
}

int (*gasnett_print_backtrace_ifenabled)(int fd) = print_if_enabled;

void aq_debug_on_fault(void)
{
    gasnett_print_backtrace_ifenabled(STDERR_FILENO);
    gasnett_freezeForDebuggerErr();
}

// Re-raises the signal with its default action, so that observers see the true cause of death.
static void on_fatal_signal(int number)
{
    signal(number, SIG_DFL);
    aq_debug_on_fault();
    raise(number);
}

static void on_backtrace_signal(int number)
{
    const int saved = errno;
    (void)number;
    print_announced(STDERR_FILENO);
    errno = saved;
}

// ---- which signals ----

// Calls visit for each signal of a list, which was validated when the settings were loaded.
static void each_signal(const char *list, void (*visit)(int number))
{
    for (int number; (number = aq_settings_next_signal(&list)) > 0;)
        visit(number);
}

static void catch_for_backtrace(int number)
{
    signal(number, on_backtrace_signal);
}

static void catch_for_freeze(int number)
{
    signal(number, on_freeze_signal);
}

static void catch_fatal(int number)
{
    signal(number, on_fatal_signal);
}

static void set_default(int number)
{
    signal(number, SIG_DFL);
}

static void catch_signals(void)
{
    const char *except = aq_settings_text(AQ_SET_NO_CATCH_SIGNAL);
    bool backtrace = backtrace_of_rank && aq_settings_bool(AQ_SET_BACKTRACE);
    bool want = backtrace || aq_settings_bool(AQ_SET_FREEZE_ON_ERROR);
    for (unsigned i = 0; want && strcmp(except, "*") != 0 && i < FATAL_SIGNALS; i++)
        catch_fatal(fatal_signals[i]);
    each_signal(except, set_default); // no signal if it is *
    each_signal(aq_settings_text(AQ_SET_BACKTRACE_SIGNAL), catch_for_backtrace);
    each_signal(aq_settings_text(AQ_SET_FREEZE_SIGNAL), catch_for_freeze);
}

void aq_debug_start(uint32_t rank)
{
    started = true;
    backtrace_of_rank = aq_settings_has_rank(aq_settings_text(AQ_SET_BACKTRACE_NODES), rank) == 1;
    catch_signals();
    if (aq_settings_bool(AQ_SET_FREEZE))
        freeze_here("GASNET_FREEZE");
}

void gasnett_backtrace_init(const char *exename)
{
    (void)exename;
    char err[512];
    if (started)
        return;
    if (aq_settings_load(err, sizeof err) == AQ_OK)
        catch_signals();
    else
        aq_log_error("gasnett_backtrace_init: %s", err);
}
