// SPDX-License-Identifier: BSD-3-Clause
// The ofi conduit: what a process has of it, and the functions of its parts.
//
//   send -> credit -> frame in the open packet of the peer -> fi_inject or fi_send
//             ^                                                        |
//             |                                                 the network
//             |                                                        v
//             '-- reply, or returned credits <-- handler <-- queue <-- inbox, posted before
//
// What is always true:
// - Requests and replies travel in packets of their own. For each credit of a peer, and for each
//   request of this process that has no answer yet, there is room in the posted inboxes. So a
//   message finds its buffer, and a poll for replies gets past requests, which wait in a queue.
// - A message goes into the open packet of its link, which leaves with the next poll that is no
//   sender's, or when it is full. So many small operations share a packet.
// - Packets that the provider does not take now stay in the list of their link, in order.
// - The lock is held in all calls of libfabric (FI_THREAD_DOMAIN) and when shared state changes. No
//   handler runs under the lock.
#pragma once

#include "../../../core/thread/thread.h"
#include "ofi_buffers.h"
#include "../fabric/ofi_limits.h"
#include "ofi_lost.h"

enum { OFI_BATCH_PUTS = 64 }; // counters of puts that one batch completes

// What a thread does that waits for long.
typedef enum ofi_wait {
    OFI_WAIT_SPIN, // it polls on
    OFI_WAIT_NAP,  // it sleeps for short times
    OFI_WAIT_FD,   // it sleeps on the descriptor of the provider, where there is one, else as NAP
} ofi_wait_t;

// The packets of a class that a link has to send: the last one is open.
typedef struct ofi_outbox {
    ofi_packet_t *first, *last;
} ofi_outbox_t;

typedef struct ofi_link {
    aq_credit_t credit;
    fi_addr_t address;
    uint32_t rank;
    uint32_t taken; // requests of the peer whose credit was not returned: at most its credits
    ofi_outbox_t out[OFI_CLASSES];
    struct ofi_link *next_open; // of the links that there are
    struct ofi_link *next_dirty;
    bool dirty;            // in the list of links that have something to send
    bool credits_due;      // the banked credits have to be returned
    bool dead;             // an operation with the peer failed
    bool told;             // that the peer is silent
    bool moved;            // something left for the peer or came from it since the last look
    uint32_t silent_looks; // one after another, at which something waited and nothing had moved
    uint32_t accesses;     // to its memory, which the provider has
    uint64_t sent, left;   // request packets that were opened, and that the provider has taken
} ofi_link_t;

// A packet that has arrived, or what is left of it.
typedef struct ofi_arrived {
    struct ofi_arrived *next;
    ofi_inbox_t *inbox;
    ofi_link_t *link;
    char *bytes;
    uint32_t size, ran; // ran: the offset of the next frame
    uint32_t batch;     // of puts; 0: none
    uint8_t class;
} ofi_arrived_t;

typedef struct ofi_queue {
    ofi_arrived_t *first, **last;
} ofi_queue_t;

// The puts of one packet, until the peer says that they are in place.
typedef struct ofi_batch {
    ofi_link_t *link; // NULL: not in use
    unsigned count;   // of counters
    struct {
        atomic_uint *pending;
        unsigned puts;
    } counters[OFI_BATCH_PUTS];
} ofi_batch_t;

// The peers, and when to look at them; of ofi_link.c.
typedef struct ofi_links {
    const char *names;    // of the endpoints of all ranks, each fabric.name_bytes long
    ofi_link_t **by_rank; // NULL: no link yet
    ofi_link_t *open;     // those that there are
    unsigned patience_s;  // for which nothing moves, before a notice
    uint64_t next_look;   // for silent peers, of aq_clock_ns
} ofi_links_t;

// The puts that travel in packets; of ofi_send.c.
typedef struct ofi_batches {
    ofi_batch_t list[OFI_REQUESTS_MAX];
    unsigned next, used;
} ofi_batches_t;

// The packets that wait for a poll; of ofi_receive.c.
typedef struct ofi_queues {
    ofi_queue_t of[OFI_CLASSES];
    ofi_arrived_t *free;
    atomic_uint waiting; // packets in the queues
} ofi_queues_t;

// How threads wait; of ofi_sleep.c.
typedef struct ofi_sleeping {
    ofi_wait_t wait;
    int bell; // an eventfd that wakes sleepers
    atomic_uint sleepers;
} ofi_sleeping_t;

typedef struct ofi_counts {
    uint64_t messages, packets, received_messages, received_packets, puts, gets;
    uint64_t foreign; // messages of others than ranks, which were dropped
} ofi_counts_t;

typedef struct ofi_conduit {
    aq_conduit_t base; // first member
    aq_lock_t lock;
    ofi_fabric_t fabric;
    ofi_buffers_t buffers;
    ofi_losses_t losses;
    uint64_t job;        // what headers of this job have
    uint64_t first_key;  // of the regions of a provider in software
    size_t packet_bytes; // the longest packet
    size_t coalesce;     // the longest put that travels in a packet
    ofi_links_t links;
    unsigned idle_polls;
    ofi_link_t *dirty;
    aq_credit_limits_t limits;
    aq_credit_pool_t pool;
    unsigned sends, sends_most; // requests that the provider has, and may have
    ofi_batches_t batches;
    ofi_queues_t queues;
    atomic_uint sender_polls;
    ofi_sleeping_t sleeping;
    struct ofi_rma_state *rma; // of ofi_rma.c
    ofi_counts_t counts;
} ofi_conduit_t;

static inline ofi_conduit_t *ofi_of(aq_conduit_t *conduit)
{
    return (ofi_conduit_t *)(void *)conduit;
}

// ---- ofi_link.c: under the lock ----

// Tells all ranks the address of this one's endpoint, and learns theirs. Collective. Logs faults.
aq_status_t ofi_links_open(ofi_conduit_t *ofi);

// The link to a rank, made on first use; NULL: there is no memory, or the provider refuses the
// address (logged).
ofi_link_t *ofi_link_get(ofi_conduit_t *ofi, uint32_t rank);

// For idle polls and sleeps: looks once a second for peers for which something waits and with which
// nothing moves, and warns once if that lasts for patience_s.
void ofi_links_watch(ofi_conduit_t *ofi);

// An operation with the peer of a link failed with an error of libfabric, a positive number.
void ofi_link_failed(ofi_conduit_t *ofi, ofi_link_t *link, int error);

// ---- ofi_send.c ----

// Send and requests_flushed of aq_conduit_ops_t.
aq_status_t ofi_send(aq_conduit_t *conduit, void *link, const aq_am_t *am);
bool ofi_requests_flushed(aq_conduit_t *conduit, void *link, uint64_t *mark);

// Puts the front of a put that is at most `coalesce` bytes long into the open packet. AQ_AGAIN:
// there is no credit now. Takes the lock.
aq_status_t ofi_send_put(ofi_conduit_t *ofi, ofi_link_t *link, aq_rma_t *put);

// The functions below require the lock.

// Adds a frame of the conduit itself, without a destination, to the open packet of a class. A
// request has its credit already.
void ofi_send_own(ofi_conduit_t *ofi, ofi_link_t *link, unsigned class, const ofi_frame_t *frame,
                  const int32_t *args, const void *payload);
// The credits of a link have to be returned, with the next packet or without.
void ofi_owe_credits(ofi_conduit_t *ofi, ofi_link_t *link);
// Gives the open packets to the provider, as far as it takes them. Returns their number.
unsigned ofi_flush(ofi_conduit_t *ofi);
// A packet has left.
void ofi_sent(ofi_conduit_t *ofi, ofi_packet_t *packet);
// The peer says that the puts of a batch are in place; false: there is no such batch.
bool ofi_batch_done(ofi_conduit_t *ofi, const ofi_link_t *link, uint32_t number);

// ---- ofi_receive.c ----

// Counts a message that no rank of the job has sent. Under the lock.
void ofi_drop_foreign(ofi_conduit_t *ofi);

// An inbox has got a packet (bytes > 0), or is full. Under the lock.
void ofi_received(ofi_conduit_t *ofi, ofi_inbox_t *inbox, char *packet, size_t bytes, bool is_full);
// Runs the frames of some packets of the classes in `what`. Returns the number of frames. Takes the
// lock at times.
unsigned ofi_deliver(ofi_conduit_t *ofi, unsigned what);

// ---- ofi_poll.c ----

unsigned ofi_poll(aq_conduit_t *conduit, unsigned what);
// Reads completions of the provider. Returns their number. Under the lock.
unsigned ofi_progress(ofi_conduit_t *ofi);

// ---- ofi_sleep.c: see aq_conduit_ops_t ----

aq_status_t ofi_sleep_open(ofi_conduit_t *ofi);
uint32_t ofi_arm(aq_conduit_t *conduit);
void ofi_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns);
void ofi_disarm(aq_conduit_t *conduit);
void ofi_wake(aq_conduit_t *conduit, bool neighbourhood);
