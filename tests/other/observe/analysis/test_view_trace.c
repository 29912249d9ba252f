// SPDX-License-Identifier: BSD-3-Clause
// The reader of traces: a small trace that is cut, or has a wrong byte, anywhere.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../other/observe/analysis/view_bins.h"
#include "../../../../other/observe/input/view_matrix_trace.h"
#include "../../../../other/observe/analysis/view_numbers.h"
#include "../../../../other/observe/pages/view_otf2.h"
#include "../../../../other/observe/pages/view_page.h"
#include "../../../../other/observe/pages/view_picture.h"
#include "../../../../other/observe/analysis/view_records.h"
#include "../../../../other/observe/analysis/view_times.h"
#include "../../../../other/observe/input/view_trace_read.h"

#define ORIGIN(rank)                                                                               \
    "{\"name\":\"aqueduct\",\"ph\":\"M\",\"ts\":0,\"pid\":" rank ",\"tid\":0,\"args\":{"           \
    "\"version\":1,\"rank\":" rank ",\"ranks\":2,\"host\":0,\"host_name\":\"h\","                  \
    "\"clock_error_ns\":7,\"events\":2,\"dropped\":0}},\n"
#define EVENT(rank, name, cat, rest)                                                               \
    "{\"name\":\"" name "\",\"cat\":\"" cat "\"," rest ",\"pid\":" rank ",\"tid\":1},\n"

static const char whole[] = "[\n" ORIGIN("0")
    EVENT("0", "put", "rma", "\"ph\":\"X\",\"ts\":5.5,\"dur\":2,\"args\":{\"to\":1,\"bytes\":8}")
        EVENT("0", "message", "am", "\"ph\":\"s\",\"id\":\"0.1.1\",\"ts\":9") EVENT(
            "0", "barrier", "coll",
            "\"ph\":\"X\",\"ts\":10,\"dur\":4,\"args\":{\"team\":0,\"sequence\":1}") ORIGIN("1")
            EVENT("1", "barrier", "coll",
                  "\"ph\":\"X\",\"ts\":6,\"dur\":8,\"args\":{\"team\":0,\"sequence\":1}")
                EVENT("1", "wait", "wait", "\"ph\":\"X\",\"ts\":7,\"dur\":7")
                    EVENT("1", "message", "am", "\"ph\":\"f\",\"id\":\"0.1.1\",\"ts\":9.25")
                        EVENT("1", "put", "rma", "\"ph\":\"b\",\"id\":\"3\",\"ts\":15")
                            EVENT("1", "put", "rma", "\"ph\":\"e\",\"id\":\"3\",\"ts\":15.5");

static aq_view_trace_t trace;
static char why[512];

static bool trace_read(const char *text, size_t length)
{
    aq_view_trace_free(&trace);
    why[0] = '\0';
    FILE *stream = fmemopen((void *)(uintptr_t)text, length, "r");
    assert_non_null(stream);
    const bool read = aq_view_trace_read(stream, "t.json", &trace, why, sizeof why);
    fclose(stream);
    assert_null(strchr(why, '\n'));
    assert_true(read == (why[0] == '\0'));
    return read && aq_view_trace_finish(&trace);
}

// ---- records ----

typedef struct seen {
    int64_t time;
    const aq_view_event_t *calls[64]; // that are open
    size_t depth, colls, records;
} seen_t;

static bool record_check(const aq_view_record_t *record, void *context)
{
    seen_t *seen = context;
    assert_true(record->time >= seen->time);
    seen->time = record->time;
    seen->records++;
    if (record->step == AQ_VIEW_ENTER) {
        assert_true(seen->depth < sizeof seen->calls / sizeof *seen->calls);
        seen->calls[seen->depth++] = record->event;
    }
    if (record->step == AQ_VIEW_LEAVE) {
        assert_true(seen->depth > 0);
        assert_ptr_equal(seen->calls[--seen->depth], record->event);
    }
    seen->colls += record->step == AQ_VIEW_COLL_BEGIN;
    assert_true(record->step != AQ_VIEW_COLL_END || seen->colls > 0);
    seen->colls -= record->step == AQ_VIEW_COLL_END;
    return true;
}

// Returns how many there are, of all threads.
static size_t records_check(void)
{
    size_t records = 0;
    for (size_t i = 0; i < trace.count;) {
        const size_t end = aq_view_thread_end(&trace, i);
        seen_t seen = {.time = INT64_MIN};
        assert_true(aq_view_records_pass(&trace, i, end, record_check, &seen));
        assert_int_equal(seen.depth, 0);
        assert_int_equal(seen.colls, 0);
        records += seen.records;
        i = end;
    }
    return records;
}

// ---- numbers for OTF2 ----

static void numbers_check(const aq_view_findings_t *findings)
{
    aq_otf2_numbers_t numbers;
    assert_true(aq_otf2_numbers_make(&numbers, findings));
    size_t events = 0;
    for (uint32_t i = 0; i < numbers.location_count; i++)
        events += numbers.locations[i].end - numbers.locations[i].first;
    assert_int_equal(events, trace.count);
    for (uint32_t rank = 0; rank < trace.ranks; rank++)
        if (numbers.member_of[rank] != AQ_VIEW_NO_RANK)
            assert_int_equal(numbers.locations[numbers.location_of[numbers.member_of[rank]]].rank,
                             rank);
    for (size_t i = 0; i < findings->colls.arrival_count; i++)
        assert_true(aq_otf2_communicator(&numbers, findings->colls.arrivals[i]->team) <=
                    numbers.team_count);
    aq_otf2_numbers_free(&numbers);
}

// ---- the trace ----

// Everything that is made of a trace.
static void all_make(void)
{
    aq_view_findings_t findings;
    aq_view_sheet_t sheet = {0};
    aq_view_matrix_t matrix = {0};
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    assert_true(aq_view_findings_make(&findings, &trace));
    aq_view_summarize(&sheet, &findings);
    assert_false(sheet.failed);
    assert_true(aq_view_matrix_of_trace(&matrix, &trace));
    const aq_view_page_t page = {&findings, &sheet, &matrix, AQ_VIEW_BYTES, "title"};
    aq_view_sheet_text(stream, &sheet);
    assert_true(aq_view_page_write(stream, &page));
    assert_true(aq_view_picture_write(stream, &findings, "title"));
    fclose(stream);
    assert_non_null(strstr(text, "</html>"));
    (void)records_check();
    numbers_check(&findings);
    free(text);
    aq_view_matrix_free(&matrix);
    aq_view_sheet_free(&sheet);
    aq_view_findings_free(&findings);
}

static void test_whole(void **state)
{
    (void)state;
    assert_true(trace_read(whole, strlen(whole)));
    assert_int_equal(trace.ranks, 2);
    assert_int_equal(trace.count, 8);
    assert_int_equal(trace.first[1], 3);
    assert_int_equal(trace.events[0].start, 0);
    assert_int_equal(trace.events[1].start, 3500);
    assert_int_equal(trace.events[6].length, 500); // the end is at the begin
    assert_int_equal(aq_view_trace_span(&trace), 10000);
    assert_int_equal(trace.origins[1].clock_error, 7);
    assert_false(trace.cut);
    all_make();
}

static void test_findings(void **state)
{
    (void)state;
    aq_view_findings_t findings;
    assert_true(trace_read(whole, strlen(whole)));
    assert_true(aq_view_findings_make(&findings, &trace));
    assert_int_equal(findings.colls.count, 1);
    assert_int_equal(findings.colls.colls[0].last->rank, 0);
    assert_int_equal(findings.colls.colls[0].lost, 4000);
    assert_int_equal(findings.messages.count, 1);
    assert_int_equal(aq_view_latency(&findings.messages.messages[0]), 250);
    assert_non_null(aq_view_messages_last(&findings.messages, 1, 3750, 3750));
    assert_null(aq_view_messages_last(&findings.messages, 1, 3751, 9000));
    assert_null(aq_view_messages_last(&findings.messages, 1, 0, 3749));
    assert_null(aq_view_messages_last(&findings.messages, 0, 0, 9000));
    aq_view_findings_free(&findings);
}

static void test_times(void **state)
{
    (void)state;
    aq_view_times_t times;
    assert_true(trace_read(whole, strlen(whole)));
    assert_true(aq_view_times_of(&trace, 1, 1, 500, 10000, &times));
    assert_int_equal(times.ns[AQ_VIEW_IN_COLL], 7000);
    assert_int_equal(times.ns[AQ_VIEW_PROGRAM], 2500);
    assert_true(aq_view_times_of(&trace, 1, 1, 2000, 3000, &times)); // a part of the wait
    assert_int_equal(times.ns[AQ_VIEW_IN_COLL], 1000);
    assert_int_equal(times.ns[AQ_VIEW_PROGRAM], 0);
    assert_true(aq_view_times_of(&trace, 0, 1, 0, 9000, &times)); // this rank has no waits
    assert_int_equal(times.ns[AQ_VIEW_ACCESS], 2000);
    aq_view_times_t other;
    assert_true(aq_view_times_of(&trace, 0, AQ_VIEW_ALL_THREADS, 0, 9000, &other));
    assert_memory_equal(&times, &other, sizeof times);
    assert_true(aq_view_times_of(&trace, 0, 7, 0, 9000, &other)); // there is no such thread
    assert_int_equal(other.ns[AQ_VIEW_PROGRAM], 0);
    assert_int_equal(times.ns[AQ_VIEW_IN_COLL], 4000);
}

// A collective and a call that cross, and calls that end after the one around them.
static void test_records(void **state)
{
    (void)state;
    static const char text[] =
        "[\n" ORIGIN("0") EVENT("0", "barrier", "coll", "\"ph\":\"X\",\"ts\":0,\"dur\":5")
            EVENT("0", "handler 1", "am", "\"ph\":\"X\",\"ts\":4,\"dur\":9")
                EVENT("0", "wait", "wait", "\"ph\":\"X\",\"ts\":2,\"dur\":6")
                    EVENT("0", "step", "user", "\"ph\":\"i\",\"ts\":8")
                        EVENT("0", "put", "rma", "\"ph\":\"X\",\"ts\":8,\"dur\":0");
    aq_view_findings_t findings;
    aq_view_bins_t bins;
    assert_true(trace_read(text, strlen(text)));
    assert_int_equal(records_check(), 9);
    assert_true(aq_view_findings_make(&findings, &trace));
    assert_true(aq_view_bins_make(&bins, &trace));
    assert_int_equal(bins.rows, 1);
    assert_int_equal(bins.columns, AQ_VIEW_COLUMNS_MAX);
    assert_int_equal(bins.span, 13000); // the handler goes on, but is drawn until its wait ends
    assert_int_equal(bins.kinds[0], AQ_VIEW_PROGRAM);
    assert_int_equal(bins.kinds[1100 * 3 / 13], AQ_VIEW_IN_COLL);
    assert_int_equal(bins.kinds[1100 * 7 / 13], AQ_VIEW_HANDLER);
    assert_int_equal(bins.kinds[1100 * 9 / 13], AQ_VIEW_NOTHING);
    aq_view_bins_free(&bins);
    aq_view_findings_free(&findings);
}

// A file that ends anywhere is read, or refused with a sentence; so is one with a wrong byte.
static void test_cut(void **state)
{
    (void)state;
    for (size_t length = 1; length < strlen(whole); length++)
        if (trace_read(whole, length))
            all_make();
}

static int entry_remove(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type, (void)at;
    return remove(path);
}

// An archive is written of a trace that is cut anywhere, at some of the lengths.
static void test_archives(void **state)
{
    (void)state;
#ifndef AQ_HAVE_OTF2
    skip();
#endif
    for (size_t length = 1; length < strlen(whole); length += 13) {
        char directory[] = "otf2-XXXXXX";
        aq_view_findings_t findings;
        if (!trace_read(whole, length))
            continue;
        assert_non_null(mkdtemp(directory));
        assert_true(aq_view_findings_make(&findings, &trace));
        assert_true(aq_view_otf2_write(&findings, directory));
        assert_int_equal(nftw(directory, entry_remove, 4, FTW_DEPTH | FTW_PHYS), 0);
        aq_view_findings_free(&findings);
    }
}

static void test_wrong_bytes(void **state)
{
    (void)state;
    static const char wrong[] = {'\0', '\n', '"', '}', '-', '9', 'x', '\xff'};
    char text[sizeof whole];
    for (size_t at = 0; at < strlen(whole); at++)
        for (size_t i = 0; i < sizeof wrong; i++) {
            memcpy(text, whole, sizeof text);
            text[at] = wrong[i];
            if (trace_read(text, strlen(whole)) && at % 8 == 0)
                all_make();
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),      cmocka_unit_test(test_findings),
        cmocka_unit_test(test_times),      cmocka_unit_test(test_records),
        cmocka_unit_test(test_cut),        cmocka_unit_test(test_archives),
        cmocka_unit_test(test_wrong_bytes)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    aq_view_trace_free(&trace);
    return failed;
}
