// SPDX-License-Identifier: BSD-3-Clause
// Points at which a tracer of the system (bpftrace, SystemTap, perf) may look at a process, listed
// in gasnet_probes(7). A probe is one instruction that does nothing, and a note in the file of the
// program or library that says where its arguments are; a build without sys/sdt.h has none.
//
// Ranks are job ranks; `rank` is that of this process, the others are peers. No probe is on the
// path of a put or get that is a copy in mapped memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

// The macros of sys/sdt.h give no argument for "...", which C does not allow before C23.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

#ifdef HAVE_SYS_SDT_H
#define SDT_USE_VARIADIC 1
#include <sys/sdt.h>
#define AQ_PROBE(...) STAP_PROBEV(aqueduct, __VA_ARGS__)
#else
#define AQ_PROBE(...) ((void)0)
#endif

// Returns the same value, in a register: the note would refer to a global variable by its symbol,
// which tracers do not resolve.
static inline uint32_t aq_probe_value(uint32_t value)
{
#ifdef HAVE_SYS_SDT_H
    __asm__("" : "+r"(value));
#endif
    return value;
}

// A message of the client is about to be sent. category: 0 Short, 1 Medium, 2 Long.
static inline void aq_probe_message_send(uint32_t to, uint8_t handler, uint8_t category,
                                         uint8_t reply, size_t bytes)
{
    AQ_PROBE(message_send, to, handler, category, reply, bytes);
    (void)to, (void)handler, (void)category, (void)reply, (void)bytes;
}

// The handler of a message is about to run, and has returned. A handler that sends to its own rank
// contains the handler that it starts.
static inline void aq_probe_handler_start(uint32_t from, uint8_t handler, uint8_t reply,
                                          size_t bytes)
{
    AQ_PROBE(handler_start, from, handler, reply, bytes);
    (void)from, (void)handler, (void)reply, (void)bytes;
}
static inline void aq_probe_handler_end(void)
{
    AQ_PROBE(handler_end);
}

// A put (get: 0) or get (get: 1) begins in the library; the last one of this thread, which blocks,
// is complete.
static inline void aq_probe_rma_start(uint32_t rank, uint8_t get, uint32_t to, size_t bytes)
{
    AQ_PROBE(rma_start, aq_probe_value(rank), get, to, bytes);
    (void)rank, (void)get, (void)to, (void)bytes;
}
static inline void aq_probe_rma_end(void)
{
    AQ_PROBE(rma_end);
}

// A thread begins a wait, and ends it. kind and number are the halves of the aq_wait_word
// (other/observe/format/rank_file.h) that says what it waits for.
static inline void aq_probe_wait_start(uint32_t rank, uint32_t kind, uint32_t number)
{
    AQ_PROBE(wait_start, aq_probe_value(rank), kind, number);
    (void)rank, (void)kind, (void)number;
}
static inline void aq_probe_wait_end(void)
{
    AQ_PROBE(wait_end);
}

// A barrier or collective of a team begins in this rank, and is complete here; the thread that
// detects the completion passes the second probe. kind: aq_shown_call_t
// (other/observe/format/rank_file.h); sequence: among the barriers, or among the collectives, of
// the team. rank: the result of aq_probe_value, not a global variable.
static inline void aq_probe_collective_start(uint32_t rank, uint64_t team, uint32_t kind,
                                             uint32_t sequence, uint32_t root, size_t bytes)
{
    AQ_PROBE(collective_start, rank, team, kind, sequence, root, bytes);
    (void)rank, (void)team, (void)kind, (void)sequence, (void)root, (void)bytes;
}
static inline void aq_probe_collective_end(uint32_t rank, uint64_t team, uint32_t kind,
                                           uint32_t sequence)
{
    AQ_PROBE(collective_end, rank, team, kind, sequence);
    (void)rank, (void)team, (void)kind, (void)sequence;
}

// An operation finds no room: credits, ring or queue are used up.
static inline void aq_probe_no_room(uint32_t rank, uint32_t to)
{
    AQ_PROBE(no_room, aq_probe_value(rank), to);
    (void)rank, (void)to;
}

// The first communication with a rank, by a conduit of this name.
static inline void aq_probe_connect(uint32_t rank, uint32_t to, const char *conduit)
{
    AQ_PROBE(connect, aq_probe_value(rank), to, conduit);
    (void)rank, (void)to, (void)conduit;
}

// A packet is sent again, since it may be lost.
static inline void aq_probe_resend(uint32_t rank, uint32_t to)
{
    AQ_PROBE(resend, aq_probe_value(rank), to);
    (void)rank, (void)to;
}

// The firehose cache gives up pinned memory, to pin other memory.
static inline void aq_probe_evict(size_t bytes)
{
    AQ_PROBE(evict, bytes);
    (void)bytes;
}

#ifdef __clang__
#pragma clang diagnostic pop
#endif
