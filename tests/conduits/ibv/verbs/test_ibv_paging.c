// SPDX-License-Identifier: BSD-3-Clause
// The trial of on-demand paging: a device that moves bytes correctly pages, and memory is pinned
// for one that moves them elsewhere in a page, or does not move them.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../../../unit/unit_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../../conduits/ibv/verbs/ibv_paging.h"
#include "../../../unit/default_settings.h"
#include "../fake_verbs.h"

// ---- a device that copies at once ----

static enum device_fault { NONE, PAGE_BEGINS_LOCAL, PAGE_BEGINS_THERE, NO_POST, FAILS } fault;
static unsigned copies, posted;

// Where the device finds an address: with the fault of a driver that loses the offset in a page
// that it pages on demand, at the beginning of the page.
static uint8_t *place_of(uint64_t address, uint32_t key, bool local)
{
    const bool lost = fault == (local ? PAGE_BEGINS_LOCAL : PAGE_BEGINS_THERE);
    const bool paged = fake_verbs.rights[key - 1] & IBV_ACCESS_ON_DEMAND;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (uint8_t *)(uintptr_t)(lost && paged ? address & ~(page - 1) : address);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    const bool reads = wr->opcode == IBV_WR_RDMA_READ;
    const struct ibv_sge *piece = wr->sg_list;
    (void)qp, (void)bad;
    if (fault == NO_POST)
        return ENOMEM;
    fake_verbs_use(piece->lkey, piece->addr, piece->length, reads, true);
    fake_verbs_use(wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, piece->length, !reads, false);
    uint8_t *here = place_of(piece->addr, piece->lkey, true),
            *there =
                place_of(wr->wr.rdma.remote_addr, wr->wr.rdma.rkey - FAKE_VERBS_FOR_PEERS, false);
    memcpy(reads ? here : there, reads ? there : here, piece->length);
    copies++;
    posted++;
    return 0;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    (void)cq;
    assert_int_equal(most, 1);
    *wc = (struct ibv_wc){.status = fault == FAILS ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS};
    return posted ? (int)posted-- : 0;
}

static struct ibv_context context = {.ops = {.post_send = post_send, .poll_cq = poll_cq}};
static struct ibv_pd pd = {.context = &context};
static struct ibv_cq cq = {.context = &context};
static struct ibv_qp qp = {.context = &context, .qp_num = 77};
static unsigned made, destroyed;
static enum ibv_qp_state state;

struct ibv_cq *ibv_create_cq(struct ibv_context *verbs, int entries, void *own,
                             struct ibv_comp_channel *channel, int vector)
{
    (void)verbs, (void)entries, (void)own, (void)channel, (void)vector;
    made++;
    return &cq;
}

int ibv_destroy_cq(struct ibv_cq *old)
{
    assert_ptr_equal(old, &cq);
    destroyed++;
    return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *of, struct ibv_qp_init_attr *attr)
{
    assert_ptr_equal(of, &pd);
    assert_int_equal(attr->qp_type, IBV_QPT_RC);
    made++;
    return &qp;
}

int ibv_destroy_qp(struct ibv_qp *old)
{
    assert_ptr_equal(old, &qp);
    destroyed++;
    return 0;
}

int ibv_modify_qp(struct ibv_qp *changed, struct ibv_qp_attr *attr, int mask)
{
    assert_ptr_equal(changed, &qp);
    if (mask & IBV_QP_DEST_QPN)
        assert_int_equal(attr->dest_qp_num, 77); // its own number
    state = attr->qp_state;
    return 0;
}

// ---- tests ----

static const aq_ibv_path_t path = {.mtu = IBV_MTU_1024};
static const aq_ibv_path_source_t from = {.path = &path, .port = 1};
static aq_ibv_memory_t memory;

static int set_up(void **unused)
{
    (void)unused;
    fake_verbs_start();
    fault = NONE;
    copies = posted = made = destroyed = 0;
    memory = (aq_ibv_memory_t){.calls = &fake_verbs_calls,
                               .pd = &pd,
                               .device = "fake0",
                               .region_bytes = UINT32_MAX,
                               .paged = AQ_IBV_PAGED};
    return default_settings();
}

// Tries, and checks that nothing is left of the trial.
static aq_ibv_paging_t paged_after(enum device_fault with)
{
    fault = with;
    memory.paged = AQ_IBV_PAGED;
    aq_ibv_paging_try(&memory, &from);
    assert_int_equal(fake_verbs.regions, 0);
    assert_int_equal(memory.regions, 0);
    assert_int_equal(memory.bytes, 0);
    assert_int_equal(made, destroyed);
    return memory.paged;
}

static void test_right(void **unused)
{
    (void)unused;
    assert_int_equal(paged_after(NONE), AQ_IBV_PAGED);
    assert_int_equal(state, IBV_QPS_RTS);
    assert_int_equal(copies, 8); // write and read, of both kinds of memory, at two offsets
}

static void test_wrong(void **unused)
{
    (void)unused;
    assert_int_equal(paged_after(PAGE_BEGINS_LOCAL), AQ_IBV_NOT_PAGED);
    assert_int_equal(paged_after(PAGE_BEGINS_THERE), AQ_IBV_NOT_PAGED);
    assert_int_equal(paged_after(NO_POST), AQ_IBV_NOT_PAGED);
    assert_int_equal(paged_after(FAILS), AQ_IBV_NOT_PAGED);
}

// Memory that cannot be registered is not paged, either; and without paging nothing is tried.
static void test_nothing_tried(void **unused)
{
    (void)unused;
    fake_verbs.most_regions = 1;
    assert_int_equal(paged_after(NONE), AQ_IBV_NOT_PAGED);
    fake_verbs.most_regions = FAKE_VERBS_REGIONS;
    aq_ibv_paging_try(&memory, &from);
    assert_int_equal(copies, 0);
    assert_int_equal(made, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_right, set_up),
        cmocka_unit_test_setup(test_wrong, set_up),
        cmocka_unit_test_setup(test_nothing_tried, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
