// A message ring: many senders, one receiving process, in memory that all of them share.
//
//      lines of 64 bytes; positions count lines and never wrap, their low bits are the place
//
//          released          head                     tail
//             |  handlers run  |   waiting             |
//      ...----[=====][====]....[=====][==][=========]--.--.--.--...
//                              ^ flag, header, arguments, payload: one run of lines
//
// - A sender takes lines by moving tail (compare and swap), writes the message, and last the flag
//   in its first line. So a message of one line moves one line between the processors.
// - The flag of a message at position p is p ^ key. What lies there before is the flag of an older
//   message or the payload of one; the key is random and 64 bits long, so that no payload is taken
//   for a flag.
// - A run never crosses the end of the ring: the sender fills the rest with a message that is
//   skipped. A message is at most half the ring.
// - The receiver claims a message by moving head, runs the handler on the payload in place, then
//   gives its lines back, in order. With several threads, head and released move under a try-lock,
//   handlers run without it, and a message done before an older one is marked (flag ^ DONE).
// - Senders see only `freed`, which follows released with some delay, to keep its line
//   from travelling.
#ifndef AQ_MAIL_RING_H
#define AQ_MAIL_RING_H

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
    char *lines;
    uint64_t count; // lines, a power of two
    uint64_t key;
    _Atomic uint64_t freed; // last value read; saves reading the peer's line
} aq_ring_out_t;

// The receiver's own state. head and released are guarded by the try-lock when there are threads.
typedef struct aq_ring_in {
    aq_ring_control_t *control;
    char *lines;
    uint64_t count, key;
    _Atomic uint64_t head;
    uint64_t released;
    _Atomic uint64_t published; // the last value written to freed
    _Atomic uint64_t messages;  // how many were taken in all; guarded as head
    atomic_uint lock;
} aq_ring_in_t;

// A run of lines that a sender has taken.
typedef struct aq_ring_run {
    uint64_t position;
    aq_ring_header_t *header;
} aq_ring_run_t;

static inline char *aq_ring_line(char *lines, uint64_t count, uint64_t position)
{
    return lines + (position & (count - 1)) * AQ_RING_LINE;
}

// Takes n lines (n <= count / 2); false when there is no room now. Any thread.
bool aq_ring_take(aq_ring_out_t *ring, uint64_t n, aq_ring_run_t *run);

// What a thread did before it sent a message happens before what another thread of its process does
// after the answer: the process that answers orders the two. The thread sanitizer sees one process
// at a time and would report a race, so its build counts the messages that leave and reads the
// count when one arrives. Other builds do nothing.
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
// afterwards.
static inline void aq_ring_publish(const aq_ring_out_t *ring, const aq_ring_run_t *run)
{
    aq_ring_leaves();
    atomic_store_explicit(&run->header->flag, run->position ^ ring->key, memory_order_release);
}

// Turns n taken lines from a position on into a message that the receiver skips.
void aq_ring_skip(const aq_ring_out_t *ring, uint64_t position, uint64_t n);

// Header of the message at a position of a peer's ring.
static inline aq_ring_header_t *aq_ring_header(const aq_ring_out_t *ring, uint64_t position)
{
    return (aq_ring_header_t *)(void *)aq_ring_line(ring->lines, ring->count, position);
}

// Whether there is a message. Costs one load of a line that stays in this processor's cache.
static inline bool aq_ring_ready(aq_ring_in_t *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    aq_ring_header_t *header =
        (aq_ring_header_t *)(void *)aq_ring_line(ring->lines, ring->count, head);
    return atomic_load_explicit(&header->flag, memory_order_acquire) == (head ^ ring->key);
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
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    aq_ring_header_t *header =
        (aq_ring_header_t *)(void *)aq_ring_line(ring->lines, ring->count, head);
    return atomic_load_explicit(&header->flag, memory_order_relaxed) == (head ^ ring->key);
}

// Whether there is work: a message, or finished messages whose lines are not given back yet. (A
// thread may have found the try-lock taken when its handler returned, and senders may wait for
// exactly those lines.)
static inline bool aq_ring_busy(aq_ring_in_t *ring)
{
    return aq_ring_peek(ring) || atomic_load_explicit(&ring->published, memory_order_relaxed) !=
                                     atomic_load_explicit(&ring->head, memory_order_relaxed);
}

// Delivers up to budget messages, as replies or requests; returns how many. The first function is
// for a process in which one thread at a time receives, the second for any.
unsigned aq_ring_receive_alone(aq_ring_in_t *ring, unsigned budget, bool reply,
                               const aq_conduit_env_t *env);
unsigned aq_ring_receive_shared(aq_ring_in_t *ring, unsigned budget, bool reply,
                                const aq_conduit_env_t *env);

static inline unsigned aq_ring_receive(aq_ring_in_t *ring, unsigned budget, bool reply,
                                       const aq_conduit_env_t *env)
{
    return env->threads ? aq_ring_receive_shared(ring, budget, reply, env)
                        : aq_ring_receive_alone(ring, budget, reply, env);
}

#endif
