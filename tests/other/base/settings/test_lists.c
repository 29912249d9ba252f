// SPDX-License-Identifier: BSD-3-Clause
// Lists of signals, of ranks and of ports: their elements, and that a fault anywhere in a list is
// reported.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <signal.h>

#include "../../../../other/base/settings/settings_lists.h"

enum { COUNT = 8 };

// A list, and the signals in that list; 0 ends them, and -1 stands for an invalid element.
static const struct {
    const char *list;
    int numbers[COUNT];
} signal_lists[] = {
    {"", {0}},
    {"SIGSEGV", {SIGSEGV}},
    {"segv", {SIGSEGV}},
    {"sigSegv", {SIGSEGV}},
    {"SIGSEGV,fpe,11", {SIGSEGV, SIGFPE, 11}},
    {"USR1,USR2,", {SIGUSR1, SIGUSR2}},
    {"1,64", {1, 64}},
    {"SEGV,SEGV", {SIGSEGV, SIGSEGV}},
    {"x", {-1}},
    {"SIG", {-1}},
    {"SIGSIGSEGV", {-1}},
    {"SEG", {-1}},
    {"SEGVV", {-1}},
    {"0", {-1}},
    {"-1", {-1}},
    {"65", {-1}},
    {"1x", {-1}},
    {"011", {-1}},
    {"4294967307", {-1}}, // 11, if truncated to 32 bits
    {" SEGV", {-1}},
    {",SEGV", {-1, SIGSEGV}},
    {"FPE,,SEGV", {SIGFPE, -1, SIGSEGV}},
    {"FPE SEGV,11", {-1, 11}},
    {"*,FPE", {-1, SIGFPE}},
};

static void test_signals(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof signal_lists / sizeof signal_lists[0]; i++) {
        const char *rest = signal_lists[i].list;
        for (unsigned j = 0; j == 0 || signal_lists[i].numbers[j - 1]; j++)
            assert_int_equal(aq_settings_next_signal(&rest), signal_lists[i].numbers[j]);
        assert_string_equal(rest, "");
        assert_int_equal(aq_settings_next_signal(&rest), 0);
    }
}

static const struct {
    const char *list;
    uint32_t rank;
    int has;
} rank_lists[] = {
    {"", 0, 1},
    {"", UINT32_MAX, 1},
    {"*", 0, 1},
    {"*", UINT32_MAX, 1},
    {"0", 0, 1},
    {"0", 1, 0},
    {"12", 1, 0},
    {"12", 2, 0},
    {"12", 12, 1},
    {"007", 7, 1},
    {"0,2-4", 0, 1},
    {"0,2-4", 1, 0},
    {"0,2-4", 2, 1},
    {"0,2-4", 3, 1},
    {"0,2-4", 4, 1},
    {"0,2-4", 5, 0},
    {"5-5", 5, 1},
    {"4-2", 3, 0},
    {"7,7", 7, 1},
    {"1-3,2-6", 6, 1},
    {"4294967295", UINT32_MAX, 1},
    {"4294967296", 0, 0},
    {"0-99999999999999999999999", UINT32_MAX, 1},
    {"99999999999999999999999", 0, 0},
};

static void test_ranks(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof rank_lists / sizeof rank_lists[0]; i++)
        assert_int_equal(aq_settings_has_rank(rank_lists[i].list, rank_lists[i].rank),
                         rank_lists[i].has);
}

// Invalid lists are reported, whether or not the rank stands before the fault.
static void test_invalid_ranks(void **state)
{
    (void)state;
    static const char *const lists[] = {"x",   ",",  "1,",  "1-",  ",1",    "-1",  "1--2", "1 2",
                                        " 1",  "1 ", "+1",  "1,x", "1-2-3", "1-x", "1-+2", "*,1",
                                        "1,*", "**", "0x1", "1.0", "1,,2",  "1-2,"};
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        assert_int_equal(aq_settings_has_rank(lists[i], 1), -1);
        assert_int_equal(aq_settings_has_rank(lists[i], 100), -1);
    }
}

static const struct {
    const char *text;
    bool legal;
    aq_ports_t ports;
} port_ranges[] = {
    {"", true, {0, 0}},
    {"50000", true, {50000, 50000}},
    {"50000-50100", true, {50000, 50100}},
    {"1-65535", true, {1, 65535}},
    {"7-7", true, {7, 7}},
    {"0", false, {0, 0}},
    {"0-5", false, {0, 0}},
    {"65536", false, {0, 0}},
    {"100000", false, {0, 0}},
    {"8-7", false, {0, 0}},
    {"-7", false, {0, 0}},
    {"7-", false, {0, 0}},
    {"-", false, {0, 0}},
    {"7-8-9", false, {0, 0}},
    {"7 - 8", false, {0, 0}},
    {"seven", false, {0, 0}},
    {"4294967303", false, {0, 0}},           // 7, if truncated to 32 bits
    {"18446744073709551623", false, {0, 0}}, // 7, if truncated to 64 bits
};

static void test_ports(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof port_ranges / sizeof port_ranges[0]; i++) {
        aq_ports_t ports = {0};
        assert_int_equal(aq_settings_read_ports(port_ranges[i].text, &ports), port_ranges[i].legal);
        assert_int_equal(ports.low, port_ranges[i].ports.low);
        assert_int_equal(ports.high, port_ranges[i].ports.high);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_invalid_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
