// SPDX-License-Identifier: BSD-3-Clause
// The implementation of the supervisor: the job, as its six files share it. supervisor_start.c
// has limits, pipes, fork and exec; supervisor_bind.c the processors of the ranks;
// supervisor_files.c what ranks show to those who watch; supervisor_signal.c signals to the ranks;
// supervisor_output.c the output of the ranks; supervisor.c the loop: deaths, deadlines, the exit
// code.
//
// Always true: alive counts the ranks whose process is not reaped yet, and only those get signals.
// The first `started` places of the tables have had a process; the others are the reserve.
// phase only grows. Once the exit is announced, the exit word of the page has the code of the job.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "binding.h"
#include "../boot/boot_page.h"
#include "supervise.h"
#include "supervisor_output.h"

typedef enum aq_supervised_phase {
    AQ_SUPERVISED_STARTING,
    AQ_SUPERVISED_RUNNING,
    AQ_SUPERVISED_LEAVING,  // an exit was announced; ranks leave by themselves until the deadline
    AQ_SUPERVISED_QUITTING, // they did not leave: SIGQUIT was sent
    AQ_SUPERVISED_STOPPING, // the user's signal was forwarded
    AQ_SUPERVISED_ENDING,   // the job failed: SIGTERM was sent
    AQ_SUPERVISED_KILLED,   // SIGKILL was sent
} aq_supervised_phase_t;

typedef struct aq_supervised_rank {
    pid_t pid; // 0: not started, or reaped
    int file;  // the memory file of the rank, which stays after its end; 0: none
} aq_supervised_rank_t;

// Output of the ranks, on its way to ours.
typedef struct aq_supervised_output {
    aq_stream_t *streams; // two per rank: output, errors
    aq_sink_t sinks[2];
    uint64_t lines_due; // see aq_streams_pass_due
    bool one_sink;      // our output and errors are the same file; one sink keeps the order
} aq_supervised_output_t;

// This process before it became a supervisor; ranks get the first three back.
typedef struct aq_supervised_caller {
    sigset_t mask;
    struct sigaction on_child; // disposition of SIGCHLD
    struct rlimit files;
    bool childless; // so that all children are ranks; supervisor.c sets it
} aq_supervised_caller_t;

// Why the job ends, which decides its exit code (supervisor.c).
typedef struct aq_supervised_end {
    int stop_signal;   // the first one from the user; 0: none
    int last_stop;     // the last one
    int first_code;    // first nonzero exit code of a rank without an announcement
    bool any_killed;   // a signal killed a rank
    bool fault_logged; // the user was told that and why ranks could not start
} aq_supervised_end_t;

typedef struct aq_supervised {
    const aq_supervise_options_t *options;
    pid_t self;
    aq_boot_page_t *page;
    int page_fd;
    ino_t page_inode;
    const char *program; // that the ranks execute; NULL: only fork
    uint32_t places;     // of the tables: ranks of this host, with the reserve
    uint32_t started;
    aq_supervised_rank_t *ranks;
    aq_supervised_output_t output;
    uint32_t alive;

    int epoll, signals, null_input;
    aq_supervised_caller_t caller;
    bool keeps_files;     // there is room for a memory file of each rank
    aq_binding_t binding; // has an entry for each place
    bool bound_unasked;

    aq_supervised_phase_t phase;
    uint64_t deadline; // end of the phase, clock of aq_clock_ns; 0: none
    uint64_t passed;   // bytes of output when the deadline was last set, for the phase LEAVING
    aq_supervised_end_t end;
} aq_supervised_t;

// Epoll data of the signal descriptor; streams have their index.
#define AQ_WATCH_SIGNALS UINT32_MAX

// The number in the job of the rank at that place on this host; the ranks that are there.
static inline uint32_t aq_supervised_rank(const aq_supervised_t *job, uint32_t place)
{
    return job->options->part != NULL ? job->options->part->ranks[place] : place;
}
static inline uint32_t aq_supervised_size(const aq_supervised_t *job)
{
    return atomic_load(&job->page->ranks.present);
}
