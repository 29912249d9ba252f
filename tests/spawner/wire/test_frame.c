// SPDX-License-Identifier: BSD-3-Clause
// Frames and messages of the launcher: each is read back as it was written, and truncated or forged
// frames are refused.
#include "../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../spawner/wire/messages.h"
#include "../../../spawner/wire/auth.h"
#include "only_frame.h"

static void test_codec(void **state)
{
    (void)state;
    aq_bytes_t bytes = {0};
    size_t begin = aq_frame_begin(&bytes, 7);
    aq_put_u8(&bytes, 0xfe);
    aq_put_u32(&bytes, 0x01020304);
    aq_put_text(&bytes, "text");
    aq_put_blob(&bytes, "\0\n", 2);
    aq_frame_end(&bytes, begin);
    static const uint8_t wire[] = {7, 0, 0, 0,   0,   0,   0,   20, 0xfe, 1, 2, 3, 4, 0,
                                   0, 0, 5, 't', 'e', 'x', 't', 0,  0,    0, 0, 2, 0, '\n'};
    assert_int_equal(bytes.used, sizeof wire);
    assert_memory_equal(bytes.data, wire, sizeof wire);
    aq_frame_t frame = only_frame(&bytes, 7);
    size_t length;
    assert_int_equal(aq_get_u8(&frame.payload), 0xfe);
    assert_int_equal(aq_get_u32(&frame.payload), 0x01020304);
    assert_string_equal(aq_get_text(&frame.payload), "text");
    assert_memory_equal(aq_get_blob(&frame.payload, &length), "\0\n", 2);
    assert_int_equal(length, 2);
    assert_true(aq_view_done(&frame.payload));
    assert_int_equal(aq_get_u8(&frame.payload), 0);
    assert_false(aq_view_done(&frame.payload));
    for (size_t part = 0; part < bytes.used; part++)
        assert_int_equal(aq_frame_read(bytes.data, part, AQ_FRAME_MAX, &frame), AQ_FRAME_PART);
    assert_int_equal(aq_frame_read(bytes.data, bytes.used, 19, &frame), AQ_FRAME_BAD);
    bytes.data[2] = 1;
    assert_int_equal(aq_frame_read(bytes.data, bytes.used, AQ_FRAME_MAX, &frame), AQ_FRAME_BAD);
    aq_bytes_free(&bytes);
}

static void test_texts(void **state)
{
    (void)state;
    static const uint8_t no_end[] = {0, 0, 0, 2, 'a', 'b'}, inside[] = {0, 0, 0, 3, 'a', 0, 0},
                         empty[] = {0, 0, 0, 0}, longer[] = {0xff, 0xff, 0xff, 0xff, 'a', 0};
    const aq_view_t views[] = {{no_end, sizeof no_end, false},
                               {inside, sizeof inside, false},
                               {empty, sizeof empty, false},
                               {longer, sizeof longer, false}};
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        aq_view_t view = views[i];
        assert_string_equal(aq_get_text(&view), "");
        assert_true(view.bad);
        assert_int_equal(aq_get_u32(&view), 0);
    }
}

static char *long_value(void)
{
    char *value = malloc(100 * 1024 + 8);
    memcpy(value, "LONG=", 5);
    for (size_t i = 5; i < 100 * 1024; i++)
        value[i] = (char)(1 + i % 255);
    value[100 * 1024] = '\0';
    return value;
}

static void assert_same_words(char *const *a, char *const *b)
{
    for (; *a != NULL && *b != NULL; a++, b++)
        assert_string_equal(*a, *b);
    assert_ptr_equal(*a, *b);
}

static void test_spec(void **state)
{
    (void)state;
    char *value = long_value();
    char *argv[] = {"prog", "", "a b", "'\"\n\\", NULL};
    char *environment[] = {"A=1", value, "B=x\ny 'z'", NULL};
    aq_spec_host_t hosts[] = {{"a", "ann", ""}, {"b", "", "/opt/x"}};
    uint32_t host_of_rank[] = {0, 0, 1}, machine_of_rank[] = {0, 0, 0};
    aq_spec_t spec = {.size = 3,
                      .reserve = 1,
                      .host_count = 3,
                      .spare = 1,
                      .cpus_per_rank = 4,
                      .tree.radix = 5,
                      .tree.timeout_ms = 6,
                      .tree.silence_ms = 7,
                      .output.label_lines = true,
                      .output.quiet = true,
                      .remote.program = "/bin/p",
                      .command.folder = "/f",
                      .remote.shell = "ssh",
                      .remote.options = "-x",
                      .remote.ports = "",
                      .launcher.pid = 77,
                      .launcher.host = "n1",
                      .hosts = hosts,
                      .host_of_rank = host_of_rank,
                      .machine_of_rank = machine_of_rank,
                      .workers = true,
                      .key = "0123456789abcde",
                      .command.argv = argv,
                      .command.environment = environment};
    aq_bytes_t bytes = {0};
    aq_spec_t got;
    aq_write_spec(&bytes, &spec);
    assert_true(aq_read_spec((aq_view_t){bytes.data, bytes.used, false}, &got));
    assert_int_equal(got.size, 3);
    assert_int_equal(got.launcher.pid, 77);
    assert_string_equal(got.launcher.host, "n1");
    assert_int_equal(got.reserve, 1);
    assert_int_equal(got.cpus_per_rank, 4);
    assert_int_equal(got.tree.radix, 5);
    assert_int_equal(got.tree.timeout_ms, 6);
    assert_int_equal(got.tree.silence_ms, 7);
    assert_true(got.output.label_lines && got.output.quiet && !got.output.verbose &&
                !got.promiscuous);
    assert_string_equal(got.command.folder, "/f");
    assert_int_equal(got.spare, 1);
    assert_int_equal(got.host_of_rank[2], 1);
    assert_int_equal(got.machine_of_rank[2], 0);
    assert_true(got.workers && !got.direct && !got.rendezvous);
    assert_memory_equal(got.key, spec.key, sizeof got.key);
    assert_same_words(got.command.argv, argv);
    assert_same_words(got.command.environment, environment);
    aq_spec_free(&got);
    for (size_t part = 0; part < bytes.used; part += part < 400 ? 1 : 997)
        assert_false(aq_read_spec((aq_view_t){bytes.data, part, false}, &got));
    host_of_rank[1] = 2; // no such place
    bytes.used = 0;
    aq_write_spec(&bytes, &spec);
    assert_false(aq_read_spec((aq_view_t){bytes.data, bytes.used, false}, &got));
    host_of_rank[1] = 0;
    spec.reserve = 3; // no rank would start
    bytes.used = 0;
    aq_write_spec(&bytes, &spec);
    assert_false(aq_read_spec((aq_view_t){bytes.data, bytes.used, false}, &got));
    aq_bytes_free(&bytes);
    free(value);
}

static void test_first_messages(void **state)
{
    (void)state;
    aq_bytes_t bytes = {0};
    aq_intro_t intro = {.key = "0123456789abcde", .node = 9, .address = "10.0.0.1", .port = 4711};
    aq_intro_t got;
    aq_write_intro(&bytes, &intro);
    assert_true(aq_read_intro(only_frame(&bytes, AQ_MSG_INTRO).payload, &got));
    assert_memory_equal(got.key, intro.key, sizeof got.key);
    assert_string_equal(got.address, "10.0.0.1");
    assert_int_equal(got.port, 4711);
    intro.port = 65536;
    bytes.used = 0;
    aq_write_intro(&bytes, &intro);
    assert_false(aq_read_intro(only_frame(&bytes, AQ_MSG_INTRO).payload, &got));
    aq_hello_t hello = {.node = 3, .nonce = "n"}, got_hello;
    bytes.used = 0;
    aq_write_hello(&bytes, &hello);
    assert_true(aq_read_hello(only_frame(&bytes, AQ_MSG_HELLO).payload, &got_hello));
    assert_memory_equal(&hello, &got_hello, sizeof hello);
    aq_worker_t worker;
    bytes.used = 0;
    aq_write_worker(&bytes, &(aq_worker_t){PACKAGE_VERSION, "boot 7", "net 3", "door", "a", 5, 8});
    assert_true(aq_read_worker(only_frame(&bytes, AQ_MSG_WORKER).payload, &worker));
    assert_string_equal(worker.machine, "boot 7");
    assert_string_equal(worker.space, "net 3");
    assert_string_equal(worker.attach_socket, "door");
    assert_string_equal(worker.host, "a");
    assert_int_equal(worker.rank, 5);
    assert_int_equal(worker.size, 8);
    aq_page_place_t place;
    bytes.used = 0;
    aq_write_page_place(&bytes, &(aq_page_place_t){7, 8, UINT64_C(0x123456789abcdef0), "yes"});
    assert_true(aq_read_page_place(only_frame(&bytes, AQ_MSG_START).payload, &place));
    assert_true(place.pid == 7 && place.fd == 8 && place.inode == UINT64_C(0x123456789abcdef0));
    assert_string_equal(place.answer, "yes");
    bytes.used = 0;
    aq_write_worker(&bytes, &(aq_worker_t){"0.1", "boot 7", "net 3", "door", "a", 5, 8});
    assert_true(aq_read_worker(only_frame(&bytes, AQ_MSG_WORKER).payload, &worker));
    assert_string_equal(worker.version, "0.1");
    assert_string_equal(worker.machine, "");
    aq_job_message_t job = {1, 4, (const uint8_t *)"host", 4, (const uint8_t *)"spec", 4}, got_job;
    bytes.used = 0;
    aq_write_job(&bytes, &job);
    assert_true(aq_read_job(only_frame(&bytes, AQ_MSG_JOB).payload, &got_job));
    assert_int_equal(got_job.high, 4);
    assert_memory_equal(got_job.hosts, "host", 4);
    assert_memory_equal(got_job.spec, "spec", 4);
    aq_bytes_free(&bytes);
}

static void test_hosts(void **state)
{
    (void)state;
    aq_spec_host_t hosts[] = {{"a", "ann", ""}, {"b", "", "/opt/x"}, {"c", "", ""}};
    const aq_spec_t spec = {.host_count = 3, .hosts = hosts};
    aq_spec_t got = {0};
    aq_bytes_t bytes = {0};
    aq_write_hosts(&bytes, &spec, 1, 3);
    assert_true(aq_read_hosts((aq_view_t){bytes.data, bytes.used, false}, 1, 3, &got));
    assert_string_equal(aq_spec_host(&got, 1)->prefix, "/opt/x");
    assert_string_equal(aq_spec_host(&got, 2)->name, "c");
    aq_spec_free(&got);
    assert_false(aq_read_hosts((aq_view_t){bytes.data, bytes.used, false}, 0, 3, &got));
    aq_spec_free(&got);
    for (size_t part = 0; part < bytes.used; part++) {
        assert_false(aq_read_hosts((aq_view_t){bytes.data, part, false}, 1, 3, &got));
        aq_spec_free(&got);
    }
    aq_bytes_free(&bytes);
}

// In a universe each host has its daemon.
static void test_daemons(void **state)
{
    (void)state;
    aq_spec_host_t hosts[] = {{"a", "", ""}, {"b", "", ""}, {"c", "", ""}};
    aq_spec_daemon_t daemons[] = {
        {3, 4711, "10.0.0.1,fd00::1"}, {5, 65535, "10.0.0.2"}, {9, 1, "10.0.0.3"}};
    const aq_spec_t spec = {.host_count = 3, .hosts = hosts, .daemons = daemons};
    aq_spec_t got = {0};
    aq_bytes_t bytes = {0};
    aq_write_hosts(&bytes, &spec, 1, 3);
    assert_true(aq_read_hosts((aq_view_t){bytes.data, bytes.used, false}, 1, 3, &got));
    assert_int_equal(aq_spec_daemon(&got, 1)->number, 5);
    assert_int_equal(aq_spec_daemon(&got, 2)->port, 1);
    assert_string_equal(aq_spec_daemon(&got, 1)->addresses, "10.0.0.2");
    aq_spec_free(&got);
    for (size_t part = 0; part < bytes.used; part++) {
        assert_false(aq_read_hosts((aq_view_t){bytes.data, part, false}, 1, 3, &got));
        aq_spec_free(&got);
    }
    daemons[1].port = 65536;
    bytes.used = 0;
    aq_write_hosts(&bytes, &spec, 1, 3);
    assert_false(aq_read_hosts((aq_view_t){bytes.data, bytes.used, false}, 1, 3, &got));
    aq_spec_free(&got);
    aq_bytes_free(&bytes);
}

// The encoded tables of ranks that are placed evenly do not grow with the ranks.
static size_t placed_bytes(uint32_t size, uint32_t places, bool in_turns)
{
    char *words[] = {"x", NULL};
    uint32_t *host_of_rank = calloc(size, sizeof *host_of_rank);
    aq_spec_t spec = {.size = size, .host_count = places, .host_of_rank = host_of_rank};
    aq_spec_t got;
    aq_bytes_t bytes = {0};
    spec.remote.program = spec.command.folder = spec.remote.shell = spec.remote.options =
        spec.remote.ports = "";
    spec.command.argv = spec.command.environment = words;
    for (uint32_t r = 0; r < size; r++)
        host_of_rank[r] = in_turns ? r % places : r / ((size + places - 1) / places);
    aq_write_spec(&bytes, &spec);
    assert_true(aq_read_spec((aq_view_t){bytes.data, bytes.used, false}, &got));
    assert_memory_equal(got.host_of_rank, host_of_rank, size * sizeof *host_of_rank);
    aq_spec_free(&got);
    aq_bytes_free(&bytes);
    free(host_of_rank);
    return bytes.used;
}

static void test_placement_is_short(void **state)
{
    (void)state;
    assert_int_equal(placed_bytes(64, 8, false),
                     placed_bytes(AQ_JOB_RANKS_MAX, AQ_JOB_RANKS_MAX / 8, false));
    assert_int_equal(placed_bytes(64, 8, true),
                     placed_bytes(AQ_JOB_RANKS_MAX, AQ_JOB_RANKS_MAX / 8, true));
}

static void test_go(void **state)
{
    (void)state;
    aq_bytes_t bytes = {0};
    const aq_spec_t spec = {.host_count = 7, .spare = 3};
    uint32_t hosts[] = {1, 2, 4, 6};
    aq_go_t go = {.peer = {{1, "10.0.0.1"}, {2, ""}}, .hosts = hosts, .places = 4}, got;
    aq_write_go(&bytes, &go);
    assert_true(aq_read_go(only_frame(&bytes, AQ_MSG_GO).payload, &spec, &got));
    assert_string_equal(got.peer[0].text, "10.0.0.1");
    assert_memory_equal(got.hosts, hosts, sizeof hosts);
    assert_int_equal(aq_go_place(&got, 4), 2);
    assert_true(aq_go_has(&got, 6, 7) && aq_go_has(&got, 0, 2) && aq_go_has(&got, 0, 7));
    assert_false(aq_go_has(&got, 0, 1) || aq_go_has(&got, 5, 6) || aq_go_has(&got, 3, 4));
    aq_go_free(&got);
    for (int i = 0; i < 2; i++) {
        hosts[3] = i == 0 ? 7 : 3; // no such host; not ascending
        bytes.used = 0;
        aq_write_go(&bytes, &go);
        assert_false(aq_read_go(only_frame(&bytes, AQ_MSG_GO).payload, &spec, &got));
    }
    aq_bytes_free(&bytes);
}

static void test_later_messages(void **state)
{
    (void)state;
    aq_bytes_t bytes = {0};
    aq_node_text_t text;
    aq_write_node_text(&bytes, AQ_MSG_STARTED, &(aq_node_text_t){2, "10.0.0.1"});
    assert_true(aq_read_node_text(only_frame(&bytes, AQ_MSG_STARTED).payload, &text));
    assert_int_equal(text.node, 2);
    assert_string_equal(text.text, "10.0.0.1");
    aq_failed_t failed;
    bytes.used = 0;
    aq_write_failed(&bytes, &(aq_failed_t){2, 5, "why"});
    assert_true(aq_read_failed(only_frame(&bytes, AQ_MSG_FAILED).payload, &failed));
    assert_true(failed.low == 2 && failed.high == 5);
    assert_string_equal(failed.why, "why");
    bytes.used = 0;
    aq_write_failed(&bytes, &(aq_failed_t){2, 2, "why"}); // no host
    assert_false(aq_read_failed(only_frame(&bytes, AQ_MSG_FAILED).payload, &failed));
    aq_again_t again;
    bytes.used = 0;
    aq_write_again(&bytes, &(aq_again_t){3, 5, 2});
    assert_true(aq_read_again(only_frame(&bytes, AQ_MSG_AGAIN).payload, &again));
    assert_true(again.low == 3 && again.high == 5 && again.failed == 2);
    bytes.used = 0;
    aq_write_again(&bytes, &(aq_again_t){3, 5, 3}); // more than there are
    assert_false(aq_read_again(only_frame(&bytes, AQ_MSG_AGAIN).payload, &again));
    aq_output_t output;
    bytes.used = 0;
    aq_write_output(&bytes, &(aq_output_t){7, 1, (const uint8_t *)"line\n", 5});
    assert_true(aq_read_output(only_frame(&bytes, AQ_MSG_OUTPUT).payload, &output));
    assert_int_equal(output.node, 7);
    assert_int_equal(output.stream, 1);
    assert_memory_equal(output.data, "line\n", 5);
    aq_end_t end;
    bytes.used = 0;
    aq_write_end(&bytes, AQ_MSG_EXIT, &(aq_end_t){true, 255});
    assert_true(aq_read_end(only_frame(&bytes, AQ_MSG_EXIT).payload, &end));
    assert_true(end.now && end.code == 255);
    bytes.used = 0;
    aq_write_end(&bytes, AQ_MSG_EXIT, &(aq_end_t){true, 256});
    assert_false(aq_read_end(only_frame(&bytes, AQ_MSG_EXIT).payload, &end));
    aq_done_t done;
    bytes.used = 0;
    aq_write_done(&bytes, &(aq_done_t){5, 7});
    assert_true(aq_read_done(only_frame(&bytes, AQ_MSG_DONE).payload, &done));
    assert_true(done.node == 5 && done.code == 7);
    aq_fault_t fault;
    bytes.used = 0;
    aq_write_fault(&bytes, &(aq_fault_t){3, "no way"});
    assert_true(aq_read_fault(only_frame(&bytes, AQ_MSG_FAULT).payload, &fault));
    assert_int_equal(fault.ranks, 3);
    assert_string_equal(fault.text, "no way");
    bytes.used = 0;
    aq_write_fault(&bytes, &(aq_fault_t){0, "of no rank"});
    assert_false(aq_read_fault(only_frame(&bytes, AQ_MSG_FAULT).payload, &fault));
    aq_bytes_free(&bytes);
}

static void test_looks(void **state)
{
    aq_bytes_t bytes = {0};
    aq_reader_query_t asker;
    (void)state;
    aq_write_reader_query(&bytes, &(aq_reader_query_t){3, 70000, 's', 9});
    aq_view_t view = only_frame(&bytes, AQ_MSG_READER_QUERY).payload;
    assert_true(aq_read_reader_query(view, &asker));
    assert_true(asker.host == 3 && asker.tag == 70000 && asker.what == 's' && asker.rank == 9);
    view.left--;
    assert_false(aq_read_reader_query(view, &asker));
    bytes.used = 0;
    aq_reader_reply_t told;
    aq_write_reader_reply(&bytes, &(aq_reader_reply_t){3, 70000, 2, (const uint8_t *)"seen", 4});
    view = only_frame(&bytes, AQ_MSG_READER_REPLY).payload;
    assert_true(aq_read_reader_reply(view, &told));
    assert_true(told.host == 3 && told.tag == 70000 && told.type == 2 && told.length == 4);
    assert_memory_equal(told.data, "seen", 4);
    view.left = 8;
    assert_false(aq_read_reader_reply(view, &told));
    aq_bytes_free(&bytes);
}

// The tag of one side is valid only for that side, and only with the same key, node number and
// nonces.
static void test_auth(void **state)
{
    (void)state;
    const uint8_t key[AQ_KEY_BYTES] = "0123456789abcde", other[AQ_KEY_BYTES] = "0123456789abcdf";
    aq_auth_t auth = {.node = 1};
    uint8_t made[AQ_AUTH_BYTES];
    assert_int_equal(aq_auth_init(), AQ_OK);
    aq_auth_random(auth.caller, sizeof auth.caller);
    aq_auth_random(auth.listener, sizeof auth.listener);
    aq_auth_tag(&auth, key, true, made);
    assert_true(aq_auth_verify(&auth, key, true, made));
    assert_false(aq_auth_verify(&auth, key, false, made));
    assert_false(aq_auth_verify(&auth, other, true, made));
    aq_auth_t changed = auth;
    changed.node = 2;
    assert_false(aq_auth_verify(&changed, key, true, made));
    changed = auth;
    changed.listener[31] ^= 1;
    assert_false(aq_auth_verify(&changed, key, true, made));
    changed = auth;
    changed.caller[0] ^= 1;
    assert_false(aq_auth_verify(&changed, key, true, made));
    made[5] ^= 1;
    assert_false(aq_auth_verify(&auth, key, true, made));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codec), cmocka_unit_test(test_texts),
        cmocka_unit_test(test_spec),  cmocka_unit_test(test_first_messages),
        cmocka_unit_test(test_hosts), cmocka_unit_test(test_placement_is_short),
        cmocka_unit_test(test_go),    cmocka_unit_test(test_later_messages),
        cmocka_unit_test(test_looks), cmocka_unit_test(test_daemons),
        cmocka_unit_test(test_auth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
