// SPDX-License-Identifier: BSD-3-Clause
// The trace that GASNET_TRACE (or GASNET_TRACEFILE) asks for: what the threads of this process do,
// in rings of fixed memory, which each rank adds to a file when the job ends.
//
//     who does something ---> trace.c ---> ring of the thread ~~ exit ~~> trace_output.c ---> file
//     (am_recorded.c, am.c,   (what is     (trace_ring.c)                 (trace_clock.c: the clock
//     extended, conduits)     wanted)                                     that all ranks share)
//
// - A job without a trace pays nothing for messages and mapped memory: sends leave their fast way
//   only if a thread's records of ranks are not there (counters.h), handlers have no shape in the
//   fast dispatch, and inline puts and gets call the library, as with GASNET_TRAFFIC. Slower
//   operations test aq_tracing.what.
// - A message of the client travels with its number, as the first two arguments of a message to
//   AQ_HANDLER_TRACED (trace_message.h). Any rank understands that, whether it traces or not.
// - Adding an event waits for no other thread. A ring never grows: a new event replaces the oldest
//   one, and the ring counts those that it has replaced.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../other/base/modules/observed.h"
#include "trace_kinds.h"

// Categories of events, as bits.
enum {
    AQ_TRACE_AM = 1,
    AQ_TRACE_PUT = 2,
    AQ_TRACE_GET = 4,
    AQ_TRACE_ATOMIC = 8,
    AQ_TRACE_COLL = 16,
    AQ_TRACE_BARRIER = 32,
    AQ_TRACE_WAIT = 64,
    AQ_TRACE_NET = 128,
    AQ_TRACE_FIREHOSE = 256,
    AQ_TRACE_USER = 512,
    AQ_TRACE_FORCED = 1024, // messages of the client that no mask hides
    AQ_TRACE_RMA = AQ_TRACE_PUT | AQ_TRACE_GET | AQ_TRACE_ATOMIC,
    AQ_TRACE_ALL = 2 * AQ_TRACE_FORCED - 1,
    // Events whose end is the synchronization of a gex_Event_t.
    AQ_TRACE_SYNCED = AQ_TRACE_RMA | AQ_TRACE_COLL | AQ_TRACE_BARRIER,
};

// An event. A field that does not apply is 0.
typedef struct aq_trace_event {
    aq_traced_t kind;
    uint64_t begin; // from aq_trace_begin
    uint64_t end;   // 0: now
    uint32_t peer;  // job rank; of a collective: its sequence number in the team
    uint64_t bytes; // of a collective: see aq_trace_rooted
    uint64_t id; // of a message: its number, from 1; of a message on a stream: handler and number,
                 // 32 bits each; of an operation: see aq_trace_operation
    uint64_t team; // of a collective: id of the team; of a message with two sides: its tag; of a
                   // large one: its id; on a stream: that of the stream; of a put or get of vectors
                   // or strides: the number of its pieces
    uint8_t detail; // of a message: the client's handler; of an operation: a part (event.h)
} aq_trace_event_t;

// The bytes and the root of a collective share a number: [bytes][root + 1]; more bytes than fit
// count as the largest number that fits. root: a job rank, or AQ_OBSERVED_NO_PEER.
enum { AQ_TRACE_ROOT_BITS = 21 };
static inline uint64_t aq_trace_rooted(uint64_t bytes, uint32_t root)
{
    const uint64_t most = UINT64_MAX >> AQ_TRACE_ROOT_BITS;
    return (bytes < most ? bytes : most) << AQ_TRACE_ROOT_BITS | (uint32_t)(root + 1);
}
static inline uint32_t aq_trace_root(uint64_t rooted)
{
    return (uint32_t)(rooted & ((1u << AQ_TRACE_ROOT_BITS) - 1)) - 1;
}

// What each operation tests, in a cache line of its own, which is rarely written.
typedef struct aq_tracing {
    // The categories that this process traces now; 0 without a trace. The client may change it.
    _Alignas(64) _Atomic uint32_t what;
    // Whether the messages of the client carry numbers, for as long as the job lives.
    bool numbers;
    // Whether the client's inline puts, gets and atomics call the library, which traces them.
    bool calls_rma;
} aq_tracing_t;
extern aq_tracing_t aq_tracing;

// Whether this process traces one of these categories.
static inline bool aq_trace_wants(unsigned categories)
{
    return __builtin_expect(
        atomic_load_explicit(&aq_tracing.what, memory_order_relaxed) & categories, 0);
}

// Sets the rank of this process and the number of its host, after the settings are loaded and
// before the first event.
void aq_trace_place(uint32_t rank, uint32_t host);

// The time of this process's clock in nanoseconds, never 0.
uint64_t aq_trace_now(void);

// The begin of something in these categories: the time, or 0 if this process does not trace it.
static inline uint64_t aq_trace_begin(unsigned categories)
{
    return aq_trace_wants(categories) ? aq_trace_now() : 0;
}

// Adds an event to the ring of the calling thread. Any thread; does not block.
void aq_trace_add(const aq_trace_event_t *event) __attribute__((cold));

// Adds an event that has no duration, if the category is wanted.
void aq_trace_instant(unsigned category, aq_traced_t kind, uint32_t peer, uint64_t bytes)
    __attribute__((cold));

// As aq_trace_add, for an event whose end the caller adds later, in the same thread: for handlers,
// which may end the process. Returns what aq_trace_close takes.
uint64_t aq_trace_open(const aq_trace_event_t *event) __attribute__((cold));
void aq_trace_close(uint64_t opened) __attribute__((cold));
// Removes the event again.
void aq_trace_cancel(uint64_t opened) __attribute__((cold));

// Adds a put, get or atomic that began at `begin` and is started in full; begin 0: does nothing.
// event: the record of the gex_Event_t whose part `part` (event.h) counts the operation; NULL: it
// is complete.
void aq_trace_operation(aq_traced_t kind, uint64_t begin, uint32_t peer, uint64_t bytes,
                        const void *event, unsigned part) __attribute__((cold));
// An operation of several pieces.
typedef struct aq_trace_pieces {
    aq_traced_t kind;
    uint64_t begin;
    uint32_t peer;
    uint64_t bytes, pieces;
    const void *event;
    unsigned part;
} aq_trace_pieces_t;
void aq_trace_pieces(const aq_trace_pieces_t *what) __attribute__((cold));

// Adds the send, the receive, or the run of the handler, of a message with two sides or a large
// one, which began at `begin` and ends now; begin 0: does nothing. tag: of a large message, its id.
// number: of the message, among those of its kind from its sender to its receiver.
void aq_trace_two_sided(aq_traced_t kind, uint64_t begin, uint32_t peer, uint64_t bytes,
                        uint32_t tag, uint32_t number) __attribute__((cold));

// The same for a message on a stream. number: of the message, among those of the stream from the
// sender to the receiver. Of AQ_TRACED_STREAM_HANDLER: how many messages the handler got; peer
// AQ_OBSERVED_NO_PEER.
typedef struct aq_trace_stream {
    uint64_t stream;
    uint32_t peer, handler, number;
    uint64_t bytes;
} aq_trace_stream_t;
void aq_trace_on_stream(aq_traced_t kind, uint64_t begin, const aq_trace_stream_t *what)
    __attribute__((cold));

// Adds a collective, which an event of the client counts: a part of its record, as gex_Event_t, or
// NULL (GEX_EVENT_INVALID): it is complete. The sequence is the same at all ranks of the team.
// rooted: from aq_trace_rooted.
void aq_trace_collective(aq_traced_t kind, uint64_t begin, uint64_t team, uint32_t sequence,
                         uint64_t rooted, const void *event) __attribute__((cold));

// The client has synchronized these parts of an event, as bits (1u << part). implicit: the event is
// a record of implicit operations, which may have counted no traced one.
void aq_trace_sync(const void *event, unsigned parts, bool implicit) __attribute__((cold));

// Adds a wait of this thread that began at `begin` and has ended; begin 0: does nothing. peer: the
// rank to which there was no room, or AQ_OBSERVED_NO_PEER.
void aq_trace_waited(uint64_t begin, uint32_t peer) __attribute__((cold));

// The caller traces the wait of this thread itself, so wait_mark.c does not.
extern _Thread_local bool aq_trace_in_wait __attribute__((tls_model("initial-exec")));

// The next number of a message of this process.
uint64_t aq_trace_next_number(void) __attribute__((cold));

// Whether puts, gets and atomics of this process with itself are traced (GASNET_TRACELOCAL).
extern bool aq_trace_local;
