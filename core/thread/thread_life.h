// SPDX-License-Identifier: BSD-3-Clause
// The life of a thread: its number, and work at its end.
#pragma once

#include <stdint.h>

// The number of the calling thread, from 1; no other thread of this process ever has it. Does not
// block.
uint64_t aq_thread_number(void);

// Work at the end of a thread. Thread-local memory of the caller, zero but for run.
typedef struct aq_thread_end {
    void (*run)(void);
    struct aq_thread_end *next;
} aq_thread_end_t;

// Calls end->run when the calling thread ends, the latest one first, in that thread. run may use
// the library, and so add ends again. The destructors of the client's thread-specific data may run
// later and use the library, too. So call this on each first use, also after run. end may be added
// again only after run. Does not block. Ends the job if the client uses all keys of the system.
void aq_thread_at_end(aq_thread_end_t *end);
