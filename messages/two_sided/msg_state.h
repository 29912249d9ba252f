// SPDX-License-Identifier: BSD-3-Clause
// Two-sided messages inside the library. aqueduct_msg.h has the calls.
//
//      msg_send.c       the sender: eager messages and RTSs; serves gets of announced messages
//      msg_recv.c       the receiver: receives, probes; puts arrivals in order and matches them
//      msg_rndv_get.c   the receiver: fetches the bytes of an announced message
//      msg_read.c       memory of a process of this host that this process reads and writes
//      msg_coop_copy.c  cooperative copy: both sides copy a long message at the same time
//      msg_device.c     the network device reads a long message where it is
//      msg_alloc.c      the client's calls for memory that the processes of a host map
//      msg_cancel.c     cancels receives, and sends that no receive has taken
//      msg_credits.c    flow control: credits limit how much of a peer's messages a rank keeps
//      flow.c           the client's calls for flow control
//      request.c        requests and their completion; request_start.c: persistent ones
//      msg_peers.c      what a rank keeps of each other rank
//
//      eager:  Medium with the bytes ---------------------------> matched: copied
//      long:   RTS ("ready to send"): a Short, the envelope ----> matched: to be fetched
//              serves it  <----- get: a Short, for each piece, a few at a time
//              Medium reply with the piece ---------------------> copied; all there: complete
//              or, into memory that the sender has mapped:
//              copies the piece, Short reply -------------------> all there: complete
//      long, in memory that the receiver can read:
//              complete   <----- done: a Short                    copied
//
// What is always true:
// - aq_msg.lock guards the matching engine, the numbers of messages, the cookies and the list of
//   gets. No message is sent, and no byte of a client is copied, while it is held.
// - The messages of a rank to another one are numbered, and those that arrive early wait, so that
//   the engine gets them in the order in which they were sent.
// - A get names the cookie of its RTS, an offset and a length, which the sender checks. An
//   address of a peer is used only by CMA (msg_read.h), which reads or writes the peer's memory,
//   and where it was found in memory of the peer that is mapped here.
#pragma once

#include <stdatomic.h>

#include "../../core/ground/bounds.h"
#include "../../core/ground/cookie.h"
#include "../../core/ground/lock.h"
#include "../../core/endpoint/team.h"
#include "../aqueduct_msg.h"
#include "match.h"
#include "order.h"
#include "peer_credits.h"

// The envelope of a message.
typedef struct aq_msg_head {
    uint64_t team;
    uint32_t source; // job rank
    uint32_t tag;
    uint32_t number; // among the messages of the source to this rank
    size_t nbytes;
    // Of an RTS; cookie 0: the bytes are with the envelope.
    aq_cookie_t cookie;
    uint64_t address;              // of the bytes, in the source; 0: they are not contiguous
    uint64_t proof_address, proof; // see msg_read.h; 0: none
    int32_t process;
} aq_msg_head_t;

// A message that arrived early, or that no receive has taken.
typedef struct aq_msg_kept {
    aq_match_entry_t entry;
    aq_order_entry_t order;
    aq_msg_head_t head;
    bool cancelled; // an RTS that arrived early: nothing takes it
    uint8_t bytes[];
} aq_msg_kept_t;

static inline aq_msg_kept_t *aq_msg_kept_of(aq_order_entry_t *early)
{
    return (aq_msg_kept_t *)(void *)((char *)early - offsetof(aq_msg_kept_t, order));
}

// The arguments of a send or receive.
typedef struct aq_msg_call {
    gex_TM_t tm;
    gex_Rank_t rank;
    uint32_t tag;
    bool is_send, persistent;
    void *memory;
    size_t bytes;
} aq_msg_call_t;

// How a receive gets the bytes of an RTS: not known yet; both sides copy; the network device
// reads; all bytes have arrived; in pieces.
typedef enum aq_rndv_way {
    AQ_RNDV_NEW,
    AQ_RNDV_COOP_COPY,
    AQ_RNDV_DEVICE,
    AQ_RNDV_OVER,
    AQ_RNDV_PIECES
} aq_rndv_way_t;

// What a receiver asks for: a piece of the `want` bytes that it asks for in all.
typedef struct aq_msg_rndv_get {
    uint64_t offset, want;
    uint32_t bytes;
    aq_cookie_t answer; // of the receiver
    uint64_t dest;      // of the piece, if the sender may have that mapped; else 0
} aq_msg_rndv_get_t;

// What a large message (large_state.h) does in place of a message with two sides. Called with no
// lock held, in a handler too.
typedef struct aq_request_hooks {
    void (*complete)(gasnetx_Request_t request);
    // Of a send whose bytes are not all there; NULL: they are in memory. The get is within them.
    void (*get_arrived)(gasnetx_Request_t send, const aq_msg_rndv_get_t *get);
    // Of a receive that divides its bytes; NULL: they go to memory. The piece is within them.
    void (*arrived)(gasnetx_Request_t receive, uint64_t offset, const void *piece, size_t bytes);
} aq_request_hooks_t;

struct gasnetx_request {
    aq_match_entry_t entry; // of a receive
    atomic_bool complete;
    bool begun;          // started, and not waited for
    bool counts;         // operations of the client; then `call` has no meaning
    atomic_uint pending; // of these
    aq_msg_call_t call;
    gasnetx_msg_status_t status;
    aq_cookie_t cookie; // of a send that was announced, or of a receive that gets; 0: none
    // Of a receive that gets `want` bytes of an RTS.
    aq_rndv_way_t way;
    // Of a receive. Of a send: number and cookie; in a cooperative copy, the memory of its
    // receiver.
    aq_msg_head_t rts;
    size_t want, issued, moved; // of a send: asked for by its peer, and served
    size_t placed;              // of a receive: in pieces whose arrival was checked
    // Of a cooperative copy; NULL: of none.
    struct aq_msg_claims *claims;
    size_t piece; // bytes of a claim
    // Of a message that the network device reads, at its receiver and its sender; else NULL.
    struct aq_msg_reads *reads;
    struct aq_msg_exposures *exposures;
    uint32_t generation; // of a send: of the claims
    bool received;       // of a send: the receiver has all bytes
    bool unreadable;     // of a receive: the system does not allow to read all
    struct gasnetx_request *next;
    const aq_request_hooks_t *hooks; // of a large message; otherwise NULL
    void *context;                   // of the hooks
};

typedef struct aq_msg_peer {
    aq_match_source_t source;
    aq_order_t order;        // of its messages
    uint32_t sent;           // the number of the next message to it
    _Atomic int32_t process; // whose memory this process can read; 0: not known yet
    aq_msg_credits_t credits;
} aq_msg_peer_t;

typedef struct aq_msg {
    aq_lock_t lock;
    aq_match_t match;
    aq_msg_peer_t *peers; // by job rank; NULL before the first message
    aq_cookies_t cookies;
    gasnetx_Request_t free_requests;
    // Bytes of the longest message that is sent at once: to ranks that share memory, and to others.
    size_t eager_nbrhd, eager;
    size_t device;                      // bytes of the shortest one that a network device reads
    size_t credits;                     // of one rank at another one, which keeps as many bytes
    size_t credits_eager, credits_half; // three quarters and half of that
    atomic_uint mode;                   // gasnetx_Msg_Mode; written with the lock
    uint32_t changes; // how often this rank has stopped or started; odd: it has stopped
    gasnetx_msg_counts_t counts;
} aq_msg_t;
extern aq_msg_t aq_msg;

// The job rank of the other side of a call. rank: in tm, or a job rank if a receive names no team.
static inline uint32_t aq_msg_jobrank(gex_TM_t tm, gex_Rank_t rank)
{
    return tm == GEX_TM_INVALID ? rank : aq_tm_jobrank(tm, rank);
}
