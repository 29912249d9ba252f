// SPDX-License-Identifier: BSD-3-Clause
// Flow control by credits: a credit of a rank is the right to have another one keep a byte of its
// messages. Messages with two sides and large messages take credits from the send until a receive
// or a handler of the receiver has taken them. Each rank has the same number of credits at every
// other one, and counts what it has used.
//
//      sender                                              receiver
//        used += cost   message ------------------------->   kept
//                                                            taken: given += cost
//        used -= given  <---- credits: a Short, when half of them were given back
//
// The same Short reports whether the receiver has stopped receiving. A message that costs at most
// half of the credits never starves: less than half of them are ever unreturned.
#pragma once

#include "msg_state.h"

// What a message takes besides bytes that travel with it.
#define AQ_MSG_COST ((size_t)256)
#define AQ_LARGE_COST ((size_t)1024)

// The protocol of a message: eager, with its bytes; rendezvous, without; or none, because credits
// are used up.
typedef enum aq_msg_protocol {
    AQ_PROTOCOL_REFUSED,
    AQ_PROTOCOL_RNDV,
    AQ_PROTOCOL_EAGER
} aq_msg_protocol_t;

// ---- with the lock ----

// Takes credits at a peer up to a limit. False: there are too few.
static inline bool aq_msg_credits_take_below(aq_msg_credits_t *credits, size_t cost, size_t limit)
{
    if (credits->used + cost > limit)
        return false;
    credits->used += cost;
    return true;
}

// Takes credits at a peer for a message: for its bytes, too, if it may be sent at once. The last
// quarter of the credits is for messages without their bytes, so that bytes never keep an envelope
// from being sent.
static inline aq_msg_protocol_t aq_msg_credits_take(aq_msg_credits_t *credits, size_t envelope,
                                                    size_t nbytes, bool is_eager)
{
    if (is_eager && aq_msg_credits_take_below(credits, envelope + nbytes, aq_msg.credits_eager))
        return AQ_PROTOCOL_EAGER;
    return aq_msg_credits_take_below(credits, envelope, aq_msg.credits) ? AQ_PROTOCOL_RNDV
                                                                        : AQ_PROTOCOL_REFUSED;
}

// Lists a peer for the task, which has to send to the peer or to notify the client.
void aq_msg_credits_list(aq_msg_credits_t *credits);

// Notes that a message of a peer has arrived while this rank was in a mode (gasnetx_Msg_Mode). A
// peer that has not sent before has to be told of the mode now; others were told when it changed.
static inline void aq_msg_credits_hear(aq_msg_credits_t *credits, unsigned mode)
{
    if (__builtin_expect(mode && credits->told != aq_msg.changes, 0))
        aq_msg_credits_list(credits);
}

// Gives back the credits that a message of a peer has taken here.
static inline void aq_msg_credits_give(aq_msg_credits_t *credits, size_t cost)
{
    credits->given += cost;
    if (credits->given >= aq_msg.credits_half)
        aq_msg_credits_list(credits);
}

// The first counts a message with two sides of a peer that this process keeps, and ends the job if
// the peer has sent more than it may; the second counts the end of that.
void aq_msg_credits_keep(aq_msg_credits_t *credits, size_t cost);
void aq_msg_credits_unkeep(aq_msg_credits_t *credits, size_t cost);

// Counts a message that no receive or handler will get.
void aq_msg_credits_drop(size_t nbytes);

// Lists the peers for the task after this rank has stopped or started, so that they are told.
void aq_msg_credits_change(void);

// ---- without the lock ----

// As aq_msg_credits_take, at a rank.
aq_msg_protocol_t aq_msg_credits_ask(uint32_t jobrank, size_t envelope, size_t nbytes,
                                     bool is_eager);

// Takes credits for a message that is forwarded, even beyond the limit: the credits that the
// message takes at this rank limit what is forwarded.
void aq_msg_credits_force(uint32_t jobrank, size_t cost);

// Counts a send that is refused. Returns GASNET_ERR_RESOURCE.
int aq_msg_credits_refuse(void);

// The first counts a large message that has arrived, the second gives its credits back.
void aq_msg_credits_arrive(uint32_t jobrank, size_t cost);
void aq_msg_credits_leave(uint32_t jobrank, size_t cost);

// Polls until there may be credits enough.
void aq_msg_credits_await(uint32_t jobrank, size_t cost);

void aq_msg_credits_register(void);
