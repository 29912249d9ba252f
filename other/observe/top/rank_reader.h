// SPDX-License-Identifier: BSD-3-Clause
// Reads the memory file of a rank (rank_file.h), which may be damaged: what comes out of here is
// within its bounds, and texts have an end. One thread at a time.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../format/rank_file.h"

enum { AQ_SEEN_RANKS_MAX = 1 << 20, AQ_SEEN_LAST = 8 };

typedef struct aq_seen_team {
    uint64_t id;
    uint32_t rank, size; // rank below size
    uint32_t calls;
    uint8_t last[AQ_SEEN_LAST]; // below AQ_SHOWN_CALLS; the kinds of calls `calls`, `calls` - 1 ...
} aq_seen_team_t;

typedef struct aq_seen_thread {
    aq_wait_kind_t kind; // below AQ_WAIT_KINDS
    uint32_t rank;       // that it waits for, below `ranks` of the head; or AQ_WAIT_NO_RANK
    uint64_t since, polled;
    uint32_t pending[AQ_PENDING_KINDS];
    int team; // index in teams of the rank; -1: unknown
    uint32_t call;
    uint32_t tid, loops;
} aq_seen_thread_t;

// How long a thread has waited, or since it has last polled; 0: a moment.
uint64_t aq_seen_waited(const aq_seen_thread_t *thread, uint64_t now);
uint64_t aq_seen_unpolled(const aq_seen_thread_t *thread, uint64_t now);

// Texts have printable characters of UTF-8 only, '?' for others.
typedef struct aq_seen_rank {
    uint64_t job, started, started_unix, stage_since;
    uint32_t rank, ranks, host; // rank below ranks, host below ranks
    int32_t pid, starter;       // pid above 0
    int signal;                 // 0: none
    aq_stage_t stage;
    char host_name[64], program[64];
    aq_shown_launcher_t launcher;
    aq_shown_conduit_t conduit[AQ_SHOWN_CONDUITS];
    unsigned teams, threads;
    aq_seen_team_t team[AQ_SHOWN_TEAMS];
    aq_seen_thread_t thread[AQ_SHOWN_THREADS]; // those that are there
    uint32_t record_bytes;                     // not checked
    aq_shown_slots_t slots;                    // not checked
} aq_seen_rank_t;

typedef enum aq_read_result {
    AQ_READ_OK,
    AQ_READ_NOT_YET, // the rank has not begun
    AQ_READ_VERSION, // of another version of the library
    AQ_READ_DAMAGED
} aq_read_result_t;

// fd: of the file, open for reading. *version: what the file says, unless it is damaged.
aq_read_result_t aq_rank_read(int fd, aq_seen_rank_t *seen, uint32_t *version);

// Calls visit for each rank for which seen has counted something, with the sum of all threads and
// endpoints, in ascending order. Returns false if the file is damaged or memory is out.
typedef void (*aq_counts_visit_t)(uint32_t to, const uint64_t sum[AQ_PEER_COUNTS], void *context);
bool aq_rank_read_counts(int fd, const aq_seen_rank_t *seen, aq_counts_visit_t visit,
                         void *context);

// Fills in what all threads of the rank have counted of themselves. Returns false if the file is
// damaged.
bool aq_rank_read_own(int fd, const aq_seen_rank_t *seen, uint64_t sum[AQ_OWN_COUNTS]);

// A stack. Texts have an end.
typedef struct aq_seen_stack {
    uint32_t answers, tid;
    int handler; // -1: none; below 256
    uint32_t frames;
    char frame[AQ_SHOWN_FRAMES][sizeof(((aq_shown_stack_t *)0)->frame[0])];
} aq_seen_stack_t;
bool aq_rank_read_stack(int fd, aq_seen_stack_t *stack);
