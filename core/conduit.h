// SPDX-License-Identifier: BSD-3-Clause
// The contract between the core and a conduit (a way to move messages): one const table
// of operations.
//
// What is always true:
// - A conduit's global symbols are its table, and its profile with the rows of its settings. A
//   conduit never includes another one.
// - Several conduits are open at once: smp for the processes of this process's neighbourhood, and
//   at most one network for the other processes. On first use a peer is bound, permanently, to the
//   first open conduit whose match accepts the peer.
// - A message is delivered exactly once; order is not promised. Requests and replies travel in
//   separate classes: a full request class never keeps a reply from getting through.
// - An open conduit is the receive side of one endpoint of this process: what arrives there, its
//   credits, locks and links belong to that endpoint. `open` opens the one of endpoint 0, and
//   open_window those of further endpoints (windows), which are aq_conduit_t objects, too. Windows
//   communicate with windows only, endpoint 0 with endpoint 0.
// - A link leads from that endpoint to one endpoint of a peer. Several ways to the peer (rails) are
//   inside a link: the conduit chooses one for each operation, and the core sees one link.
// - Ownership: objects that an operation gets by pointer belong to the caller and are valid during
//   the call, unless the operation says otherwise. The conduit owns itself and its links, which
//   stay valid until close.
// - Locks: the core calls only connect with a lock of the core held. A conduit calls deliver and
//   poll_replies without holding its own locks.
// - Threads: operations marked "any thread" may run at the same time in several threads if
//   env->threads is set. The others are called by one thread, in the same order at all ranks.
// - Statuses: AQ_OK; AQ_AGAIN and AQ_ERR_ABSENT where the operation allows them, unlogged. On any
//   other status the conduit has logged the fault, once, and the core ends the job.
//
//      client -> am_api.c -> am.send .... wire .... am.poll -> env->deliver -> handler
//                                                                                    |
//      handler <- env->deliver <- am.poll .... wire .... am.send <- am_api.c <- reply
//
// To write a new conduit, read conduits/smp first, which is the smallest.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../other/base/memory/memfile.h"
#include "../other/base/settings/profile.h"
#include "../other/base/log/status.h"
#include "../spawner/boot/boot.h"
#include "gasnet_fwd.h"

// Version of this contract: major * AQ_CONDUIT_MAJOR + minor. A module works with the library that
// has the same number only. Modules of version 1 have numbers below AQ_CONDUIT_MAJOR.
#define AQ_CONDUIT_MAJOR 256u
#define AQ_CONDUIT_ABI (3 * AQ_CONDUIT_MAJOR + 1)
#define AQ_DESCRIPTION_BYTES 64 // room for a conduit's description of itself, with its final zero
// Arguments of a message: three more than a client's, for the header and the tag of a message
// between further endpoints (core/am/am_header.h).
#define AQ_AM_MAX_ARGS 19

// Kinds of messages. A conduit may use numbers from AQ_AM_CONTROL on for its own messages to the
// same conduit of the peer (credits, acknowledgements ...), which never reach the core.
typedef enum aq_am_category {
    AQ_AM_SHORT,
    AQ_AM_MEDIUM,
    AQ_AM_LONG,
    AQ_AM_CONTROL
} aq_am_category_t;

// Copies the arguments of a message, one by one: they were written just before, in pieces, and the
// processor delays a load that needs several of its recent stores. The empty assembly keeps the
// compiler from making a call of memcpy or wide loads of the loop.
static inline void aq_am_copy_args(int32_t *to, const int32_t *from, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        to[i] = from[i];
        __asm__ volatile("");
    }
}

// Writes the payload of a message that lies in pieces to where the message is built.
typedef struct aq_am_gather {
    void (*write)(struct aq_am_gather *gather, void *to);
} aq_am_gather_t;

// An outgoing message. All pointers belong to the caller and are valid during the call only.
typedef struct aq_am {
    const int32_t *args;
    const void *payload; // nbytes of it; a Long goes to dest in the memory of the receiver
    size_t nbytes;
    void *dest; // of a Long, as the receiver sees it
    union {
        void *dest_mapped; // of a Long: the same place in this process, where it is mapped; else
                           // NULL, and the payload travels in the message
        aq_am_gather_t *gather; // of a Medium without payload, for conduits with AQ_CAN_GATHER;
                                // called once, when send accepts the message
    };
    uint64_t cookie;  // of a reply: the cookie of the request's return path; else 0
    uint8_t category; // aq_am_category_t
    uint8_t handler;
    uint8_t nargs;
    bool reply;
    bool payload_delivered; // of a Long: nbytes are at dest already; see max_long_ahead
} aq_am_t;

// How a reply reaches the sender of a request.
typedef struct aq_return_path {
    struct aq_conduit *conduit;
    void *link;      // to the sender, ready for messages; NULL: the core connects by rank
    uint64_t cookie; // of the conduit; send or prepare gets it back with the reply
} aq_return_path_t;

// A message that has arrived. The payload of a Medium is aligned to 8 bytes; the handler may change
// it, and it belongs to the conduit again when deliver returns.
typedef struct aq_arrival {
    const int32_t *args;
    void *payload;
    size_t nbytes;
    const aq_return_path_t *path; // NULL: the conduit names no link, and the cookie is 0
    uint32_t source;              // job rank
    uint8_t category;
    uint8_t handler;
    uint8_t nargs;
    bool reply;
} aq_arrival_t;

// Room for a message whose payload is written in place (see prepare).
typedef struct aq_reservation {
    void *payload;   // aligned to 16 bytes
    size_t size;     // bytes at payload
    uint64_t cookie; // of the conduit
} aq_reservation_t;

typedef struct aq_conduit aq_conduit_t;

// The other end of a link. Owned by the core; valid during the call.
typedef struct aq_peer {
    uint32_t rank;           // job rank
    uint16_t endpoint;       // index of an endpoint of that rank; 0 unless both ends are windows
    const char *description; // what the describe of the peer's receive side has written
} aq_peer_t;

// The segment that the client was compiled for: one that may be pinned as a whole, one that may be
// larger than that, or all memory of a process. The same at all ranks.
typedef enum aq_segment_mode {
    AQ_SEGMENT_FAST,
    AQ_SEGMENT_LARGE,
    AQ_SEGMENT_EVERYTHING
} aq_segment_mode_t;

// The environment that a conduit gets at open. Owned by the core, valid until close.
typedef struct aq_conduit_env {
    aq_boot_t *boot;
    uint32_t rank, size;
    const uint32_t *nbrhd; // job ranks of the processes that share memory with this one, ascending
    uint32_t nbrhd_size, nbrhd_index;
    bool threads; // several threads may call at once
    // The client runs the progress threads (GEX_FLAG_DEFER_THREADS): the conduit starts no thread
    // that receives or that takes in what was sent, and the core polls in its place.
    bool deferred;
    aq_segment_mode_t segment_mode;
    // The segment of each rank's primordial endpoint, with the address in that rank; size 0: there
    // is none. These do not change after attach, and are undefined with AQ_SEGMENT_EVERYTHING.
    const uintptr_t *segment_addr, *segment_size;
    // Parts of the segments may have no memory: every access to this rank's segment needs
    // segment_holds, and a rank may not have what its size suggests. Set at attach, which then
    // calls neither share_segments nor attach.
    bool segment_sparse;
    // A file of huge pages for share_segments, or -1: the segments of the neighbourhood in the
    // order of its ranks, each of whole pages of segment_page bytes. A conduit may leave it unused.
    int segment_pool;
    size_t segment_page;      // a power of two; defined if there is a file
    uint64_t exit_timeout_ns; // see aq_exit_timeout_ns

    // Runs the handler of a message in the calling thread; the conduit holds no lock. Returns true
    // if the handler of a request has sent its reply. The handler may call send (a reply) and
    // poll_replies of this conduit before deliver returns. Any thread, inside poll only.
    bool (*deliver)(const aq_arrival_t *arrival);
    // Whether peers may access all these bytes of this process; true for 0 bytes. A conduit checks
    // every address that arrives over the network before it uses the address, also before it writes
    // the payload of a Long. Any thread; does not block; allowed under a lock of the conduit.
    bool (*segment_holds)(const void *addr, size_t nbytes);
    // Delivers arrived replies of all conduits. For a conduit that must wait in an operation; the
    // conduit holds no lock. Any thread.
    void (*poll_replies)(void);
    // Counts a frame that has left for an endpoint's peer (frames_sent of aqueduct.h), for a
    // conduit that does not count frames itself. Any thread; does not block.
    void (*count_frame)(uint16_t endpoint);
    // Continues the core's own work (barriers, collectives), which may send. For a thread of the
    // conduit that has delivered messages while no thread of the client polls; the conduit holds no
    // lock. Only if threads is set.
    void (*go_on)(void);
} aq_conduit_env_t;

// Returns the index of a job rank in the neighbourhood of this process, or UINT32_MAX.
static inline uint32_t aq_index_in_nbrhd(const aq_conduit_env_t *env, uint32_t rank)
{
    uint32_t low = 0, high = env->nbrhd_size;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (env->nbrhd[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < env->nbrhd_size && env->nbrhd[low] == rank ? low : UINT32_MAX;
}

// A word of memory whose value shows that a message has arrived. It is a hint: a message may arrive
// without it, and a poll that follows it may find nothing.
typedef struct aq_watched {
    const _Atomic uint64_t *_Atomic word;
    _Atomic uint64_t awaited; // its value if a message is there
} aq_watched_t;
enum { AQ_WATCHES = 4 };

// What an open conduit can do, or needs of the core: bits of aq_conduit_t.capabilities.
enum {
    // A request that arrives at endpoint 0 without a path must be answered between the receive
    // sides of endpoint 0, even if the windows of the two endpoints have connected meanwhile.
    AQ_NEEDS_SAME_PATH = 1u << 0,
    // A thread of the library may call arm, sleep, disarm and wake while the client's only thread
    // is in other operations (env->threads is not set). Otherwise the core does not sleep in the
    // conduit then, but at intervals.
    AQ_CAN_SLEEP_BESIDE = 1u << 1,
    // A thread of the conduit delivers what arrives, and wakes sleepers.
    AQ_CAN_DELIVER = 1u << 2,
    // Peers wait for polls of this process, also for those that find nothing: a thread that waits
    // gives up its processor for moments only.
    AQ_NEEDS_POLLS = 1u << 3,
    // send takes Mediums with a gather, as it copies payloads.
    AQ_CAN_GATHER = 1u << 4,
    // poll takes AQ_POLL_COMPLETIONS.
    AQ_CAN_COMPLETE = 1u << 5,
};

struct aq_conduit {
    const struct aq_conduit_ops *ops;
    const aq_conduit_env_t *env;
    uint16_t endpoint;     // index of the endpoint of this process that receives here
    uint32_t capabilities; // constant after open
    // Payload limits in bytes for any number of arguments. Constant after open, except that attach
    // may lower the limits of Longs, at all ranks alike.
    size_t max_medium;
    size_t max_long;
    size_t max_long_unmapped; // of a Long without dest_mapped, at most max_long
    // If larger than max_long: the limit of Long requests into memory that rma reaches. The core
    // puts a payload of long_ahead_from bytes or more, and sends the Long with payload_delivered
    // when the put is complete. 0: the limit is max_long.
    size_t max_long_ahead;
    size_t long_ahead_from; // at most max_long + 1, if max_long_ahead is larger than max_long
    // The shortest put that rma cannot begin without AQ_RMA_STABLE: for a put of this length or
    // more whose source the client wants back at once, the core passes AQ_RMA_STABLE, and the
    // client's call returns when the put is complete. 0: no put is too long.
    size_t put_waits_from;
    // AQ_WATCHES of them: while none has its awaited value, most polls of a client need not call
    // poll. NULL: the conduit has none. Constant after open.
    const aq_watched_t *watch;
};

// Whether an open conduit has this capability.
static inline bool aq_conduit_can(const aq_conduit_t *conduit, uint32_t capability)
{
    return (conduit->capabilities & capability) != 0;
}

// What to poll for.
#define AQ_POLL_REPLIES 1u
#define AQ_POLL_REQUESTS 2u
#define AQ_POLL_SENDING 4u // from a send that does not wait: the conduit may defer the poll
#define AQ_POLL_AGAIN 8u   // from a spinning wait, which polls continuously
// Alone: takes in what the device has completed of this process's operations, and begins those that
// waited for that. Runs no handlers. For conduits with AQ_CAN_COMPLETE.
#define AQ_POLL_COMPLETIONS 16u

struct gasnetx_counters; // aqueduct.h

// Resources that peers need in this process, in a network with connections.
typedef struct aq_peer_costs {
    size_t unspoken_bytes;  // for each rank of the job
    size_t connected_bytes; // in addition for each connected peer
    size_t connections, receive_buffers;
} aq_peer_costs_t;

// A put or a get, or the rest of one that has begun.
typedef enum aq_rma_kind { AQ_RMA_PUT, AQ_RMA_GET } aq_rma_kind_t;

// Of a put: the source does not change before the put is complete. Without it, the source may be
// reused when the call returns.
#define AQ_RMA_STABLE 1u

typedef struct aq_rma {
    void *remote; // in the peer's memory, as the peer sees it
    void *local;  // in this process; a put only reads it
    size_t nbytes;
    atomic_uint *pending; // counts the pieces that have begun and are not complete
    uint8_t kind;         // aq_rma_kind_t
    uint8_t flags;        // AQ_RMA_STABLE
} aq_rma_t;

// Removes the first bytes, which have begun, from an operation.
static inline void aq_rma_advance(aq_rma_t *rma, size_t begun)
{
    rma->remote = (char *)rma->remote + begun;
    rma->local = (char *)rma->local + begun;
    rma->nbytes -= begun;
}

// Memory of this process that peers may read; see expose.
typedef struct aq_exposure {
    size_t bytes; // the first ones of the memory, at least one
    uint64_t key; // with which peers read them
    void *handle; // of the conduit
} aq_exposure_t;

// An atomic operation on 8 bytes of the peer's segment, aligned to 8.
typedef enum aq_atomic_kind {
    AQ_ATOMIC_ADD, // adds operand1
    AQ_ATOMIC_CAS, // stores operand2 if the old value is operand1
} aq_atomic_kind_t;

typedef struct aq_atomic {
    void *dest; // as the peer sees it
    uint64_t operand1, operand2;
    void *result; // receives the old value; may be NULL
    aq_atomic_kind_t kind;
    // All operations that the client may use on this memory are of these kinds.
    bool exclusive_ops;
} aq_atomic_t;

// Sending and receiving. send and poll are mandatory.
typedef struct aq_conduit_am_ops {
    // Sends a message. Any thread; does not block and runs no handlers. On AQ_OK the message will
    // be delivered, and args and payload may be reused at once. AQ_AGAIN: there is no room now, and
    // nothing was done; the core polls and calls again. Room for replies does not depend on
    // requests that wait to be received.
    aq_status_t (*send)(aq_conduit_t *conduit, void *link, const aq_am_t *am);

    // Delivers arrived messages of the classes in `what` (AQ_POLL_...), a bounded number, and
    // advances the conduit's own work. Returns the number of messages and steps, 0 if nothing was
    // done. Any thread, also inside a handler for AQ_POLL_REPLIES. Does not block: returns if
    // another thread is receiving.
    unsigned (*poll)(aq_conduit_t *conduit, unsigned what);

    // prepare reserves room for a Medium with am->nargs arguments and a payload of at least `least`
    // and at best `most` bytes, which the caller writes in place. AQ_AGAIN as with send. Exactly
    // one of commit and cancel follows, from the same thread and with the same link; am->payload is
    // the reservation's then. commit sends the message, and cancel returns the room; neither fails.
    // All three: any thread, do not block, run no handlers. A conduit has all of them, or none.
    // Default: a buffer of the core, which commit sends with send.
    aq_status_t (*prepare)(aq_conduit_t *conduit, void *link, const aq_am_t *am, size_t least,
                           size_t most, aq_reservation_t *out);
    void (*commit)(aq_conduit_t *conduit, void *link, const aq_am_t *am,
                   const aq_reservation_t *room);
    void (*cancel)(aq_conduit_t *conduit, void *link, const aq_am_t *am,
                   const aq_reservation_t *room);

    // Whether all requests for this peer that send had accepted when *mark was set have left this
    // process; the call that finds 0 in *mark sets *mark. Any thread; does not block. Default:
    // true, since no accepted request waits for a later poll.
    bool (*requests_flushed)(aq_conduit_t *conduit, void *link, uint64_t *mark);
} aq_conduit_am_ops_t;

// Waiting: all of these, or none. Default: the core sleeps for short, limited times.
typedef struct aq_conduit_wait_ops {
    // Between arm and disarm every arrival wakes sleepers. sleep returns when something has arrived
    // since the arm that returned `armed`, or after limit_ns nanoseconds; only sleep blocks. Any
    // thread; pairs of arm and disarm do not nest.
    uint32_t (*arm)(aq_conduit_t *conduit);
    void (*sleep)(aq_conduit_t *conduit, uint32_t armed, uint64_t limit_ns);
    void (*disarm)(aq_conduit_t *conduit);
    // Wakes the sleepers of this process, or of all processes of the neighbourhood, that wait for
    // something other than a message. Any thread; does not block.
    void (*wake)(aq_conduit_t *conduit, bool neighbourhood);
} aq_conduit_wait_ops_t;

// Segments, and other memory of this process that peers reach. Each has a default.
typedef struct aq_conduit_memory_ops {
    // Allocates this rank's segment and maps the segments of all ranks that can be mapped, at least
    // those of the neighbourhood. Element r of sizes (in bytes) and of here (out; NULL on entry,
    // and if nothing is mapped) belongs to rank r. The conduit owns the memory, which stays mapped
    // until the process ends. Called by all ranks, at most once; may block. The core synchronizes
    // the ranks before the memory is used. A network is asked before smp; AQ_ERR_ABSENT, unlogged,
    // at all ranks alike leaves the segments to the next conduit.
    aq_status_t (*share_segments)(aq_conduit_t *conduit, const uintptr_t *sizes, void **here);
    // Where the segment of this rank from share_segments is, so that neighbours that join later can
    // map it: a file that stays open, and the offset in it. False: nowhere. Any thread; does not
    // block. Default: false.
    bool (*segment_file)(aq_conduit_t *conduit, aq_memfile_ticket_t *file, uint64_t *offset);
    // Collective over the job, at most once: this rank's segment is in place. The conduit prepares
    // the memory for the network, and may exchange through env->boot. No rank accesses a segment
    // of another before all ranks have returned. May block.
    aq_status_t (*attach)(aq_conduit_t *conduit, void *segment, size_t size);
    // Whether attach gives every page of the segment its memory, as it registers all of it. Then
    // the core does that before, by all processors of the rank. Default: false.
    bool (*fills_segment)(aq_conduit_t *conduit, size_t size);
    // Returns memory that all processes of the neighbourhood share: AQ_SCRATCH_BYTES * nbrhd_size
    // bytes, zero at first, aligned to 64, valid until the process ends (core/memory/scratch.h).
    // Any thread; does not block.
    void *(*shared_scratch)(aq_conduit_t *conduit);

    // Reads of memory of any kind, also outside of segments, while its owner exposes it.
    // - expose makes the first bytes of memory readable for peers, with a key that the core sends
    //   to one of them. AQ_AGAIN: all that may be exposed is in use. AQ_ERR_ABSENT, AQ_ERR_ARG:
    //   this memory cannot be exposed. None of these is logged; the core uses active messages.
    // - conceal ends an exposure: no reads with its key are under way. The conduit may keep the
    //   memory registered for its next use.
    // - get_exposed of aq_conduit_rma_ops_t begins a get of memory that a peer has exposed with
    //   this key, all of it within the exposed bytes. AQ_OK, AQ_AGAIN, *rma and *pending are as
    //   with begin of that table.
    // Any thread, also in a handler; do not block. A conduit has all of them, or none, the same at
    // all ranks. Default: active messages.
    aq_status_t (*expose)(aq_conduit_t *conduit, const void *memory, size_t nbytes,
                          aq_exposure_t *out);
    void (*conceal)(aq_conduit_t *conduit, const aq_exposure_t *exposure);
} aq_conduit_memory_ops_t;

// One-sided operations on memory of peers. Each has a default.
typedef struct aq_conduit_rma_ops {
    // Begins a put or get between any local address and memory in the peer's segment, which with
    // AQ_SEGMENT_EVERYTHING is all memory of the peer. Any thread; does not block, runs no
    // handlers.
    // - AQ_OK: the front, at least one byte, has begun and is removed from *rma (aq_rma_advance);
    //   the core calls again for the rest. *pending has grown by one for each piece, and shrinks
    //   (release) when the piece is complete: at the target (put) or here (get). Local memory stays
    //   in use until then for a get and for AQ_RMA_STABLE; *pending stays valid until then.
    // - AQ_AGAIN: there is no room now, and nothing was done.
    // - AQ_ERR_ABSENT, unlogged: the conduit cannot reach this memory of the peer, and nothing was
    //   done; the core uses active messages.
    // Default: active messages.
    aq_status_t (*begin)(aq_conduit_t *conduit, void *link, aq_rma_t *rma);

    // Reads exposed memory: see expose in aq_conduit_memory_ops_t.
    aq_status_t (*get_exposed)(aq_conduit_t *conduit, void *link, aq_rma_t *rma, uint64_t key);

    // Begins a remote atomic; memory, statuses and *pending are as with begin. result, if not NULL,
    // stays in use until the operation is complete. Any thread; does not block. Other ranks may
    // access the same memory with atomics of the processor, and operations of other kinds do (see
    // exclusive_ops): if the conduit's operation is not atomic with respect to those, the conduit
    // returns AQ_ERR_ABSENT. Default: active messages.
    aq_status_t (*atomic)(aq_conduit_t *conduit, void *link, const aq_atomic_t *atomic,
                          atomic_uint *pending);
} aq_conduit_rma_ops_t;

// What users see of a conduit. Each has a default: nothing is shown.
typedef struct aq_conduit_report_ops {
    // Bytes that this process holds for messages (rings, buffers). Any thread; does not block.
    size_t (*memory_bytes)(aq_conduit_t *conduit);
    // Describes for gasnet_info the devices of this host that the conduit could use, and why it
    // could not use others: calls print for each line; a line with the label "" continues the
    // previous line. Works without open; may block for a moment.
    void (*print_info)(void (*print)(void *arg, const char *label, const char *text), void *arg);
    // Adds what this receive side and its links have counted so far to *sum: the fields about the
    // network, and what the conduit has dropped. Any thread, also in a handler; may take locks of
    // the conduit for a short time.
    void (*counters)(aq_conduit_t *conduit, struct gasnetx_counters *sum);
    // Adds the current costs of peers to *sum. Any thread; does not block.
    void (*peer_costs)(aq_conduit_t *conduit, aq_peer_costs_t *sum);
    // Prints queues and counters on standard error. Called in a handler of a signal: takes no
    // locks, and may read state that another thread is changing.
    void (*dump_state)(aq_conduit_t *conduit);
    // Writes which network the conduit uses, in a few words for gasnet_top: the device, the address
    // or the provider. After open; does not block.
    void (*network)(aq_conduit_t *conduit, char *text, size_t size);
    // Writes the names of the devices that a progress thread polls, with commas between, for
    // gex_System_QueryProgressThreads. After open; does not block. NULL: the conduit's name.
    void (*devices)(aq_conduit_t *conduit, char *text, size_t size);
} aq_conduit_report_ops_t;

// The table of a conduit. A sub-table without functions is absent, and the core does that work by
// active messages or by sleeping for short times.
typedef struct aq_conduit_ops {
    const char *name;
    uint32_t abi; // AQ_CONDUIT_ABI
    // Bytes of a description that peers need, at most AQ_DESCRIPTION_BYTES.
    uint32_t description_bytes;
    // Of a module: its settings, and how its jobs start; or NULL.
    const aq_conduit_profile_t *profile;

    // ---- mandatory ----

    // Whether this conduit runs on this machine. If not, writes the reason and the remedy to
    // errbuf, in a few words; if so, the device that it would use, or nothing. Called before open,
    // by one thread; does not log; may block for a moment.
    bool (*usable)(char *errbuf, size_t errbuf_size);

    // Collective over the job: may exchange through env->boot, and may block. env stays valid until
    // close. On AQ_OK *out is the conduit, which the core passes to close. On an error the conduit
    // has logged the fault.
    aq_status_t (*open)(const aq_conduit_env_t *env, aq_conduit_t **out);

    // Writes how peers reach this process; the core publishes the first description_bytes of it to
    // all ranks. Once, after open; does not block and cannot fail.
    void (*describe)(aq_conduit_t *conduit, char description[AQ_DESCRIPTION_BYTES]);

    // Whether this peer can be reached. At any time after open, under the lock of connect; does not
    // block.
    bool (*match)(aq_conduit_t *conduit, const aq_peer_t *peer);

    // Connects to a peer; once for each peer, by one thread at a time, with a lock of the core
    // held. May block, but neither polls nor calls the core: other threads that connect to a peer
    // wait meanwhile. On AQ_OK *link is a pointer to an even address, ready for send and rma from
    // any thread.
    aq_status_t (*connect)(aq_conduit_t *conduit, const aq_peer_t *peer, void **link);

    // Ends the conduit. Not collective: peers may be gone already, and other threads may still be
    // inside operations. By one thread; may block for a bounded time.
    void (*close)(aq_conduit_t *conduit);

    // ---- optional: NULL means the default of the core ----

    // Opens the receive side of endpoint number `endpoint` (1 or more) of this process, at most
    // once for each number. Threads that use different windows must share nothing that is written.
    // Not collective: the core tells a peer of the window when the two communicate first, with all
    // AQ_DESCRIPTION_BYTES of describe, and then both call connect with the other's window as peer.
    // A peer sends requests to this window only after this process has returned from connect. The
    // window may have a table of its own; the core uses describe, connect, send, poll, prepare,
    // commit, cancel, requests_flushed, arm, sleep, disarm, rma, atomic and the reports of a
    // window. Payload limits are not smaller than those of `conduit`. The window stays open until
    // close of `conduit`, which closes it too. By one thread at a time, while others use `conduit`;
    // may block for a moment. On an error the conduit has logged the fault. Default: messages
    // between further endpoints travel between the receive sides of endpoint 0.
    aq_status_t (*open_window)(aq_conduit_t *conduit, uint16_t endpoint, aq_conduit_t **out);

    // Collective over the present ranks; the new ranks call `open` meanwhile, so that both make the
    // same calls of env->boot. Ranks have joined the job (grow in aq_boot_ops_t): the last `joined`
    // ones below aq_boot_present(env->boot), of which env->size and env->nbrhd have had places from
    // open on. After open, ranks that are absent have zeros in what exchanges gave. Other threads
    // may be in operations with other peers; may block. Only with a description of 0 bytes, and
    // without attach: the segments of jobs that have grown are announced by messages. Default: jobs
    // with a reserve are refused at the start.
    aq_status_t (*admit)(aq_conduit_t *conduit, uint32_t joined);

    aq_conduit_am_ops_t am; // mandatory
    aq_conduit_wait_ops_t wait;
    aq_conduit_memory_ops_t memory;
    aq_conduit_rma_ops_t rma;
    aq_conduit_report_ops_t report;
} aq_conduit_ops_t;

// Wakes sleepers as `wake` does, if the conduit has it.
static inline void aq_conduit_wake(aq_conduit_t *conduit, bool neighbourhood)
{
    if (conduit->ops->wait.wake)
        conduit->ops->wait.wake(conduit, neighbourhood);
}

#define AQ_SCRATCH_BYTES ((size_t)2 << 20)

// The size of a huge page, which takes the place of 512 pages in the tables of the processor, on
// x86-64 and on others with pages of 4 KiB. The kernel uses one only where address and place in the
// file have the same remainder by it, so segments of this size or more begin at a multiple, in the
// file too.
#define AQ_HUGE_PAGE ((uintptr_t)2 << 20)

// Bytes without access that share_segments leaves on both sides of each segment that it maps, if
// the address space has room for them, so that an access outside of a segment is found
// (core/memory/fault.h).
#define AQ_SEGMENT_GUARD ((size_t)16 << 20)

// Name under which a module (NAME.so in $libdir/gasnet or GASNET_MODULE_PATH) exports its table.
#define AQ_CONDUIT_MODULE_SYMBOL "aq_conduit_module"
