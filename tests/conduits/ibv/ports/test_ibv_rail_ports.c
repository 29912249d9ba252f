// SPDX-License-Identifier: BSD-3-Clause
// Which ports a process uses beside its first one, tested with lists of ports, without a device.
#include "../../../unit/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../conduits/ibv/ports/ibv_rail_ports.h"
#include "../../../../conduits/ibv/verbs/ibv_settings.h"
#include "../../../unit/default_settings.h"

enum { PORTS = 4 };

static aq_ibv_gid_t far_gid = {.address = {[10] = 0xff, 0xff, 10, 84, 0, 1}, .index = 3};
static aq_ibv_gid_t near_gid = {.address = {0xfe, 0x80, [15] = 1}};
static aq_ibv_port_t list[PORTS];
static const aq_ibv_ports_t ports = {list, PORTS};
static aq_ibv_rail_ports_t rails;
static aq_ibv_use_t uses[PORTS];
static char why[512];

// Four active ports, each of a device of its own: d0 to d3.
static int set_up(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PORTS; i++) {
        list[i] = (aq_ibv_port_t){.number = 1,
                                  .link = AQ_IBV_LINK_ROCE,
                                  .state = AQ_IBV_STATE_ACTIVE,
                                  .mtu = 1024,
                                  .limits = {.reads_in = 16, .reads_out = 8},
                                  .gids = &far_gid,
                                  .gid_count = 1};
        snprintf(list[i].device, sizeof list[i].device, "d%u", i);
    }
    return default_settings();
}

static void set(const char *name, const char *value)
{
    char err[256];
    assert_int_equal(setenv(name, value, 1), 0);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
}

static aq_status_t choose(const char *filter)
{
    const aq_ibv_choice_t choice = {.ports = &ports, .uses = uses, .filter = filter};
    *why = '\0';
    aq_ibv_choose(&ports, filter, aq_ibv_ports_wanted(), uses);
    return aq_ibv_rail_ports_choose(&rails, &choice, why, sizeof why);
}

static void assert_rails(unsigned count, unsigned queue_pairs)
{
    assert_int_equal(rails.count, count);
    assert_int_equal(rails.queue_pairs, queue_pairs);
    assert_string_equal(rails.list[0].device, "d0");
    assert_int_equal(aq_ibv_rails_exist(&rails), queue_pairs > 1);
}

static void test_counts(void **state)
{
    (void)state;
    assert_int_equal(choose(""), AQ_OK);
    assert_rails(2, 2);
    assert_string_equal(rails.list[1].device, "d1");
    assert_int_equal(rails.list[1].mtu, IBV_MTU_1024);
    assert_int_equal(rails.list[1].reads, 8);
    assert_int_equal(rails.list[1].gid_index, 3);
    set("GASNET_NUM_QPS", "3");
    assert_int_equal(choose(""), AQ_OK);
    assert_rails(3, 3);
    set("GASNET_NUM_QPS", "9");
    assert_int_equal(choose(""), AQ_OK);
    assert_rails(4, 9);
    set("GASNET_NUM_QPS", "1");
    assert_int_equal(choose(""), AQ_OK);
    assert_rails(1, 1);
}

static void test_filter(void **state)
{
    (void)state;
    set("GASNET_IBV_PORTS", "d3+d0+d2");
    assert_int_equal(choose("d3+d0+d2"), AQ_OK);
    assert_rails(3, 3);
    assert_string_equal(rails.list[1].device, "d2"); // in the order of the system
    assert_string_equal(rails.list[2].device, "d3");
}

static void test_differences(void **state)
{
    (void)state;
    list[1].mtu = 4096;
    assert_int_equal(choose(""), AQ_OK);
    assert_rails(1, 1);
    assert_int_equal(uses[1], AQ_IBV_UNLIKE);
    assert_int_equal(choose("d0+d1"), AQ_ERR_CONFIG);
    assert_string_equal(why, "port 1 of d0 (RoCE, MTU 1024) and port 1 of d1 (RoCE, MTU 4096) "
                             "cannot be used together: give them the same MTU, or name only ports "
                             "of one network in GASNET_IBV_PORTS");
    list[1].mtu = 1024;
    list[1].link = AQ_IBV_LINK_INFINIBAND;
    assert_int_equal(choose("d0+d1"), AQ_ERR_CONFIG);
    assert_non_null(strstr(why, "port 1 of d1 (InfiniBand, MTU 1024) cannot"));
}

static void test_near(void **state)
{
    (void)state;
    list[1].gids = &near_gid;
    assert_int_equal(choose(""), AQ_OK);
    assert_int_equal(uses[1], AQ_IBV_NEAR_ONLY);
    assert_rails(2, 2);
    assert_string_equal(rails.list[1].device, "d2");
    assert_int_equal(choose("d0+d1"), AQ_OK); // named, so it is used
    assert_rails(2, 2);
    assert_string_equal(rails.list[1].device, "d1");
}

// A put over iWARP that is complete may not have reached its destination.
static void test_iwarp(void **state)
{
    (void)state;
    for (unsigned i = 0; i < PORTS; i++)
        list[i].link = AQ_IBV_LINK_IWARP;
    list[0].link = AQ_IBV_LINK_ROCE;
    assert_int_equal(choose(""), AQ_OK);
    assert_rails(1, 1);
    assert_int_equal(uses[1], AQ_IBV_NO_ORDER);
    assert_int_equal(choose("d0+d1"), AQ_OK); // named, and refused all the same
    assert_rails(1, 1);
    assert_int_equal(uses[1], AQ_IBV_NO_ORDER);
    // With GASNET_IBV_IWARP: librdmacm alone can connect queue pairs of iWARP.
    list[0].link = AQ_IBV_LINK_IWARP;
    set("GASNET_IBV_IWARP", "1");
    assert_int_equal(choose(""), AQ_OK);
    assert_rails(1, 1);
    assert_int_equal(uses[1], AQ_IBV_NO_RAILS);
    assert_non_null(strstr(aq_ibv_use_words(&list[1], uses[1]), "iWARP"));
    set("GASNET_NUM_QPS", "4"); // a link has one queue pair all the same
    assert_int_equal(choose("d0+d1"), AQ_OK);
    assert_rails(1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_counts, set_up),
        cmocka_unit_test_setup(test_filter, set_up),
        cmocka_unit_test_setup(test_differences, set_up),
        cmocka_unit_test_setup(test_near, set_up),
        cmocka_unit_test_setup(test_iwarp, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
