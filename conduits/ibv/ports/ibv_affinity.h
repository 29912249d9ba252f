// SPDX-License-Identifier: BSD-3-Clause
// Which ports a process uses, by its ranks and its affinity (ibv_select.h, ibv_distance.h).
#pragma once

#include "../../../core/conduit.h"
#include "ibv_ports.h"

// As aq_ibv_choose, with the filter that GASNET_IBV_PORTS_TYPE gives to this process, which
// choice->filter is then; with type Auto, one port. Collective with type Auto, which is therefore
// the same at all ranks: a process that could not read its ports calls without ports. Blocks.
// AQ_ERR_CONFIG: the type or a filter is wrong. AQ_ERR_RESOURCE: no memory, or no ports. errbuf has
// the message (none if there are no ports), and nothing is logged. Other errors: those of the
// exchange, logged.
aq_status_t aq_ibv_affinity_choose(const aq_conduit_env_t *env, aq_ibv_choice_t *choice,
                                   char *errbuf, size_t errbuf_size);

// Prints which rank of a host would take which port, and why, for as many ranks as this host has
// processors, at most 8.
void aq_ibv_report_ranks(const aq_ibv_ports_t *ports, size_t rails,
                         void (*print)(void *arg, const char *label, const char *text), void *arg);

// The network of a process, as the others learn it.
typedef struct aq_ibv_network {
    char device[AQ_IBV_NAME_BYTES], host[64];
    uint32_t port, link; // aq_ibv_link_t
    uint8_t subnet[8];   // InfiniBand: the prefix of the GID
    bool datagrams;      // librdmacm cannot make connections
    bool xrc;            // it can use XRC, and is to
} aq_ibv_network_t;

// Whether two processes can reach each other, as far as that is known before packets are sent:
// their ports are of the same kind of network; on InfiniBand also of the same subnet, unless
// librdmacm, which knows routers, can connect them. No address of RoCE says which others it
// reaches. If the first uses XRC, the other one has to. False: errbuf names the ranks, hosts and
// ports, and the remedy.
bool aq_ibv_networks_meet(const aq_ibv_network_t *mine, uint32_t rank,
                          const aq_ibv_network_t *first, uint32_t first_rank, char *errbuf,
                          size_t errbuf_size);
