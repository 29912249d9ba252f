// SPDX-License-Identifier: BSD-3-Clause
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
