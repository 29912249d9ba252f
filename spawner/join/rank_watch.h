// SPDX-License-Identifier: BSD-3-Clause
// The launcher's watch on ranks that mpirun started (rank_report.h has the picture): what they
// report, and which of them die without a report. From this it derives the exit code of the job,
// which mpirun may not report.
//
// What is always true:
// - The first end that a rank reports, or the first death of a rank that reported none, decides; a
//   later report of a failure replaces a code of 0. A rank that left with another code than 0
//   before, and did not end the job, decides instead.
// - A rank that has not said how many ranks there are does not count.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

// Listens, and names the socket in the environment, for the ranks. False: this is not possible, and
// the environment names none.
bool aq_rank_watch_open(void);

// Blocks until the process mpirun, a child that was started after aq_rank_watch_open, has ended or
// is about to. If it does not end within GASNET_EXITTIMEOUT and some seconds after the death of a
// rank, or GASNET_TERM_TIMEOUT after SIGTERM to the ranks, ends it. open_mask: of the signals that
// may arrive meanwhile, when a handler may call aq_rank_watch_signal; NULL: as it is.
void aq_rank_watch_run(pid_t mpirun, const sigset_t *open_mask);

// Sends a signal to the ranks. False: not all of them are known here, or SIGTERM was sent before;
// then nothing is sent. For a handler of a signal that arrives in aq_rank_watch_run.
bool aq_rank_watch_signal(int sig);

// The exit code of the job, of which mpirun ended with `code`. stopped_by: the signal that asked
// the launcher to end the job; 0: none. Logs which rank died, if that decides, or why no rank
// joined.
int aq_rank_watch_code(int code, int stopped_by);
