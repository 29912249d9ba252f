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
    const unsigned actions = handshake->heard ? 0 : AQ_IBV_DO_CONNECT;
    handshake->heard = true;
    handshake->known |= becomes_known;
    return actions | (becomes_known ? AQ_IBV_DO_READY : 0u);
}

unsigned aq_ibv_handshake_receive(aq_ibv_handshake_t *handshake, unsigned flags, uint64_t now_ms)
{
    if (handshake->failed)
        return 0;
    if (flags & AQ_IBV_SAYS_NO)
        return handshake->heard || !handshake->begun ? 0 : handshake_fail(handshake);
    handshake->begun = true;
    unsigned actions = handshake_learn(handshake, flags);
    if (actions & AQ_IBV_DO_CONNECT) {
        handshake->tries = 0;
        (void)handshake_send(handshake, now_ms);
    }
    return actions | (flags & AQ_IBV_SAYS_WANT ? AQ_IBV_DO_SEND : 0u);
}

unsigned aq_ibv_handshake_tick(aq_ibv_handshake_t *handshake, uint64_t now_ms)
{
    if (now_ms < aq_ibv_handshake_deadline(handshake))
        return 0;
    if (handshake->tries >= AQ_IBV_HANDSHAKE_TRIES)
        return handshake_fail(handshake);
    return handshake_send(handshake, now_ms);
}
