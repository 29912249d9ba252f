// SPDX-License-Identifier: BSD-3-Clause
// A stack for the handlers of faults, since a thread that has used up its own cannot run them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Gives the calling thread such a stack, until the thread ends, unless it has one (sigaltstack).
// If memory is out, the thread goes on without one. Does not block.
void aq_fault_stack_give(void);

// Whether a fault at this address shows that the thread has used up its stack: the address is near
// the stack pointer of this signal context. Async-signal-safe.
bool aq_fault_stack_is_used_up(const void *context, uintptr_t addr);

// The size of the stack of the calling thread in bytes; 0: unknown or without limit.
// Async-signal-safe.
uint64_t aq_fault_stack_limit(void);
