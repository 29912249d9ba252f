// SPDX-License-Identifier: BSD-3-Clause
// Fake devices with extended reliable connections: 3 hosts with 4 ranks each, all in this process,
// with the parts of conduit ibv that connect and send. The devices have what the specification says
// of XRC: a sending queue pair reaches, by its receiving one, the shared receive queue that the
// work request names, if that is of the same domain; and a domain is that of a file.
//
//      aq_ibv_post --> post_send --> fake_messages, if all numbers fit
//                                --> completions, unless they are held
#ifndef FAKE_XRC_H
#define FAKE_XRC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../../conduits/ibv/connect/ibv_connect_ud.h"
#include "../../../conduits/ibv/send/ibv_send_queue.h"

enum {
    FAKE_HOSTS = 3,
    FAKE_EACH = 4, // ranks of a host
    FAKE_RANKS = FAKE_HOSTS * FAKE_EACH,
    FAKE_ELSEWHERE = FAKE_RANKS - FAKE_EACH,
    FAKE_DEPTH = 16,     // entries of a send queue
    FAKE_UNSIGNALED = 4, // of these without a completion
    POSTED = 256,
    COMPLETIONS = 1024,
    ADDRESS_BYTES = 20,
};

typedef struct queue {
    struct ibv_cq cq;
    struct ibv_wc all[COMPLETIONS];
    unsigned in, out;
} fake_queue_t;

enum { SENT, RECEIVED, DATAGRAMS_IN, DATAGRAMS_OUT, OF_WINDOW, QUEUES = OF_WINDOW + 2 };

typedef struct domain {
    struct ibv_xrcd xrcd;
    ino_t inode;
} fake_domain_t;

typedef struct message {
    uint32_t from, to, value;
} fake_message_t;

typedef struct node {
    struct verbs_context verbs;
    struct ibv_pd pd;
    struct ibv_mr mr;
    fake_domain_t domain;
    struct ibv_srq srq;
    fake_queue_t queues[QUEUES];
    unsigned queues_made;
    struct ibv_sge slots[POSTED];
    uint64_t ids[POSTED];
    unsigned posted, used;
    bool is_deaf;        // datagrams to this node are lost
    bool is_held;        // its work requests do not complete yet
    uint32_t broken;     // so is the sending queue pair of that number; 0: none
    unsigned opened;     // receiving queue pairs of other ranks
    unsigned unanswered; // attempts to connect a queue pair that end with ETIMEDOUT
    aq_conduit_env_t env;
    aq_boot_t boot;
    aq_ibv_losses_t losses;
    aq_ibv_addresses_t addresses;
    aq_ibv_address_row_t rows[FAKE_RANKS];
    uint32_t numbers[FAKE_RANKS];
    uint8_t list[FAKE_HOSTS * ADDRESS_BYTES];
    aq_ibv_device_t device;
    aq_ibv_limits_t limits;
    aq_ibv_queues_t own_queues;
    aq_ibv_peers_t peers;
    aq_ibv_send_queue_t send_queue;
    aq_ibv_xrc_t xrc;
    aq_ibv_end_t end;
    aq_ibv_connector_t connector;
} fake_node_t;

extern fake_node_t fake_nodes[FAKE_RANKS];
extern uint32_t fake_host_of_rank[FAKE_RANKS];
extern fake_message_t fake_messages[]; // all that arrived, in their order
extern unsigned fake_message_count, fake_pairs_made;

// Set-up and tear-down of a test.
int fake_xrc_start(void **state);
int fake_xrc_end(void **state);

// The address of the port of a host.
aq_ibv_port_address_t fake_xrc_address(uint32_t host);

// What was held completes.
void fake_xrc_release(fake_node_t *node);

// How many queue pairs of a type the ranks of a host have made.
unsigned fake_xrc_count(enum ibv_qp_type type, uint32_t host);

#endif
