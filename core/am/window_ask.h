// SPDX-License-Identifier: BSD-3-Clause
// Asks a peer to connect two windows; window_connect.h has the picture, and the answer.
#pragma once

#include "am.h"
#include "../endpoint/window.h"

enum { AQ_HANDLER_WINDOW = AQ_HANDLER_LONG_PIECE - 1 };

typedef enum aq_window_verdict {
    AQ_WINDOW_ASKS,      // of a question
    AQ_WINDOW_CONNECTED, // the description is that of the window
    AQ_WINDOW_ABSENT,    // there is no such endpoint: ask again later
    AQ_WINDOW_NEVER,     // that endpoint gets no window
} aq_window_verdict_t;

// Question and answer, as they travel.
typedef struct aq_window_hello {
    uint16_t from, to; // endpoints of the sender and of the receiver
    uint8_t conduit;   // index in aq_job.conduits
    uint8_t verdict;   // aq_window_verdict_t
    uint8_t zero[2];
    char description[AQ_DESCRIPTION_BYTES];
} aq_window_hello_t;

// The message that carries *hello, which has to live as long as the message.
aq_am_t aq_window_message(const aq_window_hello_t *hello);

// As aq_window_open; the polls of this process serve windows from now on.
aq_window_t *aq_window_use(gex_EP_Index_t endpoint);

// Asks a job rank to connect the windows of two endpoints, at most once. Does nothing if there is
// no room for a message now. Not in a handler.
void aq_window_ask(aq_ep_pair_t pair, uint32_t jobrank) __attribute__((cold));
