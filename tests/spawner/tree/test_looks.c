// SPDX-License-Identifier: BSD-3-Clause
// Readers of a job at the socket of a process of its tree (look_readers.h): one that asks for
// something else, one that does not read. Frames of a helper (node_frames.h): a question for
// another's host, a host that starts again.
#include "../../unit/unit_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../spawner/tree/look_readers.h"
#include "../../../spawner/wire/messages.h"
#include "../../../spawner/tree/node_tree.h"
#include "../../../spawner/tree/node_watch.h"
#include "../../../spawner/tree/node_frames.h"
#include "../../unit/assert_between.h"

// ---- readers ----

static aq_look_readers_t readers;
static aq_node_t node;
static struct sockaddr_un address;
static socklen_t address_length;

// The last request.
static struct {
    aq_look_reader_t *reader;
    unsigned what, count;
    uint32_t rank;
} query;

static void query_take(aq_node_t *of, aq_look_reader_t *reader, aq_look_request_t what,
                       uint32_t rank)
{
    assert_ptr_equal(of, &node);
    reader->number = ++query.count;
    query.reader = reader;
    query.what = what;
    query.rank = rank;
}

static int readers_start(void **state)
{
    (void)state;
    memset(&query, 0, sizeof query);
    address = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
                                "aqueduct-test-looks-%d", (int)getpid());
    address_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    aq_readers_init(&readers, query_take);
    aq_readers_listen(&readers, &address, address_length);
    assert_true(readers.listener >= 0);
    return 0;
}

static int readers_end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < AQ_LOOK_READERS; i++)
        if (readers.reader[i].link.fd >= 0)
            aq_link_close(&readers.reader[i].link);
    close(readers.listener);
    free(node.wait.polls);
    free(node.wait.watches);
    node = (aq_node_t){0};
    return 0;
}

// Lets the readers take what has come.
static void turn(void)
{
    for (int i = 0; i < 3; i++) {
        aq_readers_watch(&readers, &node);
        aq_node_wait(&node, 10);
    }
}

static int reader_connect(void)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, address_length), 0);
    turn();
    return fd;
}

static void reader_ask(int fd, const char request[AQ_LOOK_REQUEST])
{
    assert_int_equal(write(fd, request, AQ_LOOK_REQUEST), AQ_LOOK_REQUEST);
    turn();
}

// Whether the other side has closed, with nothing to read before.
static bool is_cut(int fd)
{
    char byte;
    const ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno == ECONNRESET);
}

static void a_reader_asks_and_is_told(void **state)
{
    (void)state;
    char got[64];
    const int fd = reader_connect();
    reader_ask(fd, "s\0\0\0\x07");
    assert_int_equal(query.count, 1);
    assert_int_equal(query.what, AQ_LOOK_STACK);
    assert_int_equal(query.rank, 7);
    assert_ptr_equal(aq_readers_find(&readers, 1), query.reader);
    aq_reader_tell(query.reader, AQ_MSG_REPLY, (const uint8_t *)"seen", 4);
    assert_true(recv(fd, got, sizeof got, MSG_DONTWAIT) > 4);
    assert_false(is_cut(fd));
    close(fd);
    turn();
    assert_null(aq_readers_find(&readers, 1));
}

static void an_unknown_request_ends_the_reader(void **state)
{
    (void)state;
    const int fd = reader_connect();
    reader_ask(fd, "x\0\0\0\0");
    assert_int_equal(query.count, 0);
    assert_true(is_cut(fd));
    close(fd);
}

static void a_reader_that_does_not_read_is_cut_off(void **state)
{
    (void)state;
    enum { PIECE = 4 << 20 };
    uint8_t *piece = calloc(1, PIECE);
    const int fd = reader_connect(), other = reader_connect();
    assert_non_null(piece);
    reader_ask(fd, "a\0\0\0\0");
    aq_look_reader_t *reader = query.reader;
    unsigned pieces = 0;
    while (reader->link.fd >= 0 && pieces < 100) {
        aq_reader_tell(reader, AQ_MSG_REPLY, piece, PIECE);
        pieces++;
        assert_true(reader->link.fd < 0 || aq_link_waiting(&reader->link) <= AQ_LOOK_WAITING_MAX);
    }
    assert_between(pieces, AQ_LOOK_WAITING_MAX / PIECE, AQ_LOOK_WAITING_MAX / PIECE + 2);
    assert_null(aq_readers_find(&readers, 1));
    reader_ask(other, "a\0\0\0\0"); // the other one is served on
    assert_int_equal(query.count, 2);
    free(piece);
    close(fd);
    close(other);
}

static void more_readers_wait_for_a_place(void **state)
{
    (void)state;
    int fd[AQ_LOOK_READERS + 1];
    for (unsigned i = 0; i <= AQ_LOOK_READERS; i++)
        fd[i] = reader_connect();
    reader_ask(fd[AQ_LOOK_READERS], "a\0\0\0\0");
    assert_int_equal(query.count, 0);
    close(fd[0]);
    turn();
    assert_int_equal(query.count, 1);
    for (unsigned i = 1; i <= AQ_LOOK_READERS; i++)
        close(fd[i]);
}

// ---- frames of helpers ----

static unsigned passed_on[256]; // frames of each type
static int helper_end;          // of the connection

static void up(aq_node_t *of, const aq_frame_t *frame)
{
    (void)of;
    passed_on[frame->type]++;
}

// Hosts 1 and 2 of 4 are behind the child.
static int helper_start(void **state)
{
    static const aq_node_ops_t ops = {.up = up};
    static aq_spec_host_t hosts[] = {{"a", "", ""}, {"b", "", ""}, {"c", "", ""}, {"d", "", ""}};
    int fds[2];
    aq_node_init(&node, &ops);
    node.spec.hosts = hosts;
    node.spec.host_count = 4;
    memset(passed_on, 0, sizeof passed_on);
    assert_true(aq_node_split(&node, 1, 3, 1));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    node.children[0].state = AQ_CHILD_READY;
    aq_link_open(&node.children[0].link, fds[0]);
    helper_end = fds[1];
    *state = &node.children[0];
    return 0;
}

static int helper_stop(void **state)
{
    aq_child_t *child = *state;
    aq_link_close(&child->link);
    close(helper_end);
    free(node.children);
    node = (aq_node_t){0};
    return 0;
}

static void a_helper_asks_for_its_hosts_only(void **state)
{
    aq_child_t *child = *state;
    aq_write_reader_query(&child->link.in, &(aq_reader_query_t){2, 7, AQ_LOOK_ALL, 0});
    aq_node_take_frames(&node, child);
    assert_int_equal(passed_on[AQ_MSG_READER_QUERY], 1);
    assert_true(child->link.fd >= 0);
    aq_write_reader_query(&child->link.in, &(aq_reader_query_t){3, 7, AQ_LOOK_ALL, 0});
    aq_node_take_frames(&node, child);
    assert_int_equal(passed_on[AQ_MSG_READER_QUERY], 1);
    assert_true(child->link.fd < 0);
}

static void a_host_that_starts_again_is_waited_for(void **state)
{
    aq_child_t *child = *state;
    aq_write_failed(&child->link.in, &(aq_failed_t){2, 3, "why"});
    aq_write_again(&child->link.in, &(aq_again_t){2, 3, 1});
    aq_write_done(&child->link.in, &(aq_done_t){.node = 1});
    aq_node_take_frames(&node, child);
    assert_false(aq_node_is_quiet(&node));
    aq_write_done(&child->link.in, &(aq_done_t){.node = 2});
    aq_node_take_frames(&node, child);
    assert_true(aq_node_is_quiet(&node));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, readers_start, readers_end)
#define HELPER_TEST(name) cmocka_unit_test_setup_teardown(name, helper_start, helper_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_reader_asks_and_is_told),
        TEST(an_unknown_request_ends_the_reader),
        TEST(a_reader_that_does_not_read_is_cut_off),
        TEST(more_readers_wait_for_a_place),
        HELPER_TEST(a_helper_asks_for_its_hosts_only),
        HELPER_TEST(a_host_that_starts_again_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
