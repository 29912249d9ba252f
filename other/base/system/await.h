// SPDX-License-Identifier: BSD-3-Clause
// Waits for a descriptor with a limit, which signals do not shorten.
#pragma once

#include <stdbool.h>

// Blocks until one of the events of poll(2), or an error, is there on the descriptor; at most
// timeout_ms, -1: without limit. False: the time is over, or poll fails. Any thread.
bool aq_await(int fd, short events, int timeout_ms);
