// SPDX-License-Identifier: BSD-3-Clause
// Processes that a command, a boot module or something else starts for the launcher.
#pragma once

#include "launcher_job.h"

// Starts the command, as the plan says, once its processes can call. False: failed, logged. True
// also if the job has no such processes.
bool aq_launcher_await_workers(aq_launcher_t *launcher, const aq_launch_plan_t *plan);
// After each wait: numbers the processes once all are there, or ends a start that takes too long.
void aq_launcher_check_workers(aq_launcher_t *launcher);
// A child process has ended; see aq_node_ops_t.
void aq_launcher_reaped(aq_node_t *node, pid_t pid, int status);
// At the end of the job: waits for the command, or ends it. Blocks for seconds at most.
void aq_launcher_end_command(aq_launcher_t *launcher);
