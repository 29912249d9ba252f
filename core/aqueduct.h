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

#ifdef __cplusplus
}
#endif

#endif
