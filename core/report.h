// When a signal arrives (GASNET_REPORT_SIGNAL), prints on standard error what this process waits
// for, to diagnose a job that hangs: a line for each thread that waits.
#ifndef AQ_REPORT_H
#define AQ_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "gasnetex_core.h"

// Mark the beginning of a wait of this thread for an event (or NULL) or for room to send to a rank
// (or -1), and its end.
void aq_report_wait(gex_Event_t event, int64_t room_to);
void aq_report_go_on(void);

// Adds the report of an upper layer. tell runs in a signal handler: it takes no locks and prints
// with aq_log_notice. At init; at most eight of them.
void aq_report_add(void (*tell)(void));

// Installs the handler of the signal unless the client has one.
void aq_report_start(void);

// Whether this signal asks for the report.
bool aq_report_has_signal(int number);

#endif
