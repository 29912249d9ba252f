// SPDX-License-Identifier: BSD-3-Clause
// All memory of a process as one region, with a device that pages on demand whatever the process
// has mapped (implicit ODP): nothing is pinned, and one key serves for all addresses.
//
//      here        [ port 0 ] [ port 1 ]                    regions of this process
//      there       [ rank 0: ports ] [ rank 1: ports ] ...  keys for peers, in modes LARGE and
//                                                           EVERYTHING
//
// What is always true:
// - The device decides at each access whether there is such memory: an operation at an address that
//   is not mapped fails.
// - In mode FAST the region is for this process only: peers have the keys of its segment.
// - Nothing changes after aq_ibv_implicit_odp_publish, so readers take no lock.
#pragma once

#include "../../../spawner/boot/boot.h"
#include "../verbs/ibv_memory.h"
#include "../ports/ibv_rail_ports.h"

typedef struct aq_ibv_implicit_odp {
    struct ibv_mr *here[AQ_IBV_RAIL_PORTS_MAX]; // by port; NULL: none
    uint32_t *there;                            // NULL: no rank has such a key
    uint32_t ranks, ports;                      // of the job; of the rank that has most
    bool everywhere;                            // every rank has such a key, at its first port
} aq_ibv_implicit_odp_t;

// Registers all memory at each port whose device can do that and is to (GASNET_USE_ODP); or
// nothing, if that is not so at the first one. memory: of the first port; rails: see
// aq_ibv_keys_setup_t. Warns if a device refuses.
void aq_ibv_implicit_odp_register(aq_ibv_implicit_odp_t *odp, aq_ibv_memory_t *memory,
                                  const aq_ibv_rail_ports_t *rails, bool for_peers);
void aq_ibv_implicit_odp_release(aq_ibv_implicit_odp_t *odp, aq_ibv_memory_t *memory,
                                 const aq_ibv_rail_ports_t *rails);

// Collective over the job: tells all ranks the keys for peers, and learns theirs. Logs faults.
aq_status_t aq_ibv_implicit_odp_publish(aq_ibv_implicit_odp_t *odp, aq_boot_t *boot);
void aq_ibv_implicit_odp_free(aq_ibv_implicit_odp_t *odp);

// The key here at a port; 0: none.
static inline uint32_t aq_ibv_implicit_odp_key(const aq_ibv_implicit_odp_t *odp, unsigned port)
{
    return odp->here[port] ? odp->here[port]->lkey : 0;
}

// The key of all memory of a rank, at one of its ports; 0: none.
static inline uint32_t aq_ibv_implicit_odp_key_of(const aq_ibv_implicit_odp_t *odp, uint32_t rank,
                                                  unsigned port)
{
    return odp->there && port < odp->ports ? odp->there[(size_t)rank * odp->ports + port] : 0;
}

// Bytes of the keys of all ranks.
static inline size_t aq_ibv_implicit_odp_table_bytes(const aq_ibv_implicit_odp_t *odp)
{
    return odp->there ? (size_t)odp->ranks * odp->ports * sizeof *odp->there : 0;
}
