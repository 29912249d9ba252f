// SPDX-License-Identifier: BSD-3-Clause
// Memory of a receive side, the time at which its links are due, and the end of its socket.
#include "udp_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "../../../core/ground/fatal.h"

enum { LINE = 64 }; // bytes of a cache line

void *udp_alloc_lines(size_t bytes)
{
    const size_t whole = (bytes + LINE - 1) / LINE * LINE;
    void *memory = aligned_alloc(LINE, whole);
    return memory ? memset(memory, 0, whole) : NULL;
}

static udp_buffer_t *make_buffer(void)
{
    udp_buffer_t *buffer = udp_alloc_lines(sizeof *buffer);
    uint8_t *bytes = aligned_alloc(64, UDP_SLOT_BYTES);
    if (!buffer || !bytes) {
        free(buffer);
        free(bytes);
        return NULL;
    }
    *buffer = (udp_buffer_t){.bytes = bytes};
    return buffer;
}

udp_buffer_t *udp_buffer_take(udp_conduit_t *udp)
{
    aq_lock_take(&udp->pool.lock);
    udp_buffer_t *buffer = udp->pool.free;
    if (buffer)
        udp->pool.free = buffer->next;
    else if ((buffer = make_buffer()))
        udp->pool.count++;
    aq_lock_drop(&udp->pool.lock);
    if (!buffer)
        aq_fatal("out of memory for the next datagram (%zu buffers of %d bytes are in use); run "
                 "fewer ranks on this host, or raise the limit of memory",
                 atomic_load(&udp->pool.count), UDP_SLOT_BYTES);
    return buffer;
}

void udp_buffer_put(udp_conduit_t *udp, udp_buffer_t *buffer)
{
    aq_lock_take(&udp->pool.lock);
    buffer->next = udp->pool.free;
    udp->pool.free = buffer;
    aq_lock_drop(&udp->pool.lock);
}

void udp_links_due(udp_conduit_t *udp, uint64_t when)
{
    uint64_t known = atomic_load_explicit(&udp->links.deadline, memory_order_relaxed);
    while (when < known && !atomic_compare_exchange_weak(&udp->links.deadline, &known, when))
        ;
}

void udp_end_without_socket(const udp_conduit_t *udp)
{
    static atomic_flag reported = ATOMIC_FLAG_INIT;
    if (aq_boot_ended(udp->base.env->boot) || atomic_flag_test_and_set(&reported))
        return;
    aq_fatal("the UDP socket of this rank is unusable (%s); check whether the program, or one of "
             "its libraries, closes file descriptors that it did not open",
             strerror(atomic_load(&udp->socket.broken)));
}
