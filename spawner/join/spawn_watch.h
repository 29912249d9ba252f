// SPDX-License-Identifier: BSD-3-Clause
// The watch of a rank that PMIx or PMI-2 started: a sleeping thread. All ranks end when the
// launcher ends. Where the launcher does not watch the ranks, each rank also watches the next rank
// of its host, in a ring. A rank that ends without leaving the job ends the job.
#pragma once

#include <sys/types.h>

#include "../boot/boot_page.h"

typedef struct aq_watch {
    aq_boot_page_t *page;
    uint32_t rank, next; // next: the rank to watch; same as rank: none
    pid_t next_pid;
    int lifeline; // a descriptor that hangs up when the launcher ends; -1: none
    void (*end_job)(int code, const char *why); // asks the launcher to end the job; may return
} aq_watch_t;

// Starts the thread, which lives as long as the process. Once this rank has left (state
// AQ_RANK_FINALIZED in the page), the thread does nothing; until then it logs what happened and
// ends the process. Logs a fault.
aq_status_t aq_watch_start(const aq_watch_t *watch);
