// SPDX-License-Identifier: BSD-3-Clause
// The decisions, and the claims in the shared table, by atomic operations. ibv_connect_xrc.c makes
// the queue pairs; ibv_xrc_domain.c opens domain and table.
#include "ibv_xrc.h"

#include <stdlib.h>

#include "../../../other/base/log/log.h"

#define CLAIMED UINT32_MAX // numbers of queue pairs have 24 bits

// ---- sending ----

aq_ibv_xrc_sender_t *aq_ibv_xrc_sender_get(aq_ibv_xrc_t *xrc, uint32_t host, uint16_t address)
{
    aq_ibv_xrc_sender_t *sender = xrc->senders;
    while (sender && (sender->host != host || sender->address != address))
        sender = sender->next;
    if (sender)
        return sender;
    sender = calloc(1, sizeof *sender);
    if (!sender) {
        aq_log_error("out of memory for the queue pair to a host (%zu bytes)", sizeof *sender);
        return NULL;
    }
    sender->host = host;
    sender->address = address;
    sender->next = xrc->senders;
    xrc->senders = sender;
    return sender;
}

aq_ibv_xrc_told_t aq_ibv_xrc_sender_told(const aq_ibv_xrc_sender_t *sender, uint32_t number)
{
    if (!sender->receiver)
        return AQ_IBV_XRC_CONNECT;
    return sender->receiver == number ? AQ_IBV_XRC_KNOWN : AQ_IBV_XRC_DISAGREES;
}

void aq_ibv_xrc_sender_connected(aq_ibv_xrc_sender_t *sender, uint32_t number, unsigned depth)
{
    sender->receiver = number;
    atomic_store_explicit(&sender->entries.slots, depth, memory_order_release);
}

unsigned aq_ibv_xrc_senders(const aq_ibv_xrc_t *xrc)
{
    unsigned count = 0;
    for (const aq_ibv_xrc_sender_t *sender = xrc->senders; sender; sender = sender->next)
        count++;
    return count;
}

// ---- receiving ----

aq_ibv_xrc_claim_t aq_ibv_xrc_claim(aq_ibv_xrc_t *xrc, uint32_t rank, uint32_t *number)
{
    *number = 0;
    if (atomic_compare_exchange_strong(&xrc->receivers[rank], number, CLAIMED))
        return AQ_IBV_XRC_MAKE;
    return *number == CLAIMED ? AQ_IBV_XRC_WAIT : AQ_IBV_XRC_OPEN;
}

void aq_ibv_xrc_publish(aq_ibv_xrc_t *xrc, uint32_t rank, uint32_t number)
{
    xrc->made += number != 0;
    atomic_store(&xrc->receivers[rank], number);
}
