// SPDX-License-Identifier: BSD-3-Clause
// How a process ended that is no child of this one.
#ifndef AQ_PROCESS_FATE_H
#define AQ_PROCESS_FATE_H

#include <sys/types.h>

#define AQ_FATE_UNKNOWN (-1)

// The wait status of a process that has ended, of which pidfd was opened before; waits for its
// parent to take the status, for at most wait_ms. AQ_FATE_UNKNOWN: the kernel does not say. Linux
// 6.15 always says; an older one says as long as the parent has not taken the status.
int aq_process_fate(pid_t pid, int pidfd, int wait_ms);

#endif
