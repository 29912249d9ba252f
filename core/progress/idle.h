// SPDX-License-Identifier: BSD-3-Clause
// The client's idle function (gasnetx_Progress_OnIdle).
#pragma once

#include <stdbool.h>

#include "../aqueduct.h"

// Calls the function, unless a thread is in it. Returns whether it did something.
unsigned aq_idle_turn(void);

// The calling thread, one of the library, never calls the function.
void aq_idle_exclude_thread(void);

// Sets the function; NULL: none. Waits for the function before to return. False: called in it.
bool aq_idle_set(gasnetx_idle_t function, void *context);
