// SPDX-License-Identifier: BSD-3-Clause
// fi_getinfo of the fake provider: what it offers, compared with the application's hints.
#include "fake_provider.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t primary =
    FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_DIRECTED_RECV | FI_NAMED_RX_CTX;
static const uint64_t directions =
    FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

static uint64_t caps_offered(void)
{
    uint64_t caps = FI_MSG | FI_SEND | FI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM;
    if (!fake_word(WORD_NO_RMA))
        caps |= FI_RMA;
    if (!fake_word(WORD_NO_ATOMIC))
        caps |= FI_ATOMIC;
    if (caps & (FI_RMA | FI_ATOMIC))
        caps |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    if (!fake_word(WORD_NO_MULTI))
        caps |= FI_MULTI_RECV;
    if (!fake_word(WORD_NO_SOURCE))
        caps |= FI_SOURCE;
    return caps | fake_preset()->extra_caps;
}

static uint64_t mode_needed(void)
{
    return (fake_word(WORD_CONTEXT) ? FI_CONTEXT : 0) |
           (fake_word(WORD_CONTEXT2) ? FI_CONTEXT2 : 0);
}

static int mr_needed(void)
{
    return (fake_word(WORD_MR_LOCAL) ? FI_MR_LOCAL : 0) |
           (fake_word(WORD_MR_VIRT) ? FI_MR_VIRT_ADDR : 0) |
           (fake_word(WORD_MR_ALLOCATED) ? FI_MR_ALLOCATED : 0) |
           (fake_word(WORD_MR_PROV_KEY) ? FI_MR_PROV_KEY : 0) |
           (fake_word(WORD_MR_ENDPOINT) ? FI_MR_ENDPOINT : 0);
}

static uint64_t order_offered(void)
{
    return fake_word(WORD_REORDER) ? 0 : fake_preset()->msg_order;
}

// ---- what is offered ----

static void transmit_offer(struct fi_info *info, uint64_t caps)
{
    *info->tx_attr = (struct fi_tx_attr){
        .caps = caps & ~(FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_MULTI_RECV | FI_SOURCE |
                         FI_DIRECTED_RECV),
        .mode = mode_needed(),
        .msg_order = order_offered(),
        .comp_order = 0,
        .inject_size = fake_number(WORD_INJECT),
        .size = fake_number(WORD_DEPTH),
        .iov_limit = fake_preset()->iov_most,
        .rma_iov_limit = 1,
    };
    *info->rx_attr = (struct fi_rx_attr){
        .caps = caps & ~(FI_SEND | FI_READ | FI_WRITE),
        .mode = mode_needed(),
        .msg_order = order_offered(),
        .comp_order = 0,
        .size = fake_number(WORD_POSTS),
        .iov_limit = fake_preset()->iov_most,
    };
}

static void domain_offer(struct fi_domain_attr *attr)
{
    const enum fi_progress progress = fake_word(WORD_AUTO) ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
    attr->name = strdup("fake0");
    attr->threading = FI_THREAD_SAFE;
    attr->control_progress = attr->data_progress = progress;
    attr->resource_mgmt = FI_RM_ENABLED;
    attr->av_type = fake_word(WORD_AV_MAP)     ? FI_AV_MAP
                    : fake_word(WORD_AV_TABLE) ? FI_AV_TABLE
                                               : FI_AV_UNSPEC;
    attr->mr_mode = mr_needed();
    attr->mr_key_size = fake_preset()->key_bytes;
    attr->cq_data_size = fake_preset()->data_bytes;
    attr->cq_cnt = attr->ep_cnt = attr->tx_ctx_cnt = attr->rx_ctx_cnt = 64;
    attr->max_ep_tx_ctx = attr->max_ep_rx_ctx = 1;
    attr->mr_iov_limit = 1;
    attr->mr_cnt = 65536;
    attr->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
}

static void endpoint_offer(struct fi_ep_attr *attr)
{
    const uint64_t message = fake_number(WORD_MESSAGE);
    attr->type = FI_EP_RDM;
    attr->protocol = fake_preset()->protocol;
    attr->protocol_version = 1;
    attr->max_msg_size = message ? message : fake_preset()->message_most;
    attr->max_order_raw_size = attr->max_order_war_size = attr->max_order_waw_size =
        order_offered() & FI_ORDER_RAW ? attr->max_msg_size : 0;
    attr->tx_ctx_cnt = attr->rx_ctx_cnt = 1;
}

static struct fi_info *offer_new(uint64_t caps)
{
    struct fi_info *info = fi_allocinfo();
    if (!info)
        return NULL;
    info->caps = caps;
    info->mode = mode_needed();
    info->addr_format = fake_preset()->address_format;
    info->src_addrlen = fake_preset()->address_bytes;
    info->src_addr = fake_alloc(info->src_addrlen);
    info->fabric_attr->name = strdup("fake");
    transmit_offer(info, caps);
    domain_offer(info->domain_attr);
    endpoint_offer(info->ep_attr);
    return info;
}

// ---- what the application asks for ----

static bool bits_are_within(uint64_t wanted, uint64_t offered)
{
    return (wanted & ~offered) == 0;
}

static bool name_fits(const char *wanted, const char *offered)
{
    return !wanted || strcmp(wanted, offered) == 0;
}

static bool endpoint_fits(const struct fi_ep_attr *wanted, const struct fi_ep_attr *offered)
{
    return !wanted ||
           ((wanted->type == FI_EP_UNSPEC || wanted->type == FI_EP_RDM) &&
            (wanted->protocol == FI_PROTO_UNSPEC || wanted->protocol == offered->protocol) &&
            wanted->max_msg_size <= offered->max_msg_size && wanted->tx_ctx_cnt <= 1 &&
            wanted->rx_ctx_cnt <= 1);
}

// FI_MR_BASIC, bit 0, is the old name of three modes, of which libfabric 2 has the compiler warn.
// FI_MR_SCALABLE and 0 ask for no mode.
static bool regions_fit(int wanted)
{
    if (wanted == 1)
        wanted = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    return bits_are_within(mr_needed(), wanted);
}

static bool progress_fits(enum fi_progress wanted)
{
    return wanted != FI_PROGRESS_AUTO || fake_word(WORD_AUTO) || fake_preset()->claims_auto;
}

static bool domain_fits(const struct fi_domain_attr *wanted, const struct fi_domain_attr *offered)
{
    return !wanted ||
           (name_fits(wanted->name, offered->name) && regions_fit(wanted->mr_mode) &&
            (wanted->av_type == FI_AV_UNSPEC || offered->av_type == FI_AV_UNSPEC ||
             wanted->av_type == offered->av_type) &&
            progress_fits(wanted->data_progress) && progress_fits(wanted->control_progress) &&
            wanted->cq_data_size <= offered->cq_data_size &&
            wanted->mr_key_size <= offered->mr_key_size);
}

static bool transmit_fits(const struct fi_tx_attr *wanted, const struct fi_tx_attr *offered)
{
    return !wanted || (bits_are_within(wanted->caps, offered->caps) &&
                       bits_are_within(wanted->msg_order, offered->msg_order) &&
                       wanted->comp_order == 0 && wanted->inject_size <= offered->inject_size &&
                       wanted->size <= offered->size && wanted->iov_limit <= offered->iov_limit &&
                       wanted->rma_iov_limit <= offered->rma_iov_limit &&
                       !(wanted->op_flags & FI_DELIVERY_COMPLETE && fake_word(WORD_NO_DELIVERY)));
}

static bool receive_fits(const struct fi_rx_attr *wanted, const struct fi_rx_attr *offered)
{
    return !wanted ||
           (bits_are_within(wanted->caps, offered->caps) &&
            bits_are_within(wanted->msg_order, offered->msg_order) && wanted->comp_order == 0 &&
            wanted->size <= offered->size && wanted->iov_limit <= offered->iov_limit);
}

static bool hints_fit(const struct fi_info *hints, const struct fi_info *offer)
{
    return bits_are_within(hints->caps, caps_offered()) &&
           bits_are_within(mode_needed(), hints->mode) &&
           (hints->addr_format == FI_FORMAT_UNSPEC || hints->addr_format == offer->addr_format) &&
           (!hints->fabric_attr || name_fits(hints->fabric_attr->name, offer->fabric_attr->name)) &&
           endpoint_fits(hints->ep_attr, offer->ep_attr) &&
           domain_fits(hints->domain_attr, offer->domain_attr) &&
           transmit_fits(hints->tx_attr, offer->tx_attr) &&
           receive_fits(hints->rx_attr, offer->rx_attr);
}

// Primary capabilities only on request, as the manual demands of each provider. A request for RMA
// or atomics without a direction means all directions.
static uint64_t caps_granted(const struct fi_info *hints)
{
    if (!hints || !hints->caps)
        return caps_offered();
    const uint64_t wanted = hints->caps;
    uint64_t caps = (wanted & primary) | (caps_offered() & ~primary & ~directions);
    if (!(wanted & (FI_MSG | FI_TAGGED)))
        caps &= ~FI_MULTI_RECV;
    if (wanted & directions)
        return caps | (wanted & directions);
    if (wanted & (FI_MSG | FI_TAGGED))
        caps |= FI_SEND | FI_RECV;
    if (wanted & (FI_RMA | FI_ATOMIC))
        caps |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    return caps;
}

// What the application may choose.
static void choices_take(struct fi_info *info, const struct fi_info *hints)
{
    if (hints->tx_attr)
        info->tx_attr->op_flags = hints->tx_attr->op_flags;
    if (hints->rx_attr)
        info->rx_attr->op_flags = hints->rx_attr->op_flags;
    info->handle = hints->handle;
    const struct fi_domain_attr *wanted = hints->domain_attr;
    if (!wanted)
        return;
    if (wanted->threading != FI_THREAD_UNSPEC)
        info->domain_attr->threading = wanted->threading;
    if (wanted->av_type != FI_AV_UNSPEC)
        info->domain_attr->av_type = wanted->av_type;
    if (wanted->data_progress != FI_PROGRESS_UNSPEC)
        info->domain_attr->data_progress = wanted->data_progress;
}

int fake_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
                 const struct fi_info *hints, struct fi_info **info)
{
    (void)version, (void)node, (void)service, (void)flags;
    fake_words_read();
    *info = offer_new(caps_granted(hints));
    if (!*info)
        return -FI_ENOMEM;
    if (hints && !hints_fit(hints, *info)) {
        fi_freeinfo(*info);
        *info = NULL;
        return -FI_ENODATA;
    }
    if (hints)
        choices_take(*info, hints);
    return 0;
}
