// SPDX-License-Identifier: BSD-3-Clause
// Keeps the process id of the process that joined. The boot back ends (spawn_fork.c, spawn_mpi.c)
// set it; the handlers of exit, signals and threads in the core ask for it.
#include "own_process.h"

#include <unistd.h>

static pid_t owner; // 0: none yet

void aq_own_process_begin(void)
{
    owner = getpid();
}

bool aq_own_process(void)
{
    return owner == 0 || owner == getpid();
}
