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
#ifndef AQ_SMP_RING_H
#define AQ_SMP_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../core/conduit.h"

#define SMP_LINE 64

// First words of a message.
typedef struct smp_header {
    _Atomic uint64_t flag;
    uint32_t word;   // see smp_word
    uint32_t source; // job rank
} smp_header_t;

// Shared control of a ring; each field on a line of its own.
typedef struct smp_ring_control {
    _Alignas(SMP_LINE) _Atomic uint64_t tail;  // written by senders
    _Alignas(SMP_LINE) _Atomic uint64_t freed; // written by the receiver
} smp_ring_control_t;

// A sender's view of a peer's ring.
typedef struct smp_ring_out {
    smp_ring_control_t *control;
    char *lines;
    uint64_t count; // lines, a power of two
    uint64_t key;
    _Atomic uint64_t freed; // as last seen; saves a look at the peer's line
} smp_ring_out_t;

// The receiver's own state. head and released are guarded by the try-lock when there are threads.
typedef struct smp_ring_in {
    smp_ring_control_t *control;
    char *lines;
    uint64_t count, key;
    _Atomic uint64_t head;
    uint64_t released;
    _Atomic uint64_t told; // what freed says
    atomic_uint lock;
} smp_ring_in_t;

// A run of lines that a sender has taken.
typedef struct smp_run {
    uint64_t position;
    smp_header_t *header;
} smp_run_t;

static inline char *smp_line(char *lines, uint64_t count, uint64_t position)
{
    return lines + (position & (count - 1)) * SMP_LINE;
}

// Takes n lines (n <= count / 2); false when there is no room now. Any thread.
bool smp_ring_take(smp_ring_out_t *ring, uint64_t n, smp_run_t *run);

// Makes a taken run visible to the receiver: the message is written and may not be touched
// any more.
static inline void smp_ring_publish(const smp_ring_out_t *ring, const smp_run_t *run)
{
    atomic_store_explicit(&run->header->flag, run->position ^ ring->key, memory_order_release);
}

// Makes n taken lines from a position on into a message that the receiver skips.
void smp_ring_skip(const smp_ring_out_t *ring, uint64_t position, uint64_t n);

// Header of the message at a position of a peer's ring.
static inline smp_header_t *smp_ring_header(const smp_ring_out_t *ring, uint64_t position)
{
    return (smp_header_t *)(void *)smp_line(ring->lines, ring->count, position);
}

// Is there a message? Costs one load of a line that stays in this processor's cache.
static inline bool smp_ring_ready(smp_ring_in_t *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    smp_header_t *header = (smp_header_t *)(void *)smp_line(ring->lines, ring->count, head);
    return atomic_load_explicit(&header->flag, memory_order_acquire) == (head ^ ring->key);
}

// The same without the lock, while other threads receive: a hint, since the line may be in use
// again, for the payload of a message, when it is read. The thread sanitizer cannot know that this
// is meant.
#ifdef __SANITIZE_THREAD__
__attribute__((no_sanitize_thread))
#endif
static inline bool
smp_ring_peek(smp_ring_in_t *ring)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    smp_header_t *header = (smp_header_t *)(void *)smp_line(ring->lines, ring->count, head);
    return atomic_load_explicit(&header->flag, memory_order_relaxed) == (head ^ ring->key);
}

// Is there anything to do: a message, or lines of messages that are done and not given back yet? (A
// thread may have found the try-lock taken when its handler returned; senders may wait for just
// those lines.)
static inline bool smp_ring_busy(smp_ring_in_t *ring)
{
    return smp_ring_peek(ring) || atomic_load_explicit(&ring->told, memory_order_relaxed) !=
                                      atomic_load_explicit(&ring->head, memory_order_relaxed);
}

// Delivers up to budget messages, as replies or requests; returns how many.
unsigned smp_ring_receive(smp_ring_in_t *ring, unsigned budget, bool reply,
                          const aq_conduit_env_t *env);

#endif
