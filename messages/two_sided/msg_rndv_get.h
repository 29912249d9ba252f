// SPDX-License-Identifier: BSD-3-Clause
// Rendezvous get: the receiver fetches the bytes of an announced message.
#pragma once

#include "msg_state.h"

// Tells the sender of an RTS that no receive will take it; also in a handler.
void aq_msg_rts_drop(const aq_msg_head_t *rts);

// Begins to fetch the bytes of the RTS of a receive, as many as its memory holds; also in a
// handler.
void aq_msg_rndv_get(gasnetx_Request_t receive);

// The first asks for some bytes of the RTS of a receive that has a cookie; the second tells the
// sender that no more will be asked for. False: there is no room now. Not in a handler.
bool aq_msg_rndv_get_ask(gasnetx_Request_t receive, uint64_t offset, size_t bytes);
bool aq_msg_rndv_get_end(const aq_msg_head_t *rts);

// Advances all gets. Not in a handler.
void aq_msg_rndv_gets_turn(void);

// Registers a handler of pieces that have arrived: replies to gets, or requests.
void aq_msg_piece_register(int handler, gex_Flags_t kind, const char *name);

void aq_msg_rndv_get_register(void);
