// SPDX-License-Identifier: BSD-3-Clause
// Aqueduct's extensions: calls that no specification of GASNet has. GASNet clients need none of
// them; a client that uses them includes this header after gasnetex.h. aqueduct(3) describes them.
//
// All calls need a job (gex_Client_Init), unless a comment says otherwise. A call that returns int
// returns GASNET_OK or GASNET_ERR_..., without a message; with gex_System_SetVerboseErrors(1) the
// library also logs the reason.
#ifndef AQUEDUCT_H
#define AQUEDUCT_H

#include "gasnetex_core.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- endpoints and windows ----
//
// A window is the receive side of a further endpoint: its own rings, sockets or queue pairs. Where
// the conduit offers windows, threads that have an endpoint each, are bound to it and communicate
// with endpoints other than 0 of their peers, share nothing that is written. A window opens on
// first use. Where a conduit offers none, messages of all endpoints travel through the
// receive side of endpoint 0, and these calls still work.
#define GASNETX_WINDOWS 1

// Binds the calling thread to an endpoint that has GEX_EP_CAPABILITY_AM: polls and waits of this
// thread serve that endpoint first, and everything else of this process now and then. The
// primordial endpoint or GEX_EP_INVALID ends the binding. May block for a moment; not in a handler.
AQ_API int gasnetx_EP_BindThread(gex_EP_t ep);

// Whether this process has a window for an endpoint over every conduit of the job: 1 or 0. Opens
// the window if need be. May block for a moment.
AQ_API int gasnetx_EP_HasWindow(gex_EP_t ep);

// Delivers what has arrived for one endpoint, and for no other if it has a window or is the
// primordial one. A loop of such polls serves nothing else: barriers and puts of the team need
// polls of the primordial endpoint or gasnet_AMPoll, and over udp a message waits, also to be sent
// again, for polls of the endpoint that has sent it. Any thread; runs handlers; not in a handler.
AQ_API int gasnetx_EP_Poll(gex_EP_t ep);

// Destroys an endpoint that gex_EP_Create has made: unbinds its segment, and gives its index back,
// which the next gex_EP_Create may return. The client ensures that no thread uses the endpoint any
// more. Not collective: a message that arrives later is dropped, with a line on standard error.
// Neighbours that have mapped the segment of the endpoint give it up when they poll; if the segment
// is destroyed, too, what they access there faults at once. Does not block.
// GASNET_ERR_BAD_ARG: the primordial endpoint, a member of a team (gex_TM_Destroy it first), or one
// that is destroyed already.
AQ_API int gasnetx_EP_Destroy(gex_EP_t ep);

// ---- identities: endpoints for a subset of the tasks ----
//
// An endpoint may be made with an identity, a secret that a subset of the job's tasks shares. It
// then accepts messages, puts, gets and atomics only from endpoints with the same identity; the
// rest is dropped and counted, and the job goes on. The secret never travels: each message carries
// 64 bits (SipHash-2-4) that prove it for this sender and this receiver.
#define GASNETX_IDENTITIES 1

// The client chooses the bytes, for example at random on one rank, and sends them to the others of
// the subset, over messages that it trusts (GASNET_UDP_AUTH).
typedef struct gasnetx_identity {
    uint8_t bytes[16];
} gasnetx_identity_t;

// As gex_EP_Create, for an endpoint that sends and accepts with an identity, which is copied.
// NULL: as gex_EP_Create. What the endpoint does not accept, and what it sends to an endpoint of
// another identity or of none, endpoint 0 included, is dropped at the receiver. A segment that is
// bound to this endpoint only, of gex_Segment_Create, is not accessible by other endpoints of other
// processes. Threads of one process share its memory, whatever their endpoints.
AQ_API int gasnetx_EP_Create(gex_EP_t *ep_p, gex_Client_t client,
                             gex_EP_Capabilities_t capabilities, gex_Flags_t flags,
                             const gasnetx_identity_t *accepts);

// ---- jobs that grow ----

// A job that was started with a reserve (gasnetrun -n 4 --reserve 12) can start the ranks of its
// reserve later: they run the same program with the same arguments, and get the next numbers.
//
// - To a process that is started this way, its job looks as at a start: gex_Client_Init, handlers,
//   and gex_Segment_Attach are collective over the processes that join together, and the team that
//   gex_Client_Init gives has these as members. gasnetx_Job_QueryGrowth gives the team of all.
// - In the processes that were there all teams stay as they are. gex_System_QueryJobSize, and the
//   lists of gex_System_QueryNbrhdInfo and gex_System_QueryHostInfo, grow; the lists keep their
//   addresses.
// - A process that joins has no handlers of the client at first. So send it a message, or access
//   its memory, after a barrier of the team of all that it enters with handlers registered and
//   segment attached.
// - Neighbours map the segments of processes that join, and these map theirs. Longs are limited as
//   to a rank of another host from the first such segment on. There are no reserved segments
//   (gasnetx_Segment_AttachReserved), no common addresses (gasnetx_Segments_Aligned), and no calls
//   of GASNet-1.
#define GASNETX_GROWTH 1

// Starts the next count ranks of the reserve, and stores in *all_p, unless NULL, a new team of all
// ranks that are there then, in the order of their numbers. The team stays until gex_TM_Destroy.
// Collective over all ranks that are there, in one thread of each; blocks until the new ranks are
// in gex_Client_Init, polls and runs handlers. Other threads may go on communicating with other
// ranks. Not allowed in handlers. flags: 0. Returns the same at all ranks: GASNET_OK;
// GASNET_ERR_BAD_ARG, with nothing done, if count is 0, larger than what is left of the reserve, or
// not the same at all ranks; GASNET_ERR_RESOURCE, with nothing done, if the spawner or the client
// of the job cannot have a reserve. If a new rank cannot start, the job ends.
AQ_API int gasnetx_Job_Grow(gex_Rank_t count, gex_TM_t *all_p, gex_Flags_t flags);

// Returns 0 in a process that was there at the start of the job, else the number of the call of
// gasnetx_Job_Grow, from 1, that has started this process; *all_p, unless NULL, is then the team of
// all ranks of that call, else GEX_TM_INVALID. Any thread; does not block; allowed in handlers.
AQ_API unsigned gasnetx_Job_QueryGrowth(gex_TM_t *all_p);

// ---- memory of this process ----

// Memory of the runtime in bytes (the part of the peer table for each rank that this
// process never communicated with; the message rings of this process), and the number of peers
// bound so far. Each output may be NULL.
#define GASNETX_MEMORY 1
AQ_API void gasnetx_memory(size_t *peer_table_bytes_per_rank, size_t *ring_bytes,
                           size_t *bound_peers);

// Resources that a connection-oriented conduit (ibv) needs in this process beside the
// peer table: bytes for each rank of the job; additional bytes for each connected peer, without
// shared memory and without a ring for the messages of that peer; the number of connections; and
// the number of receive buffers for all peers together. All are 0 with other conduits. Each output
// may be NULL.
#define GASNETX_PEER_COSTS 1
AQ_API void gasnetx_peer_costs(size_t *unspoken_bytes, size_t *connected_bytes, size_t *connections,
                               size_t *receive_buffers);

// ---- counters ----

// Reasons why something was dropped: indices of `dropped` below.
enum {
    GASNETX_DROP_ENDPOINT,    // message to an endpoint that is not there, or has no active messages
    GASNETX_DROP_DESTROYED,   // message to an endpoint that was destroyed
    GASNETX_DROP_IDENTITY,    // of an identity that the endpoint does not accept
    GASNETX_DROP_FOREIGN,     // packet of another job
    GASNETX_DROP_FORGED,      // packet that is not authentic
    GASNETX_DROP_CORRUPTED,   // packet whose checksum is wrong, or that is cut short
    GASNETX_DROP_MALFORMED,   // packet of another version, or with an invalid header or frame
    GASNETX_DROP_MISDIRECTED, // packet for another rank, or of a peer that is not connected
    GASNETX_DROP_REPLAYED,    // authentic packet that has arrived before, or is too old to tell
    GASNETX_DROP_DUPLICATE,   // data that a retransmitted packet brought a second time
    GASNETX_DROP_STALE,       // packet of an epoch that is not the current one
    GASNETX_DROP_FULL,        // packet that found the window or the queue of arrivals full
    GASNETX_DROP_INJECTED,    // packet that this process did not send: GASNET_UDP_FAULT_DROP
    GASNETX_DROP_REASONS = 20 // with room for more
};

// Counters of one endpoint of this process, or of all of them. Everything only grows. An inline
// put, get or atomic on mapped memory is a store or a load, and is not counted, unless
// GASNET_TRAFFIC makes it a call. Operations of the library itself (barriers, collectives,
// acknowledgements of puts) appear under frames only, except that a non-contiguous put or get
// counts the long pieces that it puts or gets one by one.
#define GASNETX_COUNTERS_VERSION 1u
typedef struct gasnetx_counters {
    uint32_t version;  // GASNETX_COUNTERS_VERSION; grows when a field changes its meaning
    uint32_t size;     // bytes of this block; fields may be added at the end
    uint64_t endpoint; // index; UINT64_MAX: the sum of all endpoints
    uint64_t updates;  // grows by 2 with each update; odd while the library writes the block
    uint64_t time_ns;  // of the last update: CLOCK_MONOTONIC

    // Operations of the client on this endpoint, counted by the process that starts them. A message
    // that GEX_FLAG_IMMEDIATE refused is not among them, but may be while it is being sent.
    uint64_t request_shorts, request_mediums, request_longs;
    uint64_t reply_shorts, reply_mediums, reply_longs;
    uint64_t request_bytes, reply_bytes; // payload of Mediums and Longs
    uint64_t puts, put_bytes, gets, get_bytes, atomics;

    // Operations that found no room, since credits, ring or queue were used up: how many there were
    // in all, and how many of them GEX_FLAG_IMMEDIATE refused. The others waited for room.
    uint64_t no_room, refused;

    // The network and mailboxes in shared memory; 0 with a conduit that does not count them. A
    // frame is a message, a put, a get or a reply, also the library's own; a packet (datagram)
    // carries one or more. Over ibv a packet is a work request with one frame; a mailbox has
    // frames, and no packets.
    uint64_t frames_sent, frames_received;
    uint64_t packets_sent, packets_received; // with frames; each packet sent counts once
    uint64_t bytes_sent, bytes_received;     // of all packets, with their headers
    uint64_t retransmissions;                // packets sent again
    uint64_t dropped[GASNETX_DROP_REASONS];

    // Further operations. Puts and gets of vectors, indices and strides (gex_VIS_*), which are not
    // among puts and gets, on memory that is not mapped. Messages with two sides, and large ones.
    // Messages on streams: one for each neighbour; bytes of data, and of parameters rounded up to a
    // multiple of 8. Of collectives, also the library's own: messages; with GASNET_TRAFFIC or
    // GASNET_STATSFILE also copies of what another process has in memory that is shared. Messages,
    // streams and collectives count at endpoint 0.
    uint64_t vis_puts, vis_put_bytes, vis_gets, vis_get_bytes;
    uint64_t sends, send_bytes, stream_messages, stream_bytes;
    uint64_t coll_messages, coll_bytes;
} gasnetx_counters_t;

// Returns the counters of an endpoint of this process, or with GEX_EP_INVALID those of all
// endpoints. The block stays mapped, at this address, until the process ends; the index of a
// destroyed endpoint keeps its block. NULL if memory is out. The first call starts the updates:
// polls of this process then update all blocks that were asked for, once in each tick of the
// kernel's clock (1 to 10 ms); a process that does not poll updates nothing. While other threads
// may poll, read each field with gasnetx_counter. Any thread; does not block.
#define GASNETX_COUNTERS 1
AQ_API const volatile gasnetx_counters_t *gasnetx_Counters(gex_EP_t ep);

// Updates all blocks that were asked for, now: they then have all that this thread did before. Any
// thread, also in a handler; takes locks of the conduits for a short time.
AQ_API void gasnetx_Counters_Update(void);

// Reads a field of a block; makes no call.
AQ_API_INLINE uint64_t gasnetx_counter(const volatile uint64_t *field)
{
    return __atomic_load_n(field, __ATOMIC_RELAXED);
}

// ---- errors of puts, gets and atomics ----

// In a job with GASNET_ERRORS=return, a put, get, atomic or memset to memory that its target does
// not have does not end the job. Nothing is written, neither at the target nor, by a get or a
// fetching atomic, here. The operation completes, and the call that synchronizes it
// (gex_Event_Wait, gex_NBI_Test ..., or the blocking call itself) hands its error to the calling
// thread. Operations on segments of gex_Segment_Create and on reserved ones, and all with
// GASNET_SEGMENT_EVERYTHING, first ask the target, and block for this round trip.
#define GASNETX_ERRORS 1

// Why an operation failed.
#define GASNETX_ERROR_OUTSIDE 1    // not all bytes are inside the target's segment
#define GASNETX_ERROR_NO_SEGMENT 2 // the target has no segment, or has not published it
#define GASNETX_ERROR_MISALIGNED 3 // the address of an atomic is not aligned to its size
#define GASNETX_ERROR_UNMAPPED 4   // no memory there: not allocated, or GASNET_SEGMENT_EVERYTHING
#define GASNETX_ERROR_IDENTITY 5   // the two endpoints have different identities

// A failed operation. Of a non-contiguous one, addr and nbytes are one of the wrong pieces.
typedef struct gasnetx_error {
    // The event whose synchronization found the error, for comparison with handles that the caller
    // has kept; GEX_EVENT_INVALID of implicit operations; no meaning after a blocking call.
    gex_Event_t event;
    const char *operation; // the call, or, if the target found the error, "put", "get" ...
    int reason;            // GASNETX_ERROR_...
    gex_Rank_t rank;       // job rank of the target
    gex_EP_Index_t ep_index;
    void *addr; // in the target
    size_t nbytes;
    void *segment_addr; // the segment of the target, as this process knows it; size 0: none
    size_t segment_size;
} gasnetx_error_t;

// Takes the oldest error of the operations that this thread has synchronized: stores it and returns
// GASNET_OK, or returns GASNET_ERR_NOT_READY if there is none. A process keeps 256 errors and then
// drops the oldest that a thread could have read. Any thread; does not block.
AQ_API int gasnetx_Error_Next(gasnetx_error_t *error);

// The number of operations of this process that have failed, and how many of their errors were
// dropped. Each output may be NULL. Any thread; does not block.
AQ_API void gasnetx_Error_Counts(uint64_t *failed, uint64_t *dropped);

// ---- fences ----

// A fence completes when the operations that were begun before it are complete:
//
// - tm GEX_TM_INVALID: operations of the calling thread, through all endpoints; else operations of
//   all threads of this process through the endpoint of tm, a team or a pair.
// - Global: puts and atomics are complete at their targets, and gets here. Stores to mapped memory
//   are visible to all processors before the fence completes, and before any later access of the
//   calling thread.
// - Local: the client's buffers may be reused, and results of gets and fetching atomics are here.
//   Puts from a source that the library has copied do not count.
//
// Blocking, explicit and implicit operations, open access regions, non-contiguous transfers and
// gasnet_memset count, with the counters of notices (below). Messages do not count, nor do handlers
// of notices, barriers and collectives: the reply of a request shows that its handler has run.
// Events stay as they are: the client still synchronizes them, and gets the error of an operation
// that has failed. A thread has one count of its implicit operations of each kind, so a fence may
// also wait for some that the thread begins later, or that it began through another endpoint.
//
// Fences are counted: a fence sends no message, since targets acknowledge these operations in any
// case, and with nothing outstanding it makes no system call. Fence_Local and Fence_Global block,
// poll and run handlers. The NB calls do not block, and return an event, GEX_EVENT_INVALID if the
// fence is complete. Not allowed in handlers. flags: 0.
#define GASNETX_FENCE 1
AQ_API void gasnetx_Fence_Local(gex_TM_t tm, gex_Flags_t flags);
AQ_API void gasnetx_Fence_Global(gex_TM_t tm, gex_Flags_t flags);
AQ_API gex_Event_t gasnetx_Fence_LocalNB(gex_TM_t tm, gex_Flags_t flags);
AQ_API gex_Event_t gasnetx_Fence_GlobalNB(gex_TM_t tm, gex_Flags_t flags);

// ---- puts that notify their target ----

// What a put does at the target after its data is there: increases a counter, or runs a handler, or
// both in this order.
//
// - counter: 8 bytes in the segment of the target, aligned to 8, as the target sees them; NULL:
//   none. They grow by `add` atomically, with the atomics of the processor; a reader that loads the
//   counter with acquire semantics sees the data. To wait, the target uses
//   GASNET_BLOCKUNTIL(__atomic_load_n(&counter, __ATOMIC_ACQUIRE) >= n), which a notice wakes.
// - handler: index at the endpoint of tm that the rank names; 0: none. It is registered with
//   GEX_FLAG_AM_SHORT and GEX_FLAG_AM_REPLY (or _REQREP) and nargs arguments, and may not reply.
//
// Initialize with a designated initializer: fields may be added.
#define GASNETX_NOTICE 1
#define GASNETX_NOTICE_MAX_ARGS 8
typedef struct {
    uint64_t *counter;
    uint64_t add;
    gex_AM_Index_t handler;
    unsigned nargs; // 0 to GASNETX_NOTICE_MAX_ARGS
    gex_AM_Arg_t args[GASNETX_NOTICE_MAX_ARGS];
} gasnetx_notice_t;

// As gex_RMA_Put..., with a notice, which the calls copy. Over a network a put of at most
// gex_AM_LUBRequestMedium() bytes is one message with its notice; a longer one is followed by a
// message when it is complete. The operation is complete when the counter has grown; the handler of
// a notice may run later.
//
// Return GASNET_OK; GASNET_ERR_BAD_ARG, with nothing done, if the rank is not in tm, if the data or
// the counter is not inside the segment of that rank's endpoint (for a further endpoint: the
// segment that it has published), if the counter is not aligned, if there is no notice, if the
// handler is below GEX_AM_INDEX_BASE, or if it has too many arguments; GASNET_ERR_NOT_READY if
// flags has GEX_FLAG_IMMEDIATE and there was no room: then there is no notice, though the data may
// have been written. *event gets the event, GEX_EVENT_INVALID if the operation is complete, and is
// unchanged on an error. If the handler is not registered at the target, the target ends the job.
// Block for room, poll and run handlers, unless flags has GEX_FLAG_IMMEDIATE. Not allowed in
// handlers.
AQ_API int gasnetx_RMA_PutNotifyBlocking(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                                         size_t nbytes, const gasnetx_notice_t *notice,
                                         gex_Flags_t flags);
AQ_API int gasnetx_RMA_PutNotifyNB(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                                   size_t nbytes, const gasnetx_notice_t *notice,
                                   gex_Event_t *lc_opt, gex_Event_t *event, gex_Flags_t flags);
AQ_API int gasnetx_RMA_PutNotifyNBI(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src,
                                    size_t nbytes, const gasnetx_notice_t *notice,
                                    gex_Event_t *lc_opt, gex_Flags_t flags);
// ---- waiting by a file descriptor ----

// A client that sleeps in poll, epoll, select or io_uring includes the descriptor of this process
// among those that it waits for. It becomes readable when there is work for a poll:
//
//     while (!done)
//         if (gasnetx_Wait_Arm() == GASNET_OK) {
//             if (!done)
//                 poll(fds, nfds, -1);      // the descriptor is among them
//             gasnetx_Wait_Disarm();
//         }
//
// Clients that do not use it pay nothing. gasnetx_Request_WaitFds (aqueduct_msg.h) is such a loop.
#define GASNETX_WAIT 1

// Stores the descriptor, which is made at the first call, belongs to the library, and stays valid
// until the process ends; it is closed on exec. A client neither reads nor closes it. Any thread;
// not in a handler. GASNET_ERR_RESOURCE: there is none (ulimit -n).
AQ_API int gasnetx_Wait_Descriptor(int *fd);

// Announces that the calling thread is about to sleep on the descriptor, and polls (which runs
// handlers). GASNET_OK: it may sleep, until gasnetx_Wait_Disarm. Messages, operations that
// complete, retransmissions that are due, and what other threads handle make the descriptor
// readable from now on. So does the end of a time of at most 50 ms (GASNET_WAKE_LIMIT), because
// nothing signals room at a peer or the end of the job, and of at most 2.5 ms where arrivals wake
// no sleeper: conduit mpi between hosts, and windows. A put of a neighbour, which is a store, makes
// it readable only with a notice. Where other threads poll, look at what the thread waits for
// between this call and the sleep.
// GASNET_ERR_NOT_READY: work was done, or is there, or not all threads of
// gex_System_QueryProgressThreads run yet; the thread is not announced, and calls again.
// GASNET_ERR_BAD_ARG: the thread is announced already. GASNET_ERR_RESOURCE: there is no descriptor
// or thread (the first call starts a thread of the library for each conduit). Any thread; not in a
// handler.
AQ_API int gasnetx_Wait_Arm(void);

// Ends the announcement of this thread, if there is one, and then polls (which runs handlers). The
// descriptor is not readable any more, unless another thread sleeps on it. Returns GASNET_OK. Not
// in a handler.
AQ_API int gasnetx_Wait_Disarm(void);

// ---- levels of progress ----

// Levels of progress. With GASNETX_PROGRESS_POLLING the client's threads run handlers and go on
// with collectives, in calls of the library; with GASNETX_PROGRESS_THREAD threads of the library do
// so, too, one for each conduit, which sleep while there is nothing. What a put or message that
// does not block has left to send waits up to 10 ms for them.
#define GASNETX_PROGRESS_POLLING 0u
#define GASNETX_PROGRESS_THREAD 1u

// Asks for a level from now on, and stores the one that is granted. THREAD is granted in thread
// mode par, and in the others where GASNET_RCV_THREAD=1 has started these threads, which then go on
// until the job ends; in mode seq it never is, since handlers may not run beside the client. With
// GEX_FLAG_DEFER_THREADS it is granted only if the client runs threads of
// gex_System_QueryProgressThreads that receive. When POLLING is granted, no thread of the library
// runs a handler any more. GASNET_OK;
// GASNET_ERR_BAD_ARG: no such level; GASNET_ERR_RESOURCE: a thread cannot be started (ulimit -u).
// Any thread, but one at a time; may block for handlers that run; not in a handler.
AQ_API int gasnetx_Progress_Level(unsigned wanted, unsigned *granted);

// The client's work for a thread that has nothing to do. Returns non-zero if it did something, so
// that a wait goes on polling and does not sleep.
typedef int (*gasnetx_idle_t)(void *context);

// Sets the function, with its context, that a poll calls when it finds nothing: gasnet_AMPoll, and
// each turn of a call that waits. NULL: none. One thread at a time is in it, and when this call
// returns, none is in the function before. The function may do what a handler may do, but not
// reply: no call that blocks or sends. What it polls does not call it again. Threads of the library
// do not call it, nor does a thread that leaves the job. A wait whose function always did something
// keeps its processor. GASNET_OK; GASNET_ERR_BAD_ARG: called in the function itself. Any thread,
// but one at a time; blocks for a function that runs; not in a handler.
AQ_API int gasnetx_Progress_OnIdle(gasnetx_idle_t idle, void *context);

// ---- a global address space ----

// A location of the global address space is a rank and an address. All ranks reserve the same range
// of addresses; each rank allocates parts of it for itself, and only the rank that has allocated a
// part has memory there. Several ranks may allocate the same addresses: each has its own memory.
// Puts, gets, atomics and Longs name the location by rank and address, as always.
#define GASNETX_SEGMENT_RESERVED 1

// As gex_Segment_Attach, in its place: attaches a segment of size bytes (a multiple of
// GASNET_PAGESIZE, not 0, the same at all ranks) at the same address at all ranks, of which nothing
// is allocated yet. The segment takes address space, but no memory, so size may be far above
// gasnet_getMaxLocalSegmentSize(). Neighbours map it, each at other addresses
// (gex_EP_QueryBoundSegmentNB), as far as their address space has room, which is 127 TiB for all of
// them, and where userfaultfd is allowed; otherwise they access it by messages, and one rank says
// why. A Long is limited as to a rank of another host. gasnet_client_attach_hook is not called.
// flags is 0. Collective over the primordial team; blocks. Returns the same at all ranks:
// GASNET_OK; GASNET_ERR_BAD_ARG for a size that is not legal or differs; GASNET_ERR_RESOURCE if no
// range is free at all ranks, or if there is a segment already. After an error nothing is reserved
// anywhere, and the ranks may try again or attach another segment.
AQ_API int gasnetx_Segment_AttachReserved(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size,
                                          gex_Flags_t flags);

// Allocates whole pages of a reserved segment at this rank: size bytes at addr, both multiples of
// GASNET_PAGESIZE. Afterwards this process loads and stores there, and peers may access the memory,
// which is filled with zeros. It takes physical memory at once if neighbours may map it, else where
// it is touched. Free releases memory to the system, also a part of what one call has allocated;
// peers must have completed their operations on it, and later ones are refused. Local; any thread;
// may block for a moment; not in handlers. Both return GASNET_OK; GASNET_ERR_BAD_ARG, without any
// effect, for bytes that are no whole pages, or not inside of the segment, or of which some are
// allocated already (Allocate) or are not (Free); or GASNET_ERR_RESOURCE, without any effect, if
// the kernel has no more mappings or memory.
AQ_API int gasnetx_Segment_Allocate(gex_Segment_t segment, void *addr, uintptr_t size);
AQ_API int gasnetx_Segment_Free(gex_Segment_t segment, void *addr, uintptr_t size);

// Whether the segments of all ranks begin at the same address: 1 or 0, the same at all ranks. 0
// before they are attached. True for reserved segments, for those of gex_Segment_Attach and
// gasnet_attach where GASNET_ALIGN_SEGMENTS=1 has succeeded, and with GASNET_SEGMENT_EVERYTHING.
// Allowed in handlers.
AQ_API int gasnetx_Segments_Aligned(void);

#ifdef __cplusplus
}
#endif

#endif
