// SPDX-License-Identifier: BSD-3-Clause
// The jobs of this host, and through their launchers those of others, found by the memory files of
// their ranks, and what is known of one of them.
//
// A process that holds such a file has it among its descriptors, so one pass over /proc finds the
// jobs of this user, however they were started. No process is disturbed.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "job_remote.h"
#include "rank_reader.h"

// A rank of which a file was found.
typedef struct aq_watched_rank {
    int fd;
    ino_t inode;
    aq_seen_rank_t seen;
    pid_t pid, starter; // as this process sees them: not as in a container; 0: not seen
    bool damaged;       // the last reading failed
    char process;       // its state, a letter as in /proc/PID/stat; 'X': the process is gone
    uint64_t cpu;       // time that it has used, in ticks of the system
    uint32_t *loops;    // at the reading before, by place of the thread; see aq_watched_is_looping
    uint64_t counted[AQ_PEER_COUNTS], counted_before[AQ_PEER_COUNTS]; // to all ranks
    uint64_t own[AQ_OWN_COUNTS], own_before[AQ_OWN_COUNTS];           // of the rank itself
    uint64_t cpu_before;
    bool remote;         // its host sends what it does; then
    char remote_process; // this is its state
    uint64_t remote_cpu;
} aq_watched_rank_t;

typedef struct aq_watched_job {
    uint64_t number;
    uint32_t ranks;           // of the job, with its reserve and on all hosts
    aq_watched_rank_t **rank; // those that were found, ascending
    uint32_t found;
    uint64_t now, before; // time of the last two readings of counters; 0: none
    aq_remote_t *remote;  // the launcher, which knows ranks of other hosts; NULL: none
} aq_watched_job_t;

typedef struct aq_watch {
    aq_remote_t remote; // the launcher of the chosen job; without a descriptor: it is not there
    aq_watched_rank_t **all; // that were found
    size_t count;
    aq_watched_job_t *jobs;
    size_t job_count;
    bool is_part;        // there are more ranks than files that this process may open
    bool other_versions; // there was a file of another version:
    uint32_t version;    // this one
    pid_t version_pid;   // held by this process
} aq_watch_t;

// Looks for all jobs. Returns false if memory is out.
bool aq_watch_find(aq_watch_t *watch);
void aq_watch_free(aq_watch_t *watch);

// The job of a launcher that knows the ranks of several hosts, which are added to those that were
// found; NULL: the process is none. Waits for the hosts, two seconds at most, and before that for
// at most wait_ms while the launcher has too many readers.
aq_watched_job_t *aq_watch_launcher(aq_watch_t *watch, pid_t launcher, int wait_ms);
// Adds the ranks of other hosts to a job of which ranks are here, through its launcher, or its
// helper here. Returns the job, which may have moved.
aq_watched_job_t *aq_watch_extend(aq_watch_t *watch, aq_watched_job_t *job);

// job_choose.c: finds the job that a text names: the number of a process, of a rank or above one,
// or the name of a program; NULL: the only job. Returns NULL with a sentence in errbuf, which may
// be of several lines.
aq_watched_job_t *aq_watch_choose(aq_watch_t *watch, const char *text, char *errbuf,
                                  size_t errbuf_size);

// Reads all ranks of a job again; counts: their counters too.
void aq_watched_read(aq_watched_job_t *job, bool counts);

// Whether the process of a rank that was found is there.
static inline bool aq_watched_is_gone(const aq_watched_rank_t *rank)
{
    return rank->process == 'X';
}
static inline bool aq_watched_is_stopped(const aq_watched_rank_t *rank)
{
    return rank->process == 'T' || rank->process == 't';
}
// Whether a loop of the client has polled without finding anything between the last two readings.
bool aq_watched_is_looping(const aq_watched_rank_t *rank);
// Whether it does so now, by readings for up to 0.8 s. A process with one thread and a processor of
// its own counts such polls only after it was first asked for a stack.
bool aq_watched_loops_now(const aq_watched_job_t *job, const aq_watched_rank_t *rank);

// Reads the file of a rank of another host again; stack: its host first asks the rank for its
// stack, which is then in the file (rank_reader.h). Waits for two seconds at most.
aq_stack_result_t aq_watched_refresh(const aq_watched_job_t *job, const aq_watched_rank_t *rank,
                                     bool stack);

// A rank that knows the launcher, if one does: of the processes of a rendezvous on one host it is
// the one that leads there.
const aq_seen_rank_t *aq_watched_guide(const aq_watched_job_t *job);

// The rank with this number, or NULL: no file of it was found.
aq_watched_rank_t *aq_watched_find(const aq_watched_job_t *job, uint32_t rank);
