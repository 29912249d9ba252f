// SPDX-License-Identifier: BSD-3-Clause
// The stack of this thread, in the memory file of the rank, for a reader that has asked for it.
#pragma once

// From now on the report signal (report.h) writes the stack if a reader asks for it, with the
// handler of a message that runs in it. Loads what an unwinding needs, so that the first one in a
// handler of a signal allocates nothing.
void aq_report_stack_start(void);
