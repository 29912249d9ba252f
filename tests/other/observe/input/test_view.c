// SPDX-License-Identifier: BSD-3-Clause
// The reader of traffic matrices: what it takes, what it refuses, and sums.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../other/observe/input/view_csv.h"
#include "../../../../other/observe/draw/view_scale.h"
#include "../../../../other/observe/draw/view_svg.h"
#include "../../../../other/observe/draw/view_text.h"

// Of the first version, which lacks some columns.
#define TITLE                                                                                      \
    "from,to,from_host,to_host,request_shorts,request_mediums,request_longs,request_bytes,"        \
    "reply_shorts,reply_mediums,reply_longs,reply_bytes,puts,put_bytes,gets,get_bytes,atomics,"    \
    "arrived_requests,arrived_request_bytes,arrived_replies,arrived_reply_bytes,no_room,"          \
    "resent,snapshot\n"

static const char *const names[] = {"a.csv", "b.csv"};
static aq_view_matrix_t matrix;
static char why[512];

static void matrix_clear(void)
{
    aq_view_matrix_free(&matrix);
    matrix.files = names;
    why[0] = '\0';
}

static bool text_read(const void *text, size_t length, uint32_t index)
{
    FILE *stream = fmemopen((void *)(uintptr_t)text, length ? length : 1, "r");
    assert_non_null(stream);
    if (!length)
        (void)fgetc(stream); // there are no empty ones
    const bool read = aq_view_csv_read(stream, index, &matrix, why, sizeof why);
    fclose(stream);
    return read;
}

static bool matrix_read(const char *text, int64_t snapshot)
{
    matrix_clear();
    return text_read(text, strlen(text), 0) &&
           aq_view_matrix_finish(&matrix, snapshot, why, sizeof why);
}

static void refuse(const char *text, const char *sentence)
{
    assert_false(matrix_read(text, AQ_VIEW_LATEST));
    if (strstr(why, sentence) == NULL)
        fail_msg("'%s' lacks '%s'", why, sentence);
    assert_null(strchr(why, '\n'));
}

// ---- legal files ----

static const char two[] = TITLE "0,1,0,1,1,2,3,40,5,6,7,80,9,10,11,12,13,3,4,2,5,14,15,0\n" TITLE
                                "1,0,1,0,1,1,1,4,1,1,0,5,0,0,0,0,0,6,40,18,80,0,0,0\n";

static void test_values(void **state)
{
    (void)state;
    static const uint64_t expected[AQ_VIEW_WHATS] = {
        40 + 80 + 10 + 12, 24, 9, 11, 13, 0, 0, 0, 0, 14, 15};
    assert_true(matrix_read(two, AQ_VIEW_LATEST));
    assert_int_equal(matrix.ranks, 2);
    assert_int_equal(matrix.hosts, 2);
    assert_int_equal(matrix.host[1], 1);
    assert_true(matrix.at_end);
    const aq_view_line_t *line = aq_view_matrix_find(&matrix, 0, 1);
    assert_non_null(line);
    for (unsigned what = 0; what < AQ_VIEW_WHATS; what++)
        assert_int_equal(aq_view_value(line, (aq_view_what_t)what), expected[what]);
    assert_null(aq_view_matrix_find(&matrix, 1, 1));
}

// Column i has the number i, but for the snapshot.
static void test_all_columns(void **state)
{
    (void)state;
    static const uint64_t expected[AQ_VIEW_WHATS] = {7 + 11 + 13 + 15 + 18 + 20 + 22 + 24 + 26,
                                                     4 + 5 + 6 + 8 + 9 + 10,
                                                     12,
                                                     14,
                                                     16,
                                                     17 + 19,
                                                     21,
                                                     23,
                                                     25,
                                                     35,
                                                     36};
    static const char text[] = AQ_TRAFFIC_TITLE
        "\n0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,"
        "32,33,34,35,36,0\n";
    assert_true(matrix_read(text, AQ_VIEW_LATEST));
    for (unsigned what = 0; what < AQ_VIEW_WHATS; what++)
        assert_int_equal(aq_view_value(&matrix.lines[0], (aq_view_what_t)what), expected[what]);
    refuse("from,to,from_host,to_host,snapshot,puts,puts\n", "title is that of another version");
    refuse("from,to,from_host,snapshot\n", "title is that of another version");
    refuse("from,to,from_host,to_host,put,snapshot\n", "title is that of another version");
    assert_true(matrix_read("from,to,from_host,to_host,snapshot,gets\n0,1,0,0,0,6\n", 0));
    assert_int_equal(aq_view_value(&matrix.lines[0], AQ_VIEW_GETS), 6);
}

static void test_several_files(void **state)
{
    (void)state;
    matrix_clear();
    assert_true(text_read(two, strlen(two), 0));
    assert_true(text_read(two, strlen(two), 1));
    assert_false(aq_view_matrix_finish(&matrix, AQ_VIEW_LATEST, why, sizeof why));
    assert_non_null(strstr(why, "give only files of one job, and each of them once"));
}

#define REST "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
static void test_snapshots(void **state)
{
    (void)state;
    static const char text[] = TITLE "0,1,0,0," REST "1\n"
                                     "0,1,0,0," REST "2\n"
                                     "0,2,0,0," REST "2\n"
                                     "1,0,0,0," REST "0\n"
                                     "1,0,0,0," REST "1\n";
    assert_true(matrix_read(text, AQ_VIEW_LATEST));
    assert_int_equal(matrix.count, 3);
    assert_false(matrix.at_end);
    assert_int_equal(aq_view_matrix_find(&matrix, 0, 1)->column[AQ_TRAFFIC_SNAPSHOT], 2);
    assert_int_equal(aq_view_matrix_find(&matrix, 1, 0)->column[AQ_TRAFFIC_SNAPSHOT], 0);
    assert_true(matrix_read(text, 1));
    assert_int_equal(matrix.count, 2);
    assert_true(matrix_read(text, 0));
    assert_int_equal(matrix.count, 1);
    assert_true(matrix.at_end);
    assert_false(matrix_read(text, 3));
    assert_non_null(strstr(why, "no rank has written snapshot 3;"));
}

// ---- what disagrees ----

static void sentence_note(const char *sentence, void *context)
{
    strcat(strcat(context, sentence), "\n");
}

static void test_check(void **state)
{
    (void)state;
    char told[1024] = "";
    assert_true(matrix_read(two, AQ_VIEW_LATEST));
    assert_int_equal(aq_view_matrix_check(&matrix, sentence_note, told), 0);
    matrix.lines[1].column[AQ_TRAFFIC_ARRIVED_REQUESTS]--;
    matrix.lines[0].column[AQ_TRAFFIC_ARRIVED_REPLY_BYTES]++;
    assert_int_equal(aq_view_matrix_check(&matrix, sentence_note, told), 2);
    assert_string_equal(told, "rank 0 sent 6 requests to rank 1, of which 5 arrived\n"
                              "rank 1 sent 5 bytes of replies to rank 0, of which 6 arrived\n");
    matrix.lines[1].column[AQ_TRAFFIC_SNAPSHOT] = 1; // as if rank 1 had been killed
    assert_int_equal(aq_view_matrix_check(&matrix, sentence_note, told), 0);
}

// ---- what is refused ----

static void test_refused(void **state)
{
    (void)state;
    refuse("hello\n", "a.csv:1: this is not a traffic matrix");
    refuse("from,to,from_host\n", "a.csv:1: this title is that of another version; take");
    refuse(TITLE "from,to,more\n", "a.csv:2: this title is that of another version");
    refuse(TITLE, "no rank has written a line; ranks write at the end");
    refuse(TITLE "0,1,x,0," REST "0\n", "a.csv:2: the line is damaged: 24 numbers with commas "
                                        "between them are expected, and number 3 is 'x'");
    refuse(TITLE "0,1,0,0," REST "0,7\n", "number 24 is '0'");
    refuse(TITLE "0,1,0,0," REST "0", "number 24 is '0'");
    refuse(TITLE "0,1,0,0," REST "\n", "number 24 is ''");
    refuse(TITLE "\n", "a.csv:2: the line is damaged");
    refuse(TITLE "0,-1,0,0," REST "0\n", "number 2 is '-1'");
    refuse(TITLE "0,18446744073709551616,0,0," REST "0\n", "number 2 is '18446744073709551616'");
    refuse(TITLE "0,1048576,0,0," REST "0\n", "a.csv:2: rank 1048576 is out of range, since");
    refuse(TITLE "0,1,0,1048576," REST "0\n", "a.csv:2: host 1048576 is out of range, since");
    refuse(TITLE "0,1,0,0," REST "0\n0,1,0,0," REST "0\n",
           "ranks 0 and 1 have this line already at a.csv:");
    refuse(TITLE "0,1,0,0," REST "0\n1,0,1,0," REST "0\n",
           "a.csv:3: rank 1 is on host 1 here, and on host 0 in another line");
}

static void test_empty(void **state)
{
    (void)state;
    matrix_clear();
    assert_false(text_read("", 0, 0));
    assert_non_null(strstr(why, "a.csv"));
}

// A file that ends anywhere is read, or refused with a sentence; so is one with a wrong byte.
static void test_damaged(void **state)
{
    (void)state;
    char text[sizeof two];
    for (size_t length = 1; length < strlen(two); length++) {
        matrix_clear();
        assert_true(text_read(two, length, 0) || why[0]);
    }
    for (size_t at = 0; at < strlen(two); at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            matrix_clear();
            memcpy(text, two, sizeof text);
            text[at] = (char)(text[at] ^ (1 << bit));
            assert_true((text_read(text, strlen(two), 0) &&
                         aq_view_matrix_finish(&matrix, AQ_VIEW_LATEST, why, sizeof why)) ||
                        why[0]);
        }
}

// ---- pictures ----

static char *picture_make(aq_view_what_t what)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    assert_true(aq_view_svg_write(stream, &matrix, what, "<one & two>"));
    fclose(stream);
    return text;
}

static void test_picture(void **state)
{
    (void)state;
    assert_true(matrix_read(two, AQ_VIEW_LATEST));
    char *text = picture_make(AQ_VIEW_BYTES);
    assert_non_null(strstr(text, "&#60;one &#38; two&#62;</text>"));
    assert_non_null(strstr(text, ">142</text>"));
    assert_non_null(strstr(text, "rank 1 to rank 0: 9 B (9 bytes)"));
    assert_non_null(strstr(text, "host 1</text>"));
    assert_null(strstr(text, "each tile"));
    free(text);
    text = picture_make(AQ_VIEW_PUTS); // one pair, so the scale has one number
    assert_non_null(strstr(text, ">9</text>"));
    free(text);
}

static void test_tiles(void **state)
{
    (void)state;
    assert_true(matrix_read(TITLE "0,600,0,0," REST "0\n", AQ_VIEW_LATEST));
    matrix.lines[0].column[AQ_TRAFFIC_PUTS] = 5;
    char *text = picture_make(AQ_VIEW_PUTS);
    assert_non_null(strstr(text, "each tile is the sum of 4 x 4 ranks"));
    assert_non_null(strstr(text, "M150 0h1v1h-1z"));
    free(text);
    text = picture_make(AQ_VIEW_GETS); // nothing at all
    assert_non_null(strstr(text, "in all 0 gets"));
    free(text);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        uint64_t value;
        bool bytes, brief;
        const char *text;
    } rows[] = {{0, false, false, "0"},        {9999, false, false, "9999"},
                {10000, false, false, "10k"},  {1234567, false, false, "1.23M"},
                {1023, true, false, "1023 B"}, {1024, true, false, "1 KiB"},
                {1536, true, true, "1.5K"},    {1048576, true, false, "1 MiB"},
                {999999, false, false, "1M"},  {UINT64_MAX, true, false, "16 EiB"},
                {999400, false, true, "999k"}};
    char text[AQ_VIEW_TEXT];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(aq_view_number(rows[i].value, rows[i].bytes, rows[i].brief, text),
                            rows[i].text);
}

// Each colour is darker than the one before, so that prints without colours show the order.
static void test_colours(void **state)
{
    (void)state;
    double last = 1e9;
    for (unsigned level = 0; level < AQ_VIEW_LEVELS; level++) {
        const uint32_t colour = aq_view_colour(level);
        const double light =
            .2126 * (colour >> 16) + .7152 * (colour >> 8 & 255) + .0722 * (colour & 255);
        assert_true(light < last);
        last = light;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),        cmocka_unit_test(test_all_columns),
        cmocka_unit_test(test_several_files), cmocka_unit_test(test_snapshots),
        cmocka_unit_test(test_check),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_empty),         cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_picture),       cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_numbers),       cmocka_unit_test(test_colours)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    aq_view_matrix_free(&matrix);
    return failed;
}
