// SPDX-License-Identifier: BSD-3-Clause
// Shift tables: what is behind a table faults, and tells the rank that was looked up; further
// tables than have addresses for all ranks; addresses that are limited.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../../core/endpoint/shift_table.h"

enum { TABLES = 100, SMALL = 131072 };

// Whether this process may read an address: the kernel tells by a system call that reads it.
static bool is_readable(uintptr_t addr)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const bool readable = write(ends[1], (const void *)addr, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return readable;
}

static uintptr_t entry_of(const intptr_t *table, uint32_t rank)
{
    return (uintptr_t)table + (uintptr_t)rank * sizeof *table;
}

static void check_beyond(const intptr_t *table, uint32_t rank, uint32_t size)
{
    uint32_t found_rank = 0, found_size = 0;
    assert_false(is_readable(entry_of(table, rank)));
    assert_true(aq_shift_table_beyond(entry_of(table, rank), &found_rank, &found_size));
    assert_int_equal(found_rank, rank);
    assert_int_equal(found_size, size);
}

static void check_inside(intptr_t *table, uint32_t size)
{
    uint32_t rank, found;
    for (uint32_t r = 0; r < size; r++) {
        assert_int_equal(table[r], 0);
        table[r] = r + 1;
        assert_false(aq_shift_table_beyond(entry_of(table, r), &rank, &found));
    }
}

static void test_every_rank(void **state)
{
    static const uint32_t sizes[] = {1, 2, 511, 512, 513, 100000};
    (void)state;
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint32_t size = sizes[i];
        intptr_t *table = aq_shift_table_new(size);
        assert_non_null(table);
        check_inside(table, size);
        check_beyond(table, size, size);
        check_beyond(table, size + 1000000, size);
        check_beyond(table, UINT32_MAX, size);
        aq_shift_table_free(table);
        uint32_t rank, found;
        assert_false(aq_shift_table_beyond(entry_of(table, size), &rank, &found));
    }
    aq_shift_table_free(NULL);
}

static void test_many(void **state)
{
    intptr_t *tables[TABLES];
    (void)state;
    for (uint32_t i = 0; i < TABLES; i++)
        assert_non_null(tables[i] = aq_shift_table_new(i + 1));
    for (uint32_t i = 0; i < TABLES; i++) {
        check_inside(tables[i], i + 1);
        check_beyond(tables[i], i + 1, i + 1);
        check_beyond(tables[i], SMALL, i + 1);
        check_beyond(tables[i], UINT32_MAX, i + 1);
    }
    for (uint32_t i = 0; i < TABLES; i++)
        aq_shift_table_free(tables[i]);
    intptr_t *again = aq_shift_table_new(3);
    check_beyond(again, UINT32_MAX, 3);
    aq_shift_table_free(again);
}

// Addresses that this process takes now, in bytes: terabytes with a sanitizer.
static rlim_t addresses(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void test_limited(void **state)
{
    struct rlimit old, limit;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    limit = old;
    limit.rlim_cur = addresses() + ((rlim_t)16 << 30);
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        skip();
    intptr_t *table = aq_shift_table_new(5);
    assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
    assert_non_null(table);
    check_beyond(table, 5, 5);
    check_beyond(table, SMALL + 4, 5);
    aq_shift_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_rank),
                                       cmocka_unit_test(test_many), cmocka_unit_test(test_limited)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
