// SPDX-License-Identifier: BSD-3-Clause
// Writes the events of a trace for the script of the page (view_page.html), as JSON.
#pragma once

#include <stdio.h>

#include "../analysis/view_summary.h"

enum { AQ_VIEW_EVENTS_MAX = 200000, AQ_VIEW_MESSAGES_MAX = 50000 }; // the longest ones

// False: memory is out.
bool aq_view_timeline_write(FILE *stream, const aq_view_findings_t *findings);
