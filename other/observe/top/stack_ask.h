// SPDX-License-Identifier: BSD-3-Clause
// Asks a rank for the stack of a thread, by its report signal (GASNET_REPORT_SIGNAL).
#pragma once

#include "job_watch.h"

// Asks the thread that has not polled for longest in a wait, else the first one. A rank of another
// host is asked by its host, through the launcher; one in a container is not asked. Waits for half
// a second, or for two for another host. The signal interrupts a system call of the client, as any
// signal does.
aq_stack_result_t aq_stack_ask(const aq_watched_job_t *job, const aq_watched_rank_t *rank,
                               aq_seen_stack_t *stack);
