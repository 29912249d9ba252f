// SPDX-License-Identifier: BSD-3-Clause
// How the processes of a job choose their ports at the start, on fake devices of this process: what
// happens when one of them cannot, and when a port goes down between the choice and its use. All
// processes take part in what is collective, whatever happened to one of them, so that none waits.
#include "../../../unit/unit_test.h"

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../conduits/ibv/connect/ibv_device.h"
#include "../../../../conduits/ibv/ports/ibv_affinity.h"
#include "../../../unit/child_errors.h"
#include "../../../unit/default_settings.h"

enum { RANKS = 3 };

// ---- the devices: one port each ----

static struct ibv_device device = {.node_type = IBV_NODE_CA,
                                   .transport_type = IBV_TRANSPORT_IB,
                                   .name = "fake0",
                                   .dev_name = "fake0"};
static struct ibv_device further = {.name = "fake1", .dev_name = "fake1"};
static struct ibv_device *devices[3];
static struct ibv_context context = {.device = &device}, further_context = {.device = &further};
static unsigned queries;    // of the port so far
static unsigned active_for; // so many queries find it active
static unsigned abilities;  // of the device: enum ibv_device_cap_flags

struct ibv_device **ibv_get_device_list(int *count)
{
    if (count)
        *count = devices[1] ? 2 : 1;
    return devices;
}

void ibv_free_device_list(struct ibv_device **list)
{
    (void)list;
}

const char *ibv_get_device_name(struct ibv_device *which)
{
    return which->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *which)
{
    return which == &device ? &context : &further_context;
}

int ibv_close_device(struct ibv_context *which)
{
    (void)which;
    return 0;
}

int ibv_query_device(struct ibv_context *which, struct ibv_device_attr *attr)
{
    (void)which;
    *attr = (struct ibv_device_attr){.phys_port_cnt = 1,
                                     .device_cap_flags = abilities,
                                     .max_mr_size = UINT64_MAX,
                                     .max_qp = 1000,
                                     .max_qp_wr = 1000,
                                     .max_cqe = 100000,
                                     .max_srq_wr = 100000,
                                     .max_qp_rd_atom = 16,
                                     .max_qp_init_rd_atom = 16};
    return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *which)
{
    static struct ibv_pd pd;
    pd.context = which;
    return &pd;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *which, uint8_t number, struct _compat_ibv_port_attr *compat)
{
    (void)which, (void)number;
    *(struct ibv_port_attr *)(void *)compat =
        (struct ibv_port_attr){.state = queries++ < active_for ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
                               .max_mtu = IBV_MTU_4096,
                               .active_mtu = IBV_MTU_4096,
                               .gid_tbl_len = 1,
                               .pkey_tbl_len = 1,
                               .lid = 3,
                               .link_layer = IBV_LINK_LAYER_INFINIBAND};
    return 0;
}

int _ibv_query_gid_ex(struct ibv_context *which, uint32_t port, uint32_t index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t bytes)
{
    (void)which, (void)port, (void)index, (void)flags, (void)bytes;
    *entry = (struct ibv_gid_entry){.gid.raw = {0xfe, 0x80, [15] = 1}};
    return 0;
}

int ibv_query_pkey(struct ibv_context *which, uint8_t port, int index, __be16 *key)
{
    (void)which, (void)port;
    *key = 0xffff;
    return index ? -1 : 0;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
    errno = ENODEV;
    return NULL;
}

// ---- the job: all other ranks do what this one does ----

static unsigned exchanges, broadcasts;
static enum {
    SAME,
    XRC,
    NO_XRC
} first_has;               // what rank 0 says of itself, beside what this one does
static uint8_t shared[64]; // what this process said first
static uint32_t host_of_rank[RANKS];

static aq_status_t exchange(aq_boot_t *boot, const void *mine, size_t bytes, void *all)
{
    if (!exchanges++)
        memcpy(shared, mine, bytes < sizeof shared ? bytes : sizeof shared);
    for (uint32_t r = 0; r < boot->size; r++)
        memcpy((char *)all + r * bytes, mine, bytes);
    return AQ_OK;
}

static aq_status_t broadcast(aq_boot_t *boot, void *buf, size_t len, uint32_t root)
{
    aq_ibv_network_t *network = buf;
    (void)boot, (void)root;
    broadcasts++;
    assert_int_equal(len, sizeof *network);
    if (first_has != SAME)
        network->xrc = first_has == XRC;
    return AQ_OK;
}

static aq_status_t barrier(aq_boot_t *boot)
{
    (void)boot;
    return AQ_OK;
}

static const aq_boot_ops_t ops = {.exchange = exchange, .broadcast = broadcast, .barrier = barrier};
static aq_boot_t boot = {.ops = &ops, .size = RANKS, .host_of_rank = host_of_rank};
static const aq_conduit_env_t env = {.boot = &boot, .size = RANKS, .nbrhd_size = 1};

static int set_up(void **state)
{
    (void)state;
    exchanges = broadcasts = queries = 0;
    device.transport_type = further.transport_type = IBV_TRANSPORT_IB;
    devices[0] = &device;
    devices[1] = NULL;
    active_for = UINT32_MAX;
    abilities = 0;
    first_has = SAME;
    return default_settings();
}

static void set(const char *name, const char *value)
{
    char err[256];
    assert_int_equal(setenv(name, value, 1), 0);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
}

// ---- tests ----

static aq_status_t choose(const aq_ibv_ports_t *ports, char *errbuf, size_t errbuf_size)
{
    aq_ibv_use_t uses[2];
    aq_ibv_choice_t choice = {.ports = ports, .uses = uses, .rails = 1};
    return aq_ibv_affinity_choose(&env, &choice, errbuf, errbuf_size);
}

// With type Auto the processes exchange what is near to them: one that cannot read its ports, or
// has a wrong filter, does so too, and then fails.
static void test_auto(void **state)
{
    (void)state;
    char why[512] = "";
    aq_ibv_ports_t ports;
    uint8_t far[AQ_IBV_NAME_BYTES / 2];
    memset(far, 255, sizeof far);
    set("GASNET_IBV_PORTS_TYPE", "auto");
    assert_int_equal(aq_ibv_ports_read(&ports), AQ_OK);
    assert_int_equal(choose(&ports, why, sizeof why), AQ_OK);
    assert_int_equal(exchanges, 1);
    assert_int_not_equal(shared[0], 255);
    exchanges = 0;
    assert_int_equal(choose(NULL, why, sizeof why), AQ_ERR_RESOURCE);
    assert_int_equal(exchanges, 1);
    assert_memory_equal(shared, far, sizeof far);
    exchanges = 0;
    set("GASNET_IBV_PORTS", "fake0:x");
    assert_int_equal(choose(&ports, why, sizeof why), AQ_ERR_CONFIG);
    assert_int_equal(exchanges, 1);
    assert_memory_equal(shared, far, sizeof far);
    assert_non_null(strstr(why, "GASNET_IBV_PORTS"));
    aq_ibv_ports_free(&ports);
}

static void test_no_ports(void **state)
{
    (void)state;
    char why[512] = "";
    assert_int_equal(choose(NULL, why, sizeof why), AQ_ERR_RESOURCE);
    assert_int_equal(exchanges, 0);
}

static aq_status_t opened;

static void device_open(void)
{
    aq_ibv_device_t opening = {0};
    aq_ibv_limits_t limits;
    aq_ibv_memory_t memory;
    opened = aq_ibv_device_open(&opening, &env, RANKS - 1, &limits, &memory);
    if (broadcasts != 1 || exchanges != 1 || opened != AQ_ERR_RESOURCE)
        _exit(1);
}

// The port is active when the list of ports is read, and down when it is opened.
static void test_goes_down(void **state)
{
    (void)state;
    active_for = 1;
    char *text = child_errors(device_open);
    assert_non_null(strstr(text, "port 1 of verbs device fake0 has gone down since it was chosen: "
                                 "see that its cable and its network interface are up, or choose "
                                 "another port with GASNET_IBV_PORTS\n"));
    assert_ptr_equal(strchr(text, '\n'), strrchr(text, '\n'));
    free(text);
}

static bool uses_xrc, fails; // what device_open_xrc expects

static void device_open_xrc(void)
{
    aq_ibv_device_t opening = {0};
    aq_ibv_limits_t limits;
    aq_ibv_memory_t memory;
    opened = aq_ibv_device_open(&opening, &env, RANKS - 1, &limits, &memory);
    if (opened != (fails ? AQ_ERR_CONFIG : AQ_OK))
        _exit(1);
    if (!fails && (opening.xrc != uses_xrc || opening.rails.count != (uses_xrc ? 1 : 2)))
        _exit(2);
}

// GASNET_USE_XRC=1: rank 0 decides for the job, by its device. A job with XRC has one port.
static void test_xrc(void **state)
{
    (void)state;
    devices[1] = &further;
    set("GASNET_USE_XRC", "1");
    set("GASNET_IBV_CONNECT", "ud");
    uses_xrc = fails = false;
    char *text = child_errors(device_open_xrc);
    assert_non_null(strstr(text, "warning: verbs device fake0 has no extended reliable connections "
                                 "(XRC), for which GASNET_USE_XRC=1 asks; each peer gets a queue "
                                 "pair of its own: unset the variable\n"));
    assert_ptr_equal(strchr(text, '\n'), strrchr(text, '\n'));
    free(text);
    abilities = IBV_DEVICE_XRC;
    first_has = NO_XRC;
    text = child_errors(device_open_xrc);
    assert_string_equal(text, "");
    free(text);
    first_has = SAME;
    uses_xrc = true;
    text = child_errors(device_open_xrc);
    assert_string_equal(text, "");
    free(text);
    abilities = 0;
    first_has = XRC;
    fails = true;
    text = child_errors(device_open_xrc);
    assert_non_null(strstr(text, " does not use extended reliable connections (XRC) with port 1 of "
                                 "fake0, and rank 0 on host "));
    free(text);
}

static char report[4096];

static void line_add(void *unused, const char *label, const char *text)
{
    (void)unused;
    const size_t at = strlen(report);
    snprintf(report + at, sizeof report - at, "%s: %s\n", label, text);
}

// No port of iWARP is used, and the report says why.
static void test_iwarp(void **state)
{
    char why[512];
    (void)state;
    devices[1] = &further;
    aq_ibv_report(line_add, NULL);
    assert_non_null(strstr(report, "\nfake1 port 1: used\n"));
    *report = '\0';
    device.transport_type = further.transport_type = IBV_TRANSPORT_IWARP;
    aq_ibv_report(line_add, NULL);
    assert_non_null(strstr(report, "\nfake0 port 1: not used: it is of iWARP, where "));
    assert_false(aq_ibv_usable(why, sizeof why));
    assert_non_null(strstr(why, "port 1 of fake0 is of iWARP, where a put that is complete may not "
                                "have reached its destination; use conduit ofi"));
    set("GASNET_IBV_IWARP", "1");
    assert_true(aq_ibv_usable(why, sizeof why));
    assert_string_equal(why, "port 1 of fake0, iWARP");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_auto, set_up),
        cmocka_unit_test_setup(test_no_ports, set_up),
        cmocka_unit_test_setup(test_goes_down, set_up),
        cmocka_unit_test_setup(test_xrc, set_up),
        cmocka_unit_test_setup(test_iwarp, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
