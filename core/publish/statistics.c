// SPDX-License-Identifier: BSD-3-Clause
// Sums the resources of all conduits for the client: connections, memory.
#include <stddef.h>

#include "../aqueduct.h"
#include "../state/job.h"
#include "../endpoint/window.h"

void gasnetx_peer_costs(size_t *unspoken_bytes, size_t *connected_bytes, size_t *connections,
                        size_t *receive_buffers)
{
    aq_peer_costs_t sum = {0};
    for (unsigned i = 0; i < aq_job.conduit_count; i++) {
        aq_conduit_t *conduit = aq_job.conduits[i];
        if (conduit->ops->report.peer_costs)
            conduit->ops->report.peer_costs(conduit, &sum);
    }
    if (unspoken_bytes)
        *unspoken_bytes = sum.unspoken_bytes;
    if (connected_bytes)
        *connected_bytes = sum.connected_bytes;
    if (connections)
        *connections = sum.connections;
    if (receive_buffers)
        *receive_buffers = sum.receive_buffers;
}

void gasnetx_memory(size_t *peer_bytes, size_t *ring_bytes, size_t *bound_peers)
{
    size_t rings = 0;
    for (unsigned i = 0; i < aq_job.conduit_count; i++) {
        aq_conduit_t *conduit = aq_job.conduits[i];
        rings += conduit->ops->report.memory_bytes ? conduit->ops->report.memory_bytes(conduit) : 0;
    }
    rings += aq_window_memory_bytes();
    if (peer_bytes)
        *peer_bytes = sizeof *aq_job.link + sizeof *aq_job.shift + sizeof *aq_job.segment_addr +
                      sizeof *aq_job.segment_size;
    if (ring_bytes)
        *ring_bytes = rings;
    if (bound_peers)
        *bound_peers = atomic_load(&aq_job.bound_peers);
}
