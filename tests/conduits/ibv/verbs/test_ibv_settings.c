// SPDX-License-Identifier: BSD-3-Clause
// Settings of conduit ibv that are obsolete or exclude each other, limits of a device, and the
// defaults that the manual documents.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../conduits/ibv/verbs/ibv_profile.h"
#include "../../../../conduits/ibv/verbs/ibv_settings.h"
#include "../../../../other/base/log/log.h"
#include "../../../../other/base/settings/settings.h"
#include "../../../unit/child_errors.h"
#include "../../../unit/default_settings.h"

static int set_up(void **state)
{
    (void)state;
    return default_settings();
}

static void load_setting(const char *name, const char *value)
{
    char err[512];
    setenv(name, value, 1);
    assert_int_equal(aq_settings_load(err, sizeof err), AQ_OK);
}

// ---- obsolete variables ----

static void check_settings(void)
{
    char why[512];
    if (aq_ibv_settings_check(why, sizeof why) != AQ_OK)
        _exit(1);
}

static void check_as_rank_1(void)
{
    aq_log_identity(1, 2);
    check_settings();
}

static void test_obsolete(void **state)
{
    (void)state;
    char *text = child_errors(check_settings);
    assert_string_equal(text, "");
    free(text);
    load_setting("GASNET_HCA_ID", "");
    text = child_errors(check_settings);
    assert_string_equal(text, "");
    free(text);
    load_setting("GASNET_HCA_ID", "InfiniHost0");
    load_setting("GASNET_PORT_NUM", "1");
    text = child_errors(check_settings);
    assert_non_null(strstr(text, "warning: GASNET_HCA_ID no longer has a meaning"));
    assert_non_null(strstr(text, "warning: GASNET_PORT_NUM no longer has a meaning"));
    assert_non_null(strstr(text, "GASNET_IBV_PORTS"));
    free(text);
    text = child_errors(check_as_rank_1); // only rank 0 warns
    assert_string_equal(text, "");
    free(text);
}

// XRC needs datagrams.
static void test_xrc(void **state)
{
    (void)state;
    load_setting("GASNET_USE_XRC", "1");
    assert_false(aq_ibv_xrc_wanted());
    char *text = child_errors(check_settings);
    assert_non_null(strstr(text, "warning: GASNET_USE_XRC=1 has no effect"));
    assert_non_null(strstr(text, "set GASNET_IBV_CONNECT=ud, too, or unset the variable\n"));
    free(text);
    text = child_errors(check_as_rank_1);
    assert_string_equal(text, "");
    free(text);
    load_setting("GASNET_IBV_CONNECT", "ud");
    assert_true(aq_ibv_xrc_wanted());
    text = child_errors(check_settings);
    assert_string_equal(text, "");
    free(text);
    load_setting("GASNET_USE_XRC", "0");
    assert_false(aq_ibv_xrc_wanted());
}

static void test_connections(void **state)
{
    (void)state;
    char why[512] = "";
    assert_int_equal(aq_ibv_settings_check(why, sizeof why), AQ_OK);
    load_setting("GASNET_CONNECT_DYNAMIC", "0");
    assert_int_equal(aq_ibv_settings_check(why, sizeof why), AQ_ERR_CONFIG);
    assert_non_null(strstr(why, "GASNET_CONNECT_STATIC"));
    load_setting("GASNET_CONNECT_STATIC", "1");
    assert_int_equal(aq_ibv_settings_check(why, sizeof why), AQ_OK);
}

// ---- limits of a device ----

static char why_not[512];

static aq_status_t check_fit(uint64_t peers)
{
    const struct ibv_device_attr can = {.max_qp_wr = 100,
                                        .max_cqe = 300,
                                        .max_srq_wr = 250,
                                        .max_qp = 200,
                                        .max_qp_rd_atom = 16,
                                        .max_qp_init_rd_atom = 8};
    *why_not = 0;
    return aq_ibv_settings_fit("mlx5_3", &can, peers, why_not, sizeof why_not);
}

static void test_limits(void **state)
{
    (void)state;
    assert_int_equal(check_fit(1000), AQ_OK); // defaults adapt to the device
    load_setting("GASNET_NETWORKDEPTH_PP", "100");
    load_setting("GASNET_QP_RD_ATOM", "8");
    load_setting("GASNET_NETWORKDEPTH_TOTAL", "1000");
    load_setting("GASNET_AM_CREDITS_TOTAL", "1000");
    assert_int_equal(check_fit(3), AQ_OK); // 3 peers need no more than 300 entries and 96 buffers
    assert_int_equal(check_fit(4), AQ_ERR_CONFIG);
    assert_string_equal(why_not, "GASNET_NETWORKDEPTH_TOTAL=1000 is more than verbs device mlx5_3 "
                                 "can do: it has at most 300 entries in a completion queue; set "
                                 "it to that or less");
    load_setting("GASNET_NETWORKDEPTH_TOTAL", "0");
    assert_int_equal(check_fit(7), AQ_OK);
    assert_int_equal(check_fit(8), AQ_ERR_CONFIG);
    assert_non_null(strstr(why_not, "GASNET_AM_CREDITS_TOTAL=1000"));
    assert_non_null(strstr(why_not, "at most 250 buffers in a shared receive queue"));
    load_setting("GASNET_NETWORKDEPTH_PP", "101");
    assert_int_equal(check_fit(1), AQ_ERR_CONFIG);
    assert_non_null(strstr(why_not, "at most 100 entries in a send queue"));
    load_setting("GASNET_NETWORKDEPTH_PP", "20");
    load_setting("GASNET_QP_RD_ATOM", "9");
    assert_int_equal(check_fit(1), AQ_ERR_CONFIG);
    assert_non_null(strstr(why_not, "GASNET_QP_RD_ATOM=9"));
    assert_non_null(strstr(why_not, "at most 8 RDMA reads"));
    load_setting("GASNET_QP_RD_ATOM", "8");
    load_setting("GASNET_NUM_QPS", "64");
    assert_int_equal(check_fit(4), AQ_ERR_CONFIG);
    assert_string_equal(why_not,
                        "GASNET_NUM_QPS=64 is more than verbs device mlx5_3 can do: it has "
                        "at most 50 queue pairs for each peer; set it to that or less");
    load_setting("GASNET_NUM_QPS", "50");
    assert_int_equal(check_fit(4), AQ_OK);
    load_setting("GASNET_AM_CREDITS_TOTAL", "100");
    load_setting("GASNET_NUM_QPS", "1"); // a process may have fewer connections than peers
    assert_int_equal(check_fit(1000), AQ_OK);
}

// ---- the manual ----

static void test_defaults(void **state)
{
    (void)state;
    static const struct {
        aq_ibv_setting_id_t id;
        int64_t value;
    } whole[] = {
        {IBV_SET_NUM_QPS, 0},
        {IBV_SET_QP_TIMEOUT, 18},
        {IBV_SET_QP_RETRY_COUNT, 7},
        {IBV_SET_QP_RD_ATOM, 0},
        {IBV_SET_INLINESEND_LIMIT, -1},
        {IBV_SET_NETWORKDEPTH_PP, 64},
        {IBV_SET_NETWORKDEPTH_TOTAL, 4096},
        {IBV_SET_AM_CREDITS_PP, 32},
        {IBV_SET_AM_CREDITS_TOTAL, 1024},
        {IBV_SET_AM_CREDITS_SLACK, 1},
        {IBV_SET_BBUF_COUNT, 1024},
        {IBV_SET_AMRDMA_MAX_PEERS, 32},
    };
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        assert_int_equal(aq_setting_int(aq_ibv_setting(whole[i].id)), whole[i].value);
    assert_int_equal(aq_setting_bytes(aq_ibv_setting(IBV_SET_PACKEDLONG_LIMIT)), 4012);
    assert_int_equal(aq_setting_bytes(aq_ibv_setting(IBV_SET_NONBULKPUT_BOUNCE_LIMIT)), 64 << 10);
    assert_int_equal(aq_settings_bytes(AQ_SET_PUTINMOVE_LIMIT), 3 << 10);
    assert_int_equal(aq_setting_bytes(aq_ibv_setting(IBV_SET_PIN_MAXSZ)), 0);
    assert_int_equal(aq_setting_bytes(aq_ibv_setting(IBV_SET_AMRDMA_DEPTH)), 16);
    assert_int_equal(aq_setting_bytes(aq_ibv_setting(IBV_SET_AMRDMA_CYCLE)), 1024);
    assert_int_equal(aq_settings_bytes(AQ_SET_FIREHOSE_MAXREGION_SIZE), 128 << 10);
    assert_false(aq_settings_bool(AQ_SET_RCV_THREAD));
    assert_true(aq_settings_bool(AQ_SET_USE_FIREHOSE));
    assert_string_equal(aq_setting_text(aq_ibv_setting(IBV_SET_PORTS)), "");
}

// The settings table has every variable that the conduit's manual names, so that invalid values are
// reported and gasnet_info lists the variable.
static void test_manual(void **state)
{
    (void)state;
    static const char *const names[] = {"GASNET_AMRDMA_CYCLE",
                                        "GASNET_AMRDMA_DEPTH",
                                        "GASNET_AMRDMA_LIMIT",
                                        "GASNET_AMRDMA_MAX_PEERS",
                                        "GASNET_AM_CREDITS_PP",
                                        "GASNET_AM_CREDITS_SLACK",
                                        "GASNET_AM_CREDITS_TOTAL",
                                        "GASNET_BBUF_COUNT",
                                        "GASNET_EXITTIMEOUT",
                                        "GASNET_FIREHOSE_M",
                                        "GASNET_FIREHOSE_MAXREGION_SIZE",
                                        "GASNET_FIREHOSE_MAXVICTIM_M",
                                        "GASNET_FIREHOSE_MAXVICTIM_R",
                                        "GASNET_FIREHOSE_R",
                                        "GASNET_FIREHOSE_VERBOSE",
                                        "GASNET_HCA_ID",
                                        "GASNET_IBV_PORTS",
                                        "GASNET_IBV_SPAWNER",
                                        "GASNET_INLINESEND_LIMIT",
                                        "GASNET_NETWORKDEPTH_PP",
                                        "GASNET_NETWORKDEPTH_TOTAL",
                                        "GASNET_NONBULKPUT_BOUNCE_LIMIT",
                                        "GASNET_NUM_QPS",
                                        "GASNET_PACKEDLONG_LIMIT",
                                        "GASNET_PHYSMEM_MAX",
                                        "GASNET_PHYSMEM_NOPROBE",
                                        "GASNET_PIN_MAXSZ",
                                        "GASNET_PORT_NUM",
                                        "GASNET_PUTINMOVE_LIMIT",
                                        "GASNET_QP_RD_ATOM",
                                        "GASNET_QP_RETRY_COUNT",
                                        "GASNET_QP_TIMEOUT",
                                        "GASNET_RCV_THREAD",
                                        "GASNET_SND_THREAD",
                                        "GASNET_SND_THREAD_RATE",
                                        "GASNET_SSH_CMD",
                                        "GASNET_SSH_NODEFILE",
                                        "GASNET_SSH_OPTIONS",
                                        "GASNET_SSH_SERVERS",
                                        "GASNET_USE_FIREHOSE",
                                        "MPIRUN_CMD"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t id = 0;
        while (id < aq_settings_count() && strcmp(aq_settings_at(id)->name, names[i]) != 0)
            id++;
        if (id == aq_settings_count())
            fail_msg("%s is not in the table", names[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_obsolete, set_up),
        cmocka_unit_test_setup(test_connections, set_up),
        cmocka_unit_test_setup(test_limits, set_up),
        cmocka_unit_test_setup(test_xrc, set_up),
        cmocka_unit_test_setup(test_defaults, set_up),
        cmocka_unit_test(test_manual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
