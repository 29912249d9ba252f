// The ibv conduit inside: a verbs device (InfiniBand, RoCE, iWARP), its queues, its memory, its
// peers.
//
// What is always true:
// - A peer that was never spoken to has no queue pair and no link. A connection is made by
// librdmacm when
//   one of two processes first wants the other; a thread of the conduit answers those who call, so
//   that a process that computes can be connected to.
// - All messages arrive in buffers of one shared receive queue. A request takes a credit, whose
// buffer is
//   ready at the receiver; the reply finds the buffer that its request's sender has posted for it.
//   So the device never has to wait for a buffer (RNR), as long as there are no more peers than
//   credits; beyond that it waits and sends again by itself.
// - The number of everything is decided at the start: buffers, operations, credits. What finds none
// is
//   told AQ_AGAIN. Whatever an operation holds is given back by its completion, which needs the
//   peer's device and not its process: so replies always get through.
// - Names begin with aq_ibv_, since ibv_ is what libibverbs calls its own.
//
//      send ----> credit, operation, bounce buffer ----> send queue of the link ----> device
//      put, get ------^                                                                 |
//                                                                                       v
//      operation is over <---- aq_ibv_reap <----------- send completions <----------- device
//      handler <---- queue of requests or replies <---- receive completions <-- shared receive
//      queue
//
//   ibv_device.c   device, port, limits, registration      ibv_connect.c   the thread that connects
//   ibv_buffer.c   buffers and operations                  ibv_peer.c      links, and what ends
//   them ibv_send.c     messages out                            ibv_receive.c   messages in
//   ibv_rma.c      put and get                             ibv_conduit.c   open, attach, close; the
//   table
#ifndef AQ_IBV_CONDUIT_H
#define AQ_IBV_CONDUIT_H

#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>

#include "../../core/conduit.h"
#include "../../core/credit.h"
#include "../../core/lock.h"

enum {
    AQ_IBV_BUFFER_BYTES = 4096, // the longest message, with its header
    AQ_IBV_PROOF_BYTES = 16,
    AQ_IBV_BATCH = 16, // completions that are taken out at once
};

// ---- what travels ----

enum { AQ_IBV_CREDITS = AQ_AM_LONG + 1 }; // a hidden reply, beside the categories
enum { AQ_IBV_REPLY = 1, AQ_IBV_PACKED = 2 };

// A message: this, the arguments up to a multiple of 8, of a Long its place (8 bytes), the payload
// of a Medium or of a packed Long. In the byte order of the machine: all processes run on the same
// kind.
typedef struct aq_ibv_head {
    uint32_t source;
    uint32_t nbytes;  // of the payload, packed or not
    uint16_t credits; // banked ones that go back with this message
    uint8_t kind;     // aq_am_category_t or AQ_IBV_CREDITS
    uint8_t flags;
    uint8_t handler;
    uint8_t nargs;
    uint8_t zero[2];
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

// What a process tells all others at the start: where it listens.
typedef struct aq_ibv_card {
    uint16_t family; // AF_INET or AF_INET6
    uint16_t port;   // network byte order
    uint8_t address[16];
} aq_ibv_card_t;

_Static_assert(sizeof(aq_ibv_card_t) <= AQ_DESCRIPTION_BYTES, "fits into a description");

// What both sides of a connection say first.
typedef struct aq_ibv_hello {
    uint8_t proof[AQ_IBV_PROOF_BYTES]; // that the speaker knows the job's key
    uint32_t rank;
    uint32_t grant; // requests that the other side may have under way
} aq_ibv_hello_t;

// Where the segment of a rank is, for its peers; bytes 0: nothing was attached.
typedef struct aq_ibv_region {
    uint64_t start, bytes;
    uint32_t key;
} aq_ibv_region_t;

// ---- memory ----

// A registered buffer: for messages that arrive, or to send from.
typedef struct aq_ibv_buffer {
    struct aq_ibv_buffer *next;
    uint8_t *bytes;
    struct aq_ibv_pool *home;
    bool owed; // arrived, and no other one was posted in its place yet
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
    struct aq_ibv_peer *link;
    aq_ibv_buffer_t *buffer; // that it uses; NULL: none
    atomic_uint *pending;    // that counts a put or get; NULL: it is no such thing
    void *into;              // a get through the buffer: where its bytes belong
    uint32_t nbytes;
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
    unsigned grant;      // what we granted
    atomic_bool started; // the credits below count
    atomic_bool dead;    // nothing completes any more
    atomic_uint slots;   // free entries of its send queue
    aq_credit_t credit;
} aq_ibv_peer_t;

// Messages that have arrived and wait for a poll that may run their handlers.
typedef struct aq_ibv_queue {
    aq_ibv_buffer_t *first, **last;
    atomic_uint count;
} aq_ibv_queue_t;

// How much there is of everything: what the settings ask for and the device has.
typedef struct aq_ibv_limits {
    aq_credit_limits_t credits;
    unsigned depth_each, depth_total; // send queue entries of a link, of the process
    unsigned arrivals;                // buffers in the shared receive queue
    unsigned grants;                  // of those, for requests
    unsigned bounces, large_bounces;
    unsigned inline_bytes;  // most that travels in the work request
    size_t packed_long;     // longest Long whose payload travels with its header
    size_t bounce_bytes;    // a large bounce buffer
    size_t operation_bytes; // longest put or get of the device
    uint8_t reads;          // RDMA reads of a connection that may be under way
} aq_ibv_limits_t;

typedef struct aq_ibv_conduit {
    aq_conduit_t base;
    aq_ibv_limits_t limits;
    uint32_t peers; // processes that are reached through the device

    struct rdma_event_channel *channel;
    struct rdma_cm_id *listener;
    struct sockaddr_storage here;
    struct ibv_context *verbs; // the device, librdmacm's
    uint8_t port;
    struct ibv_pd *pd;
    struct ibv_cq *send_cq, *receive_cq;
    struct ibv_srq *srq;

    void *slab; // all buffers, one registration
    size_t slab_bytes;
    struct ibv_mr *slab_mr;
    aq_ibv_pool_t arrivals; // those that are not posted
    aq_ibv_pool_t bounces, large_bounces;
    aq_lock_t op_lock;
    aq_ibv_op_t *free_ops, *ops;

    uintptr_t segment;
    size_t segment_bytes;
    struct ibv_mr *segment_mr;
    aq_ibv_region_t *regions; // of all ranks; NULL: not attached

    pthread_t connector;
    int wake_connector; // an eventfd
    atomic_bool closing;
    pthread_mutex_t connect_lock;
    pthread_cond_t connected;
    _Atomic(aq_ibv_peer_t *) *link_of; // by rank; NULL: never spoken to
    _Atomic(aq_ibv_peer_t *) links;
    atomic_uint link_count;
    atomic_uint grants_left;
    _Atomic(aq_ibv_peer_t *) lost; // the first link that failed
    const char *lost_why;
    uint64_t lost_at;

    aq_credit_pool_t credits;
    aq_lock_t reaping;   // only ever tried
    aq_lock_t receiving; // only ever tried
    aq_lock_t queue_lock;
    aq_ibv_queue_t requests, replies;
    atomic_bool credits_due; // a hidden reply found no room
    atomic_ulong copies;     // messages that had to be copied, since no buffer was spare
} aq_ibv_conduit_t;

static inline aq_ibv_conduit_t *aq_ibv_of(aq_conduit_t *conduit)
{
    return (aq_ibv_conduit_t *)(void *)conduit;
}

// ---- ibv_device.c ----

// Finds device and port and listens there; makes the objects that all connections share, with the
// limits. Logs faults.
aq_status_t aq_ibv_device_open(aq_ibv_conduit_t *ibv);
void aq_ibv_device_close(aq_ibv_conduit_t *ibv);

// Registers memory with the device; logs a refusal, with the limit that was hit. NULL: refused.
struct ibv_mr *aq_ibv_device_register(aq_ibv_conduit_t *ibv, void *memory, size_t bytes,
                                      const char *what);

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

// Posts buffers for arrivals, a chain of them.
void aq_ibv_post_arrivals(aq_ibv_conduit_t *ibv, aq_ibv_buffer_t *first);

// ---- ibv_connect.c ----

// Starts the thread that makes and answers connections. Logs faults.
aq_status_t aq_ibv_connector_start(aq_ibv_conduit_t *ibv);
void aq_ibv_connector_stop(aq_ibv_conduit_t *ibv);

// See aq_conduit_ops_t.
aq_status_t aq_ibv_connect(aq_conduit_t *conduit, uint32_t rank, const char *description,
                           void **link);

// ---- ibv_peer.c ----

// With connect_lock held: the link of a rank, made if there is none. NULL: no memory (logged).
aq_ibv_peer_t *aq_ibv_peer_get(aq_ibv_conduit_t *ibv, uint32_t rank);

// With connect_lock held: what the two sides granted each other; from here on requests may go.
void aq_ibv_peer_start(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, unsigned theirs);

// With connect_lock held: how many requests a new peer may have under way.
unsigned aq_ibv_peer_grant(aq_ibv_conduit_t *ibv);

// What the speaker has to say first: that it knows the job's key.
void aq_ibv_hello(const aq_ibv_conduit_t *ibv, uint32_t from, uint32_t to, unsigned grant,
                  aq_ibv_hello_t *hello);
bool aq_ibv_hello_genuine(const aq_ibv_conduit_t *ibv, const void *data, size_t bytes,
                          aq_ibv_hello_t *hello);

// An operation with a peer failed, or its connection ended. Unless the job is about to end, it does
// some moments later, with a message that names the peer. Any thread.
void aq_ibv_peer_lost(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const char *why);

// By the connector: ends the job if a link was lost. Returns how long to wait until the next look,
// in ms; -1: none is needed.
int aq_ibv_peers_watch(aq_ibv_conduit_t *ibv);

// ---- ibv_send.c ----

// See aq_conduit_ops_t.
aq_status_t aq_ibv_send(aq_conduit_t *conduit, void *link, const aq_am_t *am);

// Gives the resources of operations that are over back. Returns how many were. Any thread.
unsigned aq_ibv_reap(aq_ibv_conduit_t *ibv);

// After the handler of a request of that peer returned without a reply.
void aq_ibv_bank(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link);

// Sends the hidden replies that found no room before.
void aq_ibv_send_due(aq_ibv_conduit_t *ibv);

// One work request of the device. Signaled; its op is what completes.
typedef struct aq_ibv_work {
    aq_ibv_op_t *op;
    enum ibv_wr_opcode opcode;
    const void *local;
    uint32_t nbytes, local_key;
    bool in_line; // copied by the call itself
    uint64_t remote;
    uint32_t remote_key;
} aq_ibv_work_t;

// Posts up to 2 work requests, in their order. Completion is told by aq_ibv_reap, failure too.
void aq_ibv_post(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_ibv_work_t *work,
                 unsigned count);

// ---- ibv_receive.c ----

// See aq_conduit_ops_t.
unsigned aq_ibv_poll(aq_conduit_t *conduit, unsigned what);

// ---- ibv_rma.c ----

// See aq_conduit_ops_t.
aq_status_t aq_ibv_attach(aq_conduit_t *conduit, void *segment, size_t size);
aq_status_t aq_ibv_put(aq_conduit_t *conduit, void *link, void *dest, const void *src,
                       size_t nbytes, unsigned flags, atomic_uint *pending, size_t *begun);
aq_status_t aq_ibv_get(aq_conduit_t *conduit, void *link, void *dest, const void *src,
                       size_t nbytes, unsigned flags, atomic_uint *pending, size_t *begun);

// Whether memory of a rank is in what it attached; its key.
bool aq_ibv_attached(const aq_ibv_conduit_t *ibv, uint32_t rank, const void *memory, size_t nbytes,
                     uint32_t *key);

#endif
