// SPDX-License-Identifier: BSD-3-Clause
// Streams inside the library. aqueduct_stream.h has the calls.
//
//      stream_create.c   checks and makes the tree; ends a stream
//      stream_list.c     the streams of this process, and which of them have work
//      stream_calls.c    the calls that send
//      stream_send.c     sends: room, numbers, what waits for room
//      stream_receive.c  arrivals, credits and other control messages
//      stream_turn.c     the task: calls handlers and filters, sends what waited, returns credits
//      stream_sync.c     order and rounds, without input and output
//      stream_filter.c   the filters of the library
//      stream_group.c    group communication, by handlers like those of clients
//
//      send -> outgoing of the edge -> (room there) -> Medium -> inbox -> task -> handler
//                                      `-- more room <-- Short: credit <----'
//
// What is always true:
// - An edge is a neighbour in the tree: edges 0 to children - 1 are the children, ascending by job
//   rank, edge `children` is this rank itself, for handlers with GASNETX_STREAM_SELF, and edge
//   `children` + 1 is the parent, if there is one. All ranks know the limits of their neighbours
//   since the creation.
// - stream->lock guards all of a stream that changes. No message is sent, and no function of the
//   client runs, while the lock is held.
// - A reliable stream has at most edge->room messages under way to a neighbour, and their bytes
//   without the last one are below room.bytes. The receiver ends the job if a neighbour sends more.
// - The number of a message is taken together with its room. So messages leave `outgoing` in the
//   order of their numbers, whichever thread sends them.
// - Only the task handles messages, in one thread at a time (aq_streams_turning). A stream is freed
//   only while no task runs.
// - A stream is `active` if the next turn of the task would do something. Code that adds such work
//   calls aq_stream_activate.
// - The last messages between two neighbours are END, with the number of messages in that
//   direction, and then BYE, with the number of control messages. So nothing arrives for a stream
//   that was freed.
#pragma once

#include <stdatomic.h>

#include "../../core/ground/lock.h"
#include "../../core/endpoint/team.h"
#include "../../core/record/trace.h"
#include "../aqueduct_stream.h"
#include "../two_sided/msg_state.h"
#include "stream_sync.h"

// A handler of a stream in one direction.
typedef struct aq_stream_handler {
    gasnetx_stream_entry_t entry;
    bool synchronizes;
    aq_round_t round; // if it synchronizes
} aq_stream_handler_t;

// A message, at its sender and at its receiver. The payload is the parameters, filled up to a
// multiple of 8 bytes, and the data.
typedef struct aq_stream_message {
    aq_item_t item;                     // first
    const aq_stream_handler_t *handler; // at the receiver; NULL: there is none
    uint32_t id, source;                // source: rank in the team
    uint32_t params_bytes, flags;
    bool numbered; // at the sender: has its number and its room
    size_t nbytes; // of the payload
    _Alignas(16) uint8_t payload[];
} aq_stream_message_t;

static inline size_t aq_stream_filled(size_t params_bytes)
{
    return (params_bytes + 7) & ~(size_t)7;
}

typedef struct aq_stream_load {
    uint32_t messages;
    size_t bytes;
} aq_stream_load_t;

typedef struct aq_stream_edge {
    uint32_t jobrank;
    gex_Rank_t rank;
    // To the neighbour.
    aq_stream_load_t room;     // what the neighbour keeps at most
    aq_stream_load_t underway; // sent, and not handled as far as this rank knows
    aq_item_list_t outgoing;   // waits for room
    aq_stream_load_t waiting;  // of `outgoing`
    uint32_t sent, controls_sent;
    // From the neighbour.
    aq_stream_load_t kept;
    aq_stream_load_t handled; // since the last credit
    uint32_t arrived, controls_arrived;
    bool ended, gone; // END and BYE have arrived, with these counts:
    uint32_t announced, controls_announced;
    uint32_t stop_serial; // of the last change of receiving
    bool stopped, told;   // the neighbour does not receive; what the client was told
} aq_stream_edge_t;

enum { AQ_STREAM_GROUPS = GASNETX_STREAM_SCAN - GASNETX_STREAM_BARRIER + 1 };

// The handlers of a direction, ascending by id.
typedef struct aq_stream_table {
    aq_stream_handler_t *handlers;
    size_t count;
} aq_stream_table_t;

// What the task needs to call handlers (stream_turn.c).
typedef struct aq_stream_turn {
    gasnetx_stream_message_t *views; // of the messages that a handler gets
    uint8_t *outputs;                // of filters; NULL before the first one has run
    bool handling;                   // a batch
    bool warned;                     // that messages without a handler are dropped
} aq_stream_turn_t;

// Whether ranks receive (stream_receive.c).
typedef struct aq_stream_stop {
    bool here;       // this rank does not
    bool news;       // a neighbour has stopped or started, and the client has to be told
    uint32_t serial; // of the last change here
} aq_stream_stop_t;

// Group communication (stream_group.c).
typedef struct aq_stream_groups {
    gasnetx_stream_entry_t entry[AQ_STREAM_GROUPS]; // of the client; fn NULL: none
    struct aq_stream_call *calls[AQ_STREAM_GROUPS]; // not complete, the oldest first
} aq_stream_groups_t;

struct gasnetx_stream {
    aq_lock_t lock;
    uint64_t id; // the same at all members
    uint32_t flags;
    gex_TM_t tm;
    gex_Rank_t rank; // of this process in the team
    gasnetx_stream_info_t info;
    gasnetx_stream_spec_t spec;
    aq_stream_load_t keep;
    aq_stream_table_t table[AQ_INBOX_DIRECTIONS];
    uint32_t children, edge_count;
    aq_stream_edge_t *edges;
    aq_inbox_t inbox;
    aq_stream_turn_t turn;
    aq_stream_stop_t stop;
    atomic_bool active;
    bool closed[AQ_INBOX_DIRECTIONS]; // the stream is being freed: no more sends
    gasnetx_stream_counts_t counts;
    aq_stream_groups_t groups;
    struct gasnetx_stream *next; // all streams of this process
};

// The edges of a send.
typedef struct aq_stream_span {
    uint32_t first, count;
} aq_stream_span_t;

static inline bool aq_stream_has_parent(gasnetx_Stream_t stream)
{
    return stream->info.parent != GASNETX_STREAM_ROOT;
}
static inline aq_stream_span_t aq_stream_span(gasnetx_Stream_t stream, unsigned direction)
{
    if (direction == AQ_INBOX_DOWN)
        return (aq_stream_span_t){0, stream->children};
    return (aq_stream_span_t){stream->children + 1, aq_stream_has_parent(stream)};
}
static inline aq_stream_edge_t *aq_stream_parent_edge(gasnetx_Stream_t stream)
{
    return &stream->edges[stream->children + 1];
}
static inline bool aq_stream_is_own(gasnetx_Stream_t stream, uint32_t edge)
{
    return edge == stream->children;
}
static inline bool aq_stream_drops(gasnetx_Stream_t stream)
{
    return stream->flags & GASNETX_STREAM_DROPS;
}

// The entry in the trace for a message of an edge, at either end.
static inline aq_trace_stream_t aq_stream_traced(gasnetx_Stream_t stream,
                                                 const aq_stream_message_t *message)
{
    return (aq_trace_stream_t){.stream = stream->id,
                               .peer = stream->edges[message->item.edge].jobrank,
                               .handler = message->id,
                               .number = message->item.number,
                               .bytes = message->nbytes};
}
