// SPDX-License-Identifier: BSD-3-Clause
// The transitions. ibv_connect_ud.c calls them, and carries out the actions that they return.
#include "ibv_handshake.h"

// Sends a message, and repeats it later; each pause is longer than the one before.
static unsigned handshake_send(aq_ibv_handshake_t *handshake, uint64_t now_ms)
{
    uint64_t pause = AQ_IBV_HANDSHAKE_FIRST_MS;
    for (unsigned i = 0; i < handshake->tries && pause < AQ_IBV_HANDSHAKE_LONGEST_MS; i++)
        pause *= 2;
    handshake->tries++;
    handshake->deadline_ms = now_ms + pause;
    return AQ_IBV_DO_SEND;
}

static unsigned handshake_fail(aq_ibv_handshake_t *handshake)
{
    handshake->failed = true;
    return AQ_IBV_DO_FAIL;
}

unsigned aq_ibv_handshake_call(aq_ibv_handshake_t *handshake, uint64_t now_ms)
{
    if (handshake->begun || handshake->failed)
        return 0;
    handshake->begun = true;
    return handshake_send(handshake, now_ms);
}

// The news in a message that is not a refusal.
static unsigned handshake_learn(aq_ibv_handshake_t *handshake, unsigned flags)
{
    const bool becomes_known = !handshake->known && flags & AQ_IBV_SAYS_KNOWN;
    const unsigned actions = handshake->received ? 0 : AQ_IBV_DO_CONNECT;
    handshake->received = true;
    handshake->known |= becomes_known;
    return actions | (becomes_known ? AQ_IBV_DO_READY : 0u);
}

static void handshake_begin_round(aq_ibv_handshake_t *handshake, uint16_t round)
{
    handshake->round = round;
    handshake->received = false;
    handshake->tries = 0;
}

unsigned aq_ibv_handshake_join(aq_ibv_handshake_t *handshake, unsigned flags, uint16_t round)
{
    const bool is_later = handshake->has_rounds && round > handshake->round;
    if (!is_later || handshake->failed || handshake->known || flags & AQ_IBV_SAYS_NO)
        return 0;
    handshake_begin_round(handshake, round);
    return AQ_IBV_DO_RESTART;
}

unsigned aq_ibv_handshake_receive(aq_ibv_handshake_t *handshake, unsigned flags, uint16_t round,
                                  uint64_t now_ms)
{
    if (handshake->failed || round > handshake->round)
        return 0;
    if (flags & AQ_IBV_SAYS_NO)
        return handshake->received || !handshake->begun ? 0 : handshake_fail(handshake);
    if (round < handshake->round)
        return flags & AQ_IBV_SAYS_WANT ? AQ_IBV_DO_SEND : 0;
    handshake->begun = true;
    unsigned actions = handshake_learn(handshake, flags);
    if (actions & AQ_IBV_DO_CONNECT) {
        handshake->tries = 0;
        (void)handshake_send(handshake, now_ms);
    }
    return actions | (flags & AQ_IBV_SAYS_WANT ? AQ_IBV_DO_SEND : 0u);
}

void aq_ibv_handshake_skip(aq_ibv_handshake_t *handshake, uint64_t now_ms)
{
    if (!handshake->has_rounds || handshake->received)
        return;
    handshake->tries = AQ_IBV_HANDSHAKE_ROUND_TRIES;
    handshake->deadline_ms = now_ms + AQ_IBV_HANDSHAKE_FIRST_MS;
}

// Begins the next round, with new queue pairs.
static unsigned handshake_go_round(aq_ibv_handshake_t *handshake, uint64_t now_ms)
{
    if (++handshake->rounds == AQ_IBV_HANDSHAKE_ROUNDS)
        return handshake_fail(handshake);
    handshake_begin_round(handshake, handshake->round + 1);
    return AQ_IBV_DO_RESTART | handshake_send(handshake, now_ms);
}

unsigned aq_ibv_handshake_tick(aq_ibv_handshake_t *handshake, uint64_t now_ms)
{
    if (now_ms < aq_ibv_handshake_deadline(handshake))
        return 0;
    if (handshake->has_rounds && !handshake->received &&
        handshake->tries >= AQ_IBV_HANDSHAKE_ROUND_TRIES)
        return handshake_go_round(handshake, now_ms);
    if (handshake->tries >= AQ_IBV_HANDSHAKE_TRIES)
        return handshake_fail(handshake);
    return handshake_send(handshake, now_ms);
}
