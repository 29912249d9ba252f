// SPDX-License-Identifier: BSD-3-Clause
// The queues of rails, and which rails are in use.
#include "ibv_rail_queues.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "../../../other/base/log/log.h"
#include "../verbs/ibv_queue_pair.h"

// Makes the queues for standbys at a port, of the same size as those of the endpoint
// (ibv_queues.h).
static bool standby_queues_open(aq_ibv_rails_t *rails, unsigned port)
{
    const aq_ibv_rail_port_t *at = &rails->ports->list[port];
    const aq_ibv_limits_t *limits = rails->limits;
    aq_ibv_rail_queue_t *queue = &rails->queues[port];
    struct ibv_srq_init_attr srq = {
        .attr = {.max_wr = limits->arrivals + limits->ahead, .max_sge = 1}};
    queue->standby_cq = ibv_create_cq(
        at->verbs, (int)(limits->depth_total + limits->unsignaled_total), NULL, queue->sends, 0);
    queue->arrivals = ibv_create_cq(at->verbs, (int)srq.attr.max_wr, NULL, queue->receives, 0);
    queue->srq = ibv_create_srq(at->pd, &srq);
    return queue->standby_cq && queue->arrivals && queue->srq;
}

static struct ibv_comp_channel *channel_make(struct ibv_context *verbs)
{
    struct ibv_comp_channel *channel = ibv_create_comp_channel(verbs);
    if (!channel || fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK) == 0)
        return channel;
    ibv_destroy_comp_channel(channel);
    return NULL;
}

static bool queue_open(aq_ibv_rails_t *rails, unsigned port)
{
    const aq_ibv_rail_port_t *at = &rails->ports->list[port];
    aq_ibv_rail_queue_t *queue = &rails->queues[port];
    char why[768] = "";
    queue->channel = channel_make(at->verbs);
    queue->sends = rails->send_thread ? channel_make(at->verbs) : queue->channel;
    queue->receives = rails->receive_thread ? channel_make(at->verbs) : queue->channel;
    if (!queue->channel || !queue->sends || !queue->receives)
        return false;
    queue->cq = ibv_create_cq(at->verbs, (int)rails->limits->depth_total, NULL, queue->sends, 0);
    if (!queue->cq || !port)
        return queue->cq;
    if (rails->calls.stand_by && !standby_queues_open(rails, port))
        return false;
    const aq_ibv_area_t slab = {"the buffers", rails->buffers->slab, rails->buffers->slab_bytes,
                                AQ_IBV_BUFFER};
    if (aq_ibv_memory_register(at->memory, &slab, &queue->slab, why, sizeof why) == AQ_OK)
        return true;
    aq_log_warn("%s", why);
    return false;
}

static void queue_close(const aq_ibv_rails_t *rails, unsigned port)
{
    const aq_ibv_rail_queue_t *queue = &rails->queues[port];
    if (queue->slab)
        aq_ibv_memory_release(rails->ports->list[port].memory, queue->slab, AQ_IBV_BUFFER);
    if (queue->srq)
        ibv_destroy_srq(queue->srq);
    if (queue->arrivals)
        ibv_destroy_cq(queue->arrivals);
    if (queue->standby_cq)
        ibv_destroy_cq(queue->standby_cq);
    if (queue->cq)
        ibv_destroy_cq(queue->cq);
    if (queue->sends && queue->sends != queue->channel)
        ibv_destroy_comp_channel(queue->sends);
    if (queue->receives && queue->receives != queue->channel)
        ibv_destroy_comp_channel(queue->receives);
    if (queue->channel)
        ibv_destroy_comp_channel(queue->channel);
}

bool aq_ibv_rails_open(aq_ibv_rails_t *rails)
{
    const unsigned ports = rails->ports->count;
    unsigned opened = 0;
    if (atomic_load_explicit(&rails->open, memory_order_relaxed) || rails->failed)
        return !rails->failed;
    rails->works = calloc(rails->limits->depth_total, sizeof *rails->works);
    while (rails->works && opened < ports && queue_open(rails, opened))
        opened++;
    rails->failed = !rails->works || opened < ports;
    if (rails->failed) {
        aq_log_warn("rank %u uses one queue pair a peer, since port %u of device %s has no room "
                    "for more (%s): lower GASNET_NETWORKDEPTH_TOTAL",
                    rails->env->rank, rails->ports->list[opened % ports].number,
                    rails->ports->list[opened % ports].device, strerror(errno));
        for (unsigned port = 0; port <= opened && port < ports; port++)
            queue_close(rails, port);
    }
    atomic_store_explicit(&rails->open, !rails->failed, memory_order_release);
    return !rails->failed;
}

void aq_ibv_rail_give_up(aq_ibv_rails_t *rails, aq_ibv_rail_t *rail, const char *why)
{
    const aq_ibv_rail_port_t *port = &rails->ports->list[rail->port];
    const aq_ibv_rail_port_t *first = &rails->ports->list[rail->peer->first_port];
    if (!atomic_exchange(&rail->up, false))
        return;
    atomic_fetch_sub_explicit(&rails->counts.up, 1, memory_order_relaxed);
    if (!aq_boot_ended(rails->env->boot) && !atomic_exchange(&rails->warned, true))
        aq_log_warn("port %u of %s does not reach rank %u any more (%s): puts and gets take port "
                    "%u of %s; see that the ports of both hosts are up and their network is whole",
                    port->number, port->device, rail->peer->rank, why, first->number,
                    first->device);
    aq_ibv_task_add(&rails->lost, &rail->loss);
}

void aq_ibv_rail_stop(aq_ibv_rails_t *rails, aq_ibv_rail_t *rail, const char *why)
{
    if (!atomic_load_explicit(&rail->up, memory_order_relaxed))
        return;
    aq_ibv_rail_give_up(rails, rail, why);
    aq_ibv_pair_stop(rail->qp);
}

void aq_ibv_rail_start(aq_ibv_rails_t *rails, aq_ibv_rail_t *rail)
{
    atomic_fetch_add_explicit(&rails->counts.up, 1, memory_order_relaxed);
    atomic_store_explicit(&rail->up, true, memory_order_release);
}
