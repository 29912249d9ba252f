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
// first use. Where a conduit offers none (mpi), messages of all endpoints travel through the
// receive side of endpoint 0, and these calls still work.
#define GASNETX_WINDOWS 1

// Binds the calling thread to an endpoint that has GEX_EP_CAPABILITY_AM: polls and waits of this
// thread serve that endpoint first, and everything else of this process now and then. The
// primordial endpoint or GEX_EP_INVALID ends the binding. May block for a moment; not in a handler.
AQ_API int gasnetx_EP_BindThread(gex_EP_t ep);

// Whether this process has a window for an endpoint over every conduit of the job: 1 or 0. Opens
// the window if need be. May block for a moment.
AQ_API int gasnetx_EP_HasWindow(gex_EP_t ep);

// Delivers what has arrived for one endpoint, and for no other if it has a window. Any thread; runs
// handlers; not in a handler.
AQ_API int gasnetx_EP_Poll(gex_EP_t ep);

// Destroys an endpoint that gex_EP_Create has made: unbinds its segment, and gives its index back,
// which the next gex_EP_Create may return. The client ensures that no thread uses the endpoint any
// more. Not collective: a message that arrives later is dropped, with a line on standard error.
// GASNET_ERR_BAD_ARG: the primordial endpoint, or one that is destroyed already.
AQ_API int gasnetx_EP_Destroy(gex_EP_t ep);

// ---- memory and traffic of this process ----

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

// The number of frames (messages, puts, gets and their replies) that this process has
// sent over its network, and of packets that carried these frames, each counted once. Both are 0
// with a conduit that does not pack frames. Each output may be NULL.
#define GASNETX_TRAFFIC 1
AQ_API void gasnetx_traffic(uint64_t *frames, uint64_t *packets);

// ---- errors of puts, gets and atomics ----

// In a job with GASNET_ERRORS=return, a put, get, atomic or memset to memory that its target does
// not have does not end the job. Nothing is written, neither at the target nor, by a get or a
// fetching atomic, here; but a large transfer whose end is wrong may have done its beginning if
// only the target could find the fault. The operation completes, and the call that synchronizes it
// (gex_Event_Wait, gex_NBI_Test ..., or the blocking call itself) hands its error to the calling
// thread.
#define GASNETX_ERRORS 1

// Why an operation failed.
#define GASNETX_ERROR_OUTSIDE 1    // not all bytes are inside the target's segment
#define GASNETX_ERROR_NO_SEGMENT 2 // the target has no segment, or has not published it
#define GASNETX_ERROR_MISALIGNED 3 // the address of an atomic is not aligned to its size
#define GASNETX_ERROR_UNMAPPED 4   // GASNET_SEGMENT_EVERYTHING: the target has no memory there

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

#ifdef __cplusplus
}
#endif

#endif
