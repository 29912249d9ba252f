// SPDX-License-Identifier: BSD-3-Clause
// Headers that arrive.
#pragma once

#include "large_state.h"

// Adds the headers that have waited while this rank had stopped receiving to the work of the task.
void aq_large_headers_go_on(void);
