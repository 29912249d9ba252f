// SPDX-License-Identifier: BSD-3-Clause
// Finds out how a process ended that is not a child of this one.
#pragma once

#include <sys/types.h>

#define AQ_FATE_UNKNOWN (-1)

// The wait status of a process that has ended, of which pidfd was opened before; waits for its
// parent to take the status, for at most wait_ms. AQ_FATE_UNKNOWN: the kernel does not report it;
// before Linux 6.15 it does so only until the parent takes the status.
int aq_process_fate(pid_t pid, int pidfd, int wait_ms);
