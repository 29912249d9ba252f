// The udp conduit inside: what joins socket, wire format and flows.
//
// What is always true:
// - A link is made when a peer is first spoken to or first heard, and stays. There is nothing else
//   for a peer but its address and a pointer.
// - Locks, from the outside in: receiving (a flag), a link's, then one of those of the conduit.
//   No handler runs and nothing waits under any of them.
// - Frames of one class go into the link's open datagram, which leaves when it is full, or with the
//   next poll. Outgoing datagrams live in buffers that the sender of the flow keeps until they are
//   acknowledged.
// - What has arrived takes bounded memory, for all peers together: the slots of the socket, and two
//   queues of queue_most datagrams. What finds its queue full is dropped, and comes again.
// - An arrived datagram is checked and taken as a whole. Puts and what gets have got go into memory
//   at once, so that the acknowledgement of a put's datagram is the completion of the put. If
//   there is anything to answer in it, it is queued; whoever polls takes it out of the queue and
//   runs its handlers. So a poll inside of a handler finds the others.
// - Answers leave first: what the last datagram with messages acknowledges is taken in by the next
//   poll, before it receives. Somebody waits for the answer, and nobody for the rest.
// - Large puts and replies to gets travel alone in their datagram, whose payload may stay in the
//   memory of the client (the tail of a buffer), on both sides.
//
//   udp_send.c     send -> open datagram -> flow's slot -> socket
//   udp_rma.c      put, get -> the same, or a datagram of their own; answers to gets
//   udp_receive.c  socket -> header -> flows of the link -> memory, queue of the class -> handlers
//   udp_link.c     what is due by time: again, a new epoch, an acknowledgement of its own
//   udp_watch.c    peers and hosts that are silent
#ifndef AQ_UDP_CONDUIT_H
#define AQ_UDP_CONDUIT_H

#include "../../core/conduit.h"
#include "../../core/cookie.h"
#include "../../core/thread.h"
#include "../../other/base/clock.h"
#include "udp_auth.h"
#include "udp_faults.h"
#include "udp_flow.h"
#include "udp_replay.h"
#include "udp_seal.h"
#include "udp_socket.h"
#include "udp_stats.h"
#include "udp_wire.h"

struct udp_link;

// Puts that are complete when a datagram is acknowledged: so many of those that are counted there.
typedef struct udp_put_completion {
    atomic_uint *pending;
    unsigned count;
} udp_put_completion_t;

enum {
    UDP_PUT_COMPLETIONS = 32, // of a datagram
    UDP_PEEKS = 8,            // at the socket, in a poll of who spins and shares memory with nobody
};

// Memory for one datagram, on its way out or in.
typedef struct udp_buffer {
    struct udp_buffer *next;
    struct udp_link *link; // of one that has arrived: from whom
    uint32_t used;         // bytes of the datagram that are here
    uint32_t ran;          // of one that has arrived: where its next frame is
    uint8_t class;
    bool wants_ack;
    uint32_t frames;
    struct iovec tail; // the rest of the datagram: the payload of its last frame; padded to 8
    uint8_t *bytes;    // UDP_SLOT_BYTES, aligned to 64
    unsigned completion_count;
    udp_put_completion_t completions[UDP_PUT_COMPLETIONS];
} udp_buffer_t;

struct udp_host;

typedef struct udp_link {
    struct udp_link *next; // all links of the process
    uint32_t rank;
    udp_sockaddr_t to;
    int connected_fd;   // to it, see udp_socket_connect
    uint64_t token_out; // of mode token; read only
    uint64_t token_in;  // of the peer's datagrams; read only
    udp_seal_t opening; // what arrives, in mode encrypt; the receiver's

    aq_lock_t lock;        // of all that follows
    size_t datagram_bytes; // of datagrams that pass to it whole; a longer frame goes by itself
    uint64_t packets;      // transmissions so far: the number of the next one
    udp_replay_t replay;   // packet numbers of the peer
    udp_seal_t sealing;    // what leaves, in mode encrypt
    udp_sender_t sender[UDP_CLASSES];
    udp_receiver_t receiver[UDP_CLASSES];
    aq_cookies_t gets;               // that wait for their bytes; context: the caller's counter
    udp_buffer_t *open[UDP_CLASSES]; // being filled; NULL: none
    uint64_t closed;                 // datagrams of requests that were open, and have left
    bool dirty;                      // in the list of links with an open datagram
    struct udp_link *next_dirty;
    uint64_t came[UDP_CLASSES]; // when the last new datagram did
    uint64_t owed_since;        // when the first unacknowledged datagram came; 0: none
    uint64_t owed_bytes;
    uint64_t getting;  // bytes that gets have asked for and that are not here yet
    bool got_enough;   // and nothing more is asked for now
    bool ack_wanted;   // the peer waits for it ...
    bool ack_can_ride; // ... and what it has sent last will be answered
    udp_stats_t stats;

    // Of udp_watch.c, on the clock `listened`.
    struct udp_host *host; // NULL: not watched; constant
    bool met;              // a datagram of the peer has come
    uint64_t heard;        // when the last one did, or the link was made
    uint64_t asked;        // since when an answer is due; 0: none is
    uint64_t ping_at;      // the next one, by the clock of the system
} udp_link_t;

// What each process tells all others at the start.
typedef struct udp_peer_info {
    udp_address_t address;
    uint32_t datagram_bytes; // the longest that leaves it
    uint32_t has_aes;        // its processor has instructions for AES-GCM
} udp_peer_info_t;

typedef struct udp_queue {
    udp_buffer_t *first, **last;
    atomic_uint count; // changed under the lock
} udp_queue_t;

// What is still to be done for a datagram with messages.
typedef struct udp_deferred_acks {
    udp_link_t *link; // NULL: nothing
    udp_header_t header;
    uint64_t now; // when it came
} udp_deferred_acks_t;

// ---- what udp_watch.c knows ----

// A host other than this one, that is, an address.
typedef struct udp_host {
    struct udp_host *next;
    udp_sockaddr_t address; // of one of its processes ...
    uint32_t rank;          // ... which is this
    // The rest under the lock of the watch.
    uint64_t heard;  // on the clock `listened`: the last datagram, or answer to a probe
    int probe;       // the socket of the one that is under way; -1: none is
    unsigned probes; // since the last answer
    bool answers;    // its kernel has answered a probe
} udp_host_t;

typedef struct udp_watch {
    uint64_t connect_timeout, silence, host_timeout, peer_timeout; // ns; 0: never
    uint64_t step;                                                 // ns between looks
    _Atomic uint64_t listened; // ns for which this process was there to hear
    atomic_bool heard_all;     // a receive has found nothing more since the last look
    atomic_bool told;          // the warning about a silent peer
    aq_lock_t lock;
    uint64_t listened_at;        // the clock of the system at the last look; under the lock
    _Atomic uint64_t hosts_at;   // the next look at hosts
    _Atomic(udp_host_t *) hosts; // grows only, under the lock for links
} udp_watch_t;

// ---- the conduit ----

typedef struct udp_conduit {
    aq_conduit_t base;
    udp_socket_t socket;
    udp_faults_t *faults;
    udp_auth_t auth;
    udp_cipher_t cipher;        // of mode encrypt, the same at all ranks
    size_t datagram_bytes;      // the longest that leaves
    udp_peer_info_t *peer_info; // of all ranks

    aq_lock_t links_lock;           // adding to the two below
    _Atomic(udp_link_t *) *link_of; // by rank; NULL: never spoken to
    _Atomic(udp_link_t *) links;
    _Atomic uint32_t credit; // bytes that each peer may have under way to this process
    atomic_uint link_count;
    _Atomic uint64_t deadline; // when a link has something due, at the earliest

    aq_lock_t dirty_lock;
    udp_link_t *dirty;
    atomic_bool any_dirty;

    aq_lock_t buffer_lock;
    udp_buffer_t *free_buffers;
    size_t buffers;

    aq_lock_t batch_lock;         // of the socket's side for many datagrams
    aq_lock_t receiving;          // only ever tried
    udp_deferred_acks_t deferred; // the receiver's
    unsigned done;                // puts and gets that came or went on in this poll; the receiver's
    bool receives_there; // the kernel may write payloads to their destination: they need no check
    bool answers_there;  // replies to gets may be read from the client's memory when they leave
    bool large;          // the last datagram would have gone into memory; the receiver's
    atomic_uint sender_polls; // polls of senders
    // The last looks at the socket: one that found something, and any.
    _Atomic uint64_t came_at, looked_at;
    _Atomic uint64_t polled_at; // the time of the last poll; 0: it needed none
    aq_lock_t queue_lock;
    udp_queue_t queue[UDP_CLASSES];
    atomic_uint queued;
    atomic_bool stuck;    // a get found no room for its answer, the last time
    unsigned queue_most;  // datagrams of a class that wait, of all peers together
    unsigned queued_peak; // of both classes
    udp_strangers_t strangers;
    atomic_uint sleepers;

    udp_watch_t watch;
} udp_conduit_t;

static inline udp_conduit_t *udp_of(aq_conduit_t *conduit)
{
    return (udp_conduit_t *)conduit;
}

// The time of a poll, which is looked up once, and only if something needs it: *now is 0 until
// then.
static inline uint64_t udp_time(uint64_t *now)
{
    if (!*now)
        *now = aq_clock_ns();
    return *now;
}

// ---- udp_link.c ----

// The link to a rank, made if there is none yet. Any thread; NULL: no memory, logged.
udp_link_t *udp_link_get(udp_conduit_t *udp, uint32_t rank);

// With the link's lock held: sends what is due now, and returns when something will be.
uint64_t udp_link_serve(udp_conduit_t *udp, udp_link_t *link, uint64_t now);

// Serves all links if one of them has something due.
void udp_links_serve(udp_conduit_t *udp, uint64_t *now);

// A link has something due at that time, maybe earlier than what is known.
void udp_links_due(udp_conduit_t *udp, uint64_t when);

// With the link's lock held: a datagram of the peer has come.
static inline void udp_link_heard(const udp_conduit_t *udp, udp_link_t *link)
{
    link->heard = atomic_load_explicit(&udp->watch.listened, memory_order_relaxed);
    link->asked = 0;
    link->met = true;
}

// A buffer that is the caller's until it is put back. Ends the job when memory is out: to drop what
// arrives would make peers wait for ever.
udp_buffer_t *udp_buffer_take(udp_conduit_t *udp);
void udp_buffer_put(udp_conduit_t *udp, udp_buffer_t *buffer);

// ---- udp_send.c ----

aq_status_t udp_send(aq_conduit_t *conduit, void *link, const aq_am_t *am);
bool udp_requests_flushed(aq_conduit_t *conduit, void *link, uint64_t *mark);

// With the link's lock held: the open datagram of a class with room for a frame of that many bytes,
// and to note a put (NULL: none). NULL: no room now.
udp_buffer_t *udp_datagram_for(udp_conduit_t *udp, udp_link_t *link, unsigned class, size_t bytes,
                               atomic_uint *pending);

// Datagrams to one peer that leave together, with few system calls. Filled and sent with the link's
// lock held all the while.
enum { UDP_SEND_BATCH = 32 };
typedef struct udp_send_batch {
    unsigned count;
    udp_buffer_t *room; // for what is encrypted; NULL: not needed yet
    size_t room_used;
    udp_outgoing_t out[UDP_SEND_BATCH];
    struct iovec pieces[UDP_SEND_BATCH][3];
} udp_send_batch_t;

// Sends the datagrams of a batch, which is empty then.
void udp_send_batch_flush(udp_conduit_t *udp, udp_send_batch_t *batch);

// How a put or a reply to a get travels alone.
typedef struct udp_alone {
    udp_send_batch_t *batch; // NULL: it leaves now
    bool in_place;           // the payload stays where it is until the datagram is acknowledged
    bool wants_ack;          // somebody will wait for it
    atomic_uint *pending;    // of a put
} udp_alone_t;

// With the link's lock held: sends it in a datagram of its own, if the flow has room.
bool udp_send_alone(udp_conduit_t *udp, udp_link_t *link, const udp_rma_t *rma, udp_alone_t how,
                    uint64_t now);

// Notes a put in the datagram that it travels in; there is room for it.
void udp_buffer_add_completion(udp_buffer_t *buffer, atomic_uint *pending);

// Sends the open datagrams of all links, as far as their flows have room.
void udp_flush_dirty(udp_conduit_t *udp, uint64_t *now);

static inline void udp_flush(udp_conduit_t *udp, uint64_t *now)
{
    if (atomic_load_explicit(&udp->any_dirty, memory_order_acquire))
        udp_flush_dirty(udp, now);
}

// With the link's lock held: puts a datagram into the network again, with the header of this
// moment.
void udp_send_again(udp_conduit_t *udp, udp_link_t *link, const udp_action_t *action, uint64_t now);

// With the link's lock held: sends a header without frames, of any kind but data.
void udp_send_plain(udp_conduit_t *udp, udp_link_t *link, udp_kind_t kind, unsigned class,
                    uint32_t epoch, uint64_t now);

// The same for a request for an epoch, or its confirmation, which goes twice: all else waits for
// them, and where much gets lost the time goes into those that do.
void udp_send_epoch(udp_conduit_t *udp, udp_link_t *link, udp_kind_t kind, unsigned class,
                    uint32_t epoch, uint64_t now);

// ---- udp_rma.c ----

// See aq_conduit_ops_t.
aq_status_t udp_put(aq_conduit_t *conduit, void *link, void *dest, const void *src, size_t nbytes,
                    unsigned flags, atomic_uint *pending, size_t *begun);
aq_status_t udp_get(aq_conduit_t *conduit, void *link, void *dest, const void *src, size_t nbytes,
                    unsigned flags, atomic_uint *pending, size_t *begun);

// Answers a get, which was read last, and those right behind it; *done grows by them. False: there
// is no room now for the one at frames->at.
bool udp_answer(udp_conduit_t *udp, udp_link_t *link, udp_frames_t *frames, const udp_frame_t *get,
                unsigned *done);

// By the receiver, with the link's lock held: where the bytes of a put or of a reply to a get
// belong. Ends the job if the peer names memory that is not of a segment, or a get that does not
// wait.
void *udp_rma_dest(udp_conduit_t *udp, udp_link_t *link, const udp_frame_t *frame);

// By the receiver, with the link's lock held: puts the bytes of a put or of a reply to a get where
// they belong; placed: they are there already.
void udp_apply(udp_conduit_t *udp, udp_link_t *link, const udp_frame_t *frame, bool placed);

// How memory of a rank travels, and the reverse: memory of this process that a peer names. The
// latter ends the job unless all of it lies in a segment (with AQ_SEGMENT_EVERYTHING: anywhere).
uint64_t udp_place_of(const udp_conduit_t *udp, uint32_t rank, const void *addr);
void *udp_place_memory(const udp_conduit_t *udp, uint32_t peer, uint64_t place, size_t nbytes);

// The same for the destination of a Long. Without a payload, it is data for the handler: all of its
// 64 bits travel, without a key, and nobody checks or touches the memory.
uint64_t udp_place_of_long(const udp_conduit_t *udp, uint32_t rank, const aq_am_t *am);
void *udp_place_long(const udp_conduit_t *udp, uint32_t peer, uint64_t place, size_t nbytes);

// ---- udp_conduit.c ----

// Whether a poll is to look at the socket. Always, unless the process shares memory with others.
bool udp_time_to_peek(udp_conduit_t *udp, uint64_t *now);

// Ends the job, with one sentence, since socket.broken is set; returns where another thread is
// about to do so, or the job ends already.
void udp_end_without_socket(const udp_conduit_t *udp);

static inline void udp_check_socket(const udp_conduit_t *udp)
{
    if (__builtin_expect(atomic_load_explicit(&udp->socket.broken, memory_order_relaxed), 0))
        udp_end_without_socket(udp);
}

// ---- udp_receive.c ----

// See aq_conduit_ops_t.
unsigned udp_poll(aq_conduit_t *conduit, unsigned what);

extern const aq_conduit_ops_t aq_udp_conduit;

#endif
