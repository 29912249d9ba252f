// SPDX-License-Identifier: BSD-3-Clause
// Streams: messages along a tree of ranks, to the root and to the leaves, with handlers and filters
// at each rank on the way.
//
// Include this header after gasnetex.h; aqueduct_stream(3) describes the calls. No specification of
// GASNet has them, and clients that do not use them pay nothing.
//
//              0                 up:    to the parent, towards the root
//            /   \               down:  to all children, towards the leaves
//           1     2
//          / \   / \             A handler of a stream has an id, and is local: the same id
//         3   4 5   6            may mean another function at another rank. Messages of an id for
//                                which an inner rank has no handler pass through it.
//
// - Handlers, filters and notices of streams run in polls, in one thread of a process at a time,
//   with no lock held and not as handlers of active messages, so they may send. They may not wait
//   for messages of streams, and may not create or free streams.
// - A rank keeps a limited number of messages for each neighbour. A sender that has used up this
//   room blocks, or gets GASNET_ERR_RESOURCE. On a stream that drops, messages beyond the limit are
//   dropped at the receiver and counted there.
// - A send in a handler never blocks: what finds no room waits at the sender, up to the limit of
//   this rank. A handler runs only when nothing waits in the direction in which its message
//   travels (at the root: down), so a send in that direction always finds room there.
// - On an ordered stream the handlers for the messages from one rank to a neighbour are called in
//   the order of the sends.
// - Calls that return int return GASNET_OK or GASNET_ERR_..., and have then had no effect; with
//   gex_System_SetVerboseErrors(1) the library also logs the reason; GASNET_ERR_BAD_ARG: also for
//   the null handle. All need a job. Any thread may call them, in mode seq one at a time; not in a
//   handler of an active message.
#ifndef AQUEDUCT_STREAM_H
#define AQUEDUCT_STREAM_H

#include "aqueduct_msg.h"
#include "gasnet_coll.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GASNETX_STREAM 1

typedef struct gasnetx_stream *gasnetx_Stream_t;
#define GASNETX_STREAM_NULL ((gasnetx_Stream_t)0)

// Directions.
#define GASNETX_UP 1u
#define GASNETX_DOWN 2u

// Ids of handlers are 0 to GASNETX_STREAM_ID_MAX; the ids of group communication follow.
#define GASNETX_STREAM_ID_MAX 0x7fffu
// Bytes of a parameter block.
#define GASNETX_STREAM_PARAMS_MAX 256u
// Filters of a handler.
#define GASNETX_STREAM_FILTERS 4u

// ---- handlers and filters ----

// A message as handlers and filters get it. The library owns data and params, which are valid until
// the function returns, and aligned to 8 bytes.
typedef struct gasnetx_stream_message {
    gex_Rank_t source; // the rank that made the message: the sender, or the last filter on its way
    unsigned flags;    // GASNETX_STREAM_...
    const void *data;
    size_t nbytes;
    const void *params;
    size_t params_bytes;
} gasnetx_stream_message_t;

#define GASNETX_STREAM_COMBINED 1u // data are the records of gasnetx_Stream_Combine

// A handler. A synchronizing one gets the messages of a round, in any order; others one message.
typedef void (*gasnetx_Stream_Fn_t)(gasnetx_Stream_t stream,
                                    const gasnetx_stream_message_t *messages, size_t count,
                                    void *context);

// Where a filter puts its output: up to `capacity` bytes at `data`. The library has set nbytes to
// 0, and params and flags to those of the first input; params may point to other memory that is
// valid until the filter is called again.
typedef struct gasnetx_stream_output {
    void *data;
    size_t capacity;
    size_t nbytes;
    const void *params;
    size_t params_bytes;
    unsigned flags;
} gasnetx_stream_output_t;

// A filter makes one message of the messages that it gets. Returns 0, or another value if nothing
// goes on.
typedef int (*gasnetx_Stream_Filter_t)(gasnetx_Stream_t stream,
                                       const gasnetx_stream_message_t *inputs, size_t count,
                                       gasnetx_stream_output_t *output, void *context);

typedef struct gasnetx_stream_filter {
    gasnetx_Stream_Filter_t fn; // NULL: none
    void *context;
} gasnetx_stream_filter_t;

// Waits for a message of each child, without a limit in time.
#define GASNETX_ALL_CHILDREN 0xffffffffu
#define GASNETX_NO_LIMIT UINT64_MAX

// Sends up of this rank take part, as those of one more child. The handler itself sends to the
// parent with gasnetx_Stream_SendTo.
#define GASNETX_STREAM_SELF 1u
// Messages also go on in their direction after the handler.
#define GASNETX_STREAM_PASS 2u

// What a rank does with messages of an id. First the filters are applied in their order, each to
// the output of the one before. If there are filters, the result goes on in the same direction; at
// the end of the way (the root for messages up, a leaf for messages down) the handler gets it.
// Without filters the handler gets the messages.
//
// If `children` is not 0, messages of that many children, at most of all, make a round, and the
// first filter or the handler gets one message of each. On an ordered stream, what a child sends
// later waits until the round ends. A round also ends limit_us microseconds after its first message
// with what is there; a later message begins a new round. Only messages from children can
// synchronize.
typedef struct gasnetx_stream_entry {
    uint32_t id;
    unsigned directions; // GASNETX_UP, GASNETX_DOWN or both
    unsigned flags;      // GASNETX_STREAM_SELF, GASNETX_STREAM_PASS
    uint32_t children;   // 0, a number, or GASNETX_ALL_CHILDREN
    uint64_t limit_us;   // of a round; 0 and GASNETX_NO_LIMIT: none
    gasnetx_stream_filter_t filters[GASNETX_STREAM_FILTERS]; // up to the first without function
    gasnetx_Stream_Fn_t fn; // NULL: messages that reach it are dropped and counted
    void *context;          // of fn
} gasnetx_stream_entry_t;

// Filters of the library; they have no context. Forward gives its first input. Combine gives a
// record for each input, its source and its data, and joins inputs that are such records already.
AQ_API int gasnetx_Stream_Forward(gasnetx_Stream_t stream, const gasnetx_stream_message_t *inputs,
                                  size_t count, gasnetx_stream_output_t *output, void *context);
AQ_API int gasnetx_Stream_Combine(gasnetx_Stream_t stream, const gasnetx_stream_message_t *inputs,
                                  size_t count, gasnetx_stream_output_t *output, void *context);

// Reads the next record of a combined message: sets *record (source, data, nbytes) and moves *at,
// which is 0 at first. A message that is not combined is one record. GASNET_ERR_NOT_READY: no
// record is left. GASNET_ERR_BAD_ARG: the message is damaged. Any thread; does not block; in
// handlers, too.
AQ_API int gasnetx_Stream_NextRecord(const gasnetx_stream_message_t *message, size_t *at,
                                     gasnetx_stream_message_t *record);

// ---- streams ----

#define GASNETX_STREAM_ORDERED 1u
#define GASNETX_STREAM_DROPS 2u // unreliable: messages may be dropped, and none blocks

#define GASNETX_STREAM_ROOT 0xffffffffu   // as a parent: this rank is the root
#define GASNETX_STREAM_ABSENT 0xfffffffeu // this rank has no part in the stream

typedef struct gasnetx_stream_spec {
    gex_Rank_t parent; // in the team, or GASNETX_STREAM_ROOT or GASNETX_STREAM_ABSENT
    unsigned flags;    // GASNETX_STREAM_ORDERED, GASNETX_STREAM_DROPS: the same at all ranks
    const gasnetx_stream_entry_t *entries; // copied; at most one for an id and direction
    size_t entry_count;
    // What this rank keeps of each neighbour: so many messages, and bytes up to the message that
    // exceeds this number. 0: 64 messages, 256 KiB.
    uint32_t keep_messages;
    size_t keep_bytes;
    // A junction: called at this rank before the first handler and after the last one. NULL: none.
    void (*init)(gasnetx_Stream_t stream, void *context);
    void (*finalize)(gasnetx_Stream_t stream, void *context);
    // Called when a neighbour has stopped receiving or has started again, also if this rank has
    // stopped. NULL: none. Of several changes at once only the last one is told.
    void (*on_stop)(gasnetx_Stream_t stream, gex_Rank_t neighbour, int stopped, void *context);
    void *context; // of these three
} gasnetx_stream_spec_t;

// The parent of a rank in a tree of `size` ranks with `arity` children for each inner rank, whose
// root is rank `root`; GASNETX_STREAM_ROOT for the root. arity 0 counts as 1. Needs no job. A rank
// or root that is not below size ends the process with a message.
AQ_API gex_Rank_t gasnetx_Stream_TreeParent(gex_Rank_t rank, gex_Rank_t size, gex_Rank_t root,
                                            gex_Rank_t arity);

// Creates a stream over a team: collective. Blocks. Each rank names its parent; the ranks that take
// part have to form one tree. *stream: GASNETX_STREAM_NULL at a rank that takes no part.
// GASNET_ERR_BAD_ARG, at all ranks: they do not, or the arguments of a rank are wrong; with verbose
// errors each rank logs which.
AQ_API int gasnetx_Stream_Create(gex_TM_t tm, const gasnetx_stream_spec_t *spec,
                                 gasnetx_Stream_t *stream);

// Frees a stream: collective over the ranks that take part. Starts receiving if it was stopped, and
// blocks until all messages up, then all messages down were handled. Messages of rounds that can
// never be complete are dropped. The client ends its group communication before, and no other
// thread uses the stream. Afterwards *stream is GASNETX_STREAM_NULL.
AQ_API int gasnetx_Stream_Free(gasnetx_Stream_t *stream);

// The place of this rank in the tree. Does not block; in handlers, too.
typedef struct gasnetx_stream_info {
    gex_Rank_t root, parent; // parent: GASNETX_STREAM_ROOT at the root
    gex_Rank_t members;      // ranks of the stream
    gex_Rank_t place;        // number of members with lower ranks
    gex_Rank_t depth;        // steps to the root
    gex_Rank_t height;       // steps to the farthest leaf below this rank
    gex_Rank_t child_count;
    const gex_Rank_t *children; // in no order; valid until the stream is freed
    size_t max_bytes; // of a message: data, and params rounded up to a multiple of 8 bytes
} gasnetx_stream_info_t;
AQ_API int gasnetx_Stream_Query(gasnetx_Stream_t stream, gasnetx_stream_info_t *info);

// ---- sends ----

// Sends a message up, to the parent, or down, to all children. src and params may be changed
// afterwards. Blocks for room and runs handlers then, unless flags is GEX_FLAG_IMMEDIATE or this is
// a handler of a stream; then GASNET_ERR_RESOURCE: there is no room, and no child gets the message.
// GASNET_ERR_BAD_ARG: the message is too long, or there is no parent or child.
AQ_API int gasnetx_Stream_Send(gasnetx_Stream_t stream, unsigned direction, uint32_t id,
                               const void *data, size_t nbytes, const void *params,
                               size_t params_bytes, gex_Flags_t flags);

// The same to one neighbour: the parent or a child.
AQ_API int gasnetx_Stream_SendTo(gasnetx_Stream_t stream, gex_Rank_t neighbour, uint32_t id,
                                 const void *data, size_t nbytes, const void *params,
                                 size_t params_bytes, gex_Flags_t flags);

// ---- flow control ----

// Stop and start receiving: no handler is called meanwhile. Messages wait, so that neighbours find
// no room after a while; on a stream that drops, what arrives is dropped. Neighbours are told
// (on_stop). A handler that runs in another thread may end later. Block for room; not in a handler
// of an active message.
AQ_API int gasnetx_Stream_Stop(gasnetx_Stream_t stream);
AQ_API int gasnetx_Stream_Start(gasnetx_Stream_t stream);

// What this rank has counted since the stream was created. A message to three children is three
// messages. sent = received + dropped + kept, summed over all ranks when nothing is under way.
// Bytes are those of data, and of params rounded up to a multiple of 8. Does not block; in
// handlers, too.
typedef struct gasnetx_stream_counts {
    uint64_t sent_messages, sent_bytes;         // includes those that wait at this rank
    uint64_t received_messages, received_bytes; // which a handler or filter got, or that went on
    uint64_t dropped_messages, dropped_bytes;   // at this rank
    uint64_t refused;                           // sends with GASNET_ERR_RESOURCE
    uint64_t kept_messages, kept_bytes;         // now: arrived, and not handled
    uint64_t most_messages, most_bytes;         // the most of one neighbour at a time
    uint64_t waiting_messages;                  // now: sent in handlers, and without room
} gasnetx_stream_counts_t;
AQ_API int gasnetx_Stream_Counts(gasnetx_Stream_t stream, gasnetx_stream_counts_t *counts);

// ---- group communication ----
//
// All members of an ordered, reliable stream take part, and make the same calls in the same order.

#define GASNETX_STREAM_BARRIER 0x8000u   // no data
#define GASNETX_STREAM_BROADCAST 0x8001u // nbytes of the root to all
#define GASNETX_STREAM_GATHER 0x8002u    // nbytes of each member to the root, ascending by rank
#define GASNETX_STREAM_ALLGATHER 0x8003u // the same to all
#define GASNETX_STREAM_REDUCE 0x8004u    // count elements of each member, reduced, to the root
#define GASNETX_STREAM_ALLREDUCE 0x8005u // the same to all
#define GASNETX_STREAM_SCAN 0x8006u      // to each member the reduction of those up to this member

typedef struct gasnetx_stream_group {
    uint32_t id;     // GASNETX_STREAM_BARRIER to GASNETX_STREAM_SCAN
    const void *src; // copied by the call
    size_t nbytes;   // of src, the same at all members
    void *dest;      // belongs to the library until the operation is complete; may be NULL where
    size_t capacity; // there is no result. Bytes of dest
    // Of a reduction: as in gex_Coll_ReduceToAllNB. It has to be associative; SCAN applies it in
    // the order of ranks, for the others it also has to be commutative.
    gex_DT_t dt;
    gex_OP_t op;
    gex_Coll_ReduceFn_t fn; // of GEX_OP_USER; then nbytes / count are the bytes of an element
    const void *cdata;
    size_t count;
} gasnetx_stream_group_t;

// Begins an operation. It is complete when the result is in dest; at a member without result, when
// its part has left. Then *request, unless request is NULL, is complete, and the handler that the
// stream has for the id is called with the result as data and the params of this call.
// May block for room; in a handler of a stream it does not, and may return GASNET_ERR_RESOURCE.
// GASNET_ERR_BAD_ARG: the stream is not ordered and reliable, the data of all members do not fit
// into a message, or dest is too small.
AQ_API int gasnetx_Stream_SendRecv(gasnetx_Stream_t stream, const gasnetx_stream_group_t *group,
                                   const void *params, size_t params_bytes,
                                   gasnetx_Request_t *request);

#ifdef __cplusplus
}
#endif

#endif
