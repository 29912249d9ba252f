// SPDX-License-Identifier: BSD-3-Clause
// The handlers of a stream at this rank.
#pragma once

#include "stream_state.h"

// Returns NULL, or what is wrong with the entries of a client.
const char *aq_stream_entries_check(const gasnetx_stream_entry_t *entries, size_t count);

// Makes the tables of a stream from its spec, with the rounds of synchronizing handlers; the edges
// and the inbox are there. Ends the job if memory is out.
void aq_stream_entries_make(gasnetx_Stream_t stream);
void aq_stream_entries_free(gasnetx_Stream_t stream);
