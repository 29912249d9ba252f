// SPDX-License-Identifier: BSD-3-Clause
// The receiver: runs the handler of a message.
#pragma once

#include "large_state.h"

// Work: runs the handler of a message, and begins with its data.
aq_large_turn_t aq_large_handle(aq_large_work_t *work);

// The same for a message that is dropped: tells its sender.
aq_large_turn_t aq_large_drop(aq_large_work_t *work);
