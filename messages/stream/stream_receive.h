// SPDX-License-Identifier: BSD-3-Clause
// Arrivals on streams, and control messages.
#pragma once

#include "stream_state.h"

// Control messages to a neighbour.
typedef enum aq_stream_control {
    AQ_STREAM_CREDIT, // messages, bytes
    AQ_STREAM_STOP,   // serial, whether receiving is stopped
    AQ_STREAM_END,    // messages
    AQ_STREAM_BYE     // control messages
} aq_stream_control_t;

// Puts a message of an edge that has arrived into the inbox; owns the message.
void aq_stream_arrive(gasnetx_Stream_t stream, aq_stream_message_t *message);

void aq_stream_control(gasnetx_Stream_t stream, uint32_t edge, aq_stream_control_t kind, uint64_t a,
                       uint64_t b);

// Counts the handled messages of an edge, and returns credits once enough are handled.
void aq_stream_return_credits(gasnetx_Stream_t stream, uint32_t edge, aq_stream_load_t load);

// With the lock: counts a message as dropped.
void aq_stream_count_dropped(gasnetx_Stream_t stream, size_t nbytes);

void aq_stream_receive_register(void);
