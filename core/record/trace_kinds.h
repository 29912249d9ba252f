// SPDX-License-Identifier: BSD-3-Clause
// The kinds of events in a trace.
#pragma once

// trace_names.c has their names.
typedef enum aq_traced {
    AQ_TRACED_REQUEST_SHORT, // messages in the order of the first values of aq_count_t
    AQ_TRACED_REQUEST_MEDIUM,
    AQ_TRACED_REQUEST_LONG,
    AQ_TRACED_REPLY_SHORT,
    AQ_TRACED_REPLY_MEDIUM,
    AQ_TRACED_REPLY_LONG,
    AQ_TRACED_HANDLER,
    AQ_TRACED_SEND,    // of a message with two sides
    AQ_TRACED_RECEIVE, // a receive takes it
    AQ_TRACED_LARGE_SEND,
    AQ_TRACED_LARGE_RECEIVE, // its header has arrived
    AQ_TRACED_LARGE_HANDLER, // the function of the client
    AQ_TRACED_LARGE_END,     // its data are here: the other function of the client
    AQ_TRACED_STREAM_SEND,   // to one neighbour
    AQ_TRACED_STREAM_RECEIVE,
    AQ_TRACED_STREAM_HANDLER, // for the messages of a round
    AQ_TRACED_PUT,
    AQ_TRACED_GET,
    AQ_TRACED_ATOMIC,
    AQ_TRACED_VIS_PUT,
    AQ_TRACED_VIS_GET,
    AQ_TRACED_BARRIER,
    AQ_TRACED_BROADCAST, // collectives in the order of aq_coll_kind_t (extended/coll/coll.h)
    AQ_TRACED_REDUCE,
    AQ_TRACED_ALLREDUCE,
    AQ_TRACED_SCATTER,
    AQ_TRACED_GATHER,
    AQ_TRACED_ALLGATHER,
    AQ_TRACED_ALLTOALL,
    AQ_TRACED_SCAN,
    AQ_TRACED_EXSCAN,
    AQ_TRACED_WAIT_EVENT,
    AQ_TRACED_WAIT_ROOM,
    AQ_TRACED_CONNECT,
    AQ_TRACED_RETRANSMISSION,
    AQ_TRACED_EVICTION,
    AQ_TRACED_USER,
    AQ_TRACED_VISIBLE,                  // the others are not written
    AQ_TRACED_SYNC = AQ_TRACED_VISIBLE, // a gex_Event_t was synchronized
    AQ_TRACED_TEXT,                     // the text of the AQ_TRACED_USER before it
    AQ_TRACED_NOTHING,                  // an event that was removed again
} aq_traced_t;
