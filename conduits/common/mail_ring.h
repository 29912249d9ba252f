// SPDX-License-Identifier: BSD-3-Clause
// A message ring: many senders, one receiving process, in memory that all of them share.
//
//      slots of 32 bytes, two in a line of the cache; positions count slots and never wrap, their
//      low bits are the place
//
//          released          head                     tail
//             |  handlers run  |   waiting             |
//      ...----[=====][====]....[=====][==][=========]--.--.--.--...
//                              ^ flag, header, arguments, payload: one run of slots
//
// - A sender takes slots by moving tail (compare and swap), writes the message, and last the flag
//   in its first slot. Two messages of one slot move one line between the processors.
// - The flag of a message at position p is p ^ key. What lies there before is the flag of an older
//   message or the payload of one; the key is random and 64 bits long, so that no payload is taken
//   for a flag.
// - A message of several slots begins with a line, so that no more lines move than it fills. If the
//   tail is in the middle of a line, its second half is left out, which the flag shows (^ GAP).
// - A run never crosses the end of the ring: the sender fills the rest with a message that is
//   skipped. A message is at most half the ring.
// - The receiver claims a message by moving head, runs the handler on the payload in place, then
//   gives its slots back, in order. With several threads, head and released move under a try-lock,
//   handlers run without it, and a message done before an older one is marked (flag ^ DONE).
// - Senders see only `freed`, which follows released with some delay, to keep its line
//   from travelling.
// - A flag is stored with release and loaded with acquire, so the message comes before it. So are
//   `freed`, a sender's copy of it, and marks: reading a message comes before writing its slots
//   again, by whichever sender. The order needs nothing of tail, which only hands out positions
//   (tests/model/weak_mail.pml).
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../core/conduit.h"
#include "mail_message.h"

// Shared control of a ring; each field on a line of its own.
typedef struct aq_ring_control {
    _Alignas(AQ_RING_LINE) _Atomic uint64_t tail;  // written by senders
    _Alignas(AQ_RING_LINE) _Atomic uint64_t freed; // written by the receiver
} aq_ring_control_t;

// A sender's view of a peer's ring.
typedef struct aq_ring_out {
    aq_ring_control_t *control;
    char *slots;
    uint64_t count; // of slots, a power of two
    uint64_t key;
    _Atomic uint64_t freed; // last value read; saves reading the peer's line
} aq_ring_out_t;

// The receiver's own state. head and released are guarded by the try-lock when there are threads.
typedef struct aq_ring_in {
    _Alignas(AQ_RING_LINE) aq_ring_control_t *control;
    char *slots;
    uint64_t count, key;
    _Atomic uint64_t head;
    uint64_t released;
    _Atomic uint64_t published; // the last value written to freed
    _Atomic uint64_t messages;  // how many were taken in all; guarded as head
    atomic_uint lock;
    aq_watched_t *watch; // two, of the conduit, for the message at head; NULL: none
} aq_ring_in_t;

// Marks the flag of a message whose sender has left out the slot before it.
#define AQ_RING_GAP ((uint64_t)1 << 62)

// A run of slots that a sender has taken.
typedef struct aq_ring_run {
    uint64_t position;
    uint64_t gap; // AQ_RING_GAP or 0
    aq_ring_header_t *header;
} aq_ring_run_t;

static inline aq_ring_header_t *aq_ring_at(char *slots, uint64_t count, uint64_t position)
{
    return (aq_ring_header_t *)(void *)(slots + (position & (count - 1)) * AQ_RING_SLOT);
}

static inline aq_ring_run_t aq_ring_run_at(const aq_ring_out_t *ring, uint64_t position,
                                           uint64_t gap)
{
    return (aq_ring_run_t){position, gap, aq_ring_at(ring->slots, ring->count, position)};
}

// Takes n slots (n <= count / 2); false when there is no room now. Any thread.
bool aq_ring_take(aq_ring_out_t *ring, uint64_t n, aq_ring_run_t *run);

// What a thread did before it sent a message happens before what another thread of its process does
// after the answer, or in slots that were given back: the process that receives orders the two. The
// thread sanitizer sees one process at a time and would report a race, so its build counts the
// messages that leave and reads the count where a flag is read and where slots are taken. Other
// builds do nothing.
extern atomic_uint aq_ring_sent;
static inline void aq_ring_leaves(void)
{
#ifdef __SANITIZE_THREAD__
    atomic_fetch_add_explicit(&aq_ring_sent, 1, memory_order_release);
#endif
}
static inline void aq_ring_arrives(void)
{
#ifdef __SANITIZE_THREAD__
    (void)atomic_load_explicit(&aq_ring_sent, memory_order_acquire);
#endif
}

// Makes a taken run visible to the receiver. The message is complete and must not be touched
// afterwards. The thread sanitizer does not look at the flag: another thread may write there once
// the receiver, in another process, has given the slots back.
#ifdef __SANITIZE_THREAD__
__attribute__((no_sanitize_thread))
#endif
static inline void
aq_ring_raise_flag(const aq_ring_out_t *ring, const aq_ring_run_t *run)
{
    atomic_store_explicit(&run->header->flag, run->position ^ run->gap ^ ring->key,
                          memory_order_release);
}
static inline void aq_ring_publish(const aq_ring_out_t *ring, const aq_ring_run_t *run)
{
    aq_ring_leaves();
    aq_ring_raise_flag(ring, run);
}

// Turns a taken run of n slots into a message that the receiver skips.
void aq_ring_skip(const aq_ring_out_t *ring, const aq_ring_run_t *run, uint64_t n);

static inline uint64_t aq_ring_flag(const aq_ring_in_t *ring, uint64_t position)
{
    const aq_ring_header_t *at = aq_ring_at(ring->slots, ring->count, position);
    const uint64_t flag = atomic_load_explicit(&at->flag, memory_order_acquire);
    aq_ring_arrives();
    return flag;
}

// Finds the message that begins at a position, or after a gap there. mark: of its flag. The line
// stays in this processor's cache until a sender writes to it.
static inline bool aq_ring_find(const aq_ring_in_t *ring, uint64_t from, uint64_t mark,
                                uint64_t *position)
{
    *position = from;
    if (aq_ring_flag(ring, from) == (from ^ ring->key ^ mark))
        return true;
    *position = from + 1;
    return from & 1 &&
           aq_ring_flag(ring, from + 1) == ((from + 1) ^ AQ_RING_GAP ^ ring->key ^ mark);
}

// Whether there is a message.
static inline bool aq_ring_ready(const aq_ring_in_t *ring)
{
    uint64_t position;
    return aq_ring_find(ring, atomic_load_explicit(&ring->head, memory_order_relaxed), 0,
                        &position);
}

// As aq_ring_ready, without the lock while other threads receive. The result is a hint, since the
// line may already be reused for the payload of a message. The thread sanitizer cannot know that
// this is intended.
#ifdef __SANITIZE_THREAD__
__attribute__((no_sanitize_thread))
#endif
static inline bool
aq_ring_peek(aq_ring_in_t *ring)
{
    const uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    const aq_ring_header_t *at = aq_ring_at(ring->slots, ring->count, head);
    const aq_ring_header_t *next = aq_ring_at(ring->slots, ring->count, head + 1);
    return atomic_load_explicit(&at->flag, memory_order_relaxed) == (head ^ ring->key) ||
           (head & 1 && atomic_load_explicit(&next->flag, memory_order_relaxed) ==
                            ((head + 1) ^ AQ_RING_GAP ^ ring->key));
}

// Whether there is work: a message, or finished messages whose slots are not given back yet. (A
// thread may have found the try-lock taken when its handler returned, and senders may wait for
// exactly those slots.)
static inline bool aq_ring_busy(aq_ring_in_t *ring)
{
    return aq_ring_peek(ring) || atomic_load_explicit(&ring->published, memory_order_relaxed) !=
                                     atomic_load_explicit(&ring->head, memory_order_relaxed);
}

// Gives back the slots of finished messages, under the lock, and returns whether the ring is empty
// then. False also if another thread has the lock, because that thread may have looked before a
// message came.
bool aq_ring_is_idle(aq_ring_in_t *ring);

// Points the watches to where the next message begins: head or, after a gap, the next line.
void aq_ring_watch(aq_ring_in_t *ring);

// Delivers up to budget messages, as replies or requests; returns how many. The first function is
// for a process in which one thread at a time receives, the second for any.
unsigned aq_ring_receive_single(aq_ring_in_t *ring, unsigned budget, bool reply,
                                const aq_conduit_env_t *env);
unsigned aq_ring_receive_shared(aq_ring_in_t *ring, unsigned budget, bool reply,
                                const aq_conduit_env_t *env);
