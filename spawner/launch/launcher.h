// SPDX-License-Identifier: BSD-3-Clause
// The launcher of a job on several hosts: the root of the tree. It starts the hosts, lets the ranks
// start once all hosts are ready, forwards output, input and signals, and determines the exit code.
#pragma once

#include "launch_plan.h"

// Returns the variables of this process that ranks get. list: from -E; NULL: all. The texts are
// those of environ; the caller frees the array. NULL: no memory.
char **aq_launch_environment(const char *list);
// Resolves GASNET_MASTERIP for the plan, if it is set. May block. False: failed, logged.
bool aq_launch_find_address(aq_launch_plan_t *plan);

// Runs the job and blocks until everything is over. Returns the exit code of the job. Takes over
// all signals and children of the process. Logs faults.
int aq_launch(const aq_launch_plan_t *plan);
