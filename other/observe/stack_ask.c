#include "stack_ask.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/clock.h"
#include "rank_text.h"

enum { LOOKS = 100, LOOK_NS = 5000000 };

// Whether the process has a handler for the signal. Without one the signal might end it.
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

bool aq_stack_ask(aq_watched_rank_t *rank, aq_seen_stack_t *stack)
{
    const aq_seen_rank_t *seen = &rank->seen;
    if (rank->remote || rank->pid != seen->pid || !is_caught(seen->pid, seen->signal) ||
        !aq_rank_read_stack(rank->fd, stack))
        return false;
    const uint32_t before = stack->answers;
    if (!signal_send(seen->pid, thread_to_ask(seen), seen->signal))
        return false;
    for (int i = 0; i < LOOKS; i++) {
        aq_clock_sleep_ns(LOOK_NS);
        if (aq_rank_read_stack(rank->fd, stack) && stack->answers != before &&
            stack->answers % 2 == 0)
            return true;
    }
    return false;
}
