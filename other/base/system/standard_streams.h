// SPDX-License-Identifier: BSD-3-Clause
// Descriptors 0 to 2 of a process that was started without them, as by a daemon. A socket that took
// such a number would get what the program prints.
#pragma once

// Opens /dev/null for each of the three that is closed; programs that they start inherit it. Call
// it before anything is opened and before threads start.
void aq_standard_streams_open(void);
