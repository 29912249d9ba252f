// SPDX-License-Identifier: BSD-3-Clause
// The task of streams.
#pragma once

#include "stream_state.h"

// With the lock: whether no message of a direction waits for its handler, and no handler runs.
bool aq_stream_quiet(gasnetx_Stream_t stream, unsigned direction);

// Frees the messages of rounds that can never be complete.
void aq_stream_abandon(gasnetx_Stream_t stream);

void aq_stream_turn_register(void);
