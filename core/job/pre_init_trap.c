// SPDX-License-Identifier: BSD-3-Clause
// The handler of SIGSEGV while there is no job. A constructor installs it, and client.c again after
// a failed init; client.c removes it when init begins.
#include "pre_init_trap.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "../../other/base/log/log.h"
#include "../state/job.h"

#define NULL_BYTES 4096 // reads through a null handle are in the first page

static void report_pre_init_trap(void)
{
    if (aq_job.failed) {
        aq_job_let_first_speak();
        aq_log_error("fatal: a null handle was used after gex_Client_Init or gasnet_init had "
                     "failed; end the program where they do not return GASNET_OK");
        return;
    }
    aq_boot_begin_start(); // a launcher reports the first such fault
    aq_log_error("fatal: a null handle was used before gex_Client_Init or gasnet_init; call one of "
                 "these first, unless it is another null pointer of the program");
}

// Ends the process as if there were no handler: with a core file and the exit code of the signal.
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    if ((uintptr_t)info->si_addr < NULL_BYTES && info->si_code > 0)
        report_pre_init_trap();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

// Whether SIGSEGV has this handler; NULL: whether it has none.
static bool is_handled_by(void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction old;
    if (sigaction(SIGSEGV, NULL, &old) != 0)
        return false;
    return handler == NULL ? old.sa_handler == SIG_DFL : old.sa_sigaction == handler;
}

__attribute__((constructor)) void aq_pre_init_trap_catch(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    if (is_handled_by(NULL))
        (void)sigaction(SIGSEGV, &action, NULL);
}

// Also runs when a plug-in that never had a job is unloaded.
__attribute__((destructor)) void aq_pre_init_trap_leave(void)
{
    if (is_handled_by(on_fault))
        (void)signal(SIGSEGV, SIG_DFL);
}
