// SPDX-License-Identifier: BSD-3-Clause
// What each thread waits for, in the memory file of the rank (rank_head.h), where gasnet_top reads
// it. When a signal arrives (GASNET_REPORT_SIGNAL), the same is printed on standard error.
//
// A thread writes a word when it begins to wait, and another when it goes on. All else is written
// only once a wait has polled in vain for a while: when the wait began, when it polled last, and
// what is pending.
#ifndef AQ_REPORT_H
#define AQ_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "../other/observe/rank_file.h"
#include "gasnetex_core.h"

// Mark the beginning of a wait of this thread (aq_wait_word), for an event or NULL, and its end.
void aq_report_wait(uint64_t what, gex_Event_t event);
void aq_report_go_on(void);

// What a wait that nothing has marked waits for: an event that is not complete, which the wait may
// change in each turn, or NULL.
extern _Thread_local gex_Event_t aq_report_event __attribute__((tls_model("initial-exec")));

// The wait of this thread lasts, and has polled at this time. A wait that nothing has marked counts
// as one for aq_report_event, or else for a condition of the client, until aq_report_end_unmarked.
void aq_report_lasts(uint64_t now);
extern _Thread_local bool aq_report_unmarked __attribute__((tls_model("initial-exec")));
static inline void aq_report_end_unmarked(void)
{
    if (__builtin_expect(aq_report_unmarked, 0))
        aq_report_go_on();
}

// A loop of the client polls in vain.
void aq_report_loops(void);

// Adds the report of an upper layer. tell runs in a signal handler: it takes no locks and prints
// with aq_log_notice. At init; at most eight of them.
void aq_report_add(void (*tell)(void));

// Sets what a reader of the memory file asks for with AQ_STACK_ASKED; it writes the stack there. At
// init.
void aq_report_set_stack(void (*tell)(void));

// Installs the handler of the signal unless the client has one.
void aq_report_start(void);

// Whether this signal asks for the report.
bool aq_report_has_signal(int number);

// The first of the signals for which the handler is installed; 0: none.
int aq_report_signal(void);

#endif
