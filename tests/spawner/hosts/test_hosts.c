// SPDX-License-Identifier: BSD-3-Clause
// Lists of hosts: command-line lists, files, formats of batch systems, and placement of ranks.
#include "../../unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../other/base/log/log.h"
#include "../../../spawner/hosts/hosts.h"
#include "../../../spawner/hosts/hosts_load.h"

static char fault[512];

static aq_hosts_t read_file(const char *text)
{
    aq_hosts_t hosts = {0};
    fault[0] = '\0';
    assert_true(aq_hosts_read_text(&hosts, "f", text, strlen(text), fault, sizeof fault) ==
                !fault[0]);
    return hosts;
}

static void assert_file_refused(const char *text, const char *sentence)
{
    aq_hosts_t hosts = {0};
    assert_false(aq_hosts_read_text(&hosts, "f", text, strlen(text), fault, sizeof fault));
    if (strstr(fault, sentence) == NULL)
        fail_msg("'%s' is missing in: %s", sentence, fault);
    aq_hosts_free(&hosts);
}

static aq_hosts_t read_list(const char *text)
{
    aq_hosts_t hosts = {0};
    if (!aq_hosts_read_list(&hosts, "l", text, fault, sizeof fault))
        fail_msg("%s", fault);
    return hosts;
}

static void assert_list_refused(const char *text)
{
    aq_hosts_t hosts = {0};
    assert_false(aq_hosts_read_list(&hosts, "l", text, fault, sizeof fault));
    assert_non_null(strstr(fault, "is not a host; write"));
    aq_hosts_free(&hosts);
}

static void assert_same_text(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        assert_ptr_equal(a, b);
    else
        assert_string_equal(a, b);
}

static void assert_row(const aq_hosts_t *hosts, size_t at, const char *name, const char *user,
                       uint32_t slots)
{
    assert_true(at < hosts->count);
    assert_same_text(hosts->rows[at].name, name);
    assert_same_text(hosts->rows[at].user, user);
    assert_int_equal(hosts->rows[at].slots, slots);
}

static void test_files(void **state)
{
    (void)state;
    aq_hosts_t hosts = read_file("# comment\n\n  n1 slots=4 user=ann # more\r\n"
                                 "ann@n2\tcpu=8 prefix=\"/opt/a b\" schedule=no\n"
                                 "n3 colour=red slots=2 rack=7\nfe80::1");
    assert_int_equal(hosts.count, 4);
    assert_row(&hosts, 0, "n1", "ann", 4);
    assert_row(&hosts, 1, "n2", "ann", 0);
    assert_int_equal(hosts.rows[1].cpus, 8);
    assert_same_text(hosts.rows[1].prefix, "/opt/a b");
    assert_true(hosts.rows[1].idle);
    assert_false(hosts.rows[0].idle);
    assert_row(&hosts, 2, "n3", NULL, 2);
    assert_same_text(hosts.rows[2].keys, "colour=red\nrack=7");
    assert_row(&hosts, 3, "fe80::1", NULL, 0);
    aq_hosts_free(&hosts);
    hosts = read_file("hostname=n1 slots=2\nann@n2 hostname=10.0.0.2\nn3 hostname=bob@n4 slots=3");
    assert_int_equal(hosts.count, 3);
    assert_row(&hosts, 0, "n1", NULL, 2);
    assert_row(&hosts, 1, "10.0.0.2", "ann", 0);
    assert_row(&hosts, 2, "n4", "bob", 3);
    aq_hosts_free(&hosts);
    hosts = read_file("");
    assert_int_equal(hosts.count, 0);
    aq_hosts_free(&hosts);
}

static void test_file_faults(void **state)
{
    (void)state;
    assert_file_refused("n1\nn2 fast",
                        "f, line 2: 'fast' is not key=value; a line is: host key=value");
    assert_file_refused("n1 =x", "line 1: '=x' is not key=value");
    assert_file_refused("\n\nn1 slots=0",
                        "line 3: '0' is not a number of slots: a whole number from 1");
    assert_file_refused("n1 slots=4097", "is not a number of slots");
    assert_file_refused("n1 cpu=x", "'x' is not a number of processors");
    assert_file_refused("n1 prefix=opt", "'opt' is not a folder for prefix");
    assert_file_refused("n1 user=-lroot", "'-lroot' is not a name of a user");
    assert_file_refused("n1 schedule=maybe", "'maybe' is neither yes nor no");
    assert_file_refused("-oProxyCommand=x", "'-oProxyCommand=x' is not a name of a host");
    assert_file_refused("n1\nn;2", "line 2: 'n;2' is not a name of a host");
    assert_file_refused("hostname=", "is not a name of a host");
    assert_file_refused("n1 hostname=n;2", "'n;2' is not a name of a host");
    assert_file_refused("@n1", "is not a name of a host");
    assert_file_refused("n1\n\x01", "line 2: holds bytes that are not text");
    aq_hosts_t hosts = {0};
    assert_false(aq_hosts_read_text(&hosts, "f", "n1\0n2", 5, fault, sizeof fault));
    assert_non_null(strstr(fault, "bytes that are not text"));
    aq_hosts_free(&hosts);
    size_t length;
    assert_null(aq_hosts_load("host file", "/nonexistent/x", &length, fault, sizeof fault));
    assert_non_null(strstr(fault, "'/nonexistent/x' cannot be read: No such file"));
    assert_null(aq_hosts_load("host file", "/", &length, fault, sizeof fault));
}

static void test_lists(void **state)
{
    (void)state;
    aq_hosts_t hosts = read_list("a,b:4  ann@c:2,\t[fe80::1]:3 ::1 [::2]");
    assert_int_equal(hosts.count, 6);
    assert_row(&hosts, 0, "a", NULL, 0);
    assert_row(&hosts, 1, "b", NULL, 4);
    assert_row(&hosts, 2, "c", "ann", 2);
    assert_row(&hosts, 3, "fe80::1", NULL, 3);
    assert_row(&hosts, 4, "::1", NULL, 0);
    assert_row(&hosts, 5, "::2", NULL, 0);
    assert_null(hosts.repeated);
    aq_hosts_free(&hosts);
    static const char *const bad[] = {"a:x",  "a:0",    "-v",  "a@", "@a",
                                      "[::1", "[::1]x", "a;b", "a:"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_list_refused(bad[i]);
    hosts = read_list("a:2,b,a:3,ann@a,b");
    assert_int_equal(hosts.count, 3);
    assert_row(&hosts, 0, "a", NULL, 5);
    assert_row(&hosts, 2, "a", "ann", 0);
    assert_same_text(hosts.repeated, "a");
    aq_hosts_free(&hosts);
}

static void test_slurm(void **state)
{
    (void)state;
    aq_hosts_t hosts = {0};
    assert_true(aq_hosts_read_slurm(&hosts, "n[1-2,07-08]x,gpu,r[1-2]c[3-4]", "4(x2),8(x3),1(x4)",
                                    fault, sizeof fault));
    static const char *const names[] = {"n1x",  "n2x",  "n07x", "n08x", "gpu",
                                        "r1c3", "r1c4", "r2c3", "r2c4"};
    static const uint32_t slots[] = {4, 4, 8, 8, 8, 1, 1, 1, 1};
    assert_int_equal(hosts.count, 9);
    for (size_t i = 0; i < 9; i++)
        assert_row(&hosts, i, names[i], NULL, slots[i]);
    aq_hosts_free(&hosts);
    static const char *const bad[] = {"n[",  "n[1-", "n[a]", "n[2-1]", "n[1-99999999]",
                                      "n[]", "n]["};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(aq_hosts_read_slurm(&hosts, bad[i], NULL, fault, sizeof fault));
        aq_hosts_free(&hosts);
    }
    static const char *const bad_slots[] = {"", "x", "4(", "4(x", "4(x0)", "0"};
    for (size_t i = 0; i < sizeof bad_slots / sizeof bad_slots[0]; i++) {
        assert_false(aq_hosts_read_slurm(&hosts, "n[1-3]", bad_slots[i], fault, sizeof fault));
        aq_hosts_free(&hosts);
    }
}

// The maximum number of hosts, each given twice. With a linear search per host, this test would
// take minutes under a sanitizer.
static void test_many(void **state)
{
    (void)state;
    aq_hosts_t hosts = {0};
    assert_true(aq_hosts_read_slurm(&hosts, "n[0-131071],n[0-131071]", "2(x131072),2(x131072)",
                                    fault, sizeof fault));
    assert_int_equal(hosts.count, 131072);
    assert_row(&hosts, 0, "n0", NULL, 4);
    assert_row(&hosts, 131071, "n131071", NULL, 4);
    assert_string_equal(hosts.repeated, "n0");
    assert_true(aq_hosts_read_list(&hosts, "-H", "n7:3", fault, sizeof fault));
    assert_row(&hosts, 7, "n7", NULL, 7);
    assert_false(aq_hosts_read_list(&hosts, "-H", "ann@n7", fault, sizeof fault));
    assert_non_null(strstr(fault, "more than 131072 hosts"));
    aq_hosts_free(&hosts);
}

static void test_batch(void **state)
{
    (void)state;
    aq_hosts_t hosts = {0};
    assert_true(aq_hosts_read_pairs(&hosts, "v", "a 4 b 2", fault, sizeof fault));
    assert_true(aq_hosts_read_repeats(&hosts, "v", "c\nc\nd\nc\n", fault, sizeof fault));
    assert_true(
        aq_hosts_read_sge(&hosts, "v", "e 3 all.q@e UNDEFINED\nf 1 q\n", fault, sizeof fault));
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    static const uint32_t slots[] = {4, 2, 3, 1, 3, 1};
    assert_int_equal(hosts.count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_row(&hosts, i, names[i], NULL, slots[i]);
    assert_false(aq_hosts_read_pairs(&hosts, "v", "g", fault, sizeof fault));
    assert_false(aq_hosts_read_pairs(&hosts, "v", "g x", fault, sizeof fault));
    assert_false(aq_hosts_read_repeats(&hosts, "v", "g -h", fault, sizeof fault));
    assert_false(aq_hosts_read_sge(&hosts, "v", "g\n", fault, sizeof fault));
    aq_hosts_free(&hosts);
}

// ---- sources ----

static const char *const variables[] = {
    "GASNET_SSH_NODEFILE", "GASNET_SSH_SERVERS", "GASNET_NODEFILE",
    "SSH_SERVERS",         "SLURM_JOB_NODELIST", "PBS_NODEFILE",
    "LSB_MCPU_HOSTS",      "LSB_HOSTS",          "PE_HOSTFILE"};

#define VARIABLES (sizeof variables / sizeof variables[0])

// A file that names the host x, for variables that name files.
static char path[] = "/tmp/test_hosts.XXXXXX";

static void test_sources(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "x 1 q\n", 6), 6);
    for (size_t i = 0; i < VARIABLES; i++)
        unsetenv(variables[i]);
    assert_null(aq_hosts_source(NULL));
    assert_string_equal(aq_hosts_source("a"), "option -H");
    for (size_t i = VARIABLES; i-- > 0;) { // each source overrides those after it
        setenv(variables[i], strstr(variables[i], "FILE") != NULL ? path : "x 1", 1);
        assert_string_equal(aq_hosts_source(NULL), variables[i]);
    }
    setenv("GASNET_SSH_NODEFILE", " ", 1); // a blank value counts as not set
    assert_string_equal(aq_hosts_source(NULL), "GASNET_SSH_SERVERS");
    aq_hosts_t hosts = {0};
    assert_int_equal(aq_hosts_find(&hosts, NULL), AQ_OK);
    assert_row(&hosts, 0, "x", NULL, 0);
    aq_hosts_free(&hosts);
    for (size_t i = 0; i < VARIABLES; i++)
        unsetenv(variables[i]);
    setenv("PE_HOSTFILE", path, 1);
    assert_int_equal(aq_hosts_find(&hosts, NULL), AQ_OK);
    assert_row(&hosts, 0, "x", NULL, 1);
    aq_hosts_free(&hosts);
    unsetenv("PE_HOSTFILE");
    assert_int_equal(aq_hosts_find(&hosts, " ,"), AQ_ERR_CONFIG);
    assert_int_equal(aq_hosts_find(&hosts, NULL), AQ_ERR_CONFIG);
    aq_hosts_free(&hosts);
    close(fd);
    unlink(path);
}

// ---- placement ----

// Places ranks, and compares their hosts, one letter for each rank, with `wanted`: "aab".
static void assert_placed_on(aq_hosts_t hosts, const char *words, aq_placement_t placement,
                             const char *wanted, bool overfull)
{
    uint32_t row[64];
    char text[65] = "";
    bool more;
    assert_true(aq_hosts_read_text(&hosts, "f", words, strlen(words), fault, sizeof fault));
    if (!aq_hosts_place(&hosts, &placement, row, &more, fault, sizeof fault))
        fail_msg("%s", fault);
    for (uint32_t r = 0; r < placement.size; r++) {
        text[r] = hosts.rows[row[r]].name[0];
        assert_int_equal(hosts.rows[row[r]].first, row[r]);
    }
    assert_string_equal(text, wanted);
    assert_int_equal(more, overfull);
    aq_hosts_free(&hosts);
}

static void assert_placed(const char *words, aq_placement_t placement, const char *wanted,
                          bool overfull)
{
    assert_placed_on((aq_hosts_t){0}, words, placement, wanted, overfull);
}

static void assert_not_placed(const char *words, aq_placement_t placement, const char *sentence)
{
    aq_hosts_t hosts = {0};
    static uint32_t row[16384];
    bool more;
    assert_true(aq_hosts_read_text(&hosts, "f", words, strlen(words), fault, sizeof fault));
    assert_false(aq_hosts_place(&hosts, &placement, row, &more, fault, sizeof fault));
    if (strstr(fault, sentence) == NULL)
        fail_msg("'%s' is missing in: %s", sentence, fault);
    aq_hosts_free(&hosts);
}

static void test_placement(void **state)
{
    (void)state;
    assert_placed("a\nb\nc", (aq_placement_t){.size = 8}, "aaabbbcc", false);
    assert_placed("a\nb\nc", (aq_placement_t){.size = 8, .cyclic = true}, "abcabcab", false);
    assert_placed("a\nb\nc", (aq_placement_t){.size = 2}, "ab", false);
    assert_placed("a\nb\nc", (aq_placement_t){.size = 5, .host_count = 2}, "aaabb", false);
    assert_placed("a slots=3\nb slots=1", (aq_placement_t){.size = 4}, "aaab", false);
    assert_placed("a slots=3\nb slots=1", (aq_placement_t){.size = 3}, "aaa", false);
    assert_placed("a slots=3\nb slots=1", (aq_placement_t){.size = 4, .cyclic = true}, "abaa",
                  false);
    assert_placed("a slots=3\nb slots=1", (aq_placement_t){.size = 7}, "aaaaaab", true);
    assert_placed("a slots=2\nb", (aq_placement_t){.size = 3}, "aab", false);
    assert_placed("a slots=2\nb", (aq_placement_t){.size = 4, .host_count = 2}, "aabb", false);
    assert_placed("a slots=1\nb slots=1", (aq_placement_t){.size = 4, .host_count = 2}, "aabb",
                  true);
    assert_placed("a schedule=no\nb\nc", (aq_placement_t){.size = 3}, "bbc", false);
    assert_placed("a cpu=4\nb cpu=2", (aq_placement_t){.size = 3, .cpus_per_rank = 2}, "aab",
                  false);
    assert_placed("a cpu=4\nb cpu=2", (aq_placement_t){.size = 6}, "aaaabb", false);
    assert_placed("a cpu=1\nb cpu=1", (aq_placement_t){.size = 2, .cpus_per_rank = 2}, "ab", false);
    assert_not_placed("a schedule=no", (aq_placement_t){.size = 1}, "all have schedule=no");
    assert_not_placed("a\nb", (aq_placement_t){.size = 4, .host_count = 3}, "but 2 are named");
    assert_not_placed("a\nb", (aq_placement_t){.size = 1, .host_count = 2}, "2 hosts for 1 ranks");
    assert_not_placed("a\nb", (aq_placement_t){.size = 16384}, "one host carries at most 4096");
}

// A repeated host takes ranks again, but counts as one host.
static void test_repeats(void **state)
{
    (void)state;
    const aq_hosts_t keep = {.keep_repeats = true};
    aq_hosts_t hosts = keep;
    uint32_t row[4097];
    bool more;
    assert_placed_on(keep, "a\nb\na\nb", (aq_placement_t){.size = 8}, "aabbaabb", false);
    assert_placed("a\nb\na\nb", (aq_placement_t){.size = 8}, "aaaabbbb", false);
    assert_placed_on(keep, "a slots=1\nb slots=2\na slots=1", (aq_placement_t){.size = 4}, "abba",
                     false);
    assert_placed_on(keep, "a\nb\na", (aq_placement_t){.size = 4, .cyclic = true}, "abaa", false);
    assert_true(aq_hosts_read_list(&hosts, "l", "a,a", fault, sizeof fault));
    assert_null(hosts.repeated);
    assert_false(
        aq_hosts_place(&hosts, &(aq_placement_t){.size = 4097}, row, &more, fault, sizeof fault));
    assert_non_null(strstr(fault, "host a would get 4097 ranks"));
    aq_hosts_free(&hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),   cmocka_unit_test(test_file_faults),
        cmocka_unit_test(test_lists),   cmocka_unit_test(test_slurm),
        cmocka_unit_test(test_many),    cmocka_unit_test(test_batch),
        cmocka_unit_test(test_sources), cmocka_unit_test(test_placement),
        cmocka_unit_test(test_repeats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
