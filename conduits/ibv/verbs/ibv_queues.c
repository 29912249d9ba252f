// SPDX-License-Identifier: BSD-3-Clause
// Makes channels, completion queues and the shared receive queue of an endpoint; ibv_conduit.c
// opens them, for a window with its first link.
#include "ibv_queues.h"
#include "ibv_profile.h"
#include "ibv_queue_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "../../../other/base/log/log.h"
#include "../../../other/base/settings/settings.h"

// ---- the empty completion queue ----

static int empty_poll(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    (void)cq, (void)most, (void)wc;
    return 0;
}

static struct ibv_context empty_context = {.ops.poll_cq = empty_poll};
struct ibv_cq aq_ibv_empty_cq = {.context = &empty_context};

// ---- inline data ----

static bool inline_is_possible(const aq_ibv_queues_t *queues, struct ibv_pd *pd,
                               unsigned inline_bytes)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = queues->send_cq,
        .recv_cq = queues->receive_cq,
        .srq = queues->srq,
        .cap = {.max_send_wr = 2, .max_send_sge = 1, .max_inline_data = inline_bytes},
        .qp_type = IBV_QPT_RC,
    };
    struct ibv_qp *qp =
        queues->domain ? aq_ibv_pair_make_sending(pd, &attr) : ibv_create_qp(pd, &attr);
    if (!qp)
        return false;
    ibv_destroy_qp(qp);
    return true;
}

// The device refuses queue pairs that exceed its limit.
unsigned aq_ibv_queues_find_inline(const aq_ibv_queues_t *queues, struct ibv_pd *pd)
{
    int64_t wanted = aq_setting_int(aq_ibv_setting(IBV_SET_INLINESEND_LIMIT));
    unsigned bytes =
        wanted < 0 || wanted > AQ_IBV_INLINE_MAX ? AQ_IBV_INLINE_MAX : (unsigned)wanted;
    while (bytes && !inline_is_possible(queues, pd, bytes))
        bytes = bytes < 16 ? 0 : bytes / 2;
    return bytes;
}

// ---- open and close ----

static bool channels_make(aq_ibv_queues_t *queues, struct ibv_context *verbs, bool receive_thread,
                          bool send_thread)
{
    if ((receive_thread && !(queues->arrivals = ibv_create_comp_channel(verbs))) ||
        (send_thread && !(queues->sends = ibv_create_comp_channel(verbs))))
        return false;
    queues->completions = ibv_create_comp_channel(verbs);
    if (!queues->completions)
        return false;
    int flags = fcntl(queues->completions->fd, F_GETFL);
    return fcntl(queues->completions->fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

// The shared receive queue of an XRC domain reports arrivals by itself: its queue pairs, which
// several processes share, have no completion queue.
static bool srq_make(aq_ibv_queues_t *queues, struct ibv_pd *pd, unsigned arrivals)
{
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = arrivals, .max_sge = 1}};
    struct ibv_srq_init_attr_ex of_domain = {.attr = srq.attr,
                                             .comp_mask =
                                                 IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
                                                 IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
                                             .srq_type = IBV_SRQT_XRC,
                                             .pd = pd,
                                             .xrcd = queues->domain,
                                             .cq = queues->receive_cq};
    queues->srq =
        queues->domain ? ibv_create_srq_ex(pd->context, &of_domain) : ibv_create_srq(pd, &srq);
    return queues->srq &&
           (!queues->domain || ibv_get_srq_num(queues->srq, &queues->srq_number) == 0);
}

aq_status_t aq_ibv_queues_open(aq_ibv_queues_t *queues, struct ibv_pd *pd,
                               const aq_ibv_limits_t *limits, bool receive_thread, bool send_thread)
{
    struct ibv_context *verbs = pd->context;
    const int sends = (int)(limits->depth_total + limits->unsignaled_total),
              arrivals = (int)(limits->arrivals + limits->ahead);
    if (channels_make(queues, verbs, receive_thread, send_thread) &&
        (queues->send_cq = ibv_create_cq(
             verbs, sends, NULL, send_thread ? queues->sends : queues->completions, 0)) != NULL &&
        (queues->receive_cq =
             ibv_create_cq(verbs, arrivals, NULL,
                           receive_thread ? queues->arrivals : queues->completions, 0)) != NULL &&
        srq_make(queues, pd, (unsigned)arrivals))
        return AQ_OK;
    aq_log_error("device %s refuses %s (%s): lower %s", ibv_get_device_name(verbs->device),
                 !queues->completions  ? "a completion channel"
                 : !queues->send_cq    ? "a completion queue for sends"
                 : !queues->receive_cq ? "a completion queue for arrivals"
                                       : "a shared receive queue",
                 strerror(errno),
                 !queues->send_cq ? "GASNET_NETWORKDEPTH_TOTAL" : "GASNET_AM_CREDITS_TOTAL");
    return AQ_ERR_RESOURCE;
}

void aq_ibv_queues_close(aq_ibv_queues_t *queues)
{
    if (queues->srq)
        ibv_destroy_srq(queues->srq);
    if (queues->receive_cq)
        ibv_destroy_cq(queues->receive_cq);
    if (queues->send_cq)
        ibv_destroy_cq(queues->send_cq);
    if (queues->completions)
        ibv_destroy_comp_channel(queues->completions);
    if (queues->sends)
        ibv_destroy_comp_channel(queues->sends);
    if (queues->arrivals)
        ibv_destroy_comp_channel(queues->arrivals);
    *queues = (aq_ibv_queues_t){0};
}
