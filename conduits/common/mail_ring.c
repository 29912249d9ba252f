// SPDX-License-Identifier: BSD-3-Clause
// Takes slots for the sends of mailbox.c, and delivers messages for its polls: one function for
// processes with one thread, and one with a try-lock for all others.
#include "mail_ring.h"

#include "../../core/record/counters.h"
#include "../../core/ground/fatal.h"

static inline void prefetch_to_write(const aq_ring_header_t *line)
{
#ifdef __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(*line)); // the compiler's own gives a plain prefetch
#else
    __builtin_prefetch(line, 1);
#endif
}

#define DONE (~(uint64_t)0) // flag ^ DONE: the handler has returned

atomic_uint aq_ring_sent;

// ---- sender ----

static bool room_for(aq_ring_out_t *ring, uint64_t end)
{
    if (end - atomic_load_explicit(&ring->freed, memory_order_acquire) <= ring->count)
        return true;
    uint64_t freed = atomic_load_explicit(&ring->control->freed, memory_order_acquire);
    atomic_store_explicit(&ring->freed, freed, memory_order_release);
    return end - freed <= ring->count;
}

// The slots to leave out at the tail, so that a message of n slots begins with a cache line.
static inline uint64_t gap_at(uint64_t tail, uint64_t n)
{
    return n > 1 ? tail & 1 : 0;
}

// The slots to leave out before the end of the ring if the message would cross it; the receiver
// skips them.
static inline uint64_t pad_at(const aq_ring_out_t *ring, uint64_t tail, uint64_t n)
{
    const uint64_t rest = ring->count - (tail & (ring->count - 1));
    return rest < gap_at(tail, n) + n ? rest : 0;
}

bool aq_ring_take(aq_ring_out_t *ring, uint64_t n, aq_ring_run_t *run)
{
    uint64_t tail = atomic_load_explicit(&ring->control->tail, memory_order_relaxed);
    uint64_t pad, gap, end;
    do {
        pad = pad_at(ring, tail, n);
        gap = pad ? 0 : gap_at(tail, n);
        end = tail + pad + gap + n;
        if (!room_for(ring, end))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&ring->control->tail, &tail, end,
                                                    memory_order_acquire, memory_order_relaxed));
    aq_ring_arrives();
    if (pad) {
        const aq_ring_run_t rest = aq_ring_run_at(ring, tail, 0);
        aq_ring_skip(ring, &rest, pad);
    }
    // Prefetches the line after the next one: a stream of messages then finds its lines in the
    // cache, without disturbing the receiver, which polls the next line.
    prefetch_to_write(aq_ring_at(ring->slots, ring->count, end + 2));
    run->position = end - n;
    run->gap = gap ? AQ_RING_GAP : 0;
    run->header = aq_ring_at(ring->slots, ring->count, run->position);
    return true;
}

void aq_ring_skip(const aq_ring_out_t *ring, const aq_ring_run_t *run, uint64_t n)
{
    run->header->descriptor = aq_ring_descriptor(0, 0, AQ_RING_SKIP, n);
    aq_ring_publish(ring, run);
}

// ---- receiver ----

static inline aq_ring_header_t *header_at(aq_ring_in_t *ring, uint64_t position)
{
    return aq_ring_at(ring->slots, ring->count, position);
}

static void watch_set(aq_watched_t *watch, const aq_ring_header_t *at, uint64_t flag)
{
    atomic_store_explicit(&watch->word, &at->flag, memory_order_relaxed);
    atomic_store_explicit(&watch->awaited, flag, memory_order_relaxed);
}

void aq_ring_watch(aq_ring_in_t *ring)
{
    const uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    const uint64_t gap = head & 1 ? AQ_RING_GAP : 0, next = head + (head & 1);
    if (!ring->watch)
        return;
    watch_set(&ring->watch[0], header_at(ring, head), head ^ ring->key);
    watch_set(&ring->watch[1], header_at(ring, next), next ^ gap ^ ring->key);
}

// Makes the next poll read the ring: a watch whose word is its own awaited value always matches.
static void watch_call(aq_ring_in_t *ring)
{
    if (ring->watch)
        atomic_store_explicit(&ring->watch->word, &ring->watch->awaited, memory_order_relaxed);
}

// Checks that the destination of a Long is in a segment of this process, whether the payload is
// copied from the ring or the sender has written it. A sender that has this memory mapped could
// write anywhere in it; that cannot be checked here.
static void check_long(const aq_conduit_env_t *env, uint32_t source, const aq_ring_long_t *body,
                       size_t in_ring)
{
    if (__builtin_expect(in_ring > body->nbytes || !env->segment_holds(body->dest, body->nbytes),
                         0))
        aq_fatal("a Long of rank %u (%llu bytes to %p) is not inside a segment of this process",
                 source, (unsigned long long)body->nbytes, body->dest);
}

// A separate function, so that delivering a Short saves no registers for it.
static __attribute__((noinline)) void deliver_long(const aq_conduit_env_t *env,
                                                   aq_arrival_t *arrival)
{
    aq_ring_long_t *body = arrival->payload;
    check_long(env, arrival->source, body, arrival->nbytes);
    if (arrival->nbytes) // the payload is in the ring
        memcpy(body->dest, body + 1, arrival->nbytes);
    arrival->nbytes = body->nbytes;
    arrival->payload = body->dest;
    env->deliver(arrival);
}

// Separate for the same reason.
static __attribute__((noinline)) void deliver_large(const aq_conduit_env_t *env,
                                                    aq_arrival_t *arrival, aq_ring_header_t *header)
{
    arrival->payload = aq_ring_large_payload(header, arrival->nargs);
    env->deliver(arrival);
}

static void deliver_message(aq_ring_header_t *header, uint32_t descriptor,
                            const aq_conduit_env_t *env, bool reply)
{
    const unsigned nargs = aq_ring_descriptor_nargs(descriptor);
    const size_t nbytes = aq_ring_descriptor_nbytes(descriptor);
    aq_arrival_t arrival = {
        .args = aq_ring_args(header),
        .payload = aq_ring_body(header, nargs, nbytes),
        .nbytes = nbytes,
        .source = header->source,
        .category = (uint8_t)aq_ring_descriptor_category(descriptor),
        .handler = (uint8_t)aq_ring_descriptor_handler(descriptor),
        .nargs = (uint8_t)nargs,
        .reply = reply,
    };
    if (arrival.category == AQ_AM_LONG)
        deliver_long(env, &arrival);
    else if (__builtin_expect(nbytes >= AQ_RING_LARGE, 0))
        deliver_large(env, &arrival, header);
    else
        env->deliver(&arrival);
}

// Lets senders reuse the slots before `released`, when enough have gathered or the ring is empty.
static inline void tell_senders(aq_ring_in_t *ring, bool empty)
{
    uint64_t news = ring->released - atomic_load_explicit(&ring->published, memory_order_relaxed);
    if (news >= (empty ? 1 : ring->count / 8)) {
        atomic_store_explicit(&ring->published, ring->released, memory_order_relaxed);
        atomic_store_explicit(&ring->control->freed, ring->released, memory_order_release);
    }
}

// With one thread: needs no lock, and a message is finished when its handler has returned.
unsigned aq_ring_receive_single(aq_ring_in_t *ring, unsigned budget, bool reply,
                                const aq_conduit_env_t *env)
{
    unsigned done = 0;
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed), position;
    bool ready;
    while ((ready = aq_ring_find(ring, head, 0, &position)) && done < budget) {
        if (done) // the slots of the last message are released below
            tell_senders(ring, false);
        aq_ring_header_t *header = header_at(ring, position);
        const uint32_t descriptor = header->descriptor;
        head = position + aq_ring_descriptor_slots(descriptor);
        atomic_store_explicit(&ring->head, head, memory_order_relaxed);
        if (aq_ring_descriptor_category(descriptor) != AQ_RING_SKIP) {
            deliver_message(header, descriptor, env, reply);
            done++;
        }
        ring->released = head;
    }
    aq_cell_add(&ring->messages, done);
    aq_ring_watch(ring);
    tell_senders(ring, !ready);
    return done;
}

static bool ring_lock(aq_ring_in_t *ring)
{
    return !atomic_load_explicit(&ring->lock, memory_order_relaxed) &&
           !atomic_exchange_explicit(&ring->lock, 1, memory_order_acquire);
}

static void ring_unlock(aq_ring_in_t *ring)
{
    atomic_store_explicit(&ring->lock, 0, memory_order_release);
}

// With the lock held: gives back the slots of finished messages, in order.
static void release_done(aq_ring_in_t *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed), position;
    while (ring->released < head && aq_ring_find(ring, ring->released, DONE, &position))
        ring->released = position + aq_ring_descriptor_slots(header_at(ring, position)->descriptor);
    tell_senders(ring, ring->released == head);
}

bool aq_ring_is_idle(aq_ring_in_t *ring)
{
    if (!ring_lock(ring))
        return false;
    release_done(ring);
    const bool idle = !aq_ring_ready(ring);
    ring_unlock(ring);
    return idle;
}

// The message that a thread is handling: where it begins, with the gap before it; its header; its
// end. All zero: none.
typedef struct held {
    uint64_t begin, position, end;
} held_t;

static void mark_done(aq_ring_in_t *ring, const held_t *held)
{
    const uint64_t gap = held->begin != held->position ? AQ_RING_GAP : 0;
    atomic_store_explicit(&header_at(ring, held->position)->flag,
                          held->position ^ gap ^ ring->key ^ DONE, memory_order_release);
}

// With the lock held: gives back a message whose handler has returned if it is the oldest, else
// marks it. Avoids writing its line, since the sender needs it next.
static void settle_held(aq_ring_in_t *ring, held_t *held)
{
    if (held->end) {
        if (ring->released == held->begin)
            ring->released = held->end;
        else
            mark_done(ring, held);
        held->end = 0;
    }
    release_done(ring);
}

// With the lock held: takes the next message for this thread; returns false if there is none.
static bool claim_next(aq_ring_in_t *ring, held_t *held)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed), position;
    while (aq_ring_find(ring, head, 0, &position)) {
        const uint32_t descriptor = header_at(ring, position)->descriptor;
        *held = (held_t){head, position, position + aq_ring_descriptor_slots(descriptor)};
        head = held->end;
        atomic_store_explicit(&ring->head, head, memory_order_relaxed);
        if (aq_ring_descriptor_category(descriptor) != AQ_RING_SKIP) {
            aq_cell_add(&ring->messages, 1);
            return true;
        }
        settle_held(ring, held);
    }
    return false;
}

// Finishes the held message and takes the next one, if there is one and no other thread holds the
// lock.
static bool receive_next(aq_ring_in_t *ring, held_t *held, bool more)
{
    if (!ring_lock(ring)) {
        if (held->end)
            mark_done(ring, held);
        held->end = 0;
        watch_call(ring); // the thread with the lock may not give back these slots
        return false;
    }
    settle_held(ring, held);
    bool found = more && claim_next(ring, held);
    if (!found)
        aq_ring_watch(ring);
    ring_unlock(ring);
    return found;
}

unsigned aq_ring_receive_shared(aq_ring_in_t *ring, unsigned budget, bool reply,
                                const aq_conduit_env_t *env)
{
    unsigned done = 0;
    held_t held = {0, 0, 0};
    bool more = done < budget; // the caller has just seen a message
    while (receive_next(ring, &held, more)) {
        aq_ring_header_t *header = header_at(ring, held.position);
        deliver_message(header, header->descriptor, env, reply);
        done++;
        more = done < budget && aq_ring_peek(ring);
    }
    return done;
}
