// SPDX-License-Identifier: BSD-3-Clause
// Room: how much of the messages of a rank another one keeps. Messages with two sides and large
// messages take room at their receiver from the send until a receive or a handler has taken them.
// Each rank has an equal share of room at every other one, and counts what it has used.
//
//      sender                                              receiver
//        used += cost   message ------------------------->   kept
//                                                            taken: given += cost
//        used -= given  <---- room: a Short, when half of the share was given back
//
// The same Short reports whether the receiver has stopped receiving. A message that costs at most
// half a share never starves: less than half of a share is ever unreturned.
#ifndef AQ_MSG_ROOM_H
#define AQ_MSG_ROOM_H

#include "msg_state.h"

// What a message takes besides bytes that travel with it.
#define AQ_MSG_COST ((size_t)256)
#define AQ_LARGE_COST ((size_t)1024)

// How a message leaves: with its bytes, without, or not at all, because its receiver has no room.
typedef enum aq_leave { AQ_LEAVE_REFUSED, AQ_LEAVE_RTS, AQ_LEAVE_EAGER } aq_leave_t;

// ---- with the lock ----

// Takes room at a peer up to a limit. False: there is none.
static inline bool aq_msg_room_take_below(aq_msg_room_t *room, size_t cost, size_t limit)
{
    if (room->used + cost > limit)
        return false;
    room->used += cost;
    return true;
}

// Takes room at a peer for a message: for its bytes, too, if it may be sent at once. The last
// quarter of a share is for messages without their bytes, so that bytes never keep an envelope from
// being sent.
static inline aq_leave_t aq_msg_room_take(aq_msg_room_t *room, size_t envelope, size_t nbytes,
                                          bool is_eager)
{
    if (is_eager && aq_msg_room_take_below(room, envelope + nbytes, aq_msg.share_eager))
        return AQ_LEAVE_EAGER;
    return aq_msg_room_take_below(room, envelope, aq_msg.share) ? AQ_LEAVE_RTS : AQ_LEAVE_REFUSED;
}

// Lists a peer for the task, which has to send to the peer or to notify the client.
void aq_msg_room_list(aq_msg_room_t *room);

// Notes that a message of a peer has arrived while this rank was in a mode (gasnetx_Msg_Mode). A
// peer that has not sent before has to be told of the mode now; others were told when it changed.
static inline void aq_msg_room_hear(aq_msg_room_t *room, unsigned mode)
{
    if (__builtin_expect(mode && room->told != aq_msg.changes, 0))
        aq_msg_room_list(room);
}

// Gives back the room that a message of a peer has taken here.
static inline void aq_msg_room_give(aq_msg_room_t *room, size_t cost)
{
    room->given += cost;
    if (room->given >= aq_msg.share_half)
        aq_msg_room_list(room);
}

// The first counts a message with two sides of a peer that this process keeps, and ends the job if
// the peer has sent more than it may; the second counts the end of that.
void aq_msg_room_keep(aq_msg_room_t *room, size_t cost);
void aq_msg_room_unkeep(aq_msg_room_t *room, size_t cost);

// Counts a message that no receive or handler will get.
void aq_msg_room_drop(size_t nbytes);

// Lists the peers for the task after this rank has stopped or started, so that they are told.
void aq_msg_room_change(void);

// ---- without the lock ----

// As aq_msg_room_take, at a rank.
aq_leave_t aq_msg_room_ask(uint32_t jobrank, size_t envelope, size_t nbytes, bool is_eager);

// Takes room for a message that is forwarded, even beyond the limit: the room that the message
// takes at this rank limits what is forwarded.
void aq_msg_room_force(uint32_t jobrank, size_t cost);

// Counts a send that is refused. Returns GASNET_ERR_RESOURCE.
int aq_msg_room_refuse(void);

// The first takes room for a large message that has arrived, the second gives it back.
void aq_msg_room_arrive(uint32_t jobrank, size_t cost);
void aq_msg_room_leave(uint32_t jobrank, size_t cost);

// Polls until there may be room.
void aq_msg_room_await(uint32_t jobrank, size_t cost);

void aq_msg_room_register(void);

#endif
