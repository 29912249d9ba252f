// What this process is waiting for, told on standard error when a signal asks
// (GASNET_REPORT_SIGNAL): to look at a job that hangs.
//
// Of several threads that wait, the one that began last is told of.
#ifndef AQ_REPORT_H
#define AQ_REPORT_H

#include <stdint.h>

#include "gasnetex_core.h"

// A wait begins, for an event (else NULL) or for room to send to a rank (else -1); and it is over.
void aq_report_wait(gex_Event_t event, int64_t room_to);
void aq_report_go_on(void);

// A layer above adds what it knows. tell is called in a handler of a signal: it takes no locks and
// prints with aq_log_notice. At init; a few of them.
void aq_report_add(void (*tell)(void));

// Catches the signal, where the client has left it alone.
void aq_report_start(void);

#endif
