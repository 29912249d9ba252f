// The mpi conduit: active messages over two-sided MPI, on a communicator of its own, and through
// mailboxes (conduits/common/mailbox.h) among those that share memory by MPI (mpi_shared.c).
//
//      who is near: mailbox in a shared window       who is far: messages of MPI, as below
//
// What is always true:
// - A peer is near or far from the start and for good, alike on both sides. Messages to those that
//   are near never call MPI; where nobody is far and all segments are mapped, polls do not either.
// - Two classes, requests and replies, told apart by their tag. Each has its receive buffers and
//   its send buffers, so that requests never keep a reply from getting through.
// - For each request that far peers have a credit for (conduits/common/credit.h) a receive is
// posted, and one
//   for each reply to a request of our own: MPI has a place for whatever comes, and its memory for
//   unexpected messages does not grow. Only with more than MPI_RECEIVES_MOST peers there may be
//   one message of each peer that finds none posted.
// - Receives are posted in a known order and MPI matches the oldest first, so only that one is
//   looked at. MPI_SPARES more are posted than are needed, and at most that many are with their
//   handlers: so one is posted again after its handler, where nobody waits for that.
// - MPI is called under `lock` only, with aq_mpi_inside set. No handler runs under it.
//
//   send: credit -> send buffer -> MPI_Isend  ~~~>  oldest receive -> handler -> posted again
//            ^                                                        |
//            '--- reply, or hidden reply when too many are banked <---'
//
// Put and get (mpi_rma.c) are MPI's own, on a window over the segments; they are complete when the
// window is flushed, which a poll does for all that were begun.
//
// A message is a header of 8 bytes, the arguments (to a multiple of 8 bytes), of a Long the
// destination, and the payload up to the end; or, where the sender reaches the destination by
// stores (mpi_shared.c) and has put the payload there, its length in 8 bytes.
#ifndef MPI_CONDUIT_H
#define MPI_CONDUIT_H

#include "../../core/conduit.h"
#include "../common/credit.h"
#include "../common/mailbox.h"
#include "../../core/thread.h"
#include "../../other/mpi/mpi_library.h"

enum {
    MPI_REQUESTS,
    MPI_REPLIES,
    MPI_CLASSES, // the tags

    MPI_MESSAGE_BYTES = 65536, // the longest message
    MPI_SMALL_BYTES = 256,     // a message up to this has a small send buffer
    MPI_SMALL_SLOTS = 64,      // for each class
    MPI_LARGE_SLOTS = 8,
    MPI_RECEIVES_MOST = 256, // receives posted for each class
    MPI_ACCESSES = 128,      // puts and gets under way
    MPI_SPARES = 4,          // handlers of a class that run at the same time, at most
    MPI_PASSES = 8, // polls of one who goes on to send, of which one looks at MPI, beside mailboxes

    // Further categories: a Long whose payload its sender has put into place, and a message that
    // only carries credits.
    MPI_PLACED = AQ_AM_LONG + 1,
    MPI_HIDDEN,
};

typedef struct mpi_header {
    uint8_t category;
    uint8_t handler;
    uint8_t nargs;
    uint8_t unused;
    uint16_t credits; // that go back, beside the one of a reply
    uint16_t unused_too;
} mpi_header_t;

_Static_assert(sizeof(mpi_header_t) == 8, "the arguments of a message are aligned");

typedef struct mpi_slot {
    aq_mpi_request_t request;
    struct mpi_slot *next; // in the list of free ones, or behind it in the order of sends
    char *buffer;
} mpi_slot_t;

// Send buffers of one length.
typedef struct mpi_sends {
    mpi_slot_t *free;
    mpi_slot_t *oldest, *newest; // MPI still reads them
} mpi_sends_t;

// The receives of a class: of `all`, those between first and first + posted of the ring `order` are
// posted, the oldest first; the rest are with their handlers.
typedef struct mpi_receives {
    mpi_slot_t *slots;
    uint32_t *order; // numbers of slots
    uint32_t first, posted, all;
} mpi_receives_t;

// A put or get that MPI has begun.
typedef struct mpi_access {
    atomic_uint *pending;
    uint32_t rank;
} mpi_access_t;

typedef struct mpi_link {
    aq_mail_link_t mail; // first; its doorbell is NULL where the peer is far
    aq_credit_t credit;  // the rest: of a far one
    uint32_t rank;
    uint32_t taken;    // requests of the peer whose credit is not back: at most what it was granted
    bool credits_owed; // in the list of those that a hidden reply is due to
    struct mpi_link *next_owed;
} mpi_link_t;

// The processes that share windows with this one, itself among them.
typedef struct mpi_shm_group {
    aq_mpi_comm_t *comm;
    uint32_t *ranks; // of the job, in the order of their memory
    uint32_t size;
} mpi_shm_group_t;

typedef struct mpi_conduit {
    aq_mail_t mail; // first: a pointer to it, and to the conduit in it, is a pointer to this
    const aq_mpi_table_t *mpi;
    aq_mpi_comm_t *comm;
    aq_lock_t lock;
    atomic_bool closed; // this conduit
    atomic_bool ended;  // MPI is being finalized, or was
    atomic_bool lost;   // and that by somebody else

    mpi_receives_t in[MPI_CLASSES];
    unsigned last_class; // of the message taken last: who floods another one gets replies without
                         // end, and has to serve requests too
    mpi_sends_t small[MPI_CLASSES], large[MPI_CLASSES];
    aq_credit_limits_t limits;
    aq_credit_pool_t pool;
    mpi_link_t **links; // by rank; NULL: never spoken to
    mpi_link_t *credits_owed;
    size_t bytes; // of all buffers
    uint64_t messages, accesses;

    mpi_shm_group_t shm_group;
    bool by_mail;               // the company has mailboxes
    uint32_t far;               // peers that only messages of MPI reach
    atomic_uint passes;         // polls since MPI was looked at
    aq_mpi_window_t *mailboxes; // NULL: none

    aq_mpi_window_t *shared; // in which the segments of this host lie; NULL: they do not
    uint32_t first_unmapped; // the first rank whose segment is not mapped here; size: there is none
    aq_mpi_window_t *made;   // on the segments; NULL: none
    aq_mpi_window_t *window; // that is to be used; NULL: none
    mpi_access_t begun[MPI_ACCESSES];
    unsigned begun_count;
} mpi_conduit_t;

static inline mpi_conduit_t *mpi_of(aq_conduit_t *conduit)
{
    return (mpi_conduit_t *)(void *)conduit;
}

// Where things lie in a message.
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
    if (!aq_lock_try(&mpi->lock))
        return false;
    aq_mpi_inside = true;
    return true;
}
static inline void mpi_enter(mpi_conduit_t *mpi)
{
    aq_lock_take(&mpi->lock);
    aq_mpi_inside = true;
}
static inline void mpi_leave(mpi_conduit_t *mpi)
{
    aq_mpi_inside = false;
    aq_lock_drop(&mpi->lock);
}

// Logs what MPI says of an error of one of its calls.
aq_status_t mpi_conduit_error(const mpi_conduit_t *mpi, const char *call, int error);
// Says why the job cannot be, once; alike at all ranks, and collective. Returns AQ_ERR_CONFIG.
aq_status_t mpi_refuse(const mpi_conduit_t *mpi, const char *why);
// Ends the job after such an error, or because MPI is finalized; for who cannot return it.
void mpi_conduit_fail(mpi_conduit_t *mpi, const char *call, int error) __attribute__((noreturn));

// ---- mpi_buffers.c ----

// Makes and posts the receives, and makes the send buffers. Logs a fault.
aq_status_t mpi_buffers_open(mpi_conduit_t *mpi);
// Withdraws the receives.
void mpi_buffers_withdraw(mpi_conduit_t *mpi);

// The rest under the lock.

// A send buffer for a message of that length; NULL: none is free now.
mpi_slot_t *mpi_slot_take(mpi_conduit_t *mpi, unsigned class, size_t bytes);
// Sends it to a rank.
aq_status_t mpi_slot_send(mpi_conduit_t *mpi, unsigned class, mpi_slot_t *slot, size_t bytes,
                          uint32_t rank);
// Takes back the buffers that MPI is done with.
void mpi_slots_reclaim(mpi_conduit_t *mpi);
// Whether MPI still reads any.
bool mpi_slots_busy(const mpi_conduit_t *mpi);

// The next message of the classes in what (AQ_POLL_*), which is taken out: its class, and slot,
// length and sender; -1: nothing is there, or too many handlers run.
int mpi_receive_next(mpi_conduit_t *mpi, unsigned what, mpi_slot_t **slot, size_t *bytes,
                     uint32_t *source);
// Its handler has returned: the receive is posted again.
void mpi_receive_done(mpi_conduit_t *mpi, unsigned class, mpi_slot_t *slot);

// ---- mpi_messages.c ----

// The link of a rank, made on first use; NULL: no memory (logged). Under the lock.
mpi_link_t *mpi_link_of(mpi_conduit_t *mpi, uint32_t rank);

aq_status_t mpi_conduit_send(aq_conduit_t *conduit, void *link, const aq_am_t *am);
unsigned mpi_conduit_poll(aq_conduit_t *conduit, unsigned what);
// Messages of MPI wake nobody: where some may come, sleeps are short.
void mpi_conduit_sleep(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns);

// ---- mpi_shared.c ----

// Finds who shares memory with this process, and opens the mailboxes. Collective.
aq_status_t mpi_shared_open(mpi_conduit_t *mpi);
// Fills in the way to the mailbox of a rank, if it has one.
void mpi_shared_link(const mpi_conduit_t *mpi, uint32_t rank, mpi_link_t *link);
aq_status_t mpi_share_segments(aq_conduit_t *conduit, const uintptr_t *sizes, void **here);

// ---- mpi_rma.c ----

// Whether all ranks say yes. Collective.
aq_status_t mpi_agree(const mpi_conduit_t *mpi, bool yes, bool *all);

aq_status_t mpi_rma_attach(aq_conduit_t *conduit, void *segment, size_t size);
aq_status_t mpi_rma_put(aq_conduit_t *conduit, void *link, void *dest, const void *src,
                        size_t nbytes, unsigned flags, atomic_uint *pending, size_t *begun);
aq_status_t mpi_rma_get(aq_conduit_t *conduit, void *link, void *dest, const void *src,
                        size_t nbytes, unsigned flags, atomic_uint *pending, size_t *begun);
// Closes the windows. Collective.
void mpi_rma_end(mpi_conduit_t *mpi);
// Completes what was begun; returns how many. Under the lock.
unsigned mpi_rma_complete(mpi_conduit_t *mpi);

#endif
