// SPDX-License-Identifier: BSD-3-Clause
// What a process of a rendezvous reads: the place of the master, the key in a text; and what the
// master makes of those that call: the list of ranks that are missing, and the hosts.
#include "../../unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/socket.h>

#include "../../../spawner/tree/members.h"
#include "../../../spawner/rendezvous/rendezvous.h"
#include "../../../spawner/tree/workers.h"
#include "../../unit/child_errors.h"
#include "../../../spawner/launch/helper.h"
#include "../../../spawner/tree/node_tree.h"

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
            child->number = r;
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
        node.children[i].number = 2 * i;
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
    assert_int_equal(aq_worker_rank(""), AQ_NO_WORKER_RANK);
    assert_int_equal(aq_worker_rank("MY_NAME"), AQ_BAD_WORKER_RANK);
    assert_int_equal(aq_worker_rank("NO_SUCH_VARIABLE"), AQ_BAD_WORKER_RANK);
    assert_int_equal(aq_worker_rank("7x"), AQ_BAD_WORKER_RANK);
    assert_int_equal(aq_worker_rank("-1"), AQ_BAD_WORKER_RANK);
    assert_int_equal(aq_worker_rank("1048576"), AQ_BAD_WORKER_RANK);
}

// ---- processes of one host ----

static void arrive(aq_node_t *node, uint32_t rank, const char *machine, const char *space)
{
    aq_bytes_t bytes = {0};
    aq_frame_t frame;
    node->children[rank].state = AQ_CHILD_UP;
    aq_write_worker(&bytes, &(aq_worker_t){PACKAGE_VERSION, machine, space, "door", "host", rank,
                                           node->spec.size});
    assert_int_equal(aq_frame_read(bytes.data, bytes.used, AQ_FRAME_MAX, &frame), AQ_FRAME_WHOLE);
    assert_true(aq_workers_take(node, &node->children[rank], &frame));
    assert_false(node->unfit);
    aq_bytes_free(&bytes);
}

// Each member has been told its leader, who tells the master.
static void attach_all(aq_node_t *node)
{
    for (uint32_t r = 0; r < node->spec.size; r++) {
        aq_bytes_t bytes = {0};
        aq_frame_t frame;
        aq_node_text_t text;
        aq_child_t *child = &node->children[r];
        if (child->leader == r)
            continue;
        assert_int_equal(
            aq_frame_read(child->link.out.data, child->link.out.used, AQ_FRAME_MAX, &frame),
            AQ_FRAME_WHOLE);
        assert_true(frame.type == AQ_MSG_ATTACH && aq_read_node_text(frame.payload, &text));
        assert_int_equal(text.node, child->leader);
        aq_write_number(&bytes, AQ_MSG_MEMBER, r);
        assert_int_equal(aq_frame_read(bytes.data, bytes.used, AQ_FRAME_MAX, &frame),
                         AQ_FRAME_WHOLE);
        assert_false(aq_workers_complete(node));
        assert_true(aq_workers_take(node, &node->children[text.node], &frame));
        assert_int_equal(child->state, AQ_CHILD_GONE);
        aq_bytes_free(&bytes);
    }
    assert_true(aq_workers_complete(node));
}

// The first process of a host leads there, but for so many members at most; a network of its own
// sets a process apart, though it can share memory.
static void test_hosts(void **state)
{
    (void)state;
    static char *no_words[] = {(char *)(uintptr_t) "-", NULL};
    const uint32_t many = 2 * AQ_MEMBERS_MAX + 10, size = many + 4;
    aq_node_t node;
    aq_node_init(&node, NULL);
    node.spec = (aq_spec_t){.workers = true,
                            .rendezvous = true,
                            .remote.program = "",
                            .command.folder = "",
                            .remote.shell = "",
                            .remote.options = "",
                            .remote.ports = "",
                            .command.argv = no_words,
                            .command.environment = no_words + 1};
    assert_true(aq_workers_allocate(&node.spec, size) && aq_node_split(&node, 0, size, 0));
    for (uint32_t r = 0; r < size; r++)
        arrive(&node, r, r < many + 2 ? "one" : "two", r < many ? "a" : "b");
    attach_all(&node);
    assert_true(aq_workers_number(&node));
    assert_int_equal(node.child_count, 5);
    assert_int_equal(node.spec.host_count, 5);
    const uint32_t first[] = {0, AQ_MEMBERS_MAX + 1, 2 * AQ_MEMBERS_MAX + 2, many, many + 2};
    for (uint32_t h = 0; h < 5; h++) {
        assert_int_equal(node.children[h].number, first[h]);
        assert_int_equal(node.spec.host_of_rank[first[h]], h);
        assert_int_equal(node.children[h].low, h);
        assert_int_equal(aq_spec_machine(&node.spec, h), h < 4 ? 0 : 1);
    }
    assert_int_equal(node.spec.host_of_rank[AQ_MEMBERS_MAX], 0);
    assert_int_equal(node.spec.host_of_rank[size - 1], 4);
    for (uint32_t h = 0; h < 5; h++)
        aq_bytes_free(&node.children[h].link.out);
    aq_bytes_free(&node.spec_bytes);
    free(node.children);
    free(node.spec.hosts);
    free(node.spec.host_of_rank);
    free(node.spec.machine_of_rank);
}

static void test_attach_socket(void **state)
{
    (void)state;
    aq_attach_socket_t attach_socket;
    assert_true(aq_attach_socket_read("name/0123/4567", &attach_socket));
    assert_string_equal(attach_socket.name, "name");
    assert_string_equal(attach_socket.word, "0123");
    assert_string_equal(attach_socket.answer, "4567");
    assert_false(aq_attach_socket_read("", &attach_socket));
    assert_false(aq_attach_socket_read("name/0123", &attach_socket));
    assert_false(aq_attach_socket_read("name//4567", &attach_socket));
}

// ---- a process that leads and has ended ----

// Waits as rank 3, whom the master tells to attach to rank 1, where nobody listens, and then
// `more`.
static void wait_for_nobody(const aq_bytes_t *more, int code)
{
    aq_helper_t helper;
    aq_link_t master;
    int ends[2];
    char why[AQ_REMOTE_TEXT];
    aq_helper_init(&helper);
    helper.process.rank = 3;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    aq_link_open(&master, ends[0]);
    aq_link_open(&helper.parent, ends[1]);
    aq_write_node_text(&master.out, AQ_MSG_ATTACH,
                       &(aq_node_text_t){1, "aqueduct-no-such-door/0123/4567"});
    aq_put_raw(&master.out, more->data, more->used);
    assert_int_equal(aq_link_flush(&master), 0);
    assert_int_equal(aq_rendezvous_wait(&helper, why, sizeof why), AQ_AWAIT_ENDED);
    assert_int_equal(helper.end_code, code);
    aq_link_close(&helper.parent);
    aq_link_close(&master);
}

static void wait_for_reason(void)
{
    aq_bytes_t ended = {0};
    aq_write_end(&ended, AQ_MSG_ENDED, &(aq_end_t){.code = 7});
    wait_for_nobody(&ended, 7);
    aq_bytes_free(&ended);
}

static void wait_in_vain(void)
{
    wait_for_nobody(&(aq_bytes_t){0}, 1);
}

// The master has said why the job ended: nothing is to be added.
static void test_unreached(void **state)
{
    (void)state;
    char *told = child_errors(wait_for_reason);
    assert_string_equal(told, "");
    free(told);
    told = child_errors(wait_in_vain);
    assert_non_null(
        strstr(told, "rank 3 cannot reach rank 1, which is on its host (Connection refused)"));
    free(told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place),       cmocka_unit_test(test_long_name),
        cmocka_unit_test(test_key),         cmocka_unit_test(test_absent),
        cmocka_unit_test(test_many_absent), cmocka_unit_test(test_rank),
        cmocka_unit_test(test_hosts),       cmocka_unit_test(test_attach_socket),
        cmocka_unit_test(test_unreached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
