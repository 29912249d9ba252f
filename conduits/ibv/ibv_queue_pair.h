// Queue pairs that this conduit connects without librdmacm: those of rails (ibv_rail_setup.c), and
// all that are connected by datagrams (ibv_connect_ud.c). Each side describes its end to the other
// one, and takes its own queue pair through the states of verbs:
//
//      RESET -- aq_ibv_pair_init --> INIT -- aq_ibv_pair_connect --> RTR --> RTS
#ifndef AQ_IBV_QUEUE_PAIR_H
#define AQ_IBV_QUEUE_PAIR_H

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
// ports are of different kinds of network. ETIMEDOUT: nobody told the system the peer's address on
// an Ethernet; the queue pair is still in INIT, and another attempt may succeed. Blocks for up to a
// second in that case.
int aq_ibv_pair_connect(struct ibv_qp *qp, const aq_ibv_path_source_t *from,
                        const aq_ibv_pair_info_t *mine, const aq_ibv_pair_info_t *theirs,
                        aq_ibv_pair_rnr_t rnr);

#endif
