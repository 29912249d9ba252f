// SPDX-License-Identifier: BSD-3-Clause
// Error codes: every code has a name and a description, and all other numbers have a common one.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../unit/unit_test.h"

#include <limits.h>

#include "../../../core/gasnetex_core.h"

static const struct {
    int code;
    const char *name;
} codes[] = {
    {GASNET_OK, "GASNET_OK"},
    {GASNET_ERR_NOT_INIT, "GASNET_ERR_NOT_INIT"},
    {GASNET_ERR_RESOURCE, "GASNET_ERR_RESOURCE"},
    {GASNET_ERR_BAD_ARG, "GASNET_ERR_BAD_ARG"},
    {GASNET_ERR_NOT_READY, "GASNET_ERR_NOT_READY"},
    {GASNET_ERR_BARRIER_MISMATCH, "GASNET_ERR_BARRIER_MISMATCH"},
};
enum { CODES = sizeof codes / sizeof codes[0] };

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(GASNET_OK, 0);
    for (unsigned i = 0; i < CODES; i++)
        assert_string_equal(gasnet_ErrorName(codes[i].code), codes[i].name);
}

static void test_descriptions(void **state)
{
    (void)state;
    const char *unknown = gasnet_ErrorDesc(-1);
    for (unsigned i = 0; i < CODES; i++) {
        const char *meaning = gasnet_ErrorDesc(codes[i].code);
        assert_non_null(meaning);
        assert_string_not_equal(meaning, "");
        assert_string_not_equal(meaning, unknown);
        assert_string_not_equal(meaning, codes[i].name);
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(meaning, gasnet_ErrorDesc(codes[j].code));
    }
    assert_string_equal(gasnet_ErrorDesc(GASNET_OK), "no error");
    assert_string_equal(gasnet_ErrorDesc(GASNET_ERR_NOT_READY), "not complete yet");
}

static void test_unknown(void **state)
{
    (void)state;
    static const int unknown[] = {-1, 1, 10000, GASNET_ERR_BARRIER_MISMATCH + 1, INT_MAX, INT_MIN};
    for (unsigned i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        assert_string_equal(gasnet_ErrorName(unknown[i]), "(unknown)");
        assert_string_equal(gasnet_ErrorDesc(unknown[i]), "no error code of this library");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_descriptions),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
