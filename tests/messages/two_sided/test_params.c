// SPDX-License-Identifier: BSD-3-Clause
// Parameter blocks: the sizes of structs that descriptions have, which descriptions are none, and
// which ones are of the same members.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <string.h>

#include "../../../messages/two_sided/params.h"

static size_t size_of(const char *types)
{
    size_t bytes = SIZE_MAX;
    assert_true(aq_params_size(types, &bytes));
    return bytes;
}

// The compiler says what a struct has.
static void test_sizes(void **state)
{
    (void)state;
    typedef struct {
        int a;
        double b;
        short c;
    } idh_t;
    typedef struct {
        char a[3];
        void *b;
        float c[2];
        char d;
    } c3pf2c_t;
    typedef struct {
        char a;
        long long b;
        char c;
        long d;
        short e[5];
    } cqcl5h_t;
    assert_int_equal(size_of(""), 0);
    assert_int_equal(size_of("c"), 1);
    assert_int_equal(size_of("16c"), 16);
    assert_int_equal(size_of("idh"), sizeof(idh_t));
    assert_int_equal(size_of("3cp2fc"), sizeof(c3pf2c_t));
    assert_int_equal(size_of("cqcl5h"), sizeof(cqcl5h_t));
    assert_int_equal(size_of("256c"), 256);
    assert_int_equal(size_of("32d"), 256);
}

static void test_none(void **state)
{
    (void)state;
    static const char *const none[] = {
        "z",   "0c",  "257c", "33d", "2",     "c2",    "-1c",         "1 c",
        " c",  "00c", "c\n",  "I",   "31dcd", "d256c", "4294967297c", "18446744073709551617c",
        "\xff"};
    size_t bytes = 1;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(aq_params_size(none[i], &bytes));
}

static void test_length(void **state)
{
    (void)state;
    char types[GASNETX_TYPES_MAX + 2];
    size_t bytes;
    memset(types, 'c', sizeof types);
    types[GASNETX_TYPES_MAX] = 0;
    assert_int_equal(size_of(types), GASNETX_TYPES_MAX);
    types[GASNETX_TYPES_MAX] = 'c';
    types[GASNETX_TYPES_MAX + 1] = 0;
    assert_false(aq_params_size(types, &bytes));
}

static void test_same(void **state)
{
    (void)state;
    assert_true(aq_params_same("", ""));
    assert_true(aq_params_same("ii", "2i"));
    assert_true(aq_params_same("2i3i", "5i"));
    assert_true(aq_params_same("c2ic", "ciic"));
    assert_false(aq_params_same("", "i"));
    assert_false(aq_params_same("i", ""));
    assert_false(aq_params_same("2i", "3i"));
    assert_false(aq_params_same("3i", "2i"));
    assert_false(aq_params_same("i", "f"));
    assert_false(aq_params_same("ic", "ci"));
}

static void test_wrong(void **state)
{
    (void)state;
    const int word = 1;
    assert_null(aq_params_wrong(&(gasnetx_params_t){NULL, 0, NULL}));
    assert_null(aq_params_wrong(&(gasnetx_params_t){NULL, 0, ""}));
    assert_null(aq_params_wrong(&(gasnetx_params_t){&word, 4, "i"}));
    assert_non_null(aq_params_wrong(&(gasnetx_params_t){&word, 4, NULL}));
    assert_non_null(aq_params_wrong(&(gasnetx_params_t){&word, 8, "i"}));
    assert_non_null(aq_params_wrong(&(gasnetx_params_t){&word, 0, "i"}));
    assert_non_null(aq_params_wrong(&(gasnetx_params_t){NULL, 4, "i"}));
    assert_non_null(aq_params_wrong(&(gasnetx_params_t){&word, 4, "z"}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes), cmocka_unit_test(test_none),  cmocka_unit_test(test_length),
        cmocka_unit_test(test_same),  cmocka_unit_test(test_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
