// SPDX-License-Identifier: BSD-3-Clause
#include "../../unit/unit_test.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../unit/default_settings.h"
#include "fake_xrc.h"
#include "../../unit/assert_between.h"

enum { PAIRS = 1024, MESSAGES = 1024, GRH = 40, SRQ_NUMBERS = 5000 };

// A queue pair for datagrams, of XRC, or of a window.
typedef struct pair {
    struct ibv_qp qp;
    enum ibv_qp_type type;
    fake_node_t *node;
    ino_t inode; // of a receiving one
    enum ibv_qp_state state;
    uint32_t to; // number of the other one
    struct ibv_wc waiting[COMPLETIONS];
    unsigned waiting_count;
} pair_t;

fake_node_t fake_nodes[FAKE_RANKS];
static pair_t *pairs[PAIRS]; // by number, from 1
fake_message_t fake_messages[MESSAGES];
unsigned fake_message_count, fake_pairs_made;
static _Atomic int32_t exit_word;
uint32_t fake_host_of_rank[FAKE_RANKS];

// ---- the devices: objects ----

static fake_node_t *node_at(struct ibv_context *context)
{
    return (fake_node_t *)(void *)((char *)context - offsetof(fake_node_t, verbs.context));
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
    fake_node_t *node = node_at(context);
    (void)entries, (void)cq_context, (void)channel, (void)vector;
    assert_between(node->queues_made, 0, QUEUES - 1);
    struct ibv_cq *cq = &node->queues[node->queues_made++].cq;
    cq->context = context;
    return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    (void)cq;
    return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
    (void)channel, (void)cq, (void)context;
    return -1;
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

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
    fake_node_t *node = node_at(context);
    struct stat file;
    assert_int_equal(attr->comp_mask, IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS);
    assert_int_equal(fstat(attr->fd, &file), 0);
    node->domain = (fake_domain_t){.xrcd.context = context, .inode = file.st_ino};
    return &node->domain.xrcd;
}

static int close_xrcd(struct ibv_xrcd *xrcd)
{
    (void)xrcd;
    return 0;
}

static ino_t inode_of(const struct ibv_xrcd *xrcd)
{
    return ((const fake_domain_t *)(const void *)xrcd)->inode;
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
    fake_node_t *node = node_at(context);
    assert_int_equal(attr->srq_type, IBV_SRQT_XRC);
    assert_ptr_equal(attr->xrcd, &node->domain.xrcd);
    assert_ptr_equal(attr->cq, &node->queues[RECEIVED].cq);
    assert_ptr_equal(attr->pd, &node->pd);
    node->srq.context = context;
    return &node->srq;
}

// That of a window.
struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    static struct ibv_srq srq;
    (void)attr;
    srq.context = pd->context;
    return &srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
    (void)srq;
    return 0;
}

static int get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
    *number = SRQ_NUMBERS + node_at(srq->context)->env.rank;
    return 0;
}

static struct ibv_qp *pair_make(struct ibv_context *context, enum ibv_qp_type type)
{
    pair_t *pair = calloc(1, sizeof *pair);
    assert_between(fake_pairs_made, 0, PAIRS - 2);
    pairs[++fake_pairs_made] = pair;
    *pair = (pair_t){.type = type, .node = node_at(context), .state = IBV_QPS_RESET};
    pair->qp.context = context;
    pair->qp.qp_num = fake_pairs_made;
    return &pair->qp;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    assert_true(attr->qp_type != IBV_QPT_XRC_RECV);
    if (attr->qp_type == IBV_QPT_XRC_SEND) {
        assert_ptr_equal(attr->send_cq, &node_at(pd->context)->queues[SENT].cq);
        assert_true(!attr->recv_cq && !attr->srq && !attr->cap.max_recv_wr);
        assert_int_equal(attr->cap.max_send_wr, FAKE_DEPTH);
    }
    return pair_make(pd->context, attr->qp_type);
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
    assert_int_equal(attr->qp_type, IBV_QPT_XRC_RECV);
    assert_int_equal(attr->comp_mask, IBV_QP_INIT_ATTR_XRCD);
    struct ibv_qp *qp = pair_make(context, attr->qp_type);
    ((pair_t *)(void *)qp)->inode = inode_of(attr->xrcd);
    return qp;
}

static struct ibv_qp *open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
    const pair_t *pair = attr->qp_num < PAIRS ? pairs[attr->qp_num] : NULL;
    if (!pair || pair->type != IBV_QPT_XRC_RECV || pair->inode != inode_of(attr->xrcd)) {
        errno = EINVAL;
        return NULL;
    }
    node_at(context)->opened++;
    struct ibv_qp *qp = calloc(1, sizeof *qp);
    *qp = pair->qp;
    qp->context = context;
    return qp;
}

static bool fake_xrc_opened(const struct ibv_qp *qp)
{
    return qp != (const struct ibv_qp *)pairs[qp->qp_num];
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    if (!fake_xrc_opened(qp))
        pairs[qp->qp_num] = NULL;
    free(qp);
    return 0;
}

// The attributes that the kernel wants of a queue pair of XRC at each step: these and no others.
static int mask_of(enum ibv_qp_type type, enum ibv_qp_state state)
{
    const int way = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (state == IBV_QPS_INIT)
        return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    if (state == IBV_QPS_RTR && type != IBV_QPT_XRC_SEND)
        return way | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (state == IBV_QPS_RTR)
        return way;
    assert_int_not_equal(type, IBV_QPT_XRC_RECV);
    return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
           IBV_QP_MAX_QP_RD_ATOMIC;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    pair_t *pair = (pair_t *)(void *)qp;
    assert_false(fake_xrc_opened(qp));
    if (pair->type == IBV_QPT_UD)
        return 0;
    assert_int_equal(mask, mask_of(pair->type, attr->qp_state));
    if (attr->qp_state == IBV_QPS_RTR && pair->node->unanswered) {
        pair->node->unanswered--;
        return ETIMEDOUT;
    }
    assert_int_equal(attr->qp_state, pair->state == IBV_QPS_RESET ? IBV_QPS_INIT : pair->state + 1);
    pair->state = attr->qp_state;
    if (attr->qp_state == IBV_QPS_RTR)
        pair->to = attr->dest_qp_num;
    return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *compat)
{
    (void)context, (void)port;
    *(struct ibv_port_attr *)(void *)compat = (struct ibv_port_attr){.state = IBV_PORT_ACTIVE};
    return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    (void)pd, (void)attr;
    return calloc(1, sizeof(struct ibv_ah));
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
    free(ah);
    return 0;
}

// ---- the devices: work ----

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    fake_node_t *node = node_at(qp->context);
    (void)bad;
    node->slots[node->posted % POSTED] = *wr->sg_list;
    node->ids[node->posted++ % POSTED] = wr->wr_id;
    return 0;
}

static void queue_add(fake_queue_t *queue, struct ibv_wc wc)
{
    assert_between(queue->in - queue->out, 0, COMPLETIONS - 1);
    queue->all[queue->in++ % COMPLETIONS] = wc;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    fake_queue_t *queue = (fake_queue_t *)(void *)cq;
    int count = 0;
    while (count < most && queue->in != queue->out)
        wc[count++] = queue->all[queue->out++ % COMPLETIONS];
    return count;
}

static int notify(struct ibv_cq *cq, int solicited)
{
    (void)cq, (void)solicited;
    return 0;
}

static void datagram_carry(fake_node_t *from, const struct ibv_send_wr *wr)
{
    fake_node_t *to = pairs[wr->wr.ud.remote_qpn]->node;
    queue_add(&from->queues[DATAGRAMS_OUT], (struct ibv_wc){.wr_id = wr->wr_id});
    if (to->is_deaf)
        return;
    const unsigned slot = to->used++ % POSTED;
    assert_between(to->used, 1, to->posted);
    memcpy((char *)(uintptr_t)to->slots[slot].addr + GRH, (void *)(uintptr_t)wr->sg_list->addr,
           wr->sg_list->length);
    queue_add(&to->queues[DATAGRAMS_IN],
              (struct ibv_wc){.wr_id = to->ids[slot], .byte_len = wr->sg_list->length + GRH});
}

// A message arrives at the rank of the shared receive queue, if all numbers fit.
static void message_carry(const pair_t *pair, const struct ibv_send_wr *wr)
{
    const pair_t *receiving = pairs[pair->to];
    const uint32_t to = wr->qp_type.xrc.remote_srqn - SRQ_NUMBERS;
    assert_int_equal(pair->state, IBV_QPS_RTS);
    assert_int_equal(receiving->type, IBV_QPT_XRC_RECV);
    assert_int_equal(receiving->state, IBV_QPS_RTR);
    assert_int_equal(receiving->to, pair->qp.qp_num);
    assert_between(to, 0, FAKE_RANKS - 1);
    assert_int_equal(fake_nodes[to].domain.inode, receiving->inode);
    assert_between(fake_message_count, 0, MESSAGES - 1);
    fake_message_t *message = &fake_messages[fake_message_count++];
    *message = (fake_message_t){.from = pair->node->env.rank, .to = to};
    if (wr->num_sge)
        memcpy(&message->value, (void *)(uintptr_t)wr->sg_list->addr, sizeof message->value);
}

void fake_xrc_release(fake_node_t *node)
{
    node->is_held = false;
    for (unsigned i = 1; i <= fake_pairs_made; i++) {
        pair_t *pair = pairs[i];
        for (unsigned k = 0; pair && pair->node == node && k < pair->waiting_count; k++)
            queue_add(&node->queues[SENT], pair->waiting[k]);
        if (pair && pair->node == node)
            pair->waiting_count = 0;
    }
}

static void work_do(pair_t *pair, const struct ibv_send_wr *wr)
{
    const bool fails = pair->node->broken == pair->qp.qp_num;
    const struct ibv_wc wc = {.wr_id = wr->wr_id,
                              .status = fails ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS};
    if (!fails)
        message_carry(pair, wr);
    if (!fails && !(wr->send_flags & IBV_SEND_SIGNALED))
        return;
    assert_between(pair->waiting_count, 0, COMPLETIONS - 1);
    pair->waiting[pair->waiting_count++] = wc;
    if (!pair->node->is_held)
        fake_xrc_release(pair->node);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    pair_t *pair = (pair_t *)(void *)qp;
    (void)bad;
    for (; wr; wr = wr->next)
        if (pair->type == IBV_QPT_UD)
            datagram_carry(pair->node, wr);
        else
            work_do(pair, wr);
    return 0;
}

// ---- the processes ----

static uint8_t rows_told[FAKE_RANKS][64];

// Ranks call one after the other. A rank needs only what an earlier one of its host has told.
static aq_status_t exchange(aq_boot_t *boot, const void *mine, size_t bytes, void *all)
{
    assert_between(bytes, 1, sizeof rows_told[0]);
    memcpy(rows_told[boot->rank], mine, bytes);
    for (uint32_t r = 0; r < FAKE_RANKS; r++)
        memcpy((char *)all + r * bytes, rows_told[r], bytes);
    return AQ_OK;
}

static const aq_boot_ops_t boot_ops = {.exchange = exchange};

aq_ibv_port_address_t fake_xrc_address(uint32_t host)
{
    return (aq_ibv_port_address_t){.gid = {0xfe, 0x80, [15] = (uint8_t)(host + 1)},
                                   .lid = (uint16_t)(host + 1)};
}

static void device_fill(fake_node_t *node, uint32_t host)
{
    node->verbs = (struct verbs_context){.sz = sizeof node->verbs,
                                         .open_xrcd = open_xrcd,
                                         .close_xrcd = close_xrcd,
                                         .create_srq_ex = create_srq_ex,
                                         .get_srq_num = get_srq_num,
                                         .create_qp_ex = create_qp_ex,
                                         .open_qp = open_qp};
    node->verbs.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    node->verbs.context.ops = (struct ibv_context_ops){.poll_cq = poll_cq,
                                                       .req_notify_cq = notify,
                                                       .post_send = post_send,
                                                       .post_recv = post_recv};
    node->pd.context = &node->verbs.context;
    node->device = (aq_ibv_device_t){.verbs = &node->verbs.context,
                                     .port = 1,
                                     .path.mtu = IBV_MTU_1024,
                                     .address = fake_xrc_address(host),
                                     .mtu = IBV_MTU_1024,
                                     .pd = &node->pd};
}

static void addresses_fill(fake_node_t *node)
{
    for (uint32_t host = 0; host < FAKE_HOSTS; host++) {
        const aq_ibv_port_address_t address = fake_xrc_address(host);
        memcpy(node->list + host * ADDRESS_BYTES, &address, sizeof address);
    }
    for (uint32_t rank = 0; rank < FAKE_RANKS; rank++)
        node->rows[rank] = (aq_ibv_address_row_t){(uint16_t)fake_host_of_rank[rank], 1};
    node->addresses = (aq_ibv_addresses_t){.rows = node->rows,
                                           .queue_pairs = node->numbers,
                                           .list = node->list,
                                           .count = FAKE_HOSTS,
                                           .family = AQ_IBV_DATAGRAMS,
                                           .bytes = ADDRESS_BYTES};
}

static void connector_fill(fake_node_t *node)
{
    aq_ibv_connector_t *connector = &node->connector;
    node->end = (aq_ibv_end_t){.limits = &node->limits,
                               .queues = &node->own_queues,
                               .peers = &node->peers,
                               .xrc = &node->xrc,
                               .own.rank = node->env.rank};
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
    fake_node_t *node = &fake_nodes[rank];
    memset(node, 0, sizeof *node);
    device_fill(node, fake_host_of_rank[rank]);
    addresses_fill(node);
    node->boot = (aq_boot_t){.ops = &boot_ops,
                             .rank = rank,
                             .size = FAKE_RANKS,
                             .host_of_rank = fake_host_of_rank,
                             .exit_word = &exit_word};
    node->env = (aq_conduit_env_t){.boot = &node->boot, .rank = rank, .size = FAKE_RANKS};
    node->losses = (aq_ibv_losses_t){.env = &node->env, .wake = eventfd(0, EFD_NONBLOCK)};
    node->limits = (aq_ibv_limits_t){.peers = FAKE_ELSEWHERE,
                                     .credits = {8, 64, 1},
                                     .depth_each = FAKE_DEPTH,
                                     .depth_total = 16 * FAKE_DEPTH,
                                     .unsignaled_each = FAKE_UNSIGNALED,
                                     .unsignaled_total = 64,
                                     .arrivals = 64,
                                     .grants = 64,
                                     .reads = 4};
    node->peers = (aq_ibv_peers_t){.limits = &node->limits, .rank = rank};
    assert_true(aq_ibv_peers_open(&node->peers, FAKE_RANKS));
    const aq_ibv_port_address_t port = fake_xrc_address(fake_host_of_rank[rank]);
    assert_int_equal(aq_ibv_xrc_open(&node->xrc, &node->boot, &node->verbs.context, &port), AQ_OK);
    node->own_queues.domain = node->xrc.domain;
    assert_int_equal(aq_ibv_queues_open(&node->own_queues, &node->pd, &node->limits, false, false),
                     AQ_OK);
    node->send_queue = (aq_ibv_send_queue_t){
        .limits = &node->limits, .losses = &node->losses, .cq = node->own_queues.send_cq};
    assert_true(aq_ibv_send_queue_open(&node->send_queue));
    connector_fill(node);
}

int fake_xrc_start(void **state)
{
    (void)state;
    assert_int_equal(default_settings(), 0);
    assert_true(sodium_init() >= 0);
    exit_word = AQ_BOOT_RUNNING;
    fake_pairs_made = fake_message_count = 0;
    memset(rows_told, 0, sizeof rows_told);
    for (uint32_t rank = 0; rank < FAKE_RANKS; rank++)
        fake_host_of_rank[rank] = rank / FAKE_EACH;
    for (uint32_t rank = 0; rank < FAKE_RANKS; rank++)
        node_start(rank);
    for (uint32_t rank = 0; rank < FAKE_RANKS; rank++)
        for (uint32_t to = 0; to < FAKE_RANKS; to++)
            fake_nodes[rank].numbers[to] =
                aq_ibv_ud_listens(&fake_nodes[to].connector, 0).queue_pair;
    return 0;
}

int fake_xrc_end(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < FAKE_RANKS; rank++) {
        fake_node_t *node = &fake_nodes[rank];
        for (aq_ibv_peer_t *link = node->peers.first; link; link = link->next)
            if (link->conn.receiver && fake_xrc_opened(link->conn.receiver))
                free(link->conn.receiver);
        aq_ibv_ud_close(&node->connector);
        aq_ibv_peers_free(&node->peers);
        aq_ibv_queues_close(&node->own_queues);
        aq_ibv_xrc_close(&node->xrc);
        free(node->send_queue.ops);
        close(node->losses.wake);
    }
    for (unsigned i = 1; i <= fake_pairs_made; i++)
        free(pairs[i]);
    memset(pairs, 0, sizeof pairs);
    return 0;
}

unsigned fake_xrc_count(enum ibv_qp_type type, uint32_t host)
{
    unsigned count = 0;
    for (unsigned i = 1; i <= fake_pairs_made; i++)
        count += pairs[i] && pairs[i]->type == type &&
                 fake_host_of_rank[pairs[i]->node->env.rank] == host;
    return count;
}
