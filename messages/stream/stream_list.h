// SPDX-License-Identifier: BSD-3-Clause
// The streams of this process, those of them that have work, and checks of their calls.
#pragma once

#include "stream_state.h"

// Whether this thread runs a function of the client for a stream.
extern _Thread_local bool aq_stream_in_handler __attribute__((tls_model("initial-exec")));

extern aq_lock_t aq_streams_lock;
extern gasnetx_Stream_t aq_streams; // streams leave it only while aq_streams_turning is held, too
extern atomic_bool aq_streams_turning;
extern struct aq_task aq_stream_task; // busy: once for each active stream

// Returns the handler of an id, or NULL.
aq_stream_handler_t *aq_stream_handler(gasnetx_Stream_t stream, unsigned direction, uint32_t id);

// Checks that a call may be made: there is a job, and the stream is not the null handle of ranks
// that do not take part. sends: not in a handler of an active message (debug builds). Returns
// GASNET_OK or GASNET_ERR_BAD_ARG (logged).
int aq_stream_check(const char *call, gasnetx_Stream_t stream, bool sends);

gasnetx_Stream_t aq_stream_find(uint64_t id); // NULL: there is none

void aq_stream_activate(gasnetx_Stream_t stream); // with the lock
