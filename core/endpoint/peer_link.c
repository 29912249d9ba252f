// SPDX-License-Identifier: BSD-3-Clause
// Binds a rank to the first open conduit that reaches it. The inline aq_job_link comes here when
// this process first communicates with the rank.
#include "peer_link.h"

#include "../../other/base/probes.h"
#include "../ground/fatal.h"
#include "../ground/lock.h"
#include "../record/trace.h"

static aq_lock_t bind_lock;

// Describes endpoint 0 of a rank to the open conduit with this index.
static aq_peer_t peer_of(uint32_t rank, unsigned conduit)
{
    const char *descriptions = (const char *)aq_job.descriptions[conduit];
    const size_t bytes = aq_job.conduits[conduit]->ops->description_bytes;
    return (aq_peer_t){.rank = rank,
                       .description = descriptions ? descriptions + rank * bytes : ""};
}

// Returns the link, or 0 if no conduit reaches the rank.
static uintptr_t connect_peer(uint32_t rank)
{
    for (unsigned i = 0; i < aq_job.conduit_count; i++) {
        aq_conduit_t *conduit = aq_job.conduits[i];
        const aq_peer_t peer = peer_of(rank, i);
        void *link;
        if (!conduit->ops->match(conduit, &peer))
            continue;
        if (conduit->ops->connect(conduit, &peer, &link) != AQ_OK)
            break;
        aq_probe_connect(aq_job.rank, rank, conduit->ops->name);
        atomic_fetch_add_explicit(&aq_job.bound_peers, 1, memory_order_relaxed);
        if (i < atomic_load_explicit(&aq_job.unused_conduits, memory_order_relaxed))
            atomic_store_explicit(&aq_job.unused_conduits, i, memory_order_relaxed);
        return (uintptr_t)link | i;
    }
    return 0;
}

// Binds a rank unless another thread has bound it, and writes its link to *at.
static uintptr_t bind_once(uint32_t rank, atomic_uintptr_t *at)
{
    if (rank >= aq_job_present())
        aq_fatal("a message to rank %u of a job of %u ranks, which has not started it yet "
                 "(gasnetx_Job_Grow)",
                 rank, aq_job_present());
    aq_lock_take(&bind_lock);
    uintptr_t link = atomic_load_explicit(at, memory_order_relaxed);
    if (!link) {
        link = connect_peer(rank);
        atomic_store_explicit(at, link, memory_order_release);
    }
    aq_lock_drop(&bind_lock);
    if (link) {
        aq_trace_instant(AQ_TRACE_NET, AQ_TRACED_CONNECT, rank, 0);
        return link;
    }
    aq_job_exit_if_ended(); // then the peer has left, which is no fault
    aq_fatal("no conduit reaches rank %u of %u", rank, aq_job.size);
}

uintptr_t aq_job_own_link(void)
{
    const uintptr_t link = atomic_load_explicit(&aq_job.own_link, memory_order_acquire);
    return link ? link : bind_once(aq_job.rank, &aq_job.own_link);
}

uintptr_t aq_job_bind(uint32_t rank)
{
    AQ_CHECK(rank < aq_job.size, "rank %u is not in this job of %u ranks", rank, aq_job.size);
    if (rank != aq_job.rank || !aq_job.conduits[AQ_LOOPBACK])
        return bind_once(rank, &aq_job.link[rank]);
    atomic_store_explicit(&aq_job.link[rank], AQ_LOOPBACK, memory_order_release);
    return AQ_LOOPBACK;
}
