// SPDX-License-Identifier: BSD-3-Clause
// Checks that the process in the file is a rank of its owner and handles the signal, then sends it
// by pidfd. stack_ask.c waits for the answer here, spawner/launch/helper_look.c for another host.
#include "rank_signal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../base/clock.h"
#include "process_table.h"

// ---- the process that the file names ----

// The process and thread that the file names. Its owner may write any id and any signal into it, so
// nothing is trusted.
typedef struct target {
    pid_t pid, tid;
    int handle;        // pidfd
    bool is_of_thread; // the handle; else of the process
} target_t;

// The pidfd ensures that the process that was checked gets the signal. Before Linux 6.9 a pidfd
// cannot refer to a thread.
static bool target_open(target_t *target, pid_t pid, pid_t tid)
{
    enum { OF_THREAD = O_EXCL }; // PIDFD_THREAD, which older headers do not have
    *target = (target_t){.pid = pid, .tid = tid};
    target->handle = (int)syscall(SYS_pidfd_open, tid, OF_THREAD);
    target->is_of_thread = target->handle >= 0;
    if (!target->is_of_thread)
        target->handle = (int)syscall(SYS_pidfd_open, pid, 0);
    return target->handle >= 0;
}

static bool target_lives(const target_t *target)
{
    struct pollfd ended = {.fd = target->handle, .events = POLLIN};
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)target->pid, (int)target->tid);
    return access(path, F_OK) == 0 && poll(&ended, 1, 0) == 0;
}

typedef struct search {
    struct stat file;
    bool found;
} search_t;

static void descriptor_visit(pid_t pid, int number, void *context)
{
    search_t *search = context;
    struct stat st;
    const int fd = aq_process_open_file(pid, number);
    if (fd < 0)
        return;
    search->found |=
        fstat(fd, &st) == 0 && st.st_dev == search->file.st_dev && st.st_ino == search->file.st_ino;
    (void)close(fd);
}

// Whether the process has the file open. The kernel hides the descriptors of a process with other
// rights, but its user may signal it anyway.
static bool process_holds(pid_t pid, search_t *search)
{
    const bool is_hidden =
        !aq_process_each_file_of(pid, AQ_RANK_FILE_NAME, descriptor_visit, search);
    return search->found || (is_hidden && geteuid() != 0 && search->file.st_uid == geteuid());
}

typedef struct rights {
    unsigned user[3]; // real, effective, saved
    uint64_t caught;  // signals
} rights_t;

static bool rights_read(pid_t pid, rights_t *rights)
{
    char path[64], line[256];
    unsigned found = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        found += sscanf(line, "Uid: %u %u %u", &rights->user[0], &rights->user[1],
                        &rights->user[2]) == 3;
        found += sscanf(line, "SigCgt: %" SCNx64, &rights->caught) == 1;
    }
    fclose(file);
    return found == 2;
}

static bool is_of_user(const rights_t *rights, uid_t user)
{
    return rights->user[0] == user && rights->user[1] == user && rights->user[2] == user;
}

// The signals that GASNET_REPORT_SIGNAL accepts and that do not end a process that handles them.
static bool is_for_reports(int signal)
{
    static const int signals[] = {SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGIO, SIGPWR, SIGWINCH};
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (signals[i] == signal)
            return true;
    return signal >= SIGRTMIN && signal <= SIGRTMAX;
}

// Without a handler for the signal it might end the process.
static bool is_caught(const rights_t *rights, int signal)
{
    return is_for_reports(signal) && rights->caught >> (signal - 1) & 1;
}

// AQ_STACK_GIVEN: the signal may be sent.
static aq_stack_result_t target_check(const target_t *target, int file, int signal)
{
    search_t search = {0};
    rights_t rights = {0};
    if (fstat(file, &search.file) != 0 || !rights_read(target->pid, &rights))
        return AQ_STACK_UNREACHED;
    if (!is_of_user(&rights, search.file.st_uid) || !process_holds(target->pid, &search))
        return AQ_STACK_FOREIGN;
    if (!is_caught(&rights, signal))
        return AQ_STACK_UNCAUGHT;
    return target_lives(target) ? AQ_STACK_GIVEN : AQ_STACK_UNREACHED;
}

// ---- the question ----

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

static bool signal_send(const target_t *target, int number)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = number;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = AQ_STACK_REQUEST;
    if (target->is_of_thread)
        return syscall(SYS_pidfd_send_signal, target->handle, number, &info, 0) == 0;
    return syscall(SYS_rt_tgsigqueueinfo, target->pid, target->tid, number, &info) == 0;
}

aq_stack_result_t aq_rank_signal(int fd, const aq_seen_rank_t *seen, uint32_t *before)
{
    target_t target;
    aq_seen_stack_t stack;
    if (!aq_rank_read_stack(fd, &stack) || !target_open(&target, seen->pid, thread_to_ask(seen)))
        return AQ_STACK_UNREACHED;
    *before = stack.answers;
    aq_stack_result_t result = target_check(&target, fd, seen->signal);
    if (result == AQ_STACK_GIVEN && !signal_send(&target, seen->signal))
        result = AQ_STACK_UNREACHED;
    (void)close(target.handle);
    return result;
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
        [AQ_STACK_FOREIGN] =
            "it gives no stack, because the process that its memory file names does not hold that "
            "file, or is of another user than the file: it gets no signal",
        [AQ_STACK_UNREACHED] = "it gives no stack, because its process is gone, runs in a "
                               "container, or its host does not answer",
    };
    return excuses[result < AQ_STACK_RESULTS ? result : AQ_STACK_UNREACHED];
}
