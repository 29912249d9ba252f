// SPDX-License-Identifier: BSD-3-Clause
// The attributes of paths that the user may choose: GASNET_MAX_MTU, GASNET_IBV_PKEY,
// GASNET_IBV_SERVICE_LEVEL, GASNET_IBV_TRAFFIC_CLASS, GASNET_IBV_GID_INDEX.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/ibv/verbs/ibv_path.h"
#include "../../../unit/default_settings.h"

static const uint16_t keys[] = {0xffff, 0x8002, 0x1234};
static const aq_ibv_path_port_t port = {.device = "mlx5_3",
                                        .number = 2,
                                        .active = IBV_MTU_2048,
                                        .keys = keys,
                                        .key_count = 3,
                                        .has_gid = true};
static char why[512];

static int set_up(void **state)
{
    (void)state;
    *why = 0;
    return default_settings();
}

static aq_ibv_path_t choose(const char *name, const char *value)
{
    char err[512];
    aq_ibv_path_t path;
    if (name)
        setenv(name, value, 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
    assert_int_equal(aq_ibv_path_choose(&port, &path, why, sizeof why), AQ_OK);
    return path;
}

static void test_default(void **state)
{
    (void)state;
    const aq_ibv_path_t path = choose(NULL, NULL);
    assert_false(path.chosen);
    assert_int_equal(path.mtu, IBV_MTU_2048);
    assert_int_equal(path.gid_index, -1);
    struct ibv_qp_attr attr = {.path_mtu = IBV_MTU_1024, .pkey_index = 7};
    attr.ah_attr.sl = 5;
    aq_ibv_path_set(&path, &attr, IBV_QP_PATH_MTU | IBV_QP_AV | IBV_QP_PKEY_INDEX);
    assert_int_equal(attr.path_mtu, IBV_MTU_1024); // the network's attributes stay
    assert_int_equal(attr.pkey_index, 7);
    assert_int_equal(attr.ah_attr.sl, 5);
}

static void test_mtu(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        enum ibv_mtu mtu;
    } rows[] = {{"0", IBV_MTU_2048},   {"-1", IBV_MTU_2048},   {"256", IBV_MTU_256},
                {"512", IBV_MTU_512},  {"1024", IBV_MTU_1024}, {"2048", IBV_MTU_2048},
                {"4096", IBV_MTU_2048}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const aq_ibv_path_t path = choose("GASNET_MAX_MTU", rows[i].value);
        assert_int_equal(path.mtu, rows[i].mtu);
        assert_int_equal(path.chosen, rows[i].mtu != port.active);
        struct ibv_qp_attr attr = {.path_mtu = IBV_MTU_4096};
        aq_ibv_path_set(&path, &attr, IBV_QP_STATE);
        assert_int_equal(attr.path_mtu, IBV_MTU_4096);
        aq_ibv_path_set(&path, &attr, IBV_QP_PATH_MTU);
        assert_int_equal(attr.path_mtu, rows[i].mtu);
    }
}

static void test_partition(void **state)
{
    (void)state;
    aq_ibv_path_t path = choose("GASNET_IBV_PKEY", "0x9234"); // the membership is ignored
    assert_int_equal(path.pkey_index, 2);
    assert_true(path.chosen);
    assert_int_equal(choose("GASNET_IBV_PKEY", "2").pkey_index, 1);
    assert_false(choose("GASNET_IBV_PKEY", "0x7fff").chosen); // index 0 is the default
    struct ibv_qp_attr attr = {0};
    aq_ibv_path_set(&path, &attr, IBV_QP_PKEY_INDEX);
    assert_int_equal(attr.pkey_index, 2);
    choose("GASNET_IBV_PKEY", "0");
    setenv("GASNET_IBV_PKEY", "3", 1);
    assert_int_equal(aq_settings_load(why, sizeof why), AQ_OK);
    assert_int_equal(aq_ibv_path_choose(&port, &path, why, sizeof why), AQ_ERR_CONFIG);
    assert_non_null(strstr(why, "port 2 of verbs device mlx5_3 is in no partition 0x3: "));
}

static void test_classes(void **state)
{
    (void)state;
    choose("GASNET_IBV_SERVICE_LEVEL", "9");
    const aq_ibv_path_t path = choose("GASNET_IBV_TRAFFIC_CLASS", "104");
    assert_true(path.chosen);
    struct ibv_qp_attr attr = {.path_mtu = IBV_MTU_256};
    aq_ibv_path_set(&path, &attr, IBV_QP_AV | IBV_QP_PATH_MTU);
    assert_int_equal(attr.ah_attr.sl, 9);
    assert_int_equal(attr.ah_attr.grh.traffic_class, 104);
    assert_int_equal(attr.path_mtu, IBV_MTU_256);
}

static void test_gid(void **state)
{
    (void)state;
    aq_ibv_path_port_t without = port;
    without.has_gid = false;
    aq_ibv_path_t path = choose("GASNET_IBV_GID_INDEX", "3");
    assert_int_equal(path.gid_index, 3);
    assert_false(path.chosen); // librdmacm still does everything
    assert_int_equal(aq_ibv_path_choose(&without, &path, why, sizeof why), AQ_ERR_CONFIG);
    assert_non_null(strstr(why, "has no GID with index 3: set GASNET_IBV_GID_INDEX"));
}

// A way is global on Ethernet and between subnets, and it has the user's attributes.
static void test_way(void **state)
{
    (void)state;
    enum { LID = 17, OTHER_SUBNET = 7, SUBNET_BYTES = 8 };
    aq_ibv_path_t path = {.service_level = 3, .traffic_class = 96};
    aq_ibv_path_source_t from = {
        .path = &path, .address.gid = {0xfe, 0x80}, .port = 2, .gid_index = 5};
    aq_ibv_port_address_t to = {.gid = {0xfe, 0x80, [15] = 9}, .lid = LID};
    struct ibv_ah_attr way = aq_ibv_path_way(&from, &to);
    assert_int_equal(way.dlid, LID);
    assert_int_equal(way.port_num, 2);
    assert_int_equal(way.sl, 3);
    assert_false(way.is_global);
    to.gid[SUBNET_BYTES - 1] = OTHER_SUBNET;
    way = aq_ibv_path_way(&from, &to);
    assert_true(way.is_global);
    assert_memory_equal(way.grh.dgid.raw, to.gid, sizeof to.gid);
    assert_int_equal(way.grh.sgid_index, 5);
    assert_int_equal(way.grh.traffic_class, 96);
    assert_true(way.grh.hop_limit > 1);
    to.gid[SUBNET_BYTES - 1] = 0;
    from.ethernet = true;
    assert_true(aq_ibv_path_way(&from, &to).is_global);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_default, set_up),
        cmocka_unit_test_setup(test_mtu, set_up),
        cmocka_unit_test_setup(test_partition, set_up),
        cmocka_unit_test_setup(test_classes, set_up),
        cmocka_unit_test_setup(test_gid, set_up),
        cmocka_unit_test(test_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
