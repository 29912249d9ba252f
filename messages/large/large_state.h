// SPDX-License-Identifier: BSD-3-Clause
// Large active messages inside the library. aqueduct_large.h has the calls.
//
//      large_send.c     the sender: the header, which may have the data
//      large_table.c    the functions that the client has registered
//      large_header.c   headers: their bytes, and how they leave
//      large_arrive.c   headers that arrive, and the order in which they are handled
//      large_message.c  the end of a message that has arrived
//      large_handle.c   the receiver: runs a handler, which says where the data go
//      large_forward.c  a forwarder: the data come in pieces, and go on to the destinations
//      large_task.c     the task that does all of this
//      params.c         parameter blocks
//
//      source               a receiver, which forwards                 destination
//        header: a Medium ---> queued; a poll runs its handler,
//                              which forwards: header: a Medium -----> queued; a poll runs ...
//        serves it <-- get --- a piece, once                  <- get -- a piece
//        piece: a reply -----> kept in internal memory, or where the
//                              client receives it: piece: a request -> stored
//
// The data of a short message go with its header, which has no cookie then. The header of a longer
// message is an RTS, as of a message with two sides (msg_state.h), and the same gets fetch the
// data: a destination does not know whether the data come from the memory of a source or through a
// forwarder.
//
// What is always true:
// - Only the task of large_task.c runs functions of the client and advances forwarded messages: in
//   one thread at a time, and never inside itself.
// - aq_large.lock guards the order of headers, the work of the task, the table of functions, and
//   what gets and pieces that arrive change in a forwarded message. No message is sent, no byte is
//   copied, and no function of the client runs while it is held, nor is another lock taken.
// - A forwarder asks for a piece only when it has a place for it: one of AQ_LARGE_PIECES, which is
//   free again when all destinations have the piece, or memory of the client.
// - The task frees a message, after everything that arrives for it.
#pragma once

#include "../two_sided/msg_credits.h"

enum { AQ_LARGE_PIECES = GASNETX_LARGE_PIECES };

// ---- work of the task ----

// What a turn of some work has done. Work that is not over has another turn in the next poll.
typedef enum aq_large_turn {
    AQ_LARGE_OVER, // and may be freed
    AQ_LARGE_MOVED,
    AQ_LARGE_WAITS,
} aq_large_turn_t;

typedef struct aq_large_work {
    aq_large_turn_t (*run)(struct aq_large_work *work);
    struct aq_large_work *next;
} aq_large_work_t;

typedef struct aq_large_list {
    aq_large_work_t *first, *last;
} aq_large_list_t;

typedef struct aq_large {
    aq_lock_t lock;
    aq_large_list_t work; // that waits
    gasnetx_large_counts_t counts;
} aq_large_t;
extern aq_large_t aq_large;

// ---- messages ----

// A message that has arrived.
struct gasnetx_large {
    aq_large_work_t work;
    aq_order_entry_t order;
    aq_msg_head_t head; // its tag is the id
    gasnetx_params_t params;
    const uint8_t *bytes; // the data, if they came with the header
    // What the handler asks for.
    bool named; // memory for the data was named
    uint8_t *dest;
    size_t stored; // bytes that go there
    gasnetx_Large_ReceivedFn_t received;
    void *arg;
    struct aq_large_child *children;
    gasnetx_Request_t receive;      // fetches the data
    struct aq_large_pieces *pieces; // of a message that is forwarded
    _Alignas(16) uint8_t memory[];  // parameters, their types, data
};

// ---- headers ----

// A header that has arrived. The parameters and the data behind them are in its payload, at any
// address.
typedef struct aq_large_header {
    aq_msg_head_t head; // as its sender has filled it in
    char types[GASNETX_TYPES_MAX + 1];
    const uint8_t *params;
    size_t params_bytes, data_bytes;
} aq_large_header_t;

// What a message takes at its receiver (msg_credits.h).
static inline size_t aq_large_cost(const aq_msg_head_t *head)
{
    return AQ_LARGE_COST + (head->cookie ? 0 : head->nbytes);
}

// ---- functions of the client ----

// ---- forwarding ----

// A destination of a message.
typedef struct aq_large_child {
    gasnetx_Large_t message;
    uint32_t jobrank;
    gasnetx_Request_t send; // NULL: the data went with the header
    struct aq_large_child *next;
    // Under aq_large.lock.
    bool complete;
    aq_msg_rndv_get_t get; // answer 0: none yet; offset: the end of the bytes that were asked for
    uint64_t get_bytes;    // of all gets
    uint64_t served;       // bytes; of the task
} aq_large_child_t;
