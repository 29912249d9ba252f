// SPDX-License-Identifier: BSD-3-Clause
// The mpi conduit: active messages over two-sided MPI, on a communicator of its own, and through
// mailboxes (conduits/common/mailbox.h) between ranks that share memory by MPI (mpi_shared.c).
//
//      near peer: mailbox in an MPI window           far peer: messages of MPI, as below
//
// What is always true:
// - Whether a peer is near or far does not change after the start, and both sides agree on it.
//   Messages to near peers never call MPI; if no peer is far and all segments are mapped, polls do
//   not call MPI either.
// - Requests and replies are two classes with different tags. Each has its own receive buffers and
//   send buffers, so that requests never block a reply.
// - For each credit of a far peer (conduits/common/credit.h) a receive is posted, and one for each
//   outstanding request of this process: MPI has a buffer for every message, and its memory for
//   unexpected messages does not grow. Only with more than MPI_RECEIVES_MAX peers may one message
//   of each peer find no posted receive.
// - MPI matches the oldest receive first, so only the oldest is tested. MPI_SPARES more receives
//   are posted than needed, and at most that many are with their handlers: so a receive is posted
//   again after its handler, when no peer waits for it.
// - MPI is called only with `lock` held and aq_mpilib_inside set. No handler runs under the lock.
// - A window (mpi_window.c) is an mpi_conduit_t of its own, with its own receives, sends, credits
//   and messages, on a communicator that was made for windows when the job started. It has its own
//   lock if MPI lets several threads call at the same time, else that of endpoint 0. Its peers are
//   all far: windows have no mailboxes.
//
//   send: credit -> send buffer -> MPI_Isend  ~~~>  oldest receive -> handler -> posted again
//            ^                                                        |
//            '--- reply, or hidden reply when too many are banked <---'
//
// Put and get (mpi_rma.c) use MPI's one-sided calls, on an MPI window over the segments. They are
// complete when that is flushed, which a poll does for all outstanding ones.
//
// A message is a header of 8 bytes, the arguments (padded to a multiple of 8 bytes), for a Long its
// destination, and then the payload. If the sender reaches the destination of a Long by stores
// (mpi_shared.c), it writes the payload there, and the message has its length in 8 bytes instead.
#pragma once

#include "../../core/conduit.h"
#include "../common/credit.h"
#include "../common/mailbox.h"
#include "../../core/thread/thread.h"
#include "../../other/mpi/mpi_library.h"

enum {
    MPI_REQUESTS,
    MPI_REPLIES,
    MPI_CLASSES, // these are also the tags

    MPI_MESSAGE_BYTES = 65536, // the longest message
    MPI_SMALL_BYTES = 256,     // messages up to this size use a small send buffer
    MPI_SMALL_SLOTS = 64,      // for each class
    MPI_LARGE_SLOTS = 8,       // for each class
    MPI_RECEIVES_MAX = 256,    // most receives posted for each class
    MPI_ACCESSES = 128,        // most outstanding puts and gets
    MPI_SPARES = 4,            // most handlers of a class that run at the same time
    MPI_NAPS = 20,             // divides the length of a sleep that arrivals do not end
    MPI_NAP_NS = 2500000,      // limit on such a sleep
    MPI_PASSES = 8, // polls by a busy sender for each poll of MPI, if there are mailboxes

    // Of a window, whose buffers are made when it gets links.
    MPI_WINDOW_EACH = 8,          // most credits for each link
    MPI_WINDOW_RECEIVES_MAX = 64, // most receives posted for each class, without the spares
    MPI_WINDOW_SMALL_SLOTS = 16,
    MPI_WINDOW_LARGE_SLOTS = 2,
    MPI_WINDOW_PLACES = 64, // of the table of links
    // Communicators of all windows, if several threads may call MPI at the same time; else one.
    MPI_WINDOW_COMMS = 8,

    // Further categories: a Long whose payload its sender has written into place, and a message
    // that only returns credits.
    MPI_PLACED = AQ_AM_CONTROL,
    MPI_HIDDEN,
};

typedef struct mpi_header {
    uint8_t category;
    uint8_t handler;
    uint8_t nargs;
    uint8_t unused;
    uint16_t credits;  // returned credits, in addition to that of a reply
    uint16_t endpoint; // of the sender
} mpi_header_t;

_Static_assert(sizeof(mpi_header_t) == 8, "the arguments of a message are aligned");

typedef struct mpi_slot {
    aq_mpilib_request_t request;
    struct mpi_slot *next; // in the list of free slots, or in the order of sends
    char *buffer;
} mpi_slot_t;

// Send buffers of one length.
typedef struct mpi_sends {
    mpi_slot_t *free;
    mpi_slot_t *oldest, *newest; // sends that MPI has not completed
} mpi_sends_t;

// The receives of a class. The slots between first and first + posted in the ring `order` are
// posted, the oldest first; the others of `all` are with their handlers.
typedef struct mpi_receives {
    mpi_slot_t *slots;
    uint32_t *order; // indices of slots
    uint32_t first, posted, all;
    uint32_t room; // the size of slots and order; `all` grows up to it
} mpi_receives_t;

// An outstanding put or get.
typedef struct mpi_access {
    atomic_uint *pending;
    uint32_t rank;
} mpi_access_t;

typedef struct mpi_link {
    aq_mail_link_t mail;    // first member; its doorbell is NULL if the peer is far
    aq_credit_t credit;     // this and the members below: for far peers
    aq_mpilib_comm_t *comm; // on which the peer receives, with the tags tag + class
    int tag;
    uint32_t rank;
    uint16_t endpoint; // of the peer
    bool credits_owed; // in the list of links to which credits have to be returned
    uint32_t taken;    // requests of the peer whose credit was not returned: at most its credits
    struct mpi_link *next_owed;
    struct mpi_link *next; // of a window: at the same place of the table
} mpi_link_t;

// The processes that share MPI windows with this one, including itself.
typedef struct mpi_shm_group {
    aq_mpilib_comm_t *comm;
    uint32_t *ranks; // job ranks, in the order of their memory
    uint32_t size;
} mpi_shm_group_t;

// The buffers of messages; of mpi_buffers.c.
typedef struct mpi_buffers {
    mpi_receives_t in[MPI_CLASSES];
    // Class of the last received message: alternates, because replies that arrive without end must
    // not starve requests.
    unsigned last_class;
    mpi_sends_t small[MPI_CLASSES], large[MPI_CLASSES];
} mpi_buffers_t;

// What windows have in common, in the conduit of endpoint 0, and a window's place among them; of
// mpi_window.c.
typedef struct mpi_windows {
    bool parallel; // several threads may call MPI at the same time
    uint32_t comm_count;
    aq_mpilib_comm_t *comms[MPI_WINDOW_COMMS];
    _Atomic(struct mpi_conduit *) first; // the newest
    struct mpi_conduit *next;            // of a window
    atomic_bool linked;                  // of a window: it has links, and its buffers are made
} mpi_windows_t;

// The memory that processes share by MPI; of mpi_shared.c.
typedef struct mpi_shared {
    mpi_shm_group_t group;
    bool by_mail;                  // the group has mailboxes
    uint32_t far;                  // number of peers that are reached only by messages of MPI
    atomic_uint passes;            // counts polls, to skip MPI in most of them
    aq_mpilib_window_t *mailboxes; // NULL: none
    aq_mpilib_window_t *segments;  // of this host; NULL: they are not in one
    // The first rank whose segment is not mapped here; size: all are mapped.
    uint32_t first_unmapped;
} mpi_shared_t;

// Puts and gets by MPI; of mpi_rma.c.
typedef struct mpi_rma_state {
    aq_mpilib_window_t *made; // on the segments; NULL: none
    // The MPI window to use for puts and gets; NULL: none. Threads that poll read it without the
    // lock.
    aq_mpilib_window_t *_Atomic win;
    mpi_access_t begun[MPI_ACCESSES];
    unsigned begun_count;
} mpi_rma_state_t;

// The receive side of an endpoint: of endpoint 0, or a window. `closed`, `ended`, `lost`, `shared`,
// `rma.win`, `rma.made`, and `windows` but for its last two are used in that of endpoint 0 only.
typedef struct mpi_conduit {
    // First member: a pointer to the mpi conduit is also a pointer to its mailboxes and its base.
    aq_mail_t mail;
    const aq_mpilib_table_t *mpi;
    struct mpi_conduit *main; // that of endpoint 0
    aq_mpilib_comm_t *comm;   // on which this endpoint receives, with the tags tag + class
    int tag;
    aq_lock_t *lock; // own_lock of this one, or of main
    aq_lock_t own_lock;
    atomic_bool closed; // this conduit was closed
    atomic_bool ended;  // MPI was finalized, or is being finalized
    atomic_bool lost;   // MPI was finalized by other code than this library
    mpi_buffers_t buffers;
    aq_credit_limits_t limits;
    aq_credit_pool_t pool;
    mpi_link_t **links; // by rank, of a window by a hash; NULL: no link yet
    mpi_link_t *credits_owed;
    size_t bytes; // size of all buffers
    uint64_t messages, accesses;
    uint64_t received; // messages
    mpi_windows_t windows;
    mpi_shared_t shared;
    mpi_rma_state_t rma;
} mpi_conduit_t;

static inline mpi_conduit_t *mpi_of(aq_conduit_t *conduit)
{
    return (mpi_conduit_t *)(void *)conduit;
}

// Offsets in a message.
static inline size_t mpi_args_end(unsigned nargs)
{
    return sizeof(mpi_header_t) + (4 * (size_t)nargs + 7) / 8 * 8;
}
static inline size_t mpi_payload_at(unsigned category, unsigned nargs)
{
    const bool has_destination = category == AQ_AM_LONG || category == MPI_PLACED;
    return mpi_args_end(nargs) + (has_destination ? 8 : 0);
}

extern const aq_conduit_ops_t aq_mpi_conduit;

// ---- around every call of MPI ----

static inline bool mpi_try_enter(mpi_conduit_t *mpi)
{
    if (!aq_lock_try(mpi->lock))
        return false;
    aq_mpilib_inside = true;
    return true;
}
static inline void mpi_enter(mpi_conduit_t *mpi)
{
    aq_lock_take(mpi->lock);
    aq_mpilib_inside = true;
}
static inline void mpi_leave(mpi_conduit_t *mpi)
{
    aq_mpilib_inside = false;
    aq_lock_drop(mpi->lock);
}
