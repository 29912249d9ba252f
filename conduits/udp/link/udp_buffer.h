// SPDX-License-Identifier: BSD-3-Clause
// Memory of a receive side, the time at which its links are due, and the end of its socket.
#pragma once

#include "udp_state.h"

// Makes sure that links are served at this time or earlier.
void udp_links_due(udp_conduit_t *udp, uint64_t when);

// Memory of zeros in cache lines of its own, so that threads of different receive sides do not
// disturb each other. The caller frees it with free. NULL: there is no memory.
void *udp_alloc_lines(size_t bytes);

// A buffer that the caller owns until it puts it back. Ends the job when memory is exhausted: to
// drop received datagrams instead would make peers wait for ever.
udp_buffer_t *udp_buffer_take(udp_conduit_t *udp);
void udp_buffer_put(udp_conduit_t *udp, udp_buffer_t *buffer);

// Ends the job, with one message, because socket.broken is set. Returns if another thread is about
// to do so, or if the job is ending already.
void udp_end_without_socket(const udp_conduit_t *udp);

static inline void udp_check_socket(const udp_conduit_t *udp)
{
    if (__builtin_expect(atomic_load_explicit(&udp->socket.broken, memory_order_relaxed), 0))
        udp_end_without_socket(udp);
}
