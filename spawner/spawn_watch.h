// What a rank watches that PMIx or PMI-2 started, with a thread that sleeps: the launcher, with
// which all ranks end, and where the launcher does not do it itself, the rank behind this one on
// the same host, in a ring. A rank that ends without having left the job ends the job.
#ifndef AQ_SPAWN_WATCH_H
#define AQ_SPAWN_WATCH_H

#include <sys/types.h>

#include "boot_page.h"

typedef struct aq_watch {
    aq_boot_page_t *page;
    uint32_t rank, next; // next: whom to watch; the same as rank: nobody
    pid_t next_pid;
    int lifeline; // a descriptor that hangs up when the launcher is gone; -1: none
    void (*end_job)(int code, const char *why); // asks the launcher for it; may return
} aq_watch_t;

// Starts the thread, which lives as long as the process. It is silent once this rank has left
// (state AQ_RANK_FINALIZED of the page); else it logs what happened and ends the process. Logs a
// fault.
aq_status_t aq_watch_start(const aq_watch_t *watch);

#endif
