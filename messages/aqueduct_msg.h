// SPDX-License-Identifier: BSD-3-Clause
// Messages with two sides: a rank sends, and another rank receives what it asks for.
//
// Include this header after gasnetex.h; aqueduct_msg(3) describes the calls. No specification of
// GASNet has them, and clients that do not use them pay nothing.
//
//     rank 0:  gasnetx_Msg_Send(tm, 1, tag, data, nbytes);
//     rank 1:  gasnetx_Msg_Recv(tm, 0, tag, memory, capacity, &status);
//
// - A message has a team, a source, a tag and some bytes. A receive names the same, with a wildcard
//   for each of the first three. It takes the oldest message that it accepts; a message goes to the
//   oldest receive that accepts it.
// - Two messages of one rank that a receive accepts are received in the order in which they were
//   sent, by whatever network they travel.
// - A short message (GASNET_MSG_EAGER) is sent at once, and kept at the receiver until a receive
//   takes it. Of a longer one only the envelope is sent: the receiver reads the bytes from the
//   sender's memory when a receive has taken the message.
// - Calls that return int return GASNET_OK or GASNET_ERR_..., and have then had no effect; with
//   gex_System_SetVerboseErrors(1) the library also logs the reason. All need a job. Any thread may
//   call them, in mode seq one at a time; not in a handler. Two threads may not use one request at
//   the same time.
#ifndef AQUEDUCT_MSG_H
#define AQUEDUCT_MSG_H

#include <poll.h>

#include "gasnetex_core.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GASNETX_MSG 1

// Tags are 0 to GASNETX_TAG_MAX.
#define GASNETX_TAG_MAX 0x7fffffffu
// Wildcards of a receive. With GEX_TM_INVALID as its team it takes messages of all teams; ranks
// are then job ranks.
#define GASNETX_ANY_RANK GEX_RANK_INVALID
#define GASNETX_ANY_TAG 0xffffffffu

// What a receive has got, or would get.
typedef struct gasnetx_msg_status {
    gex_Rank_t rank;   // the source, in the team that the receive named
    uint32_t tag;      // of the message
    size_t nbytes;     // of the message
    size_t received;   // bytes that were stored; fewer than nbytes if the memory was too short
    unsigned flags;    // GASNETX_MSG_...
    unsigned reserved; // 0
} gasnetx_msg_status_t;

#define GASNETX_MSG_TRUNCATED 1u // the message was longer than the memory; the rest is lost
#define GASNETX_MSG_CANCELLED 2u // the request was cancelled; everything else is 0

// A send or receive that has begun. The library owns it; the client has a handle, which the call
// that completes the request sets to GASNETX_REQUEST_NULL, unless the request is persistent.
typedef struct gasnetx_request *gasnetx_Request_t;
#define GASNETX_REQUEST_NULL ((gasnetx_Request_t)0)

// ---- sends and receives ----

// Sends nbytes to a rank of a team, and blocks until src may be changed: at once for a short
// message, which does not mean that it was received, and when the message was received for a longer
// one, or if the receiver has no room. GASNET_ERR_BAD_ARG: no such rank or
// tag, or more bytes than memory can hold.
AQ_API int gasnetx_Msg_Send(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, const void *src,
                            size_t nbytes);

// Begins such a send. src belongs to the library until the request is complete. May block for room
// in the network, and runs handlers then. GASNET_ERR_RESOURCE: the receiver has no room.
AQ_API int gasnetx_Msg_SendNB(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, const void *src,
                              size_t nbytes, gasnetx_Request_t *request);

// Receives a message of up to `capacity` bytes, and blocks until it is there. status may be NULL. A
// longer message is cut: status says so, and the rest is dropped.
AQ_API int gasnetx_Msg_Recv(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, void *dest, size_t capacity,
                            gasnetx_msg_status_t *status);

// Begins such a receive. dest belongs to the library until the request is complete.
AQ_API int gasnetx_Msg_RecvNB(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, void *dest,
                              size_t capacity, gasnetx_Request_t *request);

// Polls, and returns which message a receive would take now, without taking it; its sender may
// still cancel it. GASNET_ERR_NOT_READY: there is no such message yet.
AQ_API int gasnetx_Msg_Probe(gex_TM_t tm, gex_Rank_t rank, uint32_t tag,
                             gasnetx_msg_status_t *status);

// ---- persistent requests ----

// Make a request for repeated sends or receives with the same arguments. The request does nothing
// before gasnetx_Request_Start. Completion does not end the request; gasnetx_Request_Free does.
AQ_API int gasnetx_Msg_SendInit(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, const void *src,
                                size_t nbytes, gasnetx_Request_t *request);
AQ_API int gasnetx_Msg_RecvInit(gex_TM_t tm, gex_Rank_t rank, uint32_t tag, void *dest,
                                size_t capacity, gasnetx_Request_t *request);

// Begins a persistent request, once more. GASNET_ERR_BAD_ARG: it is not persistent, or has begun
// and was not waited for. Otherwise as gasnetx_Msg_SendNB or gasnetx_Msg_RecvNB.
AQ_API int gasnetx_Request_Start(gasnetx_Request_t request);

// Ends a persistent request that is not under way. GASNET_ERR_BAD_ARG: the request is not
// persistent, or under way.
AQ_API int gasnetx_Request_Free(gasnetx_Request_t *request);

// ---- completion ----

// Blocks until a request is complete; status may be NULL, and that of a send is 0, or has only
// GASNETX_MSG_CANCELLED. The null handle, and a persistent request that has not begun, are
// complete.
AQ_API int gasnetx_Request_Wait(gasnetx_Request_t *request, gasnetx_msg_status_t *status);

// Polls, and ends a complete request as gasnetx_Request_Wait does. GASNET_ERR_NOT_READY: the
// request is not complete.
AQ_API int gasnetx_Request_Test(gasnetx_Request_t *request, gasnetx_msg_status_t *status);

// Waits for all requests of an array, in any order; status is an array or NULL.
AQ_API int gasnetx_Request_WaitAll(gasnetx_Request_t *requests, size_t count,
                                   gasnetx_msg_status_t *status);

// Waits until a request of an array is complete or a file descriptor has an event, and sleeps while
// there is nothing. The rest is that of poll(2): fds, which gets the events in revents and may be
// NULL if nfds is 0, and the time-out in milliseconds, without limit if it is negative. *first gets
// the index of the first complete request, or count if there is none, and *ready the number of
// descriptors with events; both may be NULL. A complete request stays so: gasnetx_Request_Wait ends
// it. Null handles, and persistent requests that have not begun, are left out. A signal does not
// end the wait. GASNET_ERR_NOT_READY: the time is over. GASNET_ERR_BAD_ARG: nothing can end the
// wait, or poll(2) has refused fds. GASNET_ERR_RESOURCE: no memory or descriptor is left.
AQ_API int gasnetx_Request_WaitFds(const gasnetx_Request_t *requests, size_t count,
                                   struct pollfd *fds, nfds_t nfds, int timeout_ms, size_t *first,
                                   size_t *ready);

// Cancels a receive that no message has reached, which is then complete, with
// GASNETX_MSG_CANCELLED; or asks the receiver to drop a message that no receive has taken. Then the
// send completes soon, with GASNETX_MSG_CANCELLED if the message was dropped, and with 0 if a
// receive has it. Either way the request still has to be waited for. GASNET_ERR_NOT_READY: the
// receive has a message, the send is complete or under way to its receiver, or the request is
// neither. A message that left with its bytes, as most short ones do (GASNET_MSG_EAGER), is
// complete. Does not block, but for room to send; not in a handler if the request is a send.
AQ_API int gasnetx_Request_Cancel(gasnetx_Request_t request);

// ---- memory ----

// Allocates nbytes, aligned to 64 bytes and not initialized, that the processes of this host can
// map: a long message from or to such memory is copied once, also where the system does not let a
// process read the memory of another one. All of that memory together has at most GASNET_MSG_SHARED
// bytes. Where no process shares memory with this one, the memory is not shared.
// GASNET_ERR_RESOURCE: there is no room.
AQ_API int gasnetx_Msg_Alloc(size_t nbytes, void **memory);

// Frees such memory, which no message may use any more; NULL: nothing. Later allocations use freed
// memory. GASNET_ERR_BAD_ARG: the memory is not from gasnetx_Msg_Alloc, or was freed before.
AQ_API int gasnetx_Msg_Free(void *memory);

// ---- flow control ----
//
// A rank keeps what has arrived and was not taken in limited memory (GASNET_MSG_MEMORY), of which
// each sender has an equal share. A sender whose share is used up keeps the bytes of short
// messages, too, until a receive takes them. If there is no room for envelopes either, blocking
// sends wait, and others return GASNET_ERR_RESOURCE. All of this holds for large messages
// (aqueduct_large.h).

// Stopped: what arrives from now on waits, within the limits: no receive takes it, and no handler
// of a large message runs. What arrived before can still be received. Ranks that send are told
// (gasnetx_Msg_OnStop).
// Drops: a message with two sides is dropped and counted if no receive waits for it when it
// arrives; while this rank has stopped, all messages are, and also those that have waited. For its
// sender, a dropped message is complete.
#define GASNETX_MSG_STOPPED 1u
#define GASNETX_MSG_DROPS 2u

// Sets the mode of this rank: 0, which is the first one, or a combination of these two.
// GASNET_ERR_BAD_ARG: another value. Any thread; does not block.
AQ_API int gasnetx_Msg_Mode(unsigned mode);

// Tells the function which ranks, of those to which this rank has sent messages, have stopped
// receiving (stopped is 1), now or later, and when they have started again (0). rank is a job rank.
// It is called in polls, by one thread at a time; of several changes at once only the last one is
// reported. It must not block. NULL: none. Any thread; does not block.
typedef void (*gasnetx_Msg_StopFn_t)(gex_Rank_t rank, int stopped, void *context);
AQ_API int gasnetx_Msg_OnStop(gasnetx_Msg_StopFn_t fn, void *context);

// What this rank has counted, of messages with two sides and large ones. Memory is in bytes, as
// GASNET_MSG_MEMORY counts it. Any thread; does not block.
typedef struct gasnetx_msg_counts {
    uint64_t dropped_messages, dropped_bytes;
    uint64_t refused;                    // sends with GASNET_ERR_RESOURCE
    uint64_t kept_messages, kept_memory; // now
    uint64_t most_memory;                // at any time
    // How long messages came to this rank: pieces in active messages, and what the network device
    // has read from the memory of senders.
    uint64_t pieces, device_reads, device_bytes;
} gasnetx_msg_counts_t;
AQ_API int gasnetx_Msg_Counts(gasnetx_msg_counts_t *counts);

// ---- requests of the client ----

// Makes a request for `count` operations of the client's own, for example the answers to as many
// active messages. It is complete when gasnetx_Request_Complete was called that often, and once
// more for each gasnetx_Request_Add; then it is waited for like others. Does not block.
AQ_API int gasnetx_Request_Make(uint32_t count, gasnetx_Request_t *request);

// One operation more, or one that is complete. Any thread, also in a handler; do not block.
// GASNET_ERR_BAD_ARG: the request is not one of gasnetx_Request_Make, is complete, or has
// UINT32_MAX operations already.
AQ_API int gasnetx_Request_Add(gasnetx_Request_t request);
AQ_API int gasnetx_Request_Complete(gasnetx_Request_t request);

#ifdef __cplusplus
}
#endif

#include "aqueduct_large.h"

#endif
