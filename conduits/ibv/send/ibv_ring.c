// SPDX-License-Identifier: BSD-3-Clause
// The reader's side of rings: finds complete messages for ibv_receive.c, returns their slots, and
// assigns rings to the peers that send most.
#include "ibv_ring.h"

#include <stdlib.h>
#include <string.h>

#include "../../../other/base/minmax.h"
#include "ibv_ring_slot.h"

enum {
    CLEARLY_MORE = 16, // messages in a cycle
    TALKS_AGAIN = 32,  // messages after which a peer that lost its ring to a sleep gets one again
};

// ---- open ----

bool aq_ibv_rings_open(aq_ibv_rings_t *rings, const aq_ibv_buffers_t *buffers)
{
    const aq_ibv_limits_t *limits = rings->limits;
    const size_t bytes = (size_t)limits->rings.depth * AQ_IBV_BUFFER_BYTES;
    if (!limits->rings.count)
        return true;
    rings->all = calloc(limits->rings.count, sizeof *rings->all);
    rings->active = calloc(limits->rings.count, sizeof *rings->active);
    for (unsigned i = 0; rings->all && i < limits->rings.count; i++) {
        rings->all[i].bytes = buffers->rings + i * bytes;
        for (unsigned slot = 0; slot < limits->rings.depth; slot++)
            rings->all[i].slots[slot].ring = &rings->all[i];
    }
    return rings->all && rings->active;
}

void aq_ibv_rings_close(aq_ibv_rings_t *rings)
{
    free(rings->all);
    free(rings->active);
}

// ---- messages ----

static aq_ibv_footer_t *footer_at(const aq_ibv_ring_t *ring, uint32_t slot)
{
    uint8_t *end = ring->bytes + ((size_t)slot + 1) * AQ_IBV_BUFFER_BYTES;
    return (aq_ibv_footer_t *)(void *)(end - sizeof(aq_ibv_footer_t));
}

// The message behind `seen` others, if it is there as a whole. NULL: it is not.
static inline uint8_t *ring_message(const aq_ibv_ring_t *ring, unsigned depth, uint32_t seen,
                                    uint32_t *bytes)
{
    const uint32_t slot = seen % depth;
    const volatile aq_ibv_footer_t *shared = footer_at(ring, slot);
    if (shared->position != seen + 1)
        return NULL;
    atomic_thread_fence(memory_order_acquire);
    const aq_ibv_footer_t footer = {shared->bytes, shared->position, shared->hash};
    const size_t total = aq_ibv_ring_padded(footer.bytes) + sizeof footer;
    if (footer.bytes < sizeof(aq_ibv_head_t) || total > AQ_IBV_BUFFER_BYTES)
        return NULL;
    uint8_t *message = ring->bytes + ((size_t)slot + 1) * AQ_IBV_BUFFER_BYTES - total;
    *bytes = footer.bytes;
    return aq_ibv_ring_hash(message, footer.bytes, footer.position) == footer.hash
               ? message
               : NULL; // still being written
}

static aq_ibv_buffer_t *ring_next(aq_ibv_rings_t *rings, aq_ibv_ring_t *ring)
{
    const unsigned depth = rings->limits->rings.depth;
    uint32_t bytes;
    rings->looks++;
    uint8_t *message = ring_message(ring, depth, ring->seen, &bytes);
    if (!message)
        return NULL;
    aq_ibv_buffer_t *buffer = &ring->slots[ring->seen % depth];
    buffer->bytes = message;
    buffer->nbytes = bytes;
    ring->seen++;
    return buffer;
}

uint32_t aq_ibv_ring_complete(const aq_ibv_rings_t *rings, const aq_ibv_peer_t *link)
{
    const aq_ibv_ring_t *ring = link->in.owned;
    uint32_t seen = ring ? ring->seen : 0, bytes;
    while (ring && ring_message(ring, rings->limits->rings.depth, seen, &bytes))
        seen++;
    return seen;
}

aq_ibv_buffer_t *aq_ibv_rings_next(aq_ibv_rings_t *rings)
{
    aq_ibv_buffer_t *buffer = NULL;
    for (unsigned i = 0; i < rings->active_count && !buffer; i++)
        buffer = ring_next(rings, rings->active[rings->turn++ % rings->active_count]);
    if (buffer) {
        atomic_store_explicit(&rings->nap, 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&rings->messages, 1, memory_order_relaxed);
    }
    return buffer;
}

// Slots are returned in order. A handler that ran inside the wait of another one may be done first.
void aq_ibv_ring_done(aq_ibv_rings_t *rings, aq_ibv_buffer_t *buffer)
{
    aq_ibv_ring_t *ring = buffer->ring;
    unsigned count = 0;
    const uint32_t slot = (uint32_t)(buffer - ring->slots), depth = rings->limits->rings.depth;
    aq_lock_take(&ring->lock);
    ring->over |= 1u << slot;
    unsigned done = atomic_load_explicit(&ring->done, memory_order_relaxed);
    for (; ring->over >> (done % depth) & 1; done++, count++)
        ring->over &= ~(1u << done % depth);
    if (count)
        atomic_fetch_add_explicit(&ring->owner->in.returned, count, memory_order_release);
    atomic_store_explicit(&ring->done, done, memory_order_release);
    aq_lock_drop(&ring->lock);
}

// ---- granting and taking away ----

static void ring_grant(aq_ibv_rings_t *rings, aq_ibv_ring_t *ring, aq_ibv_peer_t *link)
{
    aq_ibv_ring_in_t *in = &link->in;
    for (uint32_t slot = 0; slot < rings->limits->rings.depth; slot++)
        memset(footer_at(ring, slot), 0, sizeof(aq_ibv_footer_t));
    ring->owner = link;
    ring->seen = ring->over = 0;
    atomic_store_explicit(&ring->done, 0, memory_order_relaxed);
    ring->leaving = ring->left = false;
    in->regains = 0;
    in->owned = ring;
    in->generation++;
    atomic_store_explicit(&in->returned, in->generation % 4 << AQ_IBV_GENERATION_SHIFT,
                          memory_order_release);
    rings->active[rings->active_count++] = ring;
    atomic_fetch_add_explicit(&rings->granted, 1, memory_order_relaxed);
    atomic_store_explicit(&in->news, (uint8_t)(1 + (ring - rings->all)), memory_order_release);
}

static void ring_take_away(aq_ibv_rings_t *rings, aq_ibv_ring_t *ring)
{
    unsigned i = 0;
    atomic_fetch_add_explicit(&rings->freed, 1, memory_order_relaxed);
    while (rings->active[i] != ring)
        i++;
    rings->active[i] = rings->active[--rings->active_count];
    ring->owner->in.owned = NULL;
    ring->owner = NULL;
}

// Whatever was written before the owner left is there, since a queue pair delivers in order: a ring
// is free when all of that was taken out and its handlers have returned.
void aq_ibv_rings_free_left(aq_ibv_rings_t *rings)
{
    for (unsigned i = rings->active_count; i-- > 0;) {
        aq_ibv_ring_t *ring = rings->active[i];
        if (!ring->left ||
            footer_at(ring, ring->seen % rings->limits->rings.depth)->position == ring->seen + 1 ||
            atomic_load_explicit(&ring->done, memory_order_acquire) != ring->seen)
            continue;
        ring_take_away(rings, ring);
        rings->left_count--;
    }
}

// If the grant was not announced to the owner yet, it is withdrawn; otherwise the owner is asked.
static void ring_ask_back(aq_ibv_rings_t *rings, aq_ibv_ring_t *ring)
{
    aq_ibv_peer_t *owner = ring->owner;
    if (atomic_exchange_explicit(&owner->in.news, 0, memory_order_acquire)) {
        owner->in.generation--;
        ring_take_away(rings, ring);
        return;
    }
    ring->leaving = aq_ibv_send_ask(rings->sender, owner);
}

void aq_ibv_rings_ask_all(aq_ibv_rings_t *rings)
{
    for (unsigned i = rings->active_count; i-- > 0;) {
        aq_ibv_ring_t *ring = rings->active[i];
        if (ring->leaving || ring->left)
            continue;
        ring->owner->in.regains = aq_min(TALKS_AGAIN, rings->limits->rings.cycle);
        ring_ask_back(rings, ring);
    }
}

// ---- assigning ----

static aq_ibv_ring_t *find_free(const aq_ibv_rings_t *rings)
{
    for (unsigned i = 0; i < rings->limits->rings.count; i++)
        if (!rings->all[i].owner)
            return &rings->all[i];
    return NULL;
}

// The peer without a ring that sent most messages in this cycle; NULL: none sent any.
static aq_ibv_peer_t *find_busiest(const aq_ibv_rings_t *rings)
{
    aq_ibv_peer_t *most = NULL, *link = atomic_load(&rings->peers->first);
    for (; link; link = link->next)
        if (!link->in.owned && link->in.received &&
            (!most || link->in.received > most->in.received) &&
            atomic_load_explicit(&link->started, memory_order_acquire))
            most = link;
    return most;
}

static aq_ibv_ring_t *find_quietest(const aq_ibv_rings_t *rings)
{
    aq_ibv_ring_t *least = NULL;
    for (unsigned i = 0; i < rings->active_count; i++) {
        aq_ibv_ring_t *ring = rings->active[i];
        if (!ring->leaving && (!least || ring->owner->in.received < least->owner->in.received))
            least = ring;
    }
    return least;
}

static void rings_assign(aq_ibv_rings_t *rings)
{
    aq_ibv_peer_t *talker;
    aq_ibv_ring_t *ring;
    while ((talker = find_busiest(rings)) != NULL && (ring = find_free(rings)) != NULL)
        ring_grant(rings, ring, talker);
    ring = talker ? find_quietest(rings) : NULL;
    if (ring && talker->in.received >= 2 * ring->owner->in.received + CLEARLY_MORE)
        ring_ask_back(rings, ring);
    for (aq_ibv_peer_t *link = atomic_load(&rings->peers->first); link; link = link->next)
        link->in.received = 0;
}

// An answer without AQ_IBV_LEFT means that the peer did not know of its ring yet: it has to be
// asked again.
static void take_answer(aq_ibv_rings_t *rings, aq_ibv_peer_t *link, const aq_ibv_head_t *head)
{
    aq_ibv_ring_t *ring = link->in.owned;
    if (!ring || !(head->flags & (AQ_IBV_LEFT | AQ_IBV_ANSWER)))
        return;
    if (head->flags & AQ_IBV_LEFT) {
        ring->left = true;
        rings->left_count++;
    } else if (!ring->left) {
        ring->leaving = false;
    }
}

static void ring_regain(aq_ibv_rings_t *rings, aq_ibv_peer_t *link)
{
    aq_ibv_ring_t *ring = link->in.owned ? NULL : find_free(rings);
    if (ring)
        ring_grant(rings, ring, link);
}

void aq_ibv_ring_count(aq_ibv_rings_t *rings, const aq_ibv_head_t *head)
{
    aq_ibv_peer_t *link =
        atomic_load_explicit(&rings->peers->by_number[head->source], memory_order_acquire);
    if (!rings->limits->rings.count || !link)
        return;
    take_answer(rings, link, head);
    link->in.received++;
    if (link->in.regains && !--link->in.regains)
        ring_regain(rings, link);
    if (++rings->received < rings->limits->rings.cycle)
        return;
    rings->received = 0;
    rings_assign(rings);
}
