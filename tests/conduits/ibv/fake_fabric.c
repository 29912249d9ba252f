// SPDX-License-Identifier: BSD-3-Clause
#include "../../unit/unit_test.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake_fabric.h"
#include "fake_verbs.h"

enum { COMPLETIONS = 1 << 14, BUFFERS = 1 << 14, WAITING = 256, ONLY = 1 };

typedef struct queue {
    struct ibv_cq cq;
    struct ibv_wc all[COMPLETIONS];
    unsigned in, out;
    atomic_bool armed;
} queue_t;

// A message that waits for a buffer.
typedef struct waiting {
    unsigned from;
    uint64_t id;
    bool signaled;
    uint32_t bytes;
    uint8_t message[AQ_IBV_BUFFER_BYTES];
} waiting_t;

typedef struct device {
    struct ibv_context context;
    struct ibv_pd pd;
    struct ibv_srq srq;
    queue_t sent, received;
    struct ibv_recv_wr buffers[BUFFERS];
    struct ibv_sge places[BUFFERS];
    unsigned in, out;
    waiting_t *waiting;
    unsigned waiting_count;
    aq_boot_t boot;
    aq_conduit_env_t env;
    uint32_t self, rank;
} device_t;

// A queue pair of node `from`, connected to node `to`.
typedef struct pair {
    struct ibv_qp qp; // first: free_pairs frees the pair by it
    unsigned from, to;
} pair_t;

fake_node_t fake_nodes[FAKE_NODES];
unsigned fake_most_buffers;
void (*fake_fabric_event)(struct ibv_cq *cq);
static device_t *devices[FAKE_NODES];
static unsigned node_count, polling_node;
static unsigned endpoints_each; // windows of a rank; 0: nodes are ranks
static uint32_t host_of_rank[FAKE_NODES];
static _Atomic int32_t exit_word;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER; // of all completion queues

static uint32_t rank_of(unsigned node)
{
    return endpoints_each ? node / endpoints_each : node;
}

static uint16_t endpoint_of(unsigned node)
{
    return endpoints_each ? (uint16_t)(1 + node % endpoints_each) : 0;
}

static void no_other_work(void) {}

static bool holds_all(const void *addr, size_t nbytes)
{
    (void)addr, (void)nbytes;
    return true;
}

static device_t *device_of(struct ibv_context *context)
{
    return (device_t *)(void *)((char *)context - offsetof(device_t, context));
}

static unsigned device_number(const device_t *device)
{
    return device->self;
}

static void queue_complete(queue_t *queue, struct ibv_wc wc)
{
    pthread_mutex_lock(&queue_lock);
    assert_true(queue->in - queue->out < COMPLETIONS);
    queue->all[queue->in++ % COMPLETIONS] = wc;
    pthread_mutex_unlock(&queue_lock);
    if (fake_fabric_event && atomic_exchange(&queue->armed, false))
        fake_fabric_event(&queue->cq);
}

// ---- verbs of the fake devices ----

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    queue_t *queue = (queue_t *)(void *)((char *)cq - offsetof(queue_t, cq));
    device_t *device = device_of(cq->context);
    fake_counts_t *counts = &fake_nodes[device_number(device)].counts;
    int taken = 0;
    pthread_mutex_lock(&queue_lock);
    if (queue == &device->sent)
        counts->send_polls++;
    else
        counts->receive_polls++;
    while (taken < most && queue->out != queue->in)
        wc[taken++] = queue->all[queue->out++ % COMPLETIONS];
    pthread_mutex_unlock(&queue_lock);
    return taken;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
    queue_t *queue = (queue_t *)(void *)((char *)cq - offsetof(queue_t, cq));
    (void)solicited;
    fake_nodes[device_number(device_of(cq->context))].counts.notifies++;
    atomic_store(&queue->armed, true);
    return 0;
}

static void complete_send(unsigned from, uint64_t id, bool signaled)
{
    if (signaled)
        queue_complete(&devices[from]->sent,
                       (struct ibv_wc){.wr_id = id, .status = IBV_WC_SUCCESS});
}

static void device_receive(unsigned from, device_t *to, const void *message, uint32_t bytes)
{
    const unsigned place = to->out++ % BUFFERS;
    fake_counts_t *counts = &fake_nodes[device_number(to)].counts;
    assert_true(bytes <= to->places[place].length);
    memcpy((void *)(uintptr_t)to->places[place].addr, message, bytes);
    if (to->in - to->out < counts->least_buffers)
        counts->least_buffers = to->in - to->out;
    (void)from;
    queue_complete(&to->received, (struct ibv_wc){.wr_id = to->buffers[place].wr_id,
                                                  .status = IBV_WC_SUCCESS,
                                                  .byte_len = bytes});
}

static void wait_for_buffer(unsigned from, device_t *to, const struct ibv_send_wr *wr)
{
    assert_true(to->waiting_count < WAITING);
    waiting_t *wait = &to->waiting[to->waiting_count++];
    *wait = (waiting_t){.from = from,
                        .id = wr->wr_id,
                        .signaled = wr->send_flags & IBV_SEND_SIGNALED,
                        .bytes = wr->sg_list[0].length};
    memcpy(wait->message, (void *)(uintptr_t)wr->sg_list[0].addr, wait->bytes);
    fake_nodes[device_number(to)].counts.waits++;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    device_t *device = device_of(srq->context);
    fake_counts_t *counts = &fake_nodes[device_number(device)].counts;
    (void)bad;
    counts->refills++;
    for (; wr; wr = wr->next) {
        counts->refilled++;
        const unsigned place = device->in++ % BUFFERS;
        device->buffers[place] = *wr;
        device->places[place] = *wr->sg_list;
    }
    while (device->waiting_count && device->out != device->in) {
        waiting_t first = device->waiting[0];
        memmove(device->waiting, device->waiting + 1,
                --device->waiting_count * sizeof *device->waiting);
        device_receive(first.from, device, first.message, first.bytes);
        complete_send(first.from, first.id, first.signaled);
    }
    return 0;
}

static void send_one(const pair_t *pair, const struct ibv_send_wr *wr)
{
    device_t *to = devices[pair->to];
    fake_counts_t *counts = &fake_nodes[pair->from].counts;
    const uint32_t bytes = wr->num_sge ? wr->sg_list->length : 0;
    void *local = wr->num_sge ? (void *)(uintptr_t)wr->sg_list->addr : NULL;
    void *remote = (void *)(uintptr_t)wr->wr.rdma.remote_addr;
    const bool signaled = wr->send_flags & IBV_SEND_SIGNALED;
    counts->works++;
    counts->signaled += signaled;
    counts->sends += wr->opcode == IBV_WR_SEND;
    counts->writes += wr->opcode == IBV_WR_RDMA_WRITE;
    counts->reads += wr->opcode == IBV_WR_RDMA_READ;
    if (fake_nodes[pair->from].cut_off) { // a failure completes unsignaled operations too
        queue_complete(&devices[pair->from]->sent,
                       (struct ibv_wc){.wr_id = wr->wr_id,
                                       .status = fake_nodes[pair->from].starved
                                                     ? IBV_WC_RNR_RETRY_EXC_ERR
                                                     : IBV_WC_RETRY_EXC_ERR});
        return;
    }
    if (wr->opcode == IBV_WR_SEND && to->in == to->out) {
        wait_for_buffer(pair->from, to, wr);
        return;
    }
    if (wr->opcode == IBV_WR_SEND)
        device_receive(pair->from, to, local, bytes);
    else if (bytes)
        memcpy(wr->opcode == IBV_WR_RDMA_READ ? local : remote,
               wr->opcode == IBV_WR_RDMA_READ ? remote : local, bytes);
    complete_send(pair->from, wr->wr_id, signaled);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    const pair_t *pair = (pair_t *)(void *)((char *)qp - offsetof(pair_t, qp));
    (void)bad;
    fake_nodes[pair->from].counts.posts++;
    for (; wr; wr = wr->next)
        send_one(pair, wr);
    return 0;
}

// ---- the core's side of the conduit ----

static aq_status_t boot_exchange(aq_boot_t *boot, const void *mine, size_t bytes, void *all)
{
    for (uint32_t r = 0; r < boot->size; r++)
        memcpy((char *)all + r * bytes, mine, bytes);
    return AQ_OK;
}

static const aq_boot_ops_t boot_ops = {.exchange = boot_exchange};

static aq_status_t send_am(unsigned from, unsigned to, const aq_am_t *am)
{
    aq_ibv_conduit_t *ibv = fake_nodes[from].ibv;
    return aq_ibv_send(&ibv->sender, fake_fabric_link(from, to), am);
}

// The first argument of a request says whether the sender wants a reply.
static bool node_deliver(const aq_arrival_t *arrival)
{
    const unsigned here = polling_node;
    fake_nodes[here].counts.replies += arrival->reply;
    fake_nodes[here].counts.requests += !arrival->reply;
    if (arrival->reply || !arrival->args[0])
        return false;
    const aq_am_t am = {.category = AQ_AM_SHORT, .cookie = arrival->path->cookie, .reply = true};
    aq_ibv_conduit_t *ibv = fake_nodes[here].ibv;
    aq_ibv_peer_t *link = arrival->path->link;
    assert_ptr_equal(arrival->path->conduit, endpoints_each ? &ibv->base : NULL);
    if (!endpoints_each)
        link = fake_fabric_link(here, arrival->source);
    assert_int_equal(link->rank, arrival->source);
    while (aq_ibv_send(&ibv->sender, link, &am) == AQ_AGAIN)
        aq_ibv_poll(&fake_nodes[here].ibv->receiver, AQ_POLL_REPLIES);
    return true;
}

// ---- nodes ----

static void start_queue(queue_t *queue, device_t *device)
{
    queue->cq.context = &device->context;
    queue->in = queue->out = 0;
}

static void start_device(unsigned number, bool threads)
{
    device_t *device = calloc(1, sizeof *device);
    assert_non_null(device);
    devices[number] = device;
    device->self = number;
    device->rank = rank_of(number);
    device->waiting = calloc(WAITING, sizeof *device->waiting);
    device->context.ops.poll_cq = poll_cq;
    device->context.ops.req_notify_cq = req_notify_cq;
    device->context.ops.post_send = post_send;
    device->context.ops.post_srq_recv = post_srq_recv;
    device->srq.context = &device->context;
    start_queue(&device->sent, device);
    start_queue(&device->received, device);
    device->boot = (aq_boot_t){.ops = &boot_ops,
                               .rank = device->rank,
                               .size = rank_of(node_count),
                               .host_of_rank = host_of_rank,
                               .exit_word = &exit_word};
    device->env = (aq_conduit_env_t){.boot = &device->boot,
                                     .rank = device->rank,
                                     .size = rank_of(node_count),
                                     .nbrhd = &device->rank,
                                     .nbrhd_size = ONLY,
                                     .threads = threads,
                                     .deliver = node_deliver,
                                     .segment_holds = holds_all,
                                     .go_on = no_other_work};
}

static void start_conduit(unsigned number)
{
    const struct ibv_device_attr can = {.max_qp_wr = 1 << 14,
                                        .max_cqe = 1 << 14,
                                        .max_srq_wr =
                                            fake_most_buffers ? (int)fake_most_buffers : BUFFERS,
                                        .max_qp_rd_atom = 16,
                                        .max_qp_init_rd_atom = 16};
    const struct ibv_port_attr port = {.max_msg_sz = 1 << 30};
    device_t *device = devices[number];
    aq_ibv_conduit_t *ibv = calloc(1, sizeof *ibv);
    assert_non_null(ibv);
    fake_nodes[number] = (fake_node_t){.ibv = ibv};
    ibv->shared = calloc(1, sizeof *ibv->shared);
    assert_non_null(ibv->shared);
    ibv->base.env = ibv->shared->losses.env = &device->env;
    ibv->shared->losses.wake = -1;
    ibv->shared->device = (aq_ibv_device_t){.verbs = &device->context, .pd = &device->pd};
    ibv->queues = (aq_ibv_queues_t){
        .srq = &device->srq, .send_cq = &device->sent.cq, .receive_cq = &device->received.cq};
    ibv->shared->memory = (aq_ibv_memory_t){
        .calls = &fake_verbs_calls, .pd = &device->pd, .region_bytes = 1 << 30, .most = 1 << 30};
    aq_ibv_limits_find(&ibv->limits, rank_of(node_count) - 1, device->env.threads, &can, &port);
    ibv->limits.inline_bytes = 128;
    ibv->base.endpoint = endpoint_of(number);
    if (endpoints_each)
        ibv->limits = aq_ibv_limits_of_window(&ibv->limits);
    aq_ibv_parts_join(ibv);
    assert_int_equal(aq_ibv_parts_open(ibv), AQ_OK);
    assert_true(device->in - device->out <= BUFFERS);
}

void fake_fabric_start(unsigned nodes, bool threads)
{
    fake_verbs_start();
    node_count = nodes;
    aq_threads = threads;
    for (unsigned i = 0; i < nodes; i++) {
        start_device(i, threads);
        start_conduit(i);
    }
    fake_fabric_clear_counts();
}

void fake_fabric_start_windows(unsigned ranks, unsigned endpoints)
{
    endpoints_each = endpoints;
    fake_fabric_start(ranks * endpoints, false);
}

static void free_pairs(aq_ibv_conduit_t *ibv)
{
    for (aq_ibv_peer_t *link = atomic_load(&ibv->peers.first); link; link = link->next)
        free(link->qp);
}

void fake_fabric_end(void)
{
    for (unsigned i = 0; i < node_count; i++) {
        aq_ibv_conduit_t *ibv = fake_nodes[i].ibv;
        free_pairs(ibv);
        aq_ibv_parts_close(ibv);
        free(ibv->shared);
        free(ibv);
        free(devices[i]->waiting);
        free(devices[i]);
    }
    node_count = endpoints_each = 0;
}

static aq_ibv_peer_t *connect_one_way(unsigned from, unsigned to)
{
    aq_ibv_peer_t *link =
        aq_ibv_peer_get(&fake_nodes[from].ibv->peers, rank_of(to), endpoint_of(to));
    pair_t *pair = calloc(1, sizeof *pair);
    assert_true(link && pair);
    pair->from = from;
    pair->to = to;
    pair->qp.context = &devices[from]->context;
    link->qp = &pair->qp;
    link->conn.state = AQ_IBV_READY;
    link->grant = aq_ibv_peer_grant(&fake_nodes[from].ibv->peers);
    return link;
}

// What the node of a link tells the peer.
static aq_ibv_conn_private_data_t private_data_of(unsigned node, const aq_ibv_peer_t *link)
{
    aq_ibv_conn_private_data_t mine = aq_ibv_own_private_data(fake_nodes[node].ibv);
    mine.grant = (uint16_t)link->grant;
    mine.to_endpoint = link->endpoint;
    mine.number = (uint16_t)link->number;
    return mine;
}

static aq_ibv_peer_t *find_link(unsigned from, unsigned to)
{
    aq_ibv_peer_t *link = atomic_load(&fake_nodes[from].ibv->peers.first);
    while (link && (link->rank != rank_of(to) || link->endpoint != endpoint_of(to)))
        link = link->next;
    return link;
}

aq_ibv_peer_t *fake_fabric_link(unsigned from, unsigned to)
{
    aq_ibv_peer_t *mine = find_link(from, to), *theirs;
    aq_ibv_conn_private_data_t private_data;
    if (mine)
        return mine;
    mine = connect_one_way(from, to);
    theirs = connect_one_way(to, from);
    private_data = private_data_of(to, theirs);
    aq_ibv_peer_start(&fake_nodes[from].ibv->peers, mine, &private_data);
    private_data = private_data_of(from, mine);
    aq_ibv_peer_start(&fake_nodes[to].ibv->peers, theirs, &private_data);
    return mine;
}

// ---- calls of the tests ----

aq_status_t fake_fabric_request(unsigned from, unsigned to, size_t bytes, bool wants_reply)
{
    static const uint8_t payload[AQ_IBV_BUFFER_BYTES];
    const int32_t args[] = {wants_reply};
    const aq_am_t am = {.args = args,
                        .nargs = 1,
                        .payload = payload,
                        .nbytes = bytes,
                        .category = bytes ? AQ_AM_MEDIUM : AQ_AM_SHORT};
    return send_am(from, to, &am);
}

unsigned fake_fabric_poll(unsigned node)
{
    const unsigned before = polling_node;
    polling_node = node;
    unsigned done =
        aq_ibv_poll(&fake_nodes[node].ibv->receiver, AQ_POLL_REPLIES | AQ_POLL_REQUESTS);
    polling_node = before;
    return done;
}

void fake_fabric_settle(void)
{
    unsigned done;
    do {
        done = 0;
        for (unsigned i = 0; i < node_count; i++)
            done += fake_fabric_poll(i);
    } while (done);
}

void fake_fabric_round(unsigned from, unsigned to, bool wants_reply)
{
    while (fake_fabric_request(from, to, 0, wants_reply) == AQ_AGAIN)
        fake_fabric_settle();
    fake_fabric_settle();
}

void fake_fabric_clear_counts(void)
{
    for (unsigned i = 0; i < node_count; i++)
        fake_nodes[i].counts = (fake_counts_t){.least_buffers = devices[i]->in - devices[i]->out};
}
