// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts the end of the job over the network, for jobs whose bootstrap notifies only the ranks
// of one host (aq_boot_t, exit_stays_here): an election decides the code, and a tree tells all
// ranks.
#pragma once

// Handlers of the core; extended/rma/layer_table.h has the others.
enum { AQ_HANDLER_EXIT_ASK = 62, AQ_HANDLER_EXIT_REPLY };

// Call at init, before any message can arrive. Afterwards polls take part in an election that other
// ranks have begun.
void aq_exit_broadcast_start(void);

// Notifies all ranks that the job ends, and returns the exit code of the job, which is code unless
// another rank ended the job earlier. Blocks and polls for at most the exit timeout. Returns at
// once if the bootstrap notifies all ranks.
int aq_exit_broadcast_code(int code);
