// SPDX-License-Identifier: BSD-3-Clause
// Which port suits a process: the type, the names of variables, fair sharing, and distances in
// invented layouts of hosts.
#include "../../../unit/unit_test.h"

#include <stdio.h>
#include <string.h>

#include "../../../../conduits/ibv/ports/ibv_affinity.h"
#include "../../../../conduits/ibv/ports/ibv_distance.h"
#include "../../../../conduits/ibv/ports/ibv_select.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

static void assert_type(const char *text, aq_ibv_select_kind_t kind, char operation,
                        uint32_t operand)
{
    aq_ibv_select_type_t type;
    char err[512] = "";
    if (!aq_ibv_select_type_read(text, &type, err, sizeof err))
        fail_msg("'%s' is refused: %s", text, err);
    assert_int_equal(type.kind, kind);
    assert_int_equal(type.operation, operation);
    assert_int_equal(type.operand, operand);
}

static void test_types(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",          "%4",      "HRank %",           "HRank % 0",
                                        "Core/8/2",  "HRank+1", "HRank % x",         "None / 2",
                                        "Core / -1", "Core 8",  "Core / 99999999999"};
    assert_type("None", AQ_IBV_SELECT_NONE, 0, 0);
    assert_type("auto", AQ_IBV_SELECT_AUTO, 0, 0);
    assert_type("Auto2,reserved", AQ_IBV_SELECT_AUTO, 0, 0);
    assert_type("jrank", AQ_IBV_SELECT_JRANK, 0, 0);
    assert_type("HRank % 4", AQ_IBV_SELECT_HRANK, '%', 4);
    assert_type(" NRank/010 ", AQ_IBV_SELECT_NRANK, '/', 8);
    assert_type("Core/0x10", AQ_IBV_SELECT_OBJECT, '/', 16);
    assert_type("NUMANode", AQ_IBV_SELECT_OBJECT, 0, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        aq_ibv_select_type_t type;
        char err[512] = "";
        assert_false(aq_ibv_select_type_read(wrong[i], &type, err, sizeof err));
        assert_non_null(strstr(err, "GASNET_IBV_PORTS_TYPE: '"));
        assert_non_null(strstr(err, "unset it"));
    }
}

static void test_suffixes(void **state)
{
    (void)state;
    char text[16];
    uint32_t numbers[] = {9, 0, 17, 8};
    assert_true(
        aq_ibv_select_suffix(&(aq_ibv_select_type_t){.operation = 0}, numbers, 4, text, 16));
    assert_string_equal(text, "0_8_9_17");
    assert_true(aq_ibv_select_suffix(&(aq_ibv_select_type_t){.operation = '/', .operand = 8},
                                     numbers, 4, text, 16));
    assert_string_equal(text, "0_1_2");
    assert_true(aq_ibv_select_suffix(&(aq_ibv_select_type_t){.operation = '%', .operand = 2},
                                     numbers, 4, text, 16));
    assert_string_equal(text, "0_1");
    assert_false(
        aq_ibv_select_suffix(&(aq_ibv_select_type_t){.operation = 0}, numbers, 0, text, 16));
    uint32_t many[] = {100, 101, 102, 103};
    assert_false(aq_ibv_select_suffix(&(aq_ibv_select_type_t){.operation = 0}, many, 4, text, 15));
}

// Distances as digits, one row for each process, rows separated by blanks; - is a port that the
// process may not use. wanted: the port of each process as a digit.
static void assert_shared(const char *text, const char *wanted)
{
    aq_ibv_select_row_t rows[16] = {0};
    uint8_t taken[16];
    size_t processes = 0;
    const size_t ports = strcspn(text, " ");
    for (const char *at = text; *at; at += ports + (at[ports] == ' '), processes++)
        for (size_t p = 0; p < ports; p++)
            rows[processes].distance[p] = at[p] == '-' ? AQ_IBV_SELECT_FAR : (uint8_t)(at[p] - '0');
    aq_ibv_select_ports(rows, processes, ports, taken);
    for (size_t i = 0; i < processes; i++) {
        const uint8_t port = wanted[i] == '-' ? AQ_IBV_SELECT_FAR : (uint8_t)(wanted[i] - '0');
        if (taken[i] != port)
            fail_msg("'%s': process %zu has port %u, not %u", text, i, taken[i], port);
    }
}

static void test_sharing(void **state)
{
    (void)state;
    assert_shared("0", "0");
    assert_shared("-", "-");
    assert_shared("01 01 10 10", "0011");         // a port for each socket
    assert_shared("01 10 01 10", "0101");         // however ranks are placed
    assert_shared("00 00 00 00", "0101");         // equally near: in turn
    assert_shared("0011 0011 1100 1100", "0123"); // two for each socket
    assert_shared("0011 1100 0011 1100", "0213");
    assert_shared("00 01", "10");             // the process with one choice takes it first
    assert_shared("-00 00- 00- 1-0", "1002"); // filters may differ
    assert_shared("000 000 000 000", "0120");
}

#ifdef AQ_HAVE_HWLOC
static const char two_sockets[] = "package:2 numanode:2 core:4 pu:2"; // 32 processors

static aq_ibv_distances_t *distances_open(const char *synthetic)
{
    char why[256] = "";
    aq_ibv_distances_t *distances = aq_ibv_distances_open(synthetic, why, sizeof why);
    if (!distances)
        fail_msg("%s: %s", synthetic, why);
    return distances;
}

static unsigned distance(const aq_ibv_distances_t *distances, const char *beside,
                         const char *processors, const char *memory)
{
    aq_ibv_binding_t binding = {0};
    strcpy(binding.processors, processors);
    strcpy(binding.memory, memory);
    return aq_ibv_distances_of(distances, beside, &binding);
}

static void test_distances(void **state)
{
    (void)state;
    aq_ibv_distances_t *distances = distances_open(two_sockets);
    const char *first = "0-7", *last = "24-31"; // devices beside NUMA nodes 0 and 3
    assert_int_equal(distance(distances, first, "0-3", ""), 0);
    assert_int_equal(distance(distances, first, "0-7", ""), 0);
    // The other NUMA node of the socket is nearer than the other socket.
    assert_true(distance(distances, first, "8-9", "") > distance(distances, first, "0-1", ""));
    assert_true(distance(distances, first, "16-17", "") > distance(distances, first, "8-9", ""));
    assert_true(distance(distances, last, "0", "") > distance(distances, first, "0", ""));
    // A process on all processors is as far from the one as from the other.
    assert_int_equal(distance(distances, first, "0-31", ""), distance(distances, last, "0-31", ""));
    // Memory decides then.
    assert_true(distance(distances, first, "0-31", "0") < distance(distances, last, "0-31", "0"));
    assert_true(distance(distances, first, "0-31", "3") > distance(distances, last, "0-31", "3"));
    // Unknown places, and processors that are not of this host.
    assert_int_equal(distance(distances, "", "0", ""), 0);
    assert_int_equal(distance(distances, "100-101", "0", ""), 0);
    assert_int_equal(distance(distances, first, "nonsense", ""), 0);
    aq_ibv_distances_close(distances);
}

// Ranks of a host with a device at each socket, bound in blocks as the launcher does it.
static void test_blocks(void **state)
{
    (void)state;
    static const char *const beside[] = {"0-15", "16-31"};
    aq_ibv_distances_t *distances = distances_open(two_sockets);
    aq_ibv_select_row_t rows[4];
    uint8_t taken[4];
    for (size_t i = 0; i < 4; i++) {
        aq_ibv_binding_t binding;
        aq_ibv_distances_block(distances, i, 4, &binding);
        for (size_t p = 0; p < 2; p++)
            rows[i].distance[p] = (uint8_t)aq_ibv_distances_of(distances, beside[p], &binding);
    }
    aq_ibv_select_ports(rows, 4, 2, taken);
    assert_int_equal(taken[0], 0);
    assert_int_equal(taken[1], 0);
    assert_int_equal(taken[2], 1);
    assert_int_equal(taken[3], 1);
    aq_ibv_distances_close(distances);
}

static size_t numbers_of(const aq_ibv_distances_t *distances, const char *kind,
                         const char *processors, uint32_t *numbers)
{
    aq_ibv_binding_t binding = {0};
    strcpy(binding.processors, processors);
    return aq_ibv_distances_numbers(distances, kind, &binding, numbers, 8);
}

static void test_numbers(void **state)
{
    (void)state;
    uint32_t numbers[8];
    aq_ibv_distances_t *distances = distances_open(two_sockets);
    assert_int_equal(numbers_of(distances, "Socket", "0-15", numbers), 1);
    assert_int_equal(numbers[0], 0);
    assert_int_equal(numbers_of(distances, "Package", "15-16", numbers), 2);
    assert_int_equal(numbers[1], 1);
    assert_int_equal(numbers_of(distances, "NUMANode", "0,16", numbers), 2);
    assert_int_equal(numbers[1], 2);
    assert_int_equal(numbers_of(distances, "Node", "31", numbers), 1);
    assert_int_equal(numbers[0], 3);
    assert_int_equal(numbers_of(distances, "core", "2,3,6", numbers), 2);
    assert_int_equal(numbers[0], 1);
    assert_int_equal(numbers[1], 3);
    assert_int_equal(numbers_of(distances, "core", "0-31", numbers),
                     8); // as many as there is room for
    assert_int_equal(numbers_of(distances, "Pigeon", "0", numbers), 0);
    aq_ibv_distances_close(distances);
}
#endif

// The host of the test: whatever it is, this process runs somewhere.
static void test_here(void **state)
{
    (void)state;
    char why[256] = "";
    aq_ibv_binding_t binding;
    aq_ibv_distances_t *distances = aq_ibv_distances_open(NULL, why, sizeof why);
    if (!distances) {
        assert_true(*why);
        return;
    }
    aq_ibv_distances_binding(distances, false, &binding);
    assert_true(*binding.processors);
    aq_ibv_distances_binding(distances, true, &binding);
    assert_true(*binding.processors);
    aq_ibv_distances_close(distances);
    assert_false(
        aq_ibv_distances_device("no-such-device", binding.processors, sizeof binding.processors));
}

static aq_ibv_network_t network_make(const char *device, const char *host, uint32_t port,
                                     bool datagrams)
{
    aq_ibv_network_t network = {.port = port,
                                .link = AQ_IBV_LINK_INFINIBAND,
                                .subnet = {0xfe, 0x80},
                                .datagrams = datagrams};
    snprintf(network.device, sizeof network.device, "%s", device);
    snprintf(network.host, sizeof network.host, "%s", host);
    return network;
}

static void test_networks(void **state)
{
    (void)state;
    char why[512] = "";
    const aq_ibv_network_t first = network_make("mlx5_0", "a", 1, false);
    aq_ibv_network_t mine = network_make("rxe0", "b", 2, false);
    assert_true(aq_ibv_networks_meet(&mine, 3, &first, 0, why, sizeof why));
    mine.link = AQ_IBV_LINK_ROCE;
    assert_false(aq_ibv_networks_meet(&mine, 3, &first, 0, why, sizeof why));
    assert_string_equal(why,
                        "rank 3 on host b uses port 2 of rxe0 (RoCE), and rank 0 on host a uses "
                        "port 1 of mlx5_0 (InfiniBand, subnet fe80:0000:0000:0000), which are "
                        "different networks; name ports of one network for both with "
                        "GASNET_IBV_PORTS");
}

// Subnets of InfiniBand: librdmacm asks the network for the way through a router; datagrams do not.
static void test_subnets(void **state)
{
    (void)state;
    char why[512] = "";
    aq_ibv_network_t first = network_make("mlx5_0", "a", 1, false);
    aq_ibv_network_t mine = network_make("mlx5_1", "b", 1, true);
    assert_true(aq_ibv_networks_meet(&mine, 3, &first, 0, why, sizeof why));
    mine.subnet[7] = 2;
    assert_false(aq_ibv_networks_meet(&mine, 3, &first, 0, why, sizeof why));
    assert_non_null(strstr(why, "rank 3 on host b uses port 1 of mlx5_1 (InfiniBand, subnet "
                                "fe80:0000:0000:0002), and rank 0 on host a uses port 1 of mlx5_0 "
                                "(InfiniBand, subnet fe80:0000:0000:0000), which are different"));
    mine.datagrams = false;
    assert_true(aq_ibv_networks_meet(&mine, 3, &first, 0, why, sizeof why));
    first.datagrams = true;
    assert_false(aq_ibv_networks_meet(&mine, 3, &first, 0, why, sizeof why));
    first.link = mine.link = AQ_IBV_LINK_ROCE; // addresses there say nothing
    assert_true(aq_ibv_networks_meet(&mine, 3, &first, 0, why, sizeof why));
}

// A job uses XRC if its first rank can; the others have to, then.
static void test_xrc(void **state)
{
    (void)state;
    char why[512] = "";
    aq_ibv_network_t first = network_make("mlx5_0", "a", 1, true);
    aq_ibv_network_t mine = network_make("rxe0", "b", 2, true);
    mine.xrc = true;
    assert_true(aq_ibv_networks_meet(&mine, 3, &first, 0, why, sizeof why));
    first.xrc = true;
    assert_true(aq_ibv_networks_meet(&mine, 3, &first, 0, why, sizeof why));
    mine.xrc = false;
    assert_false(aq_ibv_networks_meet(&mine, 3, &first, 0, why, sizeof why));
    assert_non_null(strstr(why, "rank 3 on host b does not use extended reliable connections (XRC) "
                                "with port 2 of rxe0, and rank 0 on host a does; unset "
                                "GASNET_USE_XRC, or set it"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),     cmocka_unit_test(test_suffixes),
        cmocka_unit_test(test_sharing),   cmocka_unit_test(test_networks),
        cmocka_unit_test(test_subnets),   cmocka_unit_test(test_xrc),
#ifdef AQ_HAVE_HWLOC
        cmocka_unit_test(test_distances), cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_numbers),
#endif
        cmocka_unit_test(test_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
