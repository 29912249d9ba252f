// SPDX-License-Identifier: BSD-3-Clause
// Memory kinds: only host memory is supported.

#include "../../unit/unit_test.h"

#include "../../../core/gasnet_mk.h"

#define UNTOUCHED ((gex_MK_t)(uintptr_t)0x77)

static void assert_create(gex_MK_Create_args_t args, gex_Flags_t flags, int result,
                          gex_MK_t expected)
{
    gex_MK_t kind = UNTOUCHED;
    assert_int_equal(gex_MK_Create(&kind, GEX_CLIENT_INVALID, &args, flags), result);
    assert_ptr_equal(kind, expected);
}

static void test_host(void **state)
{
    (void)state;
    assert_create((gex_MK_Create_args_t){.gex_class = GEX_MK_CLASS_HOST}, 0, GASNET_OK,
                  GEX_MK_HOST);
    gex_MK_Destroy(GEX_MK_HOST, 0);
    assert_create((gex_MK_Create_args_t){0}, 0, GASNET_OK, GEX_MK_HOST);
    assert_ptr_not_equal(GEX_MK_HOST, GEX_MK_INVALID);
    assert_null(GEX_MK_INVALID);
}

static void test_refused(void **state)
{
    (void)state;
    const gex_MK_Class_t devices[] = {GEX_MK_CLASS_CUDA_UVA, GEX_MK_CLASS_HIP, GEX_MK_CLASS_ZE,
                                      (gex_MK_Class_t)9};
    for (unsigned i = 0; i < 4; i++)
        assert_create((gex_MK_Create_args_t){.gex_class = devices[i]}, 0, GASNET_ERR_BAD_ARG,
                      UNTOUCHED);
    assert_create((gex_MK_Create_args_t){.gex_class = GEX_MK_CLASS_HOST}, 1, GASNET_ERR_BAD_ARG,
                  UNTOUCHED);
    assert_create((gex_MK_Create_args_t){.gex_flags = 4}, 0, GASNET_ERR_BAD_ARG, UNTOUCHED);
    assert_int_equal(offsetof(gex_MK_Create_args_t, gex_flags), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_host), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
