// SPDX-License-Identifier: BSD-3-Clause
// GASNET_IBV_PORTS: which values are valid, at which character an invalid value is wrong, and which
// ports a filter accepts.
#include "../../../unit/unit_test.h"

#include <stdio.h>
#include <string.h>

#include "../../../../conduits/ibv/ports/ibv_filter.h"

static void assert_refused(const char *text, unsigned character, const char *wanted)
{
    char err[512] = "", place[128];
    assert_false(aq_ibv_filter_check(text, err, sizeof err));
    snprintf(place, sizeof place, ": %s should stand at character %u; ", wanted, character);
    if (strstr(err, place) == NULL)
        fail_msg("the message about '%s' is: %s", text, err);
    assert_memory_equal(err, "GASNET_IBV_PORTS: '", 19);
    assert_non_null(strstr(err, "for example mlx5_0+mlx5_1:1,2"));
    assert_null(strchr(err, '\n'));
}

static void assert_accepted(const char *text)
{
    char err[512] = "";
    if (!aq_ibv_filter_check(text, err, sizeof err))
        fail_msg("%s", err);
    assert_string_equal(err, "");
}

static void test_grammar(void **state)
{
    (void)state;
    assert_accepted("");
    assert_accepted("InfiniHost0+InfiniHost1:2"); // the example of the manual
    assert_accepted("mlx5_0");
    assert_accepted("mlx5_0:1");
    assert_accepted("mlx5_0:1,2,255+mlx5_0+mlx5_0:1");
    assert_accepted("x:001");
    assert_accepted("rocep1s0f0.1-a/b");
}

static void test_faults(void **state)
{
    (void)state;
    static const char *const name = "the name of a device";
    static const char *const port = "the number of a port, from 1 to 255";
    assert_refused("+", 1, name);
    assert_refused("a+", 3, name);
    assert_refused("a++b", 3, name);
    assert_refused(":1", 1, name);
    assert_refused(" a", 1, name);
    assert_refused("a:1+,2", 5, name);
    assert_refused("a:", 3, port);
    assert_refused("a:+b", 3, port);
    assert_refused("a:1,", 5, port);
    assert_refused("a:1,,2", 5, port);
    assert_refused("a:x", 3, port);
    assert_refused("a:0", 3, port);
    assert_refused("a:256", 3, port);
    assert_refused("a:1,99999999999999999999", 5, port);
    assert_refused("a:-1", 3, port);
    assert_refused("a b", 2, "'+', ':' or the end");
    assert_refused("a,2", 2, "'+', ':' or the end");
    assert_refused("a\nb", 2, "'+', ':' or the end");
    assert_refused("a:1:2", 4, "a digit, ',', '+' or the end");
    assert_refused("a:1 +b", 4, "a digit, ',', '+' or the end");
    assert_refused("a:1x", 4, "a digit, ',', '+' or the end");
}

// The message quotes only a part of a long value, and still names the position.
static void test_long_fault(void **state)
{
    (void)state;
    char text[400], err[512];
    memset(text, 'a', sizeof text);
    strcpy(text + 300, ":0");
    assert_refused(text, 302, "the number of a port, from 1 to 255");
    assert_false(aq_ibv_filter_check(text, err, sizeof err));
    assert_non_null(strstr(err, "aaa...' is not"));
    char room[40];
    assert_false(aq_ibv_filter_check(text, room, sizeof room));
    assert_true(memchr(room, '\0', sizeof room) != NULL);
}

static void test_match(void **state)
{
    (void)state;
    static const struct {
        const char *text, *device;
        unsigned port;
        aq_ibv_filter_verdict_t verdict;
    } cases[] = {
        {"", "a", 1, AQ_IBV_FILTER_FIRST_ACTIVE},
        {"a", "a", 1, AQ_IBV_FILTER_FIRST_ACTIVE},
        {"a", "a", 2, AQ_IBV_FILTER_FIRST_ACTIVE},
        {"a", "b", 1, AQ_IBV_FILTER_OTHER_DEVICE},
        {"a", "aa", 1, AQ_IBV_FILTER_OTHER_DEVICE},
        {"aa", "a", 1, AQ_IBV_FILTER_OTHER_DEVICE},
        {"a:2", "a", 2, AQ_IBV_FILTER_NAMED},
        {"a:2", "a", 1, AQ_IBV_FILTER_OTHER_PORT},
        {"a:12", "a", 1, AQ_IBV_FILTER_OTHER_PORT},
        {"a:1,2", "a", 2, AQ_IBV_FILTER_NAMED},
        {"a:1,2", "a", 3, AQ_IBV_FILTER_OTHER_PORT},
        {"a:2", "b", 2, AQ_IBV_FILTER_OTHER_DEVICE},
        {"a+b:1", "b", 1, AQ_IBV_FILTER_NAMED},
        {"b:1+a", "a", 3, AQ_IBV_FILTER_FIRST_ACTIVE},
        {"a:2+a", "a", 1, AQ_IBV_FILTER_FIRST_ACTIVE}, // the better of two entries
        {"a+a:2", "a", 2, AQ_IBV_FILTER_NAMED},
        {"a:1+a:2", "a", 2, AQ_IBV_FILTER_NAMED},
        {"a:1+a:2", "a", 1, AQ_IBV_FILTER_NAMED},
        {"c+b+a:255", "a", 255, AQ_IBV_FILTER_NAMED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_accepted(cases[i].text);
        if (aq_ibv_filter_match(cases[i].text, cases[i].device, cases[i].port) != cases[i].verdict)
            fail_msg("case %zu: wrong verdict of '%s' on port %u of %s", i, cases[i].text,
                     cases[i].port, cases[i].device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_long_fault),
        cmocka_unit_test(test_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
