// Inside of the supervisor: the job as its three files see it. supervisor_start.c has limits,
// pipes, fork and exec; supervisor_output.c the lines of the ranks; supervisor.c the loop: signals,
// deaths, deadlines, the exit code.
//
// Always true: alive counts the ranks with a process not yet reaped, and only those are sent
// signals; phase only grows; the code of the job is in the exit word of the page once anyone has
// announced it.
#ifndef AQ_SUPERVISOR_H
#define AQ_SUPERVISOR_H

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "boot_page.h"
#include "supervise.h"
#include "supervisor_output.h"

typedef enum aq_supervised_phase {
    AQ_SUPERVISED_STARTING,
    AQ_SUPERVISED_RUNNING,
    AQ_SUPERVISED_LEAVING,  // an exit was announced; ranks leave by themselves until the deadline
    AQ_SUPERVISED_QUITTING, // they did not: SIGQUIT was sent
    AQ_SUPERVISED_STOPPING, // the user's signal was passed on
    AQ_SUPERVISED_ENDING,   // the job failed: SIGTERM was sent
    AQ_SUPERVISED_KILLED,   // SIGKILL was sent
} aq_supervised_phase_t;

typedef struct aq_supervised_rank {
    pid_t pid; // 0: not started, or reaped
} aq_supervised_rank_t;

typedef struct aq_supervised {
    const aq_supervise_options_t *options;
    aq_boot_page_t *page;
    int page_fd;
    ino_t page_inode;
    aq_supervised_rank_t *ranks;
    aq_stream_t *streams; // two for each rank: output, errors
    aq_sink_t sinks[2];
    bool one_sink; // our output and errors are the same file: one sink keeps the order
    uint32_t alive;

    int epoll, signals, null_input;
    sigset_t old_mask;          // of the caller; ranks get it back
    struct sigaction old_child; // disposition of SIGCHLD; ranks get it back
    struct rlimit old_files;    // ranks get it back
    bool files_raised;
    bool only_ranks; // this process had no children before
    cpu_set_t cpus;  // that ranks are bound to; empty: no binding

    aq_supervised_phase_t phase;
    uint64_t deadline; // end of the phase, clock of aq_clock_ns; 0: none
    uint64_t passed;   // bytes of output when it was set last, for the phase LEAVING
    int stop_signal;   // that the user sent; 0: none
    int first_code;    // first exit code other than 0 of a rank that announced nothing
    bool any_killed;   // a rank died of a signal
    bool fault_told;   // that ranks could not start, and why
} aq_supervised_t;

// Epoll data of the signal descriptor; a stream has its index.
#define AQ_WATCH_SIGNALS UINT32_MAX

// Number in the job of the rank with that place on this host, and ranks of the job.
static inline uint32_t aq_supervised_rank(const aq_supervised_t *job, uint32_t place)
{
    return job->options->part != NULL ? job->options->part->ranks[place] : place;
}
static inline uint32_t aq_supervised_size(const aq_supervised_t *job)
{
    return job->options->part != NULL ? job->options->part->job_size : job->options->size;
}

// Whether that signal asks a job to end.
bool aq_supervised_is_stop(int sig);
// The signals of a user that a job takes. One that is ignored stays ignored (nohup, jobs in the
// background of a shell).
void aq_supervised_signals(sigset_t *set);
// Whether there is a program of that name, in PATH unless the name has a slash.
bool aq_supervised_has_program(const char *name);
// Whether two descriptors write to the same file.
bool aq_supervised_same_file(int a, int b);
// Ends all children of this process (a subreaper) and of those that end.
void aq_supervised_sweep(void);
// Whether ranks get the variable "NAME=value"; list: see aq_supervise_options_t.
bool aq_supervised_passes(const char *entry, const char *list);

// Checks limits and memory and finds the program. On a fault logs it and sets *code.
bool aq_supervised_check(aq_supervised_t *job, const char **program, int *code);
// Starts all ranks. Returns true in a forked child that is to go on as *rank (a place); false in
// the caller, with *code != 0 after a fault (logged; what was started is in job).
bool aq_supervised_start_ranks(aq_supervised_t *job, const char *program, uint32_t *rank,
                               int *code);

#endif
