// SPDX-License-Identifier: BSD-3-Clause
// The start of a job in a tree of up to 100,000 hosts, simulated with the real codec, splitting and
// gathering, without sockets: messages, bytes, depth, time, memory, descriptors. The tests assert
// what must not grow with the number of hosts; with the argument "table" the program prints it all.
#include "../../unit/unit_test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../other/base/minmax.h"
#include "../../../spawner/wire/gather.h"
#include "../../../spawner/launch/helper_state.h"
#include "../../../spawner/tree/node_tree.h"

// The model of time, in microseconds: what a process spends on each message that it sends or takes,
// on each child that it starts, and how long a message and a remote shell travel.
enum { MESSAGE_US = 20, FORK_US = 1500, LATENCY_US = 100, SHELL_US = 200000 };
enum { RADIX = 8, RANKS_OF_HOST = 4, PART = 24 };

// What one host costs, or the most of any host.
typedef struct cost {
    uint64_t messages, bytes; // that it sends and receives
    uint64_t memory;          // of the helper, in bytes
    uint32_t files;           // descriptors of the helper
} cost_t;

typedef struct start {
    uint32_t hosts, depth;
    uint64_t messages, bytes; // on all links
    uint64_t union_bytes;     // of these, what an exchange brings to each host
    uint64_t job_bytes, most_job, least_job, go_bytes;
    cost_t root, most;
    uint64_t ready_us; // until the last host is ready
    aq_spec_t spec;
    aq_bytes_t spec_bytes;
} start_t;

// ---- the job ----

static void name_hosts(start_t *start)
{
    aq_spec_host_t *hosts = calloc(start->hosts, sizeof *hosts);
    for (uint32_t i = 0; i < start->hosts; i++) {
        char *name = malloc(sizeof "node000000");
        snprintf(name, sizeof "node000000", "node%06u", i % 1000000);
        hosts[i] = (aq_spec_host_t){name, "", ""};
    }
    start->spec.hosts = hosts;
}

static void make_job(start_t *start)
{
    static char *argv[] = {(char *)"hello", NULL}, *environment[] = {(char *)"PATH=/bin", NULL};
    aq_spec_t *spec = &start->spec;
    *spec = (aq_spec_t){.size = start->hosts * RANKS_OF_HOST,
                        .host_count = start->hosts,
                        .tree.radix = RADIX,
                        .remote.program = "/usr/bin/gasnetrun",
                        .command.folder = "/home/ann",
                        .remote.shell = "ssh",
                        .remote.options = "",
                        .remote.ports = "",
                        .command.argv = argv,
                        .command.environment = environment};
    name_hosts(start);
    spec->host_of_rank = calloc(spec->size, sizeof *spec->host_of_rank);
    for (uint32_t r = 0; r < spec->size; r++)
        spec->host_of_rank[r] = r / RANKS_OF_HOST;
    aq_write_spec(&start->spec_bytes, spec);
}

static void free_job(start_t *start)
{
    for (uint32_t i = 0; i < start->hosts; i++)
        free((void *)(uintptr_t)start->spec.hosts[i].name);
    free(start->spec.hosts);
    free(start->spec.host_of_rank);
    aq_bytes_free(&start->spec_bytes);
}

// ---- messages ----

// What a link carries down or up, which both of its ends handle.
typedef struct load {
    uint64_t messages, bytes;
} load_t;

static void carry(start_t *start, load_t *link, uint64_t messages, uint64_t bytes)
{
    link->messages += messages;
    link->bytes += bytes;
    start->messages += messages;
    start->bytes += bytes;
}

static size_t handshake_bytes(void)
{
    aq_bytes_t bytes = {0};
    aq_write_hello(&bytes, &(aq_hello_t){0});
    aq_write_challenge(&bytes, &(aq_challenge_t){0});
    aq_write_auth(&bytes, (uint8_t[AQ_AUTH_BYTES]){0});
    size_t used = bytes.used;
    aq_bytes_free(&bytes);
    return used;
}

// What each host reports of itself on the whole way up: that it is started, and that it is done.
static size_t report_bytes(void)
{
    aq_bytes_t bytes = {0};
    aq_write_node_text(&bytes, AQ_MSG_STARTED, &(aq_node_text_t){0, "10.000.000.000"});
    aq_write_done(&bytes, &(aq_done_t){0, 0});
    size_t used = bytes.used;
    aq_bytes_free(&bytes);
    return used;
}

static size_t go_bytes(const start_t *start)
{
    aq_bytes_t bytes = {0};
    uint32_t *hosts = calloc(start->hosts, sizeof *hosts);
    for (uint32_t i = 0; i < start->hosts; i++)
        hosts[i] = i;
    aq_write_go(&bytes, &(aq_go_t){.peer = {{1, "10.000.000.000"}, {2, "10.000.000.000"}},
                                   .hosts = hosts,
                                   .places = start->hosts});
    size_t used = bytes.used;
    aq_bytes_free(&bytes);
    free(hosts);
    return used;
}

// Sends the job of a child, has the child read it, and returns its bytes.
static size_t send_job(start_t *start, aq_node_t *node, aq_child_t *child)
{
    aq_frame_t frame;
    aq_job_message_t job;
    aq_spec_t got = {0};
    aq_node_send_job(node, child);
    const aq_bytes_t *sent = &child->link.out;
    assert_int_equal(aq_frame_read(sent->data, sent->used, AQ_FRAME_MAX, &frame), AQ_FRAME_WHOLE);
    assert_true(aq_read_job(frame.payload, &job));
    assert_true(aq_read_hosts((aq_view_t){.at = job.hosts, .left = job.hosts_bytes}, job.low,
                              job.high, &got));
    assert_string_equal(aq_spec_host(&got, job.high - 1)->name,
                        start->spec.hosts[job.high - 1].name);
    aq_spec_free(&got);
    start->job_bytes += sent->used;
    start->most_job = sent->used > start->most_job ? sent->used : start->most_job;
    start->least_job =
        start->least_job == 0 || sent->used < start->least_job ? sent->used : start->least_job;
    return sent->used;
}

// ---- one exchange ----

static const aq_step_t step = {.kind = AQ_STEP_EXCHANGE, .part = PART};

static size_t gather_bytes(uint32_t hosts)
{
    return AQ_FRAME_HEADER + 9 + (size_t)hosts * RANKS_OF_HOST * (4 + PART);
}

static size_t spread_bytes(const start_t *start)
{
    return AQ_FRAME_HEADER + 9 + (size_t)start->spec.size * PART;
}

static void gather_own(aq_node_t *node)
{
    const uint8_t row[PART] = {0};
    aq_bytes_t rows = {0};
    for (uint32_t r = 0; r < RANKS_OF_HOST; r++)
        aq_gather_row(&rows, node->self * RANKS_OF_HOST + r, row, PART);
    assert_true(aq_gather_add(&node->gather, &(aq_gathered_t){step, rows.data, rows.used}));
    aq_bytes_free(&rows);
}

// Sends the rows of a subtree to the parent.
static void gather_up(start_t *start, aq_node_t *node, aq_node_t *parent, uint32_t hosts)
{
    aq_bytes_t sent = {0};
    aq_frame_t frame;
    aq_gathered_t rows = aq_gather_result(&node->gather);
    assert_true(aq_gather_complete(&node->gather));
    aq_write_gathered(&sent, AQ_MSG_GATHER, &rows);
    assert_int_equal(sent.used, gather_bytes(hosts));
    assert_int_equal(aq_frame_read(sent.data, sent.used, AQ_FRAME_MAX, &frame), AQ_FRAME_WHOLE);
    assert_true(aq_read_gathered(frame.payload, AQ_MSG_GATHER, start->spec.size, &rows));
    assert_true(aq_gather_add(&parent->gather, &rows));
    aq_bytes_free(&sent);
    aq_bytes_free(&node->gather.data);
}

static void spread(const start_t *start, aq_node_t *root)
{
    aq_bytes_t all = {0}, sent = {0};
    assert_true(aq_gather_complete(&root->gather));
    assert_true(aq_gather_union(&root->gather, &all));
    aq_write_gathered(&sent, AQ_MSG_SPREAD, &(aq_gathered_t){step, all.data, all.used});
    assert_int_equal(sent.used, spread_bytes(start));
    aq_bytes_free(&all);
    aq_bytes_free(&sent);
    aq_bytes_free(&root->gather.data);
}

// ---- links ----

// Everything that the link to a child carries from its call to the end of the job, with one
// exchange.
static load_t load_link(start_t *start, aq_node_t *node, aq_child_t *child)
{
    load_t link = {0, 0};
    uint32_t behind = child->high - child->low;
    carry(start, &link, 3, handshake_bytes());
    carry(start, &link, 1, send_job(start, node, child));
    carry(start, &link, 2 * behind, behind * report_bytes());
    carry(start, &link, 1, start->go_bytes);
    carry(start, &link, 1, gather_bytes(behind));
    carry(start, &link, 1, spread_bytes(start));
    carry(start, &link, 3, 3 * (AQ_FRAME_HEADER + 5)); // JOINED, EXIT and ENDED
    start->union_bytes += spread_bytes(start);
    return link;
}

// ---- hosts ----

// Memory of a helper, or of the launcher, once all links are open: its tables, and an exchange on
// its way. The boot page, which has the union, is not counted.
static uint64_t memory_of(const start_t *start, const aq_node_t *node, uint32_t behind, bool helper)
{
    uint64_t bytes = helper ? sizeof(aq_helper_t) : sizeof(aq_node_t);
    bytes += node->child_count * sizeof(aq_child_t);
    bytes += start->spec_bytes.used + behind * (sizeof(aq_spec_host_t) + sizeof "node000000" + 14);
    bytes += (uint64_t)start->spec.size * sizeof(uint32_t); // host of each rank
    return bytes + gather_bytes(behind) + spread_bytes(start);
}

static void note_most(start_t *start, const cost_t *cost)
{
    start->most.messages = aq_max(start->most.messages, cost->messages);
    start->most.bytes = aq_max(start->most.bytes, cost->bytes);
    start->most.memory = aq_max(start->most.memory, cost->memory);
    start->most.files = aq_max(start->most.files, cost->files);
}

// A link, and while the child starts, three pipes; callers that are not admitted yet; the signals;
// a listener. A helper has its parent, the pipes of its supervisor, log and page in addition.
static uint32_t files_of(const aq_node_t *node, bool helper)
{
    return 3 + 4 * node->child_count + 2 + (helper ? 1 + 3 + 1 + 1 : 0);
}

static cost_t run_host(start_t *start, aq_node_t *parent, const aq_child_t *place, uint32_t depth,
                       uint64_t time);

// Makes the process that starts the hosts [low, high).
static void make_node(const start_t *start, aq_node_t *node, uint32_t self, uint32_t low,
                      uint32_t high)
{
    aq_node_init(node, NULL);
    node->self = self;
    node->spec = start->spec;
    node->spec_bytes = start->spec_bytes;
    assert_true(aq_node_split(node, low, high, RADIX));
    node->gather = (aq_gather_t){.size = start->spec.size,
                                 .expected = node->child_count + (self != AQ_NODE_LAUNCHER)};
}

// Runs the subtrees of a process that is ready at that time.
static cost_t run_children(start_t *start, aq_node_t *node, uint32_t depth, uint64_t time)
{
    cost_t cost = {0};
    for (uint32_t i = 0; i < node->child_count; i++) {
        aq_child_t *child = &node->children[i];
        load_t link = load_link(start, node, child);
        cost.messages += link.messages;
        cost.bytes += link.bytes;
        uint64_t called = time + (i + 1) * FORK_US + SHELL_US + 2 * LATENCY_US + 4 * MESSAGE_US;
        cost_t below = run_host(start, node, child, depth + 1, called);
        below.messages += link.messages;
        below.bytes += link.bytes;
        note_most(start, &below);
        aq_bytes_free(&child->link.out);
    }
    return cost;
}

static cost_t run_host(start_t *start, aq_node_t *parent, const aq_child_t *place, uint32_t depth,
                       uint64_t time)
{
    aq_node_t node;
    uint32_t behind = place->high - place->low;
    make_node(start, &node, place->low, place->low + 1, place->high);
    start->depth = aq_max(start->depth, depth);
    start->ready_us = aq_max(start->ready_us, time);
    cost_t cost = run_children(start, &node, depth, time);
    cost.memory = memory_of(start, &node, behind, true);
    cost.files = files_of(&node, true);
    gather_own(&node);
    gather_up(start, &node, parent, behind);
    free(node.children);
    return cost;
}

static start_t run_start(uint32_t hosts)
{
    start_t start = {.hosts = hosts};
    aq_node_t node;
    make_job(&start);
    start.go_bytes = go_bytes(&start);
    make_node(&start, &node, AQ_NODE_LAUNCHER, 0, hosts);
    start.root = run_children(&start, &node, 0, 0);
    spread(&start, &node);
    start.root.memory = memory_of(&start, &node, hosts, false) + hosts * (1 + sizeof(char *));
    start.root.files = files_of(&node, false);
    free(node.children);
    free_job(&start);
    return start;
}

// Until the launcher has taken the reports of all hosts: the last one travels up, or the reports
// queue there.
static uint64_t started_us(const start_t *start)
{
    uint64_t last = start->ready_us + start->depth * (uint64_t)(LATENCY_US + MESSAGE_US);
    uint64_t queue = SHELL_US + (uint64_t)start->hosts * MESSAGE_US;
    return aq_max(last, queue);
}

// ---- the table ----

static const uint32_t sizes[] = {16, 64, 1000, 10000, 100000};
#define SIZES (sizeof sizes / sizeof sizes[0])
static start_t starts[SIZES];

#define ROW(what, value)                                                                           \
    do {                                                                                           \
        printf("%-44s", what);                                                                     \
        for (const start_t *s = starts; s < starts + SIZES; s++)                                   \
            printf(" %11.1f", (double)(value));                                                    \
        putchar('\n');                                                                             \
    } while (0)

static void print_table(void)
{
    ROW("hosts", s->hosts);
    ROW("depth of the tree", s->depth);
    ROW("messages for each host", (double)s->messages / s->hosts);
    ROW("bytes for each host, without the union", (double)(s->bytes - s->union_bytes) / s->hosts);
    ROW("... of these, the job", (double)s->job_bytes / s->hosts);
    ROW("the union for each host, KiB", (double)s->union_bytes / s->hosts / 1024);
    ROW("job of a host with none behind it, bytes", s->least_job);
    ROW("longest job, KiB", (double)s->most_job / 1024);
    ROW("GO, bytes", s->go_bytes);
    ROW("messages of the launcher", s->root.messages);
    ROW("messages of the busiest helper", s->most.messages);
    ROW("bytes of the busiest helper, KiB", (double)s->most.bytes / 1024);
    ROW("memory of the launcher, KiB", (double)s->root.memory / 1024);
    ROW("memory of the largest helper, KiB", (double)s->most.memory / 1024);
    ROW("descriptors of the launcher", s->root.files);
    ROW("descriptors of a helper, at most", s->most.files);
    ROW("until all hosts are ready, ms", (double)s->ready_us / 1000);
    ROW("until the launcher knows, ms", (double)started_us(s) / 1000);
}

// ---- tests ----

static uint32_t deepest(uint32_t hosts)
{
    uint32_t depth = 0;
    for (uint64_t reach = 0, level = 1; reach < hosts; reach += level, depth++)
        level *= RADIX;
    return depth;
}

// Each host has a fixed number of messages of its own, and two reports that each host on the way up
// passes on. Its bytes are the union, its job, and a fixed number. The names in the jobs of all
// hosts above one are the only thing that grows, with the depth.
static void test_messages(void **state)
{
    (void)state;
    const uint64_t name = sizeof "node000000" + 4 + 2 * (4 + 1);
    for (const start_t *s = starts; s < starts + SIZES; s++) {
        assert_true(s->depth <= deepest(s->hosts) + 1);
        assert_true(s->messages <= s->hosts * (uint64_t)(10 + 2 * s->depth));
        assert_true(s->job_bytes <= s->hosts * (s->least_job + s->depth * name));
        assert_true(s->bytes - s->union_bytes <=
                    s->job_bytes + s->hosts * (300 +
                                               s->depth * (uint64_t)(report_bytes() +
                                                                     RANKS_OF_HOST * (4 + PART)) +
                                               s->go_bytes));
        assert_int_equal(s->root.messages, 2 * s->hosts + 10 * RADIX);
    }
}

// What a host without hosts behind it gets does not depend on the size of the job, nor does GO; and
// from a process to its children a number of links that depends on neither.
static void test_constant(void **state)
{
    (void)state;
    for (const start_t *s = starts + 1; s < starts + SIZES; s++) {
        assert_int_equal(s->least_job, starts[0].least_job);
        assert_int_equal(s->go_bytes, starts[0].go_bytes);
        assert_int_equal(s->root.files, starts[1].root.files);
        assert_true(s->most.files <= s->root.files + 6);
    }
}

// A helper keeps 4 bytes a rank, the names of its subtree, and an exchange on its way.
static void test_memory(void **state)
{
    (void)state;
    for (const start_t *s = starts; s < starts + SIZES; s++) {
        uint64_t ranks = s->hosts * (uint64_t)RANKS_OF_HOST, behind = s->hosts / RADIX + 1;
        uint64_t fixed = sizeof(aq_helper_t) + RADIX * sizeof(aq_child_t) + 1024;
        assert_true(s->most.memory <=
                    fixed + ranks * (4 + PART) + 64 + behind * (64 + RANKS_OF_HOST * (4 + PART)));
        assert_true(s->most.memory < s->root.memory + sizeof(aq_helper_t));
    }
}

// The time grows with the depth only, until the reports queue at the launcher.
static void test_time(void **state)
{
    (void)state;
    const uint64_t level = RADIX * FORK_US + SHELL_US + 2 * LATENCY_US + 4 * MESSAGE_US;
    for (const start_t *s = starts; s < starts + SIZES; s++)
        assert_true(s->ready_us <= s->depth * level);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_time),
    };
    for (size_t i = 0; i < SIZES; i++)
        starts[i] = run_start(sizes[i]);
    if (argc > 1 && strcmp(argv[1], "table") == 0) {
        print_table();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
