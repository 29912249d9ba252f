// SPDX-License-Identifier: BSD-3-Clause
// Large active messages: a handler runs at the receiver when the header of a message has come, and
// says where the data go: into memory of its own, on to other ranks, or both.
//
// aqueduct_msg.h includes this header; aqueduct_large(3) describes the calls. No specification of
// GASNet has them, and clients that do not use them pay nothing.
//
//     rank 0:  gasnetx_Large_Send(tm, 1, id, data, nbytes, &params);
//     rank 1:  void handler(gasnetx_Large_t message, const gasnetx_large_info_t *info)
//              {
//                  gasnetx_Large_Receive(message, memory, capacity, received, NULL);
//                  gasnetx_Large_Forward(message, info->tm, 2, id, &info->params);
//              }
//
// - Handlers and completion functions run in polls of any thread that polls, one at a time in a
//   process, with no lock of the library held. They may communicate, but not wait for other ranks,
//   since the call that polls goes on only when they return: gasnetx_Large_Send is refused in them.
// - The handlers of the messages of one rank to another run in the order of the sends. The data
//   come later, in any order.
// - Calls return GASNET_OK, or GASNET_ERR_BAD_ARG, and have then had no effect; with
//   gex_System_SetVerboseErrors(1) the library also logs the reason. All need a job. Not in the
//   handler of an active message of GASNet.
#ifndef AQUEDUCT_LARGE_H
#define AQUEDUCT_LARGE_H

#include "gasnetex_core.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GASNETX_LARGE 1

// As in aqueduct_msg.h.
typedef struct gasnetx_request *gasnetx_Request_t;

// ---- parameter blocks ----

#define GASNETX_PARAMS_MAX 256 // bytes of a block
#define GASNETX_TYPES_MAX 63   // letters and digits of a description

// A parameter block is a struct in C, of at most GASNETX_PARAMS_MAX bytes, that travels with the
// header of a message. `types` describes its members in their order, a letter each:
//
//     c char   h short   i int   l long   q long long   f float   d double   p pointer
//
// An integer may be unsigned. A number before a letter repeats the member: "16c" is char[16]. The
// struct has the layout that the compiler gives it, so that
// struct { int a; double b; short c; } is "idh", and has 24 bytes. A pointer is valid only at the
// rank that it is from.
typedef struct gasnetx_params {
    const void *block; // the caller's; copied. In a handler: valid until the handler returns
    size_t bytes;      // that `types` describes; other numbers are refused
    const char *types; // NULL or "": no parameters
} gasnetx_params_t;

// ---- handlers ----

// A message whose handler runs.
typedef struct gasnetx_large *gasnetx_Large_t;

// The message as its handler sees it; valid until the handler returns.
typedef struct gasnetx_large_info {
    gex_TM_t tm;     // the team by which the message was sent
    gex_Rank_t rank; // its sender in that team; of a forwarded message, the rank that forwards it
    uint32_t id;
    size_t nbytes; // of the data
    gasnetx_params_t params;
} gasnetx_large_info_t;

typedef void (*gasnetx_Large_Fn_t)(gasnetx_Large_t message, const gasnetx_large_info_t *info);

typedef struct gasnetx_large_entry {
    uint32_t id; // any number
    gasnetx_Large_Fn_t function;
    const char *types; // of the parameters that the function expects; NULL: none; copied
} gasnetx_large_entry_t;

// Registers handlers, in this process only; different ranks may have different functions for an id.
// A message with an id that is not registered, or with parameters of other types, ends the job,
// with a message of the receiver: register handlers before a barrier after which others send.
// GASNET_ERR_BAD_ARG: an id is registered already, or twice in the table; a function is NULL; types
// are no description. Then nothing was registered. Any thread; does not block.
AQ_API int gasnetx_Large_Register(const gasnetx_large_entry_t *table, size_t count);

// ---- sends ----

// Sends a message, and blocks until src may be changed: at once if the data went with the header
// (nbytes is up to GASNET_MSG_EAGER), else when the receiver has fetched or dropped them. params
// may be NULL. GASNET_ERR_BAD_ARG: no such rank; too many bytes; params are wrong; called in a
// handler or completion function of a large message. Waits while the receiver has no room for the
// header (GASNET_MSG_MEMORY). Runs handlers.
AQ_API int gasnetx_Large_Send(gex_TM_t tm, gex_Rank_t rank, uint32_t id, const void *src,
                              size_t nbytes, const gasnetx_params_t *params);

// Runs when src of a send may be changed.
typedef void (*gasnetx_Large_SentFn_t)(void *arg);

// Begins such a send. src belongs to the library until the send is complete: until sent(arg) runs,
// in a poll after this call, and the request is complete, for gasnetx_Request_Wait and the like.
// Either may be NULL, not both (GASNET_ERR_BAD_ARG). May block for room in the network, and runs
// handlers then. GASNET_ERR_RESOURCE: the receiver has no room. Allowed in handlers and completion
// functions of large messages.
AQ_API int gasnetx_Large_SendNB(gex_TM_t tm, gex_Rank_t rank, uint32_t id, const void *src,
                                size_t nbytes, const gasnetx_params_t *params,
                                gasnetx_Large_SentFn_t sent, void *arg, gasnetx_Request_t *request);

// ---- in a handler ----
//
// A handler that calls neither function drops the data. The message ends when its handler returns:
// later calls, and those of other threads, are refused (GASNET_ERR_BAD_ARG).

// Runs when the data are in dest: the message had nbytes, of which `stored` are there.
typedef void (*gasnetx_Large_ReceivedFn_t)(void *arg, size_t nbytes, size_t stored);

// Names the memory for the data, at most once. dest belongs to the library until received(arg, ...)
// runs, in a poll after the handler; received may be NULL. A message longer than `capacity` bytes
// is cut, and the rest is dropped. If the message is forwarded as well, and fits, its destinations
// are served from dest: received then runs when they have everything, too. Does not block.
AQ_API int gasnetx_Large_Receive(gasnetx_Large_t message, void *dest, size_t capacity,
                                 gasnetx_Large_ReceivedFn_t received, void *arg);

// Sends the message on to a rank of a team, as a message with this id and these parameters; this
// rank is its sender. A handler may forward a message to any number of processes, but only once to
// each (GASNET_ERR_BAD_ARG); its own rank is a valid destination. The header leaves at once. The
// data follow while they still arrive here, through at most GASNETX_LARGE_PIECES pieces of internal
// memory for each message, however many destinations there are. May block for room, and runs
// handlers of GASNet then.
#define GASNETX_LARGE_PIECES 8
AQ_API int gasnetx_Large_Forward(gasnetx_Large_t message, gex_TM_t tm, gex_Rank_t rank, uint32_t id,
                                 const gasnetx_params_t *params);

// ---- what this process forwards ----

typedef struct gasnetx_large_counts {
    size_t piece_bytes; // of a piece; the last one of a message may be shorter
    uint64_t forwarded; // messages that were forwarded; those of a header with data do not count
    uint64_t under_way; // of these, messages that some destination has not got whole
    uint64_t pieces_fetched; // by forwarded messages, each once
    uint64_t pieces_held;    // in internal memory now
    uint64_t most_held;      // of any one message at any time: up to GASNETX_LARGE_PIECES
} gasnetx_large_counts_t;

// Any thread; does not block.
AQ_API int gasnetx_Large_QueryCounts(gasnetx_large_counts_t *counts);

#ifdef __cplusplus
}
#endif

#endif
