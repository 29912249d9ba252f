// SPDX-License-Identifier: BSD-3-Clause
// The dispositions of signals, kept over a call of a library that changes them: some libraries of
// network devices install handlers when they are loaded, which print and end the process.
#pragma once

#include <signal.h>

typedef struct aq_dispositions {
    struct sigaction of[NSIG]; // by number of the signal
} aq_dispositions_t;

// Reads those of this process. Does not block.
void aq_dispositions_keep(aq_dispositions_t *kept);

// Gives back what was kept, to the signals that have another handler now. Does not block. Not while
// other threads change dispositions.
void aq_dispositions_restore(const aq_dispositions_t *kept);
