// SPDX-License-Identifier: BSD-3-Clause
// Headers that arrive.
#ifndef AQ_LARGE_ARRIVE_H
#define AQ_LARGE_ARRIVE_H

#include "large_state.h"

// Adds the headers that have waited while this rank had stopped receiving to the work of the task.
void aq_large_headers_go_on(void);

#endif
