// SPDX-License-Identifier: BSD-3-Clause
// The state that the files of the udp conduit share: peers, datagrams in memory, the conduit
// itself.
//
// What is always true:
// - A udp_conduit_t is one receive side: that of endpoint 0 (the main one), or a window, that of a
//   further endpoint. A window has its own socket, links, flows, timers, queues, buffers and locks.
//   Its threads write nothing that threads of another receive side access, except to set up a link.
// - A link joins two receive sides (endpoints, udp_wire.h). The main one creates a link when it
//   first sends to a peer or first receives from it; without a link a peer costs only its address
//   and a pointer. A window has the links that the core has asked for (connect), because it cannot
//   know where another peer's window is, and drops all other datagrams. Links are never removed.
// - Lock order, outermost first: `receiving.lock` (a try-lock), the lock of a link, then at most
//   one lock of the conduit. No handler runs and no thread waits under any of them.
// - Frames of one class are coalesced in the link's open datagram, which is sent when it is full or
//   with the next poll. The sender of the flow keeps the buffer of each datagram until the datagram
//   is acknowledged.
// - Received datagrams take bounded memory, for all peers together: the slots of the socket, and
//   two queues of queues.most datagrams. A datagram whose queue is full is dropped, and the peer
//   retransmits it.
// - A received datagram is validated and accepted as a whole. The data of puts and get replies is
//   written to memory at once, so acknowledging a put's datagram completes the put. A datagram with
//   frames that need a handler or an answer is queued; a poll takes it out of the queue. So a poll
//   inside of a handler finds the rest of the queue.
// - Replies are sent before acknowledgements are processed: the acknowledgements in the last
//   datagram with messages are deferred to the next poll, because a peer waits for the reply, but
//   not for their processing.
// - A large put or get reply has a datagram of its own. Its payload may stay in the client's memory
//   on both sides (the tail of a buffer).
//
//   udp_send.c     send -> open datagram -> slot of the flow -> socket
//   udp_rma.c      put, get -> open datagram, or a datagram of their own; replies to gets
//   udp_receive.c  socket -> header -> flow -> memory, or queue of the class -> handlers
//   udp_buffer.c   buffers; when links are due; udp_place.c: memory in frames
//   udp_link.c     timers: retransmissions, new epochs, acknowledgements without data
//   udp_watch.c    silent peers and hosts; udp_warn.c: warnings; udp_meet.c: the check at the start
//   udp_window.c   windows
#pragma once

#include "../../../core/conduit.h"
#include "../../../core/ground/cookie.h"
#include "../../../core/thread/thread.h"
#include "../../../other/base/clock.h"
#include "../wire/udp_auth.h"
#include "../socket/udp_faults.h"
#include "../wire/udp_flow.h"
#include "udp_path.h"
#include "udp_watch_state.h"
#include "../wire/udp_replay.h"
#include "../wire/udp_seal.h"
#include "../socket/udp_socket.h"
#include "../socket/udp_stats.h"
#include "../wire/udp_wire.h"

struct udp_link;

// A counter of outstanding puts, and how many of them the acknowledgement of a datagram completes.
typedef struct udp_put_completion {
    atomic_uint *pending;
    unsigned count;
} udp_put_completion_t;

enum {
    UDP_PUT_COMPLETIONS = 32, // for each datagram
    UDP_PEEKS = 8, // receive attempts in one poll of a spinning process without neighbours
};

// Memory for one datagram, outgoing or received.
typedef struct udp_buffer {
    struct udp_buffer *next;
    struct udp_link *link; // received: the sender; outgoing: the receiver
    uint32_t used;         // bytes of the datagram in this buffer
    uint32_t ran;          // received: offset of the next frame to handle
    uint8_t class;
    bool wants_ack;
    uint8_t sends; // outgoing: transmissions, at most UINT8_MAX are counted
    uint32_t frames;
    struct iovec tail; // the rest of the datagram: payload of the last frame, padded to 8 bytes
    uint8_t *bytes;    // UDP_SLOT_BYTES, aligned to 64
    unsigned completion_count;
    udp_put_completion_t completions[UDP_PUT_COMPLETIONS];
} udp_buffer_t;

// The parts of a link, which its lock protects.

// The open datagrams; of udp_send.c.
typedef struct udp_open {
    udp_buffer_t *datagram[UDP_CLASSES]; // being filled; NULL: none
    struct udp_link *next_dirty;
    bool dirty;      // in the list of links with open datagrams
    uint64_t closed; // open datagrams of requests that were sent
} udp_open_t;

// The acknowledgements that the peer has not got yet; udp_receive.c adds to them, and udp_send.c
// sends them.
typedef struct udp_owed {
    uint64_t last_data[UDP_CLASSES]; // time of the last new datagram
    uint64_t since;                  // time of the first datagram not yet acknowledged; 0: none
    uint64_t bytes;
    bool wanted;   // the peer waits for an acknowledgement
    bool can_ride; // and a reply to the peer's last datagram can carry it
} udp_owed_t;

// The gets from the peer; of udp_rma.c.
typedef struct udp_gets {
    aq_cookies_t outstanding; // context: the caller's counter
    uint64_t bytes;           // of all that are outstanding
    bool enough;              // do not request more for now
} udp_gets_t;

typedef struct udp_link {
    struct udp_link *next; // all links of the receive side
    uint32_t rank;
    uint32_t ep_id; // the other end
    udp_sockaddr_t to;
    int connected_fd;   // see udp_socket_connect; -1: none
    uint64_t token_out; // mode token; constant
    uint64_t token_in;  // in the peer's datagrams; constant
    udp_seal_t opening; // mode encrypt: decrypts received datagrams; for the receiver only

    aq_lock_t lock; // protects all members below
    // Longest datagram that reaches the peer unfragmented; a longer frame has a datagram of its
    // own.
    size_t datagram_bytes;
    udp_path_t path;
    bool cuts;           // the datagram that is being sent may be fragmented
    uint64_t packets;    // number of the next transmission
    udp_replay_t replay; // packet numbers of the peer
    udp_seal_t sealing;  // mode encrypt: encrypts outgoing datagrams
    udp_sender_t sender[UDP_CLASSES];
    udp_receiver_t receiver[UDP_CLASSES];
    udp_open_t open;
    udp_owed_t owed;
    udp_gets_t gets;
    udp_stats_t stats;
    udp_peer_watch_t watch;
} udp_link_t;

// What each process sends to all others at the start.
typedef struct udp_peer_info {
    udp_address_t address;
    uint32_t datagram_bytes; // the longest datagram that it sends
    uint32_t has_aes;        // its processor has AES-GCM instructions
} udp_peer_info_t;
_Static_assert(sizeof(udp_peer_info_t) + sizeof(uint32_t) <= AQ_KEPT_BYTES,
               "with the number of its host, a peer takes that much once on a host");

// ---- the conduit ----

// The links of a window by endpoint id: a hash table with linear probing, of which at most half is
// used. Readers take no lock, so entries are never removed, and a table that became too small is
// kept.
typedef struct udp_link_table {
    struct udp_link_table *older; // the one that this one replaced
    uint32_t mask, count;         // one less than the number of places, a power of two; links
    _Atomic(udp_link_t *) places[];
} udp_link_table_t;

// The links of a receive side; of udp_link.c and udp_window.c.
typedef struct udp_links {
    _Atomic uint32_t known;            // ranks of which peer_info is here; of the main one
    aq_lock_t lock;                    // for adding to the three members below
    _Atomic(udp_link_t *) *by_rank;    // NULL: no link yet. NULL in a window
    _Atomic(udp_link_table_t *) table; // of a window
    _Atomic(udp_link_t *) first;
    _Atomic uint32_t credit; // bytes that each peer may have in flight to this process
    atomic_uint count;
    _Atomic uint64_t deadline; // earliest time at which a link has to be served
} udp_links_t;

// What udp_send.c has to send.
typedef struct udp_sending {
    aq_lock_t dirty_lock; // for the list of links with open datagrams
    aq_lock_t batch_lock; // for sending a batch through the socket
    udp_link_t *dirty;
    atomic_bool any_dirty;
} udp_sending_t;

// The free buffers; of udp_buffer.c.
typedef struct udp_pool {
    aq_lock_t lock;
    udp_buffer_t *free;
    _Atomic size_t count; // of all buffers; changed under the lock
} udp_pool_t;

// Acknowledgements in a received datagram with messages, to be processed by the next poll.
typedef struct udp_deferred_acks {
    udp_link_t *link; // NULL: none
    udp_header_t header;
    uint64_t now; // time of arrival
} udp_deferred_acks_t;

// The receiver, that is, the thread that holds the lock, and when a poll receives; of
// udp_receive.c. The atomic members are for all threads.
typedef struct udp_receiving {
    aq_lock_t lock; // try-lock
    udp_deferred_acks_t deferred;
    unsigned done;            // puts and gets that progressed in this poll
    bool large;               // the last datagram could have been received in place
    atomic_bool stuck;        // the last get found no room for its reply
    atomic_uint sender_polls; // polls by busy senders
    // Times of the last receive that found something, and of the last receive.
    _Atomic uint64_t arrived_at, looked_at;
    _Atomic uint64_t polled_at; // time of the last poll; 0: the poll did not need the time
} udp_receiving_t;

typedef struct udp_queue {
    udp_buffer_t *first, **last;
    atomic_uint count; // changed under the lock
} udp_queue_t;

// The received datagrams that wait for a poll; of udp_receive.c.
typedef struct udp_queues {
    aq_lock_t lock;
    atomic_uint count;
    udp_queue_t of[UDP_CLASSES];
    unsigned most; // limit of queued datagrams of a class, for all peers together
    unsigned peak; // of both classes
} udp_queues_t;

// The windows of a process; of udp_window.c.
typedef struct udp_windows {
    _Atomic(struct udp_conduit *) first; // of the main one
    struct udp_conduit *next;            // of a window; constant
    bool exhausted;                      // of the main one: opening a window has failed
} udp_windows_t;

typedef struct udp_conduit {
    aq_conduit_t base;
    uint32_t ep_id; // this receive side
    // The kernel may write payloads to their destination: they need no validation.
    bool receives_there;
    bool answers_there;       // get replies may be read from the client's memory when they are sent
    struct udp_conduit *main; // the receive side of endpoint 0, possibly this one
    udp_socket_t socket;
    udp_faults_t *faults;
    udp_auth_t auth;
    udp_cipher_t cipher;              // mode encrypt; the same at all ranks
    size_t datagram_bytes;            // the longest datagram that this process sends
    const udp_peer_info_t *peer_info; // of all ranks, once on a host; NULL in a window
    udp_links_t links;
    udp_sending_t sending;
    udp_pool_t pool;
    udp_receiving_t receiving;
    udp_queues_t queues;
    udp_unauthenticated_t unauthenticated;
    atomic_uint sleepers;
    udp_watch_t watch;
    atomic_uint connected; // of the main one: connected sockets of the process
    udp_windows_t windows;
} udp_conduit_t;

static inline udp_conduit_t *udp_of(aq_conduit_t *conduit)
{
    return (udp_conduit_t *)conduit;
}

// The number of ranks that are there and whose addresses are known. Under the lock of the links.
static inline uint32_t udp_known(const udp_conduit_t *udp)
{
    return atomic_load_explicit(&udp->links.known, memory_order_relaxed);
}

// The time of a poll, which reads the clock once and only if needed: *now is 0 until then.
static inline uint64_t udp_time(uint64_t *now)
{
    if (!*now)
        *now = aq_clock_ns();
    return *now;
}

// With the link's lock held: records that a datagram of the peer was received.
static inline void udp_link_received(const udp_conduit_t *udp, udp_link_t *link)
{
    link->watch.last_rx = atomic_load_explicit(&udp->watch.listened, memory_order_relaxed);
    link->watch.due_since = 0;
    link->watch.seen = true;
}

// The bytes of an outgoing datagram, with the longest header.
static inline size_t udp_buffer_bytes(const udp_buffer_t *buffer)
{
    return buffer->used + udp_round_up(buffer->tail.iov_len);
}

extern const aq_conduit_ops_t aq_udp_conduit;
