// SPDX-License-Identifier: BSD-3-Clause
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // syscall
#endif
#include "rank_signal.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/clock.h"

// Without a handler for the signal it might end the process.
static bool is_caught(pid_t pid, int signal)
{
    char path[64], line[256];
    uint64_t caught = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file) && sscanf(line, "SigCgt: %" SCNx64, &caught) != 1)
        ;
    fclose(file);
    return signal > 0 && signal <= 64 && caught >> (signal - 1) & 1;
}

static pid_t thread_to_ask(const aq_seen_rank_t *seen)
{
    const uint64_t now = aq_clock_ns();
    const aq_seen_thread_t *found = NULL;
    for (unsigned i = 0; i < seen->threads; i++) {
        const uint64_t unpolled = aq_seen_unpolled(&seen->thread[i], now);
        if (unpolled && (!found || unpolled > aq_seen_unpolled(found, now)))
            found = &seen->thread[i];
    }
    return found ? (pid_t)found->tid : seen->pid;
}

static bool signal_send(pid_t pid, pid_t tid, int number)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = number;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = AQ_STACK_ASKED;
    return syscall(SYS_rt_tgsigqueueinfo, pid, tid, number, &info) == 0;
}

aq_stack_result_t aq_rank_signal(int fd, const aq_seen_rank_t *seen, uint32_t *before)
{
    aq_seen_stack_t stack;
    if (!is_caught(seen->pid, seen->signal))
        return AQ_STACK_UNCAUGHT;
    if (!aq_rank_read_stack(fd, &stack))
        return AQ_STACK_UNREACHED;
    *before = stack.answers;
    return signal_send(seen->pid, thread_to_ask(seen), seen->signal) ? AQ_STACK_GIVEN
                                                                     : AQ_STACK_UNREACHED;
}

bool aq_rank_has_answered(int fd, uint32_t before, aq_seen_stack_t *stack)
{
    return aq_rank_read_stack(fd, stack) && stack->answers != before && stack->answers % 2 == 0;
}

const char *aq_stack_excuse(aq_stack_result_t result)
{
    static const char *const excuses[AQ_STACK_RESULTS] = {
        [AQ_STACK_GIVEN] = "",
        [AQ_STACK_UNCAUGHT] = "it gives no stack, because its client handles or ignores the signal "
                              "itself (GASNET_REPORT_SIGNAL)",
        [AQ_STACK_SILENT] = "it gives no stack within half a second: the thread does not run, or "
                            "blocks the signal (GASNET_REPORT_SIGNAL)",
        [AQ_STACK_UNREACHED] = "it gives no stack, because its process is gone, runs in a "
                               "container, or its host does not answer",
    };
    return excuses[result < AQ_STACK_RESULTS ? result : AQ_STACK_UNREACHED];
}
