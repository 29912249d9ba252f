// SPDX-License-Identifier: BSD-3-Clause
// The question for the stack of a rank, by its report signal (GASNET_REPORT_SIGNAL), and what
// becomes of it. Nothing here waits.
#pragma once

#include "rank_reader.h"

typedef enum aq_stack_result {
    AQ_STACK_GIVEN,
    AQ_STACK_UNCAUGHT,  // the rank has no handler for the signal, which might end it
    AQ_STACK_SILENT,    // it has not answered in time
    AQ_STACK_FOREIGN,   // the file names a process that is not a rank of the file's owner
    AQ_STACK_UNREACHED, // the process is gone, or its host does not answer
    AQ_STACK_RESULTS
} aq_stack_result_t;

// How long to wait for an answer, and between two looks for it.
#define AQ_STACK_WAIT_NS UINT64_C(500000000)
#define AQ_STACK_LOOK_NS UINT64_C(5000000)

// Sends the signal to the thread that has not polled for longest in a wait, else to the first one.
// fd: the file of the rank; seen: what it says. Only a process that holds that file, and is of its
// owner, gets a signal, and only one of those for reports. *before: the answers so far.
// AQ_STACK_GIVEN: sent.
aq_stack_result_t aq_rank_signal(int fd, const aq_seen_rank_t *seen, uint32_t *before);

// Whether the rank has written a stack since then, which is in *stack.
bool aq_rank_has_answered(int fd, uint32_t before, aq_seen_stack_t *stack);

// Why there is no stack: "it gives no stack ...".
const char *aq_stack_excuse(aq_stack_result_t result);
