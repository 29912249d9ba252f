// SPDX-License-Identifier: BSD-3-Clause
// Signals: which ones reach the ranks through the supervisor, and which process of a rank gets
// them.
//
//   supervisor --> child: a wrapper (script, time, perf, gdb) --> ... --> process that has joined
//
// A wrapper that stays would die of a signal that the program handles, so the process that has
// joined gets it. Its number comes from that process: it counts only for a process below this
// supervisor, all of which belong to the job.
#include <dirent.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../other/observe/top/process_table.h"
#include "supervisor_signal.h"

// ---- which signals ----

bool aq_supervised_is_stop(int sig)
{
    return sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT;
}

bool aq_supervised_is_limit(int sig)
{
    return sig == SIGXCPU || sig == SIGALRM || sig == SIGXFSZ || sig == SIGPROF;
}

bool aq_supervised_is_own(int sig, int si_code, pid_t sender)
{
    return (sig == SIGXFSZ && sender == getpid()) || (sig == SIGPROF && si_code == SI_KERNEL);
}

bool aq_supervised_of_terminal(int sig, int si_code)
{
    return si_code == SI_KERNEL && !aq_supervised_is_limit(sig);
}

void aq_supervised_signals(sigset_t *set)
{
    static const int wanted[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                                 SIGCONT, SIGTSTP, SIGXCPU, SIGALRM, SIGXFSZ, SIGPROF};
    struct sigaction now;
    sigemptyset(set);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (sigaction(wanted[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(set, wanted[i]);
}

// ---- the process that has joined ----

// Finds the process below `top` that has the id `inner` in another PID namespace, because a wrapper
// made a container. 0: there is none.
static pid_t find_inside(pid_t inner, pid_t top)
{
    DIR *all = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *entry; all != NULL && found == 0 && (entry = readdir(all)) != NULL;) {
        const pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid > 0 && pid != inner && aq_process_inner(pid) == inner &&
            aq_process_is_above(top, pid))
            found = pid;
    }
    if (all != NULL)
        (void)closedir(all);
    return found;
}

// The process of a rank, by its id in the PID namespace of this process; 0: none has joined, or it
// is not visible here.
static pid_t find_joined(const aq_supervised_t *job, uint32_t place)
{
    const aq_page_process_t *process =
        &aq_page_processes(job->page)[aq_supervised_rank(job, place)];
    const pid_t number = atomic_load(&process->number);
    if (number <= 0 || atomic_load(&process->space) == aq_page_process_space())
        return number;
    return find_inside(number, job->ranks[place].pid);
}

// A process that goes on without its wrapper has not ended.
int aq_supervised_hidden_code(const aq_supervised_t *job, uint32_t place, pid_t child,
                              pid_t *joined)
{
    const aq_page_process_t *process =
        &aq_page_processes(job->page)[aq_supervised_rank(job, place)];
    const bool is_here = atomic_load(&process->space) == aq_page_process_space();
    *joined = atomic_load(&process->number);
    if (*joined == child || *joined == job->self || (is_here && kill(*joined, 0) == 0))
        *joined = 0;
    return *joined > 0 ? atomic_load(&process->exited) - 1 : 0;
}

// Signals that process if it is a descendant of this one; returns whether it did. The pidfd ensures
// that the id still means the process that was checked.
static bool signal_below(const aq_supervised_t *job, pid_t pid, int sig)
{
    const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return false;
    const bool sent = aq_process_is_above(job->self, pid) &&
                      syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) == 0;
    (void)close(fd);
    return sent;
}

// The wrapper gets SIGKILL too, and SIGCONT because it may be stopped like the process behind it.
void aq_supervised_signal(const aq_supervised_t *job, uint32_t place, int sig)
{
    const pid_t child = job->ranks[place].pid;
    if (child <= 0)
        return;
    const pid_t joined = find_joined(job, place);
    const bool behind = joined > 0 && joined != child && joined != job->self;
    if (!behind || !signal_below(job, joined, sig) || sig == SIGKILL || sig == SIGCONT)
        (void)kill(child, sig);
}
