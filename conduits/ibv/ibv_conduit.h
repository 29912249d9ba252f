// The ibv conduit inside: a verbs device (InfiniBand, RoCE, iWARP), its queues, its memory, its
// peers.
//
// What is always true:
// - A peer that was never spoken to has no queue pair and no link. A connection is made by
//   librdmacm when one of two processes first wants the other; a thread of the conduit answers
//   those who call, so that a process that computes can be connected to.
// - All messages arrive in buffers of one shared receive queue. A request takes a credit, whose
//   buffer is ready at the receiver; the reply finds the buffer that its request's sender has
//   posted for it. So the device never has to wait for a buffer (RNR), as long as there are no more
//   peers than credits; beyond that it waits and sends again by itself.
// - The number of everything is decided at the start: buffers, operations, credits. What finds none
//   is told AQ_AGAIN. Whatever an operation holds is given back by its completion, which needs the
//   peer's device and not its process: so replies always get through.
// - Names begin with aq_ibv_, since ibv_ is what libibverbs calls its own.
//
//      send ----> credit, operation, bounce buffer ----> send queue of the link ----> device
//      put, get ------^                                                                 |
//                                                                                       v
//      operation is over <---- aq_ibv_reap <----------- send completions <----------- device
//      handler <---- queue of requests or replies <---- receive completions <- shared queue
//
//   ibv_conduit.c  open, describe, close; the table    ibv_send.c     messages out
//   ibv_device.c   device, limits, shared objects      ibv_receive.c  messages in
//   ibv_buffer.c   buffers and operations              ibv_ring.c     messages by RDMA
//   ibv_connect.c  the thread that connects            ibv_rma.c      put and get
//   ibv_peer.c     links, and what ends them           ibv_rma_ondemand.c    put and get that have
//   to ask ibv_sleep.c    waiting                             ibv_atomic.c   remote atomics
//   ibv_dump.c     what is under way, for the user
#ifndef AQ_IBV_CONDUIT_H
#define AQ_IBV_CONDUIT_H

#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>

#include "../../core/conduit.h"
#include "../../core/cookie.h"
#include "../common/credit.h"
#include "../../core/lock.h"
#include "ibv_addresses.h"
#include "ibv_firehose.h"
#include "ibv_proof.h"
#include "ibv_thread.h"

enum {
    AQ_IBV_BUFFER_BYTES = 4096, // the longest message, with its header
    AQ_IBV_BATCH = 16,          // completions that are taken out at once
    AQ_IBV_RING_LOOKS = 8,      // at rings, in a poll of who spins
    AQ_IBV_LIST_MOST = 16,      // operations that are posted together
    AQ_IBV_INLINE_MOST = 128,   // longer ones cost each entry of every send queue more than a copy
    AQ_IBV_RING_SLOTS = 32,     // the most that a ring may have
    AQ_IBV_FOOTER_BYTES = 16,   // behind a message in a ring
};

// ---- what travels ----

// Messages of the conduit itself, beside the categories.
enum {
    AQ_IBV_CREDITS = AQ_AM_LONG + 1, // a hidden reply: takes credits back
    AQ_IBV_ASK,                      // a hidden request: leave your ring here, and answer
    // Both written as a Medium is: what firehoses ask and answer, and puts and gets that the peer
    // has to copy.
    AQ_IBV_FIREHOSE,
    AQ_IBV_COPY,
};

// Flags.
enum {
    AQ_IBV_REPLY = 1,
    AQ_IBV_PACKED = 2,
    AQ_IBV_LEFT = 4,      // the sender has left its ring at the receiver
    AQ_IBV_ANSWER = 8,    // to AQ_IBV_ASK
    AQ_IBV_UNCOUNTED = 16 // a reply to a request that came by a ring, and took no credit
};

// A message: this, the arguments up to a multiple of 8, of a Long its place (8 bytes), the payload
// of a Medium or of a packed Long. In the byte order of the machine: all processes run on the same
// kind.
typedef struct aq_ibv_head {
    uint32_t source;
    uint32_t nbytes;  // of the payload, packed or not
    uint16_t credits; // banked ones that go back with this message
    uint8_t kind;     // aq_am_category_t or one of the above
    uint8_t flags;
    uint8_t handler;
    uint8_t nargs;
    uint8_t ring;       // 0: no news; a ring for the receiver, from 1 on
    uint8_t ring_slots; // slots of the receiver's ring that are free again; see ibv_ring.c
} aq_ibv_head_t;

_Static_assert(sizeof(aq_ibv_head_t) == 16, "arguments begin at a multiple of 8");

static inline size_t aq_ibv_place_at(unsigned nargs)
{
    return sizeof(aq_ibv_head_t) + ((nargs * sizeof(int32_t) + 7) & ~(size_t)7);
}

static inline size_t aq_ibv_payload_at(unsigned category, unsigned nargs)
{
    return aq_ibv_place_at(nargs) + (category == AQ_AM_LONG ? sizeof(uint64_t) : 0);
}

// ---- memory ----

// Which atomics the device may do on memory here. See ibv_atomic.c.
typedef enum aq_ibv_atomics {
    AQ_IBV_ATOMICS_NONE,
    AQ_IBV_ATOMICS_ALONE, // where nothing else does any on the same memory
    AQ_IBV_ATOMICS_ALL,   // they are atomic beside those of processors
} aq_ibv_atomics_t;

// A registered buffer: for messages that arrive, or to send from.
typedef struct aq_ibv_buffer {
    struct aq_ibv_buffer *next;
    uint8_t *bytes;
    uint32_t nbytes; // that have arrived
    struct aq_ibv_pool *home;
    struct aq_ibv_ring *ring; // whose slot this is; NULL: it is a buffer of its own
    bool owed;                // arrived, and no other one was posted in its place yet
} aq_ibv_buffer_t;

typedef struct aq_ibv_pool {
    aq_lock_t lock;
    aq_ibv_buffer_t *free;
    aq_ibv_buffer_t *all;
    unsigned count;
    size_t bytes; // of each buffer
} aq_ibv_pool_t;

struct aq_ibv_peer;

// An entry of a send queue, from when it is posted to its completion.
typedef struct aq_ibv_op {
    struct aq_ibv_op *next;
    struct aq_ibv_op *before; // that is complete when this one is; NULL: none
    struct aq_ibv_peer *link;
    aq_ibv_buffer_t *buffer; // that it uses; NULL: none
    atomic_uint *pending;    // that counts a put or get; NULL: it is no such thing
    aq_ibv_hold_t hold;      // of memory here that the device uses in place
    aq_ibv_hold_t there;     // of the peer's memory
    void *into;              // a get through the buffer: where its bytes belong
    uint32_t nbytes;
    unsigned silent; // messages before it that are complete when it is
    bool untold;     // it is complete when a later one is
} aq_ibv_op_t;

// ---- peers ----

typedef enum aq_ibv_state {
    AQ_IBV_IDLE,
    AQ_IBV_CALLING,   // we asked for the connection
    AQ_IBV_ANSWERING, // the peer did, and we agreed
    AQ_IBV_READY,
    AQ_IBV_FAILED,
} aq_ibv_state_t;

typedef struct aq_ibv_peer {
    struct aq_ibv_peer *next; // all links of the process
    uint32_t rank;
    struct rdma_cm_id *id; // has the queue pair; changed under connect_lock until READY
    aq_ibv_state_t state;  // under connect_lock
    unsigned tries;
    uint8_t called[AQ_IBV_NONCE_BYTES]; // of our last request; under connect_lock, as the next
    aq_ibv_heard_t heard_calls;
    unsigned grant;           // what we granted
    atomic_bool started;      // the credits below count
    atomic_bool dead;         // nothing completes any more
    aq_ibv_atomics_t atomics; // on its memory
    atomic_uint slots;        // free entries of its send queue
    atomic_uint silent;       // posted ones without an operation, behind the last that has one
    aq_credit_t credit;

    // The rings of the peer, and the one of them that is for us.
    uint64_t rings_at;
    uint32_t rings_key, ring_depth;
    aq_lock_t ring_lock;   // of the next four; held while a write to the ring is posted
    _Atomic uint64_t ring; // where it is; 0: none
    uint32_t ring_slots;   // that are free
    uint32_t ring_position;
    unsigned ring_generation;
    atomic_bool ring_left;   // to be said with the next message
    atomic_bool ring_answer; // AQ_IBV_ASK is to be answered

    // What the peer is to learn with the next message: a ring (see aq_ibv_head_t), and slots of its
    // own ring that are free again, with the generation of the ring.
    _Atomic uint8_t ring_news;
    atomic_uint ring_back;
    // Under the conduit's receiving lock.
    struct aq_ibv_ring *owned; // that it writes here; NULL: none
    unsigned owned_generation;
    uint32_t heard;   // messages in this cycle
    uint32_t regains; // who lost its ring since we slept gets one again with so many more
} aq_ibv_peer_t;

// A ring that a peer writes here.
typedef struct aq_ibv_ring {
    uint8_t *bytes;
    aq_ibv_peer_t *owner; // NULL: it is free
    bool leaving, left;   // the owner was asked to leave it, and has
    uint32_t seen;        // messages that were taken out
    aq_lock_t lock;       // of what follows
    atomic_uint done;     // messages whose slots went back
    uint32_t over;        // a bit for each slot behind those whose handler has returned
    aq_ibv_buffer_t slots[AQ_IBV_RING_SLOTS];
} aq_ibv_ring_t;

// Messages that have arrived and wait for a poll that may run their handlers.
typedef struct aq_ibv_queue {
    aq_ibv_buffer_t *first, **last;
    atomic_uint count;
} aq_ibv_queue_t;

// What puts and gets that had to ask wait for: room to send. See ibv_rma_ondemand.c.
typedef struct aq_ibv_waiting {
    aq_lock_t lock;
    struct aq_ibv_transfer *transfers;
    struct aq_ibv_letter *letters;
    atomic_bool any;
    atomic_uint answers; // of the letters
    atomic_uint begun;   // transfers that are not over
    aq_lock_t copies_lock;
    aq_cookies_t copies; // of the transfers that the peer copies, until its answer
} aq_ibv_waiting_t;

// How much there is of everything: what the settings ask for and the device has.
typedef struct aq_ibv_limits {
    aq_credit_limits_t credits;
    unsigned depth_each, depth_total; // send queue entries of a link, of the process
    unsigned silent_each;             // entries without an operation, of a link
    unsigned silent_total;            // and of all: the completion queue has room for them as well
    unsigned arrivals;                // buffers in the shared receive queue, that have to be there
    unsigned ahead;                   // and further ones, to replace several at a time
    unsigned grants;                  // of those, for requests
    unsigned ring_replies;            // and for replies to requests that went by rings
    unsigned bounces, large_bounces;
    unsigned inline_bytes;                  // most that travels in the work request
    size_t packed_long;                     // longest Long whose payload travels with its header
    size_t bounce_bytes;                    // a large bounce buffer
    size_t operation_bytes;                 // longest put or get of the device
    unsigned rings, ring_depth, ring_cycle; // GASNET_AMRDMA_...
    size_t ring_bytes;                      // the longest message that goes into a ring
    uint64_t apart_ns;                      // between operations that are not of one burst
    uint8_t reads;                          // RDMA reads of a connection that may be under way
    uint32_t regions;                       // that the device can keep registered
    bool in_software;                       // the kernel does the device's work
} aq_ibv_limits_t;

// Short puts and gets to one peer that are to be posted together, by the next poll at the latest.
typedef struct aq_ibv_list {
    aq_lock_t lock;
    atomic_uint count;
    _Atomic uint64_t last; // when an operation was posted or put here
    aq_ibv_peer_t *link;
    aq_ibv_op_t *ops[AQ_IBV_LIST_MOST];
    struct ibv_send_wr wr[AQ_IBV_LIST_MOST];
    struct ibv_sge pieces[AQ_IBV_LIST_MOST];
    uint8_t bytes[AQ_IBV_LIST_MOST][AQ_IBV_INLINE_MOST]; // of those that travel inline
} aq_ibv_list_t;

typedef struct aq_ibv_conduit {
    aq_conduit_t base;
    aq_ibv_limits_t limits;
    uint32_t peers; // processes that are reached through the device

    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    struct sockaddr_storage here; // with its port
    aq_ibv_addresses_t addresses;
    struct ibv_context *verbs; // the device, librdmacm's
    uint8_t port;
    struct ibv_pd *pd;
    struct ibv_comp_channel *completions; // wakes sleepers
    int bell;                             // an eventfd that does so too
    bool thread_wanted;                   // GASNET_RCV_THREAD, where several threads may be inside
    aq_ibv_thread_t *thread;              // NULL: there is none
    aq_ibv_thread_setup_t thread_setup;
    aq_ibv_source_t arrivals_source; // what wakes it
    atomic_uint sleepers;
    struct ibv_cq *send_cq, *receive_cq;
    struct ibv_srq *srq;

    void *slab; // all buffers, one registration
    size_t slab_bytes;
    struct ibv_mr *slab_mr;
    aq_ibv_pool_t arrivals; // those that are not posted
    aq_ibv_pool_t bounces, large_bounces;
    aq_lock_t op_lock;
    aq_ibv_op_t *free_ops, *ops;
    atomic_uint ops_used;
    atomic_uint silent; // entries of send queues without an operation
    atomic_uint idle_reaps;
    aq_ibv_list_t list;

    aq_ibv_atomics_t atomics; // on memory here
    atomic_ulong atomics_begun;
    aq_ibv_memory_t memory; // what is registered
    aq_ibv_keys_t keys;     // for the segments, and for other memory here

    pthread_t connector;
    int wake_connector; // an eventfd
    atomic_bool closing;
    pthread_mutex_t connect_lock;
    pthread_cond_t connected;
    _Atomic(aq_ibv_peer_t *) *link_of; // by rank; NULL: never spoken to
    _Atomic(aq_ibv_peer_t *) links;
    atomic_uint link_count;
    atomic_uint queue_pairs; // of links, and of calls that came to nothing until they are over
    unsigned calling, most_calling; // links that are, were at the same time; under connect_lock
    atomic_uint grants_left;
    unsigned ungranted; // peers that have no grant yet
    atomic_bool losing; // a peer was lost, the first one
    char lost_why[320]; // the sentence for that, when the next is not 0
    _Atomic uint64_t lost_at;

    // Active messages by RDMA, under the receiving lock.
    uint8_t *rings_at;
    aq_ibv_ring_t *rings, **active_rings;
    atomic_uint rings_active;
    unsigned ring_turn;
    unsigned ring_turns;      // of polls that found messages in rings
    unsigned rings_leaving;   // that were left, and have something in them still
    unsigned heard;           // messages in this cycle
    atomic_uint nap;          // doublings of the next sleep beside rings
    unsigned long ring_looks; // into slots, whether a message was there or not
    atomic_uint rings_held;   // of peers, that are for us
    atomic_ulong rings_granted, rings_freed, ring_messages;

    aq_credit_pool_t credits;
    aq_lock_t reaping;   // only ever tried
    aq_lock_t receiving; // only ever tried
    atomic_uint sending_turns;
    aq_lock_t queue_lock;
    unsigned missing; // arrivals that were taken out and not replaced yet; under queue_lock
    aq_ibv_queue_t requests, replies;
    atomic_bool credits_due; // a hidden reply found no room
    atomic_ulong arrived;    // messages in receive buffers
    atomic_ulong copies;     // messages that had to be copied, since no buffer was spare
    aq_ibv_waiting_t waiting;
    atomic_ulong by_device; // puts and gets of the device
    atomic_ulong by_peer;   // pieces of them that the peer copied
} aq_ibv_conduit_t;

static inline aq_ibv_conduit_t *aq_ibv_of(aq_conduit_t *conduit)
{
    return (aq_ibv_conduit_t *)(void *)conduit;
}

// ---- ibv_conduit.c ----

// The longest messages, by what is known of the segments.
void aq_ibv_set_payloads(aq_ibv_conduit_t *ibv);

// ---- ibv_device.c ----

// Finds device and port and listens there; makes the objects that all connections share, with the
// limits. Logs faults.
aq_status_t aq_ibv_device_open(aq_ibv_conduit_t *ibv);
void aq_ibv_device_close(aq_ibv_conduit_t *ibv);

// Firehose, which gets what the buffers have left. Logs faults.
aq_status_t aq_ibv_keys_open(aq_ibv_conduit_t *ibv);

// How much there is to be of everything, but for what only the device itself can tell.
void aq_ibv_limits_find(aq_ibv_conduit_t *ibv, const struct ibv_device_attr *can,
                        const struct ibv_port_attr *port);

// ---- ibv_sleep.c ----

// What sleepers are woken by. False: the system refuses it; errno.
bool aq_ibv_sleep_open(aq_ibv_conduit_t *ibv);
void aq_ibv_sleep_close(aq_ibv_conduit_t *ibv);

// The receive thread, if it is wanted; AQ_ERR_RESOURCE: there can be none (logged).
aq_status_t aq_ibv_receiver_start(aq_ibv_conduit_t *ibv);

// See aq_conduit_ops_t.
uint32_t aq_ibv_arm(aq_conduit_t *conduit);
void aq_ibv_disarm(aq_conduit_t *conduit);
void aq_ibv_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns);
void aq_ibv_wake(aq_conduit_t *conduit, bool neighbourhood);

// ---- ibv_buffer.c ----

// All buffers and operations, as the limits say. Logs faults.
aq_status_t aq_ibv_buffers_open(aq_ibv_conduit_t *ibv);
void aq_ibv_buffers_close(aq_ibv_conduit_t *ibv);

// NULL: none is free now.
aq_ibv_buffer_t *aq_ibv_buffer_take(aq_ibv_pool_t *pool);
void aq_ibv_buffer_put(aq_ibv_buffer_t *buffer);

// An operation, with one entry of the link's send queue. NULL: none is free now.
aq_ibv_op_t *aq_ibv_op_take(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link);
void aq_ibv_op_put(aq_ibv_conduit_t *ibv, aq_ibv_op_t *op); // with its buffer

// An entry of the link's send queue alone, for a message that travels inline: it comes back with
// the next operation. False: it needs an operation now.
bool aq_ibv_silent_take(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link);

// Posts buffers for arrivals, a chain of them.
void aq_ibv_post_arrivals(aq_ibv_conduit_t *ibv, aq_ibv_buffer_t *first);

// ---- ibv_connect.c ----

// Starts the thread that makes and answers connections. Logs faults.
aq_status_t aq_ibv_connector_start(aq_ibv_conduit_t *ibv);
void aq_ibv_connector_stop(aq_ibv_conduit_t *ibv);

// See aq_conduit_ops_t.
aq_status_t aq_ibv_connect(aq_conduit_t *conduit, uint32_t rank, const char *description,
                           void **link);

// Connects to these ranks, a few at the same time, and waits for all. AQ_ERR_PEER: one cannot be
// reached (logged).
aq_status_t aq_ibv_connect_all(aq_ibv_conduit_t *ibv, const uint32_t *ranks, uint32_t count);

// ---- ibv_peer.c ----

// With connect_lock held: the link of a rank, made if there is none. NULL: no memory (logged).
aq_ibv_peer_t *aq_ibv_peer_get(aq_ibv_conduit_t *ibv, uint32_t rank);

// With connect_lock held: what the two sides granted each other; from here on requests may go.
void aq_ibv_peer_start(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_ibv_hello_t *theirs);

// The credits that this process has, and those that it can grant: all of them.
void aq_ibv_credits_open(aq_ibv_conduit_t *ibv);

// With connect_lock held: how many requests a new peer may have under way.
unsigned aq_ibv_peer_grant(aq_ibv_conduit_t *ibv);

// What this process has to say first to each peer, without nonce and proof (ibv_proof.h).
aq_ibv_hello_t aq_ibv_hello(const aq_ibv_conduit_t *ibv, unsigned grant);

// Whether what came with a request, or an accept of the call to link, is from a process of the job.
// Does not tell whether a request was heard before.
bool aq_ibv_request_genuine(const aq_ibv_conduit_t *ibv, const void *data, size_t bytes,
                            aq_ibv_hello_t *hello);
bool aq_ibv_accept_genuine(const aq_ibv_conduit_t *ibv, const aq_ibv_peer_t *link, const void *data,
                           size_t bytes, aq_ibv_hello_t *hello);

// An operation with a peer failed, or its connection ended. Unless the job is about to end, it does
// some moments later, with a message that names the peer. Any thread.
void aq_ibv_peer_lost(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const char *why);

// The same for what a completion with an error says of its connection.
void aq_ibv_peer_failed(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, enum ibv_wc_status status);

// The same where there is no connection, since all calls came to nothing; why: the last one.
void aq_ibv_peer_unreached(aq_ibv_conduit_t *ibv, const aq_ibv_peer_t *link,
                           const struct rdma_cm_event *why);

// If a peer was lost, blocks until the job ends.
void aq_ibv_peers_await_end(const aq_ibv_conduit_t *ibv);

// By the connector: ends the job if a peer was lost. Returns how long to wait until the next look,
// in ms; -1: none is needed.
int aq_ibv_peers_watch(aq_ibv_conduit_t *ibv);

// ---- ibv_dump.c ----

// See aq_conduit_ops_t.
void aq_ibv_dump_state(aq_conduit_t *conduit);

// ---- ibv_send.c ----

// See aq_conduit_ops_t.
aq_status_t aq_ibv_send(aq_conduit_t *conduit, void *link, const aq_am_t *am);

// Gives the resources of operations that are over back, and first posts those that wait in the
// list. Returns how many were over. Any thread.
unsigned aq_ibv_reap(aq_ibv_conduit_t *ibv);

// The same, without the list.
unsigned aq_ibv_reap_posted(aq_ibv_conduit_t *ibv);

// Waits until the device has done all operations, for a tenth of a second at most.
void aq_ibv_drain(aq_ibv_conduit_t *ibv);

// After the handler of a request of that peer returned without a reply.
void aq_ibv_bank(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link);

// Sends the hidden replies that found no room before.
void aq_ibv_send_due(aq_ibv_conduit_t *ibv);

// With the receiving lock held: asks the peer to leave its ring here. False: not now.
bool aq_ibv_send_ask(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link);

// The peer asked us that: tells it that we have, beside the credit of its request.
void aq_ibv_send_answer(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link);

// Whether the request whose handler runs in this thread came by a ring.
extern _Thread_local bool aq_ibv_answers_ring;

// One work request of the device. Signaled; its op is what completes. Without one, after
// aq_ibv_silent_take, nothing tells that it is complete but what is posted later.
typedef struct aq_ibv_work {
    aq_ibv_op_t *op; // or NULL
    enum ibv_wr_opcode opcode;
    const void *local;
    uint32_t nbytes, local_key;
    bool in_line; // copied by the call itself
    uint64_t remote;
    uint32_t remote_key;
    uint64_t operand1, operand2; // of an atomic
} aq_ibv_work_t;

// Posts up to 2 work requests, in their order. Completion is told by aq_ibv_reap, failure too.
void aq_ibv_post(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_ibv_work_t *work,
                 unsigned count);

// Posts a put or get, now or with those that follow, the next aq_ibv_post or aq_ibv_reap at the
// latest.
void aq_ibv_post_later(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_ibv_work_t *work);
void aq_ibv_post_list(aq_ibv_conduit_t *ibv);

// ---- ibv_ring.c ----

// How many rings there are to be; their memory, from *at on. False: no memory.
void aq_ibv_rings_limits(aq_ibv_conduit_t *ibv);
bool aq_ibv_rings_open(aq_ibv_conduit_t *ibv, uint8_t **at);

// With the link's ring_lock held: whether there is a ring of the peer's with a free slot.
static inline bool aq_ibv_ring_has_room(const aq_ibv_peer_t *link)
{
    return atomic_load_explicit(&link->ring, memory_order_relaxed) && link->ring_slots;
}

// Then, under the same lock: makes a write into that slot of the work request for a message of so
// many bytes, with room for a footer behind it.
void aq_ibv_ring_use(aq_ibv_peer_t *link, uint8_t *message, size_t bytes, aq_ibv_work_t *work);

// The bytes of such a write.
static inline size_t aq_ibv_ring_bytes(size_t bytes)
{
    return ((bytes + 7) & ~(size_t)7) + AQ_IBV_FOOTER_BYTES;
}

// Rings in the head of a message: what is to be said, and what was.
void aq_ibv_ring_say(aq_ibv_peer_t *link, aq_ibv_head_t *head);
void aq_ibv_ring_hear(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_ibv_head_t *head);

// The peer wants its ring back: what is sent from now on does not go there.
void aq_ibv_ring_leave(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link);

// With the receiving lock held: the next message in a ring; NULL: there is none. When its handler
// has returned: its slot is free.
aq_ibv_buffer_t *aq_ibv_rings_next(aq_ibv_conduit_t *ibv);
void aq_ibv_ring_done(aq_ibv_conduit_t *ibv, aq_ibv_buffer_t *buffer);

// With the receiving lock held: a message of at most ring_bytes came. Every so many of them it is
// decided who has a ring.
void aq_ibv_ring_count(aq_ibv_conduit_t *ibv, const aq_ibv_head_t *head);

// With the receiving lock held: frees the rings that were left and are empty.
void aq_ibv_rings_free_left(aq_ibv_conduit_t *ibv);

// Before a sleep, which a message in a ring does not end: asks all to leave theirs, if that is
// wanted. Returns true when there is none any more; else one sleeps for a short while only.
bool aq_ibv_rings_quiet(aq_ibv_conduit_t *ibv, bool ask);

// ---- ibv_receive.c ----

// See aq_conduit_ops_t.
unsigned aq_ibv_poll(aq_conduit_t *conduit, unsigned what);

// The same for the receive thread: see aq_ibv_thread_setup_t.
int aq_ibv_poll_by_thread(void *context);

// ---- ibv_rma.c ----

// See aq_conduit_ops_t.
aq_status_t aq_ibv_attach(aq_conduit_t *conduit, void *segment, size_t size);
aq_status_t aq_ibv_rma(aq_conduit_t *conduit, void *link, const aq_rma_t *rma, atomic_uint *pending,
                       size_t *begun);

// Whether memory of a rank is in what it attached and registered as a whole; hold: the key, and for
// how many of the bytes.
bool aq_ibv_attached(const aq_ibv_conduit_t *ibv, uint32_t rank, const void *memory, size_t nbytes,
                     aq_ibv_hold_t *hold);

// A put or get, or what is left of it.
typedef struct aq_ibv_rma {
    aq_ibv_peer_t *link;
    uintptr_t remote;
    char *local; // not written by a put
    size_t nbytes;
    bool is_get;
    bool stable; // the source of a put does not change before it is complete
    atomic_uint *pending;
} aq_ibv_rma_t;

// Begins it from its front on, with a key for the first bytes of the peer's memory. Returns how
// many bytes it begun; 0: there is no room now. From then on the hold is the operation's.
size_t aq_ibv_rma_begin(aq_ibv_conduit_t *ibv, const aq_ibv_rma_t *rma, const aq_ibv_hold_t *there);

// ---- ibv_rma_ondemand.c ----

// Begins one that has to ask the peer for a key first, as aq_conduit_ops_t has it.
aq_status_t aq_ibv_reach_begin(aq_ibv_conduit_t *ibv, const aq_ibv_rma_t *rma, size_t *begun);

// A request of firehose for a peer; see aq_ibv_keys_setup_t. The context is the conduit.
void aq_ibv_reach_request(void *context, uint32_t peer, const aq_firehose_message_t *message,
                          const void *data, uint32_t data_bytes);

// A message of kind AQ_IBV_FIREHOSE or AQ_IBV_COPY; a request is answered, now or as soon as there
// is room.
void aq_ibv_reach_arrived(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_arrival_t *in);

// Goes on with what found no room. False: an answer still finds none, which is a matter of moments.
bool aq_ibv_reach_go_on(aq_ibv_conduit_t *ibv);

// ---- ibv_atomic.c ----

// What GASNET_IBV_ATOMICS lets a device do that can do so much.
aq_ibv_atomics_t aq_ibv_atomics_of(enum ibv_atomic_cap can);

// See aq_conduit_ops_t.
aq_status_t aq_ibv_atomic(aq_conduit_t *conduit, void *link, const aq_atomic_t *atomic,
                          atomic_uint *pending);

#endif
