// SPDX-License-Identifier: BSD-3-Clause
// The report about spawners: it has the rows of its count, and nothing behind them.
#include "../../unit/unit_test.h"

#include <string.h>

#include "../../../spawner/join/spawner_list.h"

enum { ROOM = 32 };

static void test_report(void **state)
{
    static aq_spawner_report_t all[ROOM], few[ROOM], untouched;
    (void)state;
    memset(&untouched, '!', sizeof untouched);
    for (size_t i = 0; i < ROOM; i++)
        all[i] = few[i] = untouched;
    const size_t count = aq_spawner_report(all, ROOM);
    assert_in_range(count, 3, ROOM - 1);
    for (size_t i = 0; i < ROOM; i++)
        assert_int_equal(memcmp(&all[i], &untouched, sizeof untouched) != 0, i < count);
    assert_int_equal(aq_spawner_report(few, 2), count);
    assert_string_equal(few[1].name, all[1].name);
    assert_memory_equal(&few[2], &untouched, sizeof untouched);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
