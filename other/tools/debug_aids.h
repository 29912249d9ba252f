// SPDX-License-Identifier: BSD-3-Clause
// Debugging aids: backtraces, and processes that wait for a debugger. Variables: GASNET_FREEZE,
// _ON_ERROR, _SIGNAL; GASNET_BACKTRACE, _NODES, _SIGNAL, _TYPE, _MT; GASNET_NO_CATCH_SIGNAL.
#pragma once

#include <stdint.h>

// Call it after the settings are loaded and the rank is known: waits for a debugger if requested,
// and installs handlers for the signals that the settings name.
void aq_debug_start(uint32_t rank);

// Called before a fatal end, with or without a job: prints a backtrace and waits for a debugger, if
// requested. As safe in a signal handler as glibc's backtrace.
void aq_debug_on_fault(void);
