// Put and get between processes of a host by one copy, which the kernel makes, with
// GASNET_SEGMENT_EVERYTHING: all memory of a process may be accessed, and little of it is mapped
// here.
#ifndef AQ_NEIGHBOUR_COPY_H
#define AQ_NEIGHBOUR_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "conduit.h"

// Once, after the conduits are open.
void aq_neighbour_copy_start(void);

// Performs a put or get to memory of the first endpoint of a rank. False: the segment is not all
// memory, the rank is no neighbour, the kernel does not allow the access, or the memory does not
// exist there; the bytes may have been copied in part. If the kernel allows no access at all, one
// rank of the neighbourhood says so, once. Any thread; does not block.
bool aq_neighbour_copy(const aq_rma_t *rma, uint32_t rank);

#endif
