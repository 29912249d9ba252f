// SPDX-License-Identifier: BSD-3-Clause
// Starting the ranks: limits, pipes, fork and exec.
#include "supervisor_start.h"
#include "supervisor_bind.h"
#include "supervisor_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../other/base/log/log.h"
#include "../../other/base/size.h"
#include "../../other/base/system/open_files.h"

// Least memory of a rank: its process, rings and stack. Up to FREE_RANKS ranks need no check.
#define RANK_BYTES ((uint64_t)6 << 20)
#define FREE_RANKS 16
#define PIPE_FDS 7        // pipes and file of a rank that is being started
#define STACK_BYTES 65536 // of a child until it executes its program

#define EXIT_NOT_FOUND 127
#define EXIT_NOT_EXECUTABLE 126

// ---- limits ----

static bool check_memory(uint32_t size)
{
    if (size <= FREE_RANKS)
        return true;
    uint64_t memory = aq_size_physical_memory();
    if (size * RANK_BYTES <= memory)
        return true;
    aq_log_error("%" PRIu32 " ranks need about %" PRIu64 " MB, but this host has %" PRIu64
                 " MB of memory; start at most %" PRIu64 " ranks here",
                 size, size * RANK_BYTES >> 20, memory >> 20, memory / RANK_BYTES);
    return false;
}

// Needs two pipes per rank besides what is already open; the lowest free descriptor tells how much
// that is. A memory file of each rank is kept open where the limit allows that.
static bool raise_files(aq_supervised_t *job, uint32_t size)
{
    int lowest = dup(STDIN_FILENO);
    if (lowest >= 0)
        (void)close(lowest);
    rlim_t need = (rlim_t)(lowest < 0 ? 0 : lowest) + 2 * (rlim_t)size + 16;
    struct rlimit raised;
    const bool enough = aq_open_files_raise(need, &job->caller.files);
    job->keeps_files = enough && aq_open_files_raise(need + size, &raised);
    if (enough)
        return true;
    aq_log_error("%" PRIu32 " ranks need %" PRIu64 " open files, but the limit is %" PRIu64
                 "; raise it (ulimit -Hn) or start fewer ranks",
                 size, (uint64_t)need, (uint64_t)job->caller.files.rlim_max);
    return false;
}

// ---- the program ----

static int refuse_program(const char *name, int error)
{
    if (error == ENOENT || error == ENOTDIR)
        aq_log_error("%s: %s; check the name of the program", name,
                     strchr(name, '/')
                         ? "there is no such file, or the interpreter it names is missing"
                         : "not found in PATH (a program in this folder is ./name)");
    else if (error == EISDIR)
        aq_log_error("%s: is a directory; name the program in it", name);
    else if (error == EACCES)
        aq_log_error("%s: is not executable: chmod +x it", name);
    else if (error == ENOEXEC)
        aq_log_error("%s: is not a program for this machine; a script must begin with #! and its "
                     "interpreter",
                     name);
    else
        aq_log_error("%s: cannot be started: %s", name, strerror(error));
    return error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

// Returns 0, or the errno with which exec would fail.
static int try_program(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    if (!S_ISREG(st.st_mode) || access(path, X_OK) != 0)
        return EACCES;
    return 0;
}

// Searches PATH for a name without a slash, as execvp does. *path is allocated; it stays allocated
// until the process exits.
static int search_path(const char *name, char **path)
{
    const char *dir = getenv("PATH");
    int error = ENOENT;
    if (dir == NULL)
        dir = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t len = strcspn(dir, ":");
        if (asprintf(path, "%.*s%s%s", (int)len, dir, len > 0 ? "/" : "./", name) < 0)
            return ENOMEM;
        int now = try_program(*path);
        if (now == 0)
            return 0;
        if (now == EACCES)
            error = now;
        free(*path);
        *path = NULL;
        if (dir[len] == '\0')
            return error;
        dir += len + 1;
    }
}

bool aq_supervised_has_program(const char *name)
{
    char *path = NULL;
    int error = strchr(name, '/') != NULL ? try_program(name) : search_path(name, &path);
    free(path);
    return error == 0;
}

static bool find_program(const char *name, const char **program, int *code)
{
    char *path = NULL;
    int error;
    if (strchr(name, '/') != NULL) {
        error = try_program(name);
        *program = name;
    } else {
        error = name[0] == '\0' ? ENOENT : search_path(name, &path);
        *program = path;
    }
    if (error == 0)
        return true;
    *code = refuse_program(name, error);
    return false;
}

bool aq_supervised_check(aq_supervised_t *job, int *code)
{
    const aq_supervise_options_t *options = job->options;
    *code = 1;
    if (options->size < 1 || job->places > AQ_RANKS_MAX) {
        aq_log_error("%" PRIu32 " ranks: one host carries 1 to %d ranks", job->places,
                     AQ_RANKS_MAX);
        return false;
    }
    if (!check_memory(job->places))
        return false;
    if (options->argv != NULL && !find_program(options->argv[0], &job->program, code))
        return false;
    *code = 1;
    aq_supervised_bind(job); // first, because claims are open files
    if (!raise_files(job, job->places))
        return false;
    *code = 0;
    return true;
}

// ---- the environment of ranks ----

#define CONTROL "GASNET_SPAWN_CONTROL="

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

// Whether list, separated by commas, has the name of the entry "NAME=value".
static bool is_listed(const char *entry, const char *list)
{
    size_t name = strcspn(entry, "=");
    while (*list != '\0') {
        size_t len = strcspn(list, ",");
        if (len == name && strncmp(list, entry, len) == 0)
            return true;
        list += len + (list[len] == ',');
    }
    return false;
}

bool aq_supervised_passes(const char *entry, const char *list)
{
    if (begins_with(entry, CONTROL))
        return false; // of another job
    return list == NULL || begins_with(entry, "GASNET_") ||
           is_listed(entry, "PATH,HOME,LD_LIBRARY_PATH") || is_listed(entry, list);
}

// The variables to pass, with room for the control variable in front. NULL: no memory.
static char **make_environment(const char *list, char *control)
{
    size_t count = 0;
    while (environ != NULL && environ[count] != NULL)
        count++;
    char **copy = malloc((count + 2) * sizeof *copy);
    if (copy == NULL)
        return NULL;
    size_t used = 0;
    copy[used++] = control;
    for (size_t i = 0; i < count; i++)
        if (aq_supervised_passes(environ[i], list))
            copy[used++] = environ[i];
    copy[used] = NULL;
    return copy;
}

// ---- one rank ----

typedef struct launch {
    aq_supervised_t *job;
    char **environment;
    char control[96];
    uint32_t rank;
    int own_fds; // from here on all descriptors are pipes from ranks
    int out[2], err[2];
    // errno of a child that could not become a rank; shared with the child, which runs in our
    // memory until it executes its program
    int error;
} launch_t;

// The child's part of both ways of starting. Only system calls: see launch_t.error.
static bool become_rank(const launch_t *launch)
{
    const aq_supervised_t *job = launch->job;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return false;
    if (getppid() != job->self)
        _exit(1); // the supervisor died before it could end this child
    if (dup2(launch->out[1], STDOUT_FILENO) < 0 || dup2(launch->err[1], STDERR_FILENO) < 0)
        return false;
    if (aq_supervised_rank(job, launch->rank) > 0 && dup2(job->null_input, STDIN_FILENO) < 0)
        return false;
    aq_open_files_restore(&job->caller.files);
    if (job->binding.of != NULL)
        (void)sched_setaffinity(0, sizeof *job->binding.of, &job->binding.of[launch->rank]);
    (void)sigaction(SIGCHLD, &job->caller.on_child, NULL);
    (void)sigprocmask(SIG_SETMASK, &job->caller.mask, NULL);
    return true;
}

// The child shares the descriptors of the supervisor until it has its own copy, without those from
// own_fds on: closing two pipes of each rank in each child would take longer than all the rest.
static bool copy_fds(const launch_t *launch)
{
    return close_range((unsigned)launch->own_fds, UINT_MAX, CLOSE_RANGE_UNSHARE) == 0 ||
           unshare(CLONE_FILES) == 0; // kernels before 5.9
}

static bool pass_file(const launch_t *launch)
{
    const int file = launch->job->ranks[launch->rank].file;
    return file == 0 || fcntl(file, F_SETFD, 0) == 0;
}

// Returns only if the child cannot execute its program.
static void exec_program(launch_t *launch)
{
    if (copy_fds(launch) && become_rank(launch) && pass_file(launch))
        (void)execve(launch->job->program, launch->job->options->argv, launch->environment);
    launch->error = errno;
}

static int exec_rank(void *arg)
{
    exec_program(arg);
    _exit(EXIT_NOT_EXECUTABLE);
}

// Starts a rank where a child cannot share our memory: it writes its errno into a pipe, which a
// successful exec closes.
static pid_t fork_program(launch_t *launch)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0)
        return -1;
    const pid_t pid = fork();
    if (pid == 0) {
        exec_program(launch);
        const ssize_t written =
            TEMP_FAILURE_RETRY(write(report[1], &launch->error, sizeof launch->error));
        _exit(written < 0 ? 1 : EXIT_NOT_EXECUTABLE);
    }
    (void)close(report[1]);
    if (pid > 0 && TEMP_FAILURE_RETRY(read(report[0], &launch->error, sizeof launch->error)) < 0)
        launch->error = errno;
    (void)close(report[0]);
    return pid;
}

// ThreadSanitizer of newer compilers (gcc 14, not 12) takes every clone for a fork, and ends a
// parent whose memory the child shares.
static bool may_share_memory(void)
{
#ifdef __SANITIZE_THREAD__
    return false;
#else
    return true;
#endif
}

// As with vfork, the parent waits until exec has succeeded or has left its errno. qemu-user makes a
// fork of such a clone and refuses CLONE_FILES in a fork, with EINVAL.
static pid_t start_program(launch_t *launch)
{
    static _Alignas(16) char stack[STACK_BYTES];
    if (!may_share_memory())
        return fork_program(launch);
    const pid_t pid = clone(exec_rank, stack + sizeof stack,
                            CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, launch);
    return pid < 0 && errno == EINVAL ? fork_program(launch) : pid;
}

static pid_t spawn_program(launch_t *launch)
{
    snprintf(launch->control, sizeof launch->control, CONTROL "fork:%d:%" PRIu32 ":%" PRIu64,
             launch->job->page_fd, aq_supervised_rank(launch->job, launch->rank),
             (uint64_t)launch->job->page_inode);
    launch->error = 0;
    return start_program(launch);
}

static void close_run(int first, int last)
{
    if (close_range((unsigned)first, (unsigned)last, 0) == 0)
        return;
    for (int fd = first; fd <= last; fd++) // for kernels before 5.9
        (void)close(fd);
}

#define FDS_MARKED 8192 // more than the supervisor has

// Returns descriptor i of those that belong to the supervisor; -1: there is none.
static int supervisor_fd(const launch_t *launch, size_t i)
{
    const aq_supervised_t *job = launch->job;
    const int others[] = {job->page_fd,   job->epoll,     job->signals,   job->null_input,
                          launch->out[0], launch->out[1], launch->err[0], launch->err[1]};
    size_t streams = 3 * (size_t)launch->rank;
    if (i < streams && i % 3 == 2) // a rank may have no file
        return job->ranks[i / 3].file > 0 ? job->ranks[i / 3].file : job->page_fd;
    if (i < streams)
        return job->output.streams[i / 3 * 2 + i % 3].fd;
    return i - streams < sizeof others / sizeof others[0] ? others[i - streams] : -1;
}

// Closes the supervisor's descriptors in a child that does not exec. The system hands out the
// lowest free number, so the descriptors mostly form one or two ranges.
static void close_supervisor_fds(const launch_t *launch)
{
    bool ours[FDS_MARKED + 1];
    int fd, top = 0;
    for (size_t i = 0; (fd = supervisor_fd(launch, i)) >= 0; i++)
        top = fd > top ? fd : top;
    bool marked = top < FDS_MARKED;
    if (marked)
        memset(ours, 0, (size_t)top + 2);
    for (size_t i = 0; (fd = supervisor_fd(launch, i)) >= 0; i++) {
        if (marked)
            ours[fd] = true;
        else
            (void)close(fd);
    }
    for (fd = 0; marked && fd <= top; fd++) {
        int first = fd;
        while (ours[fd])
            fd++;
        if (fd > first)
            close_run(first, fd - 1);
    }
}

static bool watch_stream(aq_supervised_t *job, uint32_t rank, unsigned which, int fd)
{
    uint32_t index = 2 * rank + which;
    job->output.streams[index].rank = aq_supervised_rank(job, rank);
    job->output.streams[index].label = job->options->label_lines;
    job->output.streams[index].sink = &job->output.sinks[job->output.one_sink ? 0 : which];
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = index};
    if (epoll_ctl(job->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        return false;
    job->output.streams[index].fd = fd;
    return true;
}

static bool fail_start(const launch_t *launch, int error)
{
    aq_log_error("the system refused to start rank %" PRIu32 " of %" PRIu32
                 " (%s); raise the limit of processes (ulimit -u) and files (ulimit -n), or start "
                 "fewer ranks",
                 aq_supervised_rank(launch->job, launch->rank), aq_supervised_size(launch->job),
                 strerror(error));
    return false;
}

static bool open_pipes(launch_t *launch)
{
    if (pipe2(launch->out, O_CLOEXEC) != 0)
        return fail_start(launch, errno);
    if (pipe2(launch->err, O_CLOEXEC) != 0) {
        int error = errno;
        (void)close(launch->out[0]);
        (void)close(launch->out[1]);
        return fail_start(launch, error);
    }
    return true;
}

// Moves a descriptor to where children that exec do not get it. Without room it stays.
static void move_up(const launch_t *launch, int *fd)
{
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, launch->own_fds);
    if (moved < 0)
        return;
    (void)close(*fd);
    *fd = moved;
}

// The parent's part after the fork.
static bool adopt_child(launch_t *launch, pid_t pid, int error)
{
    aq_supervised_t *job = launch->job;
    (void)close(launch->out[1]);
    (void)close(launch->err[1]);
    move_up(launch, &launch->out[0]);
    move_up(launch, &launch->err[0]);
    if (job->ranks[launch->rank].file > 0)
        move_up(launch, &job->ranks[launch->rank].file);
    if (pid > 0) {
        job->ranks[launch->rank].pid = pid;
        job->alive++;
    }
    if (!watch_stream(job, launch->rank, 0, launch->out[0]) ||
        !watch_stream(job, launch->rank, 1, launch->err[0]))
        return fail_start(launch, errno);
    if (pid < 0)
        return fail_start(launch, error);
    aq_log_info("rank %" PRIu32 " is process %ld", aq_supervised_rank(job, launch->rank),
                (long)pid);
    return true;
}

// ---- all ranks ----

// Disables address randomization for the programs that this process executes: a program of conduit
// smp may rely on the same addresses in all ranks, as after a fork. Returns the personality to
// restore, or -1. Warns if the system refuses, as filters of containers do.
static int start_one_layout(const aq_supervised_t *job)
{
    const int old = personality(0xffffffff);
    if (old < 0 || old & ADDR_NO_RANDOMIZE)
        return -1;
    if (personality((unsigned)old | ADDR_NO_RANDOMIZE) < 0)
        aq_log_warn(
            "functions and variables have different addresses in each rank, because the system "
            "refuses to disable address randomization (personality: %s); start a program that "
            "needs equal addresses without the launcher: GASNET_PSHM_NODES=%" PRIu32 " program",
            strerror(errno), job->places);
    return old;
}

static void end_one_layout(int old)
{
    if (old >= 0)
        (void)personality((unsigned)old);
}

// Returns a number above those of all open descriptors, and of the pipes of one rank.
static int above_fds(void)
{
    int top = INT_MAX - PIPE_FDS;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return top;
    top = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        top = atoi(entry->d_name) > top ? atoi(entry->d_name) : top;
    (void)closedir(dir);
    return top + 1 + PIPE_FDS;
}

// Returns true in a forked child, which goes on as the rank. False in the caller; a fault, which is
// logged, sets *code.
static bool start_rank(launch_t *launch, int *code)
{
    if (!open_pipes(launch)) {
        *code = 1;
        return false;
    }
    aq_supervised_make_file(launch->job, launch->rank);
    pid_t pid = launch->job->program != NULL ? spawn_program(launch) : fork();
    int error = errno;
    if (pid == 0) {
        if (!become_rank(launch))
            _exit(1); // the parent notices and reports it
        close_supervisor_fds(launch);
        aq_binding_leave(&launch->job->binding);
        return true;
    }
    if (!adopt_child(launch, pid, error))
        *code = 1;
    else if (launch->error != 0)
        *code = refuse_program(launch->job->options->argv[0], launch->error);
    return false;
}

bool aq_supervised_start_ranks(aq_supervised_t *job, uint32_t last, uint32_t *rank, int *code)
{
    static launch_t launch; // shared with the child
    launch = (launch_t){.job = job, .rank = job->started, .own_fds = above_fds()};
    if (job->program != NULL)
        launch.environment = make_environment(job->options->environment, launch.control);
    if (job->program != NULL && launch.environment == NULL) {
        *code = 1;
        return fail_start(&launch, ENOMEM);
    }
    const int old = job->program != NULL && job->options->one_layout ? start_one_layout(job) : -1;
    *code = 0;
    for (; job->started < last && *code == 0; launch.rank = ++job->started)
        if (start_rank(&launch, code)) {
            *rank = launch.rank;
            return true;
        }
    end_one_layout(old);
    free(launch.environment);
    return false;
}
