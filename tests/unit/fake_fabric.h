// Processes of conduit ibv in one process, joined by verbs devices that copy memory at once: for
// tests that count what the devices are asked to do. One thread.
//
//      fake_fabric_request(from, to) -> aq_ibv_send -> post_send: copied into a buffer or into
//      memory fake_fabric_poll(node) -> aq_ibv_poll -> handler, which counts, and replies where it
//      is to
#ifndef FAKE_FABRIC_H
#define FAKE_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../conduits/ibv/ibv_conduit.h"

enum { FAKE_NODES = 80 };

// What one node's device was asked, and what its handlers saw.
typedef struct fake_counts {
    unsigned posts, works, signaled; // calls of post_send; what they posted
    unsigned sends, writes, reads;   // of those
    unsigned send_polls, receive_polls;
    unsigned refills, refilled; // calls of post_srq_recv; the buffers that they posted
    unsigned waits;             // a message found no buffer at this node
    unsigned least_buffers;     // that were ever posted here
    unsigned requests, replies; // that handlers had
} fake_counts_t;

typedef struct fake_node {
    aq_ibv_conduit_t *ibv;
    bool cut_off; // whatever it sends fails
    bool starved; // then: since the peer has no buffers
    fake_counts_t counts;
} fake_node_t;

extern fake_node_t fake_nodes[FAKE_NODES];

// Buffers that a device's receive queue has room for; 0: more than anybody wants. Set before start.
extern unsigned fake_most_buffers;

// So many, with what the settings say (GASNET_...). All are unconnected.
void fake_fabric_start(unsigned nodes, bool threads);
void fake_fabric_end(void);

// The connection, made on first use.
aq_ibv_peer_t *fake_fabric_link(unsigned from, unsigned to);

// Sends a Medium of so many bytes, 0: a Short.
aq_status_t fake_fabric_request(unsigned from, unsigned to, size_t bytes, bool wants_reply);

unsigned fake_fabric_poll(unsigned node);

// Polls all until nothing comes any more.
void fake_fabric_settle(void);

// One request and its answer, with nothing left under way.
void fake_fabric_round(unsigned from, unsigned to, bool wants_reply);

void fake_fabric_clear_counts(void);

#endif
