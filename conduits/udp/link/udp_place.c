// SPDX-License-Identifier: BSD-3-Clause
// Places, which name memory of a rank in frames: udp_send.c and udp_rma.c convert addresses of the
// peer to places, udp_receive.c and udp_rma.c convert received places to memory of this process.
#include "udp_place.h"

#include <inttypes.h>

#include "../../../core/ground/fatal.h"

uint64_t udp_place_of(const udp_conduit_t *udp, uint32_t rank, const void *addr)
{
    const aq_conduit_env_t *env = udp->base.env;
    const uintptr_t offset = (uintptr_t)addr - env->segment_addr[rank];
    if (env->segment_mode != AQ_SEGMENT_EVERYTHING && !env->segment_sparse &&
        offset < env->segment_size[rank])
        return udp_place_make(UDP_KEY_SEGMENT, offset);
    return udp_place_make(UDP_KEY_MEMORY, (uintptr_t)addr);
}

void *udp_place_memory(const udp_conduit_t *udp, uint32_t peer, uint64_t place, size_t nbytes)
{
    const aq_conduit_env_t *env = udp->base.env;
    const unsigned key = udp_place_key(place);
    const uint64_t offset = udp_place_offset(place);
    const bool whole = key == UDP_KEY_SEGMENT && !env->segment_sparse;
    const size_t size = whole ? env->segment_size[env->rank] : 0;
    if (whole && offset <= size && nbytes <= size - offset)
        return (void *)(env->segment_addr[env->rank] + (uintptr_t)offset);
    if (key == UDP_KEY_MEMORY && env->segment_holds((void *)(uintptr_t)offset, nbytes))
        return (void *)(uintptr_t)offset;
    aq_fatal("rank %u names %zu bytes at %#" PRIx64 " of segment key %u of rank %u, which are not "
             "in a segment; see that all ranks run the same program with the same library",
             peer, nbytes, offset, key, env->rank);
}

uint64_t udp_place_of_long(const udp_conduit_t *udp, uint32_t rank, const aq_am_t *am)
{
    return am->nbytes ? udp_place_of(udp, rank, am->dest) : (uintptr_t)am->dest;
}

void *udp_place_long(const udp_conduit_t *udp, uint32_t peer, uint64_t place, size_t nbytes)
{
    return nbytes ? udp_place_memory(udp, peer, place, nbytes) : (void *)(uintptr_t)place;
}
