// SPDX-License-Identifier: BSD-3-Clause
// The ports over which a process spreads large puts and gets: its first port (ibv_device.h), which
// also carries all messages, and further ones.
//
//      port 0   port 1 of mlx5_0    librdmacm, messages, atomics, puts and gets
//      port 1   port 1 of mlx5_1    puts and gets; a device context and a protection domain of its
//      ...                          own, so the same memory has another key there
//
// What is always true:
// - A process has one port unless its host has several that are alike: of the same kind of network
//   and the same MTU. See aq_ibv_ports_wanted for how many are used.
// - A link has queue_pairs queue pairs, number i on port i % count. Number 0 is the first one of
// the
//   link; ibv_rail_state.h has the others.
#pragma once

#include <infiniband/verbs.h>

#include "../verbs/ibv_memory.h"
#include "../verbs/ibv_path.h"
#include "ibv_ports.h"

enum {
    AQ_IBV_RAIL_PORTS_MAX = 8,
    AQ_IBV_RAILS_MAX = 64, // queue pairs of a link
};

typedef struct aq_ibv_rail_port {
    char device[AQ_IBV_NAME_BYTES];
    uint8_t number;
    aq_ibv_link_t link;
    enum ibv_mtu mtu; // active
    aq_ibv_port_address_t address;
    uint8_t gid_index;
    uint8_t reads; // RDMA reads of a connection that may be outstanding, at most
    // Set by open; for port 0 those of the first port.
    aq_ibv_path_t path; // of packets
    struct ibv_context *verbs;
    struct ibv_pd *pd;
    aq_ibv_memory_t *memory; // what is registered
    aq_ibv_memory_t own;     // memory of all but port 0
} aq_ibv_rail_port_t;

typedef struct aq_ibv_rail_ports {
    unsigned count;       // 0 or 1: only the first port
    unsigned queue_pairs; // of a link, as far as the peer has as many; 1: there are no rails
    aq_ibv_rail_port_t list[AQ_IBV_RAIL_PORTS_MAX];
} aq_ibv_rail_ports_t;

// Takes the ports that a choice uses (aq_ibv_choose). choice->uses then says why others are not
// used beside the first. AQ_ERR_CONFIG: the filter, if not empty, names ports that are not alike;
// errbuf has the message, and nothing is logged.
aq_status_t aq_ibv_rail_ports_choose(aq_ibv_rail_ports_t *rails, const aq_ibv_choice_t *choice,
                                     char *errbuf, size_t errbuf_size);

// Where the paths from a port of this process begin.
aq_ibv_path_source_t aq_ibv_rail_source(const aq_ibv_rail_port_t *port);

// Opens the further ports that were chosen. Port 0 is open: `first` has what open sets. A port that
// cannot be opened is left out, with a warning. Tries on-demand paging where a port would use it.
void aq_ibv_rail_ports_open(aq_ibv_rail_ports_t *rails, const aq_ibv_rail_port_t *first);
void aq_ibv_rail_ports_close(aq_ibv_rail_ports_t *rails);

static inline bool aq_ibv_rails_exist(const aq_ibv_rail_ports_t *rails)
{
    return rails->queue_pairs > 1;
}
