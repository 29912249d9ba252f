// SPDX-License-Identifier: BSD-3-Clause
// The counters of this process as text: GASNET_STATSFILE and its kin.
//
//     # counters of a job, a line for each: rank, name, value
//     3 request_shorts 12
//     3 note main.c:17: the second phase begins       from GASNETT_STATS_PRINTF
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Opens the file, at init. The first rank of the host that writes makes it, or warns.
void aq_stats_file_start(void);

// Whether this process writes such a file.
bool aq_stats_file_is_on(void);

// Adds the counters as they are now; with reset, later ones count from here on. Blocks for the file
// system. Any thread.
void aq_stats_file_dump(bool reset);

// Adds a message of the client.
void aq_stats_file_note(const char *file, unsigned line, const char *text, size_t length);

// The letters of GASNet's mask. The text belongs to this file, until the next
// aq_stats_file_set_mask.
const char *aq_stats_file_mask(void);
void aq_stats_file_set_mask(const char *mask);

// When this rank leaves the job; once: as aq_stats_file_dump.
void aq_stats_file_end(void);
