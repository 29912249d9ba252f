// SPDX-License-Identifier: BSD-3-Clause
// Counts the threads that sleep in a wait, and has the kernel run the fence for them. progress.c
// and progress_thread_api.c call it around each sleep.
#include "sleepers.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

atomic_uint aq_sleepers;
bool aq_sleepers_fence;

void aq_sleepers_start(void)
{
    aq_sleepers_fence =
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
}

void aq_sleepers_enter(void)
{
    atomic_fetch_add(&aq_sleepers, 1);
    if (aq_sleepers_fence)
        atomic_thread_fence(memory_order_seq_cst);
    else
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

void aq_sleepers_leave(void)
{
    atomic_fetch_sub_explicit(&aq_sleepers, 1, memory_order_relaxed);
}
