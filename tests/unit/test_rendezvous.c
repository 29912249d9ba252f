// What a process of a rendezvous reads: the place of the master, the key in a text, and the list of
// ranks that are missing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../spawner/rendezvous.h"
#include "../../spawner/workers.h"

static void expect_place(const char *text, const char *host, uint16_t port)
{
    char got[AQ_MASTER_HOST];
    uint16_t got_port = 0;
    assert_true(aq_rendezvous_split(text, got, &got_port));
    assert_string_equal(got, host);
    assert_int_equal(got_port, port);
}

static void refuse_place(const char *text)
{
    char got[AQ_MASTER_HOST];
    uint16_t port;
    assert_false(aq_rendezvous_split(text, got, &port));
}

static void test_place(void **state)
{
    (void)state;
    expect_place("n17:4711", "n17", 4711);
    expect_place("job-0.job.default.svc:1", "job-0.job.default.svc", 1);
    expect_place("10.0.0.1:65535", "10.0.0.1", 65535);
    expect_place("[fd00::1]:80", "fd00::1", 80);
    expect_place("[fe80::1%eth0]:80", "fe80::1%eth0", 80);
    static const char *const wrong[] = {"",        ":",        "n17",       "n17:",     ":80",
                                        "n17:0",   "n17:x",    "n17:65536", "n17:1-2",  "n17:-1",
                                        "::1:80",  "[]:80",    "[:80",      "[::1:80",  "[::1]",
                                        "[::1]80", "[n17:80]", "a:b:80",    "[::1]x:80"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        refuse_place(wrong[i]);
}

static void test_long_name(void **state)
{
    (void)state;
    char text[AQ_MASTER_HOST + 8], name[AQ_MASTER_HOST];
    memset(name, 'a', sizeof name);
    name[AQ_MASTER_HOST - 1] = '\0';
    snprintf(text, sizeof text, "%s:80", name);
    expect_place(text, name, 80);
    snprintf(text, sizeof text, "a%s:80", name);
    refuse_place(text);
}

static void test_key(void **state)
{
    (void)state;
    uint8_t one[AQ_KEY_BYTES], same[AQ_KEY_BYTES], other[AQ_KEY_BYTES];
    assert_int_equal(aq_auth_init(), AQ_OK);
    aq_auth_key((const uint8_t *)"0123456789abcdef", 16, one);
    aq_auth_key((const uint8_t *)"0123456789abcdefg", 16, same);
    aq_auth_key((const uint8_t *)"0123456789abcdefg", 17, other);
    assert_memory_equal(one, same, sizeof one);
    assert_memory_not_equal(one, other, sizeof one);
    assert_memory_not_equal(one, "0123456789abcdef", sizeof one); // the text does not show
}

// there: one letter per rank, x where a process has arrived.
static void expect_absent(const char *there, const char *wanted)
{
    uint32_t size = (uint32_t)strlen(there), arrived = 0;
    char got[400];
    aq_node_t node = {.spec.size = size, .child_count = size};
    node.children = calloc(size, sizeof *node.children);
    for (uint32_t r = 0; r < size; r++)
        if (there[r] == 'x') {
            aq_child_t *child = &node.children[size - 1 - arrived++]; // in any order
            child->wish = r;
            strcpy(child->host, "host");
        }
    aq_workers_name_absent(&node, got, sizeof got);
    assert_string_equal(got, wanted);
    assert_int_equal(aq_workers_arrived(&node), arrived);
    free(node.children);
}

static void test_absent(void **state)
{
    (void)state;
    expect_absent("-", "0");
    expect_absent("x-", "1");
    expect_absent("-x", "0");
    expect_absent("x---xx-x--", "1-3, 6, 8-9");
    expect_absent("--x", "0-1");
}

static void test_many_absent(void **state)
{
    (void)state;
    const uint32_t size = 4000;
    char got[400];
    aq_node_t node = {.spec.size = size, .child_count = size / 2};
    node.children = calloc(size / 2, sizeof *node.children);
    for (uint32_t i = 0; i < size / 2; i++) {
        node.children[i].wish = 2 * i;
        strcpy(node.children[i].host, "host");
    }
    aq_workers_name_absent(&node, got, sizeof got);
    assert_int_equal(strncmp(got, "1, 3, 5, 7, 9, 11, ", 19), 0);
    assert_non_null(strstr(got, " and others"));
    assert_true(strlen(got) < sizeof got);
    free(node.children);
}

// A worker's rank is a number, or the name of a variable that has one.
static void test_rank(void **state)
{
    (void)state;
    setenv("MY_INDEX", "12", 1);
    setenv("MY_NAME", "job-12", 1);
    assert_int_equal(aq_worker_rank("7"), 7);
    assert_int_equal(aq_worker_rank("MY_INDEX"), 12);
    assert_int_equal(aq_worker_rank(""), AQ_NO_WISH);
    assert_int_equal(aq_worker_rank("MY_NAME"), AQ_BAD_WISH);
    assert_int_equal(aq_worker_rank("NO_SUCH_VARIABLE"), AQ_BAD_WISH);
    assert_int_equal(aq_worker_rank("7x"), AQ_BAD_WISH);
    assert_int_equal(aq_worker_rank("-1"), AQ_BAD_WISH);
    assert_int_equal(aq_worker_rank("1048576"), AQ_BAD_WISH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place),       cmocka_unit_test(test_long_name),
        cmocka_unit_test(test_key),         cmocka_unit_test(test_absent),
        cmocka_unit_test(test_many_absent), cmocka_unit_test(test_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
