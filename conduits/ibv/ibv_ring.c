// Active messages by RDMA: a peer that talks much gets a ring here, into which it writes its short
// messages; they are found by looking at memory. That saves both sides a receive buffer and a
// completion.
//
//      ring of a peer:  DEPTH slots of 4,096 bytes
//      slot:            | unused ......... | message, up to a multiple of 8 | footer |
//
// What is always true:
// - The footer stands at the end of the slot, wherever the message begins. A message is there when
//   the footer has the position that is expected next and the hash of the message: whatever order
//   the device writes in. Positions begin anew only with clean footers.
// - A slot is written again only when its message's handler has returned: the receiver gives slots
//   back in order, and tells with any message that goes to the sender. A sender without a free slot
//   sends as without rings, so that nobody ever waits for a slot.
// - Slots are the credits of rings: what goes there takes no other. Of the replies to requests in
//   rings, those that do not go by a ring themselves find a receive buffer, since there is one for
//   each slot of the rings that a process uses at a time (ring_replies); it leaves further ones.
// - Who gets a ring learns it from the head of a message. Who has to leave it is asked by a hidden
//   request, which wakes it, and answers behind its last write that it has left; or that it has no
//   ring, when the request has overtaken the news: then it is asked again.
// - Nobody sleeps long beside a ring that it has given: it asks for it, and sleeps for short times
//   only until all are left. Then whatever comes makes a completion, which ends the sleep.
#include "ibv_conduit.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../other/base/minmax.h"
#include "../../other/base/settings.h"

enum {
    RINGS_MOST = 250, // as many as one byte can name
    GENERATION_SHIFT = 6,
    SLOTS_MASK = (1 << GENERATION_SHIFT) - 1,
    CLEARLY_MORE = 16, // messages in a cycle
    TALKS_AGAIN = 32,  // messages of one that left since we slept
};

typedef struct footer {
    uint32_t bytes;
    uint32_t position; // from 1 on
    uint64_t hash;
} footer_t;

_Static_assert(sizeof(footer_t) == AQ_IBV_FOOTER_BYTES, "as the header says");

static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static uint64_t hash_of(const void *message, uint32_t bytes, uint32_t position)
{
    return XXH3_64bits_withSeed(message, bytes, (uint64_t)bytes << 32 | position);
}

// ---- who writes ----

void aq_ibv_ring_use(aq_ibv_peer_t *link, uint8_t *message, size_t bytes, aq_ibv_work_t *work)
{
    const uint32_t position = ++link->ring_position;
    const size_t at = padded(bytes), total = at + AQ_IBV_FOOTER_BYTES;
    const footer_t footer = {(uint32_t)bytes, position,
                             hash_of(message, (uint32_t)bytes, position)};
    memset(message + bytes, 0, at - bytes);
    memcpy(message + at, &footer, sizeof footer);
    link->ring_slots--;
    work->opcode = IBV_WR_RDMA_WRITE;
    work->nbytes = (uint32_t)total;
    work->remote =
        link->ring + ((position - 1) % link->ring_depth + 1) * AQ_IBV_BUFFER_BYTES - total;
    work->remote_key = link->rings_key;
}

// A ring is used if there are buffers for the replies to what goes there.
static void begin_ring(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, unsigned number)
{
    link->ring_position = 0;
    link->ring_generation++;
    if (atomic_fetch_add_explicit(&ibv->rings_held, 1, memory_order_relaxed) >= ibv->limits.rings) {
        atomic_fetch_sub_explicit(&ibv->rings_held, 1, memory_order_relaxed);
        atomic_store_explicit(&link->ring_left, true, memory_order_release);
        return;
    }
    link->ring = link->rings_at + (uint64_t)(number - 1) * link->ring_depth * AQ_IBV_BUFFER_BYTES;
    link->ring_slots = link->ring_depth;
}

void aq_ibv_ring_hear(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_ibv_head_t *head)
{
    if (!head->ring && !head->ring_slots)
        return;
    aq_lock_take(&link->ring_lock);
    if (head->ring_slots >> GENERATION_SHIFT == link->ring_generation % 4)
        link->ring_slots += head->ring_slots & SLOTS_MASK;
    if (head->ring)
        begin_ring(ibv, link, head->ring);
    aq_lock_drop(&link->ring_lock);
}

void aq_ibv_ring_leave(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link)
{
    aq_lock_take(&link->ring_lock);
    if (link->ring) {
        link->ring = 0;
        atomic_fetch_sub_explicit(&ibv->rings_held, 1, memory_order_relaxed);
        atomic_store_explicit(&link->ring_left, true, memory_order_release);
    }
    aq_lock_drop(&link->ring_lock);
}

void aq_ibv_ring_say(aq_ibv_peer_t *link, aq_ibv_head_t *head)
{
    if (atomic_load_explicit(&link->ring_news, memory_order_relaxed))
        head->ring = atomic_exchange_explicit(&link->ring_news, 0, memory_order_acquire);
    if (atomic_load_explicit(&link->ring_left, memory_order_relaxed) &&
        atomic_exchange_explicit(&link->ring_left, false, memory_order_acquire))
        head->flags |= AQ_IBV_LEFT;
    unsigned back = atomic_load_explicit(&link->ring_back, memory_order_relaxed);
    if (back & SLOTS_MASK) {
        back = atomic_fetch_and_explicit(&link->ring_back, ~(unsigned)SLOTS_MASK,
                                         memory_order_acquire);
        head->ring_slots = (uint8_t)(back & SLOTS_MASK ? back : 0);
    }
}

// ---- who reads ----

static footer_t *footer_at(const aq_ibv_ring_t *ring, uint32_t slot)
{
    uint8_t *end = ring->bytes + ((size_t)slot + 1) * AQ_IBV_BUFFER_BYTES;
    return (footer_t *)(void *)(end - sizeof(footer_t));
}

// With the conduit's receiving lock held: the next message of a ring, if it is there as a whole.
static aq_ibv_buffer_t *next_message(aq_ibv_conduit_t *ibv, aq_ibv_ring_t *ring)
{
    const uint32_t slot = ring->seen % ibv->limits.ring_depth;
    const volatile footer_t *shared = footer_at(ring, slot);
    ibv->ring_looks++;
    if (shared->position != ring->seen + 1)
        return NULL;
    atomic_thread_fence(memory_order_acquire);
    const footer_t footer = {shared->bytes, shared->position, shared->hash};
    const size_t total = padded(footer.bytes) + sizeof footer;
    if (footer.bytes < sizeof(aq_ibv_head_t) || total > AQ_IBV_BUFFER_BYTES)
        return NULL;
    aq_ibv_buffer_t *buffer = &ring->slots[slot];
    buffer->bytes = ring->bytes + ((size_t)slot + 1) * AQ_IBV_BUFFER_BYTES - total;
    if (hash_of(buffer->bytes, footer.bytes, footer.position) != footer.hash)
        return NULL; // still being written
    buffer->nbytes = footer.bytes;
    ring->seen++;
    return buffer;
}

aq_ibv_buffer_t *aq_ibv_rings_next(aq_ibv_conduit_t *ibv)
{
    aq_ibv_buffer_t *buffer = NULL;
    for (unsigned i = 0; i < ibv->rings_active && !buffer; i++)
        buffer = next_message(ibv, ibv->active_rings[ibv->ring_turn++ % ibv->rings_active]);
    if (buffer) {
        atomic_store_explicit(&ibv->nap, 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&ibv->ring_messages, 1, memory_order_relaxed);
    }
    return buffer;
}

// Slots go back in order. A handler that ran inside another one's wait may be done earlier.
void aq_ibv_ring_done(aq_ibv_conduit_t *ibv, aq_ibv_buffer_t *buffer)
{
    aq_ibv_ring_t *ring = buffer->ring;
    unsigned count = 0;
    const uint32_t slot = (uint32_t)(buffer - ring->slots), depth = ibv->limits.ring_depth;
    aq_lock_take(&ring->lock);
    ring->over |= 1u << slot;
    unsigned done = atomic_load_explicit(&ring->done, memory_order_relaxed);
    for (; ring->over >> (done % depth) & 1; done++, count++)
        ring->over &= ~(1u << done % depth);
    if (count)
        atomic_fetch_add_explicit(&ring->owner->ring_back, count, memory_order_release);
    atomic_store_explicit(&ring->done, done, memory_order_release);
    aq_lock_drop(&ring->lock);
}

// ---- who gets a ring ----

static void set_news(aq_ibv_peer_t *link, uint8_t news)
{
    atomic_store_explicit(&link->ring_news, news, memory_order_release);
}

static void grant(aq_ibv_conduit_t *ibv, aq_ibv_ring_t *ring, aq_ibv_peer_t *link)
{
    for (uint32_t slot = 0; slot < ibv->limits.ring_depth; slot++)
        memset(footer_at(ring, slot), 0, sizeof(footer_t));
    ring->owner = link;
    ring->seen = ring->over = 0;
    atomic_store_explicit(&ring->done, 0, memory_order_relaxed);
    ring->leaving = ring->left = false;
    link->regains = 0;
    link->owned = ring;
    link->owned_generation++;
    atomic_store_explicit(&link->ring_back, link->owned_generation % 4 << GENERATION_SHIFT,
                          memory_order_release);
    ibv->active_rings[ibv->rings_active++] = ring;
    atomic_fetch_add_explicit(&ibv->rings_granted, 1, memory_order_relaxed);
    set_news(link, (uint8_t)(1 + (ring - ibv->rings)));
}

static void take_away(aq_ibv_conduit_t *ibv, aq_ibv_ring_t *ring)
{
    unsigned i = 0;
    atomic_fetch_add_explicit(&ibv->rings_freed, 1, memory_order_relaxed);
    while (ibv->active_rings[i] != ring)
        i++;
    ibv->active_rings[i] = ibv->active_rings[--ibv->rings_active];
    ring->owner->owned = NULL;
    ring->owner = NULL;
}

// What was written before its sender left is there, since one queue pair delivers in order: a ring
// is free when that has been taken out and its handlers have returned.
void aq_ibv_rings_free_left(aq_ibv_conduit_t *ibv)
{
    for (unsigned i = ibv->rings_active; i-- > 0;) {
        aq_ibv_ring_t *ring = ibv->active_rings[i];
        if (!ring->left ||
            footer_at(ring, ring->seen % ibv->limits.ring_depth)->position == ring->seen + 1 ||
            atomic_load_explicit(&ring->done, memory_order_acquire) != ring->seen)
            continue;
        take_away(ibv, ring);
        ibv->rings_leaving--;
    }
}

static aq_ibv_ring_t *find_free(aq_ibv_conduit_t *ibv)
{
    for (unsigned i = 0; i < ibv->limits.rings; i++)
        if (!ibv->rings[i].owner)
            return &ibv->rings[i];
    return NULL;
}

// The one that talked most of those without a ring; NULL: none did.
static aq_ibv_peer_t *find_talker(const aq_ibv_conduit_t *ibv)
{
    aq_ibv_peer_t *most = NULL, *link = atomic_load(&ibv->links);
    for (; link; link = link->next)
        if (!link->owned && link->heard && (!most || link->heard > most->heard) &&
            atomic_load_explicit(&link->started, memory_order_acquire))
            most = link;
    return most;
}

static aq_ibv_ring_t *find_quietest(const aq_ibv_conduit_t *ibv)
{
    aq_ibv_ring_t *least = NULL;
    for (unsigned i = 0; i < ibv->rings_active; i++) {
        aq_ibv_ring_t *ring = ibv->active_rings[i];
        if (!ring->leaving && (!least || ring->owner->heard < least->owner->heard))
            least = ring;
    }
    return least;
}

// An owner who was not told yet that he has a ring never will be.
static void ask_to_leave(aq_ibv_conduit_t *ibv, aq_ibv_ring_t *ring)
{
    aq_ibv_peer_t *owner = ring->owner;
    if (atomic_exchange_explicit(&owner->ring_news, 0, memory_order_acquire)) {
        owner->owned_generation--;
        take_away(ibv, ring);
        return;
    }
    ring->leaving = aq_ibv_send_ask(ibv, owner);
}

static void ask_all(aq_ibv_conduit_t *ibv)
{
    for (unsigned i = ibv->rings_active; i-- > 0;) {
        aq_ibv_ring_t *ring = ibv->active_rings[i];
        if (ring->leaving || ring->left)
            continue;
        ring->owner->regains = aq_min(TALKS_AGAIN, ibv->limits.ring_cycle);
        ask_to_leave(ibv, ring);
    }
}

bool aq_ibv_rings_quiet(aq_ibv_conduit_t *ibv, bool ask)
{
    if (!ibv->limits.rings)
        return true;
    if (!aq_lock_try(&ibv->receiving))
        return false;
    aq_ibv_rings_free_left(ibv);
    if (ask)
        ask_all(ibv);
    bool quiet = !ibv->rings_active;
    aq_lock_drop(&ibv->receiving);
    return quiet;
}

// Free rings go to those who talk; if there is none, who talks little has to leave his to who talks
// more.
static void assign(aq_ibv_conduit_t *ibv)
{
    aq_ibv_peer_t *talker;
    aq_ibv_ring_t *ring;
    while ((talker = find_talker(ibv)) != NULL && (ring = find_free(ibv)) != NULL)
        grant(ibv, ring, talker);
    ring = talker ? find_quietest(ibv) : NULL;
    if (ring && talker->heard >= 2 * ring->owner->heard + CLEARLY_MORE)
        ask_to_leave(ibv, ring);
    for (aq_ibv_peer_t *link = atomic_load(&ibv->links); link; link = link->next)
        link->heard = 0;
}

// An answer from one that has not left: it did not know of its ring yet.
static void hear_leaving(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link, const aq_ibv_head_t *head)
{
    aq_ibv_ring_t *ring = link->owned;
    if (!ring || !(head->flags & (AQ_IBV_LEFT | AQ_IBV_ANSWER)))
        return;
    if (head->flags & AQ_IBV_LEFT) {
        ring->left = true;
        ibv->rings_leaving++;
    } else if (!ring->left) {
        ring->leaving = false;
    }
}

static void regain(aq_ibv_conduit_t *ibv, aq_ibv_peer_t *link)
{
    aq_ibv_ring_t *ring = link->owned ? NULL : find_free(ibv);
    if (ring)
        grant(ibv, ring, link);
}

void aq_ibv_ring_count(aq_ibv_conduit_t *ibv, const aq_ibv_head_t *head)
{
    aq_ibv_peer_t *link = atomic_load_explicit(&ibv->link_of[head->source], memory_order_acquire);
    if (!ibv->limits.rings || !link)
        return;
    hear_leaving(ibv, link, head);
    link->heard++;
    if (link->regains && !--link->regains)
        regain(ibv, link);
    if (++ibv->heard < ibv->limits.ring_cycle)
        return;
    ibv->heard = 0;
    assign(ibv);
}

// ---- open ----

void aq_ibv_rings_limits(aq_ibv_conduit_t *ibv)
{
    aq_ibv_limits_t *limits = &ibv->limits;
    const uint64_t bytes = aq_settings_bytes(AQ_SET_AMRDMA_LIMIT);
    const size_t longest = AQ_IBV_BUFFER_BYTES - AQ_IBV_FOOTER_BYTES - 8;
    limits->ring_depth = (unsigned)aq_settings_bytes(AQ_SET_AMRDMA_DEPTH);
    limits->ring_cycle = (unsigned)aq_settings_bytes(AQ_SET_AMRDMA_CYCLE);
    limits->ring_bytes = aq_min(bytes, longest);
    limits->rings = (unsigned)aq_settings_int(AQ_SET_AMRDMA_MAX_PEERS);
    if (limits->rings > RINGS_MOST)
        limits->rings = RINGS_MOST;
    if (limits->rings > ibv->peers)
        limits->rings = ibv->peers;
    // What is written into a ring wakes no thread; and that one sleeps often.
    if (!limits->ring_bytes || !limits->ring_cycle ||
        (ibv->base.env->threads && aq_settings_bool(AQ_SET_RCV_THREAD)))
        limits->rings = 0;
}

bool aq_ibv_rings_open(aq_ibv_conduit_t *ibv, uint8_t **at)
{
    const size_t bytes = (size_t)ibv->limits.ring_depth * AQ_IBV_BUFFER_BYTES;
    if (!ibv->limits.rings)
        return true;
    ibv->rings_at = *at;
    ibv->rings = calloc(ibv->limits.rings, sizeof *ibv->rings);
    ibv->active_rings = calloc(ibv->limits.rings, sizeof *ibv->active_rings);
    for (unsigned i = 0; ibv->rings && i < ibv->limits.rings; i++, *at += bytes) {
        ibv->rings[i].bytes = *at;
        for (unsigned slot = 0; slot < ibv->limits.ring_depth; slot++)
            ibv->rings[i].slots[slot].ring = &ibv->rings[i];
    }
    return ibv->rings && ibv->active_rings;
}
