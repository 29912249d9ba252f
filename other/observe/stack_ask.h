// Asks a rank for the stack of a thread, by its report signal (GASNET_REPORT_SIGNAL).
#ifndef AQ_STACK_ASK_H
#define AQ_STACK_ASK_H

#include "job_watch.h"

// Not of a rank of another host or in a container. Of the thread that has not polled for longest in
// a wait, else of the first one. Waits for a moment. Returns false if the rank has no handler for
// the signal, or does not answer. The signal interrupts a system call of the client, as any signal
// does.
bool aq_stack_ask(aq_watched_rank_t *rank, aq_seen_stack_t *stack);

#endif
