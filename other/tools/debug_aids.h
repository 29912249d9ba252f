// Help for people who look for faults: backtraces, and processes that wait for a
// debugger. Variables: GASNET_FREEZE, _ON_ERROR, _SIGNAL; GASNET_BACKTRACE, _NODES, _SIGNAL,
// _TYPE, _MT; GASNET_NO_CATCH_SIGNAL.
#ifndef AQ_DEBUG_AIDS_H
#define AQ_DEBUG_AIDS_H

#include <stdint.h>

// After the settings are loaded and the rank is known: freezes if asked to, and catches the signals
// that the settings name.
void aq_debug_start(uint32_t rank);

// On the way to a fatal end, with or without a job: backtrace and freeze where asked for. Safe in a
// signal handler as far as glibc's backtrace is.
void aq_debug_on_fault(void);

#endif
