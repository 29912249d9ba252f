// SPDX-License-Identifier: BSD-3-Clause
// Numbers, sizes and limits read from text: legal texts, illegal ones, and random ones.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../other/base/settings/exit_timeout.h"
#include "../../../other/base/size.h"
#include "../../unit/assert_between.h"

#define RANDOM_INPUTS 100000
#define HUGE_LENGTH (1 << 20)
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Texts that no parser accepts; NULL is tested separately.
static const char *const nonsense[] = {"",    " ",  "\t\n", "x",    "-",     "+",   ".",    "1 2",
                                       "--1", "1x", "0x",   "0xg",  "1,5",   "inf", "nan",  "1e",
                                       "/H",  "K",  "KB",   "\xff", "1\x01", "one", "1.2.3"};

static void test_int_good(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"0", 0},
                 {"1", 1},
                 {"-1", -1},
                 {"+7", 7},
                 {" 42\t", 42},
                 {"010", 10}, // decimal, not octal
                 {"0x10", 16},
                 {"0XfF", 255},
                 {"-0x10", -16},
                 {"9223372036854775807", INT64_MAX},
                 {"-9223372036854775808", INT64_MIN},
                 {"0x7fffffffffffffff", INT64_MAX}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t value = 99;
        assert_true(aq_size_parse_int(cases[i].text, &value));
        assert_true(value == cases[i].value);
    }
}

static void test_int_bad(void **state)
{
    (void)state;
    const char *const more[] = {"1.5",
                                "1e3",
                                "9223372036854775808",
                                "-9223372036854775809",
                                "4K",
                                "0x8000000000000000",
                                "0x 1",
                                "- 1",
                                "true"};
    int64_t value = 99;
    for (size_t i = 0; i < COUNT(nonsense); i++)
        assert_false(aq_size_parse_int(nonsense[i], &value));
    for (size_t i = 0; i < COUNT(more); i++)
        assert_false(aq_size_parse_int(more[i], &value));
    assert_false(aq_size_parse_int(NULL, &value));
    assert_true(value == 99);
}

static void test_bool_good(void **state)
{
    (void)state;
    const char *const yes[] = {"1", "y", "Y", "yes", "YES", "Yes", "true", "TRUE", "on", " on\n"};
    const char *const no[] = {"0", "n", "N", "no", "NO", "false", "False", "off", "OFF", "\t0 "};
    for (size_t i = 0; i < COUNT(yes); i++) {
        bool value = false;
        assert_true(aq_size_parse_bool(yes[i], &value));
        assert_true(value);
        value = true;
        assert_true(aq_size_parse_bool(no[i], &value));
        assert_false(value);
    }
}

static void test_bool_bad(void **state)
{
    (void)state;
    const char *const more[] = {"2", "01", "ye", "yess", "y n", "o", "tru", "-1", "1.0"};
    for (int start = 0; start < 2; start++) {
        bool value = start;
        for (size_t i = 0; i < COUNT(nonsense); i++)
            assert_false(aq_size_parse_bool(nonsense[i], &value));
        for (size_t i = 0; i < COUNT(more); i++)
            assert_false(aq_size_parse_bool(more[i], &value));
        assert_false(aq_size_parse_bool(NULL, &value));
        assert_int_equal(value, start);
    }
}

static void test_real_good(void **state)
{
    (void)state;
    const struct {
        const char *text;
        double value;
    } cases[] = {{"0", 0},       {"0.05", 0.05},  {".5", 0.5},      {"5.", 5},
                 {"-2.5", -2.5}, {"+1", 1},       {" 3 ", 3},       {"1e3", 1000},
                 {"1E-3", 1e-3}, {"2.5e+2", 250}, {"1e308", 1e308}, {"00.10", 0.1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double value = 99;
        assert_true(aq_size_parse_real(cases[i].text, &value));
        assert_true(value == cases[i].value);
    }
}

static void test_real_bad(void **state)
{
    (void)state;
    const char *const more[] = {"0x10", "1e400", "-1e400", "infinity", "1e+",
                                "e5",   "1.5s",  "- 1",    "1e5.5",    "1 e5"};
    double value = 99;
    for (size_t i = 0; i < COUNT(nonsense); i++)
        assert_false(aq_size_parse_real(nonsense[i], &value));
    for (size_t i = 0; i < COUNT(more); i++)
        assert_false(aq_size_parse_real(more[i], &value));
    assert_false(aq_size_parse_real(NULL, &value));
    assert_true(value == 99);
}

static void test_bytes_good(void **state)
{
    (void)state;
    const struct {
        const char *text;
        uint64_t value;
    } cases[] = {{"0", 0},
                 {"4096", 4096},
                 {"4096B", 4096},
                 {"64K", 65536},
                 {"64KB", 65536},
                 {"64kb", 65536},
                 {"64KiB", 65536},
                 {" 64 K ", 65536},
                 {"1.5M", 3 << 19},
                 {".5K", 512},
                 {"2.k", 2048},
                 {"2G", UINT64_C(2) << 30},
                 {"1T", UINT64_C(1) << 40},
                 {"16777215T", UINT64_C(16777215) << 40},
                 {"18446744073709551615", UINT64_MAX}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t value = 99;
        assert_true(aq_size_parse_bytes(cases[i].text, &value));
        assert_true(value == cases[i].value);
    }
}

static void test_bytes_bad(void **state)
{
    (void)state;
    const char *const more[] = {"-1",    "+1",   "1.5",       "1.5B",        "1Ki",
                                "1KK",   "1BB",  "1P",        "1e3K",        "0x10K",
                                "4K/P",  "1kX",  "16777216T", "16777216.0T", "18446744073709551616",
                                "4 K B", "1K 1K"};
    uint64_t value = 99;
    for (size_t i = 0; i < COUNT(nonsense); i++)
        assert_false(aq_size_parse_bytes(nonsense[i], &value));
    for (size_t i = 0; i < COUNT(more); i++)
        assert_false(aq_size_parse_bytes(more[i], &value));
    assert_false(aq_size_parse_bytes(NULL, &value));
    assert_true(value == 99);
}

static void test_limit_good(void **state)
{
    (void)state;
    const struct {
        const char *text;
        aq_size_limit_t value;
    } cases[] = {{"4GB", {UINT64_C(4) << 30, 0, false}},
                 {"4GB/P", {UINT64_C(4) << 30, 0, false}},
                 {"512M/p", {UINT64_C(512) << 20, 0, false}},
                 {"512M/H", {UINT64_C(512) << 20, 0, true}},
                 {"1", {1, 0, false}},
                 {"1.5G/h", {UINT64_C(3) << 29, 0, true}},
                 {"0.85", {0, 0.85, false}},
                 {"0.85/H", {0, 0.85, true}},
                 {".5/P", {0, 0.5, false}},
                 {"1.0/H", {0, 1.0, true}},
                 {" 0.5 / H ", {0, 0.5, true}},
                 {"5/8", {0, 0.625, false}},
                 {"3 / 4 / H", {0, 0.75, true}},
                 {"1/1", {0, 1, false}}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        aq_size_limit_t limit = {99, 99, true};
        assert_true(aq_size_parse_limit(cases[i].text, &limit));
        assert_true(limit.bytes == cases[i].value.bytes);
        assert_true(limit.fraction == cases[i].value.fraction);
        assert_true(limit.per_host == cases[i].value.per_host);
    }
}

static void test_limit_bad(void **state)
{
    (void)state;
    const char *const more[] = {
        "0",    "0/H",   "0.0",   "0.0/H",  "1.5",  "1.01/H", "-0.5", "0.5/",    "0.5/X",
        "0.5H", "4G/PH", "4G//P", "4G/P/P", "4G P", "0.5e0",  "85%",  "0.0001K", "16777216T/H",
        "3/2",  "1/0",   "0/2",   "1/2/3",  "1/-2", "0.5/2",  "1/",   "4G/2"};
    aq_size_limit_t limit = {99, 0.25, true};
    for (size_t i = 0; i < COUNT(nonsense); i++)
        assert_false(aq_size_parse_limit(nonsense[i], &limit));
    for (size_t i = 0; i < COUNT(more); i++)
        assert_false(aq_size_parse_limit(more[i], &limit));
    assert_false(aq_size_parse_limit(NULL, &limit));
    assert_true(limit.bytes == 99 && limit.fraction == 0.25 && limit.per_host);
}

// Returns 1 MiB of one character, followed by `tail`. The caller frees it.
static char *make_huge_text(char fill, const char *tail)
{
    char *text = malloc(HUGE_LENGTH + strlen(tail) + 1);
    assert_non_null(text);
    memset(text, fill, HUGE_LENGTH);
    strcpy(text + HUGE_LENGTH, tail);
    return text;
}

static void test_huge_input(void **state)
{
    (void)state;
    int64_t whole = 0;
    double real = 0;
    uint64_t bytes = 0;
    bool yes = false;
    aq_size_limit_t limit;

    char *nines = make_huge_text('9', "");
    assert_false(aq_size_parse_int(nines, &whole));
    assert_false(aq_size_parse_real(nines, &real));
    assert_false(aq_size_parse_bytes(nines, &bytes));
    assert_false(aq_size_parse_bool(nines, &yes));
    assert_false(aq_size_parse_limit(nines, &limit));
    free(nines);

    char *zeros = make_huge_text('0', "1");
    assert_true(aq_size_parse_int(zeros, &whole) && whole == 1);
    assert_true(aq_size_parse_real(zeros, &real) && real == 1);
    assert_true(aq_size_parse_bytes(zeros, &bytes) && bytes == 1);
    assert_false(aq_size_parse_bool(zeros, &yes));
    free(zeros);

    char *blanks = make_huge_text(' ', "1");
    assert_true(aq_size_parse_int(blanks, &whole) && whole == 1);
    assert_true(aq_size_parse_bool(blanks, &yes) && yes);
    free(blanks);
}

// The decimal separator is a point also in a locale with a decimal comma. Skipped if no such locale
// is installed.
static void test_locale_is_ignored(void **state)
{
    (void)state;
    const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    bool found = false;
    for (size_t i = 0; i < COUNT(commas) && !found; i++)
        found = setlocale(LC_ALL, commas[i]) != NULL;
    if (!found)
        skip();
    double real = 0;
    uint64_t bytes = 0;
    bool point = aq_size_parse_real("1.5", &real) && aq_size_parse_bytes("1.5K", &bytes);
    bool comma = aq_size_parse_real("1,5", &real);
    setlocale(LC_ALL, "C");
    assert_true(point);
    assert_false(comma);
    assert_true(real == 1.5 && bytes == 1536);
}

// A pseudo-random number (xorshift) from a fixed seed, so that a failure can be repeated.
static uint64_t next_random(void)
{
    static uint64_t x = UINT64_C(88172645463325252);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

// Writes a random text: with equal chance only characters of numbers and units, or any bytes.
static void random_text(char *text, size_t size)
{
    static const char letters[] = "0123456789012345678901.+-eExXKMGTBib/HPpyYnNo \t";
    size_t length = next_random() % size;
    bool numeric = next_random() % 2;
    for (size_t i = 0; i < length; i++) {
        uint64_t r = next_random();
        text[i] = numeric ? letters[r % (sizeof letters - 1)] : (char)(1 + r % 255);
    }
    text[length] = '\0';
}

static void check_random_int(const char *text)
{
    int64_t value = -77, again;
    char printed[32];
    if (!aq_size_parse_int(text, &value)) {
        assert_true(value == -77);
        return;
    }
    snprintf(printed, sizeof printed, "%" PRId64, value);
    assert_true(aq_size_parse_int(printed, &again) && again == value);
}

static void check_random_real(const char *text)
{
    double value = -77, again;
    char printed[64];
    if (!aq_size_parse_real(text, &value)) {
        assert_true(value == -77);
        return;
    }
    assert_true(isfinite(value));
    snprintf(printed, sizeof printed, "%.17g", value);
    assert_true(aq_size_parse_real(printed, &again) && again == value);
}

static void check_random_bytes(const char *text)
{
    uint64_t value = 77, again;
    char printed[32];
    if (!aq_size_parse_bytes(text, &value)) {
        assert_true(value == 77);
        return;
    }
    snprintf(printed, sizeof printed, "%" PRIu64, value);
    assert_true(aq_size_parse_bytes(printed, &again) && again == value);
}

// A limit is either a size or a fraction.
static void check_random_limit(const char *text)
{
    aq_size_limit_t limit = {77, 77, true};
    if (!aq_size_parse_limit(text, &limit)) {
        assert_true(limit.bytes == 77 && limit.fraction == 77 && limit.per_host);
        return;
    }
    assert_true((limit.bytes > 0) != (limit.fraction > 0));
    assert_true(limit.fraction >= 0 && limit.fraction <= 1);
    assert_true(!limit.per_host || strpbrk(text, "hH") != NULL);
}

static void test_random_input(void **state)
{
    (void)state;
    int legal = 0;
    for (int i = 0; i < RANDOM_INPUTS; i++) {
        char text[16];
        int64_t whole;
        bool yes;
        random_text(text, sizeof text);
        check_random_int(text);
        check_random_real(text);
        check_random_bytes(text);
        check_random_limit(text);
        legal += aq_size_parse_bool(text, &yes) || aq_size_parse_int(text, &whole);
    }
    assert_between(legal, 1000, RANDOM_INPUTS / 2); // enough inputs of both kinds
}

static void test_memory(void **state)
{
    (void)state;
    uint64_t installed = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t memory = aq_size_physical_memory();
    assert_true(memory > 0);
    assert_true(memory <= installed);
}

// Binds the process to one processor; returns 0 if the library then counts one processor.
static int count_when_bound(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 2;
    int cpu = 0;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &set))
        cpu++;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        return 3;
    return aq_size_processors() == 1 ? 0 : 1;
}

static void test_processors(void **state)
{
    (void)state;
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    assert_between(aq_size_processors(), 1, (uintmax_t)configured);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(count_when_bound());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

// The time for memory at the end grows with it, up to that of the host.
static void test_memory_at_end(void **state)
{
    (void)state;
    const size_t more = (size_t)64 << 20;
    const uint64_t before = aq_exit_resident(getpid());
    char *block = malloc(more);
    assert_non_null(block);
    memset(block, 1, more);
    assert_true(before > 0 && aq_exit_resident(getpid()) >= before + more / 2);
    free(block);
    assert_int_equal(aq_exit_resident(-1), 0);
    assert_int_equal(aq_exit_memory_ns(0), 0);
    assert_true(aq_exit_memory_ns(more) > 0 &&
                aq_exit_memory_ns(more) < aq_exit_memory_ns(2 * more));
    assert_true(aq_exit_memory_ns(UINT64_MAX) >= aq_exit_memory_ns(aq_size_physical_memory()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_int_good),      cmocka_unit_test(test_int_bad),
        cmocka_unit_test(test_bool_good),     cmocka_unit_test(test_bool_bad),
        cmocka_unit_test(test_real_good),     cmocka_unit_test(test_real_bad),
        cmocka_unit_test(test_bytes_good),    cmocka_unit_test(test_bytes_bad),
        cmocka_unit_test(test_limit_good),    cmocka_unit_test(test_limit_bad),
        cmocka_unit_test(test_huge_input),    cmocka_unit_test(test_locale_is_ignored),
        cmocka_unit_test(test_random_input),  cmocka_unit_test(test_memory),
        cmocka_unit_test(test_memory_at_end), cmocka_unit_test(test_processors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
