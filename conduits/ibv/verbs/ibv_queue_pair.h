// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs that this conduit connects without librdmacm: those of rails (ibv_rail_setup.c), and
// all that are connected by datagrams (ibv_connect_ud.c). Each side describes its end to the other
// one, and takes its own queue pair through the states of verbs:
//
//      RESET -- aq_ibv_pair_init --> INIT -- aq_ibv_pair_connect --> RTR --> RTS
//
// With XRC (ibv_xrc.h) a connection has a queue pair for each direction, and the device accepts
// fewer attributes for each:
//
//      sending      INIT -- aq_ibv_pair_connect_sending --> RTR --> RTS
//      receiving    INIT -- aq_ibv_pair_connect_receiving --> RTR
#pragma once

#include "ibv_path.h"

// One end of a connection, as its peer has to know it.
typedef struct aq_ibv_pair_info {
    aq_ibv_port_address_t port;
    uint32_t number; // of the queue pair; 24 bits
    uint32_t psn;    // of the first packet that it sends; 24 bits
    uint8_t mtu;     // of its path: enum ibv_mtu
    uint8_t reads;   // RDMA reads and atomics that it answers at a time
    uint16_t link;   // aq_ibv_link_t
} aq_ibv_pair_info_t;

// What to do when the peer has no buffer for a message (RNR).
typedef struct aq_ibv_pair_rnr {
    uint8_t timer;   // how long the peer's queue pair asks for, as verbs encode it; 0: 655 ms
    uint8_t retries; // 7: without end
} aq_ibv_pair_rnr_t;

// To INIT, on the port and in the partition of its path. access: of enum ibv_access_flags, what the
// peer may do. Returns 0 or an errno.
int aq_ibv_pair_init(struct ibv_qp *qp, const aq_ibv_path_source_t *from, unsigned access);

// From INIT to RTS. mine is what the peer learned of this end. Returns 0 or an errno. ENONET: the
// ports are of different kinds of network. ETIMEDOUT: the system did not learn the peer's address
// on an Ethernet in time; the queue pair is still in INIT, and another attempt may succeed. Blocks
// for up to a second in that case.
int aq_ibv_pair_connect(struct ibv_qp *qp, const aq_ibv_path_source_t *from,
                        const aq_ibv_pair_info_t *mine, const aq_ibv_pair_info_t *theirs,
                        aq_ibv_pair_rnr_t rnr);

// ---- XRC ----

// A sending queue pair like one of another type, without what is for receiving. NULL: errno.
struct ibv_qp *aq_ibv_pair_make_sending(struct ibv_pd *pd, const struct ibv_qp_init_attr *like);

// As aq_ibv_pair_connect. theirs: the receiving queue pair of the other side.
int aq_ibv_pair_connect_sending(struct ibv_qp *qp, const aq_ibv_path_source_t *from,
                                const aq_ibv_pair_info_t *mine, const aq_ibv_pair_info_t *theirs,
                                uint8_t rnr_retries);

// A receiving queue pair of a domain, and one that another process of the domain has made. NULL:
// errno.
struct ibv_qp *aq_ibv_pair_make_receiving(struct ibv_context *verbs, struct ibv_xrcd *domain);
struct ibv_qp *aq_ibv_pair_open_receiving(struct ibv_context *verbs, struct ibv_xrcd *domain,
                                          uint32_t number);

// As aq_ibv_pair_connect. theirs: the sending queue pair of the other side; mine: of this side only
// the MTU, the reads and the kind of network.
int aq_ibv_pair_connect_receiving(struct ibv_qp *qp, const aq_ibv_path_source_t *from,
                                  const aq_ibv_pair_info_t *mine, const aq_ibv_pair_info_t *theirs,
                                  uint8_t rnr_timer);

// Nothing arrives at a queue pair any more, and all that is outstanding on it fails. No effect if
// it has failed already.
void aq_ibv_pair_stop(struct ibv_qp *qp);
