// SPDX-License-Identifier: BSD-3-Clause
// Memory, as it travels.
#ifndef AQ_UDP_PLACE_H
#define AQ_UDP_PLACE_H

#include "udp_state.h"

// How memory of a rank travels, and the reverse: memory of this process that a peer names. The
// latter ends the job unless all of it lies in a segment (with AQ_SEGMENT_EVERYTHING: anywhere).
uint64_t udp_place_of(const udp_conduit_t *udp, uint32_t rank, const void *addr);
void *udp_place_memory(const udp_conduit_t *udp, uint32_t peer, uint64_t place, size_t nbytes);

// As udp_place_of, for the destination of a Long. The address of a Long without payload is data for
// the handler: all of its 64 bits are sent, without a key, and the receiver neither validates nor
// accesses that memory.
uint64_t udp_place_of_long(const udp_conduit_t *udp, uint32_t rank, const aq_am_t *am);
void *udp_place_long(const udp_conduit_t *udp, uint32_t peer, uint64_t place, size_t nbytes);

#endif
