// Progress and waiting: who polls what, and when a waiting thread spins, yields or sleeps.
#ifndef AQ_PROGRESS_H
#define AQ_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

// Reads the settings; ranks_here: how many ranks compete for the processors of this host.
void aq_progress_start(uint32_t ranks_here);

// Delivers what has arrived and advances tasks; returns how much was done (0: nothing).
unsigned aq_progress_poll(void);

// The same for a loop around it that waits for something: after several of these in which nothing
// came, gives the processor away if there are not enough of them.
void aq_progress_poll_in_loop(void);

// The same from a sender that goes on: conduits may put it off, to send and receive more at once.
void aq_progress_poll_sending(void);

// Delivers replies only: for a wait inside a request's handler.
void aq_progress_poll_replies(void);

// One turn of such a wait: polls, and gives the processor away when the wait gets long.
void aq_progress_wait_replies(unsigned turns);

// Something that takes several polls (a barrier, a collective). turn returns true when it
// did something; it runs in one thread at a time, with no lock held but its own. Tasks are
// never removed.
typedef struct aq_task {
    bool (*turn)(struct aq_task *task);
    struct aq_task *next;
} aq_task_t;
void aq_progress_add(aq_task_t *task);

// Tasks get turns only while at least one has something to do: +1 when one begins to, -1 when it
// has done.
void aq_progress_busy(int change);

// Wakes threads of this process that sleep in a wait, after something was done that they may
// wait for.
void aq_progress_wake(void);

#endif
