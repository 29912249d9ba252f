// Several instances of conduit ibv in one process, connected by fake verbs devices that copy memory
// at once, for tests that count what the devices are asked to do. One thread.
//
//      fake_fabric_request(from, to) -> aq_ibv_send -> post_send, which copies into a buffer or
//                                                      into memory
//      fake_fabric_poll(node)        -> aq_ibv_poll -> handler, which counts, and replies if the
//                                                      request asks for it
#ifndef FAKE_FABRIC_H
#define FAKE_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../conduits/ibv/ibv_conduit.h"

enum { FAKE_NODES = 80 };

// What the device of a node was asked to do, and what the handlers of the node saw.
typedef struct fake_counts {
    unsigned posts, works, signaled; // calls of post_send; what they posted
    unsigned sends, writes, reads;   // kinds of work requests
    unsigned send_polls, receive_polls;
    unsigned refills, refilled; // calls of post_srq_recv; the buffers that they posted
    unsigned waits;             // messages that found no buffer at this node
    unsigned least_buffers;     // the fewest buffers that were posted here at a time
    unsigned requests, replies; // that handlers received
} fake_counts_t;

typedef struct fake_node {
    aq_ibv_conduit_t *ibv;
    bool cut_off; // everything that it sends fails
    bool starved; // and the reason is that the peer has no buffers
    fake_counts_t counts;
} fake_node_t;

extern fake_node_t fake_nodes[FAKE_NODES];

// Size of the receive queue of a device, in buffers; 0: enough for any test. Set it before start.
extern unsigned fake_most_buffers;

// Starts so many nodes, with the present settings (GASNET_...). None is connected.
void fake_fabric_start(unsigned nodes, bool threads);
void fake_fabric_end(void);

// The link between two nodes; connects them on first use.
aq_ibv_peer_t *fake_fabric_link(unsigned from, unsigned to);

// Sends a Medium of so many bytes, 0: a Short.
aq_status_t fake_fabric_request(unsigned from, unsigned to, size_t bytes, bool wants_reply);

unsigned fake_fabric_poll(unsigned node);

// Polls all nodes until nothing arrives any more.
void fake_fabric_settle(void);

// One request and its reply, and whatever follows from them.
void fake_fabric_round(unsigned from, unsigned to, bool wants_reply);

void fake_fabric_clear_counts(void);

#endif
