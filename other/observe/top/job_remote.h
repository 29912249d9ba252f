// SPDX-License-Identifier: BSD-3-Clause
// The ranks of other hosts, through the launcher of the job (look_format.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "rank_signal.h"

typedef struct aq_remote {
    int fd; // -1: there is no such launcher
    uint8_t *data;
    size_t used, room;
} aq_remote_t;

// A rank as its host has sent it. The head is not checked; its times are those of this host.
typedef struct aq_remote_rank {
    aq_rank_head_t *head;
    char process;
    uint64_t cpu;
    const uint8_t *own;    // AQ_OWN_COUNTS numbers of 8 bytes
    const uint8_t *counts; // `peers` times a rank and its counts, see aq_remote_count
    uint32_t peers;
} aq_remote_rank_t;
typedef void (*aq_remote_visit_t)(const aq_remote_rank_t *rank, void *context);

// Milliseconds to wait for a launcher that has too many readers.
#define AQ_REMOTE_WAIT_MS 2000

// Connects to the launcher with this process id. Waits for at most wait_ms. Returns false if there
// is none of this user that takes readers; root sees those of all users.
bool aq_remote_open(aq_remote_t *remote, pid_t launcher, int wait_ms);
// Connects to a helper on this host of the job with this number, through which the launcher
// answers. Waits for at most AQ_REMOTE_WAIT_MS. Returns false if there is none.
bool aq_remote_open_job(aq_remote_t *remote, uint64_t job);
void aq_remote_close(aq_remote_t *remote);

// Asks all hosts, and calls visit for each rank. Waits for hosts that do not answer for two seconds
// at most. *job: the number of the job. Returns false if the launcher is gone.
bool aq_remote_look(aq_remote_t *remote, aq_remote_visit_t visit, void *context, uint64_t *job);

// Asks for one rank; stack: its host first asks the rank for a stack. Calls visit if it is found.
// Waits for two seconds at most.
aq_stack_result_t aq_remote_look_at(aq_remote_t *remote, uint32_t rank, bool stack,
                                    aq_remote_visit_t visit, void *context);

// Writes a rank into a memory file, as the rank itself would have it; file -1: makes one. Returns
// the file, or -1.
int aq_remote_store(const aq_remote_rank_t *rank, int file);
