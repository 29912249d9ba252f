// SPDX-License-Identifier: BSD-3-Clause
// The task that does the work of large messages.
#pragma once

#include "large_state.h"

// Adds work, which has its turns in the order in which it was added. Any thread, in a handler too.
void aq_large_add(aq_large_work_t *work);
void aq_large_append(aq_large_work_t *work); // with the lock

void aq_large_task_start(void);

// Whether this thread runs a function of the client for a large message.
bool aq_large_inside(void);
