// SPDX-License-Identifier: BSD-3-Clause
// The memory file of a rank: what a rank shows of itself to observers of the job.
//
//     head: page 0: identity, teams | page 1: threads | page 2: a stack | (to AQ_RANK_HEAD_BYTES)
//     slots of counters, from head.slots.first on (core/record/peer_records.h)
//
// What is always true:
// - The process that starts a rank makes the file and keeps it open, so that it outlives the rank;
//   a rank that finds none makes its own. Readers find it as AQ_RANK_FILE_NAME in /proc/PID/fd.
// - Only the rank writes, but for the first three fields of the identity and the launcher, which
//   the starter writes. A reader maps the file for reading only. It may be damaged: nothing in it
//   is a pointer, and the reader checks each number and each text before it uses them
//   (rank_reader.c).
// - All words that change are written whole. What belongs together may be from two moments.
// - Times are nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#define AQ_RANK_FILE_NAME "aqueduct-rank"
#define AQ_RANK_FILE_MAGIC "AQRANK"

enum {
    AQ_RANK_FILE_VERSION = 4,
    AQ_RANK_HEAD_BYTES = 3 * 4096, // rounded up to a page of the system
    AQ_SHOWN_TEAMS = 40,           // further teams are not shown
    AQ_SHOWN_THREADS = 64,         // further threads share the places of the first ones
    AQ_SHOWN_CONDUITS = 2,
    AQ_SHOWN_FRAMES = 32,
};

// How far a rank has come.
typedef enum aq_stage {
    AQ_STAGE_STARTING, // it has not joined the job
    AQ_STAGE_RUNNING,
    AQ_STAGE_LEAVING, // it ends, or waits for the others to end
    AQ_STAGE_LEFT,
    AQ_STAGES
} aq_stage_t;

// What a thread waits for. In brackets: the number in the lower half of the word.
typedef enum aq_wait_kind {
    AQ_WAIT_NOTHING,    // it is not in a wait of the library
    AQ_WAIT_EVENT,      // operations; see pending; of several events, that of one
    AQ_WAIT_ROOM,       // room to send to a rank [job rank]
    AQ_WAIT_CONDITION,  // of the client (GASNET_BLOCKUNTIL)
    AQ_WAIT_COLLECTIVE, // a collective of a team; see team and call
    AQ_WAIT_RECEIVE,    // a message with two sides from a rank [job rank]
    AQ_WAIT_SEND,       // that a rank takes such a message [job rank]
    AQ_WAIT_RANK,       // an answer or an acknowledgement of a rank [job rank]
    AQ_WAIT_KINDS
} aq_wait_kind_t;
#define AQ_WAIT_NO_RANK UINT32_MAX // any rank, or several

static inline uint64_t aq_wait_word(aq_wait_kind_t kind, uint32_t number)
{
    return (uint64_t)kind << 32 | number;
}

// Collectives by name. 0: none.
typedef enum aq_shown_call {
    AQ_SHOWN_NONE,
    AQ_SHOWN_BARRIER,
    AQ_SHOWN_BROADCAST, // from here on in the order of aq_coll_kind_t (extended/coll/coll.h)
    AQ_SHOWN_TO_ONE,
    AQ_SHOWN_TO_ALL,
    AQ_SHOWN_SCATTER,
    AQ_SHOWN_GATHER,
    AQ_SHOWN_GATHER_ALL,
    AQ_SHOWN_EXCHANGE,
    AQ_SHOWN_SCAN,
    AQ_SHOWN_SCAN_EXCLUSIVE,
    AQ_SHOWN_NAMED_BARRIER, // gasnet_barrier_notify
    AQ_SHOWN_CALLS
} aq_shown_call_t;

typedef struct aq_shown_team {
    uint64_t id; // the same at all members; of the job: 0
    uint32_t rank, size;
    _Atomic uint32_t used;  // 1 + its place here; 0: there is no team
    _Atomic uint32_t calls; // collectives that this rank has begun
    _Atomic uint64_t last;  // the kinds of the last eight (aq_shown_call_t), the latest in byte 0
} aq_shown_team_t;
_Static_assert(sizeof(aq_shown_team_t) == 32, "two teams share a line of the cache");

// Numbers of operations that an event waits for, 10 bits each, at most 1023: gets, puts, messages,
// local completions, atomics, others (barriers, collectives).
enum { AQ_PENDING_KINDS = 6, AQ_PENDING_BITS = 10, AQ_PENDING_MAX = 1023 };

typedef struct aq_shown_thread {
    _Alignas(64) _Atomic uint64_t wait; // aq_wait_word
    // When the wait began, and when the thread last polled in it; 0: a moment ago. A thread that
    // waits for long and has not polled for long is in a handler, or does not run.
    _Atomic uint64_t since, polled;
    _Atomic uint64_t pending;
    _Atomic uint32_t team;  // of a collective: 1 + its place; 0: unknown
    _Atomic uint32_t call;  // its number in the team, modulo 65536
    _Atomic uint32_t tid;   // 0: no thread has been here
    _Atomic uint32_t loops; // empty polls of loops of the client, in 64s
    uint64_t spare;
} aq_shown_thread_t;
_Static_assert(sizeof(aq_shown_thread_t) == 64, "threads do not share lines of the cache");

// A stack that a reader has asked for with the report signal and the value AQ_STACK_REQUEST.
#define AQ_STACK_REQUEST 0x41715374
typedef struct aq_shown_stack {
    _Atomic uint32_t answers; // stacks so far; odd while one is written
    uint32_t tid;
    int32_t handler; // index of the handler that runs; -1: none
    uint32_t frames;
    char frame[AQ_SHOWN_FRAMES][120]; // "object+offset (function)", the innermost first
} aq_shown_stack_t;

// What a rank counts for another one, in a slot of each thread. Shorts of the most common way count
// in tables of their own behind the records (aq_slot_shorts), which spares sends the place of a
// record; readers add them to these.
typedef enum aq_peer_count {
    AQ_PEER_REQUEST_SHORT,
    AQ_PEER_REQUEST_MEDIUM,
    AQ_PEER_REQUEST_LONG,
    AQ_PEER_REPLY_SHORT,
    AQ_PEER_REPLY_MEDIUM,
    AQ_PEER_REPLY_LONG,
    AQ_PEER_PUT,
    AQ_PEER_GET,
    AQ_PEER_ATOMIC,
    AQ_PEER_REQUEST_BYTES,
    AQ_PEER_REPLY_BYTES,
    AQ_PEER_PUT_BYTES,
    AQ_PEER_GET_BYTES,
    AQ_PEER_VIS_PUT, // of vectors, indices and strides
    AQ_PEER_VIS_GET,
    AQ_PEER_SEND,   // messages with two sides, and large ones
    AQ_PEER_STREAM, // messages on streams
    AQ_PEER_COLL,   // messages and copies of collectives
    AQ_PEER_VIS_PUT_BYTES,
    AQ_PEER_VIS_GET_BYTES,
    AQ_PEER_SEND_BYTES,
    AQ_PEER_STREAM_BYTES,
    AQ_PEER_COLL_BYTES,
    AQ_PEER_COUNTS
} aq_peer_count_t;

// What came from a rank, counted only while the traffic matrix is on (core/record/traffic.h).
typedef enum aq_arrived {
    AQ_ARRIVED_REQUESTS,
    AQ_ARRIVED_REPLIES,
    AQ_ARRIVED_REQUEST_BYTES,
    AQ_ARRIVED_REPLY_BYTES,
    AQ_ARRIVED_SENDS,
    AQ_ARRIVED_SEND_BYTES,
    AQ_ARRIVED_STREAMS,
    AQ_ARRIVED_STREAM_BYTES,
    AQ_ARRIVED
} aq_arrived_t;

// Why messages to a rank were delayed.
typedef enum aq_trouble {
    AQ_TROUBLE_NO_ROOM, // operations that found no room at first: credits, ring or queue used up
    AQ_TROUBLE_RESENT,  // packets that were sent again
    AQ_TROUBLES
} aq_trouble_t;

typedef struct aq_peer_record {
    _Atomic uint64_t endpoint0[AQ_PEER_COUNTS]; // of operations on endpoint 0 of the process
    _Atomic uint64_t further[AQ_PEER_COUNTS];   // on its other endpoints
    _Atomic uint64_t arrived[AQ_ARRIVED];
    _Atomic uint64_t trouble[AQ_TROUBLES];
    uint64_t spare[8];
} aq_peer_record_t;
_Static_assert(sizeof(aq_peer_record_t) == 512, "records do not share lines of the cache");

// Tables of Shorts.
enum { AQ_SHORT_REQUESTS, AQ_SHORT_REPLIES, AQ_SHORT_TABLES };
static inline aq_peer_count_t aq_short_count(unsigned table)
{
    return table == AQ_SHORT_REQUESTS ? AQ_PEER_REQUEST_SHORT : AQ_PEER_REPLY_SHORT;
}

// What a thread counts of itself: one record, behind those of the ranks in its slot.
typedef enum aq_own_count {
    AQ_OWN_POLLS_FOUND, // polls that found something to do
    AQ_OWN_POLLS_EMPTY, // polls that found nothing, as far as a wait or a loop has lasted
    AQ_OWN_NO_ROOM,     // operations that found no room at first
    AQ_OWN_REFUSED,     // those of them that were refused, with GEX_FLAG_IMMEDIATE
    AQ_OWN_RESENT,      // packets that were sent again
    AQ_OWN_SLEEPS,      // sleeps in waits
    AQ_OWN_SLEEP_NS,    // nanoseconds asleep, which the waits contain
    AQ_OWN_WAIT_NS,     // nanoseconds of waits that have lasted and are over, by aq_wait_kind_t
    AQ_OWN_DROPPED = AQ_OWN_WAIT_NS + AQ_WAIT_KINDS, // by GASNETX_DROP_* (core/aqueduct.h)
    AQ_OWN_DROPS = 20,
    AQ_OWN_COUNTS = AQ_OWN_DROPPED + AQ_OWN_DROPS
} aq_own_count_t;

typedef struct aq_own_record {
    _Alignas(64) _Atomic uint64_t count[64]; // AQ_OWN_COUNTS are used
} aq_own_record_t;
_Static_assert((int)AQ_OWN_COUNTS <= 64 && sizeof(aq_own_record_t) == 512,
               "a slot grows by eight lines");

// A slot: records by rank | the record of the thread | tables of Shorts, by rank. Offsets and sizes
// in bytes.
static inline uint64_t aq_slot_own(uint64_t ranks)
{
    return ranks * sizeof(aq_peer_record_t);
}
static inline uint64_t aq_slot_shorts(uint64_t ranks, unsigned table)
{
    return aq_slot_own(ranks) + sizeof(aq_own_record_t) + table * ranks * sizeof(uint64_t);
}
static inline uint64_t aq_slot_used(uint64_t ranks)
{
    return aq_slot_shorts(ranks, AQ_SHORT_TABLES);
}

// A part of a slot, or of an array in it: from low on, below high.
typedef struct aq_slot_part {
    uint64_t low, high;
} aq_slot_part_t;

// The elements that a part of a slot contains, or begins or ends in, of an array of `count` that
// begins at `array`. None if low is not below high.
static inline aq_slot_part_t aq_slot_elements(aq_slot_part_t bytes, uint64_t array,
                                              uint64_t element_bytes, uint64_t count)
{
    const uint64_t low = bytes.low > array ? bytes.low - array : 0;
    const uint64_t high = bytes.high > array ? bytes.high - array : 0;
    const uint64_t end = (high + element_bytes - 1) / element_bytes;
    return (aq_slot_part_t){low / element_bytes, end < count ? end : count};
}

typedef struct aq_shown_conduit {
    char name[16];     // "": none
    char network[112]; // device, address or provider; "": there is nothing to say
} aq_shown_conduit_t;

// The slots of the counters.
typedef struct aq_shown_slots {
    uint64_t first, bytes; // where slot 0 begins, and the bytes of each
    _Atomic uint64_t used;
} aq_shown_slots_t;

// The launcher, which knows the ranks of all hosts (look_format.h).
typedef struct aq_shown_launcher {
    char host[64];
    int32_t pid; // 0: there is none
    // Of a job with several hosts and no launcher: the names of the others, with blanks between.
    char other_hosts[1020];
} aq_shown_launcher_t;

typedef struct aq_rank_head {
    char magic[8];
    uint32_t version;
    uint32_t starter_rank; // 1 + the rank, from the starter; 0: it made no file
    int32_t starter;       // process that started the rank; 0: the rank made the file
    int32_t pid;           // 0: the rank has not begun
    uint64_t job;          // the same at all ranks of a job; says nothing about its key
    uint32_t rank, ranks;  // of the job; ranks: with its reserve
    uint32_t host, signal; // index of the host; the report signal, 0: none
    uint64_t started;      // time of init
    uint64_t started_unix; // the same in seconds of the calendar
    char host_name[64], program[64];
    aq_shown_conduit_t conduit[AQ_SHOWN_CONDUITS];
    _Atomic uint32_t stage; // aq_stage_t
    uint32_t record_bytes;  // of a counter of a rank
    aq_shown_slots_t slots;
    _Atomic uint64_t stage_since;
    aq_shown_launcher_t launcher;
    uint8_t spare[4096 - 488 - 1088 - 32 * AQ_SHOWN_TEAMS];
    aq_shown_team_t team[AQ_SHOWN_TEAMS];
    aq_shown_thread_t thread[AQ_SHOWN_THREADS];
    union {
        aq_shown_stack_t stack;
        uint8_t stack_page[4096];
    };
} aq_rank_head_t;
_Static_assert(sizeof(aq_rank_head_t) == AQ_RANK_HEAD_BYTES, "the head has three pages");
_Static_assert(offsetof(aq_rank_head_t, thread) == 4096, "the threads have the second one");
_Static_assert(sizeof(aq_shown_stack_t) <= 4096, "the stack has a page");

// The bytes of the head in a file.
static inline size_t aq_rank_head_bytes(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (AQ_RANK_HEAD_BYTES + page - 1) / page * page;
}
