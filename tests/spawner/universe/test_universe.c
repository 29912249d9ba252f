// SPDX-License-Identifier: BSD-3-Clause
// The table of a universe: numbers, names, the coordinator; its messages are read back as they were
// written, and truncated or forged ones are refused. The call to a daemon, against one that is
// played.
#include "../../unit/unit_test.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../spawner/wire/caller.h"
#include "../../../spawner/wire/dial.h"
#include "../../../spawner/universe/universe_table.h"
#include "../wire/only_frame.h"

static const uint8_t key[AQ_KEY_BYTES] = {1, 2, 3}, other_key[AQ_KEY_BYTES] = {4};

static aq_row_t member(const char *name, uint32_t number)
{
    return (aq_row_t){.number = number,
                      .name = name,
                      .user = "",
                      .prefix = "/opt",
                      .addresses = "10.0.0.1,fd00::1",
                      .port = 4711,
                      .slots = 3,
                      .processors = 8};
}

static uint32_t add(aq_table_t *table, const char *name, uint32_t preferred)
{
    const aq_row_t row = member(name, preferred);
    const aq_row_t *added = aq_table_add(table, &row);
    assert_non_null(added);
    assert_string_equal(added->name, name);
    return added->number;
}

// ---- the table ----

static void test_numbers(void **state)
{
    (void)state;
    aq_table_t table = {0};
    assert_int_equal(add(&table, "c", 2), 2);
    assert_int_equal(add(&table, "a", 0), 0);
    assert_int_equal(add(&table, "b", 1), 1);
    assert_int_equal(add(&table, "d", AQ_NO_NUMBER), 3);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(table.rows[i].number, i);
    // A number that was given is never given again.
    aq_table_remove(&table, 1);
    assert_null(aq_table_find(&table, 1));
    assert_int_equal(add(&table, "b", 1), 4);
    assert_int_equal(add(&table, "e", 2), 5);
    // A number that makes no sense costs no memory.
    assert_int_equal(add(&table, "f", 4000000000u), 6);
    assert_int_equal(table.next, 7);
    aq_table_free(&table);
}

static void test_names(void **state)
{
    (void)state;
    aq_table_t table = {0};
    assert_null(aq_table_coordinator(&table));
    (void)add(&table, "a", AQ_NO_NUMBER);
    (void)add(&table, "b", AQ_NO_NUMBER);
    assert_int_equal(aq_table_named(&table, "b", "")->number, 1);
    assert_null(aq_table_named(&table, "b", "ann"));
    aq_table_find(&table, 0)->state = AQ_ROW_LOST;
    assert_null(aq_table_named(&table, "a", ""));
    assert_int_equal(aq_table_coordinator(&table)->number, 1);
    aq_table_find(&table, 1)->state = AQ_ROW_LEAVING;
    assert_int_equal(aq_table_coordinator(&table)->number, 1);
    // A host that comes back takes the place of its lost row.
    assert_int_equal(add(&table, "a", AQ_NO_NUMBER), 2);
    assert_int_equal(table.count, 2);
    aq_table_free(&table);
}

// ---- messages ----

static void test_table_message(void **state)
{
    (void)state;
    aq_table_t table = {0}, read = {0};
    aq_bytes_t bytes = {0};
    uint32_t self = 0;
    (void)add(&table, "a", AQ_NO_NUMBER);
    (void)add(&table, "b", AQ_NO_NUMBER);
    table.rows[1].state = AQ_ROW_LOST;
    table.rows[1].jobs = 5;
    aq_write_table(&bytes, &table, 1);
    const aq_view_t view = only_frame(&bytes, AQ_MSG_TABLE).payload;
    assert_true(aq_read_table(view, &read, &self));
    assert_int_equal(self, 1);
    assert_int_equal(read.count, 2);
    assert_int_equal(read.next, 2);
    assert_string_equal(read.rows[1].name, "b");
    assert_string_equal(read.rows[1].addresses, "10.0.0.1,fd00::1");
    assert_int_equal(read.rows[1].state, AQ_ROW_LOST);
    assert_int_equal(read.rows[1].jobs, 5);
    for (size_t part = 0; part < view.left; part++)
        assert_false(aq_read_table((aq_view_t){view.at, part, false}, &read, &self));
    assert_int_equal(read.count, 2); // a bad table replaces nothing
    table.rows[0].number = 1;        // twice
    bytes.used = 0;
    aq_write_table(&bytes, &table, 1);
    assert_false(aq_read_table(only_frame(&bytes, AQ_MSG_TABLE).payload, &read, &self));
    table.rows[0].number = 0;
    table.next = 1; // below a number
    bytes.used = 0;
    aq_write_table(&bytes, &table, 1);
    assert_false(aq_read_table(only_frame(&bytes, AQ_MSG_TABLE).payload, &read, &self));
    aq_table_free(&table);
    aq_table_free(&read);
    aq_bytes_free(&bytes);
}

static void test_other_messages(void **state)
{
    (void)state;
    aq_bytes_t bytes = {0};
    aq_join_config_t config = {.universe = "default", .ports = "", .addresses = "10.0.0.1"};
    config.port = 4711;
    config.silence_ms = 9;
    config.member = member("a", 7);
    memcpy(config.key, key, sizeof key);
    aq_write_join_config(&bytes, &config);
    aq_join_config_t read;
    assert_true(aq_read_join_config(only_frame(&bytes, AQ_MSG_JOIN_CONFIG).payload, &read));
    assert_int_equal(read.silence_ms, 9);
    assert_memory_equal(read.key, key, sizeof key);
    assert_string_equal(read.addresses, "10.0.0.1");
    assert_int_equal(read.member.number, 7);
    config.port = 0; // a coordinator without a port
    bytes.used = 0;
    aq_write_join_config(&bytes, &config);
    assert_false(aq_read_join_config(only_frame(&bytes, AQ_MSG_JOIN_CONFIG).payload, &read));
    aq_join_t join = {true, member("a", 3)}, got;
    bytes.used = 0;
    aq_write_join(&bytes, &join);
    assert_true(aq_read_join(only_frame(&bytes, AQ_MSG_JOIN).payload, &got));
    assert_true(got.again);
    assert_int_equal(got.member.number, 3);
    join.member.name = "-oProxyCommand=x"; // would be an option of the remote shell
    bytes.used = 0;
    aq_write_join(&bytes, &join);
    assert_false(aq_read_join(only_frame(&bytes, AQ_MSG_JOIN).payload, &got));
    uint8_t again[AQ_KEY_BYTES];
    bytes.used = 0;
    aq_write_key(&bytes, key);
    assert_true(aq_read_key(only_frame(&bytes, AQ_MSG_KEY).payload, again));
    assert_memory_equal(again, key, sizeof key);
    aq_bytes_free(&bytes);
}

// ---- the call to a daemon ----

// A daemon that is played in this process: what it says, and which key it has.
typedef struct daemon {
    aq_listener_t listener;
    aq_caller_t caller;
    const char *version;
    const uint8_t *key;
} daemon_t;

static void take_frame(daemon_t *daemon, const aq_frame_t *frame)
{
    aq_caller_t *caller = &daemon->caller;
    aq_hello_t hello;
    if (frame->type == AQ_MSG_HELLO && aq_read_hello(frame->payload, &hello) && hello.node == 5)
        assert_true(aq_caller_challenge(caller, daemon->key, &hello));
    else if (aq_caller_proves(caller, daemon->key, frame))
        assert_int_equal(aq_link_seal(&caller->link, &caller->auth, daemon->key, false), 0);
    else
        aq_link_close(&caller->link);
}

static void daemon_turn(daemon_t *daemon)
{
    char address[AQ_ADDRESS_TEXT];
    aq_frame_t frame;
    aq_link_t *link = &daemon->caller.link;
    if (link->fd < 0) {
        int fd = aq_net_accept(&daemon->listener, address);
        if (fd < 0)
            return;
        aq_caller_open(&daemon->caller, fd, address);
        aq_write_version(&link->out, daemon->version);
        assert_int_equal(aq_link_flush(link), 0);
    }
    if (aq_link_receive(link) != 0)
        aq_link_close(link);
    while (link->fd >= 0 && link->seal == NULL &&
           aq_link_next(link, AQ_FIRST_MAX, &frame) == AQ_FRAME_WHOLE)
        take_frame(daemon, &frame);
}

// Calls daemon 5 or another one. Returns the result, with the reason in why.
static aq_status_t call(daemon_t *daemon, const char *addresses, uint32_t number, char why[512])
{
    aq_dial_t dial;
    aq_status_t status;
    assert_int_equal(aq_net_listen("127.0.0.1", (aq_ports_t){0, 0}, &daemon->listener), 0);
    daemon->caller.link.fd = -1;
    aq_dial_begin(&dial, addresses, daemon->listener.port, number);
    while ((status = aq_dial_turn(&dial, key)) == AQ_AGAIN) {
        struct pollfd ready = {.fd = dial.link.fd, .events = aq_dial_events(&dial)};
        daemon_turn(daemon);
        (void)poll(&ready, 1, 10);
    }
    snprintf(why, 512, "%s", dial.why);
    if (status == AQ_OK) {
        assert_int_equal(aq_link_flush(&dial.link), 0);
        while (daemon->caller.link.seal == NULL)
            daemon_turn(daemon);
    }
    aq_link_close(&dial.link);
    aq_link_close(&daemon->caller.link);
    (void)close(daemon->listener.fd);
    return status;
}

static void test_call(void **state)
{
    (void)state;
    char why[512];
    daemon_t daemon = {.version = PACKAGE_VERSION, .key = key};
    assert_int_equal(aq_auth_init(), AQ_OK);
    assert_int_equal(call(&daemon, "127.0.0.1", 5, why), AQ_OK);
    // An address without a daemon is followed by the next one.
    assert_int_equal(call(&daemon, "127.0.0.2,127.0.0.1", 5, why), AQ_OK);
    assert_int_equal(call(&daemon, "127.0.0.2", 5, why), AQ_ERR_PEER);
    assert_non_null(strstr(why, "127.0.0.2"));
    assert_int_equal(call(&daemon, "", 5, why), AQ_ERR_PEER);
    assert_int_equal(call(&daemon, "127.0.0.1", 6, why), AQ_ERR_PEER);
    assert_non_null(strstr(why, "it hung up"));
    daemon.key = other_key;
    assert_int_equal(call(&daemon, "127.0.0.1", 5, why), AQ_ERR_PEER);
    assert_non_null(strstr(why, "it does not have the key of this universe"));
    daemon.version = "0.0.1";
    assert_int_equal(call(&daemon, "127.0.0.1", 5, why), AQ_ERR_CONFIG);
    assert_non_null(strstr(why, "version 0.0.1 of Aqueduct, here it is " PACKAGE_VERSION));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),       cmocka_unit_test(test_names),
        cmocka_unit_test(test_table_message), cmocka_unit_test(test_other_messages),
        cmocka_unit_test(test_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
