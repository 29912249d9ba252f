// SPDX-License-Identifier: BSD-3-Clause
// The messages of a trace, from the send to the handler.
#pragma once

#include "../input/view_trace.h"

typedef struct aq_view_message {
    const aq_view_event_t *sent, *handled; // events of phases s and f
} aq_view_message_t;

typedef struct aq_view_messages {
    aq_view_message_t *messages; // those with both ends in the trace, by receiver and its time
    size_t count;
    size_t sent, handled; // all, also those with one end
} aq_view_messages_t;

// False: memory is out.
bool aq_view_messages_find(const aq_view_trace_t *trace, aq_view_messages_t *messages);
void aq_view_messages_free(aq_view_messages_t *messages);

// The latest message that a rank handled between two times, or NULL.
const aq_view_message_t *aq_view_messages_last(const aq_view_messages_t *messages, uint32_t rank,
                                               int64_t from, int64_t to);

// From the send to the handler, in ns; below 0 if clocks differ.
static inline int64_t aq_view_latency(const aq_view_message_t *message)
{
    return message->handled->start - message->sent->start;
}
