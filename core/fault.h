// Faults of puts, gets and atomics on mapped memory.
//
// The client's code performs these without a call of the library, and without a check. A wrong
// address that is not mapped in this process raises SIGSEGV or SIGBUS in the client's code. Such a
// fault is recognized by its address: it is beside the mapping of a rank's segment, where conduits
// leave AQ_SEGMENT_GUARD bytes without access, or it is where this process would have mapped the
// address NULL of that rank. Then the job ends with a sentence.
#ifndef AQ_FAULT_H
#define AQ_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "segment_map.h"

// Call it before and after handlers of the debugging aids are installed: the first call notes which
// of the signals have no handler of the client, the second call catches these. A fault that is not
// recognized goes on to the handler of the debugging aids, or ends the process like before.
void aq_fault_note_signals(void);
void aq_fault_start(void);

// How a fault is related to the memory of a rank: to its segment of endpoint ep.
typedef aq_segment_near_t aq_fault_place_t;

// Whether an access of this process to an address here was probably one to another rank's memory,
// and which one. Async-signal-safe.
bool aq_fault_find(uintptr_t here, aq_fault_place_t *place);

#endif
