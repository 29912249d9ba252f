// SPDX-License-Identifier: BSD-3-Clause
// Connect files: what is read, what is refused, and that what is written can be read.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../conduits/ibv/connect/ibv_connect_file.h"
#include "../../../unit/child_errors.h"

enum { SIZE = 40 };

static char why[512];
static char folder[] = "connect-file-XXXXXX", name[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(name, sizeof name, "%s/file", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char other[80];
    unlink(name);
    for (uint32_t rank = 0; rank < SIZE; rank++) {
        snprintf(other, sizeof other, "%s/file.%u", folder, rank);
        unlink(other);
    }
    return rmdir(folder);
}

static void write_file(const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// The peers of a rank in the file, as text.
static const char *peers_of(uint32_t rank)
{
    static char text[4 * SIZE];
    bool peers[SIZE] = {false};
    size_t used = 0;
    *text = 0;
    if (aq_ibv_connect_file_read(name, rank, SIZE, peers, why, sizeof why) != AQ_OK)
        return "refused";
    for (uint32_t r = 0; r < SIZE; r++)
        if (peers[r])
            used += (size_t)snprintf(text + used, sizeof text - used, used ? " %u" : "%u", r);
    return text;
}

static void test_manual(void **state)
{
    (void)state;
    write_file("7:0 4\n7: 6\n6:9-12\n1:0\n0:1\n\n");
    assert_string_equal(peers_of(7), "0 4 6");
    assert_string_equal(peers_of(6), "7 9 10 11 12");
    assert_string_equal(peers_of(0), "1 7");
    assert_string_equal(peers_of(1), "0");
    assert_string_equal(peers_of(10), "6");
    assert_string_equal(peers_of(39), "");
    write_file("size: 40\n5: 11\nbase: 36\na: B-c z 10\nbase: 2\n11: 0 1\n");
    assert_string_equal(peers_of(5), "11");
    assert_string_equal(peers_of(10), "11 12 35 36");
    assert_string_equal(peers_of(3), "0 1");
    write_file("base: 16\n4: 4 3-5\n"); // a rank needs no connection to itself
    assert_string_equal(peers_of(4), "3 5");
    write_file("");
    assert_string_equal(peers_of(4), "");
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"7\n",
                                      "7: 40\n",
                                      "40: 1\n",
                                      "7: 5-4\n",
                                      "7: 4-\n",
                                      "7: -4\n",
                                      "7: a\n",
                                      "size: 39\n",
                                      "base: 1\n",
                                      "base: 37\n",
                                      "base:\n",
                                      "7: 1,2\n",
                                      "seven: 1\n",
                                      " \n: 1\n",
                                      "size: 40 1\n",
                                      "7: 99999999999999999999\n",
                                      "base: 8\n7: 8\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_file(bad[i]);
        assert_string_equal(peers_of(7), "refused");
        assert_non_null(strstr(why, "of the connect file connect-file-"));
    }
    write_file("1: 2\n\n1; 2\n");
    assert_string_equal(peers_of(7), "refused");
    assert_non_null(strstr(why, "line 3 of"));
    unlink(name);
    assert_string_equal(peers_of(7), "refused");
    assert_non_null(strstr(why, "cannot be read: No such file"));
}

// Each rank is connected to those that differ from it in one of two ways.
static void fill_peers(uint32_t rank, bool *peers)
{
    for (uint32_t r = 0; r < SIZE; r++)
        peers[r] = r != rank && (r / 4 == rank / 4 || r % 10 == rank % 10);
}

static void check_written(const char *pattern, unsigned base)
{
    for (uint32_t rank = 0; rank < SIZE; rank++)
        assert_true(aq_ibv_connect_file_begin(pattern, rank, SIZE, base));
    for (uint32_t rank = SIZE; rank-- > 0;) {
        bool peers[SIZE];
        fill_peers(rank, peers);
        assert_true(aq_ibv_connect_file_add(pattern, rank, SIZE, base, peers));
    }
    for (uint32_t rank = 0; rank < SIZE; rank++) {
        bool wanted[SIZE], peers[SIZE] = {false};
        fill_peers(rank, wanted);
        assert_int_equal(aq_ibv_connect_file_read(pattern, rank, SIZE, peers, why, sizeof why),
                         AQ_OK);
        assert_memory_equal(peers, wanted, sizeof peers);
    }
}

static void test_written(void **state)
{
    (void)state;
    char pattern[80];
    snprintf(pattern, sizeof pattern, "%s.%%", name);
    for (unsigned base = 2; base <= 36; base++) {
        check_written(name, base);
        check_written(pattern, base);
    }
    assert_int_equal(access(name, R_OK), 0);
}

static void write_nowhere(void)
{
    if (aq_ibv_connect_file_begin("/dev/null/no", 0, SIZE, 36))
        _exit(1);
    if (!aq_ibv_connect_file_begin("/dev/null/no", 1, SIZE, 36)) // rank 0 tells it for all
        _exit(1);
}

static void test_not_written(void **state)
{
    (void)state;
    char *text = child_errors(write_nowhere);
    assert_non_null(strstr(text, "the connect file /dev/null/no (GASNET_CONNECTFILE_OUT) cannot"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_manual, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_written, set_up, tear_down),
        cmocka_unit_test(test_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
