// SPDX-License-Identifier: BSD-3-Clause
// The loop of the supervisor, and what other parents of ranks share with it.
#pragma once

#include "supervisor_job.h"

// Stops this process, as SIGTSTP asks, until SIGCONT comes. Returns at once if SIGCONT is pending,
// because a stop would discard it.
void aq_supervised_pause(void);

// Removes the handlers of the client, to whose code this process must not return. What is ignored
// stays ignored.
void aq_supervised_forget_handlers(void);

// Whether two descriptors write to the same file.
bool aq_supervised_same_file(int a, int b);

// Kills all children of this process (a subreaper), including those that their ends bring here.
void aq_supervised_sweep(void);
