// SPDX-License-Identifier: BSD-3-Clause
// Fuzzer of the readers of gasnet_view: of traffic matrices, and of traces. Invariants: a refusal
// says why, in one line; what is taken can be drawn and summed up.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <string.h>

#include "../../other/observe/input/view_csv.h"
#include "../../other/observe/analysis/view_numbers.h"
#include "../../other/observe/pages/view_page.h"
#include "../../other/observe/pages/view_picture.h"
#include "../../other/observe/draw/view_svg.h"
#include "../../other/observe/draw/view_text.h"
#include "../../other/observe/input/view_trace_read.h"
#include "fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {"input"};
static char why[512];

static void require_reason(bool taken)
{
    require(taken == (why[0] == '\0'));
    require(!strchr(why, '\n'));
}

static void sentence_check(const char *sentence, void *context)
{
    (void)context;
    require(strlen(sentence) > 0 && !strchr(sentence, '\n'));
}

static void matrix_fuzz(FILE *input, FILE *output)
{
    aq_view_matrix_t matrix = {.files = names};
    const bool taken = aq_view_csv_read(input, 0, &matrix, why, sizeof why) &&
                       aq_view_matrix_finish(&matrix, AQ_VIEW_LATEST, why, sizeof why);
    require_reason(taken);
    if (taken) {
        require(matrix.ranks <= AQ_VIEW_RANKS);
        (void)aq_view_matrix_check(&matrix, sentence_check, NULL);
        require(aq_view_svg_write(output, &matrix, AQ_VIEW_BYTES, "title"));
        require(aq_view_text_write(output, &matrix, AQ_VIEW_PUTS));
    }
    aq_view_matrix_free(&matrix);
}

static void trace_show(FILE *output, const aq_view_trace_t *trace)
{
    aq_view_findings_t findings = {0};
    aq_view_sheet_t sheet = {0};
    require(aq_view_findings_make(&findings, trace));
    aq_view_summarize(&sheet, &findings);
    require(!sheet.failed);
    const aq_view_page_t page = {&findings, &sheet, NULL, AQ_VIEW_BYTES, "title"};
    require(aq_view_page_write(output, &page));
    require(aq_view_picture_write(output, &findings, "title"));
    aq_view_sheet_text(output, &sheet);
    aq_otf2_numbers_t numbers;
    require(aq_otf2_numbers_make(&numbers, &findings));
    aq_otf2_numbers_free(&numbers);
    aq_view_sheet_free(&sheet);
    aq_view_findings_free(&findings);
}

static void trace_fuzz(FILE *input, FILE *output)
{
    aq_view_trace_t trace = {0};
    const bool taken = aq_view_trace_read(input, "input", &trace, why, sizeof why);
    require_reason(taken);
    if (taken && trace.ranks <= 4096) { // larger ones only take longer
        require(aq_view_trace_finish(&trace));
        trace_show(output, &trace);
    }
    aq_view_trace_free(&trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FILE *input = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
    FILE *output = fopen("/dev/null", "w");
    why[0] = '\0';
    if (input && output && *data == '[')
        trace_fuzz(input, output);
    else if (input && output)
        matrix_fuzz(input, output);
    if (input)
        (void)fclose(input);
    if (output)
        (void)fclose(output);
    return 0;
}
