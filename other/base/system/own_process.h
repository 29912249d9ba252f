// SPDX-License-Identifier: BSD-3-Clause
// The process that has joined a job. Functions that run at exit, at the end of a thread or at a
// signal also run in the children that it forks, where they must leave the job alone.
#pragma once

#include <stdbool.h>

// This process is about to join a job. Does not block.
void aq_own_process_begin(void);

// False in a child that was forked since then. Any thread; async-signal-safe; does not block.
bool aq_own_process(void);
