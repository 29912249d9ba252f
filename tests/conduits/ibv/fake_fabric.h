// SPDX-License-Identifier: BSD-3-Clause
// Several instances of conduit ibv in one process, connected by fake verbs devices that copy memory
// at once, for tests that count the requests to the devices. All calls come from one thread, but
// the send thread of a node may reap beside it.
//
//      fake_fabric_request(from, to) -> aq_ibv_send -> post_send, which copies into a buffer or
//                                                      into memory
//      fake_fabric_poll(node)        -> aq_ibv_poll -> handler, which counts, and replies if the
//                                                      request wants a reply
#ifndef FAKE_FABRIC_H
#define FAKE_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../conduits/ibv/ibv_conduit.h"

enum { FAKE_NODES = 80 };

// Counts of the requests to a node's device, and of the messages to the node's handlers.
typedef struct fake_counts {
    unsigned posts, works, signaled; // calls of post_send; work requests, and the signaled ones
    unsigned sends, writes, reads;   // work requests by kind
    unsigned send_polls, receive_polls;
    unsigned notifies;          // calls of ibv_req_notify_cq
    unsigned refills, refilled; // calls of post_srq_recv; buffers that those calls posted
    unsigned waits;             // messages that found no buffer at this node
    unsigned least_buffers;     // the fewest buffers that were posted here at any time
    unsigned requests, replies; // messages that handlers received
} fake_counts_t;

typedef struct fake_node {
    aq_ibv_conduit_t *ibv;
    bool cut_off; // everything that this node sends fails
    bool starved; // with cut_off: sends fail because the peer has no buffers
    fake_counts_t counts;
} fake_node_t;

extern fake_node_t fake_nodes[FAKE_NODES];

// Size of a device's receive queue, in buffers; 0: enough for any test. Set before
// fake_fabric_start.
extern unsigned fake_most_buffers;

// Called when a completion queue gets a completion after ibv_req_notify_cq. NULL: nothing is.
extern void (*fake_fabric_event)(struct ibv_cq *cq);

// Starts `nodes` nodes with the current settings (GASNET_...). No nodes are connected yet.
void fake_fabric_start(unsigned nodes, bool threads);

// The same for nodes that are windows: node n is endpoint 1 + n % endpoints of rank n / endpoints.
// The windows of a rank do not connect to each other.
void fake_fabric_start_windows(unsigned ranks, unsigned endpoints);
void fake_fabric_end(void);

// The link between two nodes; connects them on first use.
aq_ibv_peer_t *fake_fabric_link(unsigned from, unsigned to);

// Sends a Medium of `bytes` bytes, or a Short if `bytes` is 0.
aq_status_t fake_fabric_request(unsigned from, unsigned to, size_t bytes, bool wants_reply);

unsigned fake_fabric_poll(unsigned node);

// Polls all nodes until no more messages arrive.
void fake_fabric_settle(void);

// Sends one request, with a reply if wanted, and polls until no more messages arrive.
void fake_fabric_round(unsigned from, unsigned to, bool wants_reply);

void fake_fabric_clear_counts(void);

#endif
