// SPDX-License-Identifier: BSD-3-Clause
// Headers: their bytes, and how they leave.
#pragma once

#include "large_state.h"

// Whether an earlier message of the same source waits for its team, so that this one has to wait,
// too. If none does, notes whether this message itself waits.
bool aq_large_is_behind(gasnetx_Large_t message, bool waits);

// Sends the header of a message of this rank. Without a cookie, `bytes` are the data.
void aq_large_header_send(uint32_t jobrank, aq_msg_head_t *head, const gasnetx_params_t *params,
                          const void *bytes);

// Reads what a peer has sent. Returns NULL, or what is wrong, to be read after "is wrong: ".
const char *aq_large_header_read(const uint8_t *payload, size_t nbytes, aq_large_header_t *header);

// The order of the headers of a rank. With the lock. NULL: there is none yet, and `make` is false.
aq_order_t *aq_large_order(uint32_t jobrank, bool make);

// Copies `count` bytes, which may be 0, and returns the place behind them.
uint8_t *aq_large_bytes_append(uint8_t *to, const void *bytes, size_t count);

// Whether the data of a message may go with its header.
bool aq_large_is_eager(uint32_t jobrank, size_t nbytes);
