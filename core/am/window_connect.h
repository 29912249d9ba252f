// SPDX-License-Identifier: BSD-3-Clause
// How two windows connect: the first message between their endpoints starts it (window_ask.h), and
// travels between the receive sides of endpoint 0 meanwhile.
//
//     window i of this process                         window j of the peer
//     "endpoint i reaches me thus: ..." ---------->    connects to window i
//     connects to window j, may send   <----------     "endpoint j reaches me thus: ..."
//
// The peer's requests to window i wait until the peer has asked, too: only the answer tells it that
// window i has connected. Its replies need not wait.
#pragma once

// Registers the handler of questions and answers; once, at init.
void aq_window_connect_start(void);
