// SPDX-License-Identifier: BSD-3-Clause
// Tuning files of collectives: which section a job takes, and what is no tuning file.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <stdio.h>
#include <string.h>

#include "../../../extended/coll/coll_tuning.h"

static aq_coll_limits_t limits;
static char why[256];

static aq_tuning_result_t parse(const char *text, const char *conduit, uint32_t ranks)
{
    memset(&limits, 0xff, sizeof limits);
    memset(why, 0, sizeof why);
    return aq_coll_tuning_parse(text, strlen(text), (aq_tuning_job_t){conduit, ranks}, &limits, why,
                                sizeof why);
}

static void assert_defaults(void)
{
    assert_memory_equal(&limits, &aq_coll_fallbacks, sizeof limits);
}

// ---- the table ----

static void test_rows(void **state)
{
    (void)state;
    const aq_coll_limit_row_t *row;
    unsigned count = 0;
    assert_memory_equal(&aq_coll_limits, &aq_coll_fallbacks, sizeof aq_coll_limits);
    for (; (row = aq_coll_limit_at(count)) != NULL; count++) {
        const uint32_t fallback = aq_coll_limit_get(&aq_coll_fallbacks, row);
        assert_true(row->low <= fallback && fallback <= row->high);
        assert_int_equal(row->offset, count * sizeof(uint32_t));
    }
    assert_int_equal(count * sizeof(uint32_t), sizeof limits);
}

// ---- legal files ----

static const char several[] = "aqueduct-tuning 1\n"
                              "# one for each situation\n"
                              "\n"
                              "[smp ranks 4]\n"
                              "post-bytes 640   # a reason\n"
                              "tree-across\t3\r\n"
                              "[udp ranks 2]\n"
                              "part-bytes 4096\n"
                              "  [smp ranks 16]  \n"
                              "post-bytes 0x40\n"
                              "[smp ranks 2]\n"
                              "post-bytes 100\n"
                              "post-bytes 200";

static void test_sections(void **state)
{
    (void)state;
    static const struct {
        uint32_t ranks, bytes, width;
    } cases[] = {{2, 200, 2}, {3, 200, 2}, {4, 640, 3}, {15, 640, 3}, {16, 64, 2}, {900, 64, 2}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(several, "smp", cases[i].ranks), AQ_TUNING_FOUND);
        assert_int_equal(limits.post.bytes, cases[i].bytes);
        assert_int_equal(limits.tree.across, cases[i].width);
        assert_int_equal(limits.part_bytes, aq_coll_fallbacks.part_bytes);
    }
    assert_int_equal(parse(several, "udp", 2), AQ_TUNING_FOUND);
    assert_int_equal(limits.part_bytes, 4096);
    assert_int_equal(limits.post.bytes, aq_coll_fallbacks.post.bytes);
}

static void test_no_section(void **state)
{
    (void)state;
    assert_int_equal(parse(several, "smp", 1), AQ_TUNING_NONE);
    assert_string_equal(why, "it has no section for conduit smp and 1 ranks or fewer");
    assert_defaults();
    assert_int_equal(parse(several, "mpi", 64), AQ_TUNING_NONE);
    assert_int_equal(parse("aqueduct-tuning 1\n", "smp", 4), AQ_TUNING_NONE);
    assert_defaults();
}

// The last one of two sections for the same number counts, and starts from the defaults.
static void test_twice(void **state)
{
    (void)state;
    assert_int_equal(parse("aqueduct-tuning 1\n[smp ranks 2]\npost-bytes 1\ntree-small 9\n"
                           "[smp ranks 2]\npost-bytes 2\n",
                           "smp", 2),
                     AQ_TUNING_FOUND);
    assert_int_equal(limits.post.bytes, 2);
    assert_int_equal(limits.tree.small, aq_coll_fallbacks.tree.small);
}

// Every limit can have both ends of its range.
static void test_ends(void **state)
{
    (void)state;
    const aq_coll_limit_row_t *row;
    for (unsigned i = 0; (row = aq_coll_limit_at(i)) != NULL; i++)
        for (unsigned high = 0; high < 2; high++) {
            char text[256];
            const uint32_t value = high ? row->high : row->low;
            snprintf(text, sizeof text, "aqueduct-tuning 1\n[x ranks 1]\n%s %u\n", row->name,
                     value);
            assert_int_equal(parse(text, "x", 1), AQ_TUNING_FOUND);
            assert_int_equal(aq_coll_limit_get(&limits, row), value);
            snprintf(text, sizeof text, "aqueduct-tuning 1\n[x ranks 1]\n%s %lld\n", row->name,
                     (long long)value + (high ? 1 : -1));
            assert_int_equal(parse(text, "x", 1), AQ_TUNING_BAD);
            assert_non_null(strstr(why, row->name));
            assert_defaults();
        }
}

// ---- what is no tuning file ----

static void test_bad(void **state)
{
    (void)state;
#define HEAD "aqueduct-tuning 1\n[smp ranks 2]\npost-bytes 7\n"
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "its first line is not 'aqueduct-tuning 1', so it is no tuning file"},
        {"\naqueduct-tuning 1\n", "its first line is not 'aqueduct-tuning 1', so"},
        {"#!/bin/sh\n", "its first line is not 'aqueduct-tuning 1', so"},
        {"aqueduct-tuning one\n", "its first line is not 'aqueduct-tuning 1', so"},
        {"\177ELF\001\n", "its first line has bytes that are no text"},
        {"aqueduct-tuning 2\n[smp ranks 2]\nnew-limit 7\n",
         "its first line says version 2, and this library reads version 1"},
        {HEAD "post-byte 7\n", "line 4 names a limit 'post-byte', which does not exist"},
        {HEAD "post-bytes 9000\n",
         "line 4 sets post-bytes to '9000', which is no whole number from 0 to 8192"},
        {HEAD "post-bytes -1\n", "line 4 sets post-bytes to '-1', which is no"},
        {HEAD "post-bytes 99999999999999999999\n", "line 4 sets post-bytes to"},
        {HEAD "post-bytes 8K\n", "line 4 sets post-bytes to '8K', which is no"},
        {HEAD "post-bytes\n", "line 4 is neither a section such as [smp ranks 4] nor"},
        {HEAD "post-bytes 7 8\n", "line 4 is neither a section such as [smp ranks 4] nor"},
        {HEAD "[udp]\n", "line 4 is no section such as [smp ranks 4]"},
        {HEAD "[udp ranks 2\n", "line 4 is no section such as [smp ranks 4]"},
        {HEAD "[udp ranks 2]]\n", "line 4 is no section such as [smp ranks 4]"},
        {HEAD "[udp hosts 2]\n", "line 4 is no section such as [smp ranks 4]"},
        {HEAD "[udp ranks 0]\n", "line 4 is a section for a number of ranks that is not 1 or more"},
        {HEAD "[udp ranks x]\n", "line 4 is a section for a number of ranks that is not 1 or more"},
        {HEAD "\001\n", "line 4 has bytes that are no text"},
        {"aqueduct-tuning 1\npost-bytes 7\n", "line 2 is before the first section, such as"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(cases[i].text, "smp", 2), AQ_TUNING_BAD);
        assert_int_equal(strncmp(why, cases[i].why, strlen(cases[i].why)), 0);
        assert_defaults();
    }
}

static void test_long_line(void **state)
{
    (void)state;
    char text[1000] = HEAD "# ";
    size_t used = strlen(text);
    memset(text + used, 'x', 198);
    assert_int_equal(parse(text, "smp", 2), AQ_TUNING_FOUND);
    memset(text + used, 'x', 199);
    assert_int_equal(parse(text, "smp", 2), AQ_TUNING_BAD);
    assert_string_equal(why, "line 4 has more than 200 characters");
}

// A zero byte does not end the file.
static void test_zero(void **state)
{
    (void)state;
    static const char text[] = HEAD "\0\npost-bytes 8\n";
    const aq_tuning_job_t job = {"smp", 2};
    assert_int_equal(aq_coll_tuning_parse(text, sizeof text - 1, job, &limits, why, sizeof why),
                     AQ_TUNING_BAD);
    assert_string_equal(why, "line 4 has bytes that are no text");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),       cmocka_unit_test(test_sections),
        cmocka_unit_test(test_no_section), cmocka_unit_test(test_twice),
        cmocka_unit_test(test_ends),       cmocka_unit_test(test_bad),
        cmocka_unit_test(test_long_line),  cmocka_unit_test(test_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
