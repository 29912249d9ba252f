#include "exit.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../other/clock.h"
#include "../other/settings.h"
#include "job.h"

// A client that ends collectively may still have output to write when the first rank's news arrive.
enum { GRACE_NS = 100000000 };

// Head: the first caller goes on, with the code of the job; others of this process wait for
// its end.
static int exit_head(int code)
{
    static atomic_flag entered = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set(&entered))
        for (;;)
            pause();
    return aq_job.boot->ops->announce_exit(aq_job.boot, code);
}

// Body: output, then the network, then the bootstrap.
static void exit_body(void)
{
    signal(SIGQUIT, SIG_IGN); // no second round
    fflush(NULL);
    for (unsigned i = 0; i < aq_job.conduit_count; i++)
        aq_job.conduits[i]->ops->close(aq_job.conduits[i]);
    aq_job.boot->ops->finalize(aq_job.boot);
}

void gasnet_exit(int code)
{
    if (!aq_job_running()) {
        fflush(NULL);
        _exit(code);
    }
    code = exit_head(code);
    exit_body();
    _exit(code);
}

// The specification lets a client that catches SIGQUIT clean up before a remote exit ends it.
static void let_client_clean_up(void)
{
    struct sigaction action;
    if (sigaction(SIGQUIT, NULL, &action) == 0 && action.sa_handler != SIG_DFL &&
        action.sa_handler != SIG_IGN)
        raise(SIGQUIT);
}

// The client hears of a signal that ends it as SIGQUIT. Unless it exits then, the signal does what
// it would have done.
static void on_terminating(int number)
{
    let_client_clean_up();
    signal(number, SIG_DFL);
    raise(number);
}

void aq_exit_catch_signals(void)
{
    static const int terminating[] = {SIGINT, SIGTERM};
    if (strcmp(aq_settings_text(AQ_SET_NO_CATCH_SIGNAL), "*") == 0)
        return;
    struct sigaction old, action = {.sa_handler = on_terminating};
    for (unsigned i = 0; i < sizeof terminating / sizeof terminating[0]; i++)
        if (sigaction(terminating[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(terminating[i], &action, NULL);
}

void aq_exit_requested(void)
{
    static _Atomic uint64_t deadline;
    uint64_t now = aq_clock_ns();
    uint64_t expected = 0;
    atomic_compare_exchange_strong(&deadline, &expected, now + GRACE_NS);
    if (now < atomic_load(&deadline))
        return;
    let_client_clean_up();
    gasnet_exit((*aq_job.boot->exit_word - 1) & 0xff);
}

void aq_exit_if_ended(void)
{
    if (aq_job_running() && *aq_job.boot->exit_word != AQ_BOOT_RUNNING)
        gasnet_exit((*aq_job.boot->exit_word - 1) & 0xff);
}
