// SPDX-License-Identifier: BSD-3-Clause
// Sends on streams.
#pragma once

#include "stream_state.h"

// What to send. data NULL with nbytes 0 is allowed.
typedef struct aq_stream_parcel {
    uint32_t id, source, flags;
    const void *data, *params;
    size_t nbytes, params_bytes;
} aq_stream_parcel_t;

// Sends to the edges of a span; as gasnetx_Stream_Send, without checks. ALWAYS: in a handler; the
// message may wait for room beyond the limit, and the call succeeds.
#define AQ_STREAM_ALWAYS ((gex_Flags_t)1 << 31)
int aq_stream_send(gasnetx_Stream_t stream, aq_stream_span_t span, const aq_stream_parcel_t *parcel,
                   gex_Flags_t flags);

// Sends the messages that wait at an edge, as far as there is room. Blocks for room of the core
// unless flags has IMMEDIATE. Returns whether anything was sent.
bool aq_stream_flush(gasnetx_Stream_t stream, uint32_t edge, gex_Flags_t flags);

// With the lock: whether a message waits that could be sent; whether any message waits.
bool aq_stream_can_flush(gasnetx_Stream_t stream);
bool aq_stream_waits(gasnetx_Stream_t stream, aq_stream_span_t span);
