// SPDX-License-Identifier: BSD-3-Clause
// Signals to the ranks.
#pragma once

#include "supervisor_job.h"

// Whether that signal asks the job to end.
bool aq_supervised_is_stop(int sig);
// Whether the signal reports a limit or timer, and ends a process that does not handle it.
bool aq_supervised_is_limit(int sig);
// Whether a signal is only about this process: its own full file, the timer of its profiler.
// si_code and sender: as in siginfo_t.
bool aq_supervised_is_own(int sig, int si_code, pid_t sender);
// Whether a terminal has sent a signal, so that the ranks on this host have got it, too.
bool aq_supervised_of_terminal(int sig, int si_code);
// Sends a signal to the process that has joined the job as the rank at that place, which may be
// behind a wrapper; before it has joined, or if it is out of sight, to the child of this process.
// SIGKILL and SIGCONT reach both. Does nothing for a rank that was reaped.
void aq_supervised_signal(const aq_supervised_t *job, uint32_t place, int sig);

// For a child that ended with code 0 and may have been a wrapper: how the process ended that had
// joined as the rank at that place. Returns the code of its exit(), or AQ_CODE_NONE if it did not
// call exit(). *joined: that process; 0: the child itself joined, or no other process is in sight.
#define AQ_CODE_NONE (-1)
int aq_supervised_hidden_code(const aq_supervised_t *job, uint32_t place, pid_t child,
                              pid_t *joined);

// Collects the signals that a user may send to a job. A signal that is ignored stays ignored
// (nohup, background jobs of a shell).
void aq_supervised_signals(sigset_t *set);
