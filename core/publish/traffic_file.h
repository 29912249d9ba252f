// SPDX-License-Identifier: BSD-3-Clause
// The traffic matrix that GASNET_TRAFFIC asks for: what each rank sent to each other one, and what
// arrived of it, as lines of a file (traffic_format.h), which all ranks add to when the job ends,
// and when a signal arrives (GASNET_TRAFFIC_SIGNAL).
#pragma once

// Opens the file, at init, and catches the signals. The first rank of each host makes it, or warns
// if it cannot be written. Call it after aq_report_start.
void aq_traffic_start(void);

// Adds the lines of this rank, when it leaves the job; once. Blocks for the file system.
void aq_traffic_write(void);
