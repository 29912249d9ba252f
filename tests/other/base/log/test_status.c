// SPDX-License-Identifier: BSD-3-Clause
// Statuses: each has a name of its own, and a value that is no status has a name too.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <limits.h>

#include "../../../../other/base/log/status.h"

static void test_names(void **state)
{
    (void)state;
    const char *unknown = aq_status_name((aq_status_t)-1);
    for (int i = AQ_OK; i <= AQ_HANDLED; i++) {
        const char *name = aq_status_name((aq_status_t)i);
        assert_non_null(name);
        assert_string_not_equal(name, "");
        assert_string_not_equal(name, unknown);
        for (int j = AQ_OK; j < i; j++)
            assert_string_not_equal(name, aq_status_name((aq_status_t)j));
    }
    assert_string_equal(aq_status_name(AQ_OK), "ok");
    assert_string_equal(aq_status_name(AQ_AGAIN), "not now, try again");
    assert_string_equal(aq_status_name(AQ_ERR_PEER), "peer lost");
    assert_string_equal(aq_status_name(AQ_ERR_ABSENT), "not available here");
}

static void test_garbage(void **state)
{
    (void)state;
    static const int garbage[] = {-1, AQ_HANDLED + 1, 1000, INT_MAX, INT_MIN};
    for (unsigned i = 0; i < sizeof garbage / sizeof garbage[0]; i++)
        assert_string_equal(aq_status_name((aq_status_t)garbage[i]), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
