// SPDX-License-Identifier: BSD-3-Clause
// The summary of a trace, in tables.
#pragma once

#include "view_colls.h"
#include "view_messages.h"
#include "../draw/view_sheet.h"

// What the tables are made of.
typedef struct aq_view_findings {
    const aq_view_trace_t *trace;
    aq_view_colls_t colls;
    aq_view_messages_t messages;
} aq_view_findings_t;

// False: memory is out. Free them in any case.
bool aq_view_findings_make(aq_view_findings_t *findings, const aq_view_trace_t *trace);
void aq_view_findings_free(aq_view_findings_t *findings);

// Adds all tables; sheet->failed tells that memory is out.
void aq_view_summarize(aq_view_sheet_t *sheet, const aq_view_findings_t *findings);

// One part each, in this order.
void aq_view_tell_late(aq_view_sheet_t *sheet, const aq_view_findings_t *findings);
void aq_view_tell_paths(aq_view_sheet_t *sheet, const aq_view_findings_t *findings);
void aq_view_tell_messages(aq_view_sheet_t *sheet, const aq_view_findings_t *findings);
