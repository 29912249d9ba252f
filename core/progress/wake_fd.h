// SPDX-License-Identifier: BSD-3-Clause
// The descriptor of a process that becomes readable when there is work for a poll: an eventfd, for
// clients that sleep in poll, epoll or io_uring.
//
//     client                          any thread that finds work or has done some
//     aq_wake_fd_enter
//     polls once more
//     sleeps on the descriptor <----- aq_wake_fd_ring
//     aq_wake_fd_leave
//
// The first ring makes the descriptor readable, and it stays so until the last thread has left:
// each thread that sleeps on it wakes up.
#pragma once

#include <stdbool.h>

// Returns the descriptor, which is made at the first call. Negative: there is none (errno). Any
// thread; does not block.
int aq_wake_fd_open(void);

// Before a thread looks for work for the last time; and when it is awake, after which the
// descriptor is not readable unless other threads still sleep on it. Any thread.
void aq_wake_fd_enter(void);
void aq_wake_fd_leave(void);

// Makes the descriptor readable if a thread sleeps on it, or is about to. Any thread; does not
// block.
void aq_wake_fd_ring(void);

// Whether the descriptor is readable.
bool aq_wake_fd_has_rung(void);
