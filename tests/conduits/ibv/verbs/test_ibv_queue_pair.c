// SPDX-License-Identifier: BSD-3-Clause
// How queue pairs are taken through their states without librdmacm: what the device is told in each
// state, and what is returned when it refuses.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <errno.h>
#include <stdlib.h>

#include "../../../../conduits/ibv/ports/ibv_ports.h"
#include "../../../../conduits/ibv/verbs/ibv_queue_pair.h"
#include "../../../unit/default_settings.h"

enum { STEPS_MAX = 3 };

// What the device was told.
static struct ibv_qp_attr steps[STEPS_MAX];
static int masks[STEPS_MAX];
static unsigned step_count;
static int refusal; // the errno with which it refuses, in this state
static enum ibv_qp_state refused;

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    (void)qp;
    assert_true(step_count < STEPS_MAX);
    steps[step_count] = *attr;
    masks[step_count++] = mask;
    return attr->qp_state == refused ? refusal : 0;
}

static const aq_ibv_path_t path = {.pkey_index = 4, .service_level = 3};
static const aq_ibv_path_source_t from = {
    .path = &path, .address.gid = {0xfe, 0x80, [15] = 1}, .port = 2, .gid_index = 1};
static const aq_ibv_pair_info_t mine = {.port = {.gid = {0xfe, 0x80, [15] = 1}, .lid = 1},
                                        .number = 11,
                                        .psn = 12,
                                        .mtu = IBV_MTU_4096,
                                        .reads = 16,
                                        .link = AQ_IBV_LINK_INFINIBAND};
static const aq_ibv_pair_info_t theirs = {.port = {.gid = {0xfe, 0x80, [15] = 2}, .lid = 2},
                                          .number = 21,
                                          .psn = 22,
                                          .mtu = IBV_MTU_1024,
                                          .reads = 4,
                                          .link = AQ_IBV_LINK_INFINIBAND};
static const aq_ibv_pair_rnr_t rnr = {.timer = 12, .retries = 6};
static struct ibv_qp qp;

static int set_up(void **state)
{
    char err[512];
    (void)state;
    step_count = 0;
    refused = IBV_QPS_UNKNOWN;
    if (default_settings() != 0)
        return -1;
    setenv("GASNET_QP_TIMEOUT", "17", 1);
    setenv("GASNET_QP_RETRY_COUNT", "5", 1);
    return aq_settings_load(err, sizeof err) == AQ_OK ? 0 : -1;
}

static void test_init(void **state)
{
    (void)state;
    assert_int_equal(aq_ibv_pair_init(&qp, &from, IBV_ACCESS_REMOTE_READ), 0);
    assert_int_equal(step_count, 1);
    assert_int_equal(steps[0].qp_state, IBV_QPS_INIT);
    assert_int_equal(steps[0].port_num, 2);
    assert_int_equal(steps[0].pkey_index, 4);
    assert_int_equal(steps[0].qp_access_flags, IBV_ACCESS_REMOTE_READ);
    assert_int_equal(masks[0],
                     IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
    refused = IBV_QPS_INIT;
    refusal = EINVAL;
    assert_int_equal(aq_ibv_pair_init(&qp, &from, 0), EINVAL);
}

static void test_connect(void **state)
{
    (void)state;
    assert_int_equal(aq_ibv_pair_connect(&qp, &from, &mine, &theirs, rnr), 0);
    assert_int_equal(step_count, 2);
    assert_int_equal(steps[0].qp_state, IBV_QPS_RTR);
    assert_int_equal(steps[0].path_mtu, IBV_MTU_1024); // the lesser of both
    assert_int_equal(steps[0].dest_qp_num, 21);
    assert_int_equal(steps[0].rq_psn, 22);
    assert_int_equal(steps[0].max_dest_rd_atomic, 16); // as this side has said
    assert_int_equal(steps[0].min_rnr_timer, 12);
    assert_int_equal(steps[0].ah_attr.dlid, 2);
    assert_int_equal(steps[0].ah_attr.sl, 3);
    assert_int_equal(steps[1].qp_state, IBV_QPS_RTS);
    assert_int_equal(steps[1].sq_psn, 12);
    assert_int_equal(steps[1].timeout, 17);
    assert_int_equal(steps[1].retry_cnt, 5);
    assert_int_equal(steps[1].rnr_retry, 6);
    assert_int_equal(steps[1].max_rd_atomic, 4); // as many as the peer answers
}

static void test_refused(void **state)
{
    (void)state;
    refused = IBV_QPS_RTR;
    refusal = ETIMEDOUT;
    assert_int_equal(aq_ibv_pair_connect(&qp, &from, &mine, &theirs, rnr), ETIMEDOUT);
    assert_int_equal(step_count, 1);
    refused = IBV_QPS_RTS;
    refusal = EINVAL;
    assert_int_equal(aq_ibv_pair_connect(&qp, &from, &mine, &theirs, rnr), EINVAL);
    assert_int_equal(step_count, 3);
}

static void test_other_network(void **state)
{
    (void)state;
    aq_ibv_pair_info_t other = theirs;
    other.link = AQ_IBV_LINK_ROCE;
    assert_int_equal(aq_ibv_pair_connect(&qp, &from, &mine, &other, rnr), ENONET);
    assert_int_equal(step_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_init, set_up),
        cmocka_unit_test_setup(test_connect, set_up),
        cmocka_unit_test_setup(test_refused, set_up),
        cmocka_unit_test_setup(test_other_network, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
