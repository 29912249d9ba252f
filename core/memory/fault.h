// SPDX-License-Identifier: BSD-3-Clause
// Faults of puts, gets and atomics on mapped memory.
//
// The client's code performs these without a call of the library, and without a check. A wrong
// address that is not mapped in this process raises SIGSEGV or SIGBUS in the client's code. Such a
// fault is recognized by its address: it is beside the mapping of a rank's segment, where conduits
// leave AQ_SEGMENT_GUARD bytes without access, or it is where this process would have mapped the
// address NULL of that rank. Then the job ends with a sentence.
// A rank that is too large raises SIGSEGV behind a table (shift_table.h), and also ends the job.
//
// Any other address may be the client's own mistake: then a sentence names the address, and those
// of ranks for which a put or get would have had it, and the signal takes its course.
#pragma once

// aq_fault_note_signals notes which of the signals have no handler of the client, before libraries
// of an MPI install theirs; aq_fault_start catches these when all other handlers are installed. A
// fault that is not recognized goes on to the earlier handler, or ends the process with a core
// file.
void aq_fault_note_signals(void);
void aq_fault_start(void);
