// SPDX-License-Identifier: BSD-3-Clause
// The report on standard error when a signal arrives (GASNET_REPORT_SIGNAL): what each thread waits
// for (wait_mark.h), and what upper layers and conduits add.
#pragma once

#include <stdbool.h>

// Adds the report of an upper layer. tell runs in a signal handler: it takes no locks and prints
// with aq_log_notice. At init; at most eight of them.
void aq_report_add(void (*tell)(void));

// Sets the function that writes the stack to the memory file when a reader asks for it with
// AQ_STACK_REQUEST. At init.
void aq_report_set_stack(void (*tell)(void));

// Installs the handler of the signal unless the client has one.
void aq_report_start(void);

// Whether this signal asks for the report.
bool aq_report_has_signal(int number);

// The first of the signals for which the handler is installed; 0: none.
int aq_report_signal(void);
