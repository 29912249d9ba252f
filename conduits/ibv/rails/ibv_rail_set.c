// SPDX-License-Identifier: BSD-3-Clause
// Makes the queue pairs of rails and standbys, and gives their connecting to the connector's thread
// as a task. ibv_rail_setup.c agrees with the peer on them.
#include "ibv_rail_set.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/minmax.h"
#include "ibv_rail_queues.h"

enum {
    RESYNC_BYTES = 32, // of ibv_failover.c, at most
    RNR_RETRIES = 6,
    RNR_WITHOUT_END = 7,
    RNR_TIMER = 12, // 0.64 ms
    ATTEMPTS = 5,   // to learn the address of a peer's port
};

static uint64_t bit_of(unsigned rail)
{
    return UINT64_C(1) << rail;
}

// ---- queue pairs ----

static struct ibv_qp_init_attr rail_attr(const aq_ibv_rails_t *rails, unsigned port)
{
    struct ibv_cq *cq = rails->queues[port].cq;
    return (struct ibv_qp_init_attr){
        .send_cq = cq,
        .recv_cq = cq,
        .cap = {.max_send_wr = rails->limits->depth_each,
                .max_recv_wr = 1,
                .max_send_sge = 1,
                .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
    };
}

// As the first queue pair of a link, with an entry more for a resync, which travels inline.
static struct ibv_qp_init_attr standby_attr(const aq_ibv_rails_t *rails, unsigned port)
{
    const aq_ibv_rail_queue_t *queue = &rails->queues[port];
    const aq_ibv_queues_t *first = rails->first_queues;
    return (struct ibv_qp_init_attr){
        .send_cq = port ? queue->standby_cq : first->send_cq,
        .recv_cq = port ? queue->arrivals : first->receive_cq,
        .srq = port ? queue->srq : first->srq,
        .cap = {.max_send_wr = rails->limits->depth_each + 1,
                .max_send_sge = 1,
                .max_inline_data = aq_max(rails->limits->inline_bytes, (unsigned)RESYNC_BYTES)},
        .qp_type = IBV_QPT_RC,
    };
}

static struct ibv_qp *queue_pair_make(const aq_ibv_rails_t *rails, unsigned port, bool standby)
{
    const aq_ibv_rail_port_t *at = &rails->ports->list[port];
    struct ibv_qp_init_attr made = standby ? standby_attr(rails, port) : rail_attr(rails, port);
    const aq_ibv_path_source_t from = aq_ibv_rail_source(at);
    struct ibv_qp *qp = ibv_create_qp(at->pd, &made);
    if (!qp)
        return NULL;
    const int error = aq_ibv_pair_init(qp, &from, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    if (!error)
        return qp;
    ibv_destroy_qp(qp);
    errno = error;
    return NULL;
}

struct ibv_qp *aq_ibv_rail_first_make(const aq_ibv_rails_t *rails, unsigned port)
{
    return queue_pair_make(rails, port, true);
}

// The port of a rail, of a side that has so many.
static unsigned rail_port(const aq_ibv_rail_set_t *set, unsigned rail, unsigned ports)
{
    return (set->link->first_port + rail + 1) % ports;
}

static bool rail_make(const aq_ibv_rails_t *rails, const aq_ibv_rail_set_t *set, unsigned port,
                      aq_ibv_rail_t *rail)
{
    rail->qp = queue_pair_make(rails, port, set->standby);
    rail->peer = set->link;
    rail->port = port;
    rail->psn = randombytes_random() & 0xffffff;
    atomic_init(&rail->slots, rails->limits->depth_each);
    if (!rail->qp)
        aq_log_warn("port %u of %s has no room for a further queue pair with rank %u (%s): lower "
                    "GASNET_NUM_QPS",
                    rails->ports->list[port].number, rails->ports->list[port].device,
                    set->link->rank, strerror(errno));
    return rail->qp;
}

aq_ibv_rail_set_t *aq_ibv_rail_set_make(aq_ibv_rails_t *rails, aq_ibv_peer_t *link, bool standby)
{
    aq_ibv_rail_set_t *set = calloc(1, sizeof *set);
    const aq_ibv_rail_ports_t *ports = rails->ports;
    const unsigned wanted = (standby ? ports->count : ports->queue_pairs) - 1;
    if (!set)
        return NULL;
    set->link = link;
    set->standby = standby;
    while (set->count < wanted && aq_ibv_rails_open(rails) &&
           rail_make(rails, set, rail_port(set, set->count, ports->count), &set->list[set->count]))
        set->count++;
    atomic_store_explicit(standby ? &link->standbys : &link->rails, set, memory_order_release);
    return set;
}

// The peer has fewer.
static void set_shorten(aq_ibv_rail_set_t *set, unsigned count)
{
    const unsigned before = set->count;
    set->count = aq_min(before, count);
    for (unsigned i = set->count; i < before; i++) {
        ibv_destroy_qp(set->list[i].qp);
        set->list[i].qp = NULL;
    }
}

aq_ibv_pair_info_t aq_ibv_rail_end(const aq_ibv_rails_t *rails, const aq_ibv_rail_t *rail)
{
    const aq_ibv_rail_port_t *port = &rails->ports->list[rail->port];
    return (aq_ibv_pair_info_t){.port = port->address,
                                .number = rail->qp->qp_num,
                                .psn = rail->psn,
                                .mtu = (uint8_t)port->path.mtu,
                                .reads = aq_min(rails->limits->reads, port->reads),
                                .link = port->link};
}

// ---- in the connector's thread ----

// A queue pair to connect.
typedef struct pair {
    struct ibv_qp *qp;
    aq_ibv_path_source_t from;
    aq_ibv_pair_info_t mine, theirs;
    uint8_t rnr_retries;
    unsigned attempts;
    int error; // 0: connected
} pair_t;

typedef struct task {
    aq_ibv_task_t base;
    aq_ibv_rails_t *rails;
    aq_ibv_rail_set_t *set;
    unsigned count, done; // of the pairs
    pair_t pairs[];       // by rail
} task_t;

// Connects the next queue pair of the task. The system gives up after a second if it gets no
// address; since a lossy network may have dropped the question, another attempt follows.
static bool task_attempt(aq_ibv_task_t *base)
{
    task_t *task = (task_t *)(void *)base;
    aq_ibv_rails_t *rails = task->rails;
    pair_t *pair = &task->pairs[task->done];
    pair->error = aq_ibv_pair_connect(pair->qp, &pair->from, &pair->mine, &pair->theirs,
                                      (aq_ibv_pair_rnr_t){RNR_TIMER, pair->rnr_retries});
    if (pair->error == ETIMEDOUT && ++pair->attempts < ATTEMPTS)
        return false;
    if (++task->done < task->count)
        return false;
    aq_ibv_task_add(&rails->finished, base);
    // A thread that sleeps tells the peer, and uses the rails.
    rails->calls.wake(rails->calls.sleeper);
    return true;
}

// ---- before and after ----

static task_t *task_make(aq_ibv_rails_t *rails, aq_ibv_rail_set_t *set,
                         const aq_ibv_rail_ends_t *theirs)
{
    task_t *task = malloc(sizeof *task + set->count * sizeof *task->pairs);
    if (!task)
        return NULL;
    *task = (task_t){.base.attempt = task_attempt, .rails = rails, .set = set, .count = set->count};
    for (unsigned i = 0; i < set->count; i++) {
        const aq_ibv_rail_t *rail = &set->list[i];
        task->pairs[i] = (pair_t){.qp = rail->qp,
                                  .from = aq_ibv_rail_source(&rails->ports->list[rail->port]),
                                  .mine = aq_ibv_rail_end(rails, rail),
                                  .theirs = theirs->list[i],
                                  .rnr_retries = set->standby ? RNR_WITHOUT_END : RNR_RETRIES};
    }
    return task;
}

bool aq_ibv_rail_set_connect(aq_ibv_rails_t *rails, aq_ibv_rail_set_t *set,
                             const aq_ibv_rail_ends_t *theirs)
{
    if (set->tried)
        return false;
    set->tried = true;
    set_shorten(set, theirs->count);
    for (unsigned i = 0; i < set->count; i++)
        set->list[i].port_there = rail_port(set, i, theirs->ports);
    task_t *task = set->count ? task_make(rails, set, theirs) : NULL;
    if (task)
        aq_ibv_task_give(rails->tasks, &task->base);
    return task;
}

static void failure_log(aq_ibv_rails_t *rails, const aq_ibv_rail_t *rail, const pair_t *pair)
{
    const aq_ibv_rail_port_t *port = &rails->ports->list[rail->port];
    char here[AQ_IBV_ADDRESS_TEXT], there[AQ_IBV_ADDRESS_TEXT];
    if (!atomic_exchange(&rails->warned, true))
        aq_log_warn("port %u of %s, at %s, does not reach the port of rank %u at %s (%s): links go "
                    "without it; see that both ports are up, or name ports of common networks in "
                    "GASNET_IBV_PORTS",
                    port->number, port->device, aq_ibv_port_address_text(&pair->mine.port, here),
                    rail->peer->rank, aq_ibv_port_address_text(&pair->theirs.port, there),
                    strerror(pair->error));
}

static void rail_learn(aq_ibv_rails_t *rails, aq_ibv_rail_set_t *set, unsigned rail)
{
    set->connected |= bit_of(rail);
    if (set->standby)
        rails->calls.stand_by(rails->calls.failovers, set->link, rail + 1, set->list[rail].qp);
}

aq_ibv_rail_set_t *aq_ibv_rail_set_learn(aq_ibv_rails_t *rails, aq_ibv_task_t *base)
{
    task_t *task = (task_t *)(void *)base;
    aq_ibv_rail_set_t *set = task->set;
    for (unsigned i = 0; i < task->count; i++)
        if (!task->pairs[i].error)
            rail_learn(rails, set, i);
        else
            failure_log(rails, &set->list[i], &task->pairs[i]);
    free(task);
    return set;
}
