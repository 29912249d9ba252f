// SPDX-License-Identifier: BSD-3-Clause
// Connections by datagrams between two processes, both in this one, on fake devices: what happens
// when nobody tells the system the address of the peer's port (ETIMEDOUT), for a while or for ever.
#include "../../../unit/unit_test.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../../conduits/ibv/connect/ibv_connect_ud.h"
#include "../../../../other/base/clock.h"
#include "../../../unit/default_settings.h"
#include "../../../unit/assert_between.h"

enum { NODES = 2, POSTED = 256, COMPLETIONS = 64, ADDRESS_BYTES = 20, GRH = 40, RC_NUMBERS = 100 };

typedef struct queue {
    struct ibv_cq cq;
    struct ibv_wc all[COMPLETIONS];
    unsigned in, out;
} queue_t;

typedef struct node {
    struct ibv_context context;
    struct ibv_pd pd;
    struct ibv_mr mr;
    struct ibv_qp datagrams;
    queue_t queues[2]; // received, sent
    unsigned queues_made;
    struct ibv_sge slots[POSTED];
    uint64_t ids[POSTED];
    unsigned posted, used;
    unsigned connects;   // attempts to connect a queue pair
    unsigned unanswered; // so many of the next ones end with ETIMEDOUT
    unsigned paths;      // attempts to find a path for datagrams
    unsigned pathless;   // so many of the next ones fail
    bool is_down;        // its port
    aq_conduit_env_t env;
    aq_boot_t boot;
    aq_ibv_losses_t losses;
    aq_ibv_addresses_t addresses;
    aq_ibv_address_row_t rows[NODES];
    uint32_t numbers[NODES];
    uint8_t list[NODES * ADDRESS_BYTES];
    aq_ibv_device_t device;
    aq_ibv_limits_t limits;
    aq_ibv_queues_t own_queues;
    aq_ibv_peers_t peers;
    aq_ibv_end_t end;
    aq_ibv_connector_t connector;
} node_t;

static node_t nodes[NODES];
static _Atomic int32_t exit_word;
static uint32_t host_of_rank[NODES] = {0, 1};
static unsigned pairs_made;

// ---- the devices ----

static node_t *node_at(struct ibv_context *context)
{
    return (node_t *)(void *)context; // its first member
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    node_t *node = node_at(qp->context);
    (void)bad;
    node->slots[node->posted % POSTED] = *wr->sg_list;
    node->ids[node->posted++ % POSTED] = wr->wr_id;
    return 0;
}

static void queue_add(queue_t *queue, uint64_t id, uint32_t bytes)
{
    assert_between(queue->in - queue->out, 0, COMPLETIONS - 1);
    queue->all[queue->in++ % COMPLETIONS] =
        (struct ibv_wc){.wr_id = id, .status = IBV_WC_SUCCESS, .byte_len = bytes};
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    node_t *from = node_at(qp->context);
    node_t *to = &nodes[from == nodes];
    (void)bad;
    queue_add(&from->queues[1], wr->wr_id, 0);
    assert_int_equal(wr->wr.ud.remote_qpn, to->datagrams.qp_num);
    const unsigned slot = to->used++ % POSTED;
    assert_between(to->used, 1, to->posted);
    memcpy((char *)(uintptr_t)to->slots[slot].addr + GRH, (void *)(uintptr_t)wr->sg_list->addr,
           wr->sg_list->length);
    queue_add(&to->queues[0], to->ids[slot], wr->sg_list->length + GRH);
    return 0;
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    queue_t *queue = (queue_t *)(void *)cq;
    assert_int_equal(count, 1);
    if (queue->in == queue->out)
        return 0;
    *wc = queue->all[queue->out++ % COMPLETIONS];
    return 1;
}

static int notify(struct ibv_cq *cq, int solicited)
{
    (void)cq, (void)solicited;
    return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
    (void)channel, (void)cq, (void)context;
    return -1;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
    node_t *node = node_at(context);
    (void)entries, (void)cq_context, (void)channel, (void)vector;
    struct ibv_cq *cq = &node->queues[node->queues_made++].cq;
    cq->context = context;
    return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    (void)cq;
    return 0;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    (void)addr, (void)length, (void)access;
    return &node_at(pd->context)->mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    (void)mr;
    return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    if (attr->qp_type == IBV_QPT_UD) {
        node_at(pd->context)->datagrams.context = pd->context;
        return &node_at(pd->context)->datagrams;
    }
    struct ibv_qp *qp = calloc(1, sizeof *qp);
    qp->context = pd->context;
    qp->qp_num = RC_NUMBERS + pairs_made++;
    return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    if (qp->qp_num >= RC_NUMBERS)
        free(qp);
    return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    node_t *node = node_at(qp->context);
    (void)mask;
    if (qp->qp_num < RC_NUMBERS || attr->qp_state != IBV_QPS_RTR)
        return 0;
    node->connects++;
    if (!node->unanswered)
        return 0;
    node->unanswered--;
    return ETIMEDOUT;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *compat)
{
    (void)port;
    *(struct ibv_port_attr *)(void *)compat = (struct ibv_port_attr){
        .state = node_at(context)->is_down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE};
    return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    node_t *node = node_at(pd->context);
    node->paths++;
    assert_int_equal(attr->grh.dgid.raw[15], 2 - (node - nodes)); // of the other node
    if (!node->pathless)
        return calloc(1, sizeof(struct ibv_ah));
    node->pathless--;
    errno = ETIMEDOUT;
    return NULL;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
    free(ah);
    return 0;
}

// ---- the two processes ----

static aq_ibv_port_address_t address_of(unsigned node)
{
    return (aq_ibv_port_address_t){.gid = {[10] = 0xff, 0xff, 10, 84, 0, (uint8_t)(node + 1)}};
}

static void addresses_fill(node_t *node)
{
    for (unsigned i = 0; i < NODES; i++) {
        const aq_ibv_port_address_t address = address_of(i);
        node->rows[i] = (aq_ibv_address_row_t){(uint16_t)i, 1};
        node->numbers[i] = i + 1;
        memcpy(node->list + i * ADDRESS_BYTES, &address, sizeof address);
    }
    node->addresses = (aq_ibv_addresses_t){.rows = node->rows,
                                           .queue_pairs = node->numbers,
                                           .list = node->list,
                                           .count = NODES,
                                           .family = AQ_IBV_DATAGRAMS,
                                           .bytes = ADDRESS_BYTES};
}

static void device_fill(node_t *node, uint32_t rank)
{
    node->context.ops = (struct ibv_context_ops){.poll_cq = poll_cq,
                                                 .req_notify_cq = notify,
                                                 .post_send = post_send,
                                                 .post_recv = post_recv};
    node->pd.context = &node->context;
    node->datagrams.qp_num = rank + 1;
    node->device = (aq_ibv_device_t){.verbs = &node->context,
                                     .port = 1,
                                     .path.mtu = IBV_MTU_1024,
                                     .address = address_of(rank),
                                     .mtu = IBV_MTU_1024,
                                     .ethernet = true,
                                     .pd = &node->pd};
}

static void connector_fill(node_t *node)
{
    aq_ibv_connector_t *connector = &node->connector;
    node->end =
        (aq_ibv_end_t){.limits = &node->limits, .queues = &node->own_queues, .peers = &node->peers};
    node->end.own.rank = node->env.rank;
    connector->ops = &aq_ibv_connect_ud;
    connector->env = &node->env;
    connector->device = &node->device;
    connector->addresses = &node->addresses;
    connector->losses = &node->losses;
    connector->ends[0] = &node->end;
    pthread_mutex_init(&connector->lock, NULL);
    pthread_cond_init(&connector->connected, NULL);
    assert_int_equal(aq_ibv_ud_open(connector), AQ_OK);
}

static void node_start(uint32_t rank)
{
    node_t *node = &nodes[rank];
    memset(node, 0, sizeof *node);
    device_fill(node, rank);
    addresses_fill(node);
    node->boot = (aq_boot_t){
        .rank = rank, .size = NODES, .host_of_rank = host_of_rank, .exit_word = &exit_word};
    node->env = (aq_conduit_env_t){.boot = &node->boot, .rank = rank, .size = NODES};
    node->losses = (aq_ibv_losses_t){.env = &node->env, .wake = eventfd(0, EFD_NONBLOCK)};
    node->limits = (aq_ibv_limits_t){
        .peers = 1, .credits = {8, 8, 1}, .depth_each = 8, .grants = 8, .reads = 4};
    node->peers = (aq_ibv_peers_t){.limits = &node->limits, .rank = rank};
    assert_true(aq_ibv_peers_open(&node->peers, NODES));
    connector_fill(node);
}

static void start(void)
{
    assert_int_equal(default_settings(), 0);
    assert_true(sodium_init() >= 0);
    exit_word = AQ_BOOT_RUNNING;
    node_start(0);
    node_start(1);
}

static aq_ibv_peer_t *link_from(unsigned node)
{
    return aq_ibv_peer_get(&nodes[node].peers, 1 - node, 0);
}

static void end(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        aq_ibv_ud_close(&nodes[i].connector);
        if (link_from(i)->qp)
            ibv_destroy_qp(link_from(i)->qp);
        aq_ibv_peers_free(&nodes[i].peers);
        close(nodes[i].losses.wake);
    }
}

static aq_status_t call(unsigned node)
{
    aq_ibv_connector_t *connector = &nodes[node].connector;
    pthread_mutex_lock(&connector->lock);
    const aq_status_t status = connector->ops->call(connector, link_from(node));
    pthread_mutex_unlock(&connector->lock);
    return status;
}

static bool is_settled(unsigned node)
{
    const aq_ibv_state_t state = link_from(node)->conn.state;
    return state == AQ_IBV_READY || state == AQ_IBV_FAILED;
}

// Serves both connectors until each link is in a final state; the first one only: until that is.
static void settle(bool both)
{
    while (!is_settled(0) || (both && !is_settled(1))) {
        for (unsigned i = 0; i < NODES; i++)
            nodes[i].connector.ops->progress(&nodes[i].connector);
        aq_clock_sleep_ns(1000000);
    }
}

// ---- tests ----

static void test_connects(void **state)
{
    (void)state;
    start();
    assert_int_equal(call(0), AQ_OK);
    settle(true);
    assert_int_equal(link_from(0)->conn.state, AQ_IBV_READY);
    assert_int_equal(link_from(1)->conn.state, AQ_IBV_READY);
    assert_int_equal(nodes[0].connects, 1);
    assert_int_equal(nodes[1].connects, 1);
    end();
}

// The system learns the peer's address late, at either side: the datagram that it was needed for
// counts as lost, and the next one has more luck.
static void test_late_answers(void **state)
{
    (void)state;
    for (unsigned late = 0; late < NODES; late++) {
        start();
        nodes[late].unanswered = 2;
        assert_int_equal(call(0), AQ_OK);
        settle(true);
        assert_int_equal(link_from(0)->conn.state, AQ_IBV_READY);
        assert_int_equal(link_from(1)->conn.state, AQ_IBV_READY);
        assert_int_equal(nodes[late].connects, 3);
        assert_int_equal(nodes[1 - late].connects, 1);
        assert_int_equal(nodes[late].losses.at, 0);
        end();
    }
}

static void test_late_paths(void **state)
{
    (void)state;
    start();
    nodes[0].pathless = AQ_IBV_CALLS_MAX - 1;
    assert_int_equal(call(0), AQ_OK);
    settle(true);
    assert_int_equal(link_from(0)->conn.state, AQ_IBV_READY);
    assert_int_equal(nodes[0].paths, AQ_IBV_CALLS_MAX);
    assert_int_equal(nodes[0].losses.at, 0);
    end();
}

// A peer whose address nobody answers for is given up after as many attempts as with librdmacm, and
// long before the datagrams end.
static void test_no_path(void **state)
{
    (void)state;
    start();
    nodes[0].pathless = UINT32_MAX;
    assert_int_equal(call(0), AQ_OK);
    settle(false);
    assert_int_equal(link_from(0)->conn.state, AQ_IBV_FAILED);
    assert_int_equal(nodes[0].paths, AQ_IBV_CALLS_MAX);
    assert_int_not_equal(nodes[0].losses.at, 0);
    assert_non_null(strstr(nodes[0].losses.why,
                           "rank 1 cannot be reached at 10.84.0.2 from 10.84.0.1 "
                           "(nothing answers for that address: "));
    assert_int_equal(nodes[0].connector.ops->timeout(&nodes[0].connector), -1);
    end();
}

static void test_port_down(void **state)
{
    (void)state;
    start();
    nodes[0].pathless = UINT32_MAX;
    nodes[0].is_down = true;
    assert_int_equal(call(0), AQ_OK);
    settle(false);
    assert_non_null(strstr(nodes[0].losses.why, "(the port of this process has gone down): "));
    end();
}

// The peer hears the datagrams, and nobody tells its system the address here.
static void test_no_answer(void **state)
{
    (void)state;
    start();
    nodes[1].unanswered = UINT32_MAX;
    assert_int_equal(call(0), AQ_OK);
    while (!is_settled(1)) {
        nodes[0].connector.ops->progress(&nodes[0].connector);
        nodes[1].connector.ops->progress(&nodes[1].connector);
        aq_clock_sleep_ns(1000000);
    }
    assert_int_equal(link_from(1)->conn.state, AQ_IBV_FAILED);
    assert_int_equal(nodes[1].connects, AQ_IBV_CALLS_MAX);
    assert_non_null(
        strstr(nodes[1].losses.why, "rank 0 cannot be reached at 10.84.0.1 from 10.84.0.2 "));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connects),   cmocka_unit_test(test_late_answers),
        cmocka_unit_test(test_late_paths), cmocka_unit_test(test_no_path),
        cmocka_unit_test(test_port_down),  cmocka_unit_test(test_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
