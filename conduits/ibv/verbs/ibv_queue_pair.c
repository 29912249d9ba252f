// SPDX-License-Identifier: BSD-3-Clause
// The transitions of a queue pair by ibv_modify_qp. ibv_connect_ud.c, ibv_connect_xrc.c and
// ibv_rail_set.c connect with them.
#include "ibv_queue_pair.h"

#include <errno.h>

#include "../../../other/base/minmax.h"
#include "../../../other/base/settings/settings.h"
#include "ibv_profile.h"

static uint8_t number_of(aq_ibv_setting_id_t id)
{
    return (uint8_t)aq_setting_int(aq_ibv_setting(id));
}

int aq_ibv_pair_init(struct ibv_qp *qp, const aq_ibv_path_source_t *from, unsigned access)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .pkey_index = from->path->pkey_index,
                               .port_num = from->port,
                               .qp_access_flags = access};
    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

// What every queue pair needs to receive, and what one needs that answers requests.
enum {
    RECEIVES = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
    ANSWERS = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
};

static int init_to_receive(struct ibv_qp *qp, const aq_ibv_path_source_t *from,
                           const aq_ibv_pair_info_t *mine, const aq_ibv_pair_info_t *theirs,
                           uint8_t timer, int mask)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = (enum ibv_mtu)aq_min(mine->mtu, theirs->mtu),
                               .dest_qp_num = theirs->number,
                               .rq_psn = theirs->psn,
                               .max_dest_rd_atomic = mine->reads,
                               .min_rnr_timer = timer,
                               .ah_attr = aq_ibv_path_way(from, &theirs->port)};
    return ibv_modify_qp(qp, &attr, mask);
}

static int receive_to_send(struct ibv_qp *qp, const aq_ibv_pair_info_t *mine,
                           const aq_ibv_pair_info_t *theirs, uint8_t rnr_retries)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
                               .sq_psn = mine->psn,
                               .timeout = number_of(IBV_SET_QP_TIMEOUT),
                               .retry_cnt = number_of(IBV_SET_QP_RETRY_COUNT),
                               .rnr_retry = rnr_retries,
                               .max_rd_atomic = aq_min(mine->reads, theirs->reads)};
    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

int aq_ibv_pair_connect(struct ibv_qp *qp, const aq_ibv_path_source_t *from,
                        const aq_ibv_pair_info_t *mine, const aq_ibv_pair_info_t *theirs,
                        aq_ibv_pair_rnr_t rnr)
{
    if (mine->link != theirs->link)
        return ENONET;
    const int error = init_to_receive(qp, from, mine, theirs, rnr.timer, RECEIVES | ANSWERS);
    return error ? error : receive_to_send(qp, mine, theirs, rnr.retries);
}

// ---- XRC ----

struct ibv_qp *aq_ibv_pair_make_sending(struct ibv_pd *pd, const struct ibv_qp_init_attr *like)
{
    struct ibv_qp_init_attr_ex attr = {.qp_context = like->qp_context,
                                       .send_cq = like->send_cq,
                                       .cap = {.max_send_wr = like->cap.max_send_wr,
                                               .max_send_sge = like->cap.max_send_sge,
                                               .max_inline_data = like->cap.max_inline_data},
                                       .qp_type = IBV_QPT_XRC_SEND,
                                       .sq_sig_all = like->sq_sig_all,
                                       .comp_mask = IBV_QP_INIT_ATTR_PD,
                                       .pd = pd};
    return ibv_create_qp_ex(pd->context, &attr);
}

int aq_ibv_pair_connect_sending(struct ibv_qp *qp, const aq_ibv_path_source_t *from,
                                const aq_ibv_pair_info_t *mine, const aq_ibv_pair_info_t *theirs,
                                uint8_t rnr_retries)
{
    if (mine->link != theirs->link)
        return ENONET;
    const int error = init_to_receive(qp, from, mine, theirs, 0, RECEIVES);
    return error ? error : receive_to_send(qp, mine, theirs, rnr_retries);
}

struct ibv_qp *aq_ibv_pair_make_receiving(struct ibv_context *verbs, struct ibv_xrcd *domain)
{
    struct ibv_qp_init_attr_ex attr = {
        .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = domain};
    return ibv_create_qp_ex(verbs, &attr);
}

struct ibv_qp *aq_ibv_pair_open_receiving(struct ibv_context *verbs, struct ibv_xrcd *domain,
                                          uint32_t number)
{
    struct ibv_qp_open_attr attr = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
                                                 IBV_QP_OPEN_ATTR_TYPE,
                                    .qp_num = number,
                                    .xrcd = domain,
                                    .qp_type = IBV_QPT_XRC_RECV};
    return ibv_open_qp(verbs, &attr);
}

int aq_ibv_pair_connect_receiving(struct ibv_qp *qp, const aq_ibv_path_source_t *from,
                                  const aq_ibv_pair_info_t *mine, const aq_ibv_pair_info_t *theirs,
                                  uint8_t rnr_timer)
{
    if (mine->link != theirs->link)
        return ENONET;
    return init_to_receive(qp, from, mine, theirs, rnr_timer, RECEIVES | ANSWERS);
}

void aq_ibv_pair_stop(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    (void)ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}
